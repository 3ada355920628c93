"""The documents are true: their Python runs, and every command, option and setting is in them."""

from __future__ import annotations

import json
import os
import re
import runpy
import select
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import click
import pytest
from hardship import PATIENCE
from hardship.python import run_python, start_python

import everthread
from everthread import Comparison, Filter, Memory, config
from everthread.cli.main import main
from everthread.stores.conditions import METADATA_PREFIX, TEXT_FIELDS, TIME_FIELD

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:7391"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def program(page: str) -> str:
    """Return the Python of a page, each line at its place in the page, so that a traceback names the page's line."""
    rows = [""] * page.count("\n")
    for block in BLOCK.finditer(page):
        if block[1] == "python":
            first = page.count("\n", 0, block.start(2))
            for place, row in enumerate(block[2].splitlines(), first):
                rows[place] = row
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    "page",
    # That of Strands runs where Strands can be installed: `make dropins`.
    [
        page
        for page in PAGES
        if "```python\n" in page.read_text("utf-8") and (page.stem != "strands" or find_spec("strands"))
    ],
    ids=lambda page: page.name,
)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"page_{page.stem}.py"  # not the name of a package
    script.write_text(program(page.read_text(encoding="utf-8")), encoding="utf-8")
    environment = {**os.environ, "EVERTHREAD_STORE": str(tmp_path / "banks"), "HOME": str(tmp_path)}
    environment["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    done = run_python(script, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), f"{page.name}: {done.stderr}"


def run(script: str, store: Path, stdin: str = "") -> str:
    """Run a block of shell in the root of the repository, with banks and settings of its own; return what it prints."""
    command = f'set -e\neverthread() {{ "{sys.executable}" -W error -m everthread "$@"; }}\n{script}'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "EVERTHREAD_STORE": str(store), "PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def serving(command: str, store: Path) -> Iterator[str]:
    """Run the command that starts the server, at a free port and without a browser; yield its address."""
    words = command.removeprefix("everthread ").replace("--open", "--port 0").split()
    environment = {**os.environ, "EVERTHREAD_STORE": str(store), "PYTHONPATH": str(ROOT)}
    with start_python("-m", "everthread", *words, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], PATIENCE)[0]
            address = re.search(r"http://[\w.:]+\d", process.stdout.readline())
            assert address
            yield address[0]
        finally:
            process.terminate()


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a language in a page."""
    return [block[2] for block in BLOCK.finditer(text_of(page)) if block[1] == language]


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the store after the first commands of the quickstart, and what they print."""
    store = tmp_path_factory.mktemp("quickstart")
    return store, run(blocks("docs/quickstart.md", "sh")[0], store)


def test_the_terminal_of_the_quickstart_prints_what_is_shown(quickstart: tuple[Path, str]) -> None:
    store, printed = quickstart
    assert f"\n{printed}" in f"\n{blocks('docs/quickstart.md', 'text')[1]}"
    assert "Mia" in run(blocks("docs/quickstart.md", "sh")[1], store, "Where does Mia work?\n/quit\n")


def test_the_first_commands_of_the_readme_run_as_they_are_there(tmp_path: Path) -> None:
    shown = text_of("README.md").partition("## Start")[2].partition("## In Python")[0]
    rows = re.findall(r"^    (everthread (\w+) .*)$", shown, re.MULTILINE)
    answers = {"chat": "/quit\n", "forget": "y\n"}
    outputs = [run(row, tmp_path, answers.get(command, "")) for row, command in rows]
    assert [command for _, command in rows] == ["import", "recall", "facts", "chat", "forget"]
    assert "my sister Mia got the job in Lisbon" in outputs[1]
    assert outputs[-1].startswith("forgotten: 21 lines")


def test_the_server_of_the_quickstart_answers_over_rest_and_from_python(quickstart: tuple[Path, str]) -> None:
    store, _ = quickstart
    _, _, serve, asking = blocks("docs/quickstart.md", "sh")
    (program,) = blocks("docs/quickstart.md", "py")
    with serving(serve, store) as address:
        if shutil.which("curl"):
            assert "Lisbon" in run(asking.replace(ADDRESS, address), store)
        script = f"'{sys.executable}' -W error - <<'END'\n{program.replace(ADDRESS, address)}\nEND"
        assert "Lisbon" in run(script, store)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "reference").glob("*.md")), ids=lambda page: page.stem)
def test_the_reference_names_what_exists(page: Path) -> None:
    if page.stem == "stores":
        pytest.importorskip("psycopg")
    names = re.findall(r"^::: (everthread[\w.]*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert names
    for name in names:
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last) or import_module(name)


@pytest.mark.parametrize(
    ("page", "documented"), [("memory", Memory), ("client", everthread.Client)], ids=["memory", "client"]
)
def test_the_reference_includes_methods_that_a_class_inherits(page: str, documented: type) -> None:
    inherited = {
        name
        for base in documented.__mro__[1:]
        for name in vars(base)
        if not name.startswith("_") and callable(getattr(base, name, None))
    }
    has_option = "inherited_members: true" in text_of(f"docs/reference/{page}.md")
    assert has_option or not inherited


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    for name in re.findall(r"`((?![\w/]*NAME)[\w./]+\.py)`", page.read_text(encoding="utf-8")):
        roots = (ROOT, ROOT / "everthread", ROOT / "docs")
        assert any((root / name).exists() for root in roots) or [*ROOT.glob(f"tests/**/{name}")], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_closed_and_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", BLOCK.sub("", text)):
        if "://" not in target:
            aim = page.parent / target if target else page
            assert aim.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(aim), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return [re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings]


