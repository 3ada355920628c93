"""The page's modules: their imports, the order in which they load, and text that no file may contain."""

import re
from collections.abc import Iterator

from playwright.sync_api import Page

from everthread.chat.offline_answer import MIN_SHARE
from everthread.stores.recall_records import SURE_RELEVANCE
from server.page_helpers import FILES, visit

STATIC_IMPORT = re.compile(r"""^(?:import|export) [^;]*?["']\./([a-z]+\.js)["'];$""", re.MULTILINE)
DYNAMIC_IMPORT = re.compile(r"""\bimport\(["']\./([a-z]+\.js)["']\)""")
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in FILES}
WORDS = "languages/chosen.js"  # built by the server
MODULES = {name: source for name, source in SOURCES.items() if name.endswith(".js")}


def find_cycle(graph: dict[str, list[str]]) -> list[str]:
    """Return the modules of one import circle, in order; an empty list without one."""
    done = set[str]()

    def walk(path: list[str]) -> Iterator[list[str]]:
        for name in graph[path[-1]]:
            if name in path:
                yield [*path[path.index(name) :], name]
            elif name not in done:
                yield from walk([*path, name])
        done.add(path[-1])

    return next((cycle for name in graph for cycle in walk([name])), [])


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: STATIC_IMPORT.findall(source) + DYNAMIC_IMPORT.findall(source) for name, source in MODULES.items()}
    assert {"columns.js", "overlays.js"} <= set(graph["lazy.js"])  # dynamic imports count
    assert set().union(*graph.values()) <= set(graph)
    assert find_cycle(graph) == []
    assert find_cycle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]


def test_a_visit_loads_three_scripts_with_modules_and_the_words_of_one_language(page: Page, url: str) -> None:
    assert re.findall(r'"modulepreload" href="/static/([^"]+)"', SOURCES["index.html"]) == [WORDS]
    visit(page, url, "asked")
    expected = {"theme.js", "prehydrate.js", "app.js", "columns.js", "overlays.js", WORDS}
    loaded = (
        r"performance.getEntriesByType('resource').map(each => each.name.replace(/.*\/static\/[0-9a-f]{12}\//, ''))"
    )
    page.wait_for_function(f"expected => expected.every(name => {loaded}.includes(name))", arg=sorted(expected))
    assert {name for name in page.evaluate(loaded) if name.endswith("js")} == expected


def test_no_module_exports_the_name_of_something_that_browsers_define(page: Page, url: str) -> None:
    visit(page, url, "names")
    exported = page.evaluate(
        "import(document.querySelector('[type=module]').src)"
        ".then(({ modules }) => Object.values(modules).flatMap(Object.keys))"
    )
    assert {"showNotice", "route"} < set(exported)
    defined = page.evaluate("names => names.filter(name => name in window && !document.getElementById(name))", exported)
    assert set(defined) <= {"toolbar"}, "in other modules, such an export hides what browsers define"


def test_no_file_parses_text_as_markup_or_names_another_host() -> None:
    for name, source in SOURCES.items():
        for banned in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "http://",
            "https://",
        ):
            assert banned not in source.replace("http://www.w3.org/2000/svg", ""), (name, banned)
    index = SOURCES["index.html"]
    assert " style=" not in index
    assert " on" not in index.replace(" one", "").replace(" only", "").replace(" own", "")


def test_no_script_knows_metadata_keys_or_labels_of_the_library() -> None:
    for name, source in MODULES.items():
        assert not re.search(r"everthread\.[a-z]", source), name
        assert "no language model" not in source.lower(), name


def test_the_bounds_of_relevance_are_those_of_a_chat_without_a_model() -> None:
    bounds = re.compile(r"^const (SURE_RELEVANCE|MIN_SHARE) = ([\d.]+);", re.MULTILINE)
    found = {(file, name, float(value)) for file, source in MODULES.items() for name, value in bounds.findall(source)}
    assert found == {
        ("demo.js", "SURE_RELEVANCE", SURE_RELEVANCE),
        ("replymemories.js", "MIN_SHARE", MIN_SHARE),
    }


def test_no_word_of_a_language_is_a_role_or_a_class() -> None:
    found = [name for name, source in SOURCES.items() if re.search(r"\b(role|class|type|href): t\(", source)]
    assert found == []


def test_strings_of_several_lines_are_lists_of_words() -> None:
    for path in FILES:
        if path.suffix == ".js":
            rows = path.read_text(encoding="utf-8").splitlines()
            edges = [row for row in rows if row.count("`") % 2 and "= /[" not in row]  # not a regular expression
            assert all("`.split(/" in row for row in edges[1::2]), f"{path.name} is served without indentation"
