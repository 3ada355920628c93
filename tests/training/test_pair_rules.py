import pytest

from everthread.training.pair_rules import RULES, find_questions, make_pairs, name_addressee, pair_statements
from everthread.types import NewLine


def asked(text: str) -> list[str]:
    """Return the questions that a line of Mia's answers."""
    return [pair.query for pair in pair_statements(NewLine(text, "Mia"))]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What do you do for fun?", "What does Mia do for fun?"),
        ("Are you still painting?", "Is Mia still painting?"),
        ("Have you been to Rome?", "Has Mia been to Rome?"),
        ("So, where did you grow up?", "Where did Mia grow up?"),
        ("What is your favourite colour?", "What is Mia's favourite colour?"),
        (
            "What do you cook when you are at your parents' house?",
            "What does Mia cook when they are at their parents' house?",
        ),
        ("What inspired you?", "What inspired Mia?"),
        ("Why don't you drive?", "Why doesn't Mia drive?"),
        ("Did the doctor call you?", "Did the doctor call Mia?"),
    ],
)
def test_a_question_to_you_becomes_one_about_the_speaker(question: str, named: str) -> None:
    assert name_addressee(question, "Mia") == named


@pytest.mark.parametrize("question", ["Is that yours?", "Can you help me?", "How was the concert?", "Do you like it?"])
def test_a_question_that_depends_on_what_was_said_before_or_on_the_asker_is_left_out(question: str) -> None:
    assert name_addressee(question, "Mia") is None


def test_the_last_question_of_a_line_counts() -> None:
    assert find_questions("I'm tired. What do you do for sport?", "Mia") == ["What does Mia do for sport?"]
    assert find_questions("What do you do for sport? I swim.", "Mia") == []
    assert find_questions("And what about you?", "Mia") == []


def test_a_question_is_paired_with_the_answer_that_follows_it() -> None:
    lines = [
        NewLine("Where did you spend the summer?", "Ben", session="1"),
        NewLine("On a farm in Norway, with goats.", "Mia", session="1"),
    ]
    pairs = make_pairs(lines)
    assert [(pair.query, pair.text) for pair in pairs] == [("Where did Mia spend the summer?", lines[1].text)]


def test_a_question_is_not_paired_with_another_sessions_line_nor_with_the_askers_own_nor_with_small_talk() -> None:
    question = NewLine("Where did you spend the summer?", "Ben", session="1")
    for other in (
        NewLine("On a farm in Norway, with goats.", "Mia", session="2"),
        NewLine("On a farm in Norway, with goats.", "Ben", session="1"),
        NewLine("Haha, good question!", "Mia", session="1"),
    ):
        assert make_pairs([question, other]) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("I adopted a greyhound.", "pet"),
        ("We've just got two kittens!", "pet"),
        ("I play the cello in an orchestra.", "instrument"),
        ("I’m a nurse at the children's hospital.", "job"),
        ("I went to Lisbon in May.", "travel"),
        ("I have two brothers.", "sibling"),
        ("I'm allergic to peanuts.", "allergy"),
        ("I love painting by the lake.", "craft"),
        ("I'm really scared of heights.", "fear"),
        ("I broke my left wrist.", "injury"),
        ("I don't eat meat.", "dislike_or_diet"),
    ],
)
def test_a_line_in_the_first_person_answers_a_question_of_its_rule(text: str, rule: str) -> None:
    rules = ("diet", "dislike") if rule == "dislike_or_diet" else (rule,)
    expected = {question.format(name="Mia") for name in rules for question in RULES[name].asks}
    assert expected & set(asked(text))


def test_a_noun_of_the_line_is_in_the_question() -> None:
    assert asked("My favourite colour is green.")[0] in (
        "What is Mia's favourite colour?",
        "Which colour does Mia like best?",
    )


@pytest.mark.parametrize(
    "text", ["You adopted a greyhound.", "Did I adopt a greyhound?", "It rained.", "", "Ich habe einen Hund."]
)
def test_a_line_about_others_a_question_or_another_language_answers_nothing(text: str) -> None:
    assert asked(text) == []


def test_a_bots_lines_are_no_statements_about_itself() -> None:
    assert pair_statements(NewLine("I adopted a greyhound.", "Bot", role="assistant")) == []


def test_the_same_lines_make_the_same_pairs() -> None:
    lines = [NewLine(text, "Mia", session="1") for text in ("I have a dog.", "I play the flute.", "I live in Ghent.")]
    assert make_pairs(lines) == make_pairs(lines)
    assert len(make_pairs(lines)) == 3


@pytest.mark.parametrize("name", RULES)
def test_each_rule_asks_about_the_speaker_by_name(name: str) -> None:
    assert RULES[name].asks
    assert all("{name}" in question and question.endswith("?") for question in RULES[name].asks)
