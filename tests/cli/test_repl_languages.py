"""A conversation in the terminal in each language."""

from __future__ import annotations

import re

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.cli.group_repl import GroupChatRepl
from everthread.cli.repl import ChatRepl
from everthread.cli.screen import Screen
from everthread.config import LANGUAGES
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM

COMMANDS = (
    *("/notes", "/stats", "/again", "/undo", "/edit", "/correct", "/branch", "/forget", "/end maybe", "/nonsense"),
    *(
        "Mia moved to Lisbon.",
        "Where did Mia move to?",
        "/why",
        "/why figures",
        "/lines 1",
        "/edit 99 x",
        "/correct 99 x",
    ),
    *("/set", "/set location the harbour", "/set location -", "/set card x", "/set remember", "/set remember x"),
    *(
        "/lines x",
        "/branch 99",
        "/forget 99",
        "/incognito",
        "/correct 1 x",
        "/incognito",
        "/help",
        "/edit 1 Ben moved.",
    ),
)
ENGLISH_WORDS = re.compile(r"\b(?:the|this|is|are|your|what|which|there|shows|nothing|with|from|said|you)\b")
UNTRANSLATED = re.compile(r"Mia moved to Lisbon\.|Where did Mia move to\?|the harbour|Ben moved\.|/\w+|--?[\w]+")


@pytest.fixture(params=LANGUAGES)
def chat(memory: Memory, request: pytest.FixtureRequest) -> Chat:
    """Return a conversation in each language, without a model."""
    return Chat(memory, Character("Kapitän", person="Nora"), language=request.param, scribe=ExtractiveScribe())


def converse(chat: Chat, *typed: str) -> list[str]:
    """Type these lines; return the rows that are shown."""
    waiting, shown = iter(typed), [""]

    def read(prompt: str) -> str:
        shown.append(f"{prompt}\n")
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    ChatRepl(chat, Screen(read, shown.append)).run()
    return "".join(shown).splitlines()


def test_nothing_is_said_in_english_in_another_language(chat: Chat) -> None:
    letter = chat.words("terminal.yes_letter")
    rows = converse(chat, *COMMANDS, letter, "/forget 1", letter, "/end", letter, "/again", "/quit")
    english = [row for row in rows if ENGLISH_WORDS.search(UNTRANSLATED.sub("", row))]
    assert bool(english) == (chat.words.language == "en"), english
    assert any(chat.words("terminal.lines_forgotten", number=1) in row for row in rows)
    assert chat.words("terminal.farewell_short") in "\n".join(rows)


def test_questions_take_the_words_of_the_language_and_english_ones(chat: Chat) -> None:
    names = ("yes", "yes_letter", "no", "no_letter")
    yes, yes_letter, no, no_letter = (chat.words(f"terminal.{name}") for name in names)
    refused = [typed for answer in (no, no_letter, no.upper(), "n", "no") for typed in ("/forget last", answer)]
    rows = converse(chat, "Mia moved to Lisbon.", *refused)
    assert rows.count(chat.words("terminal.nothing_forgotten")) == 5
    agreed = [typed for answer in (yes, yes_letter, yes.upper(), "y") for typed in ("Hello.", "/forget last", answer)]
    assert converse(chat, *agreed).count(chat.words("terminal.lines_forgotten", number=1)) == 4


def test_the_default_character_greets_in_the_language_and_is_stored_as_it_spoke(chat: Chat) -> None:
    greeting = chat.words("chat.greeting", name="Ever")
    language = chat.words.language
    with Chat(chat.memory, llm=ScriptedLLM(["Ahoi."]), language=language, scribe=ExtractiveScribe()) as default:
        default.edit_character(person="Nora")
        rows = converse(default, "Ahoi.", "/lines")
    assert f"Ever: {greeting}" in rows
    assert [line.text for line in chat.memory.lines()] == [greeting, "Ahoi.", "Ahoi."]


def test_a_goodbye_is_answered_in_the_language(chat: Chat) -> None:
    chat.memory.set_setting("remember", "ask")
    rows = converse(chat, "Mia moved to Lisbon.", "Goodbye!", "hmm", chat.words("terminal.yes"))
    goodbye, unclear, question = (chat.words(f"chat.{name}") for name in ("goodbye", "unclear", "remember"))
    assert chat.words.paragraph(goodbye, question) in rows
    assert chat.words.paragraph(unclear, question) in rows
    assert any(row.startswith(chat.words("terminal.remembered")) for row in rows)


@pytest.mark.parametrize("language", LANGUAGES)
def test_several_characters_speak_in_the_language_of_the_terminal(language: str, memory: Memory) -> None:
    model, words = ScriptedLLM(["Ahoi."]), load_wording(language)
    shown: list[str] = []
    typed = iter(["/next Otto", "/leave Otto", "/enter Otto", "/leave Anna", "/hop", "Hallo?", "/enter Anna", "/quit"])
    with Chat(memory, Character("Anna", person="Nora"), model, language=language) as chat:
        GroupChatRepl(GroupChat([chat]), Screen(lambda prompt: next(typed), shown.append)).run()
    text = "".join(shown)
    for key, name in (("problem.not_present", "Otto"), ("terminal.has_left", "Anna"), ("terminal.is_back", "Anna")):
        assert words(key, name=name, present="Anna") in text
    assert words("problem.none_present") in text
    assert words("problem.has_not_left", name="Otto", absent=words("problem.none_absent")) in text
