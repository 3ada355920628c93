"""The question for the user's name in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from everthread import server
from everthread.chat.chat import Chat
from everthread.cli.dialogues import MAX_NAME_CHARS, MAX_NAME_WORDS, SENTENCE, ask_name, is_name
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


def test_the_page_takes_the_same_texts_for_names() -> None:
    script = (Path(server.__file__).parent / "static" / "beginning.js").read_text(encoding="utf-8")
    assert f"const SENTENCE = /{SENTENCE.pattern}/i;" in script
    assert f"const MAX_NAME_WORDS = {MAX_NAME_WORDS};" in script
    assert f"const MAX_NAME_CHARS = {MAX_NAME_CHARS};" in script


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        (("Nora",), "Nora"),
        (("María del Carmen López",), "María del Carmen López"),
        (("My name is Nora", "Nora"), "Nora"),
        (("My name is Nora", ""), "user"),
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
