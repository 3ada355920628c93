"""Records what the prompt of a reply was made of, and puts its text together again.

The record is part of the reply's evidence and has no text: the tokens of each part, and the numbers of the lines and
the notes in it. The texts are read from the bank, so they lack what was forgotten since. The character is not recorded:
the parts that its card makes up are those of today, and so is the profile of the person.

    {"sizes": [["instructions", 210], …], "cut": ["window"], "window": [[first, last], …], "pinned": [3],
     "notes": [id, microseconds]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from everthread.bank.line_versions import get_recorded
from everthread.chat import character_library, events, lorebook, pins, style_sample
from everthread.chat.profile import PersonProfile
from everthread.chat.prompt_builder import Prompt, PromptParts, list_sections
from everthread.common.keys import META_OFFERED
from everthread.common.timestamps import to_micros
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.recall.context_packing import identify_source
from everthread.stores import recall_records
from everthread.stores.arrays import to_ranges
from everthread.text.analyzer import detect_language
from everthread.types import Context, Evidence, Filter, Hit, JSONValue, Line, Unit

OF_THE_CHARACTER = frozenset(("instructions", "character", "examples", "lore", "scene"))  # parts that a card makes up
OF_TODAY = OF_THE_CHARACTER | {"profile"}  # parts of which only the tokens are recorded


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a prompt. text is empty if it can't be put together any more; is_current: it is that of today, which
    may have changed since."""

    name: str
    tokens: int
    text: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ReplyPrompt:
    """The prompt of a reply: its tokens, its parts in order, and the names of those that were cut to fit."""

    seq: int
    tokens: int
    parts: tuple[PromptPart, ...]
    cut: tuple[str, ...]


def build_record(prompt: Prompt, pinned: Sequence[Line], notes: Unit | None) -> JSONValue:
    """Build the record of a prompt.

    Args:
        prompt: the prompt.
        pinned: the pinned lines.
        notes: the notes in it.
    """
    given: dict[str, JSONValue] = {
        "cut": list(prompt.cut),
        "window": [[*span] for span in to_ranges(sorted(line.seq for line in prompt.window if line.seq > 0))],
        "pinned": [line.seq for line in pinned] if "pinned" in prompt.sizes else [],
        "notes": [notes.id, to_micros(notes.valid_from)] if notes and "notes" in prompt.sizes else [],
    }
    sizes: JSONValue = [[name, tokens] for name, tokens in prompt.sizes.items()]
    return {"sizes": sizes, **{name: value for name, value in given.items() if value}}


def read_prompt(memory: Memory, evidence: Evidence) -> ReplyPrompt:
    """Return the prompt of a reply, with its parts as they are stored.

    Args:
        memory: the bank.
        evidence: the evidence of the reply. Its lines of other banks become part of the memories.

    Raises:
        NotFound: nothing is recorded of the prompt.
    """
    line = get_recorded(memory.store, memory.bank, evidence.seq)
    if line is None or not evidence.prompt:
        what = f"of the prompt of line {evidence.seq} nothing is recorded"
        raise NotFound(f"{what}; expected the number of a reply that a language model gave to this version")
    record = recall_records.get_prompt(recall_records.get_record(line.metadata) or {})
    texts = _PromptReader(memory, line, record).read_texts(evidence)
    parts = tuple(
        PromptPart(name, tokens, texts.get(name, ""), name in OF_TODAY) for name, tokens in evidence.prompt.items()
    )
    given = record.get("cut")
    cut = tuple(name for name in given if isinstance(name, str)) if isinstance(given, list) else ()
    return ReplyPrompt(evidence.seq, sum(evidence.prompt.values()), parts, cut)


class _PromptReader:
    """Reads what a record refers to, and builds the sections of the prompt from it."""

    def __init__(self, memory: Memory, reply: Line, record: Mapping[str, Any]) -> None:
        self._memory, self._reply, self._record = memory, reply, record
        self._settings = memory.settings()
        self._character = character_library.open_character(None, self._settings)

    def read_texts(self, evidence: Evidence) -> dict[str, str]:
        window, newest = self._read_window(), self._read(self._reply.parent)
        heard = [line.text for line in (*window, *([newest] if newest else []))]
        recipe, character = self._memory.recipe, self._character
        parts = PromptParts(
            window=window,
            newest=newest,
            now=self._reply.said_at,
            notes=self._read_notes(),
            lore="\n\n".join(
                map(character.fill_names, lorebook.find_entries(character.card, heard, self._memory.count))
            ),
            context=_rebuild_context(evidence),
            reminder=self._read_reminder(),
            sample=character.sample or style_sample.find_sample(self._memory, self._settings),
            render_memories=recipe.render,
            memories_last=recipe.memories_last,
            pinned=pins.render(self._read_pinned(), self._memory.count),
            rules=recipe.rules,
            profile=self._build_profile(window) if "profile" in evidence.prompt else "",
        )
        texts: dict[str, str] = {}
        for name, text in list_sections(character, parts):
            texts[name] = "\n\n".join(filter(None, (texts.get(name), text)))
        return texts

    def _read(self, seq: Any) -> Line | None:
        return get_recorded(self._memory.store, self._memory.bank, seq) if recall_records.is_seq(seq) else None

    def _read_window(self) -> list[Line]:
        given = self._record.get("window")
        spans = [span for span in given if _is_span(span)] if isinstance(given, list) else []
        if not spans:
            return []
        session = self._memory.lines(
            Filter(session=self._reply.session), after=spans[0][0] - 1, include_retracted=True, include_wordless=True
        )
        lines = takewhile(lambda line: line.seq <= spans[-1][1], session)
        return [line for line in lines if any(first <= line.seq <= last for first, last in spans)]

    def _read_pinned(self) -> list[Line]:
        return [line for line in map(self._read, recall_records.list_seqs(self._record, "pinned")) if line is not None]

    def _read_notes(self) -> str:
        match self._record.get("notes"):
            case [int(number), int(written)] if recall_records.is_seq(number):
                units = self._memory.store.units(self._memory.bank, ("note",), ids=[number], include_retracted=True)
                return next((unit.text for unit in units if to_micros(unit.valid_from) == written), "")
        return ""

    def _build_profile(self, window: Sequence[Line]) -> str:
        """Return the profile of the person as it would be today."""
        own = [line for line in window if line.role == "user"]
        language, person = detect_language("\n".join(line.text for line in own)), own[-1].speaker if own else ""
        return PersonProfile(self._memory, self._memory.count).choose([], (), language, person)

    def _read_reminder(self) -> str:
        line = self._read(self._reply.metadata.get(META_OFFERED))
        return "" if line is None else events.phrase(Hit(line, 0.0, 0.0, {}), self._reply.said_at)


def _is_span(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(recall_records.is_seq, value))


def _rebuild_context(evidence: Evidence) -> Context:
    """Return the memories of the evidence as a context."""
    found = [source for hit in evidence.hits for source in (hit.passage or (hit.source,))]
    own = {identify_source(source): source for source in (*found, *evidence.kept)}
    others = tuple(Context("…", 0, lines, (), (), 0.0, bank=bank) for bank, lines in evidence.shared.items() if lines)
    return Context("…", 0, tuple(own.values()), evidence.hits, (), evidence.relevance, others=others)
