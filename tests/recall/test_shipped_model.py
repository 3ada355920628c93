"""Recall with the shipped model: queries to a made-up conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from everthread.embedders.base import Embedder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import EmbedderUnavailable
from everthread.memory import Memory
from everthread.recall.types import Query
from everthread.testing import HashEmbedder
from everthread.types import NewLine, Vector, Vectors

SPRING = datetime(2023, 4, 2, 17, tzinfo=UTC)
SUMMER = datetime(2023, 7, 21, 19, tzinfo=UTC)
AUTUMN = datetime(2023, 10, 8, 20, tzinfo=UTC)

TALK: dict[datetime, str] = {
    SPRING: """\
Nora: Hey Felix! How was your week?
Felix: Exhausting. We moved into the new flat on Tuesday and nothing works yet.
Nora: Oh no. What is broken?
Felix: The boiler. I have been taking cold showers for five days.
Nora: You poor thing. Come over, we have hot water.
Felix: Thanks! How is your cello going?
Nora: I play in the city orchestra now, every Wednesday evening.
Felix: That is wonderful, congratulations!
Nora: My brother Emil came to the first concert all the way from Tallinn.
Felix: What does he do there?
Nora: He repairs wooden sailing boats.
Felix: What a lovely job.
Nora: And did you get the dog you wanted?
Felix: Yes! A greyhound from the shelter. Her name is Pepper.
Nora: I want to meet her at once.""",
    SUMMER: """\
Felix: Sorry for being so quiet. I broke my wrist.
Nora: How did that happen?
Felix: I fell off a ladder while picking cherries.
Nora: Ouch. Is it in plaster?
Felix: For six weeks. I can't even open a jar.
Nora: I will bring you soup. Are you still vegetarian?
Felix: Yes, since I was nineteen. Lentil soup would be heaven.
Nora: Done. I have news as well: I quit my job at the bank.
Felix: Really? What will you do?
Nora: I am training to become a midwife. It starts in September.
Felix: You will be brilliant at that.
Nora: I hope so. It means learning Latin names again.
Felix: My grandmother was a midwife too, in Naples.""",
    AUTUMN: """\
