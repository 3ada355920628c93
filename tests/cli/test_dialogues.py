"""The question for the user's name in the terminal."""

from __future__ import annotations

import pytest

from everthread.chat.chat import Chat
from everthread.cli.dialogues import ask_name, is_short_name
from everthread.cli.screen import Screen
from everthread.memory import Memory


@pytest.mark.parametrize("name", ["", "Nora", "Nora J. van-Dyk", "José María", "诺拉", "N" * 40])
def test_a_name_is_accepted(name: str) -> None:
    assert is_short_name(name)


@pytest.mark.parametrize(
    "text", ["My name is Nora", "Hello, Nora", "我叫诺拉，我喜欢茶", "ノラです。", "Nora!", "N" * 41]
)
def test_a_sentence_is_not_taken_for_a_name(text: str) -> None:
    assert not is_short_name(text)


@pytest.mark.parametrize(("answers", "name"), [(("Nora",), "Nora"), (("My name is Nora", "I like tea!", ""), "user")])
def test_a_name_is_asked_for_until_it_is_one_or_left_out(memory: Memory, answers: tuple[str, ...], name: str) -> None:
    waiting, shown = iter(answers), list[str]()
    with Chat(memory, llm=None) as chat:
        ask_name([chat], Screen(lambda _: next(waiting), shown.append))
        assert chat.character.person == name
    assert not list(waiting)
    assert ["Type only the name" in text for text in shown] == [True] * (len(answers) - 1)
