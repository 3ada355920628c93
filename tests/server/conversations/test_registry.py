"""Open conversations: how many stay, what they share, and what becomes of replies at the end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hardship import PATIENCE, SOON, llm
from hardship.llm import Mute, Reply, Stall

from everthread.chat.chat import Chat
from everthread.llms.base import LLM, Stream
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server.chat_schemas import OptionsBody
from everthread.server.conversations import registry
from everthread.server.conversations.registry import CURRENT, ConversationRegistry
from everthread.server.conversations.reply_stream import COMMENT, ReplyStream
from everthread.server.problems import Problem
from everthread.server.services import Services
from everthread.server.workers.bank_leases import BankLeases
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Filter, Message, Sampling, Usage, now

PLAIN = OptionsBody()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(tmp_path)
    yield opened
    opened.close()


def over(store: SQLiteStore, model: LLM | None) -> tuple[ConversationRegistry, Memory]:
    """Open conversations over a store, and the memory of one bank."""
    engine = Services(store, HashEmbedder(64), model, Default())
    return ConversationRegistry(engine), engine.memory("alice", make=True)


def said(talks: ConversationRegistry, memory: Memory, text: str, session: str = CURRENT) -> ReplyStream:
    running = talks.reply(memory, session, text, PLAIN)
    assert running.wait(PATIENCE)
    return running


def test_a_reply_that_runs_at_the_end_may_finish(store: SQLiteStore) -> None:
    with llm.llm_server(Reply("One two three.", delay=0.1)) as server:
        talks, memory = over(store, OpenAICompatible(server.url, "m"))
        talks.reply(memory, CURRENT, "Count.", PLAIN)
        talks.close(timeout=PATIENCE)
    assert [line.text for line in memory.lines()][-1] == "One two three."


def test_a_reply_that_takes_too_long_at_the_end_is_kept_as_far_as_it_came(store: SQLiteStore) -> None:
    with llm.llm_server(Stall("One two")) as server:
        talks, memory = over(store, OpenAICompatible(server.url, "m"))
        running = talks.reply(memory, CURRENT, "Count.", PLAIN)
        while running.reply is None or not running.reply.text:
            time.sleep(0.01)
        begun = time.monotonic()
        talks.close(timeout=0.5)
        assert time.monotonic() - begun < SOON
    last = list(memory.lines())[-1]
    assert (last.text, last.metadata["partial"]) == ("One two", True)
    assert running.over
    with pytest.raises(Problem, match="try again"):
        talks.reply(memory, "another", "Hello?", PLAIN)


def test_the_least_recently_used_go_but_not_those_in_incognito(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "OPEN", 2)
    monkeypatch.setattr(registry, "PRIVATE", 1)
    talks, memory = over(store, ScriptedLLM(["Yes."] * 10))
    said(talks, memory, "Hello", "one")
    talks.incognito(memory, "secret", True)
    said(talks, memory, "Psst", "secret")
    for name in ("two", "three", "four"):
        said(talks, memory, "Hello", name)
    assert [name for _, name in talks._talks] == ["secret", "three", "four"]
    assert [line.text for line in talks.state(memory, "one").lines][-2:] == ["Hello", "Yes."]
    assert [line.text for line in talks.state(memory, "secret").lines][-2:] == ["Psst", "Yes."]
    talks.incognito(memory, "newer", True)
    assert ("alice", "secret") not in talks._talks
    talks.close()


def test_the_conversations_of_a_bank_share_a_desk_that_outlives_each_of_them(store: SQLiteStore) -> None:
    talks, memory = over(store, ScriptedLLM(["Yes."] * 10))
    said(talks, memory, "Hello", "one")
    said(talks, memory, "Hello", "two")
    desks = {id(talk.chat._desk) for talk in talks._talks.values()}
    assert len(desks) == 1
    first = talks._talks["alice", "one"].chat
    first.close()
    assert first._desk._closed is False
    talks.close()
    assert first._desk._closed is True


def test_a_bank_that_is_to_be_forgotten_is_let_go(store: SQLiteStore) -> None:
    with llm.llm_server(Stall("One two")) as server:
        talks, memory = over(store, OpenAICompatible(server.url, "m"))
        running = talks.reply(memory, CURRENT, "Count.", PLAIN)
        with talks.forgetting("alice", whole=True):
            assert running.over
            memory.forget(everything=True)
        assert store.banks() == []
        assert talks._talks == {}
        talks.close()


def test_what_was_forgotten_is_not_told_again_under_its_key(store: SQLiteStore) -> None:
    talks, memory = over(store, ScriptedLLM(["Yes.", "Anew."]))
    first = talks.reply(memory, "one", "Hello", PLAIN, "key")
    assert first.wait(PATIENCE)
    memory.forget(session="one")
    talks.drop_events("alice")
    again = talks.reply(memory, "one", "Hello", PLAIN, "key")
    assert again.wait(PATIENCE)
    assert again is not first
    assert [line.text for line in memory.lines(Filter(session="one"))][-2:] == ["Hello", "Anew."]
    talks.close()


def test_what_another_process_says_is_seen(store: SQLiteStore) -> None:
    one, memory = over(store, ScriptedLLM(["Yes."] * 5))
    other, same = over(store, ScriptedLLM(["No."] * 5))
    said(one, memory, "Hello", "s")
    said(other, same, "And again", "s")
    assert [line.text for line in one.state(memory, "s").lines][-4:] == ["Hello", "Yes.", "And again", "No."]
    one.close()
    other.close()


def test_a_reader_gets_comments_while_nothing_comes() -> None:
    running = ReplyStream()

    async def read() -> list[bytes]:
        told = []
        async for part in running.follow(keep_alive=0.02):
            told.append(part)
            if told == [COMMENT, COMMENT]:
                running.end("done", {"text": "ünï\n"})
        return told

    told = asyncio.run(read())
    assert told[:2] == [COMMENT, COMMENT]
    assert told[-1] == 'event: done\ndata: {"text": "ünï\\n"}\n\n'.encode()


def test_a_reader_that_leaves_is_woken_no_more() -> None:
    running = ReplyStream()

    async def leave() -> None:
        reading = asyncio.ensure_future(anext(running.follow()))
        await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(leave())
    assert running._waiting == []
    running.put("piece", {"text": "to nobody"})
    running.end("done", {})


def test_nothing_comes_behind_the_end_which_one_alone_tells() -> None:
    running = ReplyStream()
    assert (running.claim(), running.claim()) == (True, False)
    running.end("done", {})
    running.put("piece", {"text": "late"})

    async def read() -> bytes:
        return b"".join([part async for part in running.follow()])

    assert asyncio.run(read()) == b"event: done\ndata: {}\n\n"


def test_a_reply_is_over_at_once_where_its_model_never_says_a_word(store: SQLiteStore) -> None:
    with llm.llm_server(Mute()) as server:
        talks, memory = over(store, OpenAICompatible(server.url, "m"))
        running = talks.reply(memory, CURRENT, "Hello?", PLAIN)
        begun = time.monotonic()
        assert talks.stop(memory, CURRENT).replying is False
        assert running.over
        assert time.monotonic() - begun < SOON
        server.closing.set()
        talks.close()


class Odd(ScriptedLLM):
    """Fails in a way that nobody has thought of, when it is asked or when it is listened to."""

    def __init__(self, listened: bool) -> None:
        super().__init__(["Yes."] * 10)
        self.listened = listened

    def stream(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Stream:  # type: ignore[override]
        if not self.listened:
            raise RuntimeError("nobody has thought of this")
        return Broken(super().stream(messages, sampling))


class Broken:
    """A stream that can't be listened to, though it says so."""

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

    def listen(self, heard: Callable[[str], bool], over: Callable[[], None]) -> None:
        raise RuntimeError("nobody has thought of this")


