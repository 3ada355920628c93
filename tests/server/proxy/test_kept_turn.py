from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread import Memory
from everthread.errors import BadInput
from everthread.server.proxy.kept_turn import keep_turn
from everthread.server.proxy.lineage import Lineage
from everthread.server.proxy.message_text import ChatMessage

QUESTION, ANSWER = ChatMessage("user", "Where is Mia?"), ChatMessage("assistant", "In Lisbon.")


@pytest.fixture
def lineage(memory: Memory) -> Lineage:
    return Lineage(memory)


def texts(lineage: Lineage) -> list[str]:
    return [line.text for line in lineage.memory.lines()]


def test_a_turn_is_stored_once(lineage: Lineage) -> None:
    assert keep_turn(lineage, [QUESTION, ANSWER]) == keep_turn(lineage, [QUESTION, ANSWER])
    assert texts(lineage) == ["Where is Mia?", "In Lisbon."]
    assert lineage.memory.store.corpus_stats(lineage.memory.bank).last_seq == 2, "nothing was stored and retracted"


def test_several_replies_to_a_message_become_one_line(lineage: Lineage) -> None:
    messages = [QUESTION, ChatMessage("assistant", "Let me think."), ANSWER]
    keep_turn(lineage, messages)
    keep_turn(lineage, messages)
    assert texts(lineage) == ["Where is Mia?", "Let me think.\n\nIn Lisbon."]


def test_a_message_may_wait_for_its_reply(lineage: Lineage) -> None:
    session = keep_turn(lineage, [QUESTION])
    assert texts(lineage) == ["Where is Mia?"]
    assert keep_turn(lineage, [QUESTION, ANSWER], session) == session
    assert texts(lineage) == ["Where is Mia?", "In Lisbon."]


def test_a_later_turn_of_a_named_session_is_stored_once(lineage: Lineage) -> None:
    keep_turn(lineage, [QUESTION, ANSWER], "desk")
    for _ in range(2):
        keep_turn(lineage, [ChatMessage("user", "And Ann?"), ChatMessage("assistant", "In Porto.")], "desk")
    assert texts(lineage) == ["Where is Mia?", "In Lisbon.", "And Ann?", "In Porto."]
    keep_turn(lineage, [ChatMessage("user", "And Ann?"), ChatMessage("assistant", "Still there.")], "desk")
    assert texts(lineage)[4:] == ["And Ann?", "Still there."]


def test_messages_with_a_time_keep_it_and_the_others_of_a_history_have_none(lineage: Lineage) -> None:
    noon = datetime(2024, 5, 6, 12, tzinfo=UTC)
    later = noon + timedelta(minutes=1)
    question, answer = QUESTION._replace(said_at=noon), ANSWER._replace(said_at=later)
    keep_turn(lineage, [ChatMessage("user", "Hi."), ChatMessage("assistant", "Hello!"), question, answer])
    lines = list(lineage.memory.lines())
    assert [line.is_undated for line in lines] == [True, True, False, False]
    assert [line.said_at for line in lines[2:]] == [noon, later]


def test_an_opening_with_another_time_begins_another_session(lineage: Lineage) -> None:
    noon = datetime(2024, 5, 6, 12, tzinfo=UTC)
    sessions = [
        keep_turn(lineage, [QUESTION._replace(said_at=noon + timedelta(minutes=minutes)), ANSWER])
        for minutes in (0, 5, 0, 5)
    ]
    assert sessions[:2] == sessions[2:]
    assert sessions[0] != sessions[1]
    assert len(texts(lineage)) == 4


def test_replies_without_a_message_of_the_person_are_refused(lineage: Lineage) -> None:
    with pytest.raises(BadInput, match="got none of role user"):
        keep_turn(lineage, [ANSWER])
    assert texts(lineage) == []
