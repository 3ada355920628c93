"""Which lines answer a question by what is known, and which only seem to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from everthread.facts.answering_lines import NO_LINES, AnsweringLines, find_answering_lines
from everthread.facts.asker import find_asker
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import NewLine

FIRST = datetime(2026, 1, 5, 12, tzinfo=UTC)
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def find(
    folder: Path, question: str, *talk: str, moment: datetime = NOW, is_past: bool = False, asker: str = "Nora"
) -> AnsweringLines:
    """Store lines of Nora's, a month apart, and ask."""
    with Memory.open("nora", store=folder, embedder=HashEmbedder()) as memory:
        memory.observe_many(
            NewLine(text, "Nora", said_at=FIRST + timedelta(days=30 * number)) for number, text in enumerate(talk)
        )
        known = memory.read_known(limit=None)
        find_name = partial(find_asker, memory.store, memory.bank, known, asker)
        return find_answering_lines(question, known, find_name, moment, is_past=is_past)


@pytest.mark.parametrize(
    ("question", "talk", "answering", "misleading"),
    [
        ("Where do I live?", ["I live in Leeds.", "We moved to York!"], [2], [1]),
        ("hey, where do i live now", ["I live in Leeds.", "We moved to York!"], [2], [1]),
        ("where am i living", ["I live in Leeds.", "I'm a nurse.", "My mum lives in Hull."], [1], [3]),
        ("what do i do for a living", ["I live in Leeds.", "I'm a nurse.", "Mia is a baker."], [2], [3]),
        ("what do i do in my free time", ["I live in Leeds.", "My hobby is knitting."], [2], []),
        ("Where does Mia live?", ["My sister Mia lives in Porto.", "I live in Leeds."], [1], [2]),
        ("Where does my sister live?", ["My sister Mia lives in Porto.", "I live in Leeds."], [1], [2]),
        ("Where is my wife from?", ["I'm from Ghana.", "My wife is from Peru."], [2], [1]),
        ("How old is my mum?", ["My mum is 71.", "My dad is 74."], [1], [2]),
        ("whats my job", ["My sister Lena is a nurse."], [], [1]),
        ("whats my sisters job", ["My sister Lena is a nurse.", "I'm a vet."], [1], [2]),
        ("whats lenas job", ["My sister Lena is a nurse.", "I'm a vet."], [1], [2]),
        ("where do my sisters live", ["My sister Lena lives in Porto.", "I live in York."], [1], [2]),
        ("whats my mother in laws name", ["My mother-in-law Rosa sings.", "My mother Ann is 71."], [1], []),
        ("Where does my mother live?", ["My stepmother lives in Hull.", "My mother lives in York."], [2], [1]),
        ("Do I have a brother in law?", ["My brother Tom is a vet.", "my brother in law Ken is a vet"], [2], []),
        ("what's my best friend's name", ["My best friend Kim sings.", "My sister Lena is a nurse."], [1], []),
        ("How old am I?", ["I have a rabbit called Biscuit.", "Biscuit is 4 years old."], [], [2]),
        ("What is my name?", ["My dog is called Rex."], [], [1]),
        ("What is my dog's name?", ["My dog is called Rex."], [1], []),
        ("Who is my girlfriend?", ["My girlfriend Anna sings.", "Anna and I broke up."], [2], [1]),
        ("Am I vegetarian?", ["I'm vegetarian.", "I'm no longer vegetarian."], [2], [1]),
        ("What is my favourite colour?", ["My favourite colour is green.", "My favourite colour is teal."], [2], [1]),
        ("Which pets do I have?", ["I have a cat called Miso.", "I have a dog called Rex."], [2, 1], []),
        ("Do I still live in Leeds?", ["I live in Leeds.", "We moved to York!"], [2], [1]),
        ("Do I like jazz?", ["I like jazz.", "I like chess."], [1], [2]),
        ("Where did I live before?", ["I live in Leeds.", "We moved to York!"], [1], [2]),
        ("Where did I live before York?", ["I live in Leeds.", "We moved to York!", "We moved to Hull."], [1], [2, 3]),
        ("What was my previous job?", ["I'm a baker.", "I'm a nurse now."], [1], [2]),
        ("Wo habe ich früher gewohnt?", ["Ich wohne in Bonn.", "Wir sind nach Köln gezogen."], [1], [2]),
        ("我以前住在哪里?", ["我住在上海。", "我上个月搬到了杭州。"], [1], [2]),
        ("Wo wohne ich?", ["Ich wohne in Bonn.", "Wir sind nach Köln gezogen."], [2], [1]),
        ("¿Dónde vivo?", ["Vivo en Sevilla.", "Me mudé a Cádiz."], [2], [1]),
        ("mit wem bin ich verheiratet?", ["Meine Frau Eva kocht.", "Ich wohne in Bonn."], [1], []),
        ("¿Con quién estoy casada?", ["Mi marido Pedro es alérgico al pescado.", "Vivo en Sevilla."], [1], []),
        ("¿Dónde vivía antes?", ["Vivo en Sevilla.", "Me mudé a Cádiz."], [1], [2]),
        ("我住在哪里?", ["我住在上海。", "我上个月搬到了杭州。"], [2], [1]),
    ],
)
def test_a_question_for_an_attribute_is_answered_by_what_holds_of_those_named(
    tmp_path: Path, question: str, talk: list[str], answering: list[int], misleading: list[int]
) -> None:
    assert find(tmp_path, question, *talk) == AnsweringLines(tuple(answering), frozenset(misleading), is_complete=True)


