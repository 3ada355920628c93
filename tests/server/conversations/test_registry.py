"""The registry: limits on open conversations, forgetting, several workers, and shutdown."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest
from hardship import PATIENCE, SOON, llm
from hardship.llm import Mute, Reply, Stall

from everthread.chat.chat import Chat
from everthread.llms.base import LLM, Stream
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server.chat_schemas import OptionsBody
from everthread.server.conversations import open_conversations
from everthread.server.conversations.registry import CURRENT, ConversationRegistry
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.problems import Problem
from everthread.server.services import Services
from everthread.server.workers.bank_leases import BankLeases
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM, ScriptedStream
from everthread.types import Filter, Message, Sampling, Usage, Vector, now

PLAIN = OptionsBody()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(tmp_path)
    yield opened
    opened.close()


def open_registry(store: SQLiteStore, model: LLM | None) -> tuple[ConversationRegistry, Memory]:
    """Return a registry over a store, and the memory of one bank."""
    services = Services(store, HashEmbedder(64), model, Default())
    return ConversationRegistry(services), services.get_memory("alice", create=True)


def say(registry: ConversationRegistry, memory: Memory, text: str, session: str = CURRENT) -> ReplyStream:
    stream = registry.reply(memory, session, text, PLAIN)
    assert stream.wait(PATIENCE)
    return stream


def test_a_reply_in_progress_at_shutdown_is_finished(store: SQLiteStore) -> None:
    with llm.llm_server(Reply("One two three.", delay=0.1)) as server:
        registry, memory = open_registry(store, OpenAICompatible(server.url, "m"))
        registry.reply(memory, CURRENT, "Count.", PLAIN)
        registry.close(timeout_s=PATIENCE)
    assert [line.text for line in memory.lines()][-1] == "One two three."


def test_a_reply_that_is_too_slow_at_shutdown_is_stored_in_part(store: SQLiteStore) -> None:
    with llm.llm_server(Stall("One two")) as server:
        registry, memory = open_registry(store, OpenAICompatible(server.url, "m"))
        stream = registry.reply(memory, CURRENT, "Count.", PLAIN)
        while stream.reply is None or not stream.reply.text:
            time.sleep(0.01)
        start = time.monotonic()
        registry.close(timeout_s=0.5)
        assert time.monotonic() - start < SOON
    last = list(memory.lines())[-1]
    assert (last.text, last.metadata["partial"]) == ("One two", True)
    assert stream.is_finished
    with pytest.raises(Problem, match="try again"):
        registry.reply(memory, "another", "Hello?", PLAIN)


def test_the_least_recently_used_conversations_are_closed_except_incognito_ones(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_conversations, "MAX_OPEN", 2)
    monkeypatch.setattr(open_conversations, "MAX_INCOGNITO", 1)
    registry, memory = open_registry(store, ScriptedLLM(["Yes."] * 10))
    say(registry, memory, "Hello", "one")
    registry.set_incognito(memory, "secret", True)
    say(registry, memory, "Psst", "secret")
    for name in ("two", "three", "four"):
        say(registry, memory, "Hello", name)
    assert [conversation.chat.session for conversation in registry.open_conversations.list_all()] == [
        "secret",
        "three",
        "four",
    ]
    assert [line.text for line in registry.get_state(memory, "one").lines][-2:] == ["Hello", "Yes."]
    assert [line.text for line in registry.get_state(memory, "secret").lines][-2:] == ["Psst", "Yes."]
    registry.set_incognito(memory, "newer", True)
    assert "secret" not in [conversation.chat.session for conversation in registry.open_conversations.list_all()]
    registry.close()


def test_the_conversations_of_a_bank_share_a_scribe_worker_that_outlives_them(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes."] * 10))
    say(registry, memory, "Hello", "one")
    say(registry, memory, "Hello", "two")
    one, two = registry.open_conversations.list_bank("alice")
    assert one.chat._scribe_worker is two.chat._scribe_worker
    first = one.chat
    first.close()
    assert first._scribe_worker._closed is False
    registry.close()
    assert first._scribe_worker._closed is True


def test_the_conversations_of_a_forgotten_bank_are_closed(store: SQLiteStore) -> None:
    with llm.llm_server(Stall("One two")) as server:
        registry, memory = open_registry(store, OpenAICompatible(server.url, "m"))
        stream = registry.reply(memory, CURRENT, "Count.", PLAIN)
        with registry.pause_bank("alice", close=True):
            assert stream.is_finished
            memory.forget(everything=True)
        assert registry.open_conversations.list_all() == []
        registry.close()
        assert store.banks() == [], "the end of the reply creates it again"


def test_a_forgotten_reply_is_not_repeated_under_its_key(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes.", "Anew."]))
    first = registry.reply(memory, "one", "Hello", PLAIN, "key")
    assert first.wait(PATIENCE)
    memory.forget(session="one")
    registry.drop_events("alice")
    again = registry.reply(memory, "one", "Hello", PLAIN, "key")
    assert again.wait(PATIENCE)
    assert again is not first
    assert [line.text for line in memory.lines(Filter(session="one"))][-2:] == ["Hello", "Anew."]
    registry.close()


def test_an_unexpected_error_of_a_model_is_logged(store: SQLiteStore, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ScriptedLLM):
        def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ScriptedStream:
            raise RuntimeError("a fault of this model's client")

    registry, memory = open_registry(store, Broken([]))
    say(registry, memory, "Hello")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError]
    registry.close()


def test_lines_stored_by_another_process_are_shown(store: SQLiteStore) -> None:
    one, memory = open_registry(store, ScriptedLLM(["Yes."] * 5))
    other, other_memory = open_registry(store, ScriptedLLM(["No."] * 5))
    say(one, memory, "Hello", "s")
    say(other, other_memory, "And again", "s")
    assert [line.text for line in one.get_state(memory, "s").lines][-4:] == ["Hello", "Yes.", "And again", "No."]
    one.close()
    other.close()


def test_stopping_a_reply_of_a_silent_model_ends_it_at_once(store: SQLiteStore) -> None:
    with llm.llm_server(Mute()) as server:
        registry, memory = open_registry(store, OpenAICompatible(server.url, "m"))
        stream = registry.reply(memory, CURRENT, "Hello?", PLAIN)
        start = time.monotonic()
        assert registry.stop(memory, CURRENT).replying is False
        assert stream.is_finished
        assert time.monotonic() - start < SOON
        server.closing.set()
        registry.close()


class FaultyModel(ScriptedLLM):
    """Raises an unexpected error when a stream is opened, or when it is listened to."""

    def __init__(self, listened: bool) -> None:
        super().__init__(["Yes."] * 10)
        self.listened = listened

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:  # type: ignore[override]
        if not self.listened:
            raise RuntimeError("an unexpected error")
        return BrokenStream(super().stream(messages, sampling))


class BrokenStream:
    """A stream whose `listen` raises an unexpected error."""

    usage = Usage()
    finish = None

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._stream)

    def close(self) -> None:
        self._stream.close()

    def listen(self, on_piece: Callable[[str], bool], on_end: Callable[[], None]) -> None:
        raise RuntimeError("an unexpected error")


@pytest.mark.parametrize("listened", [False, True])
def test_an_unexpected_model_error_ends_the_reply_and_frees_its_slot(store: SQLiteStore, listened: bool) -> None:
    services = Services(store, HashEmbedder(64), FaultyModel(listened), Default())
    registry, memory = ConversationRegistry(services, max_replies=2), services.get_memory("alice", create=True)
    for n in range(5):
        stream = registry.reply(memory, CURRENT, f"Hello number {n}.", PLAIN)
        assert stream.wait(PATIENCE)
        assert (b"Yes." if listened else b"the reply failed") in asyncio.run(collect_events(stream))
    registry.close()


async def collect_events(stream: ReplyStream) -> bytes:
    return b"".join([event async for event in stream.read_events()])


def test_a_reply_prepared_while_its_bank_is_forgotten_does_not_recreate_the_bank(store: SQLiteStore) -> None:
    preparing, forgotten = threading.Event(), threading.Event()

    class SlowEmbedder(HashEmbedder):
        def embed_query(self, text: str) -> Vector:
            preparing.set()
            assert not forgotten.wait(0.3)  # forgetting waits for the reply
            return super().embed_query(text)

    services = Services(store, SlowEmbedder(64), ScriptedLLM(["It was a periwinkle."] * 2), Default())
    registry, memory = ConversationRegistry(services), services.get_memory("alice", create=True)
    memory.observe("I found a shell.", session="yesterday")
    thread = threading.Thread(target=lambda: registry.reply(memory, CURRENT, "A periwinkle.", PLAIN))
    thread.start()
    assert preparing.wait(PATIENCE)
    with registry.pause_bank("alice", close=True):
        memory.forget(everything=True)
    forgotten.set()
    thread.join()
    registry.close()
    assert store.banks() == []


def test_two_concurrent_first_requests_open_one_conversation(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes."]))
    first = registry.get_state(memory, CURRENT).session
    registry.open_conversations._find_current = lambda memory: None  # type: ignore[method-assign]  # as if both requests had looked before either conversation was open
    assert registry.get_state(memory, CURRENT).session == first
    registry.close()


def test_ending_another_conversation_keeps_the_incognito_one_current(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes."] * 3))
    say(registry, memory, "Hello", "old")
    registry.set_incognito(memory, "secret", True)
    with registry.use(memory, "old") as chat:
        chat.end(True)
    state = registry.get_state(memory, CURRENT)
    assert (state.session, state.incognito) == ("secret", True)
    registry.close()


def test_after_an_end_the_current_conversation_is_a_new_one_although_an_older_one_is_open(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes."] * 3))
    say(registry, memory, "Hello", "older")
    say(registry, memory, "Hello again", "newer")
    with registry.use(memory, "newer") as chat:
        chat.end(True)
    state = registry.get_state(memory, CURRENT)
    assert state.lines == []
    say(registry, memory, "Good morning", CURRENT)
    assert registry.get_state(memory, CURRENT).session == state.session
    registry.close()


def test_a_summary_in_progress_does_not_recreate_a_forgotten_bank(store: SQLiteStore) -> None:
    with llm.llm_server("Hello.", Reply('{"text": "They said hello."}', first=2.0)) as server:
        registry, memory = open_registry(store, OpenAICompatible(server.url, "m"))
        say(registry, memory, "My sister Mia moved to Lisbon.", "s")
        with registry.use(memory, "s") as chat:
            chat.end(True)
        while len(server.asked) < 2:
            time.sleep(0.01)
        with registry.pause_bank("alice", close=True):
            memory.forget(everything=True)
        time.sleep(2.5)
        assert store.banks() == []
        registry.close()


def test_a_message_sent_during_forgetting_waits_for_its_end(store: SQLiteStore) -> None:
    registry, memory = open_registry(store, ScriptedLLM(["Yes."] * 3))
    say(registry, memory, "Hello", "one")
    thread = threading.Thread(target=lambda: say(registry, memory, "Hello", "two"))
    with registry.pause_bank("alice"):
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert [session.id for session in memory.sessions()] == ["one"]
        say(registry, registry.services.get_memory("bob", create=True), "Hello")
    thread.join(PATIENCE)
    assert [session.id for session in memory.sessions()] == ["one", "two"]
    registry.close()


def open_two_workers(store: SQLiteStore, folder: Path) -> tuple[ConversationRegistry, Memory, BankLeases]:
    """Return the registry of one worker, the memory of one bank, and the leases of another worker."""
    services = Services(store, HashEmbedder(64), ScriptedLLM(["Aye."] * 9), Default(), multi_process=True)
    folder.mkdir()
    return (
        ConversationRegistry(services, leases=BankLeases(folder / "1")),
        services.get_memory("alice", create=True),
        BankLeases(folder / "2"),
    )


def test_a_bank_leased_by_another_worker_can_be_read_but_not_changed(store: SQLiteStore, tmp_path: Path) -> None:
    registry, memory, other = open_two_workers(store, tmp_path / "workers")
    with other.hold("alice"):
        with pytest.raises(Problem, match="409"):
            registry.reply(memory, CURRENT, "Hello?", PLAIN)
        with pytest.raises(Problem, match="409"):
            registry.set_incognito(memory, CURRENT, True)
        with pytest.raises(Problem, match="409"), registry.pause_bank("alice"):
            raise AssertionError
        assert registry.get_state(memory, CURRENT).lines == []
        assert registry.stop(memory, CURRENT).replying is False
    assert list(memory.lines()) == []
    say(registry, memory, "Hello?")
    registry.close()
    assert [line.text for line in memory.lines()][-2:] == ["Hello?", "Aye."]
    assert other.acquire("alice", "reply"), "the bank was not released"


def test_a_text_message_waits_until_another_worker_releases_its_bank(store: SQLiteStore, tmp_path: Path) -> None:
    registry, memory, other = open_two_workers(store, tmp_path / "workers")
    chat = Chat(memory, llm=ScriptedLLM(["Aye."]))
    other.acquire("alice", "reply")
    answering = threading.Thread(target=registry.reply_detached, args=(chat, lambda chat: chat.reply("Hello?")))
    answering.start()
    time.sleep(0.3)
    assert list(memory.lines()) == []
    other.release("alice", "reply")
    answering.join(PATIENCE)
    assert [line.text for line in memory.lines()][-2:] == ["Hello?", "Aye."]
    chat.close()
    registry.close()


def test_a_repeated_request_gets_a_missing_reply_even_after_the_clock_was_set_back(store: SQLiteStore) -> None:
    registry = ConversationRegistry(
        Services(store, HashEmbedder(64), ScriptedLLM(["One two."]), Default(), multi_process=True)
    )
    memory = registry.services.get_memory("alice", create=True)
    memory.observe("Count.", said_at=now() + timedelta(minutes=10), session="s", key="k")
    assert registry.reply(memory, "s", "Count.", PLAIN, "k").wait(PATIENCE)
    registry.close()
    assert [line.text for line in memory.lines()] == ["Count.", "One two."]


def test_a_request_repeated_at_another_worker_is_answered_once(tmp_path: Path) -> None:
    lease_folder = tmp_path / "workers"
    lease_folder.mkdir()
    with llm.llm_server(Reply("One two three four five.", delay=0.3)) as server, ExitStack() as stack:
        workers = []
        for name in "12":
            store = stack.enter_context(closing(SQLiteStore(tmp_path / "banks")))
            services = Services(
                store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default(), multi_process=True
            )
            registry = ConversationRegistry(services, leases=BankLeases(lease_folder / name))
            stack.callback(registry.close)
            workers.append((registry, services.get_memory("alice", create=True)))
        (one, memory), (other, other_memory) = workers
        stream = one.reply(memory, CURRENT, "Count.", PLAIN, "k")
        with pytest.raises(Problem) as raised:
            other.reply(other_memory, CURRENT, "Count.", PLAIN, "k")
        assert (raised.value.status, raised.value.name) == (409, "replying")
        assert stream.wait(PATIENCE)
        assert other.reply(other_memory, CURRENT, "Count.", PLAIN, "k").wait(PATIENCE)
        assert [line.text for line in memory.lines()][-2:] == ["Count.", "One two three four five."]
        assert len(server.requests) == 1
