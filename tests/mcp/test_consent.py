"""Forgetting: a person who can be asked decides; otherwise a token of an earlier call does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hardship.agent import MODES, Action, Person, call, data_of, offer, text_of

from everthread import Memory
from everthread.cli.mcp import make_keep
from everthread.mcp.banks import OpenBanks
from everthread.mcp.consent import QUOTE_CHARS
from everthread.mcp.server import MemoryServer
from everthread.types import NewLine

NOON = datetime(2024, 6, 2, 12, tzinfo=UTC)


@pytest.fixture
def server(memory: Memory) -> MemoryServer:
    return offer(memory)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _lines(memory: Memory) -> None:
    memory.observe_many(
        NewLine(text, "Nora", said_at=NOON, session="one")
        for text in ("My sister Mia moved to Lisbon.", "She has a dog called Rex.")
    )


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def test_a_line_is_forgotten_if_the_person_agrees(server: MemoryServer, memory: Memory, mode: str) -> None:
    person = Person("accept", {})
    result = call(server, "forget", mode, person, seq=1)
    assert person.asked == ["Forget line 1, 'My sister Mia moved to Lisbon.', of 2 June 2024 for good?"]
    assert data_of(result)["receipt"]["seqs"] == [[1, 1]]
    assert text_of(result) == "Forgot 1 line for good."
    assert texts(memory) == ["She has a dog called Rex."]


def test_the_question_names_no_day_of_an_undated_line(server: MemoryServer, memory: Memory) -> None:
    person = Person("decline")
    memory.observe_many([NewLine("I like ferns.", undated=True, session=session) for session in ("one", "two")])
    call(server, "forget", person=person, seq=3)
    call(server, "forget", person=person, session="one")
    call(server, "forget", person=person, session="two")
    assert person.asked == [
        "Forget line 3, 'I like ferns.', of an unknown time for good?",
        "Forget the session 'one' of 2 June 2024 with its 3 lines for good?",
        "Forget the session 'two' of an unknown time with its one line for good?",
    ]


def test_the_question_counts_the_versions_that_are_forgotten_too(server: MemoryServer, memory: Memory) -> None:
    memory.correct(1, "My sister Mia moved to Porto.")
    memory.retract(2)
    person = Person("decline")
    call(server, "forget", person=person, seq=3)
    call(server, "forget", person=person, session="one")
    assert person.asked == [
        "Forget line 3, 'My sister Mia moved to Porto.', of 2 June 2024, with its other version, for good?",
        "Forget the session 'one' of 2 June 2024 with its one line, and 2 hidden or replaced, for good?",
    ]
    assert text_of(call(server, "forget", person=Person("accept", {}), seq=3)) == "Forgot 2 lines for good."


@pytest.mark.parametrize(("action", "content"), [("accept", {"forget": False}), ("decline", None), ("cancel", None)])
def test_nothing_is_forgotten_if_the_person_does_not_agree(
    server: MemoryServer, memory: Memory, mode: str, action: Action, content: dict[str, bool] | None
) -> None:
    person = Person(action, content)
    result = call(server, "forget", mode, person, session="one")
    assert person.asked == ["Forget the session 'one' of 2 June 2024 with its 2 lines for good?"]
    assert data_of(result) == {"forgotten": False, "receipt": None, "confirm": None}
    assert text_of(result) == "Nothing was forgotten: the person did not agree."
    assert len(texts(memory)) == 2


def test_a_token_does_not_replace_a_person_who_can_be_asked(server: MemoryServer, memory: Memory, mode: str) -> None:
    token = data_of(call(server, "forget", mode, seq=1))["confirm"]
    assert not data_of(call(server, "forget", mode, Person("decline"), seq=1, confirm=token))["forgotten"]
    assert len(texts(memory)) == 2


def test_a_client_that_can_not_ask_confirms_with_a_token(server: MemoryServer, memory: Memory, mode: str) -> None:
    first = call(server, "forget", mode, session="one")
    token = data_of(first)["confirm"]
    assert "forget the session 'one' of 2 June 2024 with its 2 lines for good?" in text_of(first)
    assert token in text_of(first)
    assert len(texts(memory)) == 2
    assert data_of(call(server, "forget", mode, session="one", confirm=token))["receipt"]["lines"] == 2
    assert texts(memory) == []


def test_a_token_is_good_only_for_what_it_was_given_for(server: MemoryServer, memory: Memory) -> None:
    token = data_of(call(server, "forget", session="one"))["confirm"]
    for arguments in ({"seq": 1, "confirm": token}, {"session": "one", "confirm": "ü"}, {"session": "one"}):
        result = call(server, "forget", **arguments)
        assert not data_of(result)["forgotten"]
        assert ("is not the one for this" in text_of(result)) == ("confirm" in arguments)
    memory.observe("And a cat.", session="one")
    assert not data_of(call(server, "forget", session="one", confirm=token))["forgotten"]
    other = MemoryServer(OpenBanks({"alice": memory}, bytes(range(32)), make_keep()))
    assert data_of(call(other, "forget", seq=1))["confirm"] != data_of(call(server, "forget", seq=1))["confirm"]
    assert len(texts(memory)) == 3


def test_the_question_quotes_the_beginning_of_a_long_line_in_one_row(server: MemoryServer, memory: Memory) -> None:
    memory.observe("word\n" * 400)
    person = Person("decline")
    call(server, "forget", person=person, seq=3)
    assert "\n" not in person.asked[0]
    assert len(person.asked[0]) < QUOTE_CHARS + 80
