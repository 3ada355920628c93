"""Orders the messages of a conversation: each after the one that it follows, those that follow the same one by time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from everthread.transfer.services.conversation import Message

_EARLIEST = datetime.min.replace(tzinfo=UTC)  # of a message without a time


@dataclass(frozen=True, slots=True)
class Placed:
    """A message in its place.

    Attributes:
        message: the message, which becomes a line.
        parent: the position, in the same list, of the nearest message before it that does, too; None for a first one.
    """

    message: Message
    parent: int | None


def order_messages(messages: Sequence[Message], skipped: Counter[str]) -> list[Placed]:
    """Order the messages that become lines. The others pass on what they follow.

    Args:
        messages: the messages of a conversation.
        skipped: counts links to missing messages, links in circles, and repeated messages.
    """
    if all(message.parent is None for message in messages):
        return [Placed(message, None) for message in messages if message.has_content]
    by_id = _index(messages, skipped)
    children: dict[str | None, list[str]] = defaultdict(list)
    for key, message in by_id.items():
        parent = message.parent
        if parent is not None and parent not in by_id:
            skipped["links to missing messages"] += 1
            parent = None
        children[parent].append(key)
    for siblings in children.values():
        siblings.sort(key=lambda key: by_id[key].said_at or _EARLIEST)
    placed: list[Placed] = []
    seen: set[str] = set()
    _place(children[None], by_id, children, seen, placed)
    for key in by_id:  # in circles, which no first message leads to
        if key not in seen:
            skipped["links in circles"] += 1
            _place([key], by_id, children, seen, placed)
    return placed


def _index(messages: Sequence[Message], skipped: Counter[str]) -> dict[str, Message]:
    """Return the messages by id; one without an id gets a new one, and the first of several with an id stays."""
    by_id: dict[str, Message] = {}
    for number, message in enumerate(messages):
        key = message.id if message.id is not None else f"\0{number}"
        if key in by_id:
            skipped["repeated messages"] += 1
        else:
            by_id[key] = message
    return by_id


def _place(
    roots: Sequence[str],
    by_id: Mapping[str, Message],
    children: Mapping[str | None, Sequence[str]],
    seen: set[str],
    placed: list[Placed],
) -> None:
    """Add roots, and all that follows them, to `placed`. Without recursion, because conversations may be very deep."""
    stack: list[tuple[str, int | None]] = [(key, None) for key in reversed(roots)]
    while stack:
        key, parent = stack.pop()
        if key in seen:
            continue
        seen.add(key)
        if by_id[key].has_content:
            placed.append(Placed(by_id[key], parent))
            parent = len(placed) - 1
        stack += [(child, parent) for child in reversed(children.get(key, ()))]
