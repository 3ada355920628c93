"""The state of the bot: invitations, supergroups, pending replies, and which messages show which line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from everthread.errors import StoreUnavailable
from everthread.server.telegram.chat_store import INVITATION_LIFETIME_S, MESSAGE_LIFETIME_S, ChatStore
from everthread.types import now


@pytest.fixture
def chats(tmp_path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore(tmp_path / "server.sqlite")) as chats:
        chats.claim(-5, chats.invite())
        yield chats


def make_older(folder: Path, table: str, seconds: float) -> None:
    with closing(sqlite3.connect(folder / "server.sqlite", isolation_level=None)) as db:
        db.execute(f"UPDATE {table} SET at = at - ?", (seconds + 1,))


def test_an_invitation_is_valid_once_and_for_a_week(chats: ChatStore, tmp_path: Path) -> None:
    code, late = chats.invite(), chats.invite()
    assert [chats.claim(7, code), chats.claim(8, code)] == [True, False]
    make_older(tmp_path, "telegram_invitations", INVITATION_LIFETIME_S)
    assert not chats.claim(9, late)
    assert [chats.is_claimed(chat) for chat in (7, 8, 9)] == [True, False, False]
    assert late.encode() not in (tmp_path / "server.sqlite").read_bytes()


def test_a_supergroup_continues_its_group_however_often_that_is_reported(chats: ChatStore) -> None:
    chats.move(-5, -1001)
    chats.move(-5, -1001)
    assert chats.is_claimed(-1001)
    assert (chats.find_home(-1001), chats.find_successor(-5)) == (-5, -1001)
    assert (chats.find_home(7), chats.find_successor(7)) == (7, None)


def test_a_supergroup_with_an_invitation_of_its_own_continues_no_group(chats: ChatStore) -> None:
    chats.claim(-1001, chats.invite())
    chats.move(-5, -1001)
    chats.move(-6, -1002)  # which was not invited
    assert (chats.find_home(-1001), chats.is_claimed(-1002)) == (-1001, False)


def test_a_pending_reply_outlives_the_process(chats: ChatStore, tmp_path: Path) -> None:
    chats.set_pending(-5, 12)
    with closing(ChatStore(tmp_path / "server.sqlite")) as later:
        assert later.list_pending() == [(-5, 12)]
        later.set_pending(-5, None)
    assert chats.get_pending(-5) is None


def test_the_messages_of_a_line_are_found_until_they_are_released(chats: ChatStore) -> None:
    chats.save_sent(-5, [4, 3], 2)
    chats.save_sent(-5, [9], 2, "correct")
    assert chats.list_sent(-5, 2) == [3, 4]
    assert (chats.find_line(-5, 9, "correct"), chats.find_line(-5, 9, "reply")) == (2, None)
    chats.release(-5, [2])
    assert (chats.list_sent(-5, 2), chats.list_free(-5)) == ([], [3, 4])
    chats.save_sent(-5, [3], 5)  # the next reply is shorter
    chats.remove_sent(-5, [4])
    assert (chats.list_sent(-5, 5), chats.list_free(-5)) == ([3], [])


def test_messages_are_recorded_for_three_months_or_until_the_bank_is_forgotten(
    chats: ChatStore, tmp_path: Path
) -> None:
    chats.save_sent(-5, [3], 2)
    make_older(tmp_path, "telegram_sent", MESSAGE_LIFETIME_S)
    chats.save_sent(-5, [4], 3)
    assert chats.find_line(-5, 3, "reply") is None
    chats.remove_sent_until(-5, now())
    assert chats.find_line(-5, 4, "reply") is None
    chats.save_sent(-5, [5], 3)
    chats.remove_sent_until(-5, now() - timedelta(minutes=1))
    assert chats.find_line(-5, 5, "reply") == 3


def test_a_file_that_cannot_be_used_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "server.sqlite").write_bytes(b"no database" * 100)
    with (
        closing(ChatStore(tmp_path / "server.sqlite")) as chats,
        pytest.raises(StoreUnavailable, match="cannot use"),
    ):
        chats.invite()
