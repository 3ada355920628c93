"""Replies are found by their ids, also by a process that has not stored them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from everthread import Line, Memory, NewLine
from everthread.common.keys import SETTING_RESPONSES
from everthread.server.proxy import reply_index
from everthread.server.proxy.reply_index import META_RESPONSE, ReplyIndex
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.types import JSONValue, Metadata

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


def test_a_reply_without_a_line_is_known_to_other_processes_if_it_is_saved(bank: Memory) -> None:
    index, other, line = ReplyIndex(bank), ReplyIndex(bank), next(bank.lines())
    index.note(["resp_noted"], line)
    index.save(["resp_saved"], line)
    for response in ("resp_noted", "resp_saved"):
        assert (index.find_session([response]), index.find_turn(response)) == ("first", line.seq)
    assert (other.find_session(["resp_noted"]), other.find_turn("resp_noted")) == (None, None)
    assert (other.find_session(["resp_saved"]), other.find_turn("resp_saved")) == ("first", line.seq)


@pytest.mark.parametrize("saved", ["resp_0", [3], [["resp_0", "1"]], [["resp_0", 99]], [["resp_0", 2]]])
def test_a_setting_that_names_no_line_of_the_person_is_ignored(bank: Memory, saved: JSONValue) -> None:
    bank.set_setting(SETTING_RESPONSES, saved)
    assert ReplyIndex(bank).find_session(["resp_0"]) is None
    line = next(bank.lines())
    ReplyIndex(bank).save(["resp_0"], line)
    assert ReplyIndex(bank).find_session(["resp_0"]) == line.session


def test_only_the_latest_ids_are_saved(bank: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_index, "MAX_SAVED_IDS", 2)
    index, line = ReplyIndex(bank), next(bank.lines())
    for number in (9, 10, 8):
        index.save([f"resp_{number}"], line)
    assert bank.settings()[SETTING_RESPONSES] == [["resp_10", line.seq], ["resp_8", line.seq]]


def test_only_the_latest_ids_are_held_in_memory(bank: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_index, "MAX_IDS", 2)
    index, line = ReplyIndex(bank), next(bank.lines())
    for number in (1, 2, 1, 3):
        index.note([f"resp_{number}"], line)
    assert [index.find_turn(f"resp_{number}") is not None for number in (1, 2, 3)] == [True, False, True]


def test_an_imported_line_with_ids_of_other_types_is_not_found(bank: Memory) -> None:
    bank.observe_many([NewLine("Hm.", "assistant", "assistant", metadata={META_RESPONSE: ["resp_x"]})])
    assert ReplyIndex(bank).find_session(["resp_x"]) is None


def test_only_new_lines_are_read_for_another_unknown_id(bank: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    index, last = ReplyIndex(bank), bank.store.corpus_stats(bank.bank).last_seq
    assert index.find_session(["unknown"]) is None
    read: list[int] = []
    lines = bank.store.lines

    def record(*given: Any, after: int = 0, **options: Any) -> Iterator[Line]:
        read.append(after)
        return lines(*given, after=after, **options)

    monkeypatch.setattr(bank.store, "lines", record)
    assert index.find_session(["another"]) is None
    bank.observe("Later.", session="third", role="assistant", metadata={META_RESPONSE: "resp_third"})
    assert index.find_session(["resp_third"]) == "third"
    assert min(read) >= last - 1


def test_the_replies_of_a_deleted_bank_are_not_found_in_its_successor(bank: Memory) -> None:
    index, line = ReplyIndex(bank), next(bank.lines())
    index.note(["resp_noted"], line)
    assert index.find_session(["resp_second"]) == "second"
    bank.forget(everything=True)
    for number in range(9):
        bank.observe("Hm.", session="later", role="assistant", metadata={META_RESPONSE: f"resp_{number}"})
    for former in ("resp_noted", "resp_second"):
        assert (index.find_session([former]), index.find_turn(former)) == (None, None)
    assert index.find_session(["resp_1"]) == "later"
