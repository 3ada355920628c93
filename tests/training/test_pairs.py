from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.training.pairs import Pair, read_pairs, remove_duplicates, split_pairs


def test_pairs_are_read_with_and_without_negatives(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    rows = ['{"query": "Where?", "text": " Here. "}', "", '{"query": "Who?", "text": "Me.", "negatives": ["You."]}']
    file.write_text("\n".join(rows), encoding="utf-8")
    assert read_pairs(file) == [Pair("Where?", "Here."), Pair("Who?", "Me.", ("You.",))]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"query": "Where?"}', '"text" is None'),
        ('{"query": " ", "text": "Here."}', "empty query or text"),
        ('{"query": "Where?", "text": "Here.", "negatives": "There."}', "invalid negatives"),
    ],
)
def test_a_row_that_is_no_pair_is_an_error_with_its_number(row: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"query": "Where?", "text": "Here."}\n' + row, encoding="utf-8")
    with pytest.raises(BadFile, match=message) as error:
        read_pairs(file)
    assert "line 2" in str(error.value)


def test_a_question_with_the_same_text_counts_once() -> None:
    assert remove_duplicates([Pair("a", "b"), Pair("a", "c"), Pair("a", "b")]) == [Pair("a", "b"), Pair("a", "c")]


def test_about_a_fifth_is_held_out_and_no_text_is_in_both_parts() -> None:
    pairs = [Pair(f"question {number}", f"text {number // 2}") for number in range(1000)]
    training, held_out = split_pairs(pairs)
    assert sorted(training + held_out, key=pairs.index) == pairs
    assert 150 < len(held_out) < 250
    assert not {pair.text for pair in training} & {pair.text for pair in held_out}


def test_a_pair_stays_in_its_part_when_others_are_added() -> None:
    pairs = [Pair("question", f"text {number}") for number in range(100)]
    assert set(split_pairs(pairs[:50])[1]) == set(split_pairs(pairs)[1]) & set(pairs[:50])
