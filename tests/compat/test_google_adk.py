"""ADK's memory service on banks, used by ADK's own runner with a model that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.genai import types

from everthread import Memory
from everthread.compat.google_adk import EverthreadMemoryService, name_bank
from everthread.errors import BadInput
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Line

NORA: dict[str, Any] = {"app_name": "travel", "user_id": "nora"}
LISBON = "My sister Mia moved to Lisbon."
QUESTION = "Where did my sister Mia move?"
MAY = datetime(2026, 5, 2, 12, tzinfo=UTC)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[EverthreadMemoryService]:
    with EverthreadMemoryService(tmp_path, embedder=HashEmbedder(512)) as service:
        yield service


def event(text: str, author: str = "user", id: str = "e1", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(**{"id": id, "author": author, "content": content, "timestamp": MAY.timestamp(), **fields})


def session(*events: Event, id: str = "s1", user: str = "nora", app: str = "travel") -> Session:
    return Session(id=id, app_name=app, user_id=user, events=list(events))


def run(*steps: Coroutine[Any, Any, Any]) -> Any:
    async def in_turn() -> Any:
        return [await step for step in steps][-1]

    return asyncio.run(in_turn())


def search(service: EverthreadMemoryService, query: str = QUESTION, **whose: str) -> list[MemoryEntry]:
    memories: list[MemoryEntry] = run(service.search_memory(**{**NORA, **whose}, query=query)).memories
    return memories


def texts(entries: list[MemoryEntry]) -> list[str]:
    return [part.text or "" for entry in entries for part in entry.content.parts or []]


def lines(tmp_path: Path, bank: str = "travel/nora") -> list[tuple[str, str, str, str]]:
    with Memory.open(bank, store=tmp_path, embedder=HashEmbedder(512)) as memory:
        return [(line.session, line.role, line.speaker, line.text) for line in memory.lines(include_wordless=True)]


def test_the_words_of_a_session_are_lines_with_their_authors_and_times(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    call = types.Part(function_call=types.FunctionCall(name="find", args={"who": "Mia"}))
    thought, answer = types.Part(text="She asks for news.", thought=True), types.Part(text="How nice for her!")
    talk = session(
        event(LISBON),
        event("", "guide", "e2", content=types.Content(role="model", parts=[call])),
        event("How ni", "guide", "e3", partial=True),
        event("", "guide", "e4", content=types.Content(role="model", parts=[thought, answer, call])),
        event("", "guide", "e5", content=None),
    )
    run(service.add_session_to_memory(talk))
    assert lines(tmp_path) == [("s1", "user", "user", LISBON), ("s1", "assistant", "guide", "How nice for her!")]
    found = search(service)[0]
    assert (found.id, found.author, texts([found])) == ("e1", "user", [LISBON])
    assert found.timestamp is not None
    assert datetime.fromisoformat(found.timestamp) == MAY


def test_a_session_that_is_added_again_adds_only_its_new_events(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    first, second = event(LISBON), event("I will see Mia in June.", id="e2")
    run(service.add_session_to_memory(session(first)), service.add_session_to_memory(session(first, second)))
    run(service.add_events_to_memory(**NORA, events=[second], session_id="s1"))
    run(service.add_session_to_memory(session(event("Another talk.", id="e1"), id="s2")))
    assert [text for *_, text in lines(tmp_path)] == [LISBON, "I will see Mia in June.", "Another talk."]
    unnamed = event("An event without an id.", id="")
    run(*(service.add_events_to_memory(**NORA, events=[unnamed], session_id="s1") for _ in range(2)))
    assert len(lines(tmp_path)) == 4


def test_users_and_apps_share_nothing(service: EverthreadMemoryService, tmp_path: Path) -> None:
    run(service.add_session_to_memory(session(event(LISBON), app="a/b", user="c")))
    assert search(service, app_name="a/b", user_id="c")
    assert search(service, app_name="a", user_id="b/c") == search(service) == []
    run(service.delete_memory(**NORA, memory_id="e1"))
    assert {name_bank("a/b", "c"), name_bank("a", "b/c"), name_bank("a%2Fb", "c")} == {
        "a%2Fb/c",
        "a/b/c",
        "a%252Fb/c",
    }
    assert [path.name for path in tmp_path.glob("*") if "nora" in path.name] == []


def test_a_question_that_the_memory_can_not_answer_gets_none(service: EverthreadMemoryService) -> None:
    run(service.add_session_to_memory(session(event(LISBON), event("We had soup for lunch.", id="e2"))))
    assert search(service, "Quantum chromodynamics?") == search(service, " ") == []


def test_a_deleted_memory_stays_deleted_when_its_session_is_added_again(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    talk = session(event("My safe opens with Zebulon."), event(LISBON, id="e2"))
    run(service.add_session_to_memory(talk))
    (found,) = [each for each in search(service, "What does my safe open with?") if "Zebulon" in texts([each])[0]]
    run(service.delete_memory(**NORA, memory_id=found.id), service.delete_memory(**NORA, memory_id=found.id))
    with EverthreadMemoryService(tmp_path, embedder=HashEmbedder(512)) as later:
        run(later.add_session_to_memory(talk), later.delete_memory(**NORA))
        run(*(later.delete_memory(**NORA, memory_id=unknown) for unknown in ("e9", "\ud800")))
    assert [text for *_, text in lines(tmp_path)] == [LISBON]
    service.close()
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_memory_that_is_deleted_while_its_session_is_added_stays_deleted(tmp_path: Path) -> None:
    class InterruptedStore(SQLiteStore):
        """Deletes the memory after the service has read which ones are deleted, as another process may."""

        deleting: EverthreadMemoryService | None = None

        def get_by_key(self, bank: str, keys: Sequence[str]) -> dict[str, Line]:
            if (service := self.deleting) is not None:
                self.deleting = None
                run(service.delete_memory(**NORA, memory_id="e1"))  # in the thread of the service
            return super().get_by_key(bank, keys)

    store = InterruptedStore(tmp_path)
    service = EverthreadMemoryService(store, embedder=HashEmbedder(512))
    run(service.add_session_to_memory(session(event(LISBON))))
    store.deleting = service
    run(service.add_session_to_memory(session(event(LISBON), event("I will see Mia in June.", id="e2"))))
    assert [text for *_, text in lines(tmp_path)] == ["I will see Mia in June."]
    store.close()


def test_ids_with_characters_that_no_database_stores_differ_and_can_be_deleted(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    talk = session(event(LISBON, id="a\0"), event("She likes it there.", id="a\ud83e"))
    run(*(service.add_session_to_memory(talk) for _ in range(2)))
    assert len(lines(tmp_path)) == 2
    (found,) = [each for each in search(service) if texts([each]) == [LISBON]]
    run(*(service.delete_memory(**NORA, memory_id=each) for each in (found.id, "a\ud83e")))
    run(service.add_session_to_memory(talk))
    assert not lines(tmp_path)


@pytest.mark.parametrize("first", ["s1", None])
def test_an_event_is_stored_once_with_and_without_its_session(
    service: EverthreadMemoryService, tmp_path: Path, first: str | None
) -> None:
    for session_id in (first, "s1", None):
        run(service.add_events_to_memory(**NORA, events=[event(LISBON)], session_id=session_id))
    assert [line[3] for line in lines(tmp_path)] == [LISBON]
    later = event("Another e1.", timestamp=MAY.timestamp() + 1)
    run(service.add_events_to_memory(**NORA, events=[later], session_id="s2"))
    assert len(lines(tmp_path)) == 2


def test_memories_can_be_added_and_replaced_by_their_ids(service: EverthreadMemoryService, tmp_path: Path) -> None:
    def entry(text: str, **fields: Any) -> MemoryEntry:
        return MemoryEntry(content=types.Content(role="user", parts=[types.Part(text=text)]), **fields)

    old = entry("My sister Mia lives in Porto.", id="home", author="nora", timestamp="2026-05-02T12:00:00+00:00")
    new = entry(LISBON, id="home", author="nora", timestamp="2026-05-03T12:00:00", custom_metadata={"sure": True})
    run(*(service.add_memory(**NORA, memories=[each], custom_metadata={"from": "form"}) for each in (old, new)))
    run(service.add_memory(**NORA, memories=[entry("Tea is better than coffee.")]))
    (found,) = [each for each in search(service) if each.id == "home"]
    assert (texts([found]), found.author, found.custom_metadata) == ([LISBON], "nora", {"sure": True, "from": "form"})
    assert [line[1:] for line in lines(tmp_path)] == [
        ("user", "nora", LISBON),
        ("user", "user", "Tea is better than coffee."),
    ]
    with pytest.raises(BadInput, match="a memory needs text"):
        run(service.add_memory(**NORA, memories=[MemoryEntry(content=types.Content(parts=[]))]))
    with pytest.raises(BadInput, match="got 'May', expected ISO 8601"):
        run(service.add_memory(**NORA, memories=[entry("Words.", timestamp="May")]))
    with pytest.raises(BadInput, match="metadata must be JSON-serialisable"):
        run(service.add_memory(**NORA, memories=[entry("Words."), entry("More.", custom_metadata={"a": object()})]))
    assert len(lines(tmp_path)) == 2


def test_a_line_that_came_another_way_is_found_and_can_be_deleted(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    with Memory.open("travel/nora", store=tmp_path, embedder=HashEmbedder(512)) as memory:
        memory.observe(LISBON, speaker="Nora", undated=True)
    (found,) = search(service)
    assert (found.id, found.author, found.timestamp) == ("line-1", "Nora", None)
    run(service.delete_memory(**NORA, memory_id="line-1"))
    assert search(service) == []


class Script(BaseLlm):
    """A model that replies by a script, and keeps what it was asked."""

    model: str = "script"
    replies: list[types.Part]
    asked: list[LlmRequest]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request.model_copy(deep=True))
        yield LlmResponse(content=types.Content(role="model", parts=[self.replies.pop(0)]))


async def remember(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


def test_an_agent_of_the_runner_remembers_what_was_said_in_another_session(
    service: EverthreadMemoryService, tmp_path: Path
) -> None:
    load = types.Part(function_call=types.FunctionCall(name="load_memory", args={"query": QUESTION}))
    replies = [types.Part(text="Good for her."), load, types.Part(text="To Lisbon.")]
    model = Script(replies=replies, asked=[])
    agent = LlmAgent(
        name="guide", model=model, tools=[preload_memory_tool, load_memory_tool], after_agent_callback=remember
    )
    sessions = InMemorySessionService()
    runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=service)

    async def ask(session_id: str, text: str) -> None:
        await sessions.create_session(**NORA, session_id=session_id)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="nora", session_id=session_id, new_message=message):
            pass

    run(ask("s1", LISBON), ask("s2", QUESTION))
    said = [str([content.model_dump() for content in request.contents]) for request in model.asked]
    assert "PAST_CONVERSATIONS" not in said[0]
    assert f"user: {LISBON}" in said[1]
    assert "function_response" in said[2]
    assert said[2].count(LISBON) == 2  # preloaded, and loaded
    assert lines(tmp_path) == [
        ("s1", "user", "user", LISBON),
        ("s1", "assistant", "guide", "Good for her."),
        ("s2", "user", "user", QUESTION),
        ("s2", "assistant", "guide", "To Lisbon."),
    ]
