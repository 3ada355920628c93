"""The conversations of a server for its routes: replying, changing and forgetting.

A conversation is used by one request at a time; while it replies, it can only be read, followed and stopped. If there
are several workers, the one with a reply in progress or an incognito conversation leases the bank, and requests for
that bank are forwarded to it (`worker_proxy`). Servers of other machines refuse them meanwhile (`bank_claims`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from everthread.bank import validation
from everthread.bank.line_validation import clean_line
from everthread.chat.chat import Chat
from everthread.chat.goodbye import parse_answer
from everthread.chat.line_copies import list_listeners
from everthread.chat.listeners import Listeners
from everthread.chat.reply import Reply
from everthread.chat.scribe_worker import ScribeWorker
from everthread.errors import BadInput
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recall import multi_bank
from everthread.recipes.options import identify
from everthread.server import kept_uploads, problems
from everthread.server.chat_schemas import OptionsBody, StateView, build_state
from everthread.server.conversations.ending_replies import EndingReplies, key_conflict
from everthread.server.conversations.forgetting_barrier import ForgettingBarrier
from everthread.server.conversations.open_conversations import CURRENT, OpenConversation, OpenConversations
from everthread.server.conversations.priority import PriorityGate
from everthread.server.conversations.replays import confirm_forgetting, find_next_line, replay_answer, replay_request
from everthread.server.conversations.reply_runner import Act, ReplyRunner
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.conversations.scribe_workers import ScribeWorkers
from everthread.server.conversations.start_limits import StartLimiter
from everthread.server.problems import Problem
from everthread.server.services import Services
from everthread.server.workers.bank_leases import ACQUIRE_TIMEOUT_S, BankLeases, reply_elsewhere, reply_in_progress
from everthread.types import NewLine, now

__all__ = ["CURRENT", "MESSAGE_LEASE_TIMEOUT_S", "Act", "ConversationRegistry"]

MAX_PREPARING = 2  # replies that are prepared at once
FOREIGN_REPLY_S = 120.0  # for this long, another process may still reply to a line
MESSAGE_LEASE_TIMEOUT_S = 60.0  # a message waits this long for a bank that another worker holds

GroupAct = Callable[[Listeners, Chat], Reply | None]
Permit = Callable[[Sequence[str]], list[str]]


class ConversationRegistry:
    """The conversations of one process. Thread-safe.

    Methods that take a memory and a session raise BadInput for an invalid session name. Methods that change the
    conversation also raise Problem 409 while a reply is in progress or another worker holds the bank.
    """

    def __init__(self, services: Services, max_replies: int = 256, leases: BankLeases | None = None) -> None:
        self.services, self.max_replies, self.leases = services, max_replies, leases or BankLeases()
        # True if other processes serve the store, and requests can't be forwarded to them.
        self.is_isolated = services.multi_process and self.leases.own_socket is None
        self.start_limiter = StartLimiter()
        self._lock = threading.Lock()
        priority = PriorityGate(MAX_PREPARING)
        self._workers = ScribeWorkers(services, self.leases, priority, self._lock)
        self.open_conversations = OpenConversations(services, self.leases, self._workers, self._lock)
        self._barrier = ForgettingBarrier(self._lock)
        self._endings = EndingReplies()
        self._replies = ReplyRunner(
            self.leases, priority, self._endings, max_replies, on_ended=self.open_conversations.rekey
        )

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
        may_forget: bool = True,
        confirm_forget: bool = False,
        language: str | None = None,
    ) -> ReplyStream:
        """Save what the person says and reply to it.

        Args:
            memory: the memory of the bank.
            session: a session's name, or CURRENT.
            text: what the person says.
            options: the options of the reply.
            key: the key of the person's line; a key that was used before returns the same reply.
            incognito: whether the caller expects that nothing is stored.
            may_forget: whether the caller may answer no to the question whether to remember the conversation.
            confirm_forget: whether the caller asks again itself after such a no.
            language: the language of texts that no model writes; None: the same as before.

        Returns:
            The stream of the reply, or a finished one with the question to confirm.

        Raises:
            Problem: if the key belongs to another text, or the conversation can't reply now.
            EverthreadError: the same errors as `Chat.reply`.
        """
        if (stream := self._endings.find(memory.bank, key, text)) is not None:
            return stream
        with self._use(memory, session, while_replying=True) as conversation:
            if key is not None and (earlier := self._find_earlier_reply(memory, conversation, text, key, options)):
                return earlier
            self._require_idle(conversation)
            self._require_one_process(conversation)
            conversation.use_language(language)

            with self._lease(conversation):
                self._require_incognito(conversation, incognito)
                if self._may_forget(conversation.chat, text, confirm_forget):
                    if not may_forget:
                        raise _no_permission_to_forget()
                    if confirm_forget:
                        return confirm_forgetting(conversation.chat.question)
                act = self._reply_act(options, text, key)
                stream = self._start(conversation, options, act, echo_user_line=True, key=key, user_text=text)
        if stream.has_forgotten:
            self.drop_events(memory.bank)
        return stream

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
        """Reply to the conversation as it is.

        Args:
            memory: the memory of the bank.
            session: a session's name, or CURRENT.
            act: makes the conversation reply.
            options: the options of the reply.
            echo_user_line: whether the person's line is the first event.
            key: the key of the request, for `find_reply`.
            incognito: whether the caller expects that nothing is stored.

        Returns:
            The stream of the reply.

        Raises:
            Problem: if the conversation can't reply now.
            EverthreadError: the same errors as `act`.
        """
        with self._use(memory, session) as conversation:
            self._require_incognito(conversation, incognito)
            return self._start(conversation, options, act, echo_user_line=echo_user_line, key=key)

    def find_reply(self, memory: Memory, session: str, key: str | None) -> ReplyStream:
        """Return the reply that was started under this key, or the latest saved answer if the reply is unknown here."""
        with self._use(memory, session, while_replying=True) as conversation:
            if (stream := conversation.find_stream(key)) is not None:
                return stream
            if not conversation.is_replying:
                conversation.chat.refresh()
            last = conversation.chat.lines[-1] if conversation.chat.lines else None
            return replay_answer(last if last is not None and last.role == "assistant" else None)

    def validate(self, session: str, text: str | None = None, options: OptionsBody | None = None) -> None:
        """Check the arguments of `reply`, so that an invalid request creates no bank.

        Raises the same errors as `reply`.
        """
        validation.check_filter_name(session, "session")
        if text is not None:
            clean_line(NewLine(text), now())
        if options is not None:
            self._choose_llm(options)
            if options.recipe is not None:
                self.services.get_recipe(options.recipe)

    def get_running(self, memory: Memory, session: str) -> ReplyStream:
        """Return the reply in progress.

        Raises:
            Problem: 404 if no reply is in progress.
        """
        with self._use(memory, session, while_replying=True) as conversation:
            if (stream := conversation.stream) is None or stream.is_finished:
                raise Problem(404, "no-reply", "no reply is in progress; GET the conversation to see what was saved")
            return stream

    def stop(self, memory: Memory, session: str) -> StateView:
        """Stop the reply in progress, if there is one; what has arrived of it is saved."""
        with self._use(memory, session, while_replying=True) as conversation:
            self._replies.stop(conversation)
        return self.get_state(memory, session)

    def reply_detached(
        self, chat: Chat, act: Callable[[Chat], Reply], on_piece: Callable[[str], object] | None = None
    ) -> Reply:
        """Make a chat that was not opened here reply, and read the reply to its end.

        Forgetting in its bank stops the reply, and is complete when this returns. Errors of the model are logged.

        Args:
            chat: the chat.
            act: makes it reply.
            on_piece: called with each piece of the reply as it arrives. It must return quickly.

        Raises:
            Problem: 409 if another worker holds the bank for too long.
            EverthreadError: the same errors as `act`.
        """
        conversation, bank = OpenConversation(chat), chat.memory.bank
        with self.leases.hold(bank, MESSAGE_LEASE_TIMEOUT_S):
            try:
                with conversation.lock:
                    with self._lock:
                        self._barrier.wait(bank)
                        self.open_conversations.attach(conversation)
                    reply = act(chat)
                    conversation.stream = stream = ReplyStream(reply)
                self._replies.finish(conversation, stream, reply, lambda: _read(reply, on_piece))
                return reply
            finally:
                with self._lock:
                    self.open_conversations.detach(conversation)
                    self._barrier.wait(bank)

    # --------------------------------------------------------- reading, changing

    def get_state(
        self, memory: Memory, session: str, last: int | None = None, language: str | None = None
    ) -> StateView:
        """Return the conversation's state with its last lines, also while it replies; None: with all lines. A greeting
        is in the given language."""
        with self._use(memory, session, while_replying=True) as conversation:
            conversation.use_language(language)
            if not conversation.is_replying:
                conversation.chat.refresh()
            return build_state(conversation.chat, conversation.usage, conversation.is_replying, last)

    def change(self, memory: Memory, session: str, change: Callable[[Chat], object]) -> StateView:
        """Change the conversation, and return its state afterwards."""
        with self._use(memory, session) as conversation:
            change(conversation.chat)
            return build_state(conversation.chat, conversation.usage, False)

    @contextmanager
    def use(self, memory: Memory, session: str) -> Iterator[Chat]:
        """Yield the conversation's chat to one request, which may end it."""
        with self._use(memory, session) as conversation:
            try:
                yield conversation.chat
            finally:
                self.open_conversations.rekey(conversation)

    def set_incognito(self, memory: Memory, session: str, on: bool) -> StateView:
        """Switch incognito on or off, and return the conversation's state afterwards.

        Raises:
            Problem: if several processes serve the store and can't reach each other: each would have other lines.
        """
        if on and self.is_isolated:
            raise problems.one_process_required()

        def change(chat: Chat) -> None:
            chat.refresh()
            chat.incognito = on
            self.open_conversations.set_current(memory.bank, chat.session)

        state = self.change(memory, session, change)
        self.open_conversations.evict()
        return state

    def get_scribe_worker(self, memory: Memory) -> ScribeWorker:
        """Return the scribe worker that all conversations of a bank share."""
        return self._workers.get(memory)

    # ---------------------------------------------------------------- forgetting

    @contextmanager
    def pause_bank(self, bank: str, *, close: bool = False, timeout_s: float = ACQUIRE_TIMEOUT_S) -> Iterator[None]:
        """Stop the replies of a bank and make new requests wait, while the block forgets part of it.

        Replies in progress are stopped because they may contain forgotten lines.

        Args:
            bank: the bank's id.
            close: whether to close all conversations and discard the uploads that are kept for the bank, because all of
                it is forgotten.
            timeout_s: seconds to wait for a bank that another worker holds.

        Raises:
            Problem: 409 if another worker holds the bank for longer.
        """
        with self.leases.hold(bank, timeout_s), self._barrier.raise_for(bank), ExitStack() as locks:
            conversations = self.open_conversations.list_bank(bank)
            for conversation in conversations:
                locks.enter_context(conversation.lock)
                self._replies.stop(conversation)
                if close:
                    self.open_conversations.close(conversation)
            if close:
                self._workers.close_bank(bank)
            yield
            for conversation in conversations:
                conversation.forget_reply()
            if close:
                kept_uploads.discard_of_bank(bank)

    def drop_events(self, bank: str) -> None:
        """Drop the replies of a bank in which something was forgotten, because their events may repeat it."""
        for conversation in self.open_conversations.list_bank(bank):
            with conversation.lock:
                self._replies.stop(conversation)
                conversation.forget_reply()

    def close(self, timeout_s: float = 5.0) -> None:
        """Refuse new replies and wait up to `timeout_s` seconds for those in progress.

        Replies that take longer are stopped; what has arrived of them is saved.
        """
        with self._lock:
            self._replies.refuse_new()
            conversations = self.open_conversations.list_all()
        deadline = time.monotonic() + timeout_s
        for conversation in conversations:
            stream = conversation.stream
            if stream is not None and not stream.wait(max(deadline - time.monotonic(), 0)):
                self._replies.stop(conversation)
        self._replies.close()
        for conversation in conversations:
            conversation.chat.close()
        self._workers.close(deadline)
        self.leases.close()

    # ------------------------------------------------------------------- a reply

    def _start(
        self,
        conversation: OpenConversation,
        options: OptionsBody,
        act: Act,
        *,
        echo_user_line: bool,
        key: str | None = None,
        user_text: str | None = None,
    ) -> ReplyStream:
        def prepare(chat: Chat) -> Reply | None:
            self._apply_options(chat, options)
            return act(chat)

        return self._replies.start(conversation, prepare, echo_user_line=echo_user_line, key=key, user_text=user_text)

    def _reply_act(self, options: OptionsBody, text: str, key: str | None) -> Act:
        return self.choose_act(
            options, lambda chat: chat.reply(text, key), lambda group, chat: group.say(chat, text, key)
        )

    def answer_act(self, options: OptionsBody) -> Act:
        """Return what makes a conversation, which may be a group, reply as it is."""
        return self.choose_act(options, lambda chat: chat.answer(), lambda group, chat: group.answer(chat))

    def choose_act(self, options: OptionsBody, alone: Act, together: GroupAct, permit: Permit | None = None) -> Act:
        """Return what makes a conversation act, alone or together with its group.

        Args:
            options: the options of the reply, which name the group.
            alone: makes the conversation act if no group is named.
            together: makes a group act.
            permit: as for `gather`.
        """
        if not options.group:
            return alone

        def act(chat: Chat) -> Reply | None:
            group = self.gather(chat, options.group, permit)
            chat.responder.participants = [*options.participants, *group.names]
            return together(group, chat)

        return act

    def gather(self, chat: Chat, group: Sequence[str], permit: Permit | None = None) -> Listeners:
        """Return the banks in which a change of a conversation is made.

        Args:
            chat: the conversation.
            group: the banks of the characters that take part.
            permit: returns which of the banks of characters that have left the caller may change; None: no bank.

        Raises:
            BadInput: as `Listeners` does.
            NotFound: a bank of the group does not exist.
        """
        listeners = list_listeners(chat.memory.store, chat.memory.bank, chat.session) if permit else []
        former = permit([bank for bank in listeners if bank not in group]) if permit else []
        get_memory = self.services.get_memory
        return Listeners(chat, list(map(get_memory, group)), list(map(get_memory, former)))

    def _apply_options(self, chat: Chat, options: OptionsBody) -> None:
        llm = self._choose_llm(options)
        memory = self.services.get_memory(chat.memory.bank, recipe=options.recipe)
        if options.recipe is not None and not chat.incognito:
            self.services.save_recipe(memory.bank, memory.recipe)
        self._follow_recipe(chat, memory)
        responder = chat.responder
        responder.llm, responder.sampling, responder.budget = llm, options.sampling(), options.budget
        responder.participants = options.participants
        responder.banks = multi_bank.check_banks(memory.store, options.banks) if options.banks else options.banks

    def _follow_recipe(self, chat: Chat, memory: Memory) -> None:
        """Switch a chat to the recipe of this memory, and the bank's worker to its scribe."""
        worker = self._workers.get(memory)
        if identify(memory.recipe) != identify(chat.memory.recipe):
            chat.use_memory(memory, worker)

    def _choose_llm(self, options: OptionsBody) -> LLM | None:
        """Return the model of a reply. Raises ConfigError and BadInput."""
        llm = self.services.llms.get(options.model)
        if llm is not None and options.max_tokens is not None and options.max_tokens > llm.context // 2:
            raise BadInput(
                f"invalid max_tokens: got {options.max_tokens}, expected at most {llm.context // 2}, half of the "
                f"{llm.context} tokens that {llm.name} has for prompt and reply",
                reason="reply-length",
                values={"limit": llm.context // 2},
            )
        return llm

    def _find_earlier_reply(
        self, memory: Memory, conversation: OpenConversation, text: str, key: str, options: OptionsBody
    ) -> ReplyStream | None:
        """Return the reply to an earlier request with this key, in progress or saved; None if the key is new."""
        if (stream := conversation.find_stream(key)) is not None:
            if stream.user_text != text:
                raise key_conflict()
            return stream
        line = memory.store.get_by_key(memory.bank, [key]).get(key)
        if line is None:
            return None
        if line.text != clean_line(NewLine(text), line.said_at).text:
            raise key_conflict()
        following = find_next_line(memory, line)
        if following is not None or line.retracted_at is not None or line.session != conversation.chat.session:
            return replay_request(line, following)
        self._require_idle(conversation)
        if self.is_isolated and abs((now() - line.said_at).total_seconds()) < FOREIGN_REPLY_S:
            raise reply_in_progress()
        with self._lease(conversation):
            if find_next_line(memory, line) is None:  # otherwise another worker has answered in the meantime
                act = self.answer_act(options)
                return self._start(conversation, options, act, echo_user_line=True, key=key, user_text=text)
        return replay_request(line, find_next_line(memory, line))

    # ------------------------------------------------------------ one at a time

    @contextmanager
    def _use(self, memory: Memory, session: str, while_replying: bool = False) -> Iterator[OpenConversation]:
        """Yield the conversation to one request at a time; open it if necessary.

        Unless `while_replying`, the conversation must be idle, and this worker leases the bank for the block.
        """
        while True:
            with self._lock:
                self._barrier.wait(memory.bank)
            conversation = self.open_conversations.open(memory, session)
            with conversation.lock:
                if conversation.is_closed or self._barrier.blocks(memory.bank):  # in the meantime
                    continue
                if not conversation.is_replying and not conversation.chat.incognito:
                    self._follow_recipe(conversation.chat, memory)
                if not conversation.is_replying and not self.services.llms.has(conversation.chat.llm):
                    conversation.chat.responder.llm = self.services.llm  # another one was connected
                if while_replying:
                    self._require_here(conversation)
                    yield conversation
                    return
                self._require_idle(conversation)
                with self._lease(conversation):
                    yield conversation
                return

    @contextmanager
    def _lease(self, conversation: OpenConversation) -> Iterator[None]:
        """Lease the conversation's bank for the block, and afterwards while the conversation is in incognito."""
        bank = conversation.chat.memory.bank
        with self.leases.hold(bank):
            try:
                yield
            finally:
                if conversation.chat.incognito and not conversation.is_closed:
                    self.leases.acquire(bank, conversation)
                else:
                    self.leases.release(bank, conversation)

    def _require_idle(self, conversation: OpenConversation) -> None:
        if conversation.is_replying:
            raise reply_in_progress()

    def _require_here(self, conversation: OpenConversation) -> None:
        """Raise Problem if a server of another machine replies, or has the bank's incognito conversation."""
        if not conversation.is_replying and not self.leases.wait_until_free(conversation.chat.memory.bank):
            raise reply_elsewhere()

    def _require_one_process(self, conversation: OpenConversation) -> None:
        if self.is_isolated and conversation.chat.incognito:
            raise problems.one_process_required()

    def _require_incognito(self, conversation: OpenConversation, expected: bool) -> None:
        """Raise Problem if the caller expects that nothing is stored, but the conversation is not in incognito."""
        if expected:
            conversation.chat.refresh()
            if not conversation.chat.incognito:
                raise problems.incognito_lost()

    def _may_forget(self, chat: Chat, text: str, confirm_forget: bool) -> bool:
        """Return whether a text means that the conversation is to be forgotten.

        That is a "no" to the question whether to remember it, or a "yes" to the second question, whether to forget it.
        A caller that confirms a no itself is never asked the second one.
        """
        if parse_answer(text, "remember", chat.character.name) is None:
            return False
        chat.refresh()
        if confirm_forget:
            chat.withdraw_no()
        return chat.next_step(text) in ("confirm", "forget")


def _no_permission_to_forget() -> Problem:
    """Build the error for a key that may not forget the conversation which the answer "no" would forget."""
    return Problem(403, "forbidden", "this key can't forget a conversation other than the current one")


def _read(reply: Reply, on_piece: Callable[[str], object] | None) -> None:
    """Read a reply to its end."""
    for piece in reply:
        if on_piece is not None:
            on_piece(piece)
