"""The state of a conversation with a person, as banks store it."""

from dataclasses import replace

from everthread.memory import Memory
from everthread.server.messaging.pending_question import PendingQuestion
from everthread.server.messaging.person_state import PersonState
from everthread.types import JSONValue

STORED: dict[str, JSONValue] = {
    "ask": "remember",
    "session": "s1",
    "times": 2,
    "settled": 4,
    "owed": [["line", 3], ["failed", 0]],
}


def test_a_stored_state_is_read_and_written_as_before(memory: Memory) -> None:
    memory.set_setting("sms", STORED)
    state = PersonState.load(memory, "sms")
    assert state == PersonState(PendingQuestion("remember", "s1", 2), 4, (("line", 3), ("failed", 0)))
    state.save(memory, "sms")
    assert memory.settings()["sms"] == STORED


def test_a_chosen_language_is_stored_too(memory: Memory) -> None:
    PersonState(language="de").save(memory, "sms")
    assert PersonState.load(memory, "sms") == PersonState(language="de")


def test_a_bank_without_a_state_has_the_initial_one(memory: Memory) -> None:
    assert PersonState.load(memory, "sms") == PersonState()


def test_a_question_is_counted_until_another_one_is_asked() -> None:
    once = PersonState(settled=3).with_question("remember", "s1")
    twice = once.with_question("remember", "s1")
    assert [state.question.times for state in (once, twice, twice.with_question("remember", "s2"))] == [1, 2, 1]
    assert twice.without_question(2) == PersonState(settled=3)
    assert replace(twice, settled=0).without_question(5) == PersonState(settled=5)
