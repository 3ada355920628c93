"""The question for the user's name in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from everthread import server
from everthread.chat.chat import Chat
from everthread.cli import dialogues
from everthread.cli.dialogues import MAX_NAME_CHARS, MAX_NAME_WORDS, MAX_STATED_WORDS, ask_name, find_name, is_name
from everthread.cli.screen import Screen
from everthread.memory import Memory

SENTENCES = [
    "My name is Nora",
    "i’m Nora",
    "Ich heiße Nora",
    "Je m'appelle Nora",
    "Me llamo Nora",
    "私の名前はノラ",
    "我叫诺拉",
    "Hello, Nora",
    "ノラです。",
    "Nora!",
    "Everyone at home has called me that",
]


@pytest.mark.parametrize(
    "name", ["", "Nora", "Nora J. van-Dyk", "José María", "María del Carmen López Ruiz", "诺拉", "Ima Soyer"]
)
def test_a_name_is_accepted(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_is_not_taken_for_a_name(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("im tobi", "tobi"),
        ("i'm tobi", "tobi"),
        ("its tobi", "tobi"),
        ("It’s Tobi!", "Tobi"),
        ("call me tobi pls", "tobi"),
        ("tobi here", "tobi"),
        ("my name is tobi", "tobi"),
        ("Hi, I am Nora van Dyk.", "Nora van Dyk"),
        ("Nora!", "Nora"),
        ("ich heisse Nora", "Nora"),
        ("Je m'appelle Nora", "Nora"),
        ("Me llamo Nora", "Nora"),
        ("我叫诺拉", "诺拉"),
        ("私の名前はノラです。", "ノラ"),
        ("Ima Soyer", "Ima Soyer"),
        ("", ""),
    ],
)
def test_a_name_is_taken_from_the_sentence_that_says_it(text: str, name: str) -> None:
    assert find_name(text) == name


@pytest.mark.parametrize(
    "text", ["im not telling you", "I'm a robot", "call me whatever you want to", "Hello, Nora", "Soy Sauce"]
)
def test_other_sentences_say_no_name(text: str) -> None:
    assert find_name(text) is None


def test_the_page_takes_the_same_texts_for_names() -> None:
    script = (Path(server.__file__).parent / "static" / "beginning.js").read_text(encoding="utf-8")
    for name in ("SENTENCE", "INTRODUCTION", "NO_NAME"):
        assert f"const {name} = /{getattr(dialogues, name).pattern}/i;" in script
    assert f"const MAX_STATED_WORDS = {MAX_STATED_WORDS};" in script
    assert f"const MAX_NAME_WORDS = {MAX_NAME_WORDS};" in script
    assert f"const MAX_NAME_CHARS = {MAX_NAME_CHARS};" in script


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        (("Nora",), "Nora"),
        (("María del Carmen López",), "María del Carmen López"),
        (("im nora",), "nora"),
        (("Hello, Nora", "I'm Nora"), "Nora"),
        (("Hello, Nora", ""), "user"),
        (("",), "user"),
        (("Soy Sauce", "Soy Sauce"), "Soy Sauce"),
        (("N" * 41, "N" * 41, "N" * 40), "N" * 40),
    ],
)
def test_a_name_is_asked_for_once_more_after_a_sentence_and_until_it_is_short(
    memory: Memory, answers: tuple[str, ...], name: str
) -> None:
    waiting, shown = iter(answers), list[str]()
    with Chat(memory, llm=None) as chat:
        ask_name([chat], Screen(lambda _: next(waiting), shown.append))
        assert chat.character.person == name
    assert not list(waiting)
    assert ["Type only the name" in text for text in shown] == [True] * (len(answers) - 1)
