from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from hardship import PATIENCE
from hardship.python import run_python, start_python

import everthread
from everthread.cli.common import LAZY_COMMANDS, NO_TIME, json_option, prepare_output
from everthread.cli.main import main
from everthread.cli.names import EMPTY_BANK
from everthread.common.installation import extra_command
from everthread.factory import RECIPES
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer.formats import open_reader

LEGEND = load_wording()("why.legend")

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run a command on a store of its own."""

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(
            main, ["--store", str(tmp_path / "store"), "--embedder", "hash", *map(str, arguments)], input=stdin
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception  # no command may end in a traceback
        return result

    return run


def parse_output(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def error(result: Result, code: int = 2) -> str:
    """Return the error that was printed as JSON."""
    assert result.exit_code == code
    output = json.loads(result.stdout)
    assert set(output) == {"error"}
    return str(output["error"])


def complaint(result: Result, code: int = 2) -> str:
    """Return the single line on standard error."""
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("everthread: ")
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def alice(cli: Cli) -> Cli:
    """With a bank of three lines in two sessions."""
    for text, speaker, session, said_at in (
        ("My sister Mia moved to Lisbon.", "Alice", "spring", "2024-05-06T18:00+02:00"),
        ("How lovely!", "Bob", "spring", "2024-05-06T18:01+02:00"),
        ("We painted the kitchen yellow.", "Alice", "summer", "2024-08-01T09:30"),
    ):
        where = ("-b", "alice", "--speaker", speaker, "--session", session)
        assert cli("observe", text, *where, "--said-at", said_at).exit_code == 0
    return cli


# ------------------------------------------------------------------------ observe


def test_a_line_is_observed_and_shown(cli: Cli) -> None:
    line = parse_output(
        cli("observe", "I bake rye bread.", "-b", "alice", "--speaker", "Alice", "--key", "k1", "--json")
    )
    assert (line["seq"], line["text"], line["speaker"], line["role"]) == (1, "I bake rye bread.", "Alice", "user")
    shown = cli("observe", "With caraway.", "-b", "alice", "--said-at", "2024-05-06T18:00")
    assert shown.stdout == "     2  2024-05-06 18:00  user: With caraway.\n"


@pytest.mark.parametrize("text", ["Wheat bread.", "Rye bread."])
def test_a_line_with_a_known_key_is_not_stored_again_and_that_is_reported(cli: Cli, text: str) -> None:
    first, again = (parse_output(cli("observe", line, "--key", "k1", "--json")) for line in ("Rye bread.", text))
    assert (first.pop("already_known"), again.pop("already_known")) == (False, True)
    assert first == again
    said = cli("observe", text, "--key", "k1")
    assert said.exit_code == 0
    assert said.stdout.startswith("already known as line 1; nothing was stored\n     1  ")
    assert said.stdout.endswith("user: Rye bread.\n")
    assert len(parse_output(cli("lines", "--json"))) == 1
    assert "already known" not in cli("observe", text, "--key", "k2").stdout


def test_a_line_replaces_the_line_with_its_key(cli: Cli) -> None:
    put = ("--key", "k1", "--replace", "--json")
    first, second, again = (parse_output(cli("observe", line, *put)) for line in ("Rye.", "Wheat.", "Wheat."))
    assert [line["already_known"] for line in (first, second, again)] == [False, False, True]
    assert [(line["seq"], line["text"]) for line in parse_output(cli("lines", "--json"))] == [(2, "Wheat.")]


def test_a_line_is_read_from_standard_input_without_its_last_line_end(cli: Cli) -> None:
    assert (
        parse_output(cli("observe", "-", "--json", stdin="Ein Gedicht\nüber Möwen\n"))["text"]
        == "Ein Gedicht\nüber Möwen"
    )
    assert parse_output(cli("observe", "-", "--json", stdin="Hello\r\n"))["text"] == "Hello"


def test_standard_input_that_is_not_utf_8_is_refused(cli: Cli) -> None:
    assert "standard input is not UTF-8" in complaint(cli("observe", "-", stdin=b"caf\xe9\n"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["observe", ""], "text is empty"),
        (["observe", "Hi", "-b", ""], "a bank id must be text"),
        (["observe", "Hi", "-b", "x" * 500], "at most 200 are allowed"),
        (["observe", "Hi", "--said-at", "soon"], "invalid time: got 'soon', expected a time like 2024-05-01"),
        (["observe", "Hi", "--replace"], "a line that replaces another needs the key"),
        (["observe", "Hi", "--session", " "], "session must be text that is not blank"),
        (["import", "nowhere.txt"], "nowhere.txt: can't be read (No such file"),
        (["bench", "speed", "--lines", "many"], "--lines 'many' must be whole numbers"),
        (["bench", "locomo", "nowhere.json"], "can't be read"),
    ],
)
def test_bad_input_is_one_line_on_standard_error_and_status_2(cli: Cli, arguments: list[str], words: str) -> None:
    assert words in complaint(cli(*arguments))
    assert parse_output(cli("banks", "--json")) in ([], ["default"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--embedder", "elephant", "observe", "Hi"], "unknown embedder 'elephant'; expected minilm"),
        (["--embedder", "https://127.0.0.1/v1", "observe", "Hi"], "has no model name"),
        (
            ["--recipe", "elephant", "observe", "Hi"],
            "unknown recipe 'elephant'; expected one of default, membot, packabby, emi, goodai, character",
        ),
        (["--store", "mysql://ann:zqxsecret@x", "observe", "Hi"], "store 'mysql://ann@x' is a URL of an unknown kind"),
    ],
)
def test_an_invalid_setting_is_bad_input(tmp_path: Path, arguments: list[str], words: str) -> None:
    assert words in complaint(CliRunner().invoke(main, ["--store", str(tmp_path), "--embedder", "hash", *arguments]))


@pytest.mark.parametrize(("command", "extra"), [("serve", "server"), ("db", "postgres"), ("mcp", "mcp")])
def test_a_command_without_its_extra_names_the_install_command_of_this_installation(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, LAZY_COMMANDS[command], None)
    assert f"{command} needs an extra: {extra_command(extra)} (" in complaint(cli(command, "--anything"))


def test_a_file_is_refused_as_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    result = CliRunner().invoke(main, ["--store", str(tmp_path / "file"), "banks"])
    assert str(tmp_path / "file") in complaint(result, code=1)


@pytest.mark.parametrize("command", ["recall", "context", "lines", "stats", "forget", "reindex", "export"])
def test_an_unknown_bank_is_reported_with_the_known_ones(alice: Cli, command: str) -> None:
    cli = alice
    more = {"recall": ["Mia"], "context": ["Mia"], "forget": ["--everything", "-y"]}.get(command, [])
    assert "there is no bank 'alcie'; known banks: alice" in complaint(cli(command, *more, "-b", "alcie"), code=1)
    assert parse_output(cli("banks", "--json")) == ["alice"]


def test_a_store_without_banks_is_reported_as_empty(cli: Cli) -> None:
    cli("observe", "Hi")
    cli("forget", "--everything", "-y")
    assert "there are no banks yet; begin with: everthread chat" in complaint(cli("recall", "Mia"), code=1)
    assert cli("banks").stdout == "there are no banks yet; begin with: everthread chat\n"
    assert parse_output(cli("banks", "--json")) == []


READING = [
    *(["recall", "Mia"], ["context", "Mia"], ["lines"], ["stats"], ["reindex"], ["export"], ["retract", "1"]),
    ["forget", "--everything", "-y"],
]


@pytest.mark.parametrize("arguments", [*READING, ["banks"], ["doctor"]], ids=lambda each: str(each[0]))
def test_reading_commands_report_a_missing_folder_and_do_not_create_it(
    cli: Cli, tmp_path: Path, arguments: list[str]
) -> None:
    said = cli(*arguments)
    assert said.exit_code == (1 if arguments in READING else 0)
    assert (
        f"no banks yet: the folder {tmp_path / 'store'} does not exist; create a bank with: everthread chat"
        in said.output
    )
    assert not (tmp_path / "store").exists()


def test_with_json_an_error_is_printed_as_json_too(alice: Cli) -> None:
    failed = alice("recall", "Mia", "-b", "alcie", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout) == {"error": "there is no bank 'alcie'; known banks: alice"}
    assert failed.stderr == "everthread: there is no bank 'alcie'; known banks: alice\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recall", "--json"], "Missing argument 'QUERY'"),
        (["recall", "Mia", "-k", "x", "--json"], "'x' is not a valid integer"),
        (["recall", "Mia", "--json", "--nonsense"], "No such option"),
        (["rcall", "--json"], "No such command 'rcall'"),
        (["--nonsense", "recall", "--json"], "No such option"),
    ],
)
def test_with_json_a_usage_error_is_printed_as_json_too(cli: Cli, arguments: list[str], words: str) -> None:
    failed = cli(*arguments)
    assert words in error(failed)
    assert "Usage: " in failed.stderr
    assert cli(*arguments[: arguments.index("--json")]).stdout == ""


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("serv", " Did you mean 'serve' or 'observe'?"),
        ("imprt", " Did you mean 'import'?"),
        ("proxy", " Did you mean 'serve'?"),
        ("xyz", ""),
    ],
)
def test_an_unknown_command_is_refused_with_similar_ones(cli: Cli, name: str, hint: str) -> None:
    refused = cli(name)
    assert refused.exit_code == 2
    assert refused.stderr.endswith(f"Error: No such command {name!r}.{hint}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recall", "Mia", "--store", "DIR"], "--store goes before the command: everthread --store … recall …"),
        (["recall", "Mia", "--store=DIR"], "--store goes before the command: everthread --store … recall …"),
        (["chat", "--embedder", "hash"], "--embedder goes before the command: everthread --embedder … chat …"),
        (["bench", "firsts", "--store", "DIR"], "--store goes before the command: everthread --store … bench firsts …"),
    ],
)
def test_an_option_that_belongs_before_the_command_is_explained(cli: Cli, arguments: list[str], words: str) -> None:
    failed = cli(*arguments)
    assert failed.exit_code == 2
    assert words in failed.stderr
    assert words in error(cli(*arguments, "--json"))


@pytest.mark.parametrize("name", ["--bank", "-b", "--json", "--speaker"])
def test_an_option_that_belongs_after_the_command_is_explained(cli: Cli, name: str) -> None:
    failed = cli(name, "alice", "recall", "Mia")
    assert failed.exit_code == 2
    assert f"{name} goes after the command: everthread COMMAND … {name} …" in failed.stderr


@pytest.mark.parametrize(
    "command", [("observe",), ("recall",), ("search",), ("title", "talk"), ("facts", "correct", "1")]
)
def test_a_text_without_quotes_is_explained(cli: Cli, command: tuple[str, ...]) -> None:
    failed = cli(*command, "I", "like", "tea")
    assert failed.exit_code == 2
    assert "Got unexpected extra arguments (like tea); put a text of several words in quotes" in failed.stderr
    assert "quotes" not in cli("export", "I", "like", "tea").stderr


def test_json_of_a_command_without_a_result_is_refused_with_the_reason(cli: Cli) -> None:
    failed = cli("demo", "--json")
    assert failed.exit_code == 2
    assert error(failed) == "everthread demo has no result that it could print as JSON"
    assert "everthread demo has no result that it could print as JSON" in failed.stderr


def test_a_text_that_looks_like_an_option_does_not_enable_json(cli: Cli) -> None:
    assert complaint(cli("observe", "--said-at", "soon", "--", "--json"))


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted; what was stored so far remains"),
        (PermissionError(13, "Permission denied", "some/file"), 1, "some/file can't be used (Permission denied)"),
    ],
)
def test_interrupts_and_disk_errors_are_printed_as_json_too(
    cli: Cli, fault: BaseException, code: int, words: str
) -> None:
    @main.command("fail")
    @json_option
    def fail(as_json: bool) -> None:
        raise fault

    try:
        assert error(cli("fail", "--json"), code).startswith(words)
    finally:
        del main.commands["fail"]


# ----------------------------------------------------------------- recall, context


def test_recall_shows_hits_among_their_neighbours(alice: Cli) -> None:
    text = alice("recall", "Where did Mia move?", "-b", "alice", "-k", "1").stdout
    assert "[Monday, 6 May 2024, 18:00] #1" in text
    assert "    > Alice: My sister Mia moved to Lisbon.\n      Bob: How lovely!" in text
    assert "cosine" not in text
    explained = alice("recall", "Mia", "-b", "alice", "--why").stdout
    assert "cosine 0." in explained
    assert explained.endswith(f"\n\n{LEGEND}\n")


def test_recall_leaves_out_faint_lines_beside_relevant_ones(alice: Cli) -> None:
    asked = ("recall", "My sister Mia moved to Lisbon.", "-b", "alice", "-k", "50")
    found = [hit["relevance"] for hit in json.loads(alice(*asked, "--json").stdout)]
    shown = re.findall(r"^ *(\d+)%  \[", alice(*asked).stdout, re.MULTILINE)
    assert len(shown) == len([relevance for relevance in found if relevance >= 0.02]) < len(found)


def test_recall_notes_on_standard_error_that_nothing_seems_relevant(alice: Cli) -> None:
    asked = ("Who ever invented lawnmowers?", "-b", "alice")
    result = alice("recall", *asked)
    assert result.exit_code == 0
    assert "My sister Mia" in result.stdout
    assert result.stderr == "(nothing seems relevant, so a context would be empty; these are the nearest lines)\n"
    assert alice("context", *asked).stdout == ""
    assert alice("recall", *asked, "--json").stderr == ""
    relevant = ("My sister Mia moved to Lisbon?", "-b", "alice")
    assert alice("recall", *relevant).stderr == ""
    assert alice("context", *relevant).stdout != ""
    assert alice("recall", *relevant, "--as-of", "2020-01-01").stderr == ""


def test_recall_in_several_banks_names_the_bank_of_each_line(alice: Cli) -> None:
    alice("observe", "I saw Mia in Lisbon.", "-b", "bob/home")
    both = alice("recall", "Where did Mia move? To Lisbon?", "--in", "bob/home", "--in", "alice", "-k", "2")
    assert [row.split("] ")[1] for row in both.stdout.splitlines() if "%" in row] == ["#1 in alice", "#1 in bob/home"]
    assert both.stderr == ""
    hits = parse_output(alice("recall", "Mia", "--in", "bob/home", "--json"))
    assert [hit["bank"] for hit in hits] == ["bob/home"]
    strange = alice("recall", "Who ever invented lawnmowers?", "--in", "bob/home", "--in", "alice")
    assert strange.stderr.startswith("(nothing seems relevant")
    for banks in (("alice", "alicia"), ("alicia", "alice")):
        wrong = alice("recall", "Mia", "--in", banks[0], "--in", banks[1])
        assert wrong.exit_code == 1
        assert "there is no bank 'alicia'" in wrong.stderr
    assert parse_output(alice("banks", "--json")) == ["alice", "bob/home"]


def test_a_context_of_several_banks_has_a_part_for_each(alice: Cli) -> None:
    alice("observe", "I saw Mia in Lisbon.", "-b", "bob/home")
    both = ("--in", "bob/home", "--in", "alice", "--all")
    output = alice("context", "Where did Mia move? To Lisbon?", *both).stdout
    parts = ("[Bank bob/home]\n", "I saw Mia", "[Bank alice]\n", "My sister Mia moved to Lisbon.")
    places = [output.index(part) for part in parts]
    assert places == sorted(places)
    context = parse_output(alice("context", "Where did Mia move?", *both, "--json"))
    assert [other["bank"] for other in context["others"]] == ["alice"]  # the first that is named is the memory's own
    assert "there is no bank 'alicia'" in alice("context", "Mia", "--in", "alice", "--in", "alicia").stderr


def test_recall_as_json_includes_all_fields_of_a_hit(alice: Cli) -> None:
    hits = parse_output(alice("recall", "Where did Mia move?", "-b", "alice", "--json"))
    assert len(hits) == 3
    assert set(hits[0]) == {"line", "score", "relevance", "signals", "passage", "kind", "bank"}
    assert hits[0]["line"]["text"] == "My sister Mia moved to Lisbon."
    assert hits[0]["line"]["said_at"] == "2024-05-06T18:00:00+02:00"
    assert [line["seq"] for line in hits[0]["passage"]] == [1, 2]
    assert 0 <= hits[0]["relevance"] <= 1


@pytest.mark.parametrize(
    ("filters", "seqs"),
    [
        (["--speaker", "Bob"], {2}),
        (["--speaker", "Bob", "--speaker", "Alice"], {1, 2, 3}),
        (["--session", "spring"], {1, 2}),
        (["--role", "user"], {1, 2, 3}),
        (["--role", "assistant"], set()),
        (["--since", "2024-06-01"], {3}),
        (["--until", "2024-05-06T16:01"], {1}),
        (["--as-of", "2024-05-06T18:01+02:00"], {1, 2}),
        (["--as-of", "2020-01-01"], set()),
        (["--where", '{"field": "speaker", "op": "!=", "value": "Bob"}'], {1, 3}),
        (["-k", "1"], {1}),
    ],
)
def test_recall_is_filtered(alice: Cli, filters: list[str], seqs: set[int]) -> None:
    hits = parse_output(alice("recall", "Mia moved to Lisbon", "-b", "alice", "--json", *filters))
    assert {hit["line"]["seq"] for hit in hits} == seqs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], "k must be a whole number from 1, got 0"),
        (["--since", "yesterday"], "invalid time: got 'yesterday'"),
        (["--where", "speaker"], "invalid condition: 'speaker' is not JSON"),
        (["--where", "[" * 100_000], "is not JSON"),
        (["--where", '{"field": "mood", "op": "==", "value": 1}'], "invalid field of a condition: got 'mood'"),
        (["--as-of", "0001-01-01T00:00+23:00"], "is outside the years 1 to 9999"),
    ],
)
def test_an_invalid_query_is_refused(alice: Cli, arguments: list[str], words: str) -> None:
    assert words in complaint(alice("recall", "Mia", "-b", "alice", *arguments))


def test_a_blank_query_finds_nothing(alice: Cli) -> None:
    assert parse_output(alice("recall", "", "-b", "alice", "--json")) == []
    assert alice("recall", " ", "-b", "alice").stdout == "the query is blank\n"
    assert parse_output(alice("context", " ", "-b", "alice", "--all", "--json"))["text"] == ""


def test_in_an_empty_bank_nothing_is_found(alice: Cli) -> None:
    alice("forget", "-b", "alice", "--session", "spring", "-y")
    alice("forget", "-b", "alice", "--session", "summer", "-y")
    assert alice("recall", "Mia", "-b", "alice").stdout == f"{EMPTY_BANK}\n"


def test_a_context_is_text_for_a_prompt_with_its_cost_on_standard_error(alice: Cli) -> None:
    result = alice("context", "Where did my sister Mia move, Lisbon?", "-b", "alice", "--all")
    assert result.stdout.startswith("[Monday, 6 May 2024, 18:00]\nAlice: My sister Mia moved to Lisbon.\n")
    assert "tokens, relevance" in result.stderr


@pytest.mark.parametrize("budget", [1, 20, 40, 1000])
def test_a_context_keeps_to_its_budget_and_says_what_was_cut(alice: Cli, budget: int) -> None:
    context = parse_output(alice("context", "Mia Lisbon", "-b", "alice", "--all", "--budget", str(budget), "--json"))
    assert context["tokens"] <= budget
    assert len(context["hits"]) + len(context["cut"]) <= 3
    assert bool(context["text"]) == bool(context["lines"])
    said = alice("context", "Mia Lisbon", "-b", "alice", "--all", "--budget", str(budget)).stderr
    assert (" cut)" in said) == bool(context["cut"])


def test_the_context_is_empty_if_nothing_is_relevant(alice: Cli) -> None:
    result = alice("context", "Who ever invented lawnmowers?", "-b", "alice")
    assert result.stdout == ""
    assert result.exit_code == 0


# ------------------------------------------------------------- what is remembered


def test_lines_are_listed_in_order(alice: Cli) -> None:
    assert [row.split("  ")[-1] for row in alice("lines", "-b", "alice").stdout.splitlines()] == [
        "Alice: My sister Mia moved to Lisbon.", "Bob: How lovely!", "Alice: We painted the kitchen yellow."
    ]  # fmt: skip
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--after", "1", "--json"))] == [2, 3]
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--limit", "2", "--json"))] == [1, 2]
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--speaker", "Bob", "--json"))] == [2]
    assert parse_output(alice("lines", "-b", "alice", "--limit", "0", "--json")) == []


def test_a_line_without_words_is_listed_on_request_with_its_metadata(alice: Cli, tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.observe("", speaker="Bob", metadata={"tool_call": {"name": "weather"}})
    assert len(alice("lines", "-b", "alice").stdout.splitlines()) == 3
    *_, last = alice("lines", "-b", "alice", "--wordless").stdout.splitlines()
    assert last.endswith('Bob: {"tool_call": {"name": "weather"}}')


def test_banks_are_listed(alice: Cli) -> None:
    alice("observe", "Hi", "-b", "bob/captain Nemo")
    assert parse_output(alice("banks", "--json")) == ["alice", "bob/captain Nemo"]
    assert alice("banks").stdout == "alice\nbob/captain Nemo\n"


def test_stats_count_what_a_bank_holds(alice: Cli) -> None:
    stats = parse_output(alice("stats", "-b", "alice", "--json"))
    assert (stats["lines"], stats["sessions"], stats["speakers"]) == (3, 2, ["Alice", "Bob"])
    assert (stats["pending"], stats["recipe"], stats["embedder"]) == (0, "default", "hash-64")
    text = alice("stats", "-b", "alice").stdout
    assert "speakers  Alice, Bob" in text
    assert "vectors  hash-64: 3" in text
    assert len(text.splitlines()) == len(stats)


def test_sessions_and_their_units_are_listed(alice: Cli, tmp_path: Path) -> None:
    said = alice("chat", "-b", "alice", stdin="My brother Zeb sailed to Rome.\n/end yes\n/quit\n")
    assert "It is remembered" in said.stdout
    first, *_, last = alice("sessions", "-b", "alice").stdout.splitlines()
    assert first == "spring                   2024-05-06 18:00  2 lines  My sister Mia moved to Lisbon."
    assert last.endswith("  1 line  ended  My brother Zeb sailed to Rome.")
    assert parse_output(alice("sessions", "-b", "alice", "--json"))[-1]["lines"] == 1
    shown = alice("units", "summary", "-b", "alice").stdout
    assert shown.startswith("2024-08-01 09:30  summary 1, home, of lines ")
    assert "My brother Zeb sailed to Rome." in shown
    assert [unit["kind"] for unit in parse_output(alice("units", "-b", "alice", "--json"))][-1] == "summary"


def test_a_bank_without_units_names_the_command_that_writes_them(cli: Cli) -> None:
    cli("observe", "My sister Mia moved to Lisbon.", "-b", "my bank", "--said-at", "2024-05-06")
    command = "everthread write --bank 'my bank'"
    assert cli("units", "-b", "my bank").stdout == f"no units yet; summaries and notes are written with: {command}\n"
    assert cli("write", "-b", "my bank").stdout.startswith("1 summary and 1 version of the notes")
    assert "nothing to write; " in cli("write", "-b", "my bank").stdout
    assert "Mia moved to Lisbon" in cli("units", "-b", "my bank").stdout


def test_units_are_listed_and_recalled_by_category(alice: Cli) -> None:
    alice("chat", "-b", "alice", stdin="My brother Zeb sailed to Rome.\n/end yes\n/quit\n")
    assert "summary 2, family, of lines 4 to 4" in alice("units", "-b", "alice").stdout
    assert "Zeb" in alice("units", "-b", "alice", "--category", "family").stdout
    assert alice("units", "-b", "alice", "--category", "food").stdout == "nothing; the bank has family, home\n"
    assert "Zeb" in alice("recall", "Who sailed?", "-b", "alice", "--category", "family").stdout
    none = alice("recall", "Who sailed?", "-b", "alice", "--category", "food").stdout
    assert none == "no matching summary has this category; the bank has family, home\n"
    assert "Zeb" in alice("context", "Who sailed?", "-b", "alice", "--category", "family", "--all").stdout
    assert alice("context", "Who sailed?", "-b", "alice", "--category", "food", "--all").stdout == ""


def test_general_knowledge_is_added_listed_and_forgotten(alice: Cli, tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text("Ferns like shade\nand moist soil.\n \nThe tide turns twice a day.\n")
    assert alice("seed", file, "-b", "ferns").stdout == "2 of 2 texts were new; ferns has 2 now\n"
    assert parse_output(alice("seed", file, "-b", "ferns", "--json")) == {"read": 2, "added": 0, "texts": 2}
    listed = alice("units", "general", "-b", "ferns").stdout
    assert listed.startswith(f"{NO_TIME}  general 1, of no line\n  Ferns like shade\n  and moist soil.\n")
    output = alice("--recipe", "packabby", "recall", "When does the tide turn?", "-b", "ferns", "-k", 1).stdout
    assert "The tide turns twice a day." in output
    assert alice("forget", "-b", "ferns", "--unit", "general", 2, "-y").stdout == "forgotten: general 2\n"
    assert [unit["id"] for unit in parse_output(alice("units", "-b", "ferns", "--json"))] == [1]
    file.write_text("\n \n")
    assert "it holds no text" in alice("seed", file, "-b", "ferns").stderr
    assert "can't be read" in alice("seed", tmp_path / "none.txt", "-b", "ferns").stderr


def test_a_line_is_retracted(alice: Cli) -> None:
    line = parse_output(alice("retract", "1", "-b", "alice", "--json"))
    assert (line["seq"], line["text"]) == (1, "My sister Mia moved to Lisbon.")
    assert line["retracted_at"]
    assert alice("retract", "2", "-b", "alice").stdout == "2  2024-05-06 18:01  (retracted) Bob: How lovely!\n"
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--json"))] == [3]
    assert {hit["line"]["seq"] for hit in parse_output(alice("recall", "Mia", "-b", "alice", "--json"))} == {3}
    assert "has no line 77" in complaint(alice("retract", "77", "-b", "alice"), code=1)


# ------------------------------------------------------------------------ correct


def test_a_line_is_corrected(alice: Cli) -> None:
    corrected = alice("correct", "-b", "alice", 2, "So I hear.")
    assert corrected.stdout.endswith("Bob: So I hear.\n")
    assert corrected.stdout.startswith("     4  ")
    assert parse_output(alice("correct", "-b", "alice", 2, "-", "--json", stdin="So I hear.\n"))["seq"] == 4
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--json"))] == [1, 3, 4]


def test_a_line_that_is_missing_is_not_corrected(alice: Cli) -> None:
    assert "bank 'alice' has no line 77 to correct" in complaint(alice("correct", "-b", "alice", 77, "No."), 1)
    assert "there is no bank 'bob'" in complaint(alice("correct", "-b", "bob", 1, "No."), 1)


# ------------------------------------------------------------------------- forget


def test_forgetting_asks_for_confirmation(alice: Cli) -> None:
    refused = alice("forget", "-b", "alice", "--session", "spring", stdin="n\n")
    assert refused.exit_code == 1
    assert "Forget session 'spring' of bank 'alice' (2 lines) for good? [y/N]" in refused.stderr
    assert len(parse_output(alice("lines", "-b", "alice", "--json"))) == 3
    done = alice("forget", "-b", "alice", "--session", "spring", stdin="y\n")
    assert done.stdout.startswith("forgotten: 2 lines")
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--json"))] == [3]


@pytest.mark.parametrize(
    ("scope", "left"),
    [(["--seq", "2"], [1, 3]), (["--speaker", "Alice"], [2]), (["--session", "summer"], [1, 2])],
)
def test_forgetting_without_a_question_leaves_a_receipt(alice: Cli, scope: list[str], left: list[int]) -> None:
    receipt = parse_output(alice("forget", "-b", "alice", *scope, "-y", "--json"))
    assert receipt["lines"] == 3 - len(left)
    assert set(receipt) == {"bank", "scope", "seqs", "lines", "forgotten_at", "backups", "cleared_backups"}
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--json"))] == left


def test_without_a_terminal_the_error_names_the_option_to_skip_the_question(alice: Cli) -> None:
    refused = alice("forget", "-b", "alice", "--everything", stdin="")
    assert refused.exit_code == 2
    assert "Forget everything of bank 'alice' (3 lines) for good?" in refused.stderr
    assert refused.stderr.endswith(
        "\neverthread: no terminal for confirmation; pass --yes to continue without confirmation\n"
    )
    assert len(parse_output(alice("lines", "-b", "alice", "--json"))) == 3


def test_json_output_never_asks_for_confirmation(alice: Cli) -> None:
    failed = alice("forget", "-b", "alice", "--speaker", "Bob", "--json", stdin="y\n")
    assert failed.exit_code == 2
    assert (
        "pass --yes as well, to forget everything that 'Bob' said of bank 'alice'" in json.loads(failed.stdout)["error"]
    )
    assert len(parse_output(alice("lines", "-b", "alice", "--json"))) == 3


def test_a_line_is_shown_with_its_versions_before_it_is_forgotten(cli: Cli) -> None:
    cli("observe", "I live in Leeds.", "--said-at", "2026-01-01")
    long = "I have very, very, very, very, very, very, very, very, very, very many books."
    cli("observe", long, "--said-at", "2026-01-02")
    assert cli("correct", 1, "I live in York.").exit_code == 0
    refused = cli("forget", "--seq", 1, stdin="n\n")
    assert refused.stderr.startswith(
        "     1  2026-01-01 00:00  (retracted) user: I live in Leeds.\n"
        "     3  2026-01-01 00:00  user: I live in York.\n"
        "Forget line 1 of bank 'default' (2 lines) for good? [y/N]"
    )
    alone = cli("forget", "--seq", 2, stdin="n\n").stderr
    assert alone.startswith(f"     2  2026-01-02 00:00  user: {long[:70]}…\nForget line 2 of bank 'default' for good?")
    assert cli("forget", "--seq", 1, stdin="y\n").stdout.startswith("forgotten: 2 lines, ")


def test_a_unit_is_shown_before_it_is_forgotten(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Ferns have no seeds.")
    cli("seed", tmp_path / "texts.txt")
    refused = cli("forget", "--unit", "general", 1, stdin="n\n")
    assert "  Ferns have no seeds.\nForget general 1 of bank 'default' for good? [y/N]" in refused.stderr


def test_a_recall_asks_an_embedder_that_is_down_once(tmp_path: Path, no_ollama: str) -> None:
    url = f"http://{no_ollama}/v1#m"
    for arguments in (["observe", "My sister Mia lives in Lisbon."], ["recall", "Where does Mia live?"]):
        command = ["--store", str(tmp_path), "--embedder", url, *arguments]
        done = run_python("-m", "everthread", *command, timeout=PATIENCE)
        assert (done.returncode, done.stderr.count("embedder failed")) == (0, 1)
        assert f"http://{no_ollama}/v1/embeddings" in done.stderr
    assert "Lisbon" in done.stdout


def test_forgetting_says_that_backups_lose_the_lines_as_well(alice: Cli, tmp_path: Path) -> None:
    for _ in range(2):
        assert alice("backup", tmp_path / "backups").exit_code == 0
    done = alice("forget", "-b", "alice", "--everything", stdin="y\n")
    assert "Forget everything of bank 'alice' (3 lines) for good, also in 2 backups? [y/N]" in done.stderr
    assert done.stdout.startswith("forgotten: 3 lines, also in 2 backups, ")


def test_a_receipt_names_a_backup_that_is_gone_and_does_not_count_it(alice: Cli, tmp_path: Path) -> None:
    alice("backup", tmp_path / "backups")
    made = next((tmp_path / "backups").iterdir())
    (tmp_path / "backups").rename(tmp_path / "elsewhere")
    forgotten, left = alice("forget", "-b", "alice", "--seq", 2, "-y").stdout.splitlines()
    assert forgotten.startswith("forgotten: 1 line, 2")
    assert left == f"still in {made}, until the next: everthread backup {made.parent}"


def test_every_command_that_asks_has_the_same_option_not_to_ask() -> None:
    def list_options(command: click.Command) -> Iterator[list[str]]:
        yield from (option.opts for option in command.params if option.name == "yes")
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                if (found := command.get_command(context, name)) is not None:
                    yield from list_options(found)

    assert list(list_options(main)) == [["-y", "--yes"]] * 6


def test_a_single_line_is_counted_in_the_singular(alice: Cli) -> None:
    assert alice("forget", "-b", "alice", "--seq", "2", "-y").stdout.startswith("forgotten: 1 line, ")


def test_a_whole_bank_is_forgotten(alice: Cli) -> None:
    assert parse_output(alice("forget", "-b", "alice", "--everything", "-y", "--json"))["scope"] == "bank"
    assert parse_output(alice("banks", "--json")) == []


@pytest.mark.parametrize(
    ("scope", "code", "words"),
    [
        ([], 2, "there is nothing to forget; pass --seq"),
        (["--seq", "1", "--speaker", "Bob", "-y"], 2, "--seq and --speaker can't be given together; forget one after"),
        (["--session", "spring", "--everything"], 2, "--session and --everything can't be given together"),
        (["--seq", "77"], 1, "bank 'alice' has no line 77; nothing was forgotten"),
        (["--seq", "0"], 1, "0"),
        (["--session", "winter"], 1, "'winter'"),
        (["--speaker", "Zoe"], 1, "bank 'alice' has no speaker 'Zoe'; nothing was forgotten"),
        (["--unit", "note", "4"], 1, "there is no note 4; nothing was forgotten"),
        (["--seq", "77", "-y"], 1, "77"),
        (["--seq", "0", "-y"], 1, "0"),
        (["--session", "winter", "-y"], 1, "'winter'"),
        (["--speaker", "Zoe", "-y"], 1, "'Zoe'"),
    ],
)
def test_what_cannot_be_forgotten_is_reported_before_the_question(
    alice: Cli, scope: list[str], code: int, words: str
) -> None:
    assert words in complaint(alice("forget", "-b", "alice", *scope), code)
    assert len(parse_output(alice("lines", "-b", "alice", "--json"))) == 3


# ------------------------------------------------------------------------- import

TRANSCRIPT = """\
Monday, 6 May 2024
Ann: Did you water the fern?
Bob: I did.
[18:05] Ann: Thank you!
"""
CONVERSATION = {
    "speaker_a": "Ida",
    "speaker_b": "Tom",
    "session_1": [
        {"speaker": "Ida", "dia_id": "D1:1", "text": "I built a kite of red paper."},
        {"speaker": "Tom", "dia_id": "D1:2", "text": "Well done! Mine fell into the harbour."},
    ],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "My aunt breeds alpacas in Wales."}],
    "session_2_date_time": "12:05 am on 3 January, 2024",
}
QUESTIONS = [
    {"question": "What did Ida build of red paper?", "evidence": ["D1:1"], "category": 4, "answer": "a kite"},
    {"question": "When did Tom speak of alpacas in Wales?", "evidence": ["D2:1"], "category": 2, "answer": "January"},
    {"question": "What is never said?", "evidence": [], "category": 5, "adversarial_answer": "a boat"},
]
LOCOMO: dict[str, Any] = {"sample_id": "conv-1", "conversation": CONVERSATION, "qa": QUESTIONS}
OTHER: dict[str, Any] = {
    "sample_id": "conv-2",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "The lighthouse was painted white."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Our ferry leaves at nine."},
        ],
        "session_1_date_time": "9:00 am on 1 June, 2023",
    },
    "qa": [{"question": "When does the ferry leave?", "evidence": ["D1:2"], "category": 2, "answer": "nine"}],
}
REALTALK: dict[str, Any] = {
    "name": {"speaker_1": "Ida", "speaker_2": "Tom"},
    "session_1": [
        {"clean_text": "Hi Tom", "speaker": "Ida", "date_time": "29.12.2023, 10:04:11", "dia_id": "D1:1"},
        {"clean_text": "My parrot speaks Danish", "speaker": "Tom", "date_time": "29.12.2023, 10:05:00",
         "dia_id": "D1:2"},
    ],
    "session_1_date_time": "29.12.2023, 10:04:11",
    "qa": [{"question": "Which language does the parrot speak?", "evidence": ["D1:2"], "category": 1, "answer": "d"}],
}  # fmt: skip


def saved(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def jsonl(folder: Path, amount: int, name: str = "lines.jsonl") -> Path:
    return saved(folder, name, "".join(json.dumps({"text": f"Line {n}."}) + "\n" for n in range(amount)))


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("talk.txt", TRANSCRIPT, 3),
        ("talk.md", TRANSCRIPT, 3),
        ("chat.txt", "[05/06/24, 18:05:22] Ann: Hello\n[13/06/24, 18:05:22] Bob: Hi\n", 2),
        ("messages.json", [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}], 2),
        ("messages.json", {"messages": [{"role": "user", "content": "Hello"}]}, 1),
        ("lines.jsonl", '{"text": "One."}\n\n{"role": "assistant", "content": "Two."}\n', 2),
        ("locomo.json", [LOCOMO, OTHER], 5),
        ("realtalk.json", REALTALK, 2),
    ],
)
def test_a_file_is_imported_in_its_detected_format_and_a_second_time_adds_nothing(
    cli: Cli, tmp_path: Path, name: str, content: object, lines: int
) -> None:
    path = saved(tmp_path, name, content)
    first = parse_output(cli("import", path, "-b", "alice", "--json"))
    assert first == {
        "bank": "alice",
        "read": lines,
        "added": lines,
        "seqs": [[1, lines]],
        "lines": lines,
        "retracted": 0,
        "pending": 0,
        "skipped": {},
        "broken": {},
        "ambiguous_dates": {},
        "units": 0,
    }
    again = cli("import", path, "-b", "alice")
    many = "line was" if lines == 1 else "lines were"
    assert again.stdout == f"0 of {lines} {many} new; alice has {lines} now\n"


def test_skipped_entries_of_an_import_are_counted(cli: Cli, tmp_path: Path) -> None:
    text = "[13/06/24, 18:05:22] Ann: Hello\n[13/06/24, 18:06:00] Ann: <Media omitted>\n[13/06/24, 18:07:00] Bob left\n"
    path = saved(tmp_path, "chat.txt", text)
    assert parse_output(cli("import", path, "--json"))["skipped"] == {"without words": 1, "notices": 1}
    said = cli("import", path).stdout
    assert said == "0 of 1 line was new; default has 1 now (skipped: 1 without words, 1 notice)\n"


def test_an_import_says_how_many_pictures_it_left_out(cli: Cli, tmp_path: Path) -> None:
    picture, words = {"type": "image_url", "image_url": {"url": "cat.png"}}, {"type": "text", "text": "My cat."}
    talk = [{"role": "user", "content": content} for content in ([picture, words], [picture], "Well?")]
    path = saved(tmp_path, "talk.json", talk)
    said = cli("import", path).stdout
    assert said == ("2 of 2 lines were new; default has 2 now (skipped: 1 non-text part, 1 without words)\n")
    assert [line["text"] for line in parse_output(cli("lines", "--json"))] == ["My cat.", "Well?"]


def test_chats_with_the_same_name_are_imported_separately_and_later_copies_add_only_new_lines(
    cli: Cli, tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    cli("import", saved(tmp_path / "a", "chat.txt", "Ann: I like tea.\nBob: ok\n"))
    assert (
        parse_output(cli("import", saved(tmp_path / "b", "chat.txt", "Ann: I sail.\nBob: ok\n"), "--json"))["added"]
        == 2
    )
    assert (
        parse_output(cli("import", saved(tmp_path, "copy.txt", "Ann: I like tea.\nBob: ok\n"), "--json"))["added"] == 0
    )
    grown = saved(tmp_path / "a", "chat.txt", "Ann: I like tea.\nBob: ok\nBob: ok\n")
    assert parse_output(cli("import", grown, "--json"))["added"] == 1
    sessions = [line["session"] for line in parse_output(cli("lines", "--json"))]
    assert sessions[0] == sessions[1] == sessions[4] != sessions[2] == sessions[3]


def test_files_with_the_same_line_numbers_do_not_collide(cli: Cli, tmp_path: Path) -> None:
    for name, text in (("monday.jsonl", "I bought a car."), ("tuesday.jsonl", "Mia moved.")):
        path = saved(tmp_path, name, json.dumps({"id": 1, "text": text}))
        assert [parse_output(cli("import", path, "--json"))["added"] for _ in range(2)] == [1, 0]


def test_a_known_key_with_another_text_stops_the_whole_import(cli: Cli, tmp_path: Path) -> None:
    cli("import", saved(tmp_path, "one.jsonl", '{"key": "k", "text": "I sail."}'))
    path = saved(tmp_path, "two.jsonl", '{"key": "l", "text": "I swim."}\n{"key": "k", "text": "I bake."}')
    assert "two.jsonl, line 2: bank 'default' has a different text under the key 'k'" in complaint(cli("import", path))
    assert [line["text"] for line in parse_output(cli("lines", "--json"))] == ["I sail."]


@pytest.mark.parametrize(
    ("name", "content", "option", "words"),
    [
        (
            "talk.txt",
            TRANSCRIPT,
            ["--only", "Ann"],
            "format transcript has no option 'only' (only whatsapp, locomo, realtalk, exports of services have it); "
            "leave out --only",
        ),
        (
            "a.jsonl",
            '{"text": "One."}',
            ["--assistant", "Bob"],
            "format jsonl has no option 'assistant' (only transcript, whatsapp, exports of services have it); "
            "leave out --assistant",
        ),
        (
            "locomo.json",
            LOCOMO,
            ["--tz", "Asia/Tokyo"],
            "format locomo has no option 'tz' (only jsonl, messages, transcript, whatsapp, exports of services have "
            "it); leave out --tz",
        ),
    ],
)
def test_an_option_that_the_format_does_not_use_is_refused(
    cli: Cli, tmp_path: Path, name: str, content: object, option: list[str], words: str
) -> None:
    assert words in complaint(cli("import", saved(tmp_path, name, content), *option))
    assert parse_output(cli("banks", "--json")) == []


def test_lines_keep_the_time_at_which_they_were_said(cli: Cli, tmp_path: Path) -> None:
    path = saved(tmp_path, "talk.txt", TRANSCRIPT)
    cli("import", path, "--tz", "Asia/Tokyo", "--assistant", "Bob")
    lines = parse_output(cli("lines", "--json"))
    assert [line["role"] for line in lines] == ["user", "assistant", "user"]
    assert lines[2]["said_at"] == "2024-05-06T18:05:00+09:00"


def test_only_the_chosen_conversation_is_imported(cli: Cli, tmp_path: Path) -> None:
    path = saved(tmp_path, "locomo.json", [LOCOMO, OTHER])
    assert parse_output(cli("import", path, "--only", "conv-2", "--json"))["added"] == 2
    assert "there is no sample 'conv-9'; choose from conv-1, conv-2" in complaint(
        cli("import", path, "--only", "conv-9")
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", '{"text": "One."}\n{"text": \n', "a.jsonl, line 2, column"),
        ("a.jsonl", '{"text": "One."}\n{"text": ""}\n', "a.jsonl, line 2: the text is empty"),
        ("a.json", {"some": "thing"}, "a.json: unrecognised JSON: an object with 'some'. Supported are"),
        ("a.json", "", "the file is empty; export or download it again"),
        ("a.txt", "nobody says this\n", "line 1: 'nobody says this' has no speaker"),
        ("a.json", [], "a.json: unrecognised JSON: an empty list."),
    ],
)
def test_an_invalid_file_is_refused_with_the_position_and_nothing_is_stored(
    cli: Cli, tmp_path: Path, name: str, content: object, words: str
) -> None:
    assert words in complaint(cli("import", saved(tmp_path, name, content)))
    assert parse_output(cli("banks", "--json")) == []


def test_a_broken_line_far_down_is_named_and_nothing_before_it_is_stored(cli: Cli, tmp_path: Path) -> None:
    path = jsonl(tmp_path, 6000)
    rows = path.read_text().splitlines()
    rows[4999] = rows[4999][:-3]
    path.write_text("\n".join(rows))
    assert "line 5000, column" in complaint(cli("import", path))
    assert parse_output(cli("banks", "--json")) == []


def test_a_file_that_is_not_utf_8_is_refused_at_its_byte(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("Ann: Hello\nBob: café\n".encode("latin-1"))
    assert "line 2, byte 19: the byte 0xe9 is not UTF-8, but may be cp1252 (café)" in complaint(cli("import", path))


def test_a_folder_or_an_unknown_format_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "no export is recognised in these files: " in complaint(cli("import", tmp_path))
    path = saved(tmp_path, "talk.txt", TRANSCRIPT)
    assert "unknown format 'docx'; expected one of jsonl" in complaint(cli("import", path, "--format", "docx"))
    assert "unknown time zone 'Mars/Olympus'" in complaint(cli("import", path, "--tz", "Mars/Olympus"))
    for name in ("../../etc", "Europe", ""):
        assert f"unknown time zone {name!r}; expected one such as" in complaint(cli("import", path, "--tz", name))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", "", "the file is empty; export or download it again"),
        ("empty.jsonl", "\n", "the file contains no messages; nothing was imported"),
        (
            "chat.txt",
            "[13/06/24, 18:06:00] Ann: <Media omitted>",
            "the file contains no messages (skipped: 1 without words); nothing was imported",
        ),
    ],
)
def test_an_empty_file_is_reported_and_creates_no_bank(
    cli: Cli, tmp_path: Path, name: str, content: str, words: str
) -> None:
    assert f"{name}: {words}" in complaint(cli("import", saved(tmp_path, name, content)))
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_importing_again_completes_an_interrupted_import(cli: Cli, tmp_path: Path) -> None:
    path = jsonl(tmp_path, 700)
    with Memory.open("alice", store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.observe_many(line for n, line in enumerate(open_reader(path)()) if n < 300)
    done = parse_output(cli("import", path, "-b", "alice", "--json"))
    assert (done["read"], done["added"], done["lines"]) == (700, 400, 700)
    assert [line["text"] for line in parse_output(cli("lines", "-b", "alice", "--json"))] == [
        f"Line {n}." for n in range(700)
    ]


# --------------------------------------------------------------- export, reindex


def test_an_export_imported_elsewhere_keeps_times_and_texts(alice: Cli, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    said = alice("export", "-b", "alice", "-o", path)
    assert said.stderr == f"3 lines written to {path}\n"
    assert alice("export", "-b", "alice").stdout == path.read_text(encoding="utf-8")
    assert parse_output(alice("import", path, "-b", "copy", "--json"))["added"] == 3
    lines, copies = (parse_output(alice("lines", "-b", bank, "--json")) for bank in ("alice", "copy"))
    for field in ("seq", "session", "role", "speaker", "text", "said_at", "metadata", "parent"):
        assert [line[field] for line in lines] == [line[field] for line in copies]


def test_an_export_imported_into_its_own_bank_adds_only_what_was_forgotten(alice: Cli, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    with Memory.open("alice", store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.observe("With a key.", key="k", session="summer")
        memory.observe("An answer.", parent=2, session="summer")
    alice("export", "-b", "alice", "-o", path)
    alice("retract", "1", "-b", "alice")
    assert parse_output(alice("import", path, "-b", "alice", "--json"))["added"] == 0
    alice("forget", "-b", "alice", "--seq", "5", "-y")
    assert parse_output(alice("import", path, "-b", "alice", "--json"))["added"] == 1
    assert parse_output(alice("import", path, "-b", "alice", "--json"))["added"] == 0
    texts = [
        (line["text"], line["parent"]) for line in parse_output(alice("lines", "-b", "alice", "--after", "4", "--json"))
    ]
    assert texts == [("An answer.", 2)]


def test_the_export_of_one_bank_is_new_to_another_bank_with_as_many_lines(alice: Cli, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    alice("export", "-b", "alice", "-o", path)
    for number in range(3):
        alice("observe", f"Something else {number}.", "-b", "bob")
    assert parse_output(alice("import", path, "-b", "bob", "--json"))["added"] == 3
    assert parse_output(alice("import", path, "-b", "bob", "--json"))["added"] == 0


def test_retracted_lines_are_exported_only_on_request(alice: Cli, tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.retract(2)
    assert len(alice("export", "-b", "alice").stdout.splitlines()) == 1 + 2
    assert len(alice("export", "-b", "alice", "--retracted").stdout.splitlines()) == 1 + 3
    assert [line["seq"] for line in parse_output(alice("lines", "-b", "alice", "--json"))] == [1, 3]
    assert len(parse_output(alice("lines", "-b", "alice", "--retracted", "--json"))) == 3


def test_an_export_with_retracted_lines_is_imported_with_them_retracted(alice: Cli, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    alice("import", "-", "--format", "jsonl", "-b", "copy", stdin=alice("export", "-b", "alice").stdout)
    alice("retract", "2", "-b", "alice")
    alice("export", "-b", "alice", "--retracted", "-o", path)
    for bank, added in (("new", 3), ("new", 0), ("alice", 0), ("copy", 0)):  # the copy was made before
        counts = parse_output(alice("import", path, "-b", bank, "--json"))
        assert (counts["read"], counts["added"], counts["lines"], counts["retracted"]) == (3, added, 2, 1)
        lines, copies = (parse_output(alice("lines", "-b", name, "--retracted", "--json")) for name in ("alice", bank))
        assert [line["retracted_at"] for line in lines] == [line["retracted_at"] for line in copies]
        assert {hit["line"]["seq"] for hit in parse_output(alice("recall", "How lovely!", "-b", bank, "--json"))} == {
            1,
            3,
        }
    assert alice("import", path, "-b", "new").stdout == "0 of 3 lines were new; new has 2 now and 1 retracted\n"


def test_a_file_of_only_retracted_lines_is_imported(cli: Cli, tmp_path: Path) -> None:
    path = saved(tmp_path, "a.jsonl", {"text": "No.", "key": "k", "retracted_at": "2024-05-01T10:00:00Z"})
    assert parse_output(cli("import", path, "--json"))["added"] == 1
    assert parse_output(cli("lines", "--json")) == []
    other = saved(tmp_path, "b.jsonl", {"text": "Yes.", "key": "k"})
    assert "has a different text under the key 'k'" in complaint(cli("import", other))


def test_each_session_is_exported_into_a_file_of_a_folder(alice: Cli, tmp_path: Path) -> None:
    (folder := tmp_path / "files").mkdir()
    alice("observe", "Hello again.", "-b", "alice", "--session", "later")
    done = alice("export", "-b", "alice", "--format", "markdown", "-o", folder)
    assert done.stderr == f"4 lines written to 3 files in {folder}\n"
    assert sum(path.read_text(encoding="utf-8").count("Hello again.") for path in folder.glob("*.md")) == 1
    written = parse_output(alice("export", "-b", "alice", "-f", "html", "-o", folder / "a.html", "--json"))
    assert (written["lines"], written["files"]) == (4, 1)
    assert "Hello again." in alice("export", "-b", "alice", "-f", "sillytavern", "--session", "later").stdout
    assert "choose a session" in complaint(alice("export", "-b", "alice", "-f", "sillytavern"))


def test_the_ending_of_a_file_chooses_the_format_of_an_export_unless_one_is_named(alice: Cli, tmp_path: Path) -> None:
    beginnings = {"a.html": "<!doctype html>", "a.HTM": "<!doctype", "a.md": "# ", "a.jsonl": '{"ev', "a.json": '{"ev'}
    for name, beginning in beginnings.items():
        alice("export", "-b", "alice", "-o", tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)
    alice("export", "-b", "alice", "-f", "openai", "-o", tmp_path / "b.md")
    assert len(json.loads((tmp_path / "b.md").read_text(encoding="utf-8"))) == 3
    assert "did you mean markdown?" in complaint(alice("export", "-b", "alice", "-f", "md", "-o", tmp_path / "c.md"))


def test_a_new_folder_is_made_for_an_export_and_no_file_is_replaced_without_force(alice: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    command = ["export", "-b", "alice", "-f", "markdown", "-o"]
    assert "name a file instead" in complaint(alice("export", "-b", "alice", "-o", f"{folder}/"))
    assert not folder.exists()
    alice(*command, f"{folder}/", "--session", "summer")
    (file,) = folder.iterdir()
    file.write_text("mine", encoding="utf-8")
    for place in (folder, file):
        assert f"{file.name}: the file exists already" in complaint(alice(*command, place))
    assert [each.read_text(encoding="utf-8") for each in folder.iterdir()] == ["mine"]
    alice(*command, file, "--force")
    assert file.read_text(encoding="utf-8").startswith("# ")


def test_an_export_that_cannot_be_written_is_reported(alice: Cli, tmp_path: Path) -> None:
    for place in ("missing/export.jsonl", "missing/folder/"):
        complained = complaint(alice("export", "-b", "alice", "-f", "html", "-o", f"{tmp_path}/{place}"))
        assert "can't be written" in complained


def test_reindexing_embeds_every_line_with_the_current_model(alice: Cli, tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path / "store", embedder=HashEmbedder(32)) as memory:
        assert memory.reindex() == 3
    assert parse_output(alice("stats", "-b", "alice", "--json"))["pending"] == 3
    assert parse_output(alice("reindex", "-b", "alice", "--json")) == {
        "bank": "alice",
        "embedded": 3,
        "embedder": "hash-64",
    }
    assert alice("reindex", "-b", "alice").stdout == "0 lines of alice were embedded by hash-64\n"
    assert parse_output(alice("stats", "-b", "alice", "--json"))["vectors"] == {"hash-64": 3}


# ------------------------------------------------------------------- doctor, chat


def test_the_doctor_finds_a_sound_bank_sound(alice: Cli) -> None:
    findings = {finding["what"]: finding for finding in parse_output(alice("doctor", "--json"))}
    assert findings["bank alice"] == {"what": "bank alice", "ok": True, "detail": "sound"}
    assert all(finding["ok"] for finding in findings.values())
    assert "ok   bank alice             sound" in alice("doctor", "-b", "alice").stdout


def test_a_bank_that_cannot_be_opened_can_be_forgotten(alice: Cli, tmp_path: Path) -> None:
    path = next(tmp_path.rglob("alice.bank"))
    path.write_bytes(b"not a database, but all that is left of one" * 1000)
    assert alice("lines", "-b", "alice").exit_code == 1
    receipt = parse_output(alice("forget", "-b", "alice", "--everything", "--yes", "--json"))
    assert (receipt["scope"], receipt["lines"]) == ("bank", 0)
    assert not list(tmp_path.rglob("alice.bank*"))


def test_the_doctor_names_a_bank_that_is_damaged_or_missing(alice: Cli, tmp_path: Path) -> None:
    (tmp_path / "store" / "broken.bank").write_bytes(b"no database at all " * 400)
    result = alice("doctor")
    assert result.exit_code == 1
    assert "BAD  bank broken" in result.stdout
    assert "ok   bank alice" in result.stdout
    missing = alice("doctor", "-b", "alcie", "--json")
    assert missing.exit_code == 1
    assert any("there is no bank 'alcie'" in finding["detail"] for finding in json.loads(missing.stdout))
    assert "broken.bank" in complaint(alice("recall", "Mia", "-b", "broken"), code=1)


def test_a_chat_remembers_what_is_typed(cli: Cli) -> None:
    said = cli("chat", "-b", "alice", "--speaker", "Alice", stdin="My sister Mia moved to Lisbon.\n/stats\n/quit\n")
    assert said.exit_code == 0
    assert "remembers nothing yet" in said.stdout
    assert "1 line in 1 session by Alice" in said.stdout
    assert [line["text"] for line in parse_output(cli("lines", "-b", "alice", "--json"))] == [
        "My sister Mia moved to Lisbon."
    ]


def test_a_json_chat_answers_each_line_and_stores_no_command(cli: Cli) -> None:
    said = cli("chat", "-b", "alice", "--json", stdin="My sister Mia moved.\n/stats\n/why\n\nMia?\n/quit\nNever.\n")
    first, stats, why, second = map(json.loads, said.stdout.splitlines())
    assert (stats["command"], stats["answer"][:19]) == ("/stats", "1 line in 1 session")
    assert (why["command"], why["answer"][:16]) == ("/why", "Nothing was reca")
    assert (
        set(first)
        == set(second)
        == {
            *("text", "tokens", "complete", "bank", "others", "lines", "hits", "units", "facts", "cut", "relevance"),
            *("reply", "partial", "refused"),
        }
    )
    assert first["reply"] is None
    assert [line["text"] for line in parse_output(cli("lines", "-b", "alice", "--json"))] == [
        "My sister Mia moved.",
        "Mia?",
    ]


def test_a_json_chat_stores_a_line_that_says_quit(cli: Cli) -> None:
    cli("chat", "--json", stdin="quit\nexit\n/quit\nNever.\n")
    assert [line["text"] for line in parse_output(cli("lines", "--json"))] == ["quit", "exit"]


@pytest.mark.parametrize("speaker", ["", "  "])
def test_a_chat_without_a_speaker_name_is_refused(cli: Cli, speaker: str) -> None:
    said = complaint(cli("chat", "--speaker", speaker, stdin="Hello.\n"))
    assert said == f"everthread: --speaker {speaker!r} is blank; give your name, or leave the option out\n"
    assert parse_output(cli("banks", "--json")) == []


def test_a_json_chat_reports_a_line_that_cannot_be_stored_and_continues(cli: Cli) -> None:
    said = cli("chat", "--json", stdin=b"Hello.\n" + b"x" * 4_000_001 + b"\ncaf\xe9\nBye.\n")
    assert said.exit_code == 0
    first, long, latin, last = map(json.loads, said.stdout.splitlines())
    assert "text has 4,000,001 characters" in long["error"]
    assert "standard input is not UTF-8" in latin["error"]
    assert "text" in first
    assert "text" in last
    assert [line["text"] for line in parse_output(cli("lines", "--json"))] == ["Hello.", "Bye."]


# ------------------------------------------------------------------- as a program


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str | bytes, stdin: str | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
        store = ("--store", str(tmp_path / "store"), "--embedder", "hash")
        command = [sys.executable, "-W", "error", "-m", "everthread", *store, *arguments]
        environment = {**os.environ, **settings}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False, input=stdin, env=environment
        )

    return run


def test_python_m_everthread_is_the_command(program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = program("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: " in done.stdout
    assert all(name in done.stdout for name in main.commands)
    assert everthread.__version__ in program("--version").stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("command", [["lines"], ["export"], ["recall", "Mia", "--json"]], ids=lambda each: str(each[0]))
def test_an_output_error_is_one_line_on_standard_error(alice: Cli, tmp_path: Path, command: list[str]) -> None:
    arguments = ("-m", "everthread", "--store", tmp_path / "store", "--embedder", "hash", *command)
    with Path("/dev/full").open("w") as full:
        done = run_python(*arguments, "-b", "alice", stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        "everthread: the output can't be written (No space left on device); free some disk space or redirect it\n"
    )


def test_an_unusable_file_is_named(alice: Cli, tmp_path: Path) -> None:
    @main.command("fail")
    def fail() -> None:
        (tmp_path / "missing" / "file").write_text("x")

    try:
        assert f"{tmp_path / 'missing' / 'file'} can't be used (No such file" in complaint(alice("fail"), code=1)
    finally:
        del main.commands["fail"]


def test_a_closed_pipe_ends_the_output_without_an_error(cli: Cli, tmp_path: Path) -> None:
    cli("import", jsonl(tmp_path, 3000))
    arguments = ("-m", "everthread", "--store", tmp_path / "store", "--embedder", "hash", "export")
    with start_python(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_an_interrupted_import_ends_at_once_and_the_same_command_does_the_rest(tmp_path: Path) -> None:
    command = ("-m", "everthread", "--store", tmp_path / "store", "import", jsonl(tmp_path, 1200), "--json")
    process = start_python(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (tmp_path / "store" / "default.bank").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)  # in the middle of a batch
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(stdout)["error"].startswith("interrupted; ")
    assert stderr.splitlines()[-1] == (
        "everthread: interrupted; what was stored so far remains; run the same command again to finish"
    )
    done = json.loads(run_python(*command).stdout)
    assert (done["read"], done["lines"], done["pending"]) == (1200, 1200, 0)


def test_the_program_recalls_what_another_process_observed(
    alice: Cli, program: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = program("--store", "store", "--embedder", "hash", "recall", "Where did Mia move?", "-b", "alice")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Lisbon" in done.stdout
    failed = program("--store", "store", "--embedder", "hash", "recall", "Mia", "-b", "nobody")
    assert failed.returncode == 1
    assert failed.stderr == "everthread: there is no bank 'nobody'; known banks: alice\n"


def test_unencodable_characters_are_escaped_on_a_terminal(
    cli: Cli, program: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    assert cli("observe", "猫 😀").exit_code == 0
    shown = program("lines", PYTHONIOENCODING="latin-1")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "user: \\u732b \\U0001f600" in shown.stdout


@pytest.mark.parametrize(("system", "output"), [("win32", "→ 猫 😀"), ("linux", r"\u2192 \u732b \U0001f600")])
def test_windows_output_to_files_is_utf_8_whatever_its_code_page(
    monkeypatch: pytest.MonkeyPatch, system: str, output: str
) -> None:
    written = BytesIO()
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding="cp1252"))
    prepare_output()
    print("→ 猫 😀", end="", flush=True)
    assert written.getvalue().decode("utf-8") == output


def test_windows_output_is_in_the_encoding_that_the_user_has_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    written = BytesIO()
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding="cp1252"))
    prepare_output()
    print("Zürich 猫", end="", flush=True)
    assert written.getvalue() == b"Z\xfcrich \\u732b"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_json_output_is_valid_in_any_encoding(
    cli: Cli, program: Callable[..., subprocess.CompletedProcess[str]], encoding: str
) -> None:
    assert cli("observe", "猫 😀").exit_code == 0
    assert json.loads(program("lines", "--json", PYTHONIOENCODING=encoding).stdout)[0]["text"] == "猫 😀"
    *_, row = program("export", PYTHONIOENCODING=encoding).stdout.splitlines()
    assert json.loads(row)["text"] == "猫 😀"


def test_a_file_name_that_is_not_utf_8_is_printed_in_json(
    program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for settings in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}):
        failed = program("import", b"bad\xff.txt", "--json", **settings)
        assert failed.returncode == 2
        assert "can't be read" in json.loads(failed.stdout)["error"]


@pytest.mark.parametrize(
    ("content", "form", "lines"),
    [
        (TRANSCRIPT, [], 3),
        ("[05/06/24, 18:05:22] Ann: Hello\n[13/06/24, 18:05:22] Bob: Hi\n", [], 2),
        ('{"text": "One."}\n{"text": "Two."}\n', ["--format", "jsonl"], 2),
        (json.dumps([{"role": "user", "content": "Hello"}]), ["--format", "messages"], 1),
        (json.dumps(LOCOMO), ["--format", "locomo"], 3),
    ],
)
def test_standard_input_is_imported_and_a_second_time_or_from_a_file_adds_nothing(
    cli: Cli, tmp_path: Path, content: str, form: list[str], lines: int
) -> None:
    added = [parse_output(cli("import", "-", *form, "--json", stdin=content))["added"] for _ in range(2)]
    assert added == [lines, 0]
    assert parse_output(cli("import", saved(tmp_path, "file.txt", content), *form, "--json"))["added"] == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Ann: Hello\ncaf\xe9".encode("latin-1"), "standard input, line 2, byte 14: the byte 0xe9 is not UTF-8"),
        (b"no name\n", "standard input, line 1: 'no name' has no speaker"),
        (
            b'{"text": "One."}\n',
            "standard input: this looks like JSON; give its format with --format (jsonl, messages, ",
        ),
        (b"", "standard input: the file is empty"),
    ],
)
def test_errors_in_standard_input_name_it(cli: Cli, content: bytes, words: str) -> None:
    assert words in complaint(cli("import", "-", stdin=content))
    assert parse_output(cli("banks", "--json")) == []


def test_piped_input_is_imported(program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = program("import", "/dev/stdin", "--json", stdin="Ann: Hello\nBob: Hi\n")
    assert (done.returncode, json.loads(done.stdout)["added"]) == (0, 2)
    assert (
        "everthread: /dev/stdin, line 1: 'no name' has no speaker"
        in program("import", "/dev/stdin", stdin="no name").stderr
    )


# ------------------------------------------------------------------ recipes and their options


def test_the_list_of_recipes_names_the_commands_that_take_one(cli: Cli) -> None:
    listed = cli("recipes")
    assert [row.split()[0] for row in listed.stdout.splitlines()] == list(RECIPES)
    assert "everthread recipes NAME" in listed.stderr
    assert "everthread chat --recipe NAME" in listed.stderr


def test_recipes_and_their_options_are_described_in_the_terminals_language(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERTHREAD_LANGUAGE", "de")
    listed, shown = cli("recipes"), cli("recipes", "goodai").stdout
    assert "emi          wie Emi: die eine Antwort" in listed.stdout
    assert "(die Optionen eines Rezepts: everthread recipes NAME;" in listed.stderr
    assert "capacity = 50000\n    Stücke im Gedächtnis: Höchstzahl der Stücke; die ältesten werden entfernt.\n" in shown
    assert "    Eine ganze Zahl ab 1; Voreinstellung: 50000\n" in shown
    assert "    Eines von sentence, line, paragraph, section, none; Voreinstellung: " in shown
    assert [cli("recipes", name).exit_code for name in RECIPES] == [0] * len(RECIPES)


def test_the_options_of_a_recipe_are_listed_with_name_meaning_range_and_default(cli: Cli) -> None:
    shown = cli("recipes", "packabby").stdout
    assert "threshold = none\n    Minimum similarity: Minimum cosine of a recalled summary" in shown
    assert "A number from -1 to 1, or none; default: none" in shown
    output = parse_output(cli("recipes", "emi", "--json"))
    assert output["name"] == "emi"
    top = next(option for option in output["options"] if option["name"] == "top")
    assert (top["type"], top["low"], top["default"], top["value"]) == ("int", 1, 20, 20)


def test_options_apply_to_one_command_and_are_saved_with_a_new_bank(cli: Cli) -> None:
    assert cli("--recipe", "membot", "--set", "neighbours=0", "--set", "max_hits=1", "observe", "Ferns.").exit_code == 0
    values = {
        option["name"]: option["value"] for option in parse_output(cli("recipes", "-b", "default", "--json"))["options"]
    }
    assert (values["neighbours"], values["max_hits"], values["blocks"]) == (0, 1, 10)
    then = parse_output(cli("--set", "neighbours=2", "recipes", "-b", "default", "--json"))
    assert {option["name"]: option["value"] for option in then["options"]}["neighbours"] == 2
    assert parse_output(cli("stats", "--json"))["recipe"] == "membot"
    assert parse_output(cli("--recipe", "emi", "recall", "ferns", "--json")) is not None
    assert parse_output(cli("stats", "--json"))["recipe"] == "membot"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--set", "neighbours", "observe", "Hi"],
            "'neighbours' is not of the form NAME=VALUE; write it like threshold=0.3",
        ),
        (["--set", "=3", "observe", "Hi"], "'=3' is not of the form NAME=VALUE"),
        (
            ["--set", "neigbours=3", "observe", "Hi"],
            "unknown option 'neigbours' of recipe 'default'; did you mean 'neighbours'?",
        ),
        (["--set", "neighbours=-1", "observe", "Hi"], "neighbours must be a whole number from 0 to 1000, got '-1'"),
        (["chat", "--set", "neighbours=x"], "neighbours must be a whole number from 0 to 1000, got 'x'"),
        (["recipes", "elephant"], "unknown recipe 'elephant'; expected one of default"),
    ],
)
def test_an_invalid_option_is_refused_and_nothing_is_created(
    cli: Cli, tmp_path: Path, arguments: list[str], said: str
) -> None:
    result = cli(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not list(tmp_path.rglob("*.db"))


def test_invalid_options_in_the_configuration_are_named_with_file_and_table(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    for text, said in (
        (
            "[recipes.packaby]\nhits = 1",
            "sets [recipes.packaby]: unknown recipe; expected one of default",
        ),
        (
            "[recipes.packabby]\nthreshold = 5",
            "sets [recipes.packabby]: threshold must be a number from -1 to 1",
        ),
        ("[recipes.packabby]\ntreshold = 0", "sets [recipes.packabby]: unknown option 'treshold' of recipe 'packabby'"),
        ("recipes = 3", "sets recipes to 3; it must be a table for each recipe, such as [recipes.packabby]"),
        ("[recipe.packabby]\nthreshold = 5", "sets [recipes.packabby]: threshold must be a number from -1 to 1"),
    ):
        file.write_text(text, encoding="utf-8")
        assert said in complaint(cli("recipes", "default"))
    file.write_text('[recipes.packabby]\ndecoys = ["They met."]\nthreshold = "none"\n', encoding="utf-8")
    assert "decoys = They met.\n" in cli("recipes", "packabby").stdout


def test_hits_are_reranked_by_name(cli: Cli) -> None:
    for text in ("The ferry leaves at noon.", "We baked bread."):
        cli("observe", text)
    output = parse_output(cli("recall", "When does the ferry leave?", "--rerank", "keywords", "--json"))
    assert [(hit["line"]["seq"], hit["signals"]["keywords"]) for hit in output] == [(1, 2.0)]
    assert "unknown reranker 'best'" in complaint(cli("context", "ferry", "--rerank", "best"))
