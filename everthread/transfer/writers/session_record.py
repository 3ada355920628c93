"""A session as writers get it: its current lines in order, each with the versions that were discarded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from everthread.bank.corrections import sort_by_position
from everthread.bank.session_titles import KIND, titles_by_session
from everthread.memory import Memory
from everthread.transfer.writers.branches import Branch, build_branches, find_original
from everthread.types import Filter, Line, Session

_PERSON, _CHARACTER = "user", "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """A line of a session.

    Attributes:
        line: the line.
        others: the discarded answers to the same line, by the same speaker, in their order.
        branches: all discarded lines that were here, and what followed them.
    """

    line: Line
    others: tuple[Line, ...] = ()
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session with its lines.

    Attributes:
        bank: the id of its bank.
        session: the session.
        title: its title, or else the one that a model gave it; empty if it has none.
        turns: its lines with words, in the order of the conversation.
        branches: the discarded lines before the first turn, and what followed them.
    """

    bank: str
    session: Session
    title: str
    turns: tuple[Turn, ...]
    branches: tuple[Branch, ...] = ()

    @property
    def person(self) -> str:
        """The name of the person who speaks first."""
        return next((turn.line.speaker for turn in self.turns if turn.line.role == _PERSON), _PERSON)

    @property
    def character(self) -> str:
        """The name of the character that speaks first."""
        return next((turn.line.speaker for turn in self.turns if turn.line.role == _CHARACTER), _CHARACTER)


def read_records(memory: Memory, session: str | None = None, *, retracted: bool = False) -> Iterator[SessionRecord]:
    """Yield the sessions of a bank that have lines, or one of them, in the order in which they began.

    Args:
        memory: the bank.
        session: only this session; None: all.
        retracted: whether they have branches, and sessions of which all lines are retracted are included.
    """
    titles = titles_by_session(memory.units(KIND, only_current=True))
    for each in memory.sessions():
        if (each.lines or retracted) and session in (None, each.id):
            recorded = {line.seq: line for line in memory.lines(Filter(session=each.id), include_retracted=True)}
            title = each.title or titles.get(each.id, "")
            current = sort_by_position([line for line in recorded.values() if line.retracted_at is None])
            branches = build_branches(recorded, current) if retracted else {}
            turns = tuple(
                replace(turn, branches=tuple(branches.get(turn.line.seq, ())))
                for turn in _build_turns(recorded, current)
            )
            if turns or branches:
                yield SessionRecord(memory.bank, each, title, turns, tuple(branches.get(None, ())))


def _build_turns(recorded: Mapping[int, Line], current: Sequence[Line]) -> Iterator[Turn]:
    """Yield the turns of a session, without branches.

    Args:
        recorded: its lines with words, by number, also retracted ones.
        current: those that are not retracted, in the order of the conversation.
    """
    discarded: dict[int | None, list[Line]] = defaultdict(list)
    for line in recorded.values():
        if line.retracted_at is not None and not line.metadata.get("refused"):
            discarded[find_original(line.parent, recorded)].append(line)
    is_linked = len(current) > 1 and current[1].parent is not None
    for position, line in enumerate(current):
        parent = find_original(line.parent, recorded)
        siblings = discarded[parent] if parent is not None or (is_linked and position == 0) else []
        yield Turn(line, tuple(_select_others(line, siblings, recorded)))


def _select_others(line: Line, siblings: Sequence[Line], recorded: Mapping[int, Line]) -> Iterator[Line]:
    """Yield the siblings by the same speaker with other words, each once, without earlier versions of the line."""
    seen = {line.text}
    original = find_original(line.seq, recorded)
    for other in siblings:
        is_version = find_original(other.seq, recorded) == original
        if (other.role, other.speaker) == (line.role, line.speaker) and not is_version and other.text not in seen:
            seen.add(other.text)
            yield other
