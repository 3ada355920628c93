"""The lines of one session as a proxy knows them: the current ones, and those that were discarded.

A client resends its whole history with each message. The replies in it are nearly unique; they show which
line the first message of the history is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from everthread.bank.corrections import sort_by_position
from everthread.bank.recorded_lines import is_of_former_bank
from everthread.common.keys import META_CORRECTS, META_RECALLED, META_UNDATED
from everthread.memory import Memory
from everthread.server.proxy.discarded_lines import DiscardedLines
from everthread.server.proxy.message_text import ChatMessage, is_same, measure_likeness, normalize
from everthread.server.proxy.offsets import count_offsets
from everthread.server.proxy.reply_index import get_reply_ids
from everthread.types import Filter, Line, Role

ROLES = ("user", "assistant")
MAX_ALTERED = 20  # messages at the end of a history whose replies may have been changed
MAX_COMPARED_MESSAGES = 100_000  # between distances with equally many equal messages


@dataclass(frozen=True, slots=True)
class Alignment:
    """The position of a history in a session.

    Attributes:
        offset: the position in the session of the history's first message.
        matches: the number of equal replies.
    """

    offset: int
    matches: int


def is_shown(message: ChatMessage, line: Line) -> bool:
    """Return whether a message repeats a line, perhaps in a template."""
    if line.role != message.role:
        return False
    return message.text == line.text or is_same(message.normalized, normalize(line.text))


def _without_record(line: Line) -> Line:
    """Return a line without the record of its memories, which is often longer than the line and is not needed here."""
    if META_RECALLED not in line.metadata:
        return line
    return replace(line, metadata={name: value for name, value in line.metadata.items() if name != META_RECALLED})


def is_dated(line: Line) -> bool:
    """Return whether a line was stored when it was said, not found in the history that a client resends."""
    return META_UNDATED not in line.metadata


@dataclass
class Transcript:
    """The lines of the person and the assistant in one session. Not thread-safe.

    Attributes:
        session: the session's name.
        current: the lines that are not retracted, in the order of the conversation.
        discarded: retracted and forgotten lines, by number.
    """

    session: str
    current: list[Line] = field(default_factory=list)
    discarded: dict[int, Line] = field(default_factory=dict)
    _last: Line | None = None  # the last line that was read
    _index: DiscardedLines | None = None  # None: `discarded` has changed

    def refresh(self, memory: Memory) -> None:
        """Read what was stored, retracted or forgotten since the last call; all, if the bank was created again."""
        if self._last is not None and is_of_former_bank(memory.store, memory.bank, self._last):
            self.current, self.discarded, self._last, self._index = [], {}, None, None
        where, last_seq = Filter(session=self.session), self._last.seq if self._last is not None else 0
        read = memory.lines(where, after=last_seq, include_retracted=True)
        added = [_without_record(line) for line in read if line.role in ROLES]
        found = memory.store.filter_seqs(memory.bank, where, None)
        seqs = set() if found is None else set(found.tolist())
        known = {line.seq: line for line in self.current}
        if added or not known.keys() <= seqs:
            lines = {**self.discarded, **known, **{line.seq: line for line in added}}
            self.current = sort_by_position([lines[seq] for seq in sorted(lines) if seq in seqs])
            self.discarded = {seq: lines[seq] for seq in sorted(lines) if seq not in seqs}
            self._index = None
        self._last = added[-1] if added else self._last

    def arrange(self, history: Sequence[ChatMessage]) -> None:
        """Put late lines where a history has them: after the lines that they follow, or replies in the order of those.

        A line is late if another was stored between the line that it follows and itself, as with a reply that comes
        after the next message. Clients show it where it came, or elsewhere.
        """
        orders = self._list_orders() if history else []
        if len(orders) > 1:
            self.current = max(orders, key=lambda order: Transcript(self.session, order)._count_fitting(history))

    def _list_orders(self) -> list[list[Line]]:
        """Return the orders in which a client may show the current lines; one if no line is late."""
        places = self._find_followed()
        if all(place >= position - 1 for position, place in enumerate(places)):
            return [self.current]
        arrived = range(len(places))
        grouped: list[int] = []
        for role, run in groupby(arrived, lambda position: self.current[position].role):
            grouped.extend(sorted(run, key=lambda position: places[position] if role == "assistant" else position))
        return [[self.current[position] for position in order] for order in (arrived, _nest(places), grouped)]

    def _find_followed(self) -> list[int]:
        """Return for each current line the position of the earlier current line that it follows, or else its own."""
        positions = {line.metadata.get(META_CORRECTS): position for position, line in enumerate(self.current)}
        positions |= {line.seq: position for position, line in enumerate(self.current)}
        places = (-1 if line.parent is None else positions.get(line.parent, -1) for line in self.current)
        return [place if 0 <= place < position else position for position, place in enumerate(places)]

    def is_late(self, position: int) -> bool:
        """Return whether the current line at a position follows another than the line before it."""
        return self._find_followed()[position] < position - 1

    def align(
        self, history: Sequence[ChatMessage], role: Role = "assistant", *, only_dated: bool = False
    ) -> Alignment | None:
        """Find the distance at which most replies of a history are equal to current ones.

        Of several distances, as with equal replies, it is the one at which most messages are equal; then the latest.

        Args:
            history: the messages before the newest.
            role: "user" compares the person's messages instead.
            only_dated: whether current lines that were only resent are ignored.

        Returns:
            The alignment; None if no reply is equal.
        """
        offsets = self._count_offsets(history, role, only_dated=only_dated)
        if not offsets:
            return None
        matches = max(offsets.values())
        best = {offset for offset, count in offsets.items() if count == matches}
        if len(best) > 1:
            others = self._count_offsets(history, "assistant" if role == "user" else "user")
            compared = 1 + MAX_COMPARED_MESSAGES // len(history)
            latest = sorted(best, key=lambda offset: (others[offset], offset))[-compared:]
            best = {max(latest, key=lambda offset: (self._count_shown(history, offset), offset))}
        return Alignment(best.pop(), matches)

    def rate(self, history: Sequence[ChatMessage], alignment: Alignment) -> tuple[int, int, int]:
        """Return how many replies of a history are equal at an alignment, how many messages, and how many of those are
        by the same speaker."""
        start = max(0, -alignment.offset)
        pairs = zip(history[start:], self.current[start + alignment.offset :], strict=False)
        shown = [message.speaker == line.speaker for message, line in pairs if is_shown(message, line)]
        return alignment.matches, len(shown), sum(shown)

    def _count_fitting(self, history: Sequence[ChatMessage]) -> int:
        """Return how many messages of a history are the current lines at its alignment."""
        alignment = self.align(history) or self.align(history, "user")
        return 0 if alignment is None else self._count_shown(history, alignment.offset)

    def is_whole(self, history: Sequence[ChatMessage]) -> bool:
        """Return whether a history consists of all current lines, letter by letter."""
        pairs = zip(history, self.current, strict=False)
        return len(history) == len(self.current) and all(
            message.text == line.text and message.role == line.role for message, line in pairs
        )

    def has_reply(self, replies: Sequence[ChatMessage]) -> bool:
        """Return whether one of these replies was given in this session and is current."""
        texts = {reply.normalized for reply in replies}
        given = (line for line in reversed(self.current) if line.role == "assistant" and is_dated(line))
        return any(normalize(line.text) in texts for line in given)

    def _count_offsets(self, history: Sequence[ChatMessage], role: Role, *, only_dated: bool = False) -> Counter[int]:
        """Count the messages of a role that are equal to current lines, by the distance. Takes the same as `align`."""
        lines = (
            (position, normalize(line.text))
            for position, line in enumerate(self.current)
            if line.role == role and (is_dated(line) or not only_dated)
        )
        messages = ((index, message.normalized) for index, message in enumerate(history) if message.role == role)
        return count_offsets(lines, messages)

    def _count_shown(self, history: Sequence[ChatMessage], offset: int) -> int:
        """Return how many messages of a history are the current lines at a distance."""
        start = max(0, -offset)
        return sum(map(is_shown, history[start:], self.current[start + offset :]))

    def measure_likeness(self, history: Sequence[ChatMessage], offset: int) -> float:
        """Return how alike the last replies of a history are to those that were given at a distance to the same message
        of the person. The client may have changed them, or returned to one that was discarded.

        Returns:
            The sum over the replies: of each 1 if it is the same, less if it was changed. A sum below 1 is that of a
            single changed reply.
        """
        pairs = list(zip(history[max(0, -offset) :], self.current[max(0, offset) :], strict=False))[-MAX_ALTERED:]
        return sum(
            max(measure_likeness(message.normalized, normalize(given)) for given in self._list_replies(asked, line))
            for (said, asked), (message, line) in pairwise(pairs)
            if message.role == line.role == "assistant" and said.role == "user" and is_shown(said, asked)
        )

    def is_continued(self, history: Sequence[ChatMessage], offset: int, newest: ChatMessage) -> bool:
        """Return whether the line after a history at a distance is the newest message, or nothing follows it."""
        following = self.current[max(0, offset + len(history)) :][:1]
        return not following or is_shown(newest, following[0])

    def _list_replies(self, asked: Line, reply: Line) -> list[str]:
        """Return the texts of the current reply to a line, and of those that were discarded."""
        return [reply.text, *(line.text for line in self.discarded.values() if line.parent == asked.seq)]

    def skip_removed(self, history: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Leave out the messages of lines that were retracted or forgotten alone, between lines that are current.

        A client that discards a line discards what follows as well; then no current line follows a discarded one.
        """
        seqs = {line.seq for line in self.current}
        skipped: set[int] = set()
        for position, line in enumerate(self.current):
            if position and line.parent is not None and line.parent not in seqs:
                skipped |= self._find_removed(history, position)
        return [message for index, message in enumerate(history) if index not in skipped]

    def _find_removed(self, history: Sequence[ChatMessage], position: int) -> set[int]:
        """Return the indexes of the messages between a current line and the one before, if all of them were removed."""
        before, line = self.current[position - 1], self.current[position]
        replies = {normalize(line.text) for line in self.current[position:] if line.role == "assistant"}
        last = max(
            (n for n, message in enumerate(history) if message.role == "assistant" and message.normalized in replies),
            default=0,
        )
        is_unknown = line.parent not in self.discarded  # it was forgotten before this process began
        starts = [index for index in range(last) if is_shown(history[index], before)]
        remaining = [index for index in range(last) if not is_unknown and self.find_discarded(history[index]) is None]
        for end in range(last, 0, -1):
            start = bisect_left(starts, end) - 1
            if start < 0 or not is_shown(history[end], line):
                continue
            removed = range(starts[start] + 1, end)
            if removed and bisect_left(remaining, removed.start) == bisect_left(remaining, end):
                return set(removed)
        return set()

    def find_discarded(self, message: ChatMessage, parent: int | None = None) -> Line | None:
        """Find the discarded line of a message: one with its text, preferably after the line `parent` and late, or else
        one after `parent` whose text contains it."""
        if self._index is None:
            self._index = DiscardedLines(self.discarded.values())
        return self._index.find(message, parent)

    def find_displaced(self, messages: Sequence[ChatMessage], before: Line) -> list[Line]:
        """Find the discarded lines of messages after a current line, if they were discarded by a message that was sent
        without them: the client may have sent that before it had them. Lines that were removed by hand have no such
        message after them."""
        found: list[Line] = []
        for message in messages:
            parent = found[-1].seq if found else before.seq
            line = self.find_discarded(message, parent)
            if line is None or line.parent != parent:
                break
            found.append(line)
        siblings = (line for line in self.current if line.role == "user" and line.parent == before.seq)
        is_displaced = bool(found) and any(line.seq > found[0].seq for line in siblings)
        return found if is_displaced else []

    def find_branch(self, history: Sequence[ChatMessage]) -> tuple[list[Line], int, int] | None:
        """Find the discarded lines that lead to the last reply of a history that was discarded.

        Returns:
            The lines in order, the position in `current` after which they branch off, and the index of the reply in
            the history; None if there is no such reply.
        """
        for index in range(len(history) - 1, -1, -1):
            message = history[index]
            if message.role == "assistant" and (line := self.find_discarded(message)) is not None:
                return *self.trace(line), index
        return None

    def only_begins_like(self, branch: Sequence[Line], position: int) -> bool:
        """Return whether a discarded branch and the current lines have only their opening in common, and the current
        ones go on after the first reply: then two conversations began with the same words.

        Args:
            branch: the discarded lines, the first of which is the reply to the opening.
            position: that of the line which they follow.
        """
        opening, later = self.current[: position + 1], self.current[position + 1 :]
        if not opening or any(line.role == "assistant" and is_dated(line) for line in opening):
            return False
        reply = branch[0]
        versions = (reply.seq, reply.metadata.get(META_CORRECTS, reply.seq))
        is_corrected = bool(later) and later[0].metadata.get(META_CORRECTS) in versions
        return reply.role == "assistant" and not is_corrected and any(line.role == "user" for line in later[1:])

    def index_replies(self) -> dict[str, Line]:
        """Return the replies by their ids and those of their responses; a current one if several have the same id."""
        lines = [line for line in (*self.discarded.values(), *self.current) if line.role == "assistant"]
        return {reply_id: line for line in lines for reply_id in get_reply_ids(line.metadata)}

    def find_version(self, seq: int) -> Line | None:
        """Find the line with this number, or the current one that corrects it."""
        current = (line for line in self.current if seq in (line.seq, line.metadata.get(META_CORRECTS)))
        return next(current, self.discarded.get(seq))

    def find_path(self, line: Line | None) -> tuple[list[Line], int]:
        """Find the lines that lead to a line; None: to the latest.

        Returns:
            Its discarded lines, in order, and the number of the current lines before them. Discarded lines between
            current ones were removed alone, and are left out.
        """
        seqs = [line.seq for line in self.current]
        if line is None or line.seq in seqs:
            return [], len(seqs) if line is None else seqs.index(line.seq) + 1
        branch, position = self.trace(line)
        followed = {line.parent for line in self.current}
        return [line for line in branch if line.seq not in followed], position + 1

    def trace(self, line: Line) -> tuple[list[Line], int]:
        """Return the discarded lines up to this one, and the position of the current line that they follow."""
        positions = {line.seq: position for position, line in enumerate(self.current)}
        branch = [line]
        while (parent := branch[-1].parent) is not None and parent in self.discarded:
            branch.append(self.discarded[parent])
        return branch[::-1], -1 if parent is None else positions.get(parent, -1)


def _nest(places: Sequence[int]) -> list[int]:
    """Return positions in an order in which each directly follows the one at its place, of several the latest first.

    Args:
        places: for each position an earlier one, or itself for the end.
    """
    start = last = -1
    following: dict[int, int | None] = {start: None}
    for position, place in enumerate(places):
        before = last if place == position else place
        following[position], following[before] = following[before], position
        if following[position] is None:
            last = position
    order: list[int] = []
    step = following[start]
    while step is not None:
        order.append(step)
        step = following[step]
    return order