@pytest.mark.parametrize("question", ["Do I live near Bolton?", "Where do I live with Tom?", "wo wohne ich mit Tom"])
def test_a_question_that_asks_for_more_is_not_answered_by_the_fact_alone(tmp_path: Path, question: str) -> None:
    found = find(tmp_path, question, "I live in Leeds.", "We moved to York!")
    assert 2 in found.answering
    assert 1 not in found.answering
    assert not found.is_complete


LIFE = (
    "I'm vegetarian.",
    "I live in Leeds.",
    "I work at Siemens.",
    "My sister Mia lives in Porto.",
    "Mia likes sushi.",
    "I have a cat called Miso.",
    "My dog Rex is a beagle.",
    "I play the guitar.",
    "I like jazz.",
    "My car is a Volvo.",
    "Ich wohne in Leeds.",
    "Vivo en Leeds.",
)


@pytest.mark.parametrize(
    "question",
    [
        "What should I eat tonight?",
        "What can I eat?",
        "What do I have for dinner?",
        "Should I get a dog?",
        "What city should I move to?",
        "Where can I buy a cat?",
        "Who do I live with?",
        "When do I work?",
        "How do I get to work?",
        "Do I have to work?",
        "Where do I play?",
        "Is my sister right?",
        "How is my sister?",
        "What does my sister do with my cat?",
        "Does Mia know my sister?",
        "What do I like about Mia?",
        "Does Mia like me?",
        "Do I like my job?",
        "How old is my car?",
        "Do I have a bike?",
        "Do I have a parrot?",
        "what kind of food does Mia like",
        "What does my sister think about my job?",
        "Was soll ich essen?",
        "Mit wem wohne ich?",
        "¿Con quién vivo?",
        "¿Dónde toco la guitarra?",
        "我应该住在哪里?",
    ],
)
def test_the_words_of_a_fact_do_not_make_a_question_that_it_answers(tmp_path: Path, question: str) -> None:
    assert not find(tmp_path, question, *LIFE).is_complete


@pytest.mark.parametrize(
    ("question", "answering"),
    [
        ("Can you tell me where I live?", 2),
        ("Do you know where my sister lives?", 4),
        ("Who is my sister?", 4),
        ("What is my cat's name?", 6),
        ("How many cats do I have?", 6),
        ("Does Mia like sushi?", 5),
        ("Where does my sister Mia live?", 4),
        ("What car do I have?", 10),
    ],
)
def test_a_question_for_one_fact_in_other_words_is_answered_by_it(
    tmp_path: Path, question: str, answering: int
) -> None:
    found = find(tmp_path, question, *LIFE[:-2])
    assert (found.answering, found.is_complete) == ((answering,), True)


def test_a_relative_of_a_relative_is_no_relative_of_the_one_who_asks(tmp_path: Path) -> None:
    found = find(
        tmp_path, "What is my sister's dog called?", "My sister Mia lives in Porto.", "My dog Rex is a beagle."
    )
    assert found.answering == ()


@pytest.mark.parametrize(
    "question",
    [
        "Where did I live then?",
        "What was my first job?",
        "What was my job before?",
        "Wo habe ich 2019 gewohnt?",
        "Where is the best beach?",
        "Do you like me?",
        "Où est-ce que j'habite ?",
    ],
)
def test_a_question_about_another_time_or_for_no_attribute_is_left_to_recall(tmp_path: Path, question: str) -> None:
    found = find(tmp_path, question, "I live in Leeds.", "We moved to York!", "I'm a baker.")
    assert (found.answering, found.misleading) == ((), frozenset())


def test_a_question_as_of_a_moment_is_answered_by_what_had_been_said(tmp_path: Path) -> None:
    talk = ["I live in Leeds.", "We moved to York!"]
    assert find(tmp_path, "Where do I live?", *talk, moment=FIRST + timedelta(days=9), is_past=True).answering == (1,)


def test_without_anyone_who_asks_nothing_is_found(tmp_path: Path) -> None:
    assert find(tmp_path, "Who lives in York?", "I live in York.") == NO_LINES


def test_where_no_facts_are_read_no_question_is_one_for_a_fact(tmp_path: Path) -> None:
    assert find(tmp_path, "Where do I live?", "Asun Helsingissä.") == NO_LINES
    assert find(tmp_path, "Where do I live?", "I'm a nurse.").is_complete
