from __future__ import annotations

from datetime import UTC, datetime

from bench.test_facts import Written
from everthread.bench.fact_sample import sample_statements, write_tsv
from everthread.bench.questions import AnnotatedConversation
from everthread.types import NewLine

LINES = tuple(
    NewLine(text, "Nora", said_at=datetime(2024, 3, day, tzinfo=UTC), session=f"talk-{day}")
    for day, text in ((3, "I live in\nPorto."), (4, "Nice\tday."), (5, "I sold the bike."))
)
TALK = AnnotatedConversation("talk", LINES, ("1", "2", "3"), (), ("Nora",))
READER = Written(["1 + Nora | home | Porto | 2019", "3 - Nora | owns | bike", "3 + Nora | likes | bikes"])


def test_all_statements_are_drawn_if_there_are_fewer_than_asked_for() -> None:
    sampled, found = sample_statements([TALK, TALK], READER, 10)
    assert found == len(sampled) == 6


def test_a_draw_has_as_many_as_asked_for_in_the_order_of_their_lines_and_the_same_each_time() -> None:
    sampled, found = sample_statements([TALK], READER, 2)
    assert (found, len(sampled)) == (3, 2)
    assert sampled == sample_statements([TALK], READER, 2)[0]
    assert [each.lines[0].seq for each in sampled] == sorted(each.lines[0].seq for each in sampled)


def test_a_row_has_a_statement_with_its_lines_and_no_line_break_or_tab() -> None:
    sampled, _ = sample_statements([TALK], READER, 3)
    assert write_tsv(sampled).split("\n")[:3] == [
        "true\tconversation\tsubject\tattribute\tvalue\tends\tmoment\tsaid\tlines",
        "\ttalk\tNora\thome\tPorto\t\t2019\t2024-03-03\tNora: I live in Porto.",
        "\ttalk\tNora\towns\tbike\tends\t\t2024-03-05\tNora: I sold the bike.",
    ]
