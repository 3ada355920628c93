"""Tests of the orders of words in which a clause is said."""

from __future__ import annotations

from everthread.facts.word_orders import derive_orders

ORDERS = {
    "subject": ["{subject} {verb} {said}{stop}{done}", "{subject} {said}{done} {verb}"],
    "unsaid": ["{unsaid} {me} {said}{stop}{done}"],
    "inverted": ["{verb} {inverted} {said}{stop}{done}"],
    "fronted": ["{said} {verb} ich{done}", "{past} {verb} ich {said}"],
}


def derive(**pattern: object) -> list[dict[str, object]]:
    """Return the patterns that one pattern becomes."""
    found: list[dict[str, object]] = derive_orders({"orders": ORDERS, "patterns": [pattern]})["patterns"]
    return found


def test_a_pattern_without_clauses_stays_as_it_is() -> None:
    assert derive(cues=["a"], forms=["b"]) == [{"cues": ["a"], "forms": ["b"]}]


def test_a_clause_is_written_in_every_order() -> None:
    clause = {"me": "lebe", "others": "lebt", "said": ["in {home:place}"], "stop": "{end}"}
    said, *derived = derive(cues=["leb"], clauses=[clause])
    assert said["forms"] == [
        "{subject} (?:lebe|lebt) in {home:place}{end}",
        "{subject} in {home:place} (?:lebe|lebt)",
    ]
    assert [each["forms"] for each in derived] == [
        ["{unsaid} (?:lebe) in {home:place}{end}"],
        ["in {home:place} (?:lebe|lebt) ich"],
        ["(?:lebe|lebt) {inverted} in {home:place}{end}"],
    ]


def test_the_rest_of_a_verb_ends_the_clause_or_begins_it() -> None:
    clause = {"me": "bin", "said": ["nach {home:place}"], "stop": "{end}", "done": "gezogen"}
    fronted = derive(cues=["gezogen"], clauses=[clause])[2]
    assert fronted["forms"] == [
        "nach {home:place} (?:bin) ich{adv} (?:gezogen)(?!\\w)",
        "(?:gezogen) (?:bin) ich nach {home:place}",
    ]


def test_only_the_first_person_may_have_no_subject() -> None:
    clause = {"me": "lebe", "others": "lebt", "said": ["in {home:place}"]}
    unsaid = derive(cues=["leb"], clauses=[clause])[1]
    assert unsaid["about"] == "speaker"
    assert derive(cues=["leb"], about="others", clauses=[clause])[1]["anywhere"] is True


def test_a_clause_may_say_nothing_but_its_verb() -> None:
    clause = {"me": "habe", "said": [""], "done": "gekündigt"}
    assert derive(cues=["gekündigt"], clauses=[clause])[0]["forms"][0] == (  # type: ignore[index]
        "{subject} (?:habe){adv} (?:gekündigt)(?!\\w)"
    )
