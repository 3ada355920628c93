"""Talks: the conversations that are open on the server, and the replies that are on their way.

    reply   a place for it ─ the line kept, the past recalled (in the request's thread) ─ the model read (in its own)

A reply belongs to nobody who reads it: it goes on when they leave, and is kept when it is done. A conversation is used
by one request at a time; while it replies it can be looked at, followed and stopped, and nothing else. Nothing of the
store is held meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from weakref import WeakValueDictionary

from everthread import checks
from everthread import open as opening
from everthread.chat import Chat
from everthread.conversation import latest
from everthread.desk import Desk
from everthread.errors import BadInput, EverthreadError
from everthread.memory import Memory
from everthread.observe.clean import clean
from everthread.reply import Reply
from everthread.server import problems
from everthread.server.engine import Engine
from everthread.server.problems import RETRY, Problem
from everthread.server.running import Running
from everthread.server.wire_chat import OptionsBody, StateView, context_event, done_event, line_event, lines, state
from everthread.stores.lines import SESSION_GAP
from everthread.types import Line, NewLine, Usage, Where, now

log = logging.getLogger("everthread.server")

OPEN = 1024  # conversations kept open; one that goes is opened again in milliseconds
PRIVATE = 1024  # more of them in incognito, whose lines are nowhere else
CURRENT = "current"  # in place of a session's name
PREPARED = 2  # replies that are prepared at once, in the order they came: all at once, everybody waits for everybody
WRITING = 4  # desks that have something written at once: replies come first
STOPPED = 30.0  # seconds that a reply may take to be kept, once it is stopped
RUNS_ELSEWHERE = 120.0  # seconds for which a line without a reply may have one coming in another process

Act = Callable[[Chat], Reply | None]


class Talk:
    """A conversation that is open. used is told by time.monotonic()."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.lock = threading.Lock()  # held by the request that uses it
        self.running: Running | None = None  # the latest reply; it stays when it is over
        self.usage = Usage()
        self.closed = False

    @property
    def replying(self) -> bool:
        return self.running is not None and not self.running.over


