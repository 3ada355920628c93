from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread import Filter, Memory, NewLine
from everthread.chat.chat import Chat
from everthread.chat.conversation import Conversation, open_session
from everthread.errors import BadLine, BadQuery, NotFound
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def opened(memory: Memory) -> Conversation:
    return Conversation(memory, "s")


def add(talk: Conversation, *texts: str) -> None:
    for text in texts:
        talk.add(NewLine(text, "Nora", said_at=NOON))


def imported(memory: Memory, lines: int) -> Conversation:
    """Import a conversation whose lines have no parents."""
    memory.observe_many([NewLine(f"line {n}", "Nora", said_at=NOON, session="s") for n in range(1, lines + 1)])
    return opened(memory)


def texts(talk: Conversation) -> list[str]:
    return [line.text for line in talk.lines]


def stored_texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def test_a_replacement_is_saved_and_the_replaced_lines_retracted_together(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two", "three")
    line = talk.add(NewLine("other", "Nora", said_at=NOON), replacing=talk.lines[1:])
    assert texts(talk) == stored_texts(memory) == ["one", "other"]
    assert line.parent == talk.lines[0].seq


def test_a_refused_line_is_not_shown_and_replaces_nothing(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two")
    refused = talk.add(NewLine("never", "Captain", "assistant", NOON), refused=True, replacing=talk.lines[1:])
    assert texts(talk) == stored_texts(memory) == ["one", "two"]
    assert refused.parent == talk.lines[0].seq
    assert refused.retracted_at is not None


def test_an_invalid_edit_changes_nothing(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two")
    with pytest.raises(BadLine):
        talk.edit(0, " ", NOON, {})
    assert texts(talk) == stored_texts(memory) == ["one", "two"]


def test_lines_discarded_incognito_are_only_hidden(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two", "three")
    talk.incognito = True
    talk.truncate(2)
    talk.edit(1, "secret", NOON, {})
    assert texts(talk) == ["one", "secret"]
    assert talk.hidden_seqs == {2, 3}
    assert stored_texts(memory) == ["one", "two", "three"]
    talk.end_incognito()
    assert texts(talk) == ["one", "two", "three"]
    assert talk.hidden_seqs == set()


def test_incognito_ignores_new_lines_of_others_and_drops_forgotten_ones(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two")
    talk.incognito = True
    talk.truncate(1)
    add(talk, "secret")
    memory.observe("three", session="s")
    talk.refresh()
    assert texts(talk) == ["one", "secret"]
    memory.forget(seq=1)
    talk.refresh()
    assert texts(talk) == ["secret"]


def test_two_conversations_in_one_session_see_each_others_changes(memory: Memory) -> None:
    one, other = opened(memory), opened(memory)
    add(one, "one")
    other.refresh()
    add(other, "two")
    one.refresh()
    assert texts(one) == texts(other) == ["one", "two"]
    assert one.lines[1].parent == one.lines[0].seq
    one.truncate(1)
    other.refresh()
    assert texts(other) == ["one"]


def test_a_conversation_in_a_bank_that_was_created_again_has_only_its_new_lines(memory: Memory) -> None:
    for text in ("I live in Oslo.", "I like pears."):
        memory.observe(text, speaker="Nora", session="s")
    conversation = Conversation(memory, "s")
    memory.forget(everything=True)
    memory.observe("I live in Bergen.", speaker="Nora", session="s")
    conversation.refresh()
    assert [line.text for line in conversation.lines] == ["I live in Bergen."]
    memory.forget(everything=True)
    for text in ("I live in Bodø.", "I like plums."):
        memory.observe(text, speaker="Nora", session="s")
    conversation.refresh()
    assert [line.text for line in conversation.lines] == ["I live in Bodø.", "I like plums."]


def test_a_line_hidden_incognito_hides_none_of_a_bank_that_was_created_again(memory: Memory) -> None:
    for text in ("I live in Oslo.", "I like pears."):
        memory.observe(text, speaker="Nora", session="s")
    conversation = Conversation(memory, "s", incognito=True)
    conversation.truncate(1)
    assert conversation.hidden_seqs == {2}
    memory.forget(everything=True)
    for text in ("I live in Bergen.", "I like plums."):
        memory.observe(text, speaker="Nora", session="s")
    conversation.refresh()
    assert conversation.hidden_seqs == set()


def test_a_forgotten_session_has_no_lines(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one")
    memory.forget(everything=True)
    talk.refresh()
    assert talk.lines == []


def test_a_branch_to_an_imported_line_restores_the_lines_before_it(memory: Memory) -> None:
    talk = imported(memory, 6)
    talk.branch(3)
    assert texts(talk) == ["line 1", "line 2", "line 3"]
    talk.branch(5)
    assert texts(talk) == stored_texts(memory) == ["line 1", "line 2", "line 3", "line 4", "line 5"]


def test_a_branch_to_a_line_after_imported_ones_keeps_the_imported_lines(memory: Memory) -> None:
    talk = imported(memory, 3)
    add(talk, "four")
    talk.truncate(3)
    add(talk, "instead")
    talk.branch(4)
    assert texts(talk) == ["line 1", "line 2", "line 3", "four"]


def test_a_branch_to_a_discarded_first_line_keeps_no_current_line(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two")
    talk.truncate(0)
    add(talk, "other", "and so on")
    talk.branch(2)
    assert texts(talk) == stored_texts(memory) == ["one", "two"]
    talk.branch(3)
    assert texts(talk) == stored_texts(memory) == ["other"]


def test_a_line_whose_parent_was_forgotten_cannot_be_restored(memory: Memory) -> None:
    talk = opened(memory)
    add(talk, "one", "two", "three")
    talk.truncate(1)
    memory.forget(seq=2)
    with pytest.raises(BadQuery, match="line 2, which led to it, is forgotten"):
        talk.branch(3)
    assert texts(talk) == stored_texts(memory) == ["one"]


def test_a_branch_to_a_line_of_another_session_is_rejected(memory: Memory) -> None:
    elsewhere = memory.observe("elsewhere", session="other")
    talk = opened(memory)
    add(talk, "one")
    with pytest.raises(NotFound):
        talk.branch(elsewhere.seq)
    assert texts(talk) == ["one"]


def test_many_lines_are_discarded_at_once(memory: Memory) -> None:
    talk = imported(memory, 300)
    before = memory.stats()
    talk.truncate(10)
    assert memory.stats().lines == 10
    assert memory.stats().retracted == before.retracted + 290
    assert memory.store.check(memory.bank) == []
    assert all(hit.line.seq <= 10 for hit in memory.recall("line 200", where=Filter(session="s")))


def test_a_restored_alternative_is_listed_once(
    memory: Memory,
) -> None:
    model = ScriptedLLM(["One.", "Two.", "Three."])
    with Chat(memory, llm=model, scribe=ExtractiveScribe()) as chat:
        list(chat.reply("Say something."))
        list(chat.regenerate())
        list(chat.regenerate())
        for wanted in ("One.", "Three.", "One.", "Two."):
            seq = next(line.seq for line in chat.alternatives() if line.text == wanted)
            chat.branch(seq)
            assert chat.lines[-1].text == wanted
            assert [line.text for line in chat.alternatives()] == ["One.", "Two.", "Three."]


def test_a_users_line_has_no_alternatives_and_a_greeting_only_itself(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["One."]), scribe=ExtractiveScribe()) as chat:
        assert chat.alternatives() == []
        chat.reply("Hello.")
        assert chat.alternatives() == []
        chat.undo()
        assert [line.seq for line in chat.alternatives()] == [1]


def test_a_reply_to_a_line_that_was_edited_since_is_no_alternative(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["To Tom.", "To Tim."]), scribe=ExtractiveScribe()) as chat:
        list(chat.reply("I am Tom."))
        list(chat.edit(chat.lines[-2].seq, "I am Tim.") or ())
        assert [line.text for line in chat.alternatives()] == ["To Tim."]


def test_incognito_a_reply_has_no_alternative_but_itself(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["One.", "Two."]), scribe=ExtractiveScribe(), incognito=True) as chat:
        list(chat.reply("Say something."))
        list(chat.regenerate())
        assert [line.text for line in chat.alternatives()] == ["Two."]


def say_in_two_sessions(memory: Memory) -> None:
    """Store a line in the session "older", and ten minutes later one in "newer"."""
    memory.observe("My sister Mia moved to Lisbon.", said_at=NOON - timedelta(minutes=20), session="older")
    memory.observe("My brother Ben sails.", said_at=NOON - timedelta(minutes=10), session="newer")


def resumed(memory: Memory, minutes: int = 0) -> str:
    """Return the session that is opened at noon, or some minutes before it."""
    at = NOON - timedelta(minutes=minutes)
    return open_session(memory, None, at, incognito=False, resume=True)[0].session


def test_an_older_open_session_is_not_resumed_after_a_newer_one_was_ended(memory: Memory) -> None:
    say_in_two_sessions(memory)
    assert resumed(memory) == "newer"
    memory.end("newer", NOON)
    assert resumed(memory) not in ("older", "newer")
    memory.observe("She likes it there.", said_at=NOON, session="older")
    assert resumed(memory) == "older"


def test_a_correction_in_an_older_session_does_not_make_it_the_one_to_resume(memory: Memory) -> None:
    say_in_two_sessions(memory)
    memory.correct(1, "My sister Mia moved to Porto.")
    assert resumed(memory) == "newer"


def test_a_clock_that_is_set_back_does_not_split_the_conversation_after_an_ended_one(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", said_at=NOON, session="ended")
    memory.end("ended", NOON)
    memory.observe("My brother Ben sails.", said_at=NOON - timedelta(minutes=3), session="begun")
    assert [resumed(memory, minutes) for minutes in (2, 1, 0)] == ["begun"] * 3


def test_a_conversation_that_was_ended_by_a_clock_that_was_set_back_is_not_resumed(memory: Memory) -> None:
    times = [NOON]
    with Chat(memory, llm=ScriptedLLM(["Hello."]), scribe=ExtractiveScribe(), clock=lambda: times[-1]) as chat:
        list(chat.reply("I live in Oslo."))
        times.append(NOON - timedelta(minutes=2))
        chat.end(remember=True)
    times.append(NOON + timedelta(minutes=10))
    with Chat(memory, scribe=ExtractiveScribe(), clock=lambda: times[-1]) as chat:
        assert not chat.lines


def test_a_session_of_the_first_hour_of_the_calendar_is_left_for_a_new_one(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", said_at=datetime.min.replace(tzinfo=UTC), session="first")
    _, last, left = open_session(memory, None, NOON, incognito=False, resume=True)
    assert last is not None
    assert [session.id for session in left] == [last.id] == ["first"]


def test_an_imported_session_that_was_ended_does_not_take_the_place_of_an_open_one(memory: Memory) -> None:
    say_in_two_sessions(memory)
    memory.observe("I have a garden.", said_at=NOON - timedelta(minutes=1), session="imported")
    memory.end("imported", NOON - timedelta(minutes=1))
    assert resumed(memory) == "newer"


def test_lines_with_later_times_are_not_the_last_ones_if_others_were_said_after_them(memory: Memory) -> None:
    memory.observe("I like tea.", said_at=NOON - timedelta(minutes=5), session="new")
    memory.observe("Said in another time zone.", said_at=NOON + timedelta(minutes=50), session="imported")
    memory.observe("And coffee.", said_at=NOON - timedelta(minutes=1), session="new")
    memory.correct(2, "Said elsewhere.")
    assert resumed(memory) == "new"
