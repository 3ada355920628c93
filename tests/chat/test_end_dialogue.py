"""A goodbye, the question that follows it, and what becomes of the answer: in the library and in the terminal."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_yes_no
from everthread.cli.repl import ChatRepl
from everthread.cli.screen import Screen
from everthread.config import LANGUAGES
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM

QUESTION, CONFIRM = load_wording()("chat.remember"), load_wording()("chat.forget")

NORA = Character("Captain Nemo", person="Nora")
MOVED = "My sister Mia moved to Lisbon."


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Memory]:
    """Open a bank whose recipe asks at a goodbye whether to remember."""
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64), recipe="packabby") as opened:
        yield opened


def begun(memory: Memory, **options: str) -> Chat:
    chat = Chat(memory, NORA, ScriptedLLM(["Aye."] * 20), scribe=ExtractiveScribe(), **options)  # type: ignore[arg-type]
    "".join(chat.reply(MOVED))
    return chat


def get_reply_text(chat: Chat, text: str) -> str:
    return "".join(chat.reply(text))


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines(include_retracted=True)]


def test_a_goodbye_is_saved_and_answered_with_the_question(asking: Memory) -> None:
    with begun(asking) as chat:
        reply = chat.reply("ok bye then!")
        assert "".join(reply) == f"Goodbye! {QUESTION}"
        assert reply.ending is not None
        assert (reply.ending.remembered, reply.ending.question, reply.line) == (None, QUESTION, None)
        assert (chat.question, chat.is_unanswered) == (QUESTION, False)
        assert texts(asking) == [MOVED, "Aye.", "ok bye then!"]


def test_other_talk_that_ends_with_a_farewell_is_part_of_the_summary(asking: Memory) -> None:
    parting = "My brother Leo sails to Brest on Friday. My bus is here, bye!"
    with begun(asking) as chat:
        assert get_reply_text(chat, parting) == f"Goodbye! {QUESTION}"
        assert get_reply_text(chat, "yes") == "I will remember it."
        assert chat.wait(120)
    assert texts(asking) == [MOVED, "Aye.", parting]
    assert ["Leo sails to Brest" in unit.text for unit in asking.units("summary")] == [True]


def test_a_yes_is_not_saved_and_the_conversation_is_summarised(asking: Memory) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        reply = chat.reply("yes please")
        assert "".join(reply) == "I will remember it."
        assert reply.ending is not None
        assert reply.ending.remembered
        assert chat.wait(120)
        assert (chat.lines, chat.question) == ([], "")
    assert texts(asking) == [MOVED, "Aye.", "bye"]
    assert [MOVED in unit.text for unit in asking.units("summary")] == [True]


def test_a_no_leaves_no_line_and_no_setting(asking: Memory) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        asked = chat.reply("No, thanks")
        assert "".join(asked) == CONFIRM
        assert asked.ending is not None
        assert (asked.ending.remembered, asked.ending.question, chat.question) == (None, CONFIRM, CONFIRM)
        assert texts(asking) == [MOVED, "Aye.", "bye"]
        reply = chat.reply("Yes, please")
        assert "".join(reply) == "It is forgotten."
        assert reply.ending is not None
        assert reply.ending.receipt is not None
        assert reply.ending.receipt.lines == 3
    assert (texts(asking), asking.units()) == ([], [])
    assert not {"goodbye", "goodbye_no"} & set(asking.settings())


def test_a_no_that_is_not_meant_forgets_nothing_and_the_question_is_asked_again(asking: Memory) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        get_reply_text(chat, "no")
        assert get_reply_text(chat, "forget it") == f"Please answer yes or no, or go on talking. {CONFIRM}"
        assert get_reply_text(chat, "no, don't") == f"Nothing was forgotten. {QUESTION}"
        assert get_reply_text(chat, "yes") == "I will remember it."
    assert texts(asking) == [MOVED, "Aye.", "bye"]


def test_going_on_talking_instead_of_confirming_a_no_keeps_the_conversation(asking: Memory) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        get_reply_text(chat, "no")
        assert get_reply_text(chat, "One more thing: she has a dog.") == "Aye."
        chat.undo()
        assert chat.question == QUESTION


@pytest.mark.parametrize("unclear", ["Not now", "Now", "Yes, but not my job"])
def test_after_an_unclear_answer_the_question_is_asked_again(asking: Memory, unclear: str) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        before = texts(asking)
        assert get_reply_text(chat, unclear).endswith(QUESTION)
        assert (texts(asking), chat.question) == (before, QUESTION)


def test_a_new_subject_instead_of_an_answer_continues_the_conversation(asking: Memory) -> None:
    with begun(asking) as chat:
        session = chat.session
        get_reply_text(chat, "bye")
        assert get_reply_text(chat, "One more thing: she has a dog.") == "Aye."
        assert (chat.session, chat.question) == (session, "")
        assert get_reply_text(chat, "yes") == "Aye."
        assert get_reply_text(chat, "Goodbye, Captain") == f"Goodbye! {QUESTION}"


def test_the_question_is_still_pending_in_another_process(asking: Memory) -> None:
    begun(asking).reply("bye")
    with Chat(asking, NORA, ScriptedLLM([])) as again:
        assert again.question == QUESTION
        assert "".join(again.answer()) == f"Goodbye! {QUESTION}"
        assert get_reply_text(again, "no") == CONFIRM
    with Chat(asking, NORA, ScriptedLLM([])) as again:
        assert (again.question, "".join(again.answer())) == (CONFIRM, CONFIRM)
        assert get_reply_text(again, "yes") == "It is forgotten."
    assert texts(asking) == []


def test_a_remembered_conversation_continues_without_a_question(asking: Memory) -> None:
    with begun(asking, session="one") as chat:
        get_reply_text(chat, "bye")
        get_reply_text(chat, "yes")
        chat.wait(120)
    with Chat(asking, NORA, ScriptedLLM(["Aye."]), session="one") as again:
        assert again.question == ""
        assert get_reply_text(again, "yes") == "Aye."


def test_a_goodbye_is_an_ordinary_line_if_the_recipe_needs_no_consent(memory: Memory) -> None:
    with begun(memory) as chat:
        assert (get_reply_text(chat, "Goodbye!"), get_reply_text(chat, "no")) == ("Aye.", "Aye.")
        memory.set_setting("remember", "ask")
        assert get_reply_text(chat, "Goodbye!").endswith(QUESTION)


def test_a_goodbye_incognito_or_in_an_empty_conversation_is_an_ordinary_line(asking: Memory) -> None:
    with Chat(asking, NORA, ScriptedLLM(["Aye."] * 4)) as chat:
        assert get_reply_text(chat, "bye") == "Aye."
        chat.incognito = True
        assert get_reply_text(chat, "bye") == "Aye."


def test_a_goodbye_ends_the_conversation_if_the_setting_is_always(asking: Memory) -> None:
    asking.set_setting("remember", "always")
    with begun(asking) as chat:
        reply = chat.reply("bye")
        assert "".join(reply) == "Goodbye!"
        assert reply.ending is not None
        assert reply.ending.remembered
        assert chat.wait(120)
    assert len(asking.units("summary")) == 1


def test_the_question_is_closed_if_the_goodbye_is_undone_or_edited(asking: Memory) -> None:
    with begun(asking) as chat:
        get_reply_text(chat, "bye")
        chat.undo()
        assert (chat.question, chat.is_unanswered) == ("", False)
        get_reply_text(chat, "bye")
        reply = chat.edit(chat.lines[-1].seq, "By the way, she has a dog.")
        assert reply is not None
        assert ("".join(reply), chat.question) == ("Aye.", "")


# -------------------------------------------------------------------- the terminal


def screen(memory: Memory, *typed: str) -> list[str]:
    """Return what is shown for each typed line, after the greeting."""
    shown, waiting = [""], iter(typed)

    def read(prompt: str) -> str:
        shown.append("")
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    def write(text: str) -> None:
        shown[-1] += text

    with Chat(memory, NORA, ScriptedLLM(["Aye."] * 20), scribe=ExtractiveScribe()) as chat:
        ChatRepl(chat, Screen(read, write)).run()
        chat.wait(120)
    return [row.strip() for row in shown[1:]]


def test_the_terminal_asks_after_a_goodbye_and_reads_the_next_line_as_the_answer(asking: Memory) -> None:
    shown = screen(asking, MOVED, "gotta go, see you tomorrow", "Not now", "yes")
    assert shown[1] == f"Goodbye! {QUESTION}"
    assert shown[2] == f"Please answer yes or no, or go on talking. {QUESTION}"
    assert shown[3] == "It is remembered. Your next message begins another conversation; /quit leaves."
    assert shown[4] == "Until next time."
    assert texts(asking) == [MOVED, "Aye.", "gotta go, see you tomorrow"]


def test_a_no_in_the_terminal_forgets_the_conversation(asking: Memory) -> None:
    shown = screen(asking, MOVED, "bye", "no", "yes")
    assert shown[2] == CONFIRM
    assert shown[3] == "It is forgotten. Your next message begins another conversation; /quit leaves."
    assert texts(asking) == []


def test_an_end_without_remembering_forgets_nothing_before_another_yes(asking: Memory) -> None:
    shown = screen(asking, MOVED, "/end", "no", "no", "/end no", "no", "/end no")
    assert shown[3] == "nothing was forgotten"
    assert shown[5] == "nothing was forgotten"
    assert "there was no answer; nothing was changed" in shown[7]
    assert texts(asking) == [MOVED, "Aye."]
    assert screen(asking, "/end no", "yes")[1].startswith("It is forgotten.")
    assert texts(asking) == []


ANSWERS = [
    *("yes", "no", "Not now", "forget it", "delete it", "don't forget it", "No, bye!", "ok", "bye", "My dog is Rex."),
    *("ja", "nein", "vergiss es", "non", "oui", "no gracias", "不", "是", "忘れて", "いいえ", "/end", "/end no"),
]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(language=st.sampled_from(LANGUAGES), typed=st.lists(st.sampled_from([*ANSWERS, None]), max_size=12))
def test_nothing_is_forgotten_without_a_yes_to_the_second_question(language: str, typed: list[str | None]) -> None:
    """Type in a terminal, which is closed and opened again at None."""
    confirm, waiting = load_wording(language)("chat.forget"), iter(typed)
    shown, question, answer, known = "", "", "", [MOVED]

    def read(prompt: str) -> str:
        nonlocal shown, question, answer, known
        if not set(known) <= set(texts(memory)):
            assert confirm in question
            assert parse_yes_no(answer)
        known, question, shown = texts(memory), shown + prompt, ""
        if (text := next(waiting, None)) is None:
            raise EOFError
        answer = text
        return text

    def write(text: str) -> None:
        nonlocal shown
        shown += text

    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open("nora", store=folder, embedder=HashEmbedder(64), recipe="packabby") as memory,
    ):
        begun(memory).reply("bye")
        for _ in range(typed.count(None) + 1):
            with Chat(memory, NORA, ScriptedLLM(["Aye."] * 20), scribe=ExtractiveScribe(), language=language) as chat:
                ChatRepl(chat, Screen(read, write)).run()


def test_the_terminal_shows_a_pending_question_when_reopened(asking: Memory) -> None:
    begun(asking).reply("bye")
    shown: list[str] = []
    with Chat(asking, NORA, ScriptedLLM([])) as again:
        ChatRepl(again, Screen(lambda prompt: "quit", shown.append)).run()
    assert QUESTION in shown[0]
