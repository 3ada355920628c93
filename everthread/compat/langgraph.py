"""LangGraph's `BaseStore` on a bank: an item is a line, its namespace a session, a search a recall.

The text of the line is what the item says; its whole value is in the line's metadata. An item of which nothing is to be
found by its meaning is a line without words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from reprlib import repr as shortly
from typing import TYPE_CHECKING, Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from everthread.bank.line_validation import clean_lines, replace_unstorable
from everthread.compat.conditions import build_condition
from everthread.errors import BadInput, NotFound
from everthread.types import Filter, JSONValue, Line, NewLine, now

if TYPE_CHECKING:
    from everthread.client.client import Client
    from everthread.memory import Memory

PREFIX = "langgraph:"  # of the keys and the sessions of all items
TEXT_FIELDS = ("text", "content", "memory")  # what an item says, in one of these, if no fields are named
VALUE, CREATED_AT = "value", "created_at"  # names in the metadata of a line


class EverthreadStore(BaseStore):
    """A store of LangGraph in one bank, on this machine or on a server.

        with Memory.open("agent") as memory:
            store = EverthreadStore(memory)
            store.put(("memories", "alice"), "home", {"text": "Alice lives in Lisbon."})
            store.search(("memories",), query="Where does Alice live?")

    Items don't expire: a `ttl` raises NotImplementedError.
    """

    def __init__(self, memory: Memory | Client, fields: Sequence[str] = ()) -> None:
        """Use a bank, which the caller closes.

        Args:
            memory: the bank.
            fields: paths of the fields by which items are found, such as "title" or "chapters[*].summary"; none: the
                first that an item has of "text", "content" and "memory", else all its texts.
        """
        self._memory, self._fields = memory, tuple(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: all that read, then all that write. Of several writes of one item the last counts.

        Raises:
            InvalidNamespaceError: a label of a namespace is invalid.
            NotImplementedError: an item is to expire.
            BadInput: a value, a filter or a number is invalid.
            StoreUnavailable: the bank can't be read or written.

        Returns:
            For each operation its result; None for a write. If one is invalid, none is executed.
        """
        operations = list(ops)
        for op in operations:
            validate_op_namespace(op)
        puts = {_line_key(op): op for op in operations if isinstance(op, PutOp)}
        lines = {key: self._build_line(key, op) for key, op in puts.items() if op.value is not None}
        results = [self._read(op) for op in operations]
        self._write(lines)
        self._forget(puts.keys() - lines.keys())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in another thread, as `batch` does."""
        return await asyncio.to_thread(self.batch, list(ops))

    # ------------------------------------------------------------------ reading

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                line = self._find(_line_key(op))
                return None if line is None else Item(**_item_fields(line))
            case SearchOp() | ListNamespacesOp():
                try:
                    return self._search(op) if isinstance(op, SearchOp) else self._list_namespaces(op)
                except NotFound:  # a server has no bank before its first line
                    return []
        return None

    def _find(self, key: str) -> Line | None:
        try:
            return self._memory.get(key=key)
        except NotFound:  # as above
            return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Return items by their relevance to the query; after them, or without a query, the others, oldest first."""
        where = Filter(
            key_prefix=f"{PREFIX}{'.'.join((*op.namespace_prefix, ''))}",
            condition=build_condition(op.filter or {}, VALUE),
        )
        end = op.offset + op.limit
        hits = self._memory.recall(op.query, end, where=where) if op.query and end > 0 else []
        seqs = {hit.seq for hit in hits}
        lines = self._memory.lines(where, include_wordless=True)
        found: Iterator[tuple[Line, float | None]] = chain(
            ((hit.line, hit.relevance) for hit in hits), ((line, None) for line in lines if line.seq not in seqs)
        )
        return [SearchItem(**_item_fields(line), score=score) for line, score in islice(found, op.offset, end)]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        sessions = (session.id for session in self._memory.sessions())
        namespaces = (tuple(name.removeprefix(PREFIX).split(".")) for name in sessions if name.startswith(PREFIX))
        matching = (each for each in namespaces if all(matches(each, test) for test in op.match_conditions or ()))
        return sorted({each[: op.max_depth] for each in matching})[op.offset : op.offset + op.limit]

    # ------------------------------------------------------------------ writing

    def _build_line(self, key: str, op: PutOp) -> NewLine:
        """Return the checked line of an item.

        Raises:
            InvalidNamespaceError: the namespace has no label.
            NotImplementedError: the item is to expire.
            BadInput: its key or its value is invalid.
        """
        if not op.namespace:
            raise InvalidNamespaceError(f"a namespace needs at least one label, got {op.namespace!r}")
        if op.ttl is not None:
            raise NotImplementedError(
                f"items don't expire, got ttl={op.ttl!r}; delete them when they are no longer true"
            )
        if not isinstance(op.value, Mapping):
            raise BadInput(f"a value must be a mapping, got {shortly(op.value)}")
        metadata: dict[str, JSONValue] = {VALUE: dict(op.value), CREATED_AT: now().isoformat()}
        session = f"{PREFIX}{'.'.join(op.namespace)}"
        (line,) = clean_lines([NewLine("", key=key, session=session, metadata=metadata)])
        text = (
            ""
            if op.index is False
            else read_text(cast("dict[str, Any]", line.metadata[VALUE]), op.index or self._fields)
        )
        return clean_lines([replace(line, text=text)])[0]

    def _write(self, lines: Mapping[str, NewLine]) -> None:
        """Store the lines of items by key. An item that is stored keeps the time at which it was created."""
        stored = {key: line for key in lines if (line := self._find(key)) is not None}
        created = {key: {CREATED_AT: line.metadata[CREATED_AT]} for key, line in stored.items()}
        self._memory.observe_many(
            (
                replace(new, said_at=None, metadata={**new.metadata, **created.get(key, {})})
                for key, new in lines.items()
            ),
            replace=True,
        )

    def _forget(self, keys: Iterable[str]) -> None:
        """Delete the items with these keys at once."""
        if seqs := [line.seq for key in keys if (line := self._find(key)) is not None]:
            with suppress(NotFound):  # another process was faster
                self._memory.forget(seq=seqs)


