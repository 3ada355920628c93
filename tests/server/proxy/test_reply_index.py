"""Replies are found by their ids, also by a process that has not stored them."""

from __future__ import annotations

from itertools import count

import pytest

from everthread import Memory, NewLine
from everthread.server.proxy import reply_index
from everthread.server.proxy.reply_index import META_RESPONSE, ReplyIndex
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.types import Metadata

NAMES = count()


@pytest.fixture
def bank(any_store: Store) -> Memory:
    """Return a bank with a reply in each of two sessions."""
    bank = Memory.open(f"replies-{next(NAMES)}", store=any_store, embedder=HashEmbedder(64))
    for session in ("first", "second"):
        bank.observe("Hello?", session=session, role="user", metadata={META_RESPONSE: "of the person"})
        named: Metadata = {
            META_RESPONSE: f"resp_{session}",
            "message_id": f"msg_{session}",
            "deep": {"message_id": "inner"},
        }
        bank.observe("Hello.", session=session, role="assistant", metadata=named)
    return bank


@pytest.mark.parametrize("kind", ["resp", "msg"])
def test_a_stored_reply_is_found_by_both_its_ids(bank: Memory, kind: str) -> None:
    assert ReplyIndex(bank).find_session([f"{kind}_first"]) == "first"
    assert ReplyIndex(bank).find_session(["unknown", f"{kind}_second"]) == "second"


def test_neither_lines_of_the_person_nor_other_metadata_are_found(bank: Memory) -> None:
    for unknown in ([], ["unknown"], ["of the person"], ["inner"], ["1"]):
        assert ReplyIndex(bank).find_session(unknown) is None


def test_a_retracted_reply_is_found_unless_another_is_current(bank: Memory) -> None:
    replies = [line for line in bank.lines() if line.role == "assistant"]
    bank.retract(replies[1].seq)
    assert ReplyIndex(bank).find_session(["resp_second"]) == "second"
    assert ReplyIndex(bank).find_session(["resp_first", "resp_second"]) == "first"


def test_a_reply_without_a_line_is_known_to_this_process_alone(bank: Memory) -> None:
    index, line = ReplyIndex(bank), next(bank.lines())
    index.note(["resp_0", "msg_0"], line)
    assert (index.find_session(["msg_0"]), index.find_turn("resp_0")) == ("first", line.seq)
    assert (ReplyIndex(bank).find_session(["msg_0"]), ReplyIndex(bank).find_turn("resp_0")) == (None, None)


def test_only_the_latest_ids_are_held_in_memory(bank: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_index, "MAX_IDS", 2)
    index, line = ReplyIndex(bank), next(bank.lines())
    for number in (1, 2, 1, 3):
        index.note([f"resp_{number}"], line)
    assert [index.find_turn(f"resp_{number}") is not None for number in (1, 2, 3)] == [True, False, True]


def test_an_imported_line_with_ids_of_other_types_is_not_found(bank: Memory) -> None:
    bank.observe_many([NewLine("Hm.", "assistant", "assistant", metadata={META_RESPONSE: ["resp_x"]})])
    assert ReplyIndex(bank).find_session(["resp_x"]) is None
