"""`everthread hook` as an agent runs it: a process with JSON on its standard input."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from stat import S_IMODE

import pytest
from hardship import PATIENCE
from hardship.loopback import serve_app
from hardship.python import run_python

from everthread import Memory
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

SAID = "We deploy Heron with the script ship.sh."
PROMPT = json.dumps({"session_id": "two", "prompt": "How do we deploy Heron, with which script?"})


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let hooks write their log into another folder than that of the user who runs the tests."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))  # Linux
    monkeypatch.setenv("HOME", str(folder))  # macOS
    return folder


def run(*arguments: str, event: str = PROMPT, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "everthread", *before, "hook", *arguments, input=event, timeout=PATIENCE)


def added(done: subprocess.CompletedProcess[str]) -> str:
    """Return what was added to the prompt."""
    assert (done.returncode, done.stderr) == (0, "")
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def test_a_running_server_is_asked_and_the_engine_is_not_loaded(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    with serve_app(create_app(Services(store, HashEmbedder(512), None, Default()))) as url:
        with Memory.open("nora", store=store, embedder=HashEmbedder(512)) as memory:
            memory.observe(SAID, session="one")
        assert SAID in added(run("recall", "--bank", "nora", "--url", url))
        code = (
            "import sys\nsys.argv = ['everthread', 'hook', 'recall', '--bank', 'nora', '--url', sys.argv[1]]\n"
            "from everthread.__main__ import main\n"
            "try:\n    main()\nfinally:\n    print(sorted({'onnxruntime', 'everthread.memory'} & sys.modules.keys()))"
        )
        command = [sys.executable, "-c", code, url]
        done = subprocess.run(command, input=PROMPT, capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert SAID in done.stdout.splitlines()[0]
        assert done.stdout.splitlines()[1] == "[]"
    store.close()


def test_what_a_server_cannot_store_at_present_is_not_stored_elsewhere_and_is_stored_by_the_next_hook(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(home / "banks"))
    entry = {"type": "user", "uuid": "1", "timestamp": "2026-05-06T18:00:00Z", "message": {"content": SAID}}
    (tmp_path / "transcript.jsonl").write_text(json.dumps(entry))
    event = json.dumps({"session_id": "one", "transcript_path": str(tmp_path / "transcript.jsonl")})
    store = SQLiteStore(tmp_path / "served")
    (broken := tmp_path / "served" / "nora.bank").mkdir()
    with serve_app(create_app(Services(store, HashEmbedder(512), None, Default()))) as url:
        done = run("remember", "--bank", "nora", "--url", url, event=event)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert not (home / "banks").exists()
        (log,) = home.rglob("hook.log")
        assert "everthread.errors.StoreUnavailable: " in log.read_text()
        broken.rmdir()
        run("remember", "--bank", "nora", "--url", url, event=event)
    assert [line.text for line in store.lines("nora")] == [SAID]
    store.close()


def test_without_a_server_the_banks_are_read_directly(tmp_path: Path, no_ollama: str) -> None:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.observe(SAID, session="one")
    arguments = ("recall", "--bank", "nora", "--url", f"http://{no_ollama}", "--deadline", "60")
    assert SAID in added(run(*arguments, before=("--embedder", "hash", "--store", str(tmp_path))))


def test_recalling_from_a_bank_that_does_not_exist_creates_nothing(tmp_path: Path) -> None:
    for place in (tmp_path / "gone", tmp_path):
        before = [each for each in tmp_path.rglob("*") if each.is_file()]
        done = run("recall", "--bank", "nosuch", "--store", str(place), "--deadline", "60")
        assert (done.returncode, done.stdout) == (0, "")
        assert [each for each in tmp_path.rglob("*") if each.is_file()] == before
        assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    ("action", "event"),
    [("recall", "no JSON"), ("recall", "[]"), ("remember", '{"session_id": "s", "transcript_path": "/gone"}')],
)
def test_a_hook_that_fails_prints_nothing_and_succeeds(tmp_path: Path, action: str, event: str) -> None:
    done = run(action, "--store", str(tmp_path), event=event)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_last_failure_of_a_hook_is_in_its_log(tmp_path: Path, home: Path) -> None:
    (tmp_path / "banks").write_text("")
    for event in ("no JSON", PROMPT):
        run("recall", "--store", str(tmp_path / "banks"), event=event)
    (log,) = home.rglob("hook.log")
    assert log.read_text().splitlines()[-1].startswith("everthread.errors.")
    assert "JSON" not in log.read_text()
    assert S_IMODE(log.stat().st_mode) == 0o600


def test_the_log_has_no_text_that_an_error_quotes(tmp_path: Path, home: Path) -> None:
    run("recall", "--store", str(tmp_path), "--bank", "Mia\nmoved", event=PROMPT)
    (log,) = home.rglob("hook.log")
    assert log.read_text().splitlines()[-1] == "everthread.errors.BadBankId"
    assert "moved" not in log.read_text()


def test_a_server_that_does_not_answer_is_given_up_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started_at = time.monotonic()
        done = run("recall", "--url", f"http://127.0.0.1:{silent.getsockname()[1]}", "--deadline", "0.5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - started_at < PATIENCE / 4


@pytest.mark.parametrize("arguments", [("-h",), ("recall", "--help")])
def test_the_help_names_the_actions_with_their_events(arguments: tuple[str, ...]) -> None:
    printed = run(*arguments).stdout
    assert all(name in printed for name in ("UserPromptSubmit", "Stop", "SessionEnd", "--deadline SECONDS"))


def test_a_wrong_option_is_reported_without_blocking_the_prompt() -> None:
    done = run("recall", "--bnak", "nora")
    assert done.returncode == 1, "an agent blocks a prompt at 2"
    assert "--bnak" in done.stderr
    assert done.stdout == ""
