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
    "Where does Mia live? 😊",
    "(Where does Mia live?)",
    "“Where does Mia live?”",
    "Where does Mia live?!",
    "do you remember my dog",
    "how old is Mia",
    "who am I",
    "so where does mia live",
    "wie alt ist Mia",
    "Erinnerst du dich an Mia",
    "quel âge a Mia",
    "tu sais où Mia habite",
    "cuando es mi cumpleaños",
    "como se llama mi hermana",
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
    "Will is my brother.",
    "May is my birthday month.",
    "Mark does not like tea.",
    "What a lovely day.",
    "How lovely.",
    "What I like is tea.",
    "When I was young I lived in Oslo.",
    "Where I live it rains a lot.",
    "Which is why I moved to Oslo.",
    "How I met Mia is a long story.",
    "When I grow up I want to be a pilot.",
    "Is what it is.",
    "Do not call me Bob.",
    "Do call my sister on Friday.",
    "Have a nice day.",
    "Have to buy milk.",
    "Can not swim.",
    "Did my homework.",
    "Was in Paris last week.",
    "Am in Oslo now.",
    "Had pizza with Mia.",
    "Wie schön.",
    "Wie du weißt wohne ich in Oslo.",
    "Was für ein Tag.",
    "Wo ich wohne ist es schön.",
    "Was ich mag ist Tee.",
    "Wer rastet der rostet.",
    "Ist mein Bruder.",
    "Hab mein Handy verloren.",
    "Habe meinen Job gekündigt.",
    "Hatte mein Vorstellungsgespräch.",
    "War ich gestern im Kino mit Mia.",
    "Bin ich froh.",
    "Wann immer ich kann gehe ich schwimmen.",
    "Wie immer trinke ich morgens Tee.",
    "Combien je t'aime.",
    "Quel beau jour.",
    "Où j'habite il pleut.",
    "Qui a bu boira.",
    "Sabes que vivo en Oslo.",
    "Qué bonito.",
    "Cómo me gusta el té.",
    "我有几个朋友住在北京。",
    "我买了几个苹果",
    "我不怎么喜欢咖啡。",
    "我没有什么爱好。",
    "多少有点累。",
    "我在家呢。",
    "他还在睡觉呢。",
    "我不知道为什么他走了",
    "什么都喜欢",
    "我哪里都没去",
    "何でも食べます。",
    "何より猫が好きです。",
    "何回も京都に行きました。",
    "いくつか本を買いました。",
    "いつの間にか春になった。",
    "どんな料理も好きです。",
    "好きなのはさかな。",
    "私はなにも知りません",
    "何年も前に大阪に住んでいた",
    "なぜか猫が好きです。",
    "どうしても行きたい",
    "東京に住んでいます。",
    "誰かが来た",
    "いつも走る",
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
    [
        ("Hello? Where are you?", True),
        ("Where are you? 😊", True),
        ("Hello? where are you", True),
        ("I have a dog. Do you like dogs?", False),
    ],
)
def test_a_text_only_asks_if_each_of_its_sentences_does(text: str, expected: bool) -> None:
    assert is_question(text)
    assert is_question_only(text) == expected


@given(st.lists(st.sampled_from([*QUESTIONS, *STATEMENTS, " ", "\n", "?", "!"]), max_size=6))
def test_any_text_that_only_asks_asks_something(parts: list[str]) -> None:
    if is_question_only("".join(parts)):
        assert is_question("".join(parts))
