from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hardship.llm import llm_server

from everthread.cli.main import main
from everthread.memory import Memory
from everthread.text.refusal import is_refusal
from everthread.text.refusal_words import shipped_words
from everthread.types import NewLine

Refusals = Callable[..., Result]

LEARNT = json.dumps(
    {"words": [{"word": "Ask the Harbour Master", "intensity": 8}, {"word": "not in these replies", "intensity": 9}]}
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the user's file, which doesn't exist yet."""
    path = tmp_path / "settings" / "refusals.toml"
    monkeypatch.setenv("EVERTHREAD_REFUSALS", str(path))
    return path


@pytest.fixture
def run(tmp_path: Path, own: Path) -> Refusals:
    def invoke(*arguments: str | Path, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(
            main, ["--store", str(tmp_path / "store"), "recipes", "refusals", *map(str, arguments)], input=stdin
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    path = tmp_path / "replies.txt"
    path.write_text("The sea is calm.\n\nAsk the harbour master, not me.\n", encoding="utf-8")
    return path


def test_words_learnt_from_replies_are_shown_and_saved_after_confirmation(
    run: Refusals, replies: Path, own: Path
) -> None:
    assert not is_refusal("Ask the harbour master, not me.")
    with llm_server(LEARNT) as server:
        result = run("--learn", "--from", replies, "--model", f"{server.url}#m", stdin="y\n")
        sent = json.dumps(server.asked[0].body)
    assert result.exit_code == 0, result.stderr
    assert "The sea is calm." in sent
    assert "1.60  ask the harbour master" in result.stdout
    assert "1 more of 2 replies" in result.stdout
    assert "not in these replies" not in result.stdout
    assert tomllib.loads(own.read_text(encoding="utf-8")) == {"phrases": {"ask the harbour master": 1.6}}
    assert is_refusal("Ask the harbour master, not me.")


def test_all_words_are_shown_with_their_intensity_and_the_users_own_are_marked(run: Refusals, own: Path) -> None:
    shipped = run().stdout.splitlines()
    phrases = shipped_words().phrases
    assert f"yours: {own} (none yet)" in shipped[0]
    assert shipped[1:] == [f"{phrase.intensity:5.2f}  {phrase.text}" for phrase in phrases]
    own.parent.mkdir()
    own.write_text(f'[phrases]\n"Ask the Harbour Master" = 2\n"{phrases[0].text}" = 0\n', encoding="utf-8")
    mine = [" 2.00  ask the harbour master  (yours)", f" 0.00  {phrases[0].text}  (yours)"]
    assert run().stdout.splitlines()[1:] == [*mine, *shipped[2:]]


def test_declining_saves_nothing(run: Refusals, replies: Path, own: Path) -> None:
    with llm_server(LEARNT) as server:
        result = run("--learn", "--from", replies, "--model", f"{server.url}#m", stdin="n\n")
    assert result.exit_code == 1
    assert not own.exists()


def test_learnt_words_join_those_of_the_file(run: Refusals, replies: Path, own: Path) -> None:
    own.parent.mkdir()
    own.write_text('[classes]\nwho = ["cook"]\n[phrases]\n"ask the {who}" = 1\n', encoding="utf-8")
    with llm_server(LEARNT) as server:
        output = json.loads(run("--learn", "--from", replies, "--yes", "--json", "--model", f"{server.url}#m").stdout)
    assert output["learnt"] == {"ask the harbour master": 1.6}
    assert output["newly_refused"] == ["Ask the harbour master, not me."]
    tables = tomllib.loads(own.read_text(encoding="utf-8"))
    assert tables == {"classes": {"who": ["cook"]}, "phrases": {"ask the {who}": 1, "ask the harbour master": 1.6}}
    assert "ask the harbour master" in run().stdout


def test_retracted_refusals_of_a_bank_come_first_in_the_prompt(run: Refusals, tmp_path: Path, own: Path) -> None:
    with Memory.open("ann", store=tmp_path / "store", embedder="hash") as memory:
        memory.observe_many([NewLine("How deep is it?", "Ann", "user"), NewLine("Nine fathoms.", "Jonas", "assistant")])
        line = memory.observe("Ask the harbour master.", role="assistant", metadata={"refused": True})
        memory.retract(line.seq)
    with llm_server(LEARNT) as server:
        result = run("--learn", "--bank", "ann", "--yes", "--model", f"{server.url}#m")
        sent = str(server.asked[0].body)
    assert result.exit_code == 0, result.stderr
    assert 0 < sent.index("Ask the harbour master.") < sent.index("Nine fathoms.")
    assert "How deep" not in sent
    assert "ask the harbour master" in own.read_text(encoding="utf-8")


def test_without_replies_the_model_names_its_own_words_in_a_language(run: Refusals, own: Path) -> None:
    answer = json.dumps({"words": [{"word": "无可奉告", "intensity": 10}]}, ensure_ascii=False)
    with llm_server(answer) as server:
        result = run("--learn", "--language", "Chinese", "--yes", "--model", f"{server.url}#m")
        assert "Chinese" in str(server.asked[0].body)
    assert result.exit_code == 0, result.stderr
    assert tomllib.loads(own.read_text(encoding="utf-8"))["phrases"] == {"无可奉告": 2.0}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I'd rather not.", "no JSON"),
        ('{"words": [{"word": "never ever", "intensity": 70}]}', "from 1 to 10"),
        ('{"words": [{"word": "never ever", "intensity": "very"}]}', "was invalid"),
        ('{"words": [{"word": "no", "intensity": 5}, {"word": "{cant} do", "intensity": 5}]}', "plain text"),
        ('{"words": "never"}', "was invalid"),
    ],
)
def test_an_unusable_answer_is_requested_again_and_a_second_one_is_an_error(
    run: Refusals, own: Path, bad: str, why: str
) -> None:
    good = '{"words": [{"word": "never ever", "intensity": 5}]}'
    with llm_server(bad, good) as server:
        assert run("--learn", "--yes", "--model", f"{server.url}#m").exit_code == 0
        assert why in str(server.asked[1].body)
    own.unlink()
    with llm_server(bad) as server:
        result = run("--learn", "--yes", "--model", f"{server.url}#m")
    assert result.exit_code != 0
    assert "refusing words 2 times" in result.stderr
    assert not own.exists()


def test_no_refusals_among_the_replies_change_nothing(run: Refusals, replies: Path, own: Path) -> None:
    with llm_server('{"words": []}') as server:
        result = run("--learn", "--from", replies, "--model", f"{server.url}#m")
    assert result.exit_code == 0
    assert "nothing was changed" in result.stdout
    assert not own.exists()


def test_an_invalid_file_of_the_user_is_named_and_not_changed(run: Refusals, own: Path) -> None:
    own.parent.mkdir()
    own.write_text("[phrases]\nnever = 9\n", encoding="utf-8")
    for arguments in ((), ("--learn", "--yes", "--model", "http://127.0.0.1:9/v1#m")):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "invalid intensity of 'never': 9" in result.stderr
    assert own.read_text(encoding="utf-8") == "[phrases]\nnever = 9\n"


def test_sources_that_give_no_replies_are_errors(run: Refusals, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n", encoding="utf-8")
    model = ("--model", "http://127.0.0.1:9/v1#m")
    assert "is empty" in run("--learn", "--from", empty, *model).stderr
    assert "can't be read" in run("--learn", "--from", tmp_path / "none.txt", *model).stderr
    assert "give one of them" in run("--learn", "--from", empty, "--bank", "b", *model).stderr
    with Memory.open("ann", store=tmp_path / "store", embedder="hash") as memory:
        memory.observe("Hello?", speaker="Ann")
    assert "has no replies" in run("--learn", "--bank", "ann", *model).stderr
    assert "there is no bank 'bob'" in run("--learn", "--bank", "bob", *model).stderr


def test_without_a_language_model_the_error_names_the_remedy(run: Refusals) -> None:
    result = run("--learn", "--model", "none")
    assert result.exit_code == 2
    assert "--model" in result.stderr
