from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from everthread.bench.fact_sets import read_gold
from everthread.bench.facts import JudgedConversation, judge, judge_all, normalize_value
from everthread.facts.types import Statement
from everthread.types import Line

TALK = """bot: Fern
2024-03-03
Nora: My sister Mia lives in Porto now. Her husband Tom is a nurse there.
  + Nora | sister | Mia
  + Mia | home | Porto / city of Porto
  + Mia | partner | Tom
  + Tom | occupation | nurse
Fern: You might like Lisbon, too.
2024-07-14
Nora: We sold the bike. I kind of like jazz. I quit at Kessler in May.
  - Nora | owns | bike
  ? Nora | likes | jazz
  - Nora | employer | Kessler | 2024-05
  ? Nora | occupation | clerk | ended
"""
CONVERSATION = read_gold(TALK, "en", "open", "talk")


@dataclass
class Written:
    """A reader that finds statements by the number of their line, and records what it is given."""

    rows: Sequence[str]
    known: list[int] = field(default_factory=list)

    def __call__(self, lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
        self.known.append(len(known))
        return [statement for line in lines for row in self.rows if (statement := parse(row, line)).seqs == (line.seq,)]


def parse(row: str, line: Line) -> Statement:
    """Parse a row such as "1 + Nora | home | Porto"."""
    seq, mark, rest = row.split(" ", 2)
    subject, attribute, value, *moments = (part.strip() for part in rest.split("|"))
    moment = moments[0] if moments else None
    return Statement(subject, attribute, value, (int(seq),), line.said_at, mark == "-", moment)


def judge_rows(*rows: str) -> JudgedConversation:
    return judge_all([CONVERSATION], Written(rows))[0]


def test_a_reader_gets_the_lines_of_a_day_and_the_statements_of_the_days_before() -> None:
    reader = Written(["1 + Nora | sister | Mia", "1 + Mia | home | Porto"])
    judge_all([CONVERSATION], reader)
    assert reader.known == [0, 2]


@pytest.mark.parametrize(
    "row",
    [
        "1 + Mia | home | Porto",
        "1 + mia | home | the city of PORTO.",
        "1 + Nora's sister | home | Porto",
        "1 + Nora's sister | partner | Tom",
        "1 + Mia's husband | occupation | a nurse",
        "1 + Nora’s sister's husband | occupation | nurse",
        "3 - Nora | owns | the bike",
        "3 - Nora | owns | our bike",
        "3 - Nora | employer | Kessler",
        "3 - Nora | employer | ",
        "3 + Nora | likes | jazz",
        "3 - Nora | likes | jazz",
        "3 - Nora | occupation | clerk",
    ],
)
def test_a_statement_is_right_if_a_fact_of_its_line_agrees(row: str) -> None:
    (read,) = judge_rows(row).statements
    assert read.fact is not None


@pytest.mark.parametrize(
    "row",
    [
        "2 + Mia | home | Porto",
        "1 + Nora | home | Porto",
        "1 + Nora's brother | home | Porto",
        "1 + Mia | origin | Porto",
        "1 - Mia | home | Porto",
        "1 + Mia | home | beautiful Porto",
        "3 + Nora | owns | bike",
        "3 + Nora | occupation | clerk",
        "3 - Nora | owns | old bike",
        "3 - Nora | owns | ",
        "1 + Mia | home | ",
    ],
)
def test_a_statement_is_false_if_line_subject_attribute_value_or_ending_differ(row: str) -> None:
    (read,) = judge_rows(row).statements
    assert read.fact is None


def test_facts_that_count_neither_way_are_not_among_those_to_be_found() -> None:
    judged = judge_rows("3 + Nora | likes | jazz", "1 + Nora | sister | Mia")
    assert [str(each.fact) for each in judged.facts if each.statement] == ["+ Nora | sister | Mia"]
    assert len(judged.facts) == 6


def test_a_relation_with_two_names_stays_a_relation() -> None:
    text = TALK + "Nora: My other sister Lea came.\n  + Nora | sister | Lea\n"
    conversation = read_gold(text, "en", "open", "talk")
    line = conversation.talk[0]
    judged = judge(conversation, [parse("1 + Nora's sister | home | Porto", line)])
    assert judged.statements[0].fact is None


def test_a_statement_may_name_several_lines() -> None:
    line = CONVERSATION.talk[1]
    statement = Statement("Mia", "home", "Porto", (1, 2), line.said_at)
    (read,) = judge(CONVERSATION, [statement]).statements
    assert read.fact is not None
    assert read.line.line == line


@pytest.mark.parametrize(
    ("value", "normalized"),
    [
        ("The  Beatles", "beatles"),
        ("die Alpen", "alpen"),
        ("member of the choir", "member of choir"),
        ("“Café!”", "cafe"),
        ("vitamin A", "vitamin a"),
        ("里斯本。", "里斯本"),
        ("The", "the"),
        ("", ""),
    ],
)
def test_values_are_compared_without_case_accents_punctuation_and_articles(value: str, normalized: str) -> None:
    assert normalize_value(value) == normalized