def _line_key(op: GetOp | PutOp) -> str:
    """Return the key of an item's line. Two dots end the namespace, because labels have none."""
    return replace_unstorable(f"{PREFIX}{'.'.join(op.namespace)}..{op.key}")[0]


def _item_fields(line: Line) -> dict[str, Any]:
    """Return the fields of the item in a line."""
    namespace, _, key = (line.key or "").removeprefix(PREFIX).partition("..")
    return {
        "value": line.metadata[VALUE],
        "key": key,
        "namespace": tuple(namespace.split(".")),
        "created_at": _created_at(line),
        "updated_at": line.said_at.astimezone(UTC),
    }


def _created_at(line: Line) -> datetime:
    return datetime.fromisoformat(str(line.metadata[CREATED_AT]))


def read_text(value: dict[str, Any], fields: Sequence[str]) -> str:
    """Return what an item says; empty if none of its fields has a text.

    Args:
        value: its value.
        fields: paths of the fields; empty: those of `TEXT_FIELDS`, else all.
    """
    if fields:
        texts = [text for field in fields for text in get_text_at_path(value, field)]
    else:
        texts = list(_find_texts(next((value[name] for name in TEXT_FIELDS if name in value), value)))
    return "\n".join(text for text in texts if text.strip())


def _find_texts(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _find_texts(part)


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path, in which "*" is any one label."""
    count = len(condition.path)
    labels = namespace[:count] if condition.match_type == "prefix" else namespace[len(namespace) - count :]
    return len(labels) == count and all(
        wanted in ("*", label) for wanted, label in zip(condition.path, labels, strict=True)
    )
