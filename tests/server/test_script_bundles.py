"""The page's modules, joined into a few scripts."""

import re

import pytest

from everthread.server.script_bundles import ENTRY, bundle_modules
from everthread.server.static_files import FOLDER

ALONE = {"offline.js", "prehydrate.js", "serviceworker.js", "theme.js"}  # which are no modules
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}
BLOCK = re.compile(r'^modules\["([a-z]+\.js)"\] = ', re.MULTILINE)


def test_a_script_has_the_modules_that_only_it_needs_after_those_that_they_import() -> None:
    scripts = bundle_modules(
        {
            "app.js": 'import { a as b } from "./one.js";\nimport { words } from "./languages/words.js";\n'
            'export const go = () => import("./later.js");\n',
            "later.js": 'import {\n  one,\n} from "./one.js";\nimport "./vendor/x.js";\n'
            'import { two } from "./two.js";\n'
            "export async function* run() {}\nclass A {}\nexport { A as B, two };\n",
            "one.js": 'const one = 1;\nexport { one };\nexport const a = 1;\nimport("./vendor/y.js");\n',
            "two.js": 'export { one as two } from "./one.js";\n',
            "alone.js": "go();\n",
        }
    )
    assert scripts == {
        "alone.js": "go();\n",
        "app.js": """export const modules = {};
import { words } from "./languages/words.js";
{
const one = 1;
const a = 1;
import("./vendor/y.js");
modules["one.js"] = { one, a };
}
{
const { a: b } = modules["one.js"];
const go = () => import("./later.js").then(() => modules["later.js"]);
modules["app.js"] = { go };
}
""",
        "later.js": """import { modules } from "./app.js";
import "./vendor/x.js";
const { one } = modules["one.js"];
{
modules["two.js"] = { two: modules["one.js"].one };
}
const { two } = modules["two.js"];
{
async function* run() {}
class A {}
modules["later.js"] = { B: A, two, run };
}
""",
    }


def test_a_script_loads_the_scripts_first_that_have_modules_which_it_needs() -> None:
    scripts = bundle_modules(
        {
            "app.js": 'import("./a.js");\nimport("./b.js");\n',
            "a.js": 'import "./shared.js";\n',
            "b.js": 'import { x } from "./shared.js";\n',
            "shared.js": "export const x = 1;\n",
        }
    )
    assert scripts["b.js"].startswith('import "./a.js";\nimport { modules } from "./app.js";\n')


@pytest.mark.parametrize("line", ["export default 1;", 'import * as a from "./a.js"', "export let x = 1;"])
def test_forms_that_cannot_be_joined_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"app.js: can't be joined with others: {line}")):
        bundle_modules({ENTRY: f"{line}\n"})


def test_exports_of_the_same_name_are_refused_in_a_script() -> None:
    imports = {name: f'import {{ x }} from "./{name}x.js";\n' for name in "ab"}
    modules = {f"{name}.js": text for name, text in imports.items()}
    modules |= {f"{name}x.js": "export const x = 1;\n" for name in "ab"}
    with pytest.raises(ValueError, match=r"b\.js: x is also imported from ax\.js; rename one of the two"):
        bundle_modules({ENTRY: 'import "./a.js";\nimport "./b.js";\n', **modules})


def test_every_module_of_the_page_is_in_one_script() -> None:
    placed = [name for text in bundle_modules(SOURCES).values() for name in BLOCK.findall(text)]
    assert sorted(placed) == sorted(SOURCES.keys() - ALONE)
