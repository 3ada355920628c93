"""Finds stored replies by the ids that the upstream gave them: a request may name a reply instead of repeating it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from everthread.bank.line_versions import get_recorded
from everthread.bank.recorded_lines import is_of_former_bank, is_recorded
from everthread.common.keys import SETTING_RESPONSES
from everthread.memory import Memory
from everthread.server.proxy.message_text import META_MESSAGE_ID
from everthread.types import AnyOf, Comparison, Filter, JSONValue, Line, Metadata

META_RESPONSE = "response"  # of a reply: the id of the response that it is in
MAX_IDS = 4096  # of one bank that are held in memory
MAX_SAVED_IDS = 64  # of one bank, of replies without a line
IS_NAMED = Filter(
    role="assistant",
    condition=AnyOf(
        tuple(Comparison(f"metadata.{name}", "exists", value=True) for name in (META_RESPONSE, META_MESSAGE_ID))
    ),
)


def get_reply_ids(metadata: Metadata) -> list[str]:
    """Return the ids by which a request may name the reply with these metadata."""
    ids = (metadata.get(name) for name in (META_RESPONSE, META_MESSAGE_ID))
    return [id for id in ids if isinstance(id, str) and id]


class ReplyIndex:
    """The replies of one bank by their ids. Not thread-safe.

    The ids of a reply are in the metadata of its line. For one without a line, because it only calls tools or was not
    read, they are in a setting of the bank. The metadata are read once, when an id is looked up that this process has
    not noted; later only those of new lines.
    """

    def __init__(self, memory: Memory) -> None:
        """Create an index, which reads the bank on demand.

        Args:
            memory: the bank.
        """
        self._memory = memory
        self._turns: OrderedDict[str, Line] = OrderedDict()  # the lines of the person that noted replies answer
        self._stored: dict[int, int] = {}  # the numbers of replies, by the hashes of their ids to take less memory
        self._read_to = 0  # the number of the last line that was read
        self._last: Line | None = None  # that line; None if it was forgotten already

    def note(self, ids: Sequence[str], line: Line) -> None:
        """Note the ids of a reply to a line of the person."""
        for id in ids:
            self._turns[id] = line
            self._turns.move_to_end(id)
        while len(self._turns) > MAX_IDS:
            self._turns.popitem(last=False)

    def save(self, ids: Sequence[str], line: Line) -> None:
        """Note the ids of a reply that has no line, so that other processes know them as well."""
        self.note(ids, line)

        def add(saved: JSONValue | None) -> JSONValue:
            return [*_parse_saved(saved), *((each, line.seq) for each in ids)][-MAX_SAVED_IDS:]

        if ids:
            self._memory.store.update_setting(self._memory.bank, SETTING_RESPONSES, add)

    def find_turn(self, reply: str) -> int | None:
        """Return the number of the line that a reply answers, if it was noted or found in this process."""
        line = self._find_noted(reply)
        return None if line is None else line.seq

    def find_session(self, ids: Sequence[str]) -> str | None:
        """Return the session with one of these replies, preferably the first; None if the bank has none of them."""
        for find in (self._find_noted, self._find_saved, self._find_stored):
            if (line := next(filter(None, map(find, ids)), None)) is not None:
                return line.session
        return None

    def _find_noted(self, reply: str) -> Line | None:
        """Return the line that a noted reply answers, if the bank still has it."""
        line = self._turns.get(reply)
        if line is not None and not is_recorded(self._memory.store, self._memory.bank, line):
            del self._turns[reply]
            return None
        return line

    def _find_saved(self, reply: str) -> Line | None:
        """Return the line that a reply without a line answers, and note the reply."""
        store, bank = self._memory.store, self._memory.bank
        saved = store.settings(bank).get(SETTING_RESPONSES) if store.exists(bank) else None
        seq = dict(_parse_saved(saved)).get(reply)
        line = None if seq is None else get_recorded(store, bank, seq)
        if line is None or line.role != "user":
            return None
        self.note([reply], line)
        return line

    def _find_stored(self, reply: str) -> Line | None:
        """Return the line of a reply, retracted or not."""
        self._read_new()
        seq = self._stored.get(hash(reply))
        line = None if seq is None else get_recorded(self._memory.store, self._memory.bank, seq)
        return line if line is not None and reply in get_reply_ids(line.metadata) else None

    def _read_new(self) -> None:
        """Read the ids of the replies that were stored since the last call; all, if the bank was created again."""
        store, bank = self._memory.store, self._memory.bank
        last_seq = store.corpus_stats(bank).last_seq
        if last_seq < self._read_to or (self._last is not None and is_of_former_bank(store, bank, self._last)):
            self._stored, self._read_to = {}, 0
        if last_seq > self._read_to:
            for line in self._memory.lines(IS_NAMED, after=self._read_to, include_retracted=True):
                self._stored |= {hash(id): line.seq for id in get_reply_ids(line.metadata)}
            self._read_to, self._last = last_seq, get_recorded(store, bank, last_seq)


def _parse_saved(saved: JSONValue | None) -> list[tuple[str, int]]:
    """Return the ids and numbers in the value of SETTING_RESPONSES."""
    pairs = [pair for pair in saved if isinstance(pair, list) and len(pair) == 2] if isinstance(saved, list) else []
    return [(each, seq) for each, seq in pairs if isinstance(each, str) and isinstance(seq, int)]
