from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.scribes.base import CATEGORIES
from everthread.text.salience import choose_category, informativeness, is_question_only, is_small_talk, rate_importance


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "...",
        "ok thanks",
        "Good morning!",
        "I see.",
        "I think so, too.",
        "How are you?",
        "What is my dog called",
        "好的。",
        "你好！",
        "你好吗？",
        "谢谢你",
        "你喜欢猫吗",
        "Sounds great!",
        "That's really interesting.",
        "Tell me more.",
        "What's up?",
    ],
)
def test_greetings_thanks_and_mere_questions_have_no_informativeness(sentence: str) -> None:
    assert informativeness(sentence) == 0


@pytest.mark.parametrize(
    "sentence",
    [
        "I moved to Lisbon.",
        "My cat is old.",
        "Her dog Pixel eats only rice.",
        "It was 3 euros.",
        "我昨天搬家了。",
        "我有一只猫",
        "I adopted a dog, isn't that great?",
        "The bakery beside the old harbour burns.",
        "We live in Rome.",
        "我养了狗，是不是很棒？",
    ],
)
def test_a_sentence_about_the_speaker_or_with_a_name_is_informative(sentence: str) -> None:
    assert informativeness(sentence) > 0


def test_informativeness_grows_with_the_number_of_signs() -> None:
    assert informativeness("I went out to the garden.") < informativeness("On 3 May I married Tom in Lisbon.")
    assert informativeness("The weather over the bay turned grey.") < informativeness("My mother died last week.")


def test_a_statement_followed_by_a_question_is_not_a_mere_question() -> None:
    assert is_question_only("Where do you live?")
    assert is_question_only("Nice house, do you like it?")
    assert not is_question_only("I have a new house, do you like it?")


def test_small_talk_is_recognised_in_both_languages() -> None:
    assert is_small_talk("Good night, thank you!")
    assert is_small_talk("好的，谢谢！")
    assert not is_small_talk("我喜欢猫")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Nora and I was born in Oslo.", "person"),
        ("我叫小明，我的生日是三月", "person"),
        ("My sisters and my mother", "family"),
        ("我妈妈和我姐姐", "family"),
        ("My roommate is a good friend", "friends"),
        ("The boss called a meeting at the office", "work"),
        ("The doctor diagnosed an allergy", "health"),
        ("I baked bread for breakfast", "food"),
        ("我喜欢吃饺子", "food"),
        ("The landlord raised the rent of our flat", "home"),
        ("Our flight leaves from the airport", "travel"),
        ("I play chess and the guitar", "leisure"),
        ("The bank gave us a loan", "money"),
        ("I feel lonely and anxious", "feelings"),
        ("We plan it for tomorrow", "plans"),
        ("Qwertz.", "other"),
        ("", "other"),
        ("mother boss", "family"),
    ],
)
def test_a_text_has_the_category_of_most_of_its_words_and_the_first_of_equals(text: str, expected: str) -> None:
    assert choose_category(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ok thanks", 1),
        ("你好！", 1),
        ("Where did you put the fern?", 2),
        ("The fern stands in the hall.", 3),
        ("I work in a bakery.", 5),
        ("I promise to water the fern.", 6),
        ("I promise to water the fern on 3 May.", 7),
        ("I moved to Lisbon.", 7),
        ("She had surgery.", 8),
        ("We got married.", 9),
        ("我奶奶去世了。", 9),
        ("My father died in 2019.", 10),
    ],
)
def test_importance_ranks_births_deaths_illness_moves_and_promises(text: str, expected: int) -> None:
    assert rate_importance(text) == expected


@given(st.text(max_size=100))
def test_any_text_has_a_category_and_an_importance(text: str) -> None:
    assert choose_category(text) in CATEGORIES
    assert 1 <= rate_importance(text) <= 10
    assert 0 <= informativeness(text) < 6


@pytest.mark.parametrize("said", ["你好", "对啊", "好的"])
def test_repeated_small_talk_is_rated_quickly_whatever_follows_it(said: str) -> None:
    assert is_small_talk(said * 50)
    assert not is_small_talk(f"{said * 50}猫咪")
