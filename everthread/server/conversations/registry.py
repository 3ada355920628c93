"""Talks: the conversations that are open on the server, and the replies that are on their way.

    reply   a place for it ─ the line kept, the past recalled (in the request's thread) ─ the model read (in its own)

A reply belongs to nobody who reads it: it goes on when they leave, and is kept when it is done. A conversation is used
by one request at a time; while it replies it can be looked at, followed and stopped, and nothing else. Nothing of the
store is held meanwhile. Of several workers, the one that knows of a reply or of what is said in incognito has claimed
the bank; whatever is asked of it comes there (`neighbours`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from operator import itemgetter
from weakref import WeakValueDictionary

from everthread.bank import validation
from everthread.bank.line_validation import clean_line
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent
from everthread.chat.conversation import current_session, find_resumable
from everthread.chat.reply import Reply
from everthread.chat.scribe_worker import ScribeWorker
from everthread.errors import BadInput, EverthreadError, ModelError
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recall import multi_bank
from everthread.recipes.options import identity
from everthread.server import problems
from everthread.server.chat_schemas import OptionsBody, StateView, context_event, done_event, line_event, lines, state
from everthread.server.conversations.conclusions import Conclusions, conflict
from everthread.server.conversations.priority import PriorityGate
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.conversations.start_limits import StartLimiter
from everthread.server.problems import RETRY, Problem
from everthread.server.services import Services
from everthread.server.workers.bank_leases import PATIENCE, BankLeases, reply_in_progress
from everthread.types import Filter, Line, NewLine, Usage, now

log = logging.getLogger("everthread.server")

OPEN = 1024  # conversations kept open; one that goes is opened again in milliseconds
PRIVATE = 1024  # more of them in incognito, whose lines are nowhere else
CURRENT = "current"  # in place of a session's name
MAX_PREPARING = 2  # replies that are prepared at once
WRITING = 4  # desks that have something written at once: replies come first
STOPPED = 30.0  # seconds that another thread may take to tell of a reply that is over
FOREIGN_REPLY_S = 120.0  # seconds for which a line without a reply may have one coming in another process
IN_TURN = 60.0  # seconds that a text message waits for another worker to be done with its bank

Act = Callable[[Chat], Reply | None]


class OpenConversation:
    """A conversation that is open. used is told by time.monotonic()."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.lock = threading.Lock()  # held by the request that uses it
        self.running: ReplyStream | None = None  # the latest reply; it stays when it is over
        self.usage = Usage()
        self.closed = False

    @property
    def replying(self) -> bool:
        return (running := self.running) is not None and not running.over