@pytest.mark.parametrize("listened", [False, True])
def test_a_model_that_raises_what_nobody_knows_ends_its_reply_and_takes_no_place(
    store: SQLiteStore, listened: bool
) -> None:
    engine = Services(store, HashEmbedder(64), Odd(listened), Default())
    talks, memory = ConversationRegistry(engine, streams=2), engine.memory("alice", make=True)
    for n in range(5):
        running = talks.reply(memory, CURRENT, f"Hello for the {n}th time.", PLAIN)
        assert running.wait(PATIENCE)
        assert (b"Yes." if listened else b"the reply failed") in asyncio.run(collected(running))
    talks.close()


async def collected(running: ReplyStream) -> bytes:
    return b"".join([told async for told in running.follow()])


def test_a_reply_that_is_being_prepared_while_its_bank_goes_does_not_bring_it_back(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks, memory = over(store, ScriptedLLM(["It was a periwinkle."] * 2))
    preparing, gone = threading.Event(), threading.Event()
    start = talks._start

    def slowly(*given: Any, **more: Any) -> ReplyStream:
        preparing.set()
        assert not gone.wait(0.3)  # it is waited for
        return start(*given, **more)

    monkeypatch.setattr(talks, "_start", slowly)
    thread = threading.Thread(target=lambda: talks.reply(memory, CURRENT, "A periwinkle.", PLAIN))
    thread.start()
    assert preparing.wait(PATIENCE)
    with talks.forgetting("alice", whole=True):
        memory.forget(everything=True)
    gone.set()
    thread.join()
    talks.close()
    assert store.banks() == []


def test_two_who_begin_at_once_begin_one_conversation(store: SQLiteStore) -> None:
    talks, memory = over(store, ScriptedLLM(["Yes."]))
    first = talks.state(memory, CURRENT).session
    talks._named = lambda memory: None  # type: ignore[method-assign]  # as if both had looked before either was there
    assert talks.state(memory, CURRENT).session == first
    talks.close()


def test_a_conversation_that_is_ended_takes_no_place_from_one_in_incognito(store: SQLiteStore) -> None:
    talks, memory = over(store, ScriptedLLM(["Yes."] * 3))
    said(talks, memory, "Hello", "old")
    talks.incognito(memory, "secret", True)
    with talks.using(memory, "old") as chat:
        chat.end(True)
    state = talks.state(memory, CURRENT)
    assert (state.session, state.incognito) == ("secret", True)
    talks.close()


def test_a_summary_on_its_way_does_not_bring_a_forgotten_bank_back(store: SQLiteStore) -> None:
    with llm.llm_server("Hello.", Reply('{"text": "They said hello."}', first=2.0)) as server:
        talks, memory = over(store, OpenAICompatible(server.url, "m"))
        said(talks, memory, "My sister Mia moved to Lisbon.", "s")
        with talks.using(memory, "s") as chat:
            chat.end(True)
        while len(server.asked) < 2:
            time.sleep(0.01)
        with talks.forgetting("alice", whole=True):
            memory.forget(everything=True)
        time.sleep(2.5)
        assert store.banks() == []
        talks.close()


def test_whoever_begins_to_talk_while_something_is_forgotten_waits(store: SQLiteStore) -> None:
    talks, memory = over(store, ScriptedLLM(["Yes."] * 3))
    said(talks, memory, "Hello", "one")
    thread = threading.Thread(target=lambda: said(talks, memory, "Hello", "two"))
    with talks.forgetting("alice"):
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert [each.id for each in memory.sessions()] == ["one"]
        said(talks, talks.engine.memory("bob", make=True), "Hello")
    thread.join(PATIENCE)
    assert [each.id for each in memory.sessions()] == ["one", "two"]
    talks.close()


def test_readers_of_many_replies_get_every_event_whoever_writes_at_the_same_time() -> None:
    told = [ReplyStream() for _ in range(20)]

    def write(running: ReplyStream) -> None:
        for number in range(50):
            running.put("piece", {"text": f"word {number}"})
        running.end("done", {})

    async def read(running: ReplyStream) -> bytes:
        return b"".join([part async for part in running.follow(keep_alive=10 * PATIENCE)])

    async def all_of_them() -> list[bytes]:
        reading = asyncio.gather(*map(read, told))
        await asyncio.sleep(0.01)  # so that they wait
        writers = [threading.Thread(target=write, args=(running,)) for running in told]
        for each in writers:
            each.start()
        async with asyncio.timeout(PATIENCE):  # one that is not woken would wait for a comment
            return await reading

    for found in asyncio.run(all_of_them()):
        assert found.count(b"event: piece\n") == 50
        assert b'{"text": "word 49"}' in found


def neighbours(store: SQLiteStore, folder: Path) -> tuple[ConversationRegistry, Memory, BankLeases]:
    """Open conversations of one worker, the memory of one bank, and the claims of another worker."""
    engine = Services(store, HashEmbedder(64), ScriptedLLM(["Aye."] * 9), Default(), multi_process=True)
    folder.mkdir()
    return (
        ConversationRegistry(engine, claims=BankLeases(folder / "1")),
        engine.memory("alice", make=True),
        BankLeases(folder / "2"),
    )


def test_what_another_worker_has_claimed_just_now_is_not_changed_here_and_can_be_looked_at(
    store: SQLiteStore, tmp_path: Path
) -> None:
    talks, memory, other = neighbours(store, tmp_path / "workers")
    with other.holding("alice"):
        with pytest.raises(Problem, match="409"):
            talks.reply(memory, CURRENT, "Hello?", PLAIN)
        with pytest.raises(Problem, match="409"):
            talks.incognito(memory, CURRENT, True)
        with pytest.raises(Problem, match="409"), talks.forgetting("alice"):
            raise AssertionError
        assert talks.state(memory, CURRENT).lines == []
        assert talks.stop(memory, CURRENT).replying is False
    assert list(memory.lines()) == []
    said(talks, memory, "Hello?")
    talks.close()
    assert [line.text for line in memory.lines()][-2:] == ["Hello?", "Aye."]
    assert other.acquire("alice", "reply"), "it was given back"


def test_a_text_message_waits_until_another_worker_is_done_with_its_bank(store: SQLiteStore, tmp_path: Path) -> None:
    talks, memory, other = neighbours(store, tmp_path / "workers")
    chat = Chat(memory, llm=ScriptedLLM(["Aye."]))
    other.acquire("alice", "reply")
    answering = threading.Thread(target=talks.reply_detached, args=(chat, lambda chat: chat.reply("Hello?")))
    answering.start()
    time.sleep(0.3)
    assert list(memory.lines()) == []
    other.release("alice", "reply")
    answering.join(PATIENCE)
    assert [line.text for line in memory.lines()][-2:] == ["Hello?", "Aye."]
    chat.close()
    talks.close()


def test_a_line_that_got_no_reply_is_answered_when_asked_again_after_the_clock_was_set_back(store: SQLiteStore) -> None:
    talks = ConversationRegistry(
        Services(store, HashEmbedder(64), ScriptedLLM(["One two."]), Default(), multi_process=True)
    )
    memory = talks.engine.memory("alice", make=True)
    memory.observe("Count.", said_at=now() + timedelta(minutes=10), session="s", key="k")
    assert talks.reply(memory, "s", "Count.", PLAIN, "k").wait(PATIENCE)
    talks.close()
    assert [line.text for line in memory.lines()] == ["Count.", "One two."]


def test_what_is_asked_again_at_another_worker_is_answered_once(tmp_path: Path) -> None:
    places = tmp_path / "workers"
    places.mkdir()
    with llm.llm_server(Reply("One two three four five.", delay=0.3)) as server, ExitStack() as stack:
        workers = []
        for name in "12":
            store = stack.enter_context(closing(SQLiteStore(tmp_path / "banks")))
            engine = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default(), multi_process=True)
            talks = ConversationRegistry(engine, claims=BankLeases(places / name))
            stack.callback(talks.close)
            workers.append((talks, engine.memory("alice", make=True)))
        (one, memory), (other, same) = workers
        running = one.reply(memory, CURRENT, "Count.", PLAIN, "k")
        with pytest.raises(Problem) as refused:  # one that came there before the bank was the first's
            other.reply(same, CURRENT, "Count.", PLAIN, "k")
        assert (refused.value.status, refused.value.name) == (409, "replying")
        assert running.wait(PATIENCE)
        assert other.reply(same, CURRENT, "Count.", PLAIN, "k").wait(PATIENCE)
        assert [line.text for line in memory.lines()][-2:] == ["Count.", "One two three four five."]
        assert len(server.requests) == 1
