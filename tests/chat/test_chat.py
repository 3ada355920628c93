from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.chat.chat import Chat
from everthread.chat.prompt_builder import PromptParts, build_prompt, shared_prefix_ratio
from everthread.common.keys import META_ECHO, META_RECALLED
from everthread.errors import BadInput, BadLine, BadQuery, BankDamaged, LLMUnavailable, NotFound, StoreUnavailable
from everthread.factory import RECIPES
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.recall.reader import BankReader
from everthread.recall.types import Query, SearchResult
from everthread.recipes.default import Default
from everthread.recipes.membot import Membot
from everthread.scribes.base import NOTES_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.recall_records import get_answer
from everthread.testing import HashEmbedder, ScriptedLLM, StreamCut
from everthread.text.analyzer import remove_quotes
from everthread.types import Filter, FoundUnit, Line, Message, NewLine

QUESTION = load_wording()("chat.remember")
NOTED = load_wording()("chat.will_remember")
NOTHING_FOUND = load_wording()("chat.nothing_found")

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CAPTAIN = Character("Captain", "{{char}} sails with {{user}}.", person="Nora", greeting="Ahoy, {{user}}!")


class Clock:
    """Clock that advances by a minute at each call."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


Talk = Callable[..., Chat]


@pytest.fixture
def talk(memory: Memory, clock: Clock) -> Iterator[Talk]:
    """Return a function that opens a conversation with a scripted model."""
    open_: list[Chat] = []

    def begin(*replies: object, character: Character | None = CAPTAIN, **options: object) -> Chat:
        model = ScriptedLLM(replies or ("Aye.",) * 50, context=int(str(options.pop("context", 8192))))  # type: ignore[arg-type]
        options.setdefault("scribe", ExtractiveScribe())
        open_.append(Chat(memory, character, model, clock=clock, **options))  # type: ignore[arg-type]
        return open_[-1]

    yield begin
    for chat in open_:
        chat.wait(120)
        chat.close()


def get_reply_text(chat: Chat, text: str) -> str:
    """Return the character's reply."""
    return "".join(chat.reply(text))


def standing(chat: Chat) -> list[str]:
    return [f"{line.speaker}: {line.text}" for line in chat.lines]


def recorded(memory: Memory, retracted: bool = False) -> list[str]:
    return [f"{line.speaker}: {line.text}" for line in memory.lines(include_retracted=retracted)]


def prompts(chat: Chat) -> list[tuple[Message, ...]]:
    assert isinstance(chat.llm, ScriptedLLM)
    return chat.llm.prompts


def last_prompt_text(chat: Chat) -> str:
    """Return the text of the last prompt."""
    return "\n".join(message.content for message in prompts(chat)[-1])


# ----------------------------------------------------------------------- talking


def test_both_lines_are_saved_with_speakers_and_the_reply_has_the_users_line_as_parent(
    talk: Talk, memory: Memory
) -> None:
    chat = talk("Fair winds, Nora.")
    assert get_reply_text(chat, "Good morning.") == "Fair winds, Nora."
    greeting, morning, answer = memory.lines()
    assert [(line.speaker, line.role) for line in (greeting, morning, answer)] == [
        ("Captain", "assistant"),
        ("Nora", "user"),
        ("Captain", "assistant"),
    ]
    assert (morning.parent, answer.parent) == (greeting.seq, morning.seq)
    assert greeting.text == "Ahoy, Nora!"
    assert greeting.said_at <= morning.said_at <= answer.said_at
    assert {line.session for line in (greeting, morning, answer)} == {chat.session}


def test_a_reply_streams_in_pieces(talk: Talk) -> None:
    assert list(talk("Fair winds, Nora.").reply("Hello.")) == ["Fair", " winds,", " Nora."]


def test_the_users_line_is_saved_before_the_model_is_called(talk: Talk, memory: Memory) -> None:
    chat = talk()
    chat.reply("I sold the boat.")
    assert recorded(memory)[-1] == "Nora: I sold the boat."
    assert prompts(chat) == []


