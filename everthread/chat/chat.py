"""Chat: one conversation with a character that keeps its voice, its notes and its past. Read this second.

    reply   line kept ─ recall ─ prompt ─ model ─ stream ─ reply kept
    then    what leaves the window is noted (desk.py), while the talk goes on
    end     consent ─ summary, or all of it forgotten

Three tiers: the window holds the latest lines word for word; the notes, what is worth knowing of those that have left
it; the bank, every line ever said. Each superseded note stays in the bank as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from everthread import factory
from everthread.bank.line_validation import clean_line
from everthread.bank.settings import remember_policy
from everthread.chat import ending, pins, style_sample
from everthread.chat.character import Character
from everthread.chat.character_library import open_character
from everthread.chat.conversation import Conversation, current_session, find_resumable, is_open
from everthread.chat.ending import QUESTION as QUESTION
from everthread.chat.goodbye import next_step
from everthread.chat.offline_reply import PassthroughFilter, StaticStream, discard, render
from everthread.chat.prompt_builder import Turn, build_prefix, build_prompt, is_character_line
from everthread.chat.reminders import Reminders
from everthread.chat.reply import MAX_REPLY_CHARS, Reply, Truncation, reply_metadata
from everthread.chat.reply_filter import ReplyFilter
from everthread.chat.scribe_worker import ScribeWorker
from everthread.chat.window import Window
from everthread.common.keys import (
    META_GREETING,
    META_HEARD,
    META_NEEDS_CONSENT,
    META_OFFERED,
    SETTING_ASKED_AT,
    SETTING_CHARACTER,
    SETTING_REMEMBER,
    SETTING_SAMPLE,
)
from everthread.common.timestamps import micros
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, BadQuery, StoreUnavailable
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recall import multi_bank
from everthread.recipes.base import Recipe
from everthread.scribes.base import Scribe
from everthread.stores.base import Store
from everthread.stores.shared_rows import SESSION_GAP, session_name
from everthread.text.tokens import Counter
from everthread.types import (
    Context,
    EndResult,
    Filter,
    JSONValue,
    Line,
    Metadata,
    NewLine,
    Receipt,
    Role,
    Sampling,
    Unit,
    now,
)

log = logging.getLogger("everthread")

NOTES_RESERVE_TOKENS = 250  # tokens of notes and of what could be brought up, with their headings
REPLY_RESERVE_TOKENS = 512  # tokens kept free for a reply
NOTES_REBUILD_CONTEXTS = 4  # contexts full of lines that are noted anew, where a forgotten line took the notes along
TOKEN_CACHE_SIZE = 2048  # texts whose tokens are kept in mind
DEFAULT_CONTEXT = 8192  # tokens of context, where no model tells
OFFLINE_BUDGET = 150  # tokens shown where there is no model: half a dozen lines, what a person reads at a glance
FLOOR = 0.02  # relevance of a line below which it is not worth a person's time
MIN_USER_CHARS = 20  # characters of what the person says, for which there is room at least


class Chat:
    """One conversation, open. One person talks in it at a time; usable as a context manager.

    with Chat.open("alice") as chat:
        for piece in chat.reply("My sister Mia moved to Lisbon."):
            print(piece, end="", flush=True)
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
        count: Counter | None = None,
        scribe_worker: ScribeWorker | None = None,
        budget: int | None = None,
        banks: Collection[str] = (),
    ) -> None:
        """A conversation in an open bank, which stays the caller's to close; `open` is the usual way.

        character is the bank's own, where none is given. Without a language model, replies show what is remembered.
        session is resumed, or begun; else the last one goes on, if it was not ended and its last line was said less
        than an hour ago. clock tells the time (this machine's), count the tokens of a text. desk is one that several
        conversations of the bank share, and the caller's to close. budget is the tokens of what is remembered in a
        prompt (as the recipe has it). banks are others of the store, of which a reply may draw on what was said there.
        Raises as `Memory`, and NotFound for a bank that is not there.
        """
        self.memory, self.llm, self.budget = memory, llm, budget
        self.banks: Collection[str] = multi_bank.existing_banks(memory.store, banks) if banks else ()
        self.scribe = scribe_worker.scribe if scribe_worker and scribe is None else factory.open_scribe(llm, scribe)
        self.sampling = sampling or Sampling()
        self._count = lru_cache(TOKEN_CACHE_SIZE)(
            count or memory.count
        )  # a window's lines are counted again at every turn
        self._clock = clock
        self._owns_memory = self._closed = False
        self.participants: Collection[str] = ()  # who else is there, for whom the character must not speak
        self._owns_desk = scribe_worker is None
        self._desk = scribe_worker or ScribeWorker(memory, self.scribe)
        self.last_reply: Reply | None = None
        self._roomy: Character | None = None  # the character that was seen to leave room for a conversation
        settings = self._settings = memory.settings()  # as they were when the conversation was looked at
        self._character, self._kept = open_character(character, settings), settings.get(SETTING_CHARACTER)
        self._offering = Reminders(memory)
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
        tokens: Counter | str | None = None,
        banks: Collection[str] = (),
    ) -> Self:
        """Open a conversation in a bank, which is made when it is not there. Names become objects as in `Memory.open`.

        character is one of `everthread characters`, or a card's file. llm is a model's name, "http://host/v1#model" or
        "none"; scribe, another one for notes and summaries. What isn't given comes from the configuration, or is an
        Ollama that runs on this machine. A recipe that is given is kept with the bank, unless nothing may be written.
        Raises as `Memory.open`, and BadFile for a card that can't be read.
        """
        model = factory.open_llm(llm)
        memory = Memory.open(bank, store=store, embedder=embedder, recipe=recipe, options=options, tokens=tokens)
        try:
            chat = cls(
                memory, character, model, scribe=scribe, session=session, incognito=incognito, sampling=sampling,
                banks=banks,
            )  # fmt: skip
            if (recipe or options) and not chat.incognito:
                memory.save_recipe()
        except BaseException:
            memory.close()
            raise
        chat._owns_memory = True
        return chat

    # ------------------------------------------------------------------ talking

    def reply(self, text: str, key: str | None = None) -> Reply:
        """Keep what the person says, and answer it. The line is on the disk when this returns; the answer is asked for
        as it is iterated. key names the line where it comes from; look before whether the bank has it.

        Where the bank or the recipe asks whether to remember, a goodbye is answered with that question, and the next
        yes or no, which is no line, ends the conversation: `ending` of the reply then says how.

        Raises BadLine, StoreUnavailable, and BadQuery where the character alone is too long for the model; nothing was
        kept then."""
        self.refresh()
        if (parted := self._parted(text, key)) is not None:
            return parted
        self._check_fits()
        said = replace(self._line(text, self._character.person, "user"), key=key)
        clean_line(said, self._now())
        self._greet(said)
        self._conversation.add(said, defer_embedding=True)
        return self._answer(replaces=None)

    def answer(self) -> Reply:
        """The character's reply to the conversation as it stands: to what was said last, or again where that got none.
        BadQuery where nothing was said, and where the character alone is too long for the model."""
        self.refresh()
        if not self._conversation.lines:
            raise BadQuery("nothing was said yet that could be answered; say something first")
        return self._answer(replaces=None)

    def regenerate(self) -> Reply:
        """Another reply in place of the last one, which is discarded when the new one is kept, all at once. BadQuery
        where there is none, and as `answer`."""
        self.refresh()
        last = self.lines[-1] if self.lines else None
        if last is None or (len(self.lines) == 1 and is_character_line(last)):
            raise BadQuery("there is no reply yet that could be given again; say something first")
        return self._answer(replaces=last if is_character_line(last) else None)

    def add_line(self, text: str, speaker: str, *, of_character: bool = False) -> Line:
        """Keep a line that is not to be answered: by somebody else who is present, another character for instance."""
        self.refresh()
        role: Role = "assistant" if of_character else "user"
        return self._conversation.add(self._line(text, speaker, role, {META_HEARD: True} if of_character else {}))

    def edit(self, seq: int, text: str) -> Reply | None:
        """Put a text in place of a line's. What came after it is discarded, and a line of the person's is answered
        anew; to one of the character's there is no answer. Raises BadLine and NotFound, and BadQuery as `reply`, with
        nothing changed."""
        self.refresh()
        place = self._conversation.index(seq)
        old, gone = self.lines[place], self.lines[place:]
        if old.role == "user":
            self._check_fits()
        metadata: dict[str, JSONValue] = {META_HEARD: True} if old.metadata.get(META_HEARD) else {}
        metadata |= self._desk.quotes.metadata(text) if is_character_line(old) else {}
        self._conversation.edit(place, text, self._now(), metadata)
        self._drop_reminders(gone)
        return self._answer(replaces=None) if old.role == "user" else None

    def undo(self) -> list[Line]:
        """Take back the person's last line and all that came after it; the lines that are discarded."""
        self.refresh()
        said = [place for place, line in enumerate(self.lines) if line.role == "user"]
        return self._drop_reminders(self._conversation.truncate(said[-1])) if said else []

    def branch(self, seq: int) -> list[Line]:
        """Go on from a line: what came after it is discarded. A line that was discarded itself comes back, with those
        that led to it. The lines that are discarded now. Raises NotFound and BadQuery."""
        self.refresh()
        return self._drop_reminders(self._conversation.branch(seq))

    def forget(self, seq: int) -> Receipt | None:
        """Remove a line for good, of this conversation or of an earlier one, under every number that it has where
        branches were gone back to; None for one that was said in private, of which nothing was written. What was noted
        of it goes as well. Raises as `Memory.forget`."""
        self.refresh()
        receipt = self.memory.forget(seq=seq) if seq > 0 else None
        self.last_reply = None  # what it recalled may tell of the line
        self._conversation.forget(seq)
        self._conversation.refresh()
        return receipt

    def end(self, remember: bool | None = None) -> EndResult:
        """End the conversation: it is summarised and remembered, or forgotten to the last byte. None remembers it where
        the bank's setting `remember` is always; else it asks: nothing is changed then, and `question` of what comes
        back is to be put to the person. The next reply begins another."""
        self.refresh()
        if remember is None and remember_policy(self.memory.settings()):
            remember = True
        session, private = self.session, self.incognito
        stands = next(self.memory.lines(Filter(session=session), limit=1), None) is not None
        if remember is None and stands:
            return EndResult(session, None, QUESTION)
        receipt = None
        if self._settings.get(SETTING_ASKED_AT) is not None:
            self.memory.set_setting(SETTING_ASKED_AT, None)
        if next(self.memory.lines(Filter(session=session), limit=1, retracted=True), None) is not None:
            if remember is False:
                receipt = self.memory.forget(session=session)
            else:
                self._desk.end_session(session, self._now())
        self._begin(None, private, resume=False)  # what was said in private is gone
        return EndResult(session, bool(remember) and stands, receipt=receipt)

    # ----------------------------------------------------------- what is known

    @property
    def session(self) -> str:
        """The name of the conversation."""
        return self._conversation.session

    @property
    def lines(self) -> list[Line]:
        """The conversation as it stands, oldest first."""
        return self._conversation.lines

    @property
    def is_unanswered(self) -> bool:
        """Whether the person's last line has got no reply, because the model failed or the process ended."""
        return bool(self.lines) and self.lines[-1].role == "user" and not self.question

    @property
    def question(self) -> str:
        """The question that the person's goodbye was answered with and that is still open; else nothing."""
        last = self.lines[-1].seq if self.lines and not self.incognito else None
        return QUESTION if last is not None and last == self._settings.get(SETTING_ASKED_AT) else ""

    @property
    def greeting(self) -> str:
        """What the character says first, if this is the first time; else nothing, and where no model speaks for it."""
        if self.llm is None or self.lines or not self._character.greeting.strip():
            return ""
        met = any(speaker.role == "assistant" for speaker in self.memory.store.corpus(self.memory.bank).speakers)
        return "" if met else self._character.fill_names(self._character.greeting.strip())

    @property
    def notes(self) -> str:
        """The character's notes as they stand."""
        unit = self._desk.notes()
        return unit.text if unit else ""

    @property
    def offer(self) -> str:
        """One thing that could be brought up now that the conversation begins; nothing, later on."""
        found = (
            None
            if self.lines or not self.memory.recipe.offers
            else self._offering.next_event(self._last_seen, self._now())
        )
        return found[1] if found else ""

    @property
    def incognito(self) -> bool:
        """Whether nothing is written. What is said meanwhile is gone from the conversation once this is False again.
        Always so where the bank's setting `remember` is never: to set it False is BadQuery then."""
        return self._conversation.private

    @incognito.setter
    def incognito(self, private: bool) -> None:
        self._settle_reply()
        if private:
            self._conversation.private = True
        elif self._conversation.private:
            if remember_policy(self.memory.settings()) is False:
                raise BadQuery(f"bank {self.memory.bank!r} is set to remember never; set it to ask or always first")
            self._conversation.end_private()

    @property
    def character(self) -> Character:
        """Who the bot is, from now on what it is set to."""
        return self._character

    @character.setter
    def character(self, character: Character) -> None:
        self._character = character
        if not self.incognito:
            self._kept = character.to_json()
            self.memory.set_setting(SETTING_CHARACTER, self._kept)

    def edit_character(self, **changes: str) -> Character:
        """Change the character, its place or the person's name, from now on. BadInput names what can be changed."""
        self.character = self._character.with_changes(**changes)
        return self._character

    @property
    def sample(self) -> str:
        """The sample of the character's style: what its card or its owner gives, else its first reply that was long
        enough."""
        return self._character.sample or self._style()

    def refresh(self) -> None:
        """See the conversation as it stands now, whoever else talks in it or changes the bank's character, and whether
        it may be kept. A reply that is on its way is stopped. BadQuery once it is closed."""
        if self._closed:
            raise BadQuery("this conversation is closed; open another Chat to go on with it")
        self._settle_reply()
        settings = self._settings = self.memory.settings()
        if remember_policy(settings) is False:  # it may have been set meanwhile
            self._conversation.private = True
        if (kept := settings.get(SETTING_CHARACTER)) != self._kept:
            self._character, self._kept = open_character(None, settings), kept
        self._conversation.refresh()

    def use_memory(self, memory: Memory, scribe_worker: ScribeWorker) -> None:
        """Go on with the same bank by another recipe."""
        self._settle_reply()
        self.memory, self._desk, self._offering = memory, scribe_worker, Reminders(memory)
        self._conversation.memory = memory
        self._window = Window(self._conversation, scribe_worker, self._count)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what is being written about the conversation is done; False where that takes longer."""
        return self._desk.join(timeout)

    def close(self) -> None:
        """Keep what has arrived of a reply, and let go of the bank. The conversation can be resumed by another Chat."""
        if self._closed:
            return
        try:
            self._settle_reply()
        finally:
            self._closed = True
            if self._owns_desk:
                self._desk.close(timeout=2.0)
            if self._owns_memory:
                self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- beginning

    def _begin(self, session: str | None, private: bool, resume: bool = True) -> None:
        """Resume the session, or begin one. An older one that was left open is ended then, and what an earlier
        conversation left to be written is written; but not in private, when nothing is."""
        at, sessions, agreed = self._now(), self.memory.sessions(), remember_policy(self.memory.settings())
        private = private or agreed is False
        last = current_session(sessions, at)
        if session is None:
            session = find_resumable(last, at) if resume else None
        session = session or session_name(micros(at), lambda name: {each.id for each in sessions})
        if last and is_open(last) and last.id != session and not private and at - last.last_at > SESSION_GAP:
            self._desk.end_session(last.id, at, agreed is True)
        self._conversation = Conversation(self.memory, session)
        self._conversation.private = private
        self._window = Window(self._conversation, self._desk, self._count)
        self._last_seen = last.last_at if last else None  # when the two spoke last
        if not private:
            self._desk.start()

    def _style(self, replaces: Line | None = None) -> str:
        return style_sample.find_sample(self.memory, self._settings, () if replaces is None else (replaces.seq,))

    # ---------------------------------------------------------------- answering

    def _parted(self, text: str, key: str | None) -> Reply | None:
        """What follows a goodbye, or an answer to the question that follows it; None for anything else."""
        setting, person = self._settings.get(SETTING_REMEMBER), self._character.person
        step = next_step(
            text,
            name=self._character.name,
            question_pending=bool(self.question),
            has_spoken=any(line.role == "user" for line in self.lines),
            policy=remember_policy(self._settings),
            ends_conversation=not self.incognito and (self.memory.recipe.needs_consent or setting == "ask"),
        )
        if step in ("remember", "forget"):
            return ending.build_ending_reply(self.end(step == "remember"))
        if step not in ("ask", "part"):
            return None if step == "go on" else ending.build_consent_question(self.session, None)
        line = self._conversation.add(replace(self._line(text, person, "user"), key=key), defer_embedding=True)
        if step == "part":
            return ending.build_ending_reply(self.end(True), line, "Goodbye!")
        self.memory.set_setting(SETTING_ASKED_AT, line.seq)
        self._settings = self.memory.settings()
        return ending.build_consent_question(self.session, line)

    def _answer(self, replaces: Line | None) -> Reply:
        if self.question:
            return ending.build_consent_question(self.session, self.lines[-1])
        notes = self._window.notes(replaces)
        standing = [line for line in self.lines if replaces is None or line.seq != replaces.seq]
        newest = standing.pop() if standing else None
        if self.llm is None:
            self.last_reply = self._offline_reply(newest)
        else:
            self.last_reply = self._build_reply(
                self.llm, newest, self._window.lines(standing, notes, self._context), notes, replaces
            )
        return self.last_reply

    @property
    def _context(self) -> int:
        return self.llm.context if self.llm else DEFAULT_CONTEXT

    def _build_reply(
        self, llm: LLM, newest: Line | None, window: list[Line], notes: Unit | None, replaces: Line | None
    ) -> Reply:
        pinned = [
            line
            for line in pins.list_pins(self.memory, self._settings)
            if line.seq not in self._conversation.hidden_seqs
        ]
        context = self._recall(newest, [*window, *pinned, *([replaces] if replaces else [])], notes)
        sample = self._character.sample or self._style(replaces)
        seq, offer = self._offered(context, replaces)
        recipe, noted = self.memory.recipe, notes.text if notes else ""
        turn = Turn(
            *(window, newest, self._now(), noted, context, offer, sample, recipe.render, recipe.memories_last),
            pinned=pins.render(pinned, self._count),
            rules=recipe.rules,
        )
        prompt = build_prompt(self._character, turn, llm.context - self._reply_room, self._count)
        others = {*self.participants, self._character.person, *(line.speaker for line in self.lines)}
        reply = Reply(
            context,
            prompt,
            lambda: llm.stream(prompt.messages, self._sampling),
            ReplyFilter(self._character.name, others - {self._character.name}, MAX_REPLY_CHARS),
            lambda text, truncation, refused: self._keep(text, replaces, truncation, refused, seq),
        )
        reply.offer, reply.notes = offer, noted
        return reply

    def _offline_reply(self, newest: Line | None) -> Reply:
        """What is remembered, in place of a reply: shown, and never kept, or the memory would fill with echoes."""
        first = newest is not None and newest.seq == 1
        context = self._recall(newest, [])
        reply = Reply(
            context, None, lambda: StaticStream(render(context, first, self.incognito)), PassthroughFilter(), discard
        )
        self._queue_notes()
        return reply

    def _recall(self, newest: Line | None, window: list[Line], notes: Unit | None = None) -> Context:
        said, seen = (newest.text, [*window, newest]) if newest else ("", window)
        shown = self._conversation.hidden_seqs.union(line.seq for line in seen if line.seq > 0)
        budget, floor = (self._remembered, None) if self.llm else (OFFLINE_BUDGET, FLOOR)
        moment = self._now() if self._clock else None
        session = self.session if self.memory.recipe.uses_buffer and not self.incognito else None
        context = self.memory.context(
            said, budget, min_relevance=floor, exclude=shown, as_of=moment, session=session, notes=notes,
            count=self._count, banks=multi_bank.with_own_bank(self.memory.store, self.memory.bank, self.banks),
        )  # fmt: skip
        if not self.incognito:  # what it was asked for is to leave no trace
            self._desk.background_lines = context.lines
        self._desk.quotes.add(line.text for each in (context, *context.others) for line in each.lines)
        return context

    def _keep(
        self, text: str, replaces: Line | None, truncation: Truncation, refused: bool, offered: int | None
    ) -> Line:
        """Keep a reply, and discard the one that it replaces. offered is the line that it could bring up."""
        metadata = {
            **reply_metadata(self.llm.name if self.llm else "", truncation, refused),
            **self._desk.quotes.metadata(text),
        }
        metadata |= {} if offered is None else {META_OFFERED: offered}
        gone = [replaces] if replaces else []
        said = self._line(text, self._character.name, "assistant", metadata)
        line = self._conversation.add(said, refused=refused, replacing=gone, defer_embedding=True)
        self._after_reply(line, gone if not refused else [])
        return line

    def _after_reply(self, line: Line, gone: list[Line]) -> None:
        """What is done behind the back of whoever talks. The line is kept: where this fails, a later turn does it."""
        try:
            if not self.incognito:
                self._offering.record([] if line.retracted_at else [line], gone)
                if style_sample.is_sample(line) and not self._style():
                    self.memory.set_setting(SETTING_SAMPLE, line.seq)
                    self._settings = self.memory.settings()
            self._queue_notes()
        except StoreUnavailable as error:
            log.warning("a reply is kept, and the notes wait: %s", error)

    def _offered(self, context: Context, replaces: Line | None) -> tuple[int | None, str]:
        """The one thing that could be brought up at this moment, with its line's number."""
        if self.incognito or not self.memory.recipe.offers:
            return None, ""
        lines = self.lines if replaces is None else [line for line in self.lines if line.seq != replaces.seq]
        return self._offering.next(lines, context, self._last_seen, self._now(), replaces) or (None, "")

    def _drop_reminders(self, lines: list[Line]) -> list[Line]:
        """What discarded lines had brought up, they have not; but those have that were gone back to."""
        if lines and not self.incognito:
            self._offering.record(self.lines, lines)
        return lines

    def _queue_notes(self) -> None:
        """Have what no longer has room in the window noted. It leaves when that is done, and not before."""
        if not self.incognito:
            self._window.queue_notes(self._window_budget(), NOTES_REBUILD_CONTEXTS * self._context)

    def _window_budget(self) -> int:
        """Tokens of the window: what is left beside the character, what changes every turn, the reply, and an eighth
        for the window to grow in while what leaves it is noted."""
        fixed = (
            self._count(build_prefix(self._character, self.sample))
            + pins.PINS_BUDGET_TOKENS
            + NOTES_RESERVE_TOKENS
            + self._remembered
            + self._reply_room
        )
        return max(self._context - fixed - self._context // 8, self._context // 8)

    @property
    def _remembered(self) -> int:
        """Tokens of what is remembered."""
        return self.memory.recipe.memory_budget(self._context) if self.budget is None else self.budget

    @property
    def _reply_room(self) -> int:
        return self._sampling.max_tokens or REPLY_RESERVE_TOKENS

    @property
    def _sampling(self) -> Sampling:
        return self.sampling.over(self.memory.recipe.sampling)

    # --------------------------------------------------------------------- lines

    def _now(self) -> datetime:
        at = self._clock() if self._clock else now().astimezone()
        if at.utcoffset() is None:
            raise BadInput(f"the clock gave {at!r}, which may be anywhere on earth; let it give datetime.now(UTC)")
        return at

    def _greet(self, said: NewLine) -> None:
        if text := self.greeting:
            greeting = self._line(text, self._character.name, "assistant", {META_GREETING: True})
            self._conversation.add(replace(greeting, said_at=said.said_at), defer_embedding=True)

    def _line(self, text: str, speaker: str, role: Role, metadata: Metadata | None = None) -> NewLine:
        asked: Metadata = {META_NEEDS_CONSENT: True} if self.memory.recipe.needs_consent else {}
        return NewLine(text, speaker, role, self._now(), metadata={**(metadata or {}), **asked})

    def _check_fits(self) -> None:
        """BadQuery where the character alone is too long for the model. Looked at once a character."""
        if self.llm is not None and self._roomy is not self._character:
            least = Line(0, self.session, "user", self._character.person, "…" * MIN_USER_CHARS, self._now())
            build_prompt(
                self._character, Turn((), least, self._now()), self.llm.context - self._reply_room, self._count
            )
            self._roomy = self._character

    def _settle_reply(self) -> None:
        """A reply that was not read to its end is kept as far as it came."""
        if self.last_reply is not None:
            self.last_reply.stop()
