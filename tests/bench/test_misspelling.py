"""Which word of a question is misspelt, and how."""

from __future__ import annotations

import random
import re

from everthread.bench.misspelling import misspell, misspell_questions
from everthread.bench.questions import AnnotatedConversation, Question

QUESTION = "When did Caroline plant the ferns?"


def test_one_word_that_is_neither_a_function_word_nor_a_speaker_is_misspelt() -> None:
    for seed in range(50):
        text = misspell(QUESTION, ["Caroline"], random.Random(seed))
        changed = [(old, new) for old, new in zip(QUESTION.split(), text.split(), strict=True) if old != new]
        assert len(changed) == 1
        ((old, new),) = changed
        assert re.fullmatch(r"plant|ferns\?", old)
        assert new[0] == old[0]


def test_a_question_of_names_and_function_words_stays() -> None:
    assert misspell("Was Caroline there?", ["Caroline Smith"], random.Random(1)) == "Was Caroline there?"
    assert misspell("", [], random.Random(1)) == ""


def test_the_same_words_are_misspelt_each_time() -> None:
    talk = AnnotatedConversation("a", (), (), (Question(QUESTION, frozenset("1"), "all"),), ("Caroline",))
    assert misspell_questions(talk) == misspell_questions(talk) != talk