def test_the_reference_of_the_command_line_is_up_to_date() -> None:
    pytest.importorskip("psycopg")  # without it, the help of `everthread db` is a remedy
    reference = cast("Callable[[], str]", runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))["reference"])
    assert text_of("docs/cli.md") == reference(), "run: python docs/generate_cli.py > docs/cli.md"


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for below, found in command.commands.items():
            yield from commands(found, f"{name} {below}")


@pytest.mark.parametrize(("name", "command"), list(commands(main, "everthread")))
def test_every_command_and_option_is_in_the_reference_with_a_word_of_help(name: str, command: click.Command) -> None:
    section = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", text_of("docs/cli.md"), re.MULTILINE | re.DOTALL)
    assert section, f"{name} is not in docs/cli.md"
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in section[1], f"{name} {parameter.opts}"
        else:
            assert parameter.make_metavar(click.Context(command)) in section[1], f"{name} {parameter.name}"


@pytest.mark.parametrize("setting", fields(config.Config), ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_its_variable_and_default(setting: object) -> None:
    name = setting.name  # type: ignore[attr-defined]
    rows = [row for row in text_of("docs/configuration.md").splitlines() if row.startswith(f"| `{name}` |")]
    assert len(rows) == 1
    if name == config.TABLE_SETTING:  # in the file alone
        assert "in the file only" in rows[0]
        return
    assert f"`{config.ENV_PREFIX}{name.upper()}`" in rows[0]
    default = getattr(config.Config(), name)
    if name not in ("store", "refusals"):  # whose defaults are places on this machine
        assert f'`"{default}"`' in rows[0] or f"`{default}`" in rows[0]


def test_the_configurations_of_agents_are_json_with_commands_that_exist() -> None:
    server, hooks = (json.loads(block) for block in blocks("docs/mcp.md", "json"))
    command = server["mcpServers"]["everthread"]
    assert Path(command["command"]).is_absolute()
    groups = [group for event in hooks["hooks"].values() for group in event]
    shown = [hook["command"].split() for group in groups for hook in group["hooks"]]
    assert [words[2] for words in shown] == ["recall", "remember", "end"]
    for words in (["everthread", *command["args"]], *shown):
        name, *arguments = words[1:]
        context = click.Context(main, **main.context_settings)
        subcommand = main.get_command(context, name)
        assert subcommand is not None
        assert subcommand.make_context(name, arguments, parent=context).params


def test_the_example_of_each_field_of_a_condition_finds_the_line_that_has_it(memory: Memory) -> None:
    memory.observe("Hello.", role="assistant", session="work", said_at=datetime(2024, 4, 1, tzinfo=UTC))
    memory.observe("Hi.", speaker="Nora", session="home", key="mail:1", metadata={"source": {"id": 7}})
    rows = re.findall(r"^\| `([\w.]+)` \|.*\| `(Comparison\(.*\))` \|$", text_of("docs/quickstart.md"), re.MULTILINE)
    assert [name for name, _ in rows] == [*TEXT_FIELDS, TIME_FIELD, f"{METADATA_PREFIX}NAME"]
    for name, example in rows:
        condition = eval(example, {"Comparison": Comparison, "datetime": datetime, "UTC": UTC})
        assert [line.seq for line in memory.lines(Filter(condition=condition))] == [2], name
        assert condition.field.startswith(name.removesuffix("NAME"))


def test_no_setting_is_documented_that_is_not_there() -> None:
    named = re.findall(r"^\| `(\w+)` \|", text_of("docs/configuration.md"), re.MULTILINE)
    assert named == [setting.name for setting in fields(config.Config)]
    text = "".join(page.read_text("utf-8") for page in PAGES)
    variables = set(re.findall(rf"(?!{config.TEST_ENV_PREFIX}){config.ENV_PREFIX}([A-Z_]+)", text))
    assert variables <= {name.upper() for name in named} | {"CONFIG", "SERVICE_HOST"}  # the last is Kubernetes' own


def test_the_configuration_that_is_shown_can_be_loaded(tmp_path: Path) -> None:
    shown = next(block[2] for block in BLOCK.finditer(text_of("docs/configuration.md")) if block[1] == "toml")
    (tmp_path / "config.toml").write_text(shown, encoding="utf-8")
    loaded = config.load(tmp_path / "config.toml", {})
    assert {name: getattr(loaded, name) for name in tomllib.loads(shown)} == tomllib.loads(shown)


def test_the_table_of_layers_is_what_is_checked() -> None:
    contract = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    layers = [layer.split(" : ") for layer in reversed(contract["layers"]) if layer != "__main__"]
    rows = text_of("CONTRIBUTING.md").partition("| layer |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [re.findall(r"`(\w+)`", row.split("|")[1]) for row in rows] == layers


def test_the_changelog_and_the_package_agree_on_the_version() -> None:
    newest = re.search(r"^## \[?v?(\d+\.\d+\.\d+)", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest, "CHANGELOG.md names no version"
    assert newest[1] == everthread.__version__ == tomllib.loads(text_of("pyproject.toml"))["project"]["version"]


def test_every_test_that_a_page_names_exists() -> None:
    files = list((ROOT / "tests").rglob("*.py"))
    known = {path.stem for path in files}.union(
        *(re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8")) for path in files)
    )
    named = {name for page in PAGES for name in re.findall(r"\btest_[a-z]\w+", page.read_text(encoding="utf-8"))}
    assert named
    assert named <= known, named - known