class Talks:
    """Safe from many threads."""

    def __init__(self, engine: Engine, streams: int = 256) -> None:
        self.engine, self.streams = engine, streams
        self._scribe = opening.scribe(engine.llm)
        self._talks: OrderedDict[tuple[str, str], Talk] = OrderedDict()
        self._current: dict[str, str] = {}  # the session of a bank that may have no line in it yet
        self._desks: WeakValueDictionary[tuple[str, str], Desk] = WeakValueDictionary()
        self._preparing = threading.BoundedSemaphore(PREPARED)
        self._writing = threading.BoundedSemaphore(WRITING)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(streams, thread_name_prefix="everthread reply")
        self._free = threading.BoundedSemaphore(streams)
        self._closed = False

    # ----------------------------------------------------------------- replying

    def reply(self, memory: Memory, session: str, text: str, options: OptionsBody, key: str | None = None) -> Running:
        """Keep what the person says, and have it answered. Under a line's key that was given before the same reply
        comes again. Raises as `Chat.reply`, and Problem."""
        with self._using(memory, session, replying=True) as talk:
            if key is not None and (before := self._before(memory, talk, text, key, options)) is not None:
                return before
            self._still(talk)
            self._one_process(talk)
            return self._start(talk, options, lambda chat: chat.reply(text, key), told=True, key=key, said=text)

    def again(self, memory: Memory, session: str, act: Act, options: OptionsBody, *, told: bool = False) -> Running:
        """A reply to what stands, as act has the conversation give it; told: the person's line, too."""
        with self._using(memory, session) as talk:
            return self._start(talk, options, act, told=told)

    def running(self, memory: Memory, session: str) -> Running:
        """The reply that is running. Problem where none is."""
        with self._using(memory, session, replying=True) as talk:
            if talk.running is None or talk.running.over:
                raise Problem(404, "no-reply", "no reply is running in this conversation; its state has what is kept")
            return talk.running

    def stop(self, memory: Memory, session: str) -> StateView:
        """Stop the reply that is running, if one is; what has arrived of it is kept."""
        with self._using(memory, session, replying=True) as talk:
            running = talk.running
        if running is not None and running.reply is not None and not running.over:
            running.reply.stop()
            running.wait(STOPPED)
        return self.state(memory, session)

    # ------------------------------------------------------------------ the rest

    def state(self, memory: Memory, session: str) -> StateView:
        """The conversation as it stands, also while it replies."""
        with self._using(memory, session, replying=True) as talk:
            if not talk.replying:
                talk.chat.look()
            return state(talk.chat, talk.usage, talk.replying)

    def change(self, memory: Memory, session: str, change: Callable[[Chat], object]) -> StateView:
        """Change the conversation; how it then stands."""
        with self._using(memory, session) as talk:
            change(talk.chat)
            return state(talk.chat, talk.usage, False)

    @contextmanager
    def using(self, memory: Memory, session: str) -> Iterator[Chat]:
        """The conversation, for one request that may end it. Problem while it replies."""
        with self._using(memory, session) as talk:
            try:
                yield talk.chat
            finally:
                self._moved(memory.bank, talk)

    def incognito(self, memory: Memory, session: str, on: bool) -> StateView:
        """Write nothing from now on, or write again. Problem with several processes, of which each would know other
        lines."""
        if on and self.engine.several:
            raise _alone()

        def change(chat: Chat) -> None:
            chat.look()
            chat.incognito = on
            self._current[memory.bank] = chat.session

        changed = self.change(memory, session, change)
        with self._lock:
            self._let_go()
        return changed

    def forgot(self, bank: str) -> None:
        """Keep nothing in mind of the replies of a bank in which something was forgotten."""
        for talk in self._of(bank):
            if not talk.replying:
                talk.running = talk.chat.last = None

    def let_go(self, bank: str) -> None:
        """Stop the replies of a bank that is to be forgotten whole, and close its conversations."""
        for talk in self._of(bank):
            if (running := talk.running) is not None and running.reply is not None and not running.over:
                running.reply.stop()
                running.wait(STOPPED)
            with talk.lock, self._lock:
                self._drop((bank, talk.chat.session), talk)

    def _of(self, bank: str) -> list[Talk]:
        with self._lock:
            return [talk for at, talk in self._talks.items() if at[0] == bank]

    def close(self, timeout: float = 5.0) -> None:
        """Take no more; give the replies that are running so many seconds, then stop them and keep what has arrived."""
        with self._lock:
            self._closed = True
            talks = list(self._talks.values())
        until = time.monotonic() + timeout
        for talk in talks:
            if (running := talk.running) is not None and not running.wait(max(until - time.monotonic(), 0)):
                if running.reply is not None:
                    running.reply.stop()
                running.wait(1.0)
        self._pool.shutdown()
        for talk in talks:
            talk.chat.close()
        for desk in list(self._desks.values()):
            desk.close(timeout=max(until - time.monotonic(), 0.1))

    # ----------------------------------------------------------- a reply's thread

    def _start(
        self, talk: Talk, options: OptionsBody, act: Act, *, told: bool, key: str | None = None, said: str | None = None
    ) -> Running:
        """Begin a reply, in a thread of its own. What goes wrong before the model is asked is raised, and nothing has
        begun."""
        if self._closed or not self._free.acquire(blocking=False):
            raise Problem(
                503, "busy", "as many replies are being written as may be; try again", {"Retry-After": str(RETRY)}
            )
        try:
            with self._preparing:
                self._choose(talk.chat, options)
                reply = act(talk.chat)
            running = Running(reply, key=key, said=said)
            if reply is None:
                running.put("done", done_event(talk.chat.lines[-1]))
                running.end()
                self._free.release()
                return running
            if told:
                running.put("line", line_event(talk.chat.lines[-1]))
            running.put("context", context_event(reply))
            talk.running = running
            self._pool.submit(self._write, talk, running, reply)
        except BaseException:
            self._free.release()
            raise
        return running

    def _write(self, talk: Talk, running: Running, reply: Reply) -> None:
        """Read a reply to its end, and tell of it."""
        end: tuple[str, dict[str, object]] = ("error", problems.document(500, "internal", "the reply failed"))
        try:
            for piece in reply:
                running.put("piece", {"text": piece})
            end = "done", done_event(reply.line, reply)
        except EverthreadError as error:
            kept = {"line": lines([reply.line])[0]} if reply.line else {}
            end = "error", {**problems.of(error), **kept}
            log.warning("a reply failed: %s", type(error).__name__)
        finally:
            talk.usage += reply.usage
            self._free.release()
            running.put(*end)
            running.end()

    def _choose(self, chat: Chat, options: OptionsBody) -> None:
        """Have the next reply made so."""
        llm = self.engine.models.named(options.model)
        if llm is not None and options.max_tokens is not None and options.max_tokens > llm.context // 2:
            raise BadInput(
                f"max_tokens is {options.max_tokens}, and {llm.name} has {llm.context} for prompt and reply together; "
                f"give at most {llm.context // 2}"
            )
        memory = self.engine.memory(chat.memory.bank, recipe=options.recipe)
        if memory.recipe.name != chat.memory.recipe.name:
            chat.remember_with(memory, self.desk(memory))
        chat.llm, chat.sampling, chat.budget = llm, options.sampling(), options.budget

    def _before(self, memory: Memory, talk: Talk, text: str, key: str, options: OptionsBody) -> Running | None:
        """What came of the request of that key: the reply that is running, or the one that was kept."""
        if (running := talk.running) is not None and running.key == key:
            return running if running.said == text else _conflict()
        line = memory.store.known(memory.bank, [key]).get(key)
        if line is None:
            return None
        if line.text != clean(NewLine(text), line.said_at).text:
            return _conflict()
        after = next(memory.lines(Where(session=line.session), after=line.seq, limit=1), None)
        waiting = after is None and line.retracted_at is None and line.session == talk.chat.session
        if waiting:
            self._still(talk)
            if self.engine.several and (now() - line.said_at).total_seconds() < RUNS_ELSEWHERE:
                raise _replying()
            return self._start(talk, options, lambda chat: chat.answer(), told=True, key=key, said=text)
        return _told(line, after)

    # ---------------------------------------------------------- open conversations

    @contextmanager
    def _using(self, memory: Memory, session: str, replying: bool = False) -> Iterator[Talk]:
        """The conversation, opened if it isn't, for one request alone. Problem where it replies, unless that is no
        matter."""
        while True:
            talk = self._open(memory, session)
            with talk.lock:
                if talk.closed:  # it was let go between
                    continue
                if not replying:
                    self._still(talk)
                yield talk
                return

    def _still(self, talk: Talk) -> None:
        if talk.replying:
            raise _replying()

    def _one_process(self, talk: Talk) -> None:
        if self.engine.several and talk.chat.incognito:
            raise _alone()

    def _open(self, memory: Memory, session: str) -> Talk:
        name = self._named(memory) if session == CURRENT else checks.name(session, "session")
        with self._lock:
            held = self._talks.get((memory.bank, name)) if name else None
            if held is not None:
                self._talks.move_to_end((memory.bank, held.chat.session))
                return held
        fresh = Talk(Chat(memory, None, self.engine.llm, session=name, desk=self.desk(memory)))
        at = memory.bank, fresh.chat.session
        with self._lock:
            held = self._talks.setdefault(at, fresh)
            if name is None:
                self._current[memory.bank] = fresh.chat.session
            self._let_go()
        return held

    def _named(self, memory: Memory) -> str | None:
        """The session that goes on: one in incognito, or the last one as `Chat` resumes it, or one that was begun here
        and in which nothing is said yet. None: another begins."""
        held = self._talks.get((memory.bank, self._current.get(memory.bank, "")))
        if held is not None and held.chat.incognito:
            return held.chat.session
        at = now()
        last = latest(memory.sessions(), at)
        open_ = last is not None and (last.ended_at is None or last.ended_at < last.last_at)
        if last is not None and open_ and at - last.last_at <= SESSION_GAP:
            return last.id
        return held.chat.session if held is not None and not held.chat.lines else None

    def _moved(self, bank: str, talk: Talk) -> None:
        """A conversation that was ended is another from now on."""
        with self._lock:
            old = next((at for at, each in self._talks.items() if each is talk), None)
            if old is not None and old[1] != talk.chat.session:
                del self._talks[old]
                self._talks[bank, talk.chat.session] = talk
                self._current[bank] = talk.chat.session
                talk.running, talk.usage = None, Usage()

    def desk(self, memory: Memory) -> Desk:
        """The desk of a memory: one, however many conversations are open in it."""
        with self._lock:
            desk = self._desks.get((memory.bank, memory.recipe.name))
            if desk is None:
                desk = self._desks[memory.bank, memory.recipe.name] = Desk(memory, self._scribe, self._writing)
            return desk

    def _let_go(self) -> None:
        """Close what was not used for the longest while, if it is idle; in incognito, only where there are too many of
        those alone. Called with the lock held."""
        private = [at for at, talk in self._talks.items() if talk.chat.incognito]
        public = [at for at, talk in self._talks.items() if not talk.chat.incognito]
        over = [*public[: max(len(public) - OPEN, 0)], *private[: max(len(private) - PRIVATE, 0)]]
        for at in over:
            talk = self._talks[at]
            if not talk.replying and talk.lock.acquire(blocking=False):
                self._drop(at, talk)
                talk.lock.release()

    def _drop(self, at: tuple[str, str], talk: Talk) -> None:
        talk.closed = True
        self._talks.pop(at, None)
        if self._current.get(at[0]) == at[1]:
            del self._current[at[0]]


def _told(line: Line, after: Line | None) -> Running:
    """What came of a request whose reply is kept."""
    answer = after if after is not None and after.parent == line.seq and after.role == "assistant" else None
    running = Running()
    running.put("line", line_event(line))
    running.put("done", done_event(answer))
    running.end()
    return running


def _conflict() -> Running:
    raise Problem(
        422, "idempotency-conflict", "another text was sent with this Idempotency-Key; take a new key for a new one"
    )


def _replying() -> Problem:
    return Problem(
        409, "replying", "a reply is running in this conversation; wait for it, or stop it", {"Retry-After": "1"}
    )


def _alone() -> Problem:
    return Problem(
        409,
        "one-process",
        "in incognito the lines are nowhere but in one process, and several serve this store; run one worker",
    )
