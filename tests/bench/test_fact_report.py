from __future__ import annotations

from bench.test_facts import CONVERSATION, TALK, Written
from everthread.bench.fact_report import Counts, as_json, count, count_attributes, count_languages, list_errors, table
from everthread.bench.fact_sets import read_gold
from everthread.bench.facts import judge_all

ROWS = [
    "1 + Nora | sister | Mia",
    "1 + Mia | home | Porto|2019",
    "1 + Nora | home | Lisbon",
    "2 + Nora | likes | Lisbon",
    "3 - Nora | employer | Kessler|2024-05",
    "3 + Nora | likes | jazz",
]
HELD_OUT = read_gold(TALK, "en", "held-out", "talk")
JUDGED = judge_all([CONVERSATION, HELD_OUT], Written(ROWS))


def test_statements_facts_traps_and_dates_are_counted() -> None:
    counts = count(JUDGED[:1])
    assert counts == Counts(
        lines=3,
        facts=6,
        found=3,
        statements=6,
        right=4,
        traps=0,
        sprung=0,
        dated=1,
        dates_right=1,
        dates_invented=1,
    )
    assert (counts.precision, counts.recall) == (4 / 6, 3 / 6)


def test_a_trap_is_a_line_of_a_person() -> None:
    text = TALK.replace("bot: Fern\n", "")
    counts = count(judge_all([read_gold(text, "en", "open", "talk")], Written(ROWS)))
    assert (counts.traps, counts.sprung) == (1, 1)


def test_shares_without_statements_or_facts_are_unknown() -> None:
    assert (Counts().precision, Counts().recall) == (None, None)
    assert Counts().json()["recall"] is None


def test_each_part_and_language_has_a_row_and_several_languages_a_sum() -> None:
    german = judge_all([read_gold(TALK, "de", "open", "talk")], Written(ROWS))
    rows = [(part, language, counts.facts) for part, language, counts in count_languages([*JUDGED, *german])]
    assert rows == [("open", "en", 6), ("open", "de", 6), ("open", "all", 12), ("held-out", "en", 6)]


def test_attributes_are_counted_by_part_and_sorted_by_number() -> None:
    rows = count_attributes(JUDGED)
    assert list(rows) == ["employer", "home", "occupation", "owns", "partner", "sister", "likes"]
    assert {part: (each.found, each.statements, each.right) for part, each in rows["home"].items()} == {
        "open": (1, 2, 1),
        "held-out": (1, 2, 1),
    }


def test_all_favourites_are_one_attribute() -> None:
    conversation = read_gold(
        "2024-03-03\nNora: I love green and tea most.\n"
        "  + Nora | favourite colour | green\n  + Nora | favourite drink | tea\n", "en", "open", "green"
    )  # fmt: skip
    judged = judge_all([conversation], Written(["1 + Nora | favourite colour | green"]))
    assert [(name, each["open"].facts, each["open"].found) for name, each in count_attributes(judged).items()] == [
        ("favourite", 2, 1)
    ]


def test_the_table_has_counts_by_language_and_by_attribute() -> None:
    rows = [row.split() for row in table(JUDGED).splitlines()]
    assert rows[1] == ["open", "en", "3", "6", "3", "50.0", "6", "4", "66.7", "0", "0", "1/1"]
    assert ["home", "1", "100.0", "2", "50.0", "1", "100.0", "2", "50.0"] in rows
    assert ["likes", "0", "–", "2", "50.0", "0", "–", "2", "50.0"] in rows


def test_json_has_the_same_figures() -> None:
    figures = as_json(JUDGED)
    assert figures["languages"][0] == {"part": "open", "language": "en"} | count(JUDGED[:1]).json()
    assert len(figures["attributes"]) == 14


def test_errors_are_listed_with_their_lines_of_the_open_part_only() -> None:
    assert list_errors(JUDGED) == [
        "en/talk.txt:3  Nora: My sister Mia lives in Porto now. Her husband Tom is a nurse there.",
        "    missed  + Mia | partner | Tom",
        "    missed  + Tom | occupation | nurse",
        "    false   + Nora | home | Lisbon",
        "en/talk.txt:8  Fern: You might like Lisbon, too.",
        "    false   + Nora | likes | Lisbon",
        "en/talk.txt:10  Nora: We sold the bike. I kind of like jazz. I quit at Kessler in May.",
        "    missed  - Nora | owns | bike",
    ]
    assert list_errors(JUDGED[1:]) == []
