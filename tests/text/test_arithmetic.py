from __future__ import annotations

from pathlib import Path

import pytest

from everthread import Memory
from everthread.text.arithmetic import is_sum

SUMS = [
    "What is 17 times 4?",
    "What is 2 + 2?",
    "What's 5 plus 8?",
    "How much is 12 divided by 3?",
    "Calculate 17*4.",
    "Calculate 12 / 4",
    "Compute 12/4.",
    "17*4=?",
    "17-4=",
    "17x4",
    "Add 17 and 4.",
    "What is 15% of 80?",
    "What is the square root of 144?",
    "What is seven times eight?",
    "Can you tell me what 3 minus 1 is?",
    "Can you compute 17 times 4 for me?",
    "What do you get if you multiply 17 by 4?",
    "What does 17 times 4 give?",
    "What is (1,234.5 + 6) * 7?",
    "Which is more, 17 times 4 or 60?",
    "17乘以4等于多少？",
    "请计算 3 + 5",
    "三加五等于几？",
]
NO_SUMS = [
    "Which number did I tell you, 17?",
    "What is 17?",
    "Who is 17?",
    "How many times did I go to 17?",
    "How many times did I see Tom in 2023?",
    "What did I do on 12/05?",
    "What is 2024-05-07?",
    "What about 5-6?",
    "Is it 17 or 4?",
    "Did I add 4 eggs to 2 cups of flour?",
    "Was my score 17 times 4?",
    "What is the sum I owe Tom?",
    "How old am I?",
    "我17岁的时候住在哪里？",
    "我有几个妹妹？",
    "",
    "?",
]
BANKS = [
    ["The meeting room is on floor 3.", "We have 17 chairs and 4 tables."],
    ["My flat number is 12.", "I bought 3 apples for 2 euros.", "The bus leaves at 8."],
    ["There were 4 of us.", "It took 17 minutes."],
    ["ok 17", "4", "times"],
    ["This is filler 17.", "This is filler 4."],
    ["Line number 1 of the filler.", "Line number 2 of the filler.", "Line number 3 of the filler."],
]


@pytest.mark.parametrize("question", SUMS)
def test_a_question_with_only_numbers_and_an_operation_is_a_sum(question: str) -> None:
    assert is_sum(question)


@pytest.mark.parametrize("question", NO_SUMS)
def test_a_question_about_anything_else_is_not_a_sum(question: str) -> None:
    assert not is_sum(question)


@pytest.mark.parametrize("bot", [False, True])
@pytest.mark.parametrize("lines", BANKS)
def test_a_sum_recalls_nothing_even_from_a_small_bank_with_numbers(lines: list[str], bot: bool, tmp_path: Path) -> None:
    with Memory.open("numbers", store=tmp_path) as memory:
        for text in lines:
            memory.observe(text, speaker="Nora")
        if bot:
            memory.observe("Good to know.", speaker="Ever", role="assistant")
        assert [question for question in SUMS if memory.context(question).text] == []


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("We have 17 chairs and 4 tables.", "How many chairs do we have?"),
        ("We have 17 chairs and 4 tables.", "Which number did I tell you, 17?"),
        ("We have 17 chairs and 4 tables.", "Is it 17 chairs?"),
        ("I am 17 years old.", "Who is 17?"),
        ("My flat number is 12.", "What is my flat number?"),
        ("I ran 5 km in 17 minutes.", "What did I say about 17?"),
    ],
)
def test_a_question_about_stored_numbers_still_recalls_them(line: str, question: str, tmp_path: Path) -> None:
    with Memory.open("numbers", store=tmp_path) as memory:
        memory.observe(line, speaker="Nora")
        memory.observe("I have a sister.", speaker="Nora")
        assert line in memory.context(question).text
