from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.transfer.services.conversation import Message
from everthread.transfer.services.order import order_messages

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def message(name: str, parent: str | None = None, minute: int | None = 0, text: str | None = None) -> Message:
    said_at = None if minute is None else NOON + timedelta(minutes=minute)
    return Message(name if text is None else text, "user", "Ann", said_at, name, parent)


def links(messages: list[Message], skipped: Counter[str] | None = None) -> list[tuple[str, str | None]]:
    placed = order_messages(messages, Counter() if skipped is None else skipped)
    return [(each.message.text, None if each.parent is None else placed[each.parent].message.text) for each in placed]


def test_messages_without_parents_stay_in_their_order() -> None:
    assert links([message("b", minute=2), message("a"), message("", text=" ")]) == [("b", None), ("a", None)]


def test_parents_come_before_children_and_siblings_by_time() -> None:
    tree = [
        message("d", "b", 1),
        message("c", "a", 9),
        message("b", "a", 3),
        message("a", "root"),
        message("root", text=""),
    ]
    assert links(tree) == [("a", None), ("b", "a"), ("d", "b"), ("c", "a")]


def test_messages_without_text_pass_on_what_they_follow() -> None:
    assert links([message("a"), message("tool", "a", text=""), message("b", "tool")]) == [("a", None), ("b", "a")]


def test_circles_missing_parents_and_repeated_messages_are_counted() -> None:
    skipped = Counter[str]()
    broken = [message("a", "c"), message("b", "a"), message("c", "b"), message("d", "gone"), message("d", "a")]
    assert links(broken, skipped) == [("d", None), ("a", None), ("b", "a"), ("c", "b")]
    assert skipped == {"links in circles": 1, "links to missing messages": 1, "repeated messages": 1}


@pytest.mark.slow
def test_a_chain_of_50000_messages_is_ordered() -> None:
    chain = [message(str(number), str(number - 1) if number else None) for number in range(50_000)]
    assert [placed.message for placed in order_messages(chain[::-1], Counter())] == chain


NODES = st.lists(
    st.tuples(st.integers(0, 12), st.none() | st.integers(0, 14), st.none() | st.integers(0, 5), st.booleans())
)


@given(NODES)
def test_every_message_of_any_graph_is_placed_once_after_what_it_follows(
    nodes: list[tuple[int, int | None, int | None, bool]],
) -> None:
    messages = [
        message(str(name), None if parent is None else str(parent), minute, None if has_text else "")
        for name, parent, minute, has_text in nodes
    ]
    placed = order_messages(messages, Counter())
    first = {each.id: each for each in reversed(messages)}
    linear = all(each.parent is None for each in messages)
    expected = messages if linear else list(first.values())
    assert Counter(each.message.text for each in placed) == Counter(each.text for each in expected if each.text)
    assert all(each.parent is None or each.parent < index for index, each in enumerate(placed))