class ConversationRegistry:
    """Safe from many threads."""

    def __init__(self, engine: Services, streams: int = 256, claims: BankLeases | None = None) -> None:
        self.engine, self.streams, self.claims = engine, streams, claims or BankLeases()
        self.isolated = (
            engine.multi_process and self.claims.own is None
        )  # other processes serve the store, and can't be reached
        self._talks: OrderedDict[tuple[str, str], OpenConversation] = OrderedDict()
        self._current: dict[str, str] = {}  # the session of a bank that may have no line in it yet
        self._desks: WeakValueDictionary[tuple[object, ...], ScribeWorker] = WeakValueDictionary()
        self._order = PriorityGate(MAX_PREPARING)
        self.places = StartLimiter()
        self._writing = threading.BoundedSemaphore(WRITING)
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._aside: list[
            OpenConversation
        ] = []  # conversations that are open elsewhere, while a reply in them is on its way
        self._forgetting = Counter[str]()  # banks in which something is being forgotten, and how often at once
        self._pool = ThreadPoolExecutor(streams, thread_name_prefix="everthread reply")
        self._free = threading.BoundedSemaphore(streams)
        self._closed = False
        self._conclusions = Conclusions()

    # ----------------------------------------------------------------- replying

    def reply(
        self,
        memory: Memory,
        session: str,
        text: str,
        options: OptionsBody,
        key: str | None = None,
        *,
        incognito: bool = False,
        forgets: bool = True,
    ) -> ReplyStream:
        """Keep what the person says, and have it answered. Under a line's key that was given before the same reply
        comes again. incognito: the caller takes it that nothing is written. forgets: whether a no to the question
        whether to remember may have the conversation forgotten. Raises as `Chat.reply`, and Problem."""
        if (ended := self._conclusions.of(key, text)) is not None:
            return ended
        with self._using(memory, session, replying=True) as talk:
            if key is not None and (before := self._before(memory, talk, text, key, options)) is not None:
                return before
            self._require_idle(talk)
            self._one_process(talk)

            with self._changing(talk):
                self._unwritten(talk, incognito)
                if not forgets and parse_consent(text) is False:
                    self._see_unasked(talk)
                running = self._start(
                    talk, options, lambda chat: chat.reply(text, key), echo_user_line=True, key=key, said=text
                )
        if running.reply is not None and running.reply.ending is not None and running.reply.ending.receipt is not None:
            self.drop_events(memory.bank)
        return running

    def start_reply(
        self,
        memory: Memory,
        session: str,
        act: Act,
        options: OptionsBody,
        *,
        echo_user_line: bool = False,
        key: str | None = None,
        incognito: bool = False,
    ) -> ReplyStream:
        """A reply to what stands, as act has the conversation give it; told: the person's line, too. key is the name of
        the request, by which `begun` finds the reply; incognito as for `reply`."""
        with self._using(memory, session) as talk:
            self._unwritten(talk, incognito)
            return self._start(talk, options, act, echo_user_line=echo_user_line, key=key)

    def find_reply(self, memory: Memory, session: str, key: str | None) -> ReplyStream:
        """The reply that was begun under this name; where it is not known here any more, what stands last."""
        with self._using(memory, session, replying=True) as talk:
            if (running := talk.running) is not None and running.key == key:
                return running
            if not talk.replying:
                talk.chat.refresh()
            last = talk.chat.lines[-1] if talk.chat.lines else None
            return _ended(last if last is not None and last.role == "assistant" else None)

    def validate(self, session: str, text: str | None = None, options: OptionsBody | None = None) -> None:
        """See that a conversation can be begun so: whoever can't leaves no empty bank. Raises as `reply`."""
        validation.check_filter_name(session, "session")
        if text is not None:
            clean_line(NewLine(text), now())
        if options is not None:
            self._chosen(options)
            if options.recipe is not None:
                self.engine.usual(options.recipe)

    def running(self, memory: Memory, session: str) -> ReplyStream:
        """The reply that is running. Problem where none is."""
        with self._using(memory, session, replying=True) as talk:
            if (running := talk.running) is None or running.over:
                raise Problem(404, "no-reply", "no reply is running in this conversation; its state has what is kept")
            return running

    def stop(self, memory: Memory, session: str) -> StateView:
        """Stop the reply that is running, if one is; what has arrived of it is kept."""
        with self._using(memory, session, replying=True) as talk:
            self._stop(talk)
        return self.state(memory, session)

    def reply_detached(self, chat: Chat, act: Callable[[Chat], Reply]) -> Reply:
        """A reply in a conversation that is open elsewhere, read to its end: what is forgotten of its bank meanwhile
        stops it, and is gone when this returns. Raises what act does; what goes wrong later, the log tells."""
        talk = OpenConversation(chat)
        with self.claims.holding(chat.memory.bank, IN_TURN):
            try:
                with talk.lock:
                    with self._quiet:
                        self._quiet.wait_for(lambda: chat.memory.bank not in self._forgetting)
                        self._aside.append(talk)
                    reply = act(chat)
                    talk.running = running = ReplyStream(reply)
                self._ending(talk, running, reply, lambda: deque(reply, 0).clear())
                return reply
            finally:
                with self._quiet:
                    self._aside.remove(talk)
                    self._quiet.wait_for(lambda: chat.memory.bank not in self._forgetting)

    # ------------------------------------------------------------------ the rest

    def state(self, memory: Memory, session: str) -> StateView:
        """The conversation as it stands, also while it replies."""
        with self._using(memory, session, replying=True) as talk:
            if not talk.replying:
                talk.chat.refresh()
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
                self._rekey(memory.bank, talk)

    def incognito(self, memory: Memory, session: str, on: bool) -> StateView:
        """Write nothing from now on, or write again. Problem with several processes that can't reach each other: each
        would know other lines."""
        if on and self.isolated:
            raise problems.one_process()

        def change(chat: Chat) -> None:
            chat.refresh()
            chat.incognito = on
            self._current[memory.bank] = chat.session

        changed = self.change(memory, session, change)
        with self._lock:
            self._evict()
        return changed

    @contextmanager
    def forgetting(self, bank: str, *, whole: bool = False, patience: float = PATIENCE) -> Iterator[None]:
        """While something of a bank is forgotten: its replies, which may be made of it, are stopped before, and nobody
        talks meanwhile. whole: all of it is, and what is open of it is closed. Problem where another worker has the
        bank for longer than so many seconds."""
        with self.claims.holding(bank, patience), self._silent(bank), ExitStack() as held:
            talks = self._of(bank)
            for talk in talks:
                held.enter_context(talk.lock)
                self._stop(talk)
                if whole:
                    with self._lock:
                        self._drop((bank, talk.chat.session), talk)
            if whole:
                self._leave(bank)
            yield
            for talk in talks:
                talk.running = talk.chat.last_reply = None

    @contextmanager
    def _silent(self, bank: str) -> Iterator[None]:
        """While nobody begins to talk in a bank: whoever wants to waits."""
        with self._lock:
            self._forgetting[bank] += 1
        try:
            yield
        finally:
            with self._quiet:
                self._forgetting -= Counter([bank])
                self._quiet.notify_all()

    def drop_events(self, bank: str) -> None:
        """Keep nothing in mind of the replies of a bank in which something was forgotten: their events tell what was
        said and recalled."""
        for talk in self._of(bank):
            with talk.lock:
                self._stop(talk)
                talk.running = talk.chat.last_reply = None

    def _of(self, bank: str) -> list[OpenConversation]:
        """The open conversations of a bank, in one order: so nobody who holds some waits for another who does."""
        with self._lock:
            found = [(at[1], talk) for at, talk in self._talks.items() if at[0] == bank]
            found += [(talk.chat.session, talk) for talk in self._aside if talk.chat.memory.bank == bank]
            return [talk for _, talk in sorted(found, key=itemgetter(0))]

    def _leave(self, bank: str) -> None:
        """Have nothing more written about a bank: it would be there again."""
        with self._lock:
            desks = [self._desks.pop(at) for at in list(self._desks) if at[0] == bank]
        for desk in desks:
            desk.close(timeout=1.0)

    def close(self, timeout: float = 5.0) -> None:
        """Take no more; give the replies that are running so many seconds, then stop them and keep what has arrived."""
        with self._lock:
            self._closed = True
            talks = list(self._talks.values())
        until = time.monotonic() + timeout
        for talk in talks:
            if (running := talk.running) is not None and not running.wait(max(until - time.monotonic(), 0)):
                self._stop(talk)
        self._pool.shutdown()
        for talk in talks:
            talk.chat.close()
        for desk in list(self._desks.values()):
            desk.close(timeout=max(until - time.monotonic(), 0.1))

    # ----------------------------------------------------------- a reply's thread

    def _start(
        self,
        talk: OpenConversation,
        options: OptionsBody,
        act: Act,
        *,
        echo_user_line: bool,
        key: str | None = None,
        said: str | None = None,
    ) -> ReplyStream:
        """Begin a reply, in another thread. What goes wrong before the model is asked is raised, and nothing has
        begun."""
        if self._closed or not self._free.acquire(blocking=False):
            raise Problem(
                503, "busy", "as many replies are being written as may be; try again", {"Retry-After": str(RETRY)}
            )
        try:
            with self._order.interactive():
                self._choose(talk.chat, options)
                reply = act(talk.chat)
            running = ReplyStream(reply, key=key, said=said)
            if reply is None:
                running.end("done", done_event(talk.chat.lines[-1]))
                self._free.release()
                return running
            if reply.ending is not None:
                if self._conclusions.emit(running, reply, echo_user_line):
                    self._rekey(talk.chat.memory.bank, talk)
                self._free.release()
                return running
            if echo_user_line:
                running.put("line", line_event(talk.chat.lines[-1]))
            running.put("context", context_event(reply))
            if not self.claims.acquire(talk.chat.memory.bank, running):  # whoever came here should have claimed it
                reply.stop()
                raise reply_in_progress()
            talk.running = running
            self._pool.submit(self._write, talk, running, reply)
        except BaseException:
            self._free.release()
            raise
        return running

    def _write(self, talk: OpenConversation, running: ReplyStream, reply: Reply) -> None:
        """Tell of a reply as it comes. While it does, no thread waits for it."""

        def told(piece: str) -> None:
            running.put("piece", {"text": piece})

        def over() -> None:
            with suppress(RuntimeError):  # the server ends, and has stopped it
                self._pool.submit(self._ending, talk, running, reply, read)

        def read() -> None:
            try:
                for piece in reply:
                    told(piece)
            finally:
                self._free.release()

        reply.listen(told, over)

    def _stop(self, talk: OpenConversation) -> None:
        """Stop the conversation's reply, if one is running. It is over then, also while its thread waits for a model
        that says nothing."""
        if (running := talk.running) is not None and running.reply is not None and not running.over:
            self._ending(talk, running, running.reply, running.reply.stop)

    def _ending(self, talk: OpenConversation, running: ReplyStream, reply: Reply, end: Callable[[], None]) -> None:
        """Do what ends a reply, and tell of it, unless another thread ended it."""
        told: tuple[str, dict[str, object]] = ("error", problems.document(500, "internal", "the reply failed"))
        try:
            end()
            told = "done", done_event(reply.line, reply)
        except EverthreadError as error:
            kept = {"line": lines([reply.line])[0]} if reply.line else {}
            told = "error", {**problems.of(error), **kept}
            log.warning("a reply failed: %s", error if isinstance(error, ModelError) else type(error).__name__)
        finally:
            if running.claim():
                talk.usage += reply.usage
                if self.claims.own is not None and not talk.chat.incognito:
                    talk.chat.last_reply = None  # what is forgotten by way of another worker would still be told here
                    talk.running = None
                running.end(*told)
                self.claims.release(talk.chat.memory.bank, running)
            else:
                running.wait(STOPPED)

    def _choose(self, chat: Chat, options: OptionsBody) -> None:
        """Have the next reply made so."""
        llm = self._chosen(options)
        memory = self.engine.memory(chat.memory.bank, recipe=options.recipe)
        if options.recipe is not None and not chat.incognito:
            self.engine.keep(memory.bank, memory.recipe)
        self._follow(chat, memory)
        chat.llm, chat.sampling, chat.budget = llm, options.sampling(), options.budget
        chat.banks = multi_bank.existing_banks(memory.store, options.banks) if options.banks else ()

    def _follow(self, chat: Chat, memory: Memory) -> None:
        """Have a conversation go on with the recipe of this memory, and with the bank's scribe."""
        desk = self.desk(memory)
        if identity(memory.recipe) != identity(chat.memory.recipe):
            chat.use_memory(memory, desk)

    def _chosen(self, options: OptionsBody) -> LLM | None:
        """The model that is to reply. ConfigError and BadInput."""
        llm = self.engine.models.named(options.model)
        if llm is not None and options.max_tokens is not None and options.max_tokens > llm.context // 2:
            raise BadInput(
                f"max_tokens is {options.max_tokens}, and {llm.name} has {llm.context} for prompt and reply together; "
                f"give at most {llm.context // 2}"
            )
        return llm

    def _before(
        self, memory: Memory, talk: OpenConversation, text: str, key: str, options: OptionsBody
    ) -> ReplyStream | None:
        """What came of the request of that key: the reply that is running, or the one that was kept."""
        if (running := talk.running) is not None and running.key == key:
            return running if running.said == text else conflict()
        line = memory.store.get_by_key(memory.bank, [key]).get(key)
        if line is None:
            return None
        if line.text != clean_line(NewLine(text), line.said_at).text:
            return conflict()
        after = _after(memory, line)
        if after is not None or line.retracted_at is not None or line.session != talk.chat.session:
            return _finished(line, after)
        self._require_idle(talk)
        if self.isolated and abs((now() - line.said_at).total_seconds()) < FOREIGN_REPLY_S:
            raise reply_in_progress()
        with self._changing(talk):
            if _after(memory, line) is None:  # or another worker has answered it, just now
                return self._start(talk, options, lambda chat: chat.answer(), echo_user_line=True, key=key, said=text)
        return _finished(line, _after(memory, line))

    # ---------------------------------------------------------- open conversations

    @contextmanager
    def _using(self, memory: Memory, session: str, replying: bool = False) -> Iterator[OpenConversation]:
        """The conversation, opened if it isn't, for one request alone. Problem where it replies, unless that is no
        matter; else the bank belongs to this worker meanwhile."""
        while True:
            with self._quiet:
                self._quiet.wait_for(lambda: memory.bank not in self._forgetting)
            talk = self._open(memory, session)
            with talk.lock:
                if talk.closed or memory.bank in self._forgetting:  # between
                    continue
                if not talk.replying and not talk.chat.incognito:
                    self._follow(talk.chat, memory)
                if replying:
                    yield talk
                    return
                self._require_idle(talk)
                with self._changing(talk):
                    yield talk
                return

    @contextmanager
    def _changing(self, talk: OpenConversation) -> Iterator[None]:
        """While a conversation is changed, and for as long as what is said in it is nowhere else, its bank belongs to
        this worker. Problem where it is another's."""
        bank = talk.chat.memory.bank
        with self.claims.holding(bank):
            try:
                yield
            finally:
                if talk.chat.incognito and not talk.closed:
                    self.claims.acquire(bank, talk)
                else:
                    self.claims.release(bank, talk)

    def _require_idle(self, talk: OpenConversation) -> None:
        if talk.replying:
            raise reply_in_progress()

    def _one_process(self, talk: OpenConversation) -> None:
        if self.isolated and talk.chat.incognito:
            raise problems.one_process()

    def _unwritten(self, talk: OpenConversation, incognito: bool) -> None:
        """Problem where whoever speaks takes it that nothing is written, and it would be."""
        if incognito:
            talk.chat.refresh()
            if not talk.chat.incognito:
                raise problems.not_incognito()

    def _see_unasked(self, talk: OpenConversation) -> None:
        """Raise Problem where a no would have the conversation forgotten."""
        talk.chat.refresh()
        if talk.chat.question:
            raise Problem(403, "forbidden", "this key may have no other conversation forgotten than the current one")

    def _open(self, memory: Memory, session: str) -> OpenConversation:
        name = self._named(memory) if session == CURRENT else validation.check_filter_name(session, "session")
        with self._lock:
            held = self._talks.get((memory.bank, name)) if name else None
            if held is not None:
                self._talks.move_to_end((memory.bank, held.chat.session))
                return held
        fresh = OpenConversation(Chat(memory, None, self.engine.llm, session=name, scribe_worker=self.desk(memory)))
        at = memory.bank, fresh.chat.session
        with self._lock:
            begun = self._talks.get((memory.bank, self._current.get(memory.bank, "")))
            if name is None and begun is not None and not begun.chat.lines:  # by somebody else, just now
                return begun
            held = self._talks.setdefault(at, fresh)
            if name is None:
                self._current[memory.bank] = fresh.chat.session
            self._evict()
        return held

    def _named(self, memory: Memory) -> str | None:
        """The session that goes on: one in incognito, or the last one as `Chat` resumes it, or one that was begun here
        and in which nothing is said yet. None: another begins."""
        held = self._talks.get((memory.bank, self._current.get(memory.bank, "")))
        if held is not None and held.chat.incognito:
            return held.chat.session
        at = now()
        if (last := find_resumable(current_session(memory.sessions(), at), at)) is not None:
            return last
        return held.chat.session if held is not None and not held.chat.lines else None

    def _rekey(self, bank: str, talk: OpenConversation) -> None:
        """A conversation that was ended is another from now on."""
        with self._lock:
            old = next((at for at, each in self._talks.items() if each is talk), None)
            if old is not None and old[1] != talk.chat.session:
                del self._talks[old]
                self._talks[bank, talk.chat.session] = talk
                goes_on = self._talks.get((bank, self._current.get(bank, "")))
                if goes_on is None or not goes_on.chat.incognito:  # or what is said in it next would be written
                    self._current[bank] = talk.chat.session
                talk.running, talk.usage = None, Usage()

    def desk(self, memory: Memory) -> ScribeWorker:
        """The desk of a memory, with the bank's scribe: one, however many conversations are open in it."""
        at, scribe = (memory.bank, identity(memory.recipe)), self.engine.scribe_of(memory.bank)
        with self._lock:
            desk = self._desks.get(at)
            if desk is None:
                desk = self._desks[at] = ScribeWorker(
                    memory,
                    scribe,
                    lambda: self.claims.try_holding(memory.bank, self._writing),
                    lambda: self.claims.try_holding(memory.bank, self._order.background()),
                )
            desk.scribe = scribe
            return desk

    def _evict(self) -> None:
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

    def _drop(self, at: tuple[str, str], talk: OpenConversation) -> None:
        talk.closed = True
        self.claims.release(at[0], talk)
        self._talks.pop(at, None)
        if self._current.get(at[0]) == at[1]:
            del self._current[at[0]]


def _after(memory: Memory, line: Line) -> Line | None:
    """What was said next in the line's conversation."""
    return next(memory.lines(Filter(session=line.session), after=line.seq, limit=1), None)


def _finished(line: Line, after: Line | None) -> ReplyStream:
    """What came of a request whose reply is kept."""
    answer = after if after is not None and after.parent == line.seq and after.role == "assistant" else None
    return _ended(answer, line)


def _ended(answer: Line | None, said: Line | None = None) -> ReplyStream:
    """A reply that is kept: what was said, where that is told, and the end."""
    running = ReplyStream()
    if said is not None:
        running.put("line", line_event(said))
    running.end("done", done_event(answer))
    return running