Nora: We planted forty tulip bulbs today, and my back hurts.
Felix: Next spring you will be glad of it.
Nora: How is Pepper?
Felix: She ate a whole birthday cake and had to see the vet.
Nora: Whose cake was it?
Felix: My daughter's. Lena turned seven on Saturday.
Nora: Poor Lena! Did you bake another one?
Felix: At midnight, with a headlamp, because the power was out.
Nora: You are a hero.
Felix: By the way, I sold my old motorbike to a neighbour for nine hundred euros.
Nora: You loved that thing.
Felix: I need the money for our trip to Iceland in February.""",
}

QUESTIONS = {
    "What is the name of Felix's dog?": "Her name is Pepper",
    "In which orchestra does Nora play?": "I play in the city orchestra",
    "What does Nora's brother Emil repair?": "He repairs wooden sailing boats",
    "How did Felix break his wrist?": "I fell off a ladder",
    "What is Nora training to become?": "training to become a midwife",
    "How old is Lena?": "Lena turned seven",
    "Where is Felix's trip going in February?": "trip to Iceland",
    "Since when is Felix a vegetarian?": "since I was nineteen",
    "How many tulip bulbs did Nora plant?": "forty tulip bulbs",
    "To whom did Felix sell his old motorbike?": "nine hundred euros",
}
PARAPHRASED = {
    "What does Emil do for a living?": "He repairs wooden sailing boats",
    "How did Felix hurt himself?": "I fell off a ladder",
    "What is Nora's new profession?": "training to become a midwife",
    "Where does Felix want to travel in winter?": "trip to Iceland",
    "Does Felix eat meat?": "since I was nineteen",
    "Which flowers did Nora plant?": "forty tulip bulbs",
}
STRANGE = (
    "Which programming language was the compiler written in?",
    "How do I renew a passport at the embassy in Nairobi?",
    "Explain the causes of the French Revolution.",
    "What is the square root of 1764?",
)


def parse_lines(talk: dict[datetime, str]) -> Iterator[NewLine]:
    for begun, text in talk.items():
        for number, row in enumerate(text.splitlines()):
            speaker, _, words = row.partition(": ")
            yield NewLine(words, speaker, said_at=begun + timedelta(minutes=number), session=f"{begun:%B}")


@pytest.fixture(scope="module")
def model() -> Embedder:
    return OnnxEmbedder()


@pytest.fixture(scope="module")
def friends(model: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open("friends", store=tmp_path_factory.mktemp("friends"), embedder=model, recipe="default") as memory:
        memory.observe_many(parse_lines(TALK))
        yield memory


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answering_line_is_among_the_first_three_hits(friends: Memory, question: str) -> None:
    texts = [hit.line.text for hit in friends.recall(question, k=3)]
    assert any(QUESTIONS[question] in text for text in texts), texts


@pytest.mark.parametrize("question", PARAPHRASED)
def test_the_answering_line_to_a_paraphrase_is_among_the_first_ten_hits(friends: Memory, question: str) -> None:
    assert any(PARAPHRASED[question] in hit.line.text for hit in friends.recall(question, k=10))


def test_most_queries_find_the_answering_line_first(friends: Memory) -> None:
    first = [answer in friends.recall(question, k=1)[0].line.text for question, answer in QUESTIONS.items()]
    assert sum(first) >= 7


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_context_contains_the_answer_with_its_day_and_speaker(friends: Memory, question: str) -> None:
    found = friends.context(question, 400)
    line = next(line for line in found.lines if QUESTIONS[question] in line.text)
    assert f"{line.speaker}: {line.text}" in found.text
    assert f"{line.said_at:%A}, {line.said_at.day} {line.said_at:%B} 2023" in found.text


@pytest.mark.parametrize("question", STRANGE)
def test_a_query_about_an_unknown_topic_has_an_empty_context(friends: Memory, question: str) -> None:
    assert friends.context(question).text == ""


@pytest.fixture(scope="module")
def three(model: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open("three", store=tmp_path_factory.mktemp("three"), embedder=model, recipe="default") as memory:
        for text in (
            "My sister Mia moved to Lisbon in May.",
            "I am allergic to peanuts.",
            "We are painting the kitchen yellow.",
        ):
            memory.observe(text, speaker="Alice")
        yield memory


@pytest.mark.parametrize("question", STRANGE)
def test_unrelated_queries_to_a_bank_of_three_lines_have_an_empty_context(three: Memory, question: str) -> None:
    assert three.context(question).text == ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does Mia live?", "Lisbon"),
        ("Is Alice allergic to peanuts?", "peanuts"),
        ("What colour is the kitchen going to be?", "yellow"),
    ],
)
def test_answers_are_found_in_a_bank_of_three_lines(three: Memory, question: str, answer: str) -> None:
    assert answer in three.context(question).text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is my sibling up to?", "Lisbon"),
        ("Which food makes me ill?", "peanuts"),
        ("Is a room of the house being decorated?", "yellow"),
    ],
)
def test_answers_without_shared_words_are_found_in_a_bank_of_three_lines(
    three: Memory, question: str, answer: str
) -> None:
    assert answer in three.context(question).text


def test_an_earlier_identical_question_is_not_an_answer(model: Embedder, tmp_path: Path) -> None:
    with Memory.open("asked", store=tmp_path, embedder=model, recipe="default") as memory:
        for text in ("I am allergic to peanuts.", "What is my dog called?", "We are painting the kitchen yellow."):
            memory.observe(text, speaker="Alice")
        assert memory.context("What is my dog called?").text == ""
        assert memory.context("so what's my dog called").text == ""
        memory.observe("My dog is called Biscuit.", speaker="Alice")
        assert "Biscuit" in memory.recall("What is my dog called?", 1)[0].line.text
        assert "Biscuit" in memory.context("What is my dog called?").text


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("When I was six we moved to Rome", "Where did we move when I was six?"),
        ("Will moved to Paris", "Did Will move to Paris?"),
        ("Had lunch with Tom at Luigi's", "Did I have lunch with Tom?"),
        ("Did you know that my dog is called Biscuit?", "What is my dog called?"),
    ],
)
def test_a_statement_that_begins_like_a_question_is_an_answer(
    model: Embedder, tmp_path: Path, text: str, question: str
) -> None:
    with Memory.open("told", store=tmp_path, embedder=model, recipe="default") as memory:
        memory.observe("We watched a film about bees", speaker="Alice")
        memory.observe(text, speaker="Alice")
        assert memory.recall(question, 1)[0].line.text == text
        assert text in memory.context(question).text


SAM = """\
Hello!
I moved to Leeds from Glasgow for work
we have two greyhounds now, Biscuit and Olive
how are you today?
my mum had a stroke in March
I took up the cello again
ok bye
morning
I go bouldering with Priya on Fridays
I can't stand coriander
thanks"""


@pytest.mark.parametrize("question", ["who is my climbing buddy?", "do I have any pets?", "what herb do I dislike?"])
def test_a_repeated_question_finds_its_answer_every_time(model: Embedder, tmp_path: Path, question: str) -> None:
    with Memory.open("sam", store=tmp_path, embedder=model, recipe="default") as memory:
        for text in SAM.splitlines():
            memory.observe(text, speaker="Sam")
        first = memory.recall(question, 1)[0].line.seq
        for other in ("what do I do on Fridays?", question, "where am I from", question):
            assert memory.recall(question, 1)[0].line.seq == first
            assert first in {line.seq for line in memory.context(question).lines}
            memory.observe(other, speaker="Sam")


@pytest.mark.parametrize("text", ["ok", "hello", "good night", "thank you so much!", "hm", "Nice!"])
def test_small_talk_has_an_empty_context(model: Embedder, tmp_path: Path, text: str) -> None:
    with Memory.open("sam", store=tmp_path, embedder=model, recipe="default") as memory:
        for line in SAM.splitlines():
            memory.observe(line, speaker="Sam")
        found = memory.context(text)
        assert (found.text, found.relevance) == ("", 0)


CHINESE = (
    "我昨天买了一只橘色的小猫。",
    "它叫什么名字？",
    "它叫汤圆，因为它又白又圆的肚子。",
    "我妹妹下个月去成都读大学。",
    "成都的火锅很辣。",
    "我对花生过敏，不能吃花生酱。",
    "爸爸在学拉二胡。",
    "今天下雨了，我没有带伞。",
)


@pytest.mark.parametrize(
    ("question", "answer"), [("小猫叫什么名字", "汤圆"), ("妹妹去哪里读大学？", "成都"), ("我能吃花生吗", "过敏")]
)
def test_a_chinese_conversation_is_recalled(model: Embedder, tmp_path: Path, question: str, answer: str) -> None:
    with Memory.open("中文", store=tmp_path, embedder=model, recipe="default") as memory:
        for text in CHINESE:
            memory.observe(text, speaker="小明")
        assert any(answer in hit.line.text for hit in memory.recall(question, k=3))


class Down:
    """An embedder whose server is down."""

    name = "down"
    multilingual = True

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable("the server is away")

    def embed_query(self, text: str) -> Vector:
        raise EmbedderUnavailable("the server is away")


def test_lines_are_stored_and_found_by_keyword_while_the_embedder_is_down(tmp_path: Path) -> None:
    with Memory.open("friends", store=tmp_path, embedder=Down(), recipe="default") as memory:
        kept = memory.observe_many(parse_lines(TALK))
        assert memory.stats().pending == len(kept)
        assert "nine hundred" in memory.recall("Who bought the old motorbike from Felix?", k=1)[0].line.text
        assert "greyhound" in memory.recall("greyhound from the shelter", k=1)[0].line.text


def test_reindexing_embeds_all_lines_once_the_embedder_is_back(model: Embedder, tmp_path: Path) -> None:
    with Memory.open("friends", store=tmp_path, embedder=Down(), recipe="default") as memory:
        memory.observe_many(parse_lines(TALK))
    with Memory.open("friends", store=tmp_path, embedder=model, recipe="default") as memory:
        assert memory.reindex() == memory.stats().lines
        assert memory.stats().pending == 0
        found, _ = memory.reader.measure_candidates(Query("Which instrument does Nora play?"))
        assert np.isfinite(found.cosine).all()


def test_vectors_of_another_model_are_never_compared(friends: Memory) -> None:
    other = Memory("friends", friends.store, HashEmbedder(), friends.recipe)
    found, _ = other.reader.measure_candidates(Query("Which instrument does Nora play?"))
    assert np.isnan(found.cosine).all()
    assert other.stats().pending == other.stats().lines
