"""Answers for the character: recalls memories, fills the prompt, asks the model, and saves the reply.

recall ─ notes and window ─ pins ─ one reminder ─ prompt ─ stream ─ save ─ queue notes
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from everthread.bank import evidence
from everthread.bank.recorded_lines import is_recorded
from everthread.bank.settings import recall_from
from everthread.chat import (
    character_library,
    known_facts,
    lorebook,
    offline_answer,
    offline_reply,
    pins,
    prompt_record,
    style_sample,
)
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.chat.character_banks import person_names, save_character
from everthread.chat.conversation import Conversation
from everthread.chat.events import announce
from everthread.chat.offline_answer import OfflineAnswer
from everthread.chat.profile import PersonProfile
from everthread.chat.prompt_builder import LineFormatter, PromptParts, build_prefix, build_prompt, check_fits
from everthread.chat.reminders import Reminders
from everthread.chat.reply import MAX_REPLY_CHARS, Reply, Truncation, reply_metadata
from everthread.chat.reply_filter import ReplyFilter
from everthread.chat.scribe_worker import ScribeWorker
from everthread.chat.static_reply import build_static_reply
from everthread.chat.window import DEFAULT_CONTEXT, REPLY_RESERVE_TOKENS, TokenBudget, Window
from everthread.common.keys import META_OFFERED, SETTING_CHARACTER, SETTING_DEMO, SETTING_SAMPLE
from everthread.errors import StoreUnavailable
from everthread.languages.wording import Wording
from everthread.llms.base import LLM
from everthread.memory import Memory
from everthread.recall import multi_bank
from everthread.text.analyzer import detect_language
from everthread.text.questions import is_question
from everthread.text.refusal import is_refusal
from everthread.text.tokens import TokenCounter
from everthread.types import Context, Hit, JSONValue, Line, Sampling, Unit, now

log = logging.getLogger("everthread")

TOKEN_CACHE_SIZE = 2048  # texts; the lines of a window are counted again at every turn


class Responder:
    """The character's side of a conversation. Its public attributes may be changed between two replies."""

    llm: LLM | None  # None: a reply shows what is remembered
    sampling: Sampling  # overrides the recipe's
    budget: int | None  # tokens of recalled memories in a prompt; None: the recipe's
    banks: Collection[str] | None  # further banks of the store to recall from; None: those of the bank's settings
    participants: Collection[str]  # other speakers, whose lines the character must not write
    words: Wording  # of texts that no model writes
    last_reply: Reply | None

    def __init__(
        self,
        memory: Memory,
        character: Character | str | None,
        llm: LLM | None,
        now: Callable[[], datetime],
        *,
        sampling: Sampling | None,
        budget: int | None,
        banks: Collection[str],
        count: TokenCounter | None,
        recalls_as_of_now: bool,
        words: Wording,
    ) -> None:
        """Set up the responder with the given character, else the bank's own. The other arguments are as for `Chat`.

        Args:
            now: returns the time.
            recalls_as_of_now: recall as of `now()`, for a clock other than this machine's.
            words: the words of texts that no model writes, in the language of the chat.
        """
        self.llm, self.budget, self.participants, self.last_reply = llm, budget, (), None
        self.sampling, self.words = sampling or Sampling(), words
        self.banks = multi_bank.check_banks(memory.store, banks) if banks else None
        self._memory, self._now, self._recalls_as_of_now = memory, now, recalls_as_of_now
        self._count = lru_cache(TOKEN_CACHE_SIZE)(count or memory.count)
        self._line_formatter = LineFormatter(self._count)
        self._reminders = Reminders(memory)
        self._profile = PersonProfile(memory, self._count)
        self._settings: Mapping[str, JSONValue] = memory.settings()  # as of the last refresh
        self._character = character_library.open_character(character, self._settings)
        self._saved_character = self._settings.get(SETTING_CHARACTER)
        self._fitting_character: Character | None = None  # the last one that `check_fits` accepted

    def attach(self, conversation: Conversation, scribe_worker: ScribeWorker, last_seen: datetime | None) -> None:
        """Answer in this conversation from now on. `last_seen` is the time of the last line before it."""
        self._conversation, self._scribe_worker, self._last_seen = conversation, scribe_worker, last_seen
        self._window = Window(conversation, scribe_worker, self._line_formatter)

    def use_memory(self, memory: Memory, scribe_worker: ScribeWorker) -> None:
        """Continue in the same bank with another recipe."""
        self._memory, self._reminders = memory, Reminders(memory)
        self._profile = PersonProfile(memory, self._count)
        self.attach(self._conversation, scribe_worker, self._last_seen)

    def refresh(self, settings: Mapping[str, JSONValue]) -> None:
        """Load what another process may have changed, the character and the reminders; `settings` are the bank's
        current ones."""
        self._settings = settings
        self._reminders.load(settings)
        if (saved := settings.get(SETTING_CHARACTER)) != self._saved_character:
            self._character, self._saved_character = character_library.open_character(None, settings), saved

    # ------------------------------------------------------------------- character

    @property
    def character(self) -> Character:
        """The character. Setting it saves it as the bank's own, except in incognito."""
        return self._character

    @character.setter
    def character(self, character: Character) -> None:
        former, self._character = self._character.person, character
        if not self._conversation.incognito:
            self._saved_character = character.to_json()
            save_character(self._memory, character, former)

    @property
    def person_names(self) -> set[str]:
        """The names under which the lines of the user are stored in this bank."""
        return {self._character.person, *person_names(self._memory.settings())}

    def find_sample(self, replaces: Line | None = None) -> str:
        """Return the sample of the character's style: the card's or the user's own, else the first reply that is long
        enough, other than `replaces`."""
        exclude = () if replaces is None else (replaces.seq,)
        return self._character.sample or style_sample.find_sample(self._memory, self._settings, exclude)

    def build_greeting(self) -> str:
        """Return the greeting of a bank's first conversation; empty in later ones and without a model.

        The default character greets in the language of the interface.
        """
        if self.llm is None or self._conversation.lines or not self._character.greeting.strip():
            return ""
        if self._memory.store.corpus_stats(self._memory.bank).has_assistant:
            return ""
        if self._character.greeting == DEFAULT_CHARACTER.greeting:
            return self.words("chat.greeting", name=self._character.nickname or self._character.name)
        return self._character.fill_names(self._character.greeting.strip())

    def find_opening(self) -> str:
        """Return an event that the character could ask about as the conversation begins; else empty."""
        if self._conversation.lines or not self._memory.recipe.offers:
            return ""
        event = self._reminders.find_event(self._last_seen, self._now())
        return announce(event, self._now(), self.words) if event else ""

    def check_fits(self) -> None:
        """Raise BadQuery if the character alone is too long for the model. Checked once for each character."""
        if self.llm is not None and self._fitting_character is not self._character:
            check_fits(self._character, self._tokens.prompt, self._now(), self._count)
            self._fitting_character = self._character

    # --------------------------------------------------------------------- replying

    def respond(self, replaces: Line | None = None) -> Reply:
        """Return a reply to the conversation; saving it discards the line `replaces`.

        Raises:
            BadQuery: the character alone is too long for the model.
        """
        began_at = now()  # before anything is read, so that what is forgotten from now on counts
        notes = self._window.notes(replaces)
        lines = [line for line in self._conversation.lines if replaces is None or line.seq != replaces.seq]
        newest = lines.pop() if lines else None
        if self.llm is None:
            self.last_reply = self._respond_offline(newest)
        else:
            window = self._window.lines(lines, notes, self._tokens.context)
            self.last_reply = self._respond(self.llm, newest, window, notes, replaces)
        self.last_reply.began_at = began_at
        return self.last_reply

    def stop(self) -> None:
        """Stop a reply that was not read to its end; the text so far is saved."""
        if self.last_reply is not None:
            self.last_reply.stop()

    def discard_reminders(self, removed: list[Line]) -> list[Line]:
        """Drop the reminders that discarded replies had; return the discarded lines."""
        if removed and not self._conversation.incognito:
            self._reminders.record(self._conversation.lines, removed)
        return removed

    def _respond(
        self, llm: LLM, newest: Line | None, window: list[Line], notes: Unit | None, replaces: Line | None
    ) -> Reply:
        """Recall, build the prompt, and return the reply, which asks the model when it is read.

        Args:
            llm: the model.
            newest: the line to answer; None at the beginning.
            window: the lines before it that are in the prompt.
            notes: the current notes.
            replaces: the reply in whose place the new one is saved.
        """
        hidden, character = self._conversation.hidden_seqs, self._character
        pinned = [line for line in pins.list_pins(self._memory, self._settings) if line.seq not in hidden]
        seen = [*window, *pinned, *([replaces] if replaces else [])]
        heard, known = (newest.text, [*seen, newest]) if newest else ("", seen)
        context = self._recall(heard, known, notes, self._tokens.memories)
        sample = self.find_sample(replaces)
        reminder_seq, reminder = self._find_reminder(context, replaces)
        parts = self._collect_parts(newest, window, notes, pinned, context, reminder, sample)
        prompt, sampling = build_prompt(character, parts, self._tokens.prompt, self._count), self._sampling
        recalled = evidence.build_metadata(context, prompt=prompt_record.build_record(prompt, pinned, notes))
        reader = self._memory.reader
        others = {*self.participants, character.person, *(line.speaker for line in self._conversation.lines)}
        answered = [line for line in (newest, replaces) if line is not None and line.seq > 0]

        def save(text: str, truncation: Truncation, refused: bool) -> Line | None:
            if not self._are_recorded(answered):
                return None
            return self._save(
                text, {**reply_metadata(llm.name, truncation, refused), **recalled}, replaces, reminder_seq
            )

        reply = Reply(
            context,
            prompt,
            lambda: llm.stream(prompt.messages, sampling),
            ReplyFilter(character.name, others - {character.name}, MAX_REPLY_CHARS),
            save,
            lambda text: is_refusal(text, reader.refusal_words),
        )
        reply.reminder, reply.notes = parts.reminder, parts.notes
        return reply

    def _collect_parts(
        self,
        newest: Line | None,
        window: list[Line],
        notes: Unit | None,
        pinned: list[Line],
        context: Context,
        reminder: str,
        sample: str,
    ) -> PromptParts:
        """Return the parts of a prompt."""
        character, recipe = self._character, self._memory.recipe
        return PromptParts(
            window=window,
            newest=newest,
            now=self._now(),
            notes=notes.text if notes else "",
            lore=self._find_lore([*window, *([newest] if newest else [])]),
            context=context,
            reminder=reminder,
            sample=sample,
            render_memories=recipe.render,
            memories_last=recipe.memories_last,
            pinned=pins.render(pinned, self._count),
            profile=self._build_profile(window, newest),
            rules=recipe.rules,
            format_line=self._line_formatter.format,
            former_names=sorted(self.person_names - {character.person, DEFAULT_CHARACTER.person}),
        )

    def _respond_offline(self, newest: Line | None) -> Reply:
        """Return the reply without a model: what is known or remembered, recorded with the newest line."""
        recalled, answer = self._list_known(newest) or self._quote_memory(newest)
        if newest is not None and newest.role == "user":
            kind, more = "listed" if answer.known.are_lines else answer.kind, answer.known.has_more
            record = evidence.build_metadata(recalled, answer.source, kind=kind, has_more=more)
            self._conversation.record(newest, record)
        near = self._find_near_misses(newest) if newest is not None and answer.kind == "nothing" else []
        today = newest.said_at.date() if newest else None
        names = self.person_names
        text = offline_reply.render(answer, names, self.words, today, near)
        reply = build_static_reply(text, recalled)
        reply.answer, reply.person_names = answer, names
        self.queue_notes()
        return reply

    def _list_known(self, newest: Line | None) -> tuple[Context, OfflineAnswer] | None:
        """Return the answer to a question for all that is known of someone; None for another one, or without facts."""
        if newest is None or known_facts.ask_known(newest) is None:
            return None
        memory, hidden = self._memory, self._conversation.hidden_seqs
        known = known_facts.find_known(memory.store, memory.bank, memory.read_known(), newest, hidden.isdisjoint)
        return (known_facts.build_context(known), offline_answer.answer_known(known)) if known.facts else None

    def _quote_memory(self, newest: Line | None) -> tuple[Context, OfflineAnswer]:
        """Recall memories for the newest line, and choose the answer."""
        heard, seen = (newest.text, [newest]) if newest else ("", [])
        found = self._recall(heard, seen, None, offline_reply.BUDGET_TOKENS, offline_reply.MIN_RELEVANCE)
        known = self._memory.read_known() if offline_answer.has_quick_facts(self._memory) else None
        if known is not None and newest is not None and is_question(heard):
            hidden, moment = {*self._conversation.hidden_seqs, newest.seq}, self._now()
            found = offline_answer.order_by_facts(
                found, newest, self._memory, known, moment, is_past=self._recalls_as_of_now, hidden=hidden
            )
        speakers = self._memory.store.corpus_stats(self._memory.bank).names
        recalled = offline_answer.select_memories(offline_answer.order_by_speaker(found, heard, speakers), heard)
        if newest is not None and offline_answer.asks_for_overview(newest, self._memory):
            listed = offline_answer.list_recalled(recalled)
            if listed.facts:
                return recalled, offline_answer.answer_known(listed)
        answer = offline_answer.choose_answer(recalled, newest, self._conversation.incognito)
        if known is None or not isinstance(answer.source, Line) or answer.source not in recalled.lines:
            return recalled, answer  # a unit, or of another bank
        as_of = self._now() if self._recalls_as_of_now else None
        return recalled, offline_answer.note_outdated(answer, known, as_of)

    def _find_near_misses(self, newest: Line) -> list[Hit]:
        """Find the lines closest to a question about which nothing is remembered, in the bank of the demo only."""
        if SETTING_DEMO not in self._settings:
            return []
        hits = self._memory.recall(newest.text, 2 * offline_reply.MAX_NEAR_MISSES, as_of=newest.said_at)
        return offline_reply.choose_near_misses(hits, newest)

    def _recall(
        self, text: str, seen: Sequence[Line], notes: Unit | None, budget: int, min_relevance: float | None = None
    ) -> Context:
        """Recall memories for the newest line's text, without lines that are in the prompt already."""
        incognito = self._conversation.incognito
        context = self._memory.context(
            text,
            budget,
            min_relevance=min_relevance,
            exclude=self._conversation.hidden_seqs.union(line.seq for line in seen if line.seq > 0),
            as_of=self._now() if self._recalls_as_of_now else None,
            session=self._conversation.session if self._memory.recipe.uses_buffer and not incognito else None,
            notes=notes,
            count=self._count,
            banks=multi_bank.list_existing(self._memory.store, self._memory.bank, self._list_banks()),
        )
        if not incognito:  # notes must not contain memories recalled in incognito
            self._scribe_worker.background = context.sources
        contexts = (context, *context.others)
        self._scribe_worker.quotes.add(
            source.text for recalled in contexts for source in (*recalled.sources, *recalled.facts)
        )
        return context

    def _find_reminder(self, context: Context, replaces: Line | None) -> tuple[int | None, str]:
        """Return one event or line that the character could bring up now: the line's number, and the text."""
        if self._conversation.incognito or not self._memory.recipe.offers:
            return None, ""
        lines = [line for line in self._conversation.lines if replaces is None or line.seq != replaces.seq]
        return self._reminders.choose(lines, context, self._last_seen, self._now(), replaces) or (None, "")

    def _build_profile(self, window: Sequence[Line], newest: Line | None) -> str:
        """Return what is known of the user, if the recipe wants that in its prompts."""
        if not self._memory.recipe.profile:
            return ""
        lines = [*window, *([newest] if newest else [])]
        language = detect_language("\n".join(line.text for line in lines if line.role == "user"))
        seqs, hidden = [line.seq for line in lines], self._conversation.hidden_seqs
        return self._profile.choose(seqs, hidden, language, self._character.person)

    def _find_lore(self, lines: list[Line]) -> str:
        """Return the entries of the card's lorebook that apply to the newest lines."""
        entries = lorebook.find_entries(self._character.card, [line.text for line in lines], self._count)
        return "\n\n".join(map(self._character.fill_names, entries))

    def _list_banks(self) -> Collection[str]:
        """List the further banks to recall from."""
        return recall_from(self._settings) if self.banks is None else self.banks

    # ----------------------------------------------------------------------- saving

    def _are_recorded(self, lines: Sequence[Line]) -> bool:
        """Return whether the bank still has lines. Another process may have forgotten them, and others may have their
        numbers."""
        memory = self._memory
        return self._conversation.incognito or all(is_recorded(memory.store, memory.bank, line) for line in lines)

    def _save(self, text: str, metadata: dict[str, JSONValue], replaces: Line | None, reminder_seq: int | None) -> Line:
        """Save a reply, and discard the one that it replaces. A refused reply replaces nothing."""
        refused, removed = bool(metadata.get("refused")), [replaces] if replaces else []
        metadata |= self._scribe_worker.quotes.metadata(text)
        metadata |= {} if reminder_seq is None else {META_OFFERED: reminder_seq}
        new = self._conversation.new_line(text, self._character.name, "assistant", self._now(), metadata)
        line = self._conversation.add(new, refused=refused, replacing=removed, defer_embedding=True)
        self._after_reply(line, removed if not refused else [])
        return line

    def _after_reply(self, line: Line, removed: list[Line]) -> None:
        """Update reminders, style sample, title and notes. If this fails, a later turn does it: the reply is saved."""
        try:
            if not self._conversation.incognito:
                self._reminders.record([] if line.retracted_at else [line], removed)
                if style_sample.is_sample(line) and not style_sample.find_sample(self._memory, self._settings):
                    self._memory.set_setting(SETTING_SAMPLE, line.seq)
                    self._settings = self._memory.settings()
                self._scribe_worker.queue_title(self._conversation.lines)
            self.queue_notes()
        except StoreUnavailable as error:
            log.warning("a reply is saved, and its notes are postponed: %s", error)

    def queue_notes(self) -> None:
        """Queue notes on the oldest lines if the window is full; the lines leave it once the notes are written."""
        if not self._conversation.incognito:
            prefix = self._count(build_prefix(self._character, self.find_sample(), profile=self._profile.text))
            self._window.queue_notes(self._tokens, prefix)

    @property
    def _tokens(self) -> TokenBudget:
        context = self.llm.context if self.llm else DEFAULT_CONTEXT
        memories = self._memory.recipe.memory_budget(context) if self.budget is None else self.budget
        return TokenBudget(context, self._sampling.max_tokens or REPLY_RESERVE_TOKENS, memories)

    @property
    def _sampling(self) -> Sampling:
        return self.sampling.with_defaults(self._memory.recipe.sampling)
