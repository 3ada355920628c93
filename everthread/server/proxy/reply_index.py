"""Finds stored replies by the ids that the upstream gave them: a request may name a reply instead of repeating it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from everthread.bank.line_versions import get_recorded
from everthread.common.keys import SETTING_RESPONSES
from everthread.memory import Memory
from everthread.server.proxy.message_text import META_MESSAGE_ID
from everthread.types import AnyOf, Comparison, Filter, JSONValue, Line, Metadata

META_RESPONSE = "response"  # of a reply: the id of the response that it is in
MAX_IDS = 4096  # of one bank that are held in memory
MAX_SAVED_IDS = 64  # of one bank, of replies without a line


def get_reply_ids(metadata: Metadata) -> list[str]:
    """Return the ids by which a request may name the reply with these metadata."""
    ids = (metadata.get(name) for name in (META_RESPONSE, META_MESSAGE_ID))
    return [id for id in ids if isinstance(id, str) and id]


class ReplyIndex:
    """The replies of one bank by their ids. Not thread-safe.

    The ids of a reply are in the metadata of its line. For one without a line, because it only calls tools or was not
    read, they are in a setting of the bank.
    """

    def __init__(self, memory: Memory) -> None:
        """Create an index, which reads the bank on demand.

        Args:
            memory: the bank.
        """
        self._memory = memory
        self._turns: OrderedDict[str, tuple[str, int]] = OrderedDict()  # the session and number of the person's line

    def note(self, ids: Sequence[str], line: Line) -> None:
        """Note the ids of a reply to a line of the person."""
        for id in ids:
            self._turns[id] = line.session, line.seq
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
        return self._turns[reply][1] if reply in self._turns else None

    def find_session(self, ids: Sequence[str]) -> str | None:
        """Return the session with one of these replies, preferably the first; None if the bank has none of them."""
        known = [self._turns[id][0] for id in ids if id in self._turns]
        if known or not ids:
            return known[0] if known else None
        if (session := self._find_saved(ids)) is not None:
            return session
        names = (META_RESPONSE, META_MESSAGE_ID)
        is_named = AnyOf(tuple(Comparison(f"metadata.{name}", "in", tuple(ids)) for name in names))
        lines = self._memory.lines(Filter(role="assistant", condition=is_named), include_retracted=True)
        latest = max(lines, key=lambda line: (line.retracted_at is None, line.seq), default=None)
        return None if latest is None else latest.session

    def _find_saved(self, ids: Sequence[str]) -> str | None:
        """Return the session of the line that a reply without a line answers, and note the reply."""
        store, bank = self._memory.store, self._memory.bank
        saved = store.settings(bank).get(SETTING_RESPONSES) if store.exists(bank) else None
        answered = dict(_parse_saved(saved))
        for each in ids:
            line = get_recorded(store, bank, answered[each]) if each in answered else None
            if line is not None and line.role == "user":
                self.note([each], line)
                return line.session
        return None


def _parse_saved(saved: JSONValue | None) -> list[tuple[str, int]]:
    """Return the ids and numbers in the value of SETTING_RESPONSES."""
    pairs = [pair for pair in saved if isinstance(pair, list) and len(pair) == 2] if isinstance(saved, list) else []
    return [(each, seq) for each, seq in pairs if isinstance(each, str) and isinstance(seq, int)]
