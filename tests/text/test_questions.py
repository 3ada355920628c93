"""Which texts ask something, also without a question mark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.questions import is_question, is_question_only

QUESTIONS = [
    "What is my cat called?",
    "what is my cat called",
    "where does mia live",
    "I was in Rome. What did I eat there",
    "what about my sister",
    "Tell me about my sister",
    "remind me what I said about Rome",
    "wo wohnt Mia",
    "wie heißt meine Katze",
    "Weißt du noch, wo ich wohne?",
    "Hast du dir das gemerkt",
    "erzähl mir von meiner Schwester",
    "où habite ma sœur",
    "Comment s’appelle mon chat",
    "rappelle-moi où j'habite",
    "dónde vive mi hermana",
    "donde vive mi hermana",
    "¿Cómo se llama mi gato?",
    "cuéntame algo de mi hermana",
    "我妹妹住在哪里",
    "我的猫叫什么名字",
    "我喜欢喝茶吗",
    "告诉我关于猫的事",
    "妹はどこに住んでいますか",
    "猫の名前は何",
    "妹のことを教えて",
    "هل لدي قطة؟",
]
STATEMENTS = [
    "My sister Mia moved to Lisbon.",
    "Where I live, it rains.",
    "Remind me to buy milk.",
    "What a day!",
    "I wonder what Mia is doing.",
    "Wo ich wohne, regnet es.",
    "Ich weiß, wie das geht.",
    "Quand j'étais petit, je vivais à Lyon.",
    "Cuando era niño vivía en Lima.",
    "Recuérdame comprar leche.",
    "没什么",
    "我什么都喜欢",
    "いつも紅茶を飲みます",
    "何か食べたい",
    "",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_message_asks_something_by_its_mark_or_by_its_form(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_asks_nothing(text: str) -> None:
    assert not is_question(text)
    assert not is_question_only(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hello? Where are you?", True), ("where are you", True), ("I have a dog. Do you like dogs?", False)],
)
def test_a_text_only_asks_if_each_of_its_sentences_does(text: str, expected: bool) -> None:
    assert is_question(text)
    assert is_question_only(text) == expected


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    if is_question_only(text):
        assert is_question(text)