def test_the_prompt_ends_with_the_newest_line(talk: Talk) -> None:
    chat = talk("Aye.", "Aye again.")
    get_reply_text(chat, "First thing.")
    get_reply_text(chat, "Second thing.")
    assert [message.role for message in prompts(chat)[-1]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert last_prompt_text(chat).endswith("Nora: Second thing.")
    assert last_prompt_text(chat).index("Nora: First thing.") < last_prompt_text(chat).index("Captain: Aye.")


def test_a_greeting_is_said_only_once(talk: Talk, clock: Clock, memory: Memory) -> None:
    chat = talk()
    assert chat.greeting == "Ahoy, Nora!"
    get_reply_text(chat, "Hello.")
    assert chat.greeting == ""
    clock.pass_by(days=3)
    later = talk()
    assert later.greeting == ""
    get_reply_text(later, "Me again.")
    assert recorded(memory).count("Captain: Ahoy, Nora!") == 1


def test_an_unanswered_greeting_is_not_saved(talk: Talk, memory: Memory) -> None:
    assert talk().greeting
    assert recorded(memory) == []


def test_an_old_line_is_recalled_with_its_date_only_when_relevant(talk: Talk, memory: Memory, clock: Clock) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora", said_at=NOON - timedelta(days=200), session="old")
    chat = talk(character=Character("Captain", person="Nora"))
    get_reply_text(chat, "My sister Mia moved to Lisbon, did she not?")
    assert "Nora: My sister Mia moved to Lisbon." in last_prompt_text(chat)
    assert "6 months ago]" in last_prompt_text(chat)
    get_reply_text(chat, "zzz qqq xxx")
    assert "6 months ago]" not in last_prompt_text(chat)


def test_lines_in_the_window_are_not_recalled_as_well(talk: Talk) -> None:
    chat = talk()
    get_reply_text(chat, "My sister Mia moved to Lisbon.")
    reply = chat.reply("My sister Mia moved to Lisbon, as I said.")
    assert "".join(reply)
    assert not reply.context
    assert last_prompt_text(chat).count("My sister Mia moved to Lisbon.") == 1


def test_an_empty_line_is_rejected_and_nothing_is_saved(talk: Talk, memory: Memory) -> None:
    chat = talk(character=Character("Captain", person="Nora"))
    with pytest.raises(BadLine, match="text is empty"):
        chat.reply("   ")
    assert recorded(memory) == []


# -------------------------------------------------------------- cut and discarded


def test_the_text_of_a_broken_stream_is_saved_as_partial(talk: Talk, memory: Memory) -> None:
    chat = talk(StreamCut("I saw a whale", LLMUnavailable("it went away")), "Aye.")
    reply = chat.reply("What did you see?")
    with pytest.raises(LLMUnavailable):
        list(reply)
    line = list(memory.lines())[-1]
    assert (line.text, line.metadata["partial"]) == ("I saw a whale", True)
    assert reply.line == line
    assert get_reply_text(chat, "Go on.") == "Aye."


def test_a_stopped_reply_is_saved_as_far_as_it_arrived(talk: Talk, memory: Memory) -> None:
    reply = talk("one two three four").reply("Count.")
    next(reply), next(reply)
    reply.stop()
    assert list(memory.lines())[-1].text == "one two"
    assert reply.partial
    assert list(reply) == []


def test_an_unfinished_reply_is_saved_when_the_next_line_is_said(talk: Talk, memory: Memory) -> None:
    chat = talk("one two three", "Aye.")
    next(chat.reply("Count."))
    get_reply_text(chat, "Never mind.")
    assert recorded(memory)[1:] == ["Nora: Count.", "Captain: one", "Nora: Never mind.", "Captain: Aye."]


def test_the_users_line_is_saved_if_the_model_fails(talk: Talk, memory: Memory) -> None:
    chat = talk(LLMUnavailable("down"), "Here I am.")
    with pytest.raises(LLMUnavailable):
        get_reply_text(chat, "Are you there?")
    assert recorded(memory)[-1] == "Nora: Are you there?"
    assert chat.is_unanswered
    assert "".join(chat.answer()) == "Here I am."
    assert not chat.is_unanswered


def test_an_empty_reply_is_an_error_and_is_not_saved(talk: Talk, memory: Memory) -> None:
    chat = talk("", "Aye.")
    with pytest.raises(LLMUnavailable, match="empty reply"):
        get_reply_text(chat, "Hm?")
    assert recorded(memory)[-1] == "Nora: Hm?"
    assert "".join(chat.regenerate()) == "Aye."


def test_a_reply_is_cut_where_it_speaks_for_the_user(talk: Talk, memory: Memory) -> None:
    chat = talk("Captain: Aye, aye.\nNora: And then I jumped.\nCaptain: Splash!")
    assert get_reply_text(chat, "Tell me.") == "Aye, aye."
    assert recorded(memory)[-1] == "Captain: Aye, aye."


def test_a_refusal_is_shown_and_not_recalled(talk: Talk, memory: Memory) -> None:
    chat = talk("I'm sorry, but as an AI language model I can't help with that.", "Aye.")
    reply = chat.reply("Sing!")
    assert "".join(reply)
    assert reply.refused
    assert recorded(memory)[-1] == "Nora: Sing!"
    assert "language model" in recorded(memory, retracted=True)[-1]
    assert "".join(chat.regenerate()) == "Aye."
    assert "language model" not in last_prompt_text(chat)


def test_a_regenerated_reply_has_the_same_parent(talk: Talk, memory: Memory) -> None:
    chat = talk("A storm comes.", "All is calm.")
    get_reply_text(chat, "How is the sea?")
    first = chat.lines[-1]
    assert "".join(chat.regenerate()) == "All is calm."
    assert standing(chat)[-2:] == ["Nora: How is the sea?", "Captain: All is calm."]
    assert chat.lines[-1].parent == first.parent
    assert "A storm comes." not in last_prompt_text(chat)
    assert "A storm comes." in recorded(memory, retracted=True)[-2]


def test_the_old_reply_remains_if_regenerating_fails(talk: Talk) -> None:
    chat = talk("A storm comes.", LLMUnavailable("down"))
    get_reply_text(chat, "How is the sea?")
    with pytest.raises(LLMUnavailable):
        list(chat.regenerate())
    assert standing(chat)[-1] == "Captain: A storm comes."


def test_an_edited_line_gets_a_new_reply_and_later_lines_are_discarded(talk: Talk, memory: Memory) -> None:
    chat = talk("Rome!", "Aye.", "Lisbon!")
    chat.hear("We go to Rome.", metadata={"reply_to": "3"})
    list(chat.answer())
    seq = chat.lines[-2].seq
    get_reply_text(chat, "When?")
    reply = chat.edit(seq, "We go to Lisbon.")
    assert reply is not None
    assert "".join(reply) == "Lisbon!"
    assert standing(chat)[1:] == ["Nora: We go to Lisbon.", "Captain: Lisbon!"]
    assert chat.lines[1].metadata["reply_to"] == "3"
    assert "Rome" not in last_prompt_text(chat)
    assert not memory.context("We go to Rome.", gate=False, exclude=[line.seq for line in chat.lines]).text
    assert "Nora: We go to Rome." in recorded(memory, retracted=True)


def test_editing_a_reply_asks_for_no_new_one(talk: Talk) -> None:
    chat = talk("She lives in Rome.")
    get_reply_text(chat, "Where does Mia live?")
    assert chat.edit(chat.lines[-1].seq, "She lives in Lisbon.") is None
    assert standing(chat)[-1] == "Captain: She lives in Lisbon."


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_invalid_edit_changes_nothing(talk: Talk, text: str) -> None:
    chat = talk()
    get_reply_text(chat, "Hello.")
    before = standing(chat)
    with pytest.raises(BadLine):
        chat.edit(chat.lines[-2].seq, text)
    assert standing(chat) == before


def test_a_missing_line_cannot_be_edited(talk: Talk) -> None:
    chat = talk()
    get_reply_text(chat, "Hello.")
    with pytest.raises(NotFound, match="no line 99"):
        chat.edit(99, "Hi.")


def test_undo_discards_the_last_line_and_its_reply(talk: Talk, memory: Memory) -> None:
    chat = talk("one", "two")
    get_reply_text(chat, "First.")
    get_reply_text(chat, "Second.")
    assert [line.text for line in chat.undo()] == ["Second.", "two"]
    assert standing(chat)[1:] == ["Nora: First.", "Captain: one"]
    assert recorded(memory) == standing(chat)
    chat.undo()
    assert chat.undo() == []


def test_a_branch_continues_from_an_earlier_line(talk: Talk) -> None:
    chat = talk("one", "two", "other")
    get_reply_text(chat, "First.")
    at = chat.lines[-1].seq
    get_reply_text(chat, "Second.")
    chat.branch(at)
    get_reply_text(chat, "Instead.")
    assert standing(chat)[1:] == ["Nora: First.", "Captain: one", "Nora: Instead.", "Captain: other"]


def test_a_discarded_branch_can_be_restored(talk: Talk, memory: Memory) -> None:
    chat = talk("one", "two", "other")
    get_reply_text(chat, "First.")
    at = chat.lines[-1].seq
    get_reply_text(chat, "Second.")
    last_seq = chat.lines[-1].seq
    chat.branch(at)
    get_reply_text(chat, "Instead.")
    chat.branch(last_seq)
    assert standing(chat)[1:] == ["Nora: First.", "Captain: one", "Nora: Second.", "Captain: two"]
    assert recorded(memory) == standing(chat)
    texts = [line.text for line in memory.lines()]
    assert len(texts) == len(set(texts))


def test_a_branch_from_an_unknown_line_changes_nothing(talk: Talk) -> None:
    chat = talk()
    get_reply_text(chat, "First.")
    before = standing(chat)
    with pytest.raises(NotFound, match="no line 99"):
        chat.branch(99)
    assert standing(chat) == before


def test_answering_an_empty_conversation_is_rejected(talk: Talk) -> None:
    chat = talk()
    with pytest.raises(BadQuery, match="there is no line to answer yet"):
        chat.answer()
    with pytest.raises(BadQuery, match="no reply yet"):
        chat.regenerate()


# ----------------------------------------------------------------------- sessions


def test_a_conversation_is_resumed_within_the_hour(talk: Talk, clock: Clock) -> None:
    chat = talk("Aye.")
    get_reply_text(chat, "Remember the map.")
    chat.close()
    clock.pass_by(minutes=20)
    again = talk("I do.")
    assert again.session == chat.session
    assert standing(again)[1:] == ["Nora: Remember the map.", "Captain: Aye."]
    get_reply_text(again, "Do you?")
    assert "Nora: Remember the map." in last_prompt_text(again)


def test_after_an_hour_a_new_conversation_begins_and_the_old_one_is_summarised(
    talk: Talk, clock: Clock, memory: Memory
) -> None:
    chat = talk("Aye.")
    get_reply_text(chat, "My sister Mia moved to Lisbon in May.")
    chat.close()
    clock.pass_by(hours=5)
    later = talk("Aye.")
    later.wait(120)
    assert later.session != chat.session
    assert later.lines == []
    (summary,) = memory.units("summary")
    assert "Mia moved to Lisbon" in summary.text
    assert "20 November 2026" in summary.text
    assert "Mia moved to Lisbon" in later.notes


def test_a_conversation_that_was_left_for_another_is_summarised_once_it_is_idle(
    talk: Talk, clock: Clock, memory: Memory
) -> None:
    for days, name in ((400, "older"), (300, "old")):
        memory.observe("Said long ago.", session=name, said_at=NOON - timedelta(days=days))
    left = talk("Aye.", session="left")
    get_reply_text(left, "My sister Mia moved to Lisbon in May.")
    get_reply_text(talk("Aye.", session="other"), "My brother Ben sails on Sundays.")
    left.wait(120)
    assert [unit.metadata["session"] for unit in memory.units("summary")] == [
        "old"
    ]  # the last one, an hour ago or more
    clock.pass_by(hours=5)
    talk("Aye.").wait(120)
    assert [unit.metadata["session"] for unit in memory.units("summary")] == ["old", "left", "other"]
    assert [session.id for session in memory.sessions() if session.ended_at is None] == ["older"]


def test_a_named_session_is_resumed_at_any_age(talk: Talk, clock: Clock) -> None:
    get_reply_text(talk("Aye.", session="voyage"), "Ahoy.")
    clock.pass_by(days=90)
    assert standing(talk(session="voyage"))[-1] == "Captain: Aye."


def test_an_unanswered_line_is_present_when_the_session_resumes(talk: Talk, memory: Memory) -> None:
    chat = talk()
    chat.reply("Is anybody there?")  # and the process ends
    again = talk("I am.")
    assert again.is_unanswered
    assert "".join(again.answer()) == "I am."


def test_ending_changes_nothing_until_its_question_is_answered(talk: Talk, memory: Memory) -> None:
    chat = talk()
    get_reply_text(chat, "I work at the harbour.")
    ending = chat.end()
    assert (ending.remembered, ending.question) == (None, QUESTION)
    assert standing(chat)[-1] == "Captain: Aye."
    assert memory.sessions()[0].ended_at is None


def test_a_remembered_conversation_is_summarised(talk: Talk, memory: Memory) -> None:
    chat = talk()
    get_reply_text(chat, "I work at the harbour.")
    session = chat.session
    ending = chat.end(remember=True)
    chat.wait(120)
    assert ending.remembered
    assert memory.sessions()[0].ended_at is not None
    assert [unit.metadata["session"] for unit in memory.units("summary")] == [session]
    assert chat.session != session
    assert chat.lines == []


def test_a_forgotten_conversation_leaves_no_byte_on_disk(talk: Talk, memory: Memory, tmp_path: Path) -> None:
    chat = talk(*["Noted, a purple elephant, as you say, and I will think of it every day that we are at sea."] * 3)
    get_reply_text(chat, "I love a purple elephant.")
    ending = chat.end(remember=False)
    assert ending.receipt is not None
    assert ending.receipt.lines == 3
    assert recorded(memory, retracted=True) == []
    assert not any(b"elephant" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_ending_an_empty_conversation_does_nothing(talk: Talk, memory: Memory) -> None:
    assert talk().end(remember=True).remembered is False
    assert memory.sessions() == []


# ---------------------------------------------------------------------- incognito


def test_incognito_writes_nothing(talk: Talk, clock: Clock, tmp_path: Path) -> None:
    get_reply_text(chat := talk("Aye."), "Hello.")
    chat.close()
    clock.pass_by(days=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    incognito_chat = talk(
        "Of the gold in the cave nobody will hear from me, I promise you that by the " + "sea " * 9,
        "Aye.",
        incognito=True,
    )
    get_reply_text(incognito_chat, "There is gold in the cave.")
    get_reply_text(incognito_chat, "Much gold.")
    assert "There is gold in the cave." in last_prompt_text(incognito_chat)
    assert incognito_chat.end(remember=True).remembered is False
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} == set()


def test_lines_said_incognito_are_discarded_afterwards(talk: Talk, memory: Memory) -> None:
    chat = talk("one", "two", "three")
    get_reply_text(chat, "Hello.")
    chat.incognito = True
    get_reply_text(chat, "A secret.")
    assert standing(chat)[-1] == "Captain: two"
    chat.incognito = False
    get_reply_text(chat, "Back again.")
    assert "A secret" not in last_prompt_text(chat)
    assert recorded(memory)[1:] == ["Nora: Hello.", "Captain: one", "Nora: Back again.", "Captain: three"]


def test_incognito_lines_can_be_edited_and_undone(talk: Talk, memory: Memory) -> None:
    chat = talk("one", "two", "three", "four", character=Character("Captain", person="Nora"), incognito=True)
    get_reply_text(chat, "First.")
    get_reply_text(chat, "Second.")
    chat.undo()
    list(chat.edit(chat.lines[0].seq, "Other.") or ())
    "".join(chat.regenerate())
    assert standing(chat) == ["Nora: Other.", "Captain: four"]
    assert recorded(memory, retracted=True) == []


def test_ending_incognito_preserves_stored_lines(talk: Talk, memory: Memory) -> None:
    chat = talk()
    get_reply_text(chat, "Hello.")
    chat.incognito = True
    get_reply_text(chat, "A secret.")
    assert chat.end(remember=True).remembered
    assert "Nora: Hello." in recorded(memory)


# -------------------------------------------------------------- three tiers, echo


def long_talk(chat: Chat, turns: int, first: int = 0) -> None:
    for turn in range(first, first + turns):
        get_reply_text(
            chat, f"On day {turn} my sister Mia sailed to island number {turn} with her yellow boat and two dogs."
        )
        chat.wait(120)


@pytest.mark.slow
def test_lines_that_leave_the_window_are_noted_and_older_notes_remain_units(talk: Talk, memory: Memory) -> None:
    chat = talk(*["Aye, that is a long way to sail for anyone at all."] * 60, context=2600)
    long_talk(chat, 60)
    notes = memory.units("note")
    assert len(notes) > 1
    assert [unit.valid_to is None for unit in notes] == [False] * (len(notes) - 1) + [True]
    assert chat.notes == notes[-1].text
    assert "sailed to island" in chat.notes
    assert chat.notes.split("\n")[0] in last_prompt_text(chat)
    window = [line for line in chat.lines if line.seq > notes[-1].last_seq]
    assert f"{window[0].speaker}: {window[0].text}" in last_prompt_text(chat)
    assert chat.last_reply is not None
    assert chat.last_reply.prompt is not None
    assert chat.last_reply.prompt.cut == ()


@pytest.mark.slow
def test_the_window_is_cut_in_blocks_so_that_the_prefix_is_stable(talk: Talk) -> None:
    chat = talk(*["Aye, that is a long way to sail for anyone at all."] * 60, context=4000)
    shares = []
    for turn in range(60):
        before = chat.last_reply.prompt if chat.last_reply else None
        get_reply_text(chat, f"On day {turn} we sailed to island number {turn} with her yellow boat and two dogs.")
        chat.wait(120)
        assert chat.last_reply is not None
        if before is not None and chat.last_reply.prompt is not None:
            shares.append(shared_prefix_ratio(before, chat.last_reply.prompt))
    assert sum(share < 0.5 for share in shares[10:]) <= 3
    assert sum(shares[10:]) / len(shares[10:]) > 0.75


@pytest.mark.slow
def test_forgetting_a_line_removes_the_notes_on_it(talk: Talk, memory: Memory, tmp_path: Path) -> None:
    chat = talk(*["Aye, that is a long way to sail for anyone at all."] * 60, context=2600)
    get_reply_text(chat, "My brother Zebulon keeps a purple elephant in his yellow garden.")
    long_talk(chat, 30)
    assert memory.units("note")
    (seq,) = (line.seq for line in memory.lines() if "Zebulon" in line.text)
    chat.forget(seq)
    assert not any("Zebulon" in unit.text for unit in memory.units())
    long_talk(chat, 20, first=30)
    assert "Zebulon" not in last_prompt_text(chat)
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_line_forgotten_by_another_process_leaves_the_window_at_once(talk: Talk, memory: Memory) -> None:
    chat = talk()
    get_reply_text(chat, "My PIN is in the drawer.")
    memory.forget(seq=chat.lines[-2].seq)
    get_reply_text(chat, "What did I say?")
    assert "drawer" not in last_prompt_text(chat)


def test_a_reply_that_repeats_a_memory_is_saved_but_not_recalled_for_it(talk: Talk, memory: Memory) -> None:
    told = "My sister Mia moved to Lisbon with her two dogs in May."
    memory.observe(told, speaker="Nora", said_at=NOON - timedelta(days=200), session="old")
    chat = talk(
        f"Well, {told} So you said, Nora, and I remember it well.", character=Character("Captain", person="Nora")
    )
    reply = chat.reply("My sister Mia moved to Lisbon with her dogs, did she not?")
    assert told in "".join(reply)
    line = list(memory.lines())[-1]
    assert line.metadata[META_ECHO]
    assert "Mia" not in remove_quotes(line.text, line.metadata)
    hits = memory.recall("Who moved to Lisbon with two dogs in May?", where=Filter(speaker="Captain"))
    assert hits[0].signals["share"] == 0


def test_the_job_of_a_failing_scribe_stays_queued_and_is_counted(memory: Memory, clock: Clock) -> None:
    from everthread.scribes.llm import LLMScribe

    broken = LLMScribe(ScriptedLLM([LLMUnavailable("down")] * 9))
    with Chat(memory, CAPTAIN, ScriptedLLM(["Aye."] * 9), scribe=broken, clock=clock) as chat:
        get_reply_text(chat, "I work at the harbour.")
        chat.end(remember=True)
        assert chat.wait(120)
    assert memory.stats().queued == 2
    assert {work.error for work in memory.jobs()} == {"LLMUnavailable"}
    assert "Nora: I work at the harbour." in recorded(memory)
    with Chat(memory, CAPTAIN, ScriptedLLM(["Aye."] * 9), scribe=ExtractiveScribe(), clock=clock) as again:
        assert again.wait(120)
    assert memory.stats().queued == 0
    assert "I work at the harbour." in memory.units("summary")[0].text


# --------------------------------------------------------------------- characters


def test_the_bank_saves_its_character_and_edits_of_it(talk: Talk, memory: Memory) -> None:
    chat = talk()
    chat.edit_character(location="the crow's nest", person="Nora the Brave")
    get_reply_text(chat, "Hello.")
    assert "at: the crow's nest" in last_prompt_text(chat)
    assert last_prompt_text(chat).endswith("Nora the Brave: Hello.")
    again = talk(character=None)
    assert again.character.location == "the crow's nest"
    assert again.character.name == "Captain"


def test_the_default_character_speaks_if_none_is_set(talk: Talk) -> None:
    assert talk(character=None).character == DEFAULT_CHARACTER


def test_an_unknown_field_of_a_character_is_rejected(talk: Talk) -> None:
    with pytest.raises(BadInput, match="unknown field 'hat'"):
        talk().edit_character(hat="blue")


def test_the_first_long_reply_becomes_the_style_sample(talk: Talk, clock: Clock) -> None:
    long = (
        "Arr, the wind be howling and the mast be creaking, so hold fast to the rope and keep thy hat on, lass, I say."
    )
    chat = talk("Aye.", long, *["Aye, aye."] * 9)
    get_reply_text(chat, "Hello.")
    assert chat.sample == ""
    get_reply_text(chat, "How is it?")
    assert chat.sample == long
    clock.pass_by(days=2)
    later = talk("Aye.")
    get_reply_text(later, "Hello again.")
    assert long in prompts(later)[-1][0].content
    later.edit_character(sample="Short and dry.")
    assert later.sample == "Short and dry."


def test_a_forgotten_sample_is_no_longer_used(talk: Talk, memory: Memory) -> None:
    long = (
        "Arr, the wind be howling and the mast be creaking, so hold fast to the rope and keep thy hat on, lass, I say."
    )
    chat = talk(long, "Aye.")
    get_reply_text(chat, "How is it?")
    chat.forget(chat.lines[-1].seq)
    assert chat.sample == ""
    get_reply_text(chat, "And now?")
    assert "creaking" not in last_prompt_text(chat)


# -------------------------------------------------------------------- proactively


def test_an_announced_event_is_offered_once_in_the_next_conversation(talk: Talk, clock: Clock) -> None:
    chat = talk()
    get_reply_text(chat, "My job interview is tomorrow.")
    chat.close()
    clock.pass_by(days=2)
    later = talk()
    assert "interview" in later.reminder
    reply = later.reply("Good morning.")
    assert "".join(reply)
    assert "My job interview is tomorrow." in reply.reminder
    assert "yesterday" in reply.reminder
    assert reply.reminder in last_prompt_text(later)
    again = later.reply("Well.")
    assert "".join(again)
    assert again.reminder == ""
    clock.pass_by(days=1)
    assert talk().reminder == ""


def test_a_greeting_does_not_take_the_place_of_a_reminder(talk: Talk, clock: Clock, memory: Memory) -> None:
    memory.observe("My job interview is tomorrow.", speaker="Nora", said_at=NOON - timedelta(days=2))
    chat = talk()
    assert "interview" in chat.reminder
    reply = chat.reply("Good morning.")
    assert "".join(reply)
    assert standing(chat)[0] == "Captain: Ahoy, Nora!"
    assert "My job interview is tomorrow." in reply.reminder
    again = chat.reply("Well.")
    assert "".join(again)
    assert again.reminder == ""


# -------------------------------------------------------------------- no model


def test_the_model_is_given_the_names_under_which_the_user_spoke_before(
    memory: Memory, clock: Clock, talk: Talk
) -> None:
    chat = talk(character=Character("Captain", person="Nora"))
    get_reply_text(chat, "My sister Mia moved to Lisbon.")
    assert "Earlier messages" not in last_prompt_text(chat)
    chat.edit_character(person="Eleanor")
    get_reply_text(chat, "Where does Mia live?")
    assert " Earlier messages call Eleanor: Nora.)" in last_prompt_text(chat)


def test_without_a_model_a_reply_shows_memories_and_is_not_saved(memory: Memory, clock: Clock) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora", said_at=NOON - timedelta(days=9), session="old")
    with Chat(memory, CAPTAIN, None, clock=clock) as chat:
        first = get_reply_text(chat, "My sister Mia moved to Lisbon, did she not?")
        assert first == "On 11 November 2026 you told me: “My sister Mia moved to Lisbon.”"
        assert get_answer(chat.lines[0].metadata) == 1
        assert [hit.seq for hit in memory.evidence(2).hits] == [1]
        assert get_reply_text(chat, "zzz qqq xxx?") == NOTHING_FOUND
        session = chat.end(remember=True).session
        chat.wait(120)
    assert [line.speaker for line in memory.lines()] == ["Nora"] * 3
    assert memory.units("summary")[-1].metadata["session"] == session


def test_without_a_model_a_text_is_stored_before_anything_is_recalled_for_it(memory: Memory, clock: Clock) -> None:
    class Broken(Default):
        def recall(self, reader: BankReader, query: Query, k: int) -> SearchResult:
            raise BankDamaged("no index")

    memory.recipe = Broken()
    with Chat(memory, CAPTAIN, None, clock=clock) as chat:
        with pytest.raises(BankDamaged):
            chat.reply("My sister Mia moved to Lisbon.")
        assert [line.text for line in memory.lines()] == ["My sister Mia moved to Lisbon."]
        memory.recipe = Default()
        assert "".join(chat.answer()) == NOTED
        assert META_RECALLED in memory.get(1).metadata  # type: ignore[union-attr]


def test_a_chat_opens_by_name_with_the_configuration(tmp_path: Path) -> None:
    with Chat.open("nora", store=tmp_path, embedder=HashEmbedder()) as chat:
        assert chat.llm is None
        assert get_reply_text(chat, "I have a cat.") == NOTED
    with Chat.open("nora", store=tmp_path, embedder=HashEmbedder(), llm=ScriptedLLM(["Aye."])) as chat:
        assert get_reply_text(chat, "Hello again.") == "Aye."


def test_no_missing_vectors_are_reported_if_all_lines_are_in_the_prompt(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    get_reply_text(talk(), "Hello.")
    assert "has no vectors" not in caplog.text


@pytest.mark.slow
def test_superseded_notes_can_be_recalled(talk: Talk, memory: Memory) -> None:
    chat = talk(*["Aye, that is a long way to sail for anyone at all."] * 60, context=2600)
    long_talk(chat, 50)
    first, *_, last = memory.units("note")
    dropped_row = next(row for row in first.text.splitlines() if row not in last.text)
    hits = memory.recall(dropped_row, where=Filter(kind="note"))
    assert dropped_row in hits[0].text
    assert hits[0].unit.id != last.id


def test_memories_shown_without_a_model_are_not_filtered(memory: Memory, clock: Clock) -> None:
    memory.observe(
        "In HTML, </s> ends what <s> began.", speaker="user", said_at=NOON - timedelta(days=9), session="old"
    )
    with Chat(memory, None, None, clock=clock) as chat:
        assert "“In HTML, </s> ends what <s> began.”" in get_reply_text(chat, "What ends what <s> began in HTML?")


def test_a_closed_conversation_rejects_every_call(talk: Talk, memory: Memory) -> None:
    chat = talk()
    chat.close()
    chat.close()
    with pytest.raises(BadQuery, match="is closed; open another Chat"):
        chat.reply("Hello?")
    assert recorded(memory) == []


def test_notes_include_facts_that_were_recalled_from_the_noted_lines(memory: Memory, clock: Clock) -> None:
    with Chat(memory, CAPTAIN, None, clock=clock) as chat:
        for text in ("My sister Mia moved to Lisbon.", "My sister Mia has two dogs.", "Where did my sister Mia move?"):
            get_reply_text(chat, text)
        chat.end(remember=True)
        chat.wait(120)
    assert "Mia moved to Lisbon" in memory.units("note", only_current=True)[0].text


def test_a_summary_is_rewritten_after_one_of_its_lines_is_forgotten(talk: Talk, memory: Memory) -> None:
    chat = talk()
    get_reply_text(chat, "My sister Mia moved to Lisbon.")
    get_reply_text(chat, "My brother Zebulon keeps two purple elephants.")
    chat.end(remember=True)
    chat.wait(120)
    memory.forget(seq=next(line.seq for line in memory.lines() if "Zebulon" in line.text))
    assert memory.units("summary") == []
    again = talk()
    again.wait(120)
    (summary,) = memory.units("summary")
    assert "Mia" in summary.text
    assert "Zebulon" not in summary.text


# ------------------------------------------------------------------- special cases


LONG_REPLY = (
    "Arr, the wind be howling and the mast be creaking, so hold fast to the rope and keep thy hat on, lass, I say."
)


def test_a_reply_to_be_replaced_is_neither_recalled_nor_used_as_a_sample(talk: Talk, memory: Memory) -> None:
    chat = talk(LONG_REPLY, "Aye.", character=Character("Captain", person="Nora"))
    get_reply_text(chat, "Is the wind howling and the mast creaking?")
    assert chat.sample == LONG_REPLY
    "".join(chat.regenerate())
    assert "howling and the mast be" not in last_prompt_text(chat)
    assert chat.sample == ""


def test_a_discarded_sample_is_replaced_by_the_next_long_reply(talk: Talk) -> None:
    chat = talk(LONG_REPLY, LONG_REPLY.replace("lass", "Nora"))
    get_reply_text(chat, "Hello.")
    chat.undo()
    assert chat.sample == ""
    get_reply_text(chat, "Hello again.")
    assert "Nora" in chat.sample


def test_a_reply_that_is_too_long_is_no_sample(talk: Talk) -> None:
    chat = talk("Arr! " * 3000, LONG_REPLY)
    get_reply_text(chat, "Hello.")
    assert chat.sample == ""
    get_reply_text(chat, "And?")
    assert chat.sample == LONG_REPLY


def test_a_reply_in_a_script_without_spaces_can_be_a_sample(talk: Talk) -> None:
    text = "今天的风很大，桅杆吱吱作响，所以抓紧绳子，把帽子戴好，我的朋友，我们要出海了，一起去看看那座岛吧。"
    chat = talk(text)
    get_reply_text(chat, "Hello.")
    assert chat.sample == text


def test_a_renamed_character_keeps_its_lines(talk: Talk) -> None:
    chat = talk("Aye.", "Other.", character=Character("Captain", person="Nora"))
    get_reply_text(chat, "Hello.")
    chat.edit_character(name="Admiral", person="Nora the Brave")
    assert not chat.is_unanswered
    "".join(chat.regenerate())
    assert standing(chat) == ["Nora: Hello.", "Admiral: Other."]
    assert [line.text for line in chat.undo()] == ["Hello.", "Other."]


def test_a_renamed_characters_lines_keep_their_role_in_the_prompt(talk: Talk) -> None:
    chat = talk("Aye.", "Yes.", character=Character("Captain", person="Nora"))
    get_reply_text(chat, "Hello.")
    chat.edit_character(name="Admiral")
    get_reply_text(chat, "Still there?")
    assert [message.role for message in prompts(chat)[-1]] == ["system", "user", "assistant", "user"]


def test_undo_keeps_a_line_of_another_character(talk: Talk) -> None:
    chat = talk("Aye.", character=Character("Captain", person="Nora"))
    chat.add_line("Soup is ready.", "Cook", of_character=True)
    assert chat.undo() == []
    assert not chat.is_unanswered
    assert standing(chat) == ["Cook: Soup is ready."]


def test_a_description_too_long_for_the_model_is_rejected_before_anything_is_saved(talk: Talk, memory: Memory) -> None:
    chat = talk(character=Character("Captain", "sea " * 20_000, person="Nora", greeting="Ahoy!"))
    with pytest.raises(BadQuery, match="shorten them"):
        chat.reply("Hello.")
    assert recorded(memory, retracted=True) == []
    chat.edit_character(description="A sailor.")
    assert get_reply_text(chat, "Hello.") == "Aye."
    chat.edit_character(description="sea " * 20_000)
    before = standing(chat)
    with pytest.raises(BadQuery, match="shorten them"):
        chat.edit(chat.lines[-2].seq, "Other.")
    assert standing(chat) == before


@pytest.mark.slow
def test_a_line_longer_than_the_context_is_shortened_only_in_the_prompt(talk: Talk, memory: Memory) -> None:
    chat = talk("Aye.", "Aye.", context=2400)
    text = "whale " * 50_000 + "That is all."
    get_reply_text(chat, text)
    assert last_prompt_text(chat).endswith("That is all.")
    assert chat.last_reply is not None
    assert chat.last_reply.prompt is not None
    assert chat.last_reply.prompt.tokens <= 2400 - 512
    assert text in [line.text for line in memory.lines()]
    get_reply_text(chat, "And now?")
    assert chat.last_reply.prompt.tokens <= 2400 - 512


def test_a_rejected_line_saves_no_greeting(talk: Talk, memory: Memory) -> None:
    chat = talk()
    with pytest.raises(BadLine, match="text is empty"):
        chat.reply("   ")
    assert recorded(memory) == []


def test_asking_whether_to_remember_preserves_incognito_lines(talk: Talk) -> None:
    chat = talk()
    get_reply_text(chat, "Hello.")
    chat.incognito = True
    get_reply_text(chat, "A secret.")
    before = standing(chat)
    assert chat.end().remembered is None
    assert standing(chat) == before
    assert chat.incognito


def test_changes_made_incognito_are_temporary(talk: Talk, memory: Memory) -> None:
    chat = talk("one", "two", "three", "four")
    get_reply_text(chat, "First.")
    get_reply_text(chat, "Second.")
    before = standing(chat)
    chat.incognito = True
    "".join(chat.regenerate())
    chat.undo()
    list(chat.edit(chat.lines[1].seq, "Other.") or ())
    assert standing(chat) == ["Captain: Ahoy, Nora!", "Nora: Other.", "Captain: four"]
    assert "Second" not in last_prompt_text(chat)
    chat.incognito = False
    assert standing(chat) == recorded(memory) == before


def test_ending_begins_a_new_conversation_even_if_an_older_one_is_open(talk: Talk) -> None:
    get_reply_text(talk("Aye.", session="older"), "Hello.")
    chat = talk("Aye.", session="newer")
    get_reply_text(chat, "Hello.")
    chat.end(remember=False)
    assert chat.session not in ("older", "newer")
    assert chat.lines == []


def test_discarded_lines_are_forgotten_with_their_conversation(talk: Talk, memory: Memory, tmp_path: Path) -> None:
    chat = talk(character=Character("Captain", person="Nora"))
    get_reply_text(chat, "I love a purple elephant.")
    chat.undo()
    assert chat.end().remembered is False  # no line is left to ask about, and nothing is forgotten unasked
    assert len(recorded(memory, retracted=True)) == 2
    chat = talk(session=memory.sessions()[0].id)
    assert chat.end(remember=False).receipt is not None
    assert not any(b"elephant" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_forgetting_a_restored_line_removes_all_its_copies(talk: Talk, memory: Memory, tmp_path: Path) -> None:
    chat = talk("one", "two")
    get_reply_text(chat, "I love a purple elephant.")
    seq = chat.lines[-1].seq
    chat.branch(1)
    chat.branch(seq)
    receipt = chat.forget(next(line.seq for line in chat.lines if "elephant" in line.text))
    assert receipt is not None
    assert receipt.lines == 2
    assert not any(b"elephant" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_session_dated_in_the_future_is_not_resumed(talk: Talk, memory: Memory, clock: Clock) -> None:
    memory.observe("Hello from tomorrow.", session="wrong", said_at=NOON + timedelta(days=400))
    chat = talk("Aye.")
    assert chat.session != "wrong"
    get_reply_text(chat, "Hello.")
    assert talk().session == chat.session


def test_a_small_step_back_of_the_clock_keeps_the_session(talk: Talk, clock: Clock) -> None:
    chat = talk("Aye.", "Aye.")
    get_reply_text(chat, "Hello.")
    clock.pass_by(minutes=-20)
    get_reply_text(chat, "Again.")
    assert [text.split(": ")[1] for text in standing(talk())][1:] == ["Hello.", "Aye.", "Again.", "Aye."]


def test_a_clock_without_an_offset_is_rejected(memory: Memory) -> None:
    with pytest.raises(BadInput, match=r"invalid clock: got .*, expected a time with a UTC offset"):
        Chat(memory, CAPTAIN, None, clock=lambda: datetime(2026, 11, 20, 12))


def test_each_of_two_alternating_sessions_has_its_own_lines_in_the_prompt(talk: Talk) -> None:
    one = talk("Aye.", session="one")
    get_reply_text(one, "The map is in the drawer.")
    other = talk("Aye.", session="other")
    get_reply_text(other, "My sister Mia moved to Lisbon.")
    other.end(remember=True)
    assert other.wait(120)
    assert "Lisbon" in other.notes
    again = talk("Aye.", session="one")
    get_reply_text(again, "Well?")
    assert "Nora: The map is in the drawer." in last_prompt_text(again)


def test_a_session_continued_after_its_end_is_summarised_again(talk: Talk, clock: Clock, memory: Memory) -> None:
    chat = talk(session="voyage")
    get_reply_text(chat, "My sister Mia moved to Lisbon.")
    chat.end(remember=True)
    assert chat.wait(120)
    get_reply_text(talk(session="voyage"), "My brother Tom works in Oslo.")
    clock.pass_by(hours=3)
    assert talk().wait(120)
    (current,) = memory.units("summary", only_current=True)
    assert "Mia" in current.text
    assert "Tom" in current.text


def test_a_reminder_is_repeated_if_its_reply_failed_or_was_discarded(talk: Talk, clock: Clock) -> None:
    get_reply_text(talk(), "My job interview is tomorrow.")
    clock.pass_by(days=2)
    chat = talk(LLMUnavailable("down"), "How was it?", "Tell me of it!", "Well?", "So?")
    with pytest.raises(LLMUnavailable):
        get_reply_text(chat, "Good morning.")
    for again in (chat.answer, chat.regenerate):
        reply = again()
        assert "".join(reply)
        assert "interview" in reply.reminder
    chat.undo()
    reply = chat.reply("Hello.")
    assert "".join(reply)
    assert "interview" in reply.reminder
    reply = chat.reply("Well.")
    assert "".join(reply)
    assert reply.reminder == ""


def test_reminders_are_limited_across_chats_opened_for_each_turn(talk: Talk, clock: Clock, memory: Memory) -> None:
    get_reply_text(talk(), "My job interview is tomorrow.")
    clock.pass_by(days=2)
    reminders = []
    for text in ("Good morning.", "My job interview is tomorrow, I said.", "Well.", "So."):
        reply = talk("Aye.").reply(text)
        assert "".join(reply)
        reminders.append(reply.reminder)
    assert "interview" in reminders[0]
    assert reminders[1:] == ["", "", ""]


def test_opening_and_closing_a_chat_writes_nothing(talk: Talk, clock: Clock, tmp_path: Path) -> None:
    chat = talk("Aye.")
    get_reply_text(chat, "Hello.")
    chat.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    idle = talk()
    assert idle.reminder == idle.notes == idle.greeting == ""
    idle.close()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} == set()


def test_a_reply_that_quotes_the_window_is_no_echo(talk: Talk, memory: Memory) -> None:
    text = "My sister Mia moved to Lisbon with her two dogs in May."
    chat = talk(f"You said: {text}")
    get_reply_text(chat, text)
    assert META_ECHO not in list(memory.lines())[-1].metadata


def test_an_edited_reply_is_checked_for_echoes_again(talk: Talk, memory: Memory) -> None:
    told = "My sister Mia moved to Lisbon with her two dogs in May."
    memory.observe(told, speaker="Nora", said_at=NOON - timedelta(days=200), session="old")
    chat = talk("Aye.", character=Character("Captain", person="Nora"))
    get_reply_text(chat, "My sister Mia moved to Lisbon with her dogs, did she not?")
    chat.edit(chat.lines[-1].seq, f"Well, Nora, {told}")
    line = list(memory.lines())[-1]
    assert "Mia" not in remove_quotes(line.text, line.metadata)


def test_two_chats_in_one_session_share_the_conversation(talk: Talk) -> None:
    one, other = talk("Aye one."), None
    get_reply_text(one, "First.")
    other = talk("Aye two.")
    get_reply_text(other, "Second.")
    one.llm.prompts.clear()  # type: ignore[union-attr]
    reply = one.add_line("Third.", "Nora")
    assert reply.parent == other.lines[-1].seq
    assert [line.text for line in one.lines][1:] == ["First.", "Aye one.", "Second.", "Aye two.", "Third."]


def test_a_reply_is_saved_if_queueing_its_notes_fails(
    talk: Talk, memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chat = talk(LONG_REPLY, "Aye.")

    def full(*_: object) -> None:
        raise StoreUnavailable("no room")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(memory, "set_setting", full)
        reply = chat.reply("Hello.")
        assert "".join(reply) == LONG_REPLY
    assert reply.line is not None
    assert "a reply is saved, and its notes are postponed" in caplog.text
    get_reply_text(chat, "Again.")


def test_a_chat_begun_without_a_model_continues_with_one(memory: Memory, clock: Clock, talk: Talk) -> None:
    with Chat(memory, CAPTAIN, None, clock=clock) as silent:
        get_reply_text(silent, "My sister Mia moved to Lisbon.")
        get_reply_text(silent, "She has two dogs.")
    chat = talk("Aye.")
    assert chat.is_unanswered
    assert "".join(chat.answer()) == "Aye."
    assert [message.role for message in prompts(chat)[-1]] == ["system", "user"]


def test_an_imported_session_with_odd_metadata_and_roles_can_be_continued(talk: Talk, memory: Memory) -> None:
    odd = {"everthread.offered": "x", "everthread.again": [1], "everthread.echo": "no", "partial": {"a": 1}}
    for role in ("user", "assistant", "system", "tool"):
        memory.observe(f"I am the {role}.", role=role, session="odd", metadata=odd)  # type: ignore[arg-type]
    chat = talk("Aye.", "Aye.", session="odd")
    get_reply_text(chat, "Well?")
    roles = [message.role for message in prompts(chat)[-1]]
    assert roles == ["system", "user", "assistant", "user"]
    "".join(chat.regenerate())
    chat.undo()
    assert len(chat.lines) == 4


@pytest.mark.slow
def test_the_cost_of_a_turn_does_not_grow_with_the_conversation(talk: Talk, memory: Memory) -> None:
    lines = [
        NewLine(f"line {n}", "Nora" if n % 2 else "Captain", "user" if n % 2 else "assistant", NOON, "long")
        for n in range(1, 3001)
    ]
    memory.observe_many(lines)
    chat = talk("Aye.", "Aye.", session="long", context=2600)
    get_reply_text(chat, "Well?")
    assert chat.wait(120)
    assert len(prompts(chat)[-1]) < 200
    assert "line 2990" in last_prompt_text(chat)
    assert "line 12" not in last_prompt_text(chat).split()
    assert [line.text for line in chat.undo()] == ["Well?", "Aye."]
    assert len(chat.branch(chat.lines[9].seq)) == 2990
    assert len(chat.lines) == 10


@pytest.mark.slow
def test_removed_notes_are_rewritten_from_the_lines_that_left_the_window(talk: Talk, memory: Memory) -> None:
    chat = talk(*["Aye, that is a long way to sail for anyone at all."] * 60, context=2600)
    long_talk(chat, 40)
    noted = memory.units("note", only_current=True)[0]
    chat.forget(chat.lines[1].seq)
    assert memory.units("note") == []
    long_talk(chat, 1, first=40)
    (again,) = memory.units("note", only_current=True)
    assert (again.first_seq <= 4, again.last_seq >= noted.last_seq) == (True, True)


# ------------------------------------------------------------- settings of the bank


def test_a_bank_set_to_always_asks_no_question(talk: Talk, memory: Memory) -> None:
    memory.set_setting("remember", "always")
    chat = talk()
    get_reply_text(chat, "I moved to Lisbon with my sister.")
    assert chat.end().remembered
    assert chat.wait(120)
    assert [unit.kind for unit in memory.units("summary")] == ["summary"]


def test_an_explicit_no_overrides_the_setting_always(talk: Talk, memory: Memory) -> None:
    memory.set_setting("remember", "always")
    chat = talk()
    get_reply_text(chat, "I moved to Lisbon with my sister.")
    assert chat.end(remember=False).remembered is False
    assert recorded(memory, retracted=True) == []


def test_the_setting_ask_equals_no_setting(talk: Talk, memory: Memory) -> None:
    memory.set_setting("remember", "ask")
    chat = talk()
    get_reply_text(chat, "I moved to Lisbon.")
    assert (chat.end().remembered, chat.end().question) == (None, QUESTION)
    assert "Nora: I moved to Lisbon." in recorded(memory)


def test_every_conversation_of_a_bank_set_to_never_is_incognito(talk: Talk, memory: Memory) -> None:
    memory.set_setting("remember", "never")
    chat = talk()
    for _ in range(2):  # also for the conversation that `end` begins
        assert chat.incognito
        get_reply_text(chat, "I moved to Lisbon.")
        with pytest.raises(BadQuery, match="'alice' is set to remember never; set it to ask or always first"):
            chat.incognito = False
        assert len(chat.lines) == 3
        ending = chat.end()
        assert (ending.remembered, ending.receipt) == (False, None)
    assert (recorded(memory, retracted=True), memory.units(), memory.jobs()) == ([], [], [])
    memory.set_setting("remember", "ask")
    chat.incognito = False
    get_reply_text(chat, "I moved to Oslo.")
    assert "Nora: I moved to Oslo." in recorded(memory)


def test_lines_stored_before_the_setting_never_are_asked_about(talk: Talk, memory: Memory) -> None:
    get_reply_text(talk(), "I moved to Lisbon.")
    memory.set_setting("remember", "never")
    chat = talk()
    get_reply_text(chat, "And to Oslo.")
    assert chat.end().question == QUESTION
    assert recorded(memory) == ["Captain: Ahoy, Nora!", "Nora: I moved to Lisbon.", "Captain: Aye."]
    assert chat.end(remember=False).receipt
    assert recorded(memory, retracted=True) == []


def test_setting_never_in_another_process_stops_saving_an_open_conversation(talk: Talk, memory: Memory) -> None:
    get_reply_text(chat := talk(), "I moved to Lisbon.")
    memory.set_setting("remember", "never")
    get_reply_text(chat, "And to Oslo.")
    assert chat.incognito
    assert recorded(memory) == ["Captain: Ahoy, Nora!", "Nora: I moved to Lisbon.", "Captain: Aye."]


def test_lines_recalled_incognito_are_not_given_to_the_scribe(talk: Talk, memory: Memory) -> None:
    memory.observe("The gold lies in the cave behind the waterfall.", speaker="Nora", said_at=NOON - timedelta(days=9))
    told: list[str] = []

    class Listening(ExtractiveScribe):
        def update_notes(
            self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
        ) -> str:
            told.extend(line.text for line in recalled)
            return super().update_notes(old, recalled, leaving, limit)

    chat = talk(scribe=Listening())
    get_reply_text(chat, "I moved to Lisbon with my sister Mia.")
    chat.incognito = True
    get_reply_text(chat, "Where is the gold, in the cave behind the waterfall?")
    assert "gold lies in the cave" in chat.last_reply.context.text if chat.last_reply else False
    chat.incognito = False
    chat.end(remember=True)
    assert chat.wait(120)
    assert memory.units("note")
    assert told == []


def test_a_window_of_zero_lines_is_empty(talk: Talk, memory: Memory) -> None:
    memory.recipe = Membot(window=0)
    chat = talk(character=Character("Captain", person="Nora"))
    get_reply_text(chat, "I moved to Lisbon.")
    get_reply_text(chat, "And to Oslo.")
    assert chat.last_reply
    assert chat.last_reply.prompt
    assert len(chat.last_reply.prompt.messages) == 2  # the character and the newest line


# ---------------------------------------------------------------------------- other banks


@pytest.fixture
def others(memory: Memory) -> Memory:
    """Add two banks to the store, and return that of Bob."""
    for name, text in (("bob", "The ferry to Capri was cancelled."), ("cleo", "I am allergic to walnuts.")):
        with Memory.open(name, store=memory.store, embedder=HashEmbedder(512)) as other:
            other.observe(text, speaker=name.title(), said_at=NOON - timedelta(days=3))
    return other


@pytest.mark.parametrize("recipe", ["default", "membot"])
def test_a_reply_recalls_lines_of_other_banks(memory: Memory, others: Memory, clock: Clock, recipe: str) -> None:
    ours = Memory("alice", memory.store, memory.embedder, RECIPES[recipe])
    ours.observe("We were to take the ferry to Capri.", speaker="Nora", said_at=NOON - timedelta(days=9), session="old")
    model = ScriptedLLM(["It was cancelled, Bob says.", "Yes."])
    with Chat(ours, CAPTAIN, model, clock=clock, scribe=ExtractiveScribe(), banks=["bob"]) as chat:
        get_reply_text(chat, "What became of the ferry to Capri?")
        prompt = "\n".join(message.content for message in model.prompts[0])
        assert "[Said in other conversations, in the bank bob]" in prompt
        assert "Bob: The ferry to Capri was cancelled." in prompt
        assert "walnuts" not in prompt
        assert prompt.index("Nora: We were to take") < prompt.index("in the bank bob")
        assert chat.last_reply is not None
        assert {line.seq for line in chat.last_reply.context.lines} == {1}
        assert [other.bank for other in chat.last_reply.context.others] == ["bob"]
    assert others.store.stats("bob", "").lines == 1


def test_a_reply_that_repeats_another_banks_line_is_an_echo(memory: Memory, others: Memory, clock: Clock) -> None:
    words = "The ferry to Capri was cancelled"
    with Chat(memory, CAPTAIN, ScriptedLLM([f"{words}."]), clock=clock, banks=["bob"]) as chat:
        get_reply_text(chat, f"Is it so that {words.lower()}?")
        assert chat.lines[-1].metadata[META_ECHO]


def test_memories_of_other_banks_are_cut_first(memory: Memory, others: Memory) -> None:
    memory.observe("We were to take the ferry to Capri.", speaker="Nora", said_at=NOON - timedelta(days=9))
    context = memory.context("ferry to Capri", banks=["alice", "bob"], gate=False, min_relevance=0.0)
    newest = Line(9, "s", "user", "Nora", "What became of the ferry?", NOON)
    uncut = build_prompt(CAPTAIN, PromptParts((), newest, NOON, context=context), 8192)
    less = build_prompt(CAPTAIN, PromptParts((), newest, NOON, context=context), uncut.tokens - 5)
    assert less.cut == ("memories",)
    assert "in the bank bob" in uncut.messages[-1].content
    assert "in the bank bob" not in less.messages[-1].content
    assert "We were to take" in less.messages[-1].content


def test_a_missing_bank_is_an_error_before_anything_is_said(memory: Memory, others: Memory, clock: Clock) -> None:
    with pytest.raises(NotFound, match="no bank 'bobb'"):
        Chat(memory, CAPTAIN, banks=["bobb"])
    with Chat(memory, CAPTAIN, ScriptedLLM(["Aye."]), clock=clock, banks=["bob"]) as chat:
        others.store.forget("bob", "bank", None, NOON)
        assert get_reply_text(chat, "What became of the ferry?") == "Aye."
    assert not others.store.exists("bob")


def test_without_a_model_memories_of_other_banks_are_shown(memory: Memory, others: Memory, clock: Clock) -> None:
    with Chat(memory, CAPTAIN, clock=clock, banks=["bob"]) as chat:
        get_reply_text(chat, "Hello there, I am new.")
        assert "Bob said: “The ferry to Capri was cancelled.”" in get_reply_text(
            chat, "What became of the ferry to Capri?"
        )
