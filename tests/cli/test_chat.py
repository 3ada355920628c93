"""`everthread chat`, on its own store and folder of characters, with a model on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hardship import PATIENCE
from hardship.llm import Cut, Reply, Status, llm_server
from hardship.terminal import Terminal

from everthread.chat import card, character_library
from everthread.chat.character import Character
from everthread.cli.main import main
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.testing import HashEmbedder

QUESTION = load_wording()("chat.remember")

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `everthread chat`. Whatever it makes is under `tmp_path`."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr("tempfile.tempdir", None)

    def run(*arguments: str | Path, stdin: str | bytes = "", store: str | Path | None = None) -> Result:
        given = ["--store", str(store or tmp_path / "store"), "--embedder", "hash", "chat", *map(str, arguments)]
        result = CliRunner().invoke(main, given, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception  # no command may end in a traceback
        return result

    return run


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def answers(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(row) for row in result.stdout.splitlines()]


def complaint(result: Result, code: int = 2) -> str:
    """Return the single line on standard error."""
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1)
    return result.stderr.removeprefix("everthread: ").strip()


def stored_lines(folder: Path, bank: str) -> list[tuple[str, str]]:
    with Memory.open(bank, store=folder / "store", embedder=HashEmbedder(512)) as memory:
        return [(line.speaker, line.text) for line in memory.lines()]


# ---------------------------------------------------------------------- in private


def test_an_incognito_chat_with_a_new_bank_leaves_no_file(run: Run, tmp_path: Path) -> None:
    with llm_server("Aye.") as server:
        said = run("-b", "new", "--incognito", "-m", f"{server.url}#m", stdin="The password is swordfish.\n/end yes\n")
    assert "Incognito: nothing you say is stored." in said.stdout
    assert "nothing that was said in incognito is stored" in said.stdout
    assert files(tmp_path) == []


def test_an_incognito_chat_does_not_change_an_existing_bank(run: Run, tmp_path: Path) -> None:
    run("-b", "alice", "-m", "none", "--speaker", "Alice", stdin="My sister Mia moved to Lisbon.\n")
    with llm_server("Aye.") as server:
        run(
            "-b",
            "alice",
            "--incognito",
            "--speaker",
            "Al",
            "-m",
            f"{server.url}#m",
            stdin="Swordfish.\n/set location X\n",
        )
        assert "Mia" not in json.dumps(server.bodies[0]["messages"][:-1])
    assert stored_lines(tmp_path, "alice") == [("Alice", "My sister Mia moved to Lisbon.")]
    assert all(b"wordfish" not in path.read_bytes() for path in (tmp_path / "store").rglob("*"))
    assert "Alice> " in run("-b", "alice", "-m", "none").stdout


def test_an_incognito_group_chat_leaves_no_file_and_says_so(run: Run, tmp_path: Path) -> None:
    for name in ("Captain", "Cook"):
        character_library.save(Character(name))
    before = files(tmp_path)
    with llm_server("Aye.") as server:
        said = run("-c", "Captain", "-c", "Cook", "--incognito", "-m", f"{server.url}#m", stdin="Cook, a secret.\n")
    assert "Incognito: nothing you say is stored." in said.stdout
    assert "Cook: Aye." in said.stdout
    assert "nothing that was said in incognito is stored" in said.stdout
    assert files(tmp_path) == before


def test_an_incognito_chat_creates_no_bank_in_a_database(run: Run, tmp_path: Path, database: str) -> None:
    said = run("-b", "new", "--incognito", "-m", "none", stdin="Hello.\n", store=database)
    assert said.exit_code == 0, said.stderr
    assert "nothing that was said in incognito is stored" in said.stdout
    with Memory.open("other", store=database, embedder=HashEmbedder(512)) as memory:
        assert not memory.store.exists("new")


# ---------------------------------------------------------------------- characters


def test_a_chosen_character_is_saved_with_the_bank(run: Run, tmp_path: Path) -> None:
    character_library.save(Character("Nora", greeting="The lamp is lit."))
    with llm_server("Aye.") as server:
        first = run("-b", "alice", "-c", "Nora", "-m", f"{server.url}#m", stdin="Hello.\n")
        second = run("-b", "alice", "-m", f"{server.url}#m", stdin="And now?\n")
    assert "Nora: The lamp is lit." in first.stdout
    assert "You are talking with Nora (m)." in second.stdout
    assert "got no reply" not in second.stdout


def test_a_card_file_can_be_given_as_the_character(run: Run, tmp_path: Path) -> None:
    card.write(Character("Dr. Vance"), tmp_path / "anyone.json")
    said = run("-c", tmp_path / "anyone.json", "-m", "none", stdin="Hello.\n")
    assert said.exit_code == 0, said.stderr
    (tmp_path / "broken.json").write_text("{")
    assert "broken.json" in complaint(run("-b", "other", "-c", tmp_path / "broken.json", "-m", "none"))
    assert files(tmp_path / "store") == ["default.bank"]


@pytest.mark.parametrize("scene", [False, True])
def test_an_unknown_character_is_reported_with_the_known_ones_and_creates_no_bank(
    run: Run, tmp_path: Path, scene: bool
) -> None:
    character_library.save(Character("Nora"))
    named = ["-c", "Nora", "-c", "Nroa"] if scene else ["-c", "Nroa"]
    said = complaint(run(*named, "-m", "none", stdin="Hello.\n"), code=1)
    assert said.startswith("there is no character 'Nroa'; known characters: Nora.")
    assert not (tmp_path / "store").exists()


def test_a_character_cannot_be_in_a_group_chat_twice(run: Run, tmp_path: Path) -> None:
    character_library.save(Character("Nora"))
    card.write(Character("Nora"), tmp_path / "n.json")
    for other in ("Nora", tmp_path / "n.json"):
        said = complaint(run("-c", "Nora", "-c", other, "-m", "none"))
        assert said == "'Nora' is given twice; give each --character once"
    assert not (tmp_path / "store").exists()


def test_in_a_group_chat_each_character_has_a_bank_named_after_it(run: Run, tmp_path: Path) -> None:
    for name in ("Dr. No", "Dr. Who"):
        character_library.save(Character(name))
    card.write(Character("Ada"), tmp_path / "someone.json")
    with llm_server("Aye.") as server:
        given = ["-m", f"{server.url}#m", "--speaker", "Ben"]
        run("-c", "Dr. No", "-c", tmp_path / "someone.json", *given, stdin="Dr. No, the map is in the barn.\n")
        run("-c", "Dr. Who", "-c", tmp_path / "someone.json", *given, stdin="Dr. Who, hello.\n")
    barn, hello = ("Ben", "Dr. No, the map is in the barn."), ("Ben", "Dr. Who, hello.")
    assert stored_lines(tmp_path, "default/Dr. No") == [barn, ("Dr. No", "Aye.")]
    assert stored_lines(tmp_path, "default/Dr. Who") == [hello, ("Dr. Who", "Aye.")]
    assert stored_lines(tmp_path, "default/Ada") == [barn, ("Dr. No", "Aye."), hello, ("Dr. Who", "Aye.")]


# -------------------------------------------------------------------------- models


def test_without_a_model_the_chat_remembers(run: Run, tmp_path: Path) -> None:
    assert "No language model is configured" in run("-m", "none", stdin="Hello.\n").stdout
    assert stored_lines(tmp_path, "default") == [("user", "Hello.")]


def test_a_url_without_a_name_selects_the_servers_only_model(run: Run, tmp_path: Path) -> None:
    with llm_server("Aye.", models=["one"]) as server:
        assert "You are talking with Ever (one)." in run("-m", server.url, stdin="Hello.\n").stdout
        assert server.bodies[0]["model"] == "one"
    with llm_server("Aye.", models=["one", "two"]) as server:
        said = complaint(run("-b", "other", "-m", server.url, stdin="Hello.\n"))
        assert "it has one, two; set EVERTHREAD_LLM_MODEL, or append the name to the URL: #model" in said
    assert files(tmp_path / "store") == ["default.bank"]


def test_an_api_key_alone_causes_no_request(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "No language model is configured" in run(stdin="Hello.\n").stdout
    with llm_server("Aye.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run(stdin="Hello.\n")
        assert server.requests == []
        run("-m", f"{server.url}#m", stdin="Hello.\n")
        assert "sk-secret" not in str(server.requests)


# ---------------------------------------------------------------------------- JSON


def test_in_json_a_reply_includes_the_recalled_context(run: Run) -> None:
    with llm_server("Fair winds.") as server:
        first, second = answers(run("--json", "-m", f"{server.url}#m", stdin="Hello.\n//me waves\n/QUIT\nNever.\n"))
    assert (first["reply"], first["partial"], first["refused"]) == ("Fair winds.", False, False)
    context = {"text", "tokens", "lines", "hits", "units", "facts", "cut", "relevance", "bank", "others", "complete"}
    assert set(first) == {*context, "reply", "partial", "refused"}
    assert (second["reply"], server.bodies[1]["messages"][-1]["content"][-15:]) == ("Fair winds.", "user: /me waves")


def test_in_json_a_goodbye_asks_for_consent_and_the_next_line_answers(run: Run) -> None:
    with llm_server("Aye.") as server:
        typed = "I planted ferns.\nbye\nno\nyes\n"
        _, asked, again, ended = answers(run("--recipe", "packabby", "--json", "-m", f"{server.url}#m", stdin=typed))
    assert asked == {"reply": f"Goodbye! {QUESTION}", "question": QUESTION, "remembered": None}
    assert again == {"reply": again["question"], "question": load_wording()("chat.forget"), "remembered": None}
    assert ended == {"reply": "It is forgotten.", "question": None, "remembered": False}


def test_in_json_an_error_is_reported_and_the_chat_continues(run: Run, tmp_path: Path) -> None:
    refusal = Reply("I'm sorry, but I can't help with that.")
    with llm_server(Status(401), Cut("I saw a"), "", refusal, "Aye.") as server:
        typed = "One.\nTwo.\nThree.\nFour.\n/lines x\n/nonsense\n/forget 1\n/end\n/set self x\n\u00a0\nFive.\n"
        received = answers(run("--json", "-m", f"{server.url}#m", stdin=typed))
    denied, cut, empty, refused, *commands, last = received
    assert set(denied) == {"error"}
    assert (cut["reply"], cut["partial"], set(cut)) == ("I saw a", True, {"error", "reply", "partial"})
    assert "the model gave an empty reply" in empty["error"]
    assert refused["refused"] is True
    assert [set(command) for command in commands] == [{"error"}] * 6
    assert "unknown command '/nonsense'" in commands[1]["error"]
    assert last["reply"] == "Aye."
    said = [text for _, text in stored_lines(tmp_path, "default")]
    assert said[1:] == ["One.", "Two.", "I saw a", "Three.", "Four.", "Five.", "Aye."]


def test_in_json_an_edit_is_done_without_a_question(run: Run, tmp_path: Path) -> None:
    typed = "One.\nTwo.\n/edit 2 Other.\n"
    with llm_server("Aye.") as server:
        received = answers(run("--json", "-m", f"{server.url}#m", stdin=typed))
    assert "(4 lines discarded" in received[-1]["answer"]
    assert [text for _, text in stored_lines(tmp_path, "default")][1:] == ["Other.", "Aye."]


def test_a_closed_pipe_ends_a_json_chat_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "everthread", "--store", str(tmp_path), "--embedder", "hash"]
    with subprocess.Popen(
        [*command, "chat", "-m", "none", "--json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"Hello.\n")
        process.stdin.flush()
        assert b"relevance" in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"Anyone?\n" * 9)
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(PATIENCE) in (0, 1)


def test_a_group_chat_refuses_json(run: Run) -> None:
    said = run("-c", "a", "-c", "b", "--json")
    assert said.exit_code == 2
    assert "--json works with one character only" in json.loads(said.stdout)["error"]


# ------------------------------------------------------------------------ sessions


@pytest.mark.parametrize("name", ["a/b", "../..", "猫", "'; DROP TABLE line; --", "two\nrows", "%s{0}"])
def test_a_session_may_have_any_name(run: Run, tmp_path: Path, name: str) -> None:
    for text in ("Hello.", "Again."):
        assert run("--session", name, "-m", "none", stdin=f"{text}\n").exit_code == 0
    with Memory.open("default", store=tmp_path / "store", embedder=HashEmbedder(512)) as memory:
        assert [(session.id, session.lines) for session in memory.sessions()] == [(name, 2)]


@pytest.mark.parametrize(("name", "message"), [("", "is blank"), (" ", "is blank"), ("x" * 201, "has 201 characters")])
def test_an_invalid_session_name_is_refused_before_anything_is_created(
    run: Run, tmp_path: Path, name: str, message: str
) -> None:
    assert message in complaint(run("--session", name, "-m", "none", stdin="Hello.\n"))
    assert not (tmp_path / "store").exists()


def test_an_incognito_chat_without_a_bank_stays_incognito_and_says_so(run: Run, tmp_path: Path) -> None:
    shown = run("-b", "new", "--incognito", stdin="A secret.\n/incognito\nAnother.\n/quit\n").stdout
    assert "this bank does not exist yet, and incognito does not create it; begin again without --incognito" in shown
    assert "nothing that was said in incognito is stored" in shown
    assert not (tmp_path / "store").exists()


def test_with_remember_never_an_earlier_conversation_is_not_summarised(run: Run, tmp_path: Path) -> None:
    with Memory.open("nora", store=tmp_path / "store", embedder=HashEmbedder(512)) as memory:
        memory.observe("I keep seven goats in Bruges.", said_at=datetime(2024, 5, 6, tzinfo=UTC))
    run("-b", "nora", "-m", "none", "--remember", "never", stdin="/quit\n")
    with Memory.open("nora", store=tmp_path / "store", embedder=HashEmbedder(512)) as memory:
        assert (memory.units(), memory.jobs()) == ([], [])


def test_the_remember_policy_is_set_before_the_first_line(run: Run, tmp_path: Path) -> None:
    screen = run("-b", "nora", "-m", "none", "--remember", "never", stdin="I moved to Lisbon.\n/end\n").stdout
    assert "Incognito: nothing you say is stored." in screen
    assert "(yes or no)" not in screen
    run("-b", "nora", "-m", "none", "--remember", "never", "-c", "Ever", "--speaker", "Nora", stdin="Hello.\n")
    with Memory.open("nora", store=tmp_path / "store", embedder="hash") as memory:
        assert memory.settings() == {"remember": "never"}  # nor the character
    again = run("-b", "nora", "-m", "none", stdin="A secret.\n/incognito\nAnother.\n").stdout  # it stays set
    assert "is set to remember never; enter /set remember ask" in again
    assert stored_lines(tmp_path, "nora") == []
    screen = run("-b", "nora", "-m", "none", "--remember", "always", stdin="I moved to Oslo.\n/end\n").stdout
    assert "It is remembered." in screen
    assert "(yes or no)" not in screen
    assert [text for _, text in stored_lines(tmp_path, "nora")] == ["I moved to Oslo."]


def test_remember_and_incognito_exclude_each_other(run: Run, tmp_path: Path) -> None:
    said = complaint(run("-b", "nora", "--remember", "never", "--incognito"))
    assert said.startswith("--remember is saved with the bank, and --incognito writes nothing")
    assert not (tmp_path / "store").exists()


# ------------------------------------------------------- a bank of another character


@pytest.fixture
def gold(run: Run, tmp_path: Path) -> None:
    """Create a bank in which Ever remembers something, and another character."""
    character_library.save(Character("Captain Vey"))
    run("-b", "alice", "-m", "none", stdin="I hid the gold in the barn.\n")


def owner(folder: Path, bank: str) -> object:
    with Memory.open(bank, store=folder / "store", embedder=HashEmbedder(512)) as memory:
        saved = memory.settings().get("character")
        return saved["name"] if isinstance(saved, dict) else None


@pytest.mark.usefixtures("gold")
def test_without_a_terminal_a_character_takes_over_the_bank_with_a_notice(run: Run, tmp_path: Path) -> None:
    said = run("-b", "alice", "-c", "Captain Vey", "-m", "none", stdin="Hello.\n")
    assert "bank 'alice' holds Ever's memories, which Captain Vey takes over" in said.stderr
    assert "for a separate bank, pass --bank alice/captain-vey" in said.stderr
    assert owner(tmp_path, "alice") == "Captain Vey"
    assert run("-b", "alice", "-c", "Captain Vey", "-m", "none", stdin="Hello.\n").stderr == ""
    said = run("-b", "alice", "-c", "Ever", "-m", "none", "--json", stdin="Hello.\n")
    assert "pass --bank alice/ever)" in said.stderr
    assert len(answers(said)) == 1


@pytest.mark.usefixtures("gold")
@pytest.mark.parametrize(("answer", "bank"), [("own", "alice/captain-vey"), ("this", "alice")])
def test_at_a_terminal_the_user_chooses_the_bank_for_another_character(tmp_path: Path, answer: str, bank: str) -> None:
    terminal = Terminal(tmp_path / "store", "-c", "Captain Vey", "-m", "none")
    assert "holds Ever's memories. Where do you want to talk with Captain Vey?" in terminal.wait_for("Answer")
    terminal.type(f"{answer}\n".encode())
    assert f"Bank '{bank}' remembers" in terminal.wait_for("Alice> ")
    terminal.type(b"/quit\n")
    assert terminal.close() == 0
    assert owner(tmp_path, bank) == "Captain Vey"
    assert owner(tmp_path, "alice") == (None if answer == "own" else "Captain Vey")


@pytest.mark.usefixtures("gold")
def test_the_locale_chooses_the_language_of_the_question_and_of_the_talk(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "store", "-c", "Captain Vey", "-m", "none", LC_ALL="de_DE.UTF-8")
    assert "Wo möchtest du mit Captain Vey sprechen?" in terminal.wait_for("(eigenes oder dieses)")
    terminal.type(b"eigenes\n")
    assert "Das Gedächtnis „alice/captain-vey“ ist noch leer." in terminal.wait_for("Alice> ")
    terminal.type(b"Meine Schwester Mia wohnt in Lissabon.\n")
    assert "Das merke ich mir." in terminal.wait_for("Alice> ")
    terminal.type(b"/quit\n")
    assert terminal.close() == 0


def test_json_is_in_english_in_every_locale(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert answers(run("-m", "none", "--json", stdin="/stats\n"))[0]["answer"] == "nothing yet"
    monkeypatch.setenv("EVERTHREAD_LANGUAGE", "fr")
    assert "est encore vide" in run("-b", "new", "-m", "none", stdin="/quit\n").stdout


@pytest.mark.usefixtures("gold")
def test_aborting_the_question_changes_nothing(run: Run, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "store", "-c", "Captain Vey", "-m", "none")
    terminal.wait_for("Answer")
    terminal.type(b"\x04")
    assert terminal.close() == 1
    assert owner(tmp_path, "alice") is None
    incognito = run("-b", "alice", "-c", "Captain Vey", "--incognito", "-m", "none", stdin="Hello.\n")
    assert (incognito.exit_code, incognito.stderr) == (0, "")
    assert owner(tmp_path, "alice") is None


# ------------------------------------------------------- a bank keeps its recipe


def test_the_recipe_and_its_options_are_saved_with_the_bank(run: Run, tmp_path: Path) -> None:
    run("-m", "none", "--recipe", "packabby", "--set", "threshold=0.3", stdin="/quit\n")
    run("-m", "none", "--set", "max_hits=2", stdin="/quit\n")
    run("-m", "none", "--recipe", "emi", "--incognito", stdin="/quit\n")
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert memory.settings()["recipe"] == {"name": "packabby", "options": {"max_hits": 2, "threshold": 0.3}}


@pytest.mark.parametrize("recipe", ["character", "packabby"])
def test_later_commands_use_the_recipe_of_the_chat(run: Run, tmp_path: Path, recipe: str) -> None:
    run("-m", "none", "--recipe", recipe, stdin="My sister Mia moved to Lisbon.\n/quit\n")
    command = ["--store", str(tmp_path / "store"), "--embedder", "hash"]
    stats = json.loads(CliRunner().invoke(main, [*command, "stats", "--json"]).stdout)
    assert (stats["recipe"], stats["lines"]) == (recipe, 1)
    found = [
        CliRunner().invoke(main, [*command, *given, "recall", "Where does Mia live?"]).output
        for given in ([], ["--recipe", recipe], ["--recipe", "default"])
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("flag", ["--offers", "--no-offers"])
def test_offers_have_their_own_option(run: Run, tmp_path: Path, flag: str) -> None:
    run("-m", "none", "--recipe", "character", flag, stdin="/quit\n")
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert memory.recipe.offers is (flag == "--offers")


def test_sampling_options_override_those_of_the_recipe(run: Run) -> None:
    usual = {"temperature": 0.5, "top_p": 0.9, "presence_penalty": 0.0, "max_tokens": 300}
    with llm_server("Aye.") as server:
        model = f"{server.url}#m"
        run("-m", model, "--recipe", "packabby", "--incognito", "--json", stdin="Hello.\n")
        sampled = [name for name in (*usual, "frequency_penalty") if name in server.bodies[-1]]
        assert {name: server.bodies[-1][name] for name in sampled} == usual
        parameters = {"temperature": 1, "top_p": 0.5, "frequency_penalty": -1, "presence_penalty": 2, "max_tokens": 9}
        given = [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
        run("-m", model, "--recipe", "packabby", "--incognito", "--json", *given, stdin="Hello.\n")
        assert {name: server.bodies[-1][name] for name in parameters} == parameters
        run("-m", model, "--incognito", "--json", stdin="Hello.\n")
        assert not usual.keys() & server.bodies[-1].keys()


def test_sampling_options_out_of_range_are_refused(run: Run) -> None:
    assert "9.0 is not in the range 0<=x<=1" in run("--top-p", "9").stderr
    assert "0 is not in the range" in run("--max-tokens", "0").stderr


def test_the_scribe_model_writes_the_summary(run: Run) -> None:
    with llm_server("Aye.", models=("large", "small")) as server:
        given = ("-m", f"{server.url}#large", "--scribe-model", f"{server.url}#small", "--remember", "always")
        run(*given, stdin="My sister Mia moved to Lisbon.\n/end\n/quit\n")
        models = [body["model"] for body in server.bodies]
        assert (models[0], set(models[1:])) == ("large", {"small"})


def test_a_chat_recalls_from_other_named_banks(run: Run, tmp_path: Path) -> None:
    run("-b", "bob", "-m", "none", "--speaker", "Bob", stdin="The ferry to Capri was cancelled.\n")
    with llm_server("Aye.") as server:
        model = ("-b", "alice", "-m", f"{server.url}#m")
        run(*model, "--in", "bob", stdin="What became of the ferry to Capri?\n")
        assert "in the bank bob]" in json.dumps(server.bodies[-1]["messages"])
        run(*model, stdin="What became of the ferry to Capri?\n")
        assert "in the bank bob]" not in json.dumps(server.bodies[-1]["messages"])
    assert "there is no bank 'bobb'" in complaint(run(*model, "--in", "bobb"), 1)
    assert [text for _, text in stored_lines(tmp_path, "bob")] == ["The ferry to Capri was cancelled."]
