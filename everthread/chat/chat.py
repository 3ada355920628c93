"""Chat: one conversation with a character that remembers. The facade over the rest of the package.

    reply   save the line ─ recall ─ build the prompt ─ stream the model's answer ─ save it
    then    write notes on lines that leave the window, in the background (scribe_worker.py)
    end     ask for consent ─ summarise, or forget the session

A character remembers in three tiers. The window holds the latest lines verbatim; the notes summarise lines that have
left it; the bank holds every line, and every earlier version of the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from everthread import factory
from everthread.bank.corrections import keep_source_metadata
from everthread.bank.line_validation import clean_line
from everthread.bank.line_versions import find_versions, read_recorded
from everthread.bank.settings import remember_policy
from everthread.chat.character import Character
from everthread.chat.conversation import Conversation, open_session
from everthread.chat.end_dialogue import build_ending_reply, build_question, end_conversation, find_question
from everthread.chat.goodbye import Question, Step, next_step
from everthread.chat.offline_answer import OfflineAnswer, read_answers
from everthread.chat.prompt_builder import is_character_line
from everthread.chat.reply import Reply, is_outdated
from everthread.chat.responder import Responder
from everthread.chat.scribe_worker import ScribeWorker
from everthread.common.keys import (
    META_GREETING,
    META_HEARD,
    SETTING_ASKED_AT,
    SETTING_FORGET_ASKED_AT,
    SETTING_REMEMBER,
)
from everthread.common.undo import undo_on_error
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, BadQuery
from everthread.languages.wording import DEFAULT_LANGUAGE, Wording, load_wording
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.scribes.base import Scribe
from everthread.stores.base import Store
from everthread.text.tokens import TokenCounter
from everthread.types import EndResult, Line, Metadata, NewLine, Receipt, Role, Sampling, now


class Chat:
    """One open conversation, for one thread at a time. A context manager.

        with Chat.open("alice") as chat:
            for piece in chat.reply("My sister Mia moved to Lisbon."):
                print(piece, end="", flush=True)

    Every method that reads or changes the conversation raises BadQuery after `close`, and StoreUnavailable if the bank
    can't be read or written.
    """

    def __init__(
        self,
        memory: Memory,
        character: Character | str | None = None,
        llm: LLM | None = None,
        *,
        scribe: Scribe | str | None = None,
        session: str | None = None,
        incognito: bool = False,
        sampling: Sampling | None = None,
        clock: Callable[[], datetime] | None = None,
        count: TokenCounter | None = None,
        scribe_worker: ScribeWorker | None = None,
        budget: int | None = None,
        banks: Collection[str] = (),
        language: str = DEFAULT_LANGUAGE,
    ) -> None:
        """Open a conversation in an open bank. `Chat.open` is the usual way.

        Args:
            memory: the bank. The caller closes it.
            character: the character, the name of one, or the path of a card; default: the bank's own.
            llm: the language model; without one, a reply shows what is remembered.
            scribe: writes notes and summaries; default: `llm`, or extraction without a model.
            session: the session to resume or begin; default: the last one, if it was not ended and its last line was
                said less than an hour ago, else a new one.
            incognito: write nothing.
            sampling: overrides the recipe's sampling parameters.
            clock: returns the time, with a UTC offset; default: this machine's clock.
            count: counts the tokens of a text; default: the memory's counter.
            scribe_worker: a worker that several conversations of the bank share. The caller closes it.
            budget: tokens of recalled memories in a prompt; default: the recipe's.
            banks: further banks of the store that replies may draw on; default: those of the setting `recall_from`.
            language: the language of texts that no model writes, such as the question at the end: "en", "de", "fr",
                "es", "zh" or "ja".

        Raises:
            NotFound: `banks` names a bank that doesn't exist, or `character` an unknown character.
            BadInput: an argument is invalid.
            StoreUnavailable: the bank can't be read.
        """
        self.memory = memory
        self.scribe = scribe_worker.scribe if scribe_worker and scribe is None else factory.open_scribe(llm, scribe)
        self.responder = Responder(
            memory, character, llm, self._now, sampling=sampling, budget=budget, banks=banks, count=count,
            recalls_as_of_now=clock is not None, words=load_wording(language),
        )  # fmt: skip
        self._clock = clock
        self._owns_memory, self._owns_worker = False, scribe_worker is None
        self._closed = False
        self._scribe_worker = scribe_worker or ScribeWorker(memory, self.scribe)
        self._settings = memory.settings()  # as of the last refresh
        self._begin(session, incognito)

    @classmethod
    def open(
        cls,
        bank: str = "default",
        *,
        character: Character | str | None = None,
        llm: LLM | str | None = None,
        scribe: Scribe | str | None = None,
        session: str | None = None,
        incognito: bool = False,
        sampling: Sampling | None = None,
        store: Store | str | Path | None = None,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
        options: Mapping[str, object] | None = None,
        tokens: TokenCounter | str | None = None,
        banks: Collection[str] = (),
        language: str = DEFAULT_LANGUAGE,
    ) -> Self:
        """Open a conversation in a bank, which is created if it doesn't exist.

        Names become objects as in `Memory.open`, and a default comes from the configuration. A recipe or
        options given here are saved with the bank, except in incognito.

        Args:
            bank: the name of the bank.
            character: one of `everthread characters`, or the path of a card; default: the bank's own.
            llm: a model's name, "http://host/v1#model" or "none"; default: the configured model, or an Ollama that
                runs on this machine.
            scribe: another model for notes and summaries.
            session, incognito, sampling, banks, language: as for `Chat`.
            store, embedder, recipe, options, tokens: as for `Memory.open`.

        Raises:
            BadFile: the card can't be read.
            EverthreadError: the same errors as `Memory.open`.
        """
        model = factory.open_llm(llm)
        memory = Memory.open(bank, store=store, embedder=embedder, recipe=recipe, options=options, tokens=tokens)
        with undo_on_error(memory.close):
            chat = cls(
                memory, character, model, scribe=scribe, session=session, incognito=incognito, sampling=sampling,
                banks=banks, language=language,
            )  # fmt: skip
            if (recipe or options) and not chat.incognito:
                memory.save_recipe()
        chat._owns_memory = True
        return chat

    # ---------------------------------------------------------------- conversation

    def reply(self, text: str, key: str | None = None) -> Reply:
        """Save a text as the user's line, and return the reply, an iterator that streams the model's answer.

        If the bank or the recipe asks for consent, the reply to a goodbye is the question whether to remember the
        conversation. "Yes" then ends it, and the reply's `ending` is the result. The reply to "no" asks whether to
        forget it for good; it is forgotten if the user confirms that. None of the answers is saved as a line.

        Args:
            text: what the user says. It is durable when this returns.
            key: the id of the line in its source. The caller must first check that the bank has no line with this key.

        Raises:
            BadLine: the line is invalid. Nothing is saved.
            BadQuery: the character alone is too long for the model. Nothing is saved.
        """
        self.refresh()
        if (closing := self._reply_to_goodbye(text, key)) is not None:
            return closing
        self.hear(text, key)
        return self._answer(replaces=None)

    def hear(
        self, text: str, key: str | None = None, *, speaker: str | None = None, metadata: Metadata | None = None
    ) -> Line:
        """Save a text as a user's line, after the greeting if it is the bank's first one; `answer` replies to it.

        Args:
            text: what the user says.
            key: as for `reply`.
            speaker: the name of the user; default: the person's.
            metadata: of the line.

        Raises the same errors as `reply`.
        """
        self.refresh()
        self.responder.check_fits()
        new_line = self._build_line(text, speaker or self.character.person, "user", metadata)
        new_line = replace(new_line, key=key)
        clean_line(new_line, self._now())
        self._save_greeting(new_line)
        return self._conversation.add(new_line, defer_embedding=True, by_person=self._is_by_person(new_line))

    def answer(self) -> Reply:
        """Return the character's reply to the last line, or a further one. Raises BadQuery if nothing was said, or the
        character alone is too long for the model."""
        self.refresh()
        if not self._conversation.lines:
            raise BadQuery("there is no line to answer yet; say something first")
        return self._answer(replaces=None)

    def regenerate(self) -> Reply:
        """Return another reply in place of the last one, which is discarded in the transaction that saves the new one.
        Raises BadQuery if nothing was said yet, and the same errors as `answer`."""
        self.refresh()
        last = self.lines[-1] if self.lines else None
        if last is None or (len(self.lines) == 1 and is_character_line(last)):
            raise BadQuery("there is no reply yet to regenerate; say something first")
        return self._answer(replaces=last if is_character_line(last) else None)

    def add_line(
        self,
        text: str,
        speaker: str,
        *,
        of_character: bool = False,
        key: str | None = None,
        said_at: datetime | None = None,
        metadata: Metadata | None = None,
    ) -> Line:
        """Save a line without answering it, for instance one by another character (`of_character`) of a group. `key`
        is the id of the line in its source, as for `reply`; `said_at` is its time, by default now."""
        self.refresh()
        role: Role = "assistant" if of_character else "user"
        own = {META_HEARD: True} if of_character else {}
        new_line = self._build_line(text, speaker, role, {**(metadata or {}), **own})
        new_line = replace(new_line, key=key, said_at=said_at or new_line.said_at)
        return self._conversation.add(new_line, by_person=self._is_by_person(new_line))

    def edit(
        self,
        seq: int,
        text: str,
        *,
        answer: bool = True,
        said_at: datetime | None = None,
        metadata: Metadata | None = None,
    ) -> Reply | None:
        """Replace the text of a line, and discard the lines after it.

        Args:
            seq: the number of the line.
            text: the new text.
            answer: whether a user's line gets a new reply.
            said_at: the time of the new line; default: now.
            metadata: of the new line; default: a user's line keeps that of its source.

        Returns:
            The new reply to a user's line; None without one, and for a line of the character.

        Raises:
            NotFound: the conversation has no such line. Nothing is changed.
            BadLine: the text is invalid. Nothing is changed.
            BadQuery: the character alone is too long for the model. Nothing is changed.
        """
        self.refresh()
        position = self._conversation.index(seq)
        old, removed = self.lines[position], self.lines[position:]
        if old.role == "user":
            self.responder.check_fits()
        if metadata is None and old.role == "user":
            metadata = keep_source_metadata(old)
        own: Metadata = {META_HEARD: True} if old.metadata.get(META_HEARD) else {}
        quotes = self._scribe_worker.quotes.metadata(text) if is_character_line(old) else {}
        self._conversation.edit(position, text, said_at or self._now(), {**(metadata or {}), **own, **quotes})
        self.responder.discard_reminders(removed)
        return self._answer(replaces=None) if answer and old.role == "user" else None

    def undo(self) -> list[Line]:
        """Discard the user's last line and all lines after it; return them."""
        self.refresh()
        positions = [position for position, line in enumerate(self.lines) if line.role == "user"]
        return self.responder.discard_reminders(self._conversation.truncate(positions[-1])) if positions else []

    def branch(self, seq: int) -> list[Line]:
        """Continue from a line: discard the lines after it, and return them. If the line itself was discarded, it is
        restored with the lines that led to it. Raises NotFound and BadQuery."""
        self.refresh()
        return self.responder.discard_reminders(self._conversation.branch(seq))

    def offline_answers(self) -> dict[int, OfflineAnswer]:
        """Return how the user's lines were answered without a model, by their numbers."""
        return read_answers(self.memory, self.lines)

    def alternatives(self) -> list[Line]:
        """Return all versions of the last reply, oldest first, including the current one; `branch` goes back to one of
        them. Empty if the last line is not a reply."""
        return self._conversation.alternatives()

    def list_versions(self, lines: Sequence[Line]) -> list[Line]:
        """Return lines with their earlier and later versions, all of which `forget` removes."""
        store, bank = self.memory.store, self.memory.bank
        stored = [line.seq for line in lines if line.seq > 0]  # a line said in incognito has no other version
        versions = read_recorded(store, bank, find_versions(store, bank, stored)) if stored else []
        return [*versions, *(line for line in lines if line.seq <= 0)]

    def forget(self, seq: int) -> Receipt | None:
        """Remove a line of this or an earlier conversation permanently, with its versions, its copies in branches
        and the notes and summaries derived from it. Returns None for a line said in incognito, which was never stored.

        Raises the same errors as `Memory.forget`.
        """
        self.refresh()
        receipt = self.memory.forget(seq=seq) if seq > 0 else None
        self.responder.last_reply = None  # its context may quote the line
        self._conversation.forget(seq)
        self._conversation.refresh()
        return receipt

    def end(self, remember: bool | None = None) -> EndResult:
        """End the conversation; the next reply begins another.

        Args:
            remember: True to summarise and remember it, False to forget it permanently, None to follow the bank's
                setting `remember`.

        Returns:
            How it ended. If the user has to be asked first, nothing is changed, and `question` is the question.
        """
        self.refresh()
        incognito = self.incognito
        result = end_conversation(self._conversation, self._scribe_worker, remember, self._now(), self.words)
        if result.remembered is not None:
            self._begin(None, incognito, resume=False)  # discards the lines said in incognito
        return result

    def next_step(self, text: str) -> Step:
        """Return what `reply` would do with a text, as of the last `refresh`: see `goodbye.next_step`."""
        return next_step(
            text,
            name=self.character.name,
            pending=self._pending,
            has_spoken=any(line.role == "user" for line in self.lines),
            policy=remember_policy(self._settings),
            ends_conversation=not self.incognito
            and (self.memory.recipe.needs_consent or self._settings.get(SETTING_REMEMBER) == "ask"),
        )

    def withdraw_no(self) -> None:
        """Ask again whether to remember the conversation, if the user has said no and not confirmed it."""
        if self._pending == "forget":
            self._set_forget_asked_at(None)

    # ----------------------------------------------------------------------- state

    @property
    def session(self) -> str:
        """The name of the conversation."""
        return self._conversation.session

    @property
    def lines(self) -> list[Line]:
        """The conversation's lines that were not discarded, oldest first."""
        return self._conversation.lines

    @property
    def conversation(self) -> Conversation:
        """The lines as they are stored, for changes that a group makes; as of the last `refresh`."""
        return self._conversation

    @property
    def is_closed(self) -> bool:
        """True after `close`."""
        return self._closed

    @property
    def is_unanswered(self) -> bool:
        """True if the user's last line has no reply, because the model failed or the process ended."""
        return bool(self.lines) and self.lines[-1].role == "user" and not self.question

    @property
    def question(self) -> str:
        """The question whether to remember the conversation, or after "no" whether to forget it, from the user's
        goodbye until the answer; else empty."""
        return self.words(f"chat.{pending}") if (pending := self._pending) else ""

    @property
    def words(self) -> Wording:
        """The words of texts that no model writes, in the language of the chat."""
        return self.responder.words

    @property
    def llm(self) -> LLM | None:
        """The language model; None for a chat that only shows memories."""
        return self.responder.llm

    @property
    def last_reply(self) -> Reply | None:
        """The latest reply; None after something was forgotten, because the reply's context may quote it."""
        reply = self.responder.last_reply
        return None if reply is None or is_outdated(self.memory, reply) else reply

    @property
    def greeting(self) -> str:
        """The character's greeting, if this is the bank's first conversation and there is a model; else empty."""
        return self.responder.build_greeting()

    @property
    def notes(self) -> str:
        """The character's current notes."""
        unit = self._scribe_worker.notes()
        return unit.text if unit else ""

    @property
    def reminder(self) -> str:
        """An event that the character could ask about as the conversation begins; else empty."""
        return self.responder.find_opening()

    @property
    def incognito(self) -> bool:
        """True if nothing is written. Setting it to False discards the lines said in incognito; BadQuery if the
        bank's setting `remember` is "never"."""
        return self._conversation.incognito

    @incognito.setter
    def incognito(self, enabled: bool) -> None:
        self.responder.stop()
        if enabled:
            self._conversation.incognito = True
        elif self._conversation.incognito:
            if remember_policy(self.memory.settings()) is False:
                raise BadQuery(f"bank {self.memory.bank!r} is set to remember never; set it to ask or always first")
            self._conversation.end_incognito()

    @property
    def character(self) -> Character:
        """The character. Setting it saves it as the bank's own, except in incognito."""
        return self.responder.character

    @character.setter
    def character(self, character: Character) -> None:
        self.responder.character = character

    @property
    def person_names(self) -> set[str]:
        """The names under which the lines of the user are stored in this bank: the current one, and earlier ones."""
        return self.responder.person_names

    def edit_character(self, **changes: str) -> Character:
        """Change fields of the character from now on. Raises BadInput, listing the fields, if one is unknown."""
        self.character = self.character.with_changes(**changes)
        return self.character

    @property
    def sample(self) -> str:
        """The sample of the character's style: the card's or the user's own, else the first reply that is long
        enough."""
        return self.responder.find_sample()

    # ------------------------------------------------------------------- life cycle

    def refresh(self) -> None:
        """Stop a running reply, and load changes by other processes: lines, settings, the character. Raises BadQuery
        after `close`."""
        if self._closed:
            raise BadQuery("this conversation is closed; open another Chat to continue it")
        self.responder.stop()
        settings = self._settings = self.memory.settings()
        if remember_policy(settings) is False:
            self._conversation.incognito = True
        self.responder.refresh(settings)
        self._conversation.refresh()

    def use_memory(self, memory: Memory, scribe_worker: ScribeWorker) -> None:
        """Continue in the same bank with another recipe."""
        self.responder.stop()
        self.memory, self._scribe_worker, self._conversation.memory = memory, scribe_worker, memory
        self.responder.use_memory(memory, scribe_worker)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for notes and summaries in progress, at most `timeout` seconds; return whether they are finished."""
        return self._scribe_worker.join(timeout)

    def close(self) -> None:
        """Stop and save a running reply, and release the bank. Another Chat can resume the conversation."""
        if self._closed:
            return
        try:
            self.responder.stop()
        finally:
            self._closed = True
            if self._owns_worker:
                self._scribe_worker.close(timeout=2.0)
            if self._owns_memory:
                self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, session: str | None, incognito: bool, resume: bool = True) -> None:
        """Resume or begin a session, end older ones that were left open, and start the queued jobs."""
        present, policy = self._now(), remember_policy(self.memory.settings())
        incognito = incognito or policy is False
        self._conversation, previous, left = open_session(
            self.memory, session, present, incognito=incognito, resume=resume
        )
        self.responder.attach(self._conversation, self._scribe_worker, previous.last_at if previous else None)
        if incognito:
            return
        for old in left:
            self._scribe_worker.end_session(old.id, present, policy is True)
        self._scribe_worker.start()

    # ---------------------------------------------------------------------- replies

    def _reply_to_goodbye(self, text: str, key: str | None) -> Reply | None:
        """Return the reply to a goodbye, or to an answer to a question after it; None for any other text."""
        step = self.next_step(text)
        if step in ("remember", "forget"):
            return self._report_ending(self.end(step == "remember"))
        if step == "ask again":
            return self._ask("unclear")
        if step == "confirm":
            self._set_forget_asked_at(self.lines[-1].seq)
            return self._ask()
        self.withdraw_no()
        if step == "keep":
            return self._ask("spared")
        if step == "go on":
            return None
        new_line = replace(self._build_line(text, self.character.person, "user"), key=key)
        line = self._conversation.add(new_line, defer_embedding=True, by_person=True)
        if step == "part":
            return build_ending_reply(self.end(True), self.words("chat.goodbye"), line)
        self.memory.set_setting(SETTING_ASKED_AT, line.seq)
        self._settings = self.memory.settings()
        return self._ask("goodbye", line)

    @property
    def _pending(self) -> Question:
        """The question about the end of the conversation that awaits an answer."""
        return "" if self.incognito else find_question(self._settings, self.lines[-1] if self.lines else None)

    def _ask(self, lead: str = "", goodbye: Line | None = None) -> Reply:
        """Return the reply that asks the pending question, after a lead."""
        return build_question(self.session, self._pending, self.words, lead, goodbye)

    def _set_forget_asked_at(self, seq: int | None) -> None:
        self.memory.set_setting(SETTING_FORGET_ASKED_AT, seq)
        self._settings = self.memory.settings()

    def _report_ending(self, ending: EndResult) -> Reply:
        return build_ending_reply(ending, self.words("chat.remembered" if ending.remembered else "chat.forgotten"))

    def _answer(self, replaces: Line | None) -> Reply:
        if self._pending:
            return self._ask("goodbye" if self._pending == "remember" else "", self.lines[-1])
        return self.responder.respond(replaces)

    # ------------------------------------------------------------------------ lines

    def _now(self) -> datetime:
        time = self._clock() if self._clock else now().astimezone()
        if time.utcoffset() is None:
            raise BadInput(f"invalid clock: got {time!r}, expected a time with a UTC offset; return datetime.now(UTC)")
        return time

    def _save_greeting(self, first_line: NewLine) -> None:
        """Save the greeting before the user's first line."""
        if text := self.greeting:
            greeting = self._build_line(text, self.character.name, "assistant", {META_GREETING: True})
            self._conversation.add(replace(greeting, said_at=first_line.said_at), defer_embedding=True)

    def _is_by_person(self, new_line: NewLine) -> bool:
        """Return whether the person says a line, and not another user or a character."""
        return new_line.role == "user" and new_line.speaker == self.character.person

    def _build_line(self, text: str, speaker: str, role: Role, metadata: Metadata | None = None) -> NewLine:
        return self._conversation.new_line(text, speaker, role, self._now(), metadata or {})
