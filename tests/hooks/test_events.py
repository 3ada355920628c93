"""The hooks, with a memory of this process and with one on a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hardship.loopback import serve_app

from everthread import Client, Memory, NotFound, StoreUnavailable
from everthread.common.keys import SETTING_REMEMBER
from everthread.hooks.events import HEADING, end, recall, remember
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

SAID = "We deploy Heron with the script ship.sh."


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the state of hooks, which no other test uses."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # Linux
    monkeypatch.setenv("HOME", str(tmp_path / "state"))  # macOS
    return tmp_path / "state"


@pytest.fixture(params=["memory", "client"])
def any_memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory | Client]:
    if request.param == "memory":
        with Memory.open("nora", store=tmp_path / "banks", embedder=HashEmbedder(512)) as memory:
            yield memory
        return
    store = SQLiteStore(tmp_path / "banks")
    services = Services(store, HashEmbedder(512), None, Default())
    with serve_app(create_app(services)) as url, Client(url, "nora") as client:
        yield client
    store.close()


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    file = tmp_path / "transcript.jsonl"
    at = datetime(2026, 11, 20, 12, tzinfo=UTC).isoformat()
    rows = [
        {"type": "user", "message": {"role": "user", "content": SAID}, "uuid": "1", "timestamp": at},
        {
            "type": "assistant",
            "message": {"content": [{"type": "text", "text": "Noted."}]},
            "uuid": "2",
            "timestamp": at,
        },
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def lines_of(memory: Memory | Client, session: str) -> list[str]:
    return [line.text for line in memory.lines() if line.session == session]


def test_a_turn_is_kept_once_and_recalled_in_another_session(any_memory: Memory | Client, transcript: Path) -> None:
    event = {"session_id": "one", "transcript_path": str(transcript)}
    remember(event, any_memory)
    remember(event, any_memory)
    assert lines_of(any_memory, "one") == [SAID, "Noted."]
    prompt = "How do we deploy Heron, with which script?"
    output = recall({"session_id": "two", "prompt": prompt}, any_memory)
    assert output is not None
    added = output["hookSpecificOutput"]
    assert added["hookEventName"] == "UserPromptSubmit"
    assert added["additionalContext"].startswith(f"{HEADING}\n\n[Friday, 20 November 2026, 12:00]\nuser: {SAID}")
    assert recall({"session_id": "one", "prompt": prompt}, any_memory) is None, "it is in the prompt already"


def add_turn(transcript: Path, *texts: str) -> None:
    at = datetime(2026, 11, 20, 13, tzinfo=UTC).isoformat()
    rows = [
        {"type": role, "message": {"role": role, "content": text}, "uuid": text, "timestamp": at}
        for role, text in zip(("user", "assistant"), texts, strict=True)
    ]
    with transcript.open("a", encoding="utf-8") as file:
        file.write("".join(f"\n{json.dumps(row)}" for row in rows))


def test_what_is_forgotten_is_not_stored_again_with_the_next_turn(
    any_memory: Memory | Client, transcript: Path, state: Path
) -> None:
    event = {"session_id": "one", "transcript_path": str(transcript)}
    remember(event, any_memory)
    any_memory.forget(seq=1)
    add_turn(transcript, "And Egret?", "With fly.sh.")
    remember(event, any_memory)
    assert lines_of(any_memory, "one") == ["Noted.", "And Egret?", "With fly.sh."]
    any_memory.forget(everything=True)
    add_turn(transcript, "Thanks.", "Gladly.")
    end(event, any_memory)
    assert lines_of(any_memory, "one") == ["Thanks.", "Gladly."]
    kept = b"".join(path.read_bytes() + path.name.encode() for path in state.rglob("*") if path.is_file())
    assert not any(word in kept for word in (b"Thanks", b"one", b"nora"))


def test_what_could_not_be_stored_is_stored_with_the_next_turn(
    memory: Memory, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"session_id": "one", "transcript_path": str(transcript)}
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "append", _fail)
        with pytest.raises(StoreUnavailable):
            remember(event, memory)
    add_turn(transcript, "And Egret?", "With fly.sh.")
    remember(event, memory)
    assert lines_of(memory, "one") == [SAID, "Noted.", "And Egret?", "With fly.sh."]


def _fail(*_: object, **__: object) -> None:
    raise StoreUnavailable("the disk is full")


@pytest.mark.parametrize("prompt", ["", "  ", "/compact deploy Heron ship.sh", "quantum chromodynamics", None, 7])
def test_nothing_is_added_to_a_prompt_for_which_nothing_is_relevant(memory: Memory, prompt: object) -> None:
    memory.observe(SAID, session="one")
    assert recall({"session_id": "two", "prompt": prompt}, memory) is None


def test_a_long_prompt_is_recalled_by_its_beginning(memory: Memory) -> None:
    memory.observe(SAID, session="one")
    output = recall({"prompt": f"{SAID} {SAID} {'x' * 100_000}"}, memory)
    assert output is not None
    assert SAID in output["hookSpecificOutput"]["additionalContext"]


def test_the_end_of_a_session_keeps_the_last_turn_and_ends_it(any_memory: Memory | Client, transcript: Path) -> None:
    end({"session_id": "one", "transcript_path": str(transcript), "reason": "exit"}, any_memory)
    assert lines_of(any_memory, "one") == [SAID, "Noted."]
    assert next(each for each in any_memory.sessions() if each.id == "one").ended_at is not None


def test_an_unknown_session_can_not_be_ended(memory: Memory) -> None:
    with pytest.raises(NotFound):
        end({"session_id": "gone"}, memory)


def test_a_bank_that_is_set_to_remember_nothing_keeps_nothing(any_memory: Memory | Client, transcript: Path) -> None:
    any_memory.observe("Hello.", session="first")
    any_memory.set_setting(SETTING_REMEMBER, "never")
    remember({"session_id": "one", "transcript_path": str(transcript)}, any_memory)
    assert lines_of(any_memory, "one") == []


@pytest.mark.parametrize("event", [{}, {"session_id": "one"}, {"transcript_path": "x"}, {"session_id": 1}])
def test_an_event_without_a_transcript_or_a_session_keeps_nothing(memory: Memory, event: dict[str, object]) -> None:
    remember(event, memory)
    assert list(memory.lines()) == []
