"""Tests of the facts and the times in which they hold, from statements."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from everthread.facts import history
from everthread.facts.history import build_facts, resolve_ended, value_key
from everthread.facts.partial_dates import read_moment
from everthread.facts.types import Fact, Statement
from facts.steps import count_steps

BEGUN = datetime(2024, 1, 1, 12, tzinfo=UTC)


def on_day(days: int) -> datetime:
    return BEGUN + timedelta(days=days)


def state(number: int, attribute: str, value: str, *, ends: bool = False, **fields: object) -> Statement:
    """Return a statement of line `number`, said on that day, about Nora."""
    said_at = on_day(number)
    made = Statement("Nora", attribute, value, (number,), said_at, ends, position=number, id=number)
    return Statement(**{**{name: getattr(made, name) for name in made.__slots__}, **fields})


def values(facts: list[Fact]) -> list[str]:
    return [fact.value for fact in facts]


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    leeds, york = build_facts([state(1, "home", "Leeds"), state(5, "home", "York")])
    assert (leeds.since, leeds.until, leeds.replaced_by) == (on_day(1), on_day(5), "York")
    assert (york.since, york.until, york.replaces) == (on_day(5), None, "Leeds")
    assert york.holds
    assert not leeds.holds


def test_a_status_of_work_and_one_of_the_family_hold_side_by_side() -> None:
    facts = build_facts([state(1, "status", "divorced"), state(2, "status", "retired"), state(3, "status", "pregnant")])
    assert all(fact.holds for fact in facts)
    facts = build_facts([state(1, "status", "divorced"), state(2, "status", "in Rente"), state(3, "status", "married")])
    assert sorted(values([fact for fact in facts if fact.holds])) == ["in Rente", "married"]


def test_values_of_other_attributes_hold_side_by_side() -> None:
    facts = build_facts([state(1, "likes", "jazz"), state(2, "likes", "figs")])
    assert values(facts) == ["jazz", "figs"]
    assert all(fact.holds and fact.replaces is None for fact in facts)


@pytest.mark.parametrize(
    ("attribute", "stated", "ended", "meant"),
    [
        ("owns", ["red bike"], "bike", "red bike"),
        ("owns", ["a bike"], "red bike", "a bike"),
        ("allergy", ["peanuts"], "peanut", "peanuts"),
        ("owns", ["red bike", "bike"], "bike", "bike"),
        ("owns", ["red bike", "blue bike"], "bike", "bike"),
        ("owns", ["bike"], "bike shed", "bike shed"),
        ("member", ["Old Choir"], "Choir", "Choir"),
        ("employer", ["Aldi North", "Aldi South"], "Aldi", "Aldi"),
        ("employer", ["Aldi"], "Al", "Al"),
        ("home", ["Hull Road"], "Hull", "Hull"),
    ],
)
def test_what_has_ended_is_the_only_thing_that_can_be_meant(
    attribute: str, stated: list[str], ended: str, meant: str
) -> None:
    said = [state(number, attribute, value) for number, value in enumerate(stated)]
    assert resolve_ended([*said, state(9, attribute, ended, ends=True)])[-1].value == meant


def test_what_has_ended_already_does_not_end_again() -> None:
    said = [("red bike", False), ("bike", True), ("bike", True)]
    resolved = resolve_ended(state(number, "owns", value, ends=ends) for number, (value, ends) in enumerate(said))
    assert [each.value for each in resolved] == ["red bike", "red bike", "bike"]


def test_more_ends_take_no_longer_each_to_resolve() -> None:
    few, many = (
        [state(number, "likes", f"kind {number % size}", ends=number >= size) for number in range(2 * size)]
        for size in (50, 200)
    )
    assert count_steps(history, lambda: resolve_ended(many)) < 5 * count_steps(history, lambda: resolve_ended(few))


@pytest.mark.parametrize("ends", [False, True])
def test_more_values_take_no_longer_each(ends: bool) -> None:
    few, many = ([state(number, "likes", f"fruit {number}", ends=ends) for number in range(size)] for size in (50, 200))
    assert count_steps(history, lambda: build_facts(many)) < 5 * count_steps(history, lambda: build_facts(few))


def test_kinds_of_favourites_have_one_value_each() -> None:
    said = [("favourite colour", "green"), ("favourite food", "figs"), ("favourite colour", "blue")]
    facts = build_facts(state(number, *each) for number, each in enumerate(said))
    assert [(fact.value, fact.holds) for fact in facts] == [("green", False), ("blue", True), ("figs", True)]


def test_statements_are_read_in_the_order_in_which_they_were_said() -> None:
    facts = build_facts([state(5, "home", "York"), state(1, "home", "Leeds")])
    assert [(fact.value, fact.holds) for fact in facts] == [("Leeds", False), ("York", True)]


def test_at_the_same_time_the_place_in_the_talk_decides() -> None:
    at = on_day(1)
    corrected = state(9, "home", "Leeds", said_at=at, position=1)
    facts = build_facts([state(2, "home", "York", said_at=at), corrected])
    assert [(fact.value, fact.holds) for fact in facts] == [("Leeds", False), ("York", True)]


def test_a_repeated_value_adds_its_line() -> None:
    (fact,) = build_facts([state(1, "home", "the Hague"), state(4, "home", "The Hague")])
    assert (fact.seqs, fact.statements, fact.since) == ((1, 4), (1, 4), on_day(1))
    assert (fact.id, fact.said_at, fact.value) == (1, on_day(4), "The Hague")


@pytest.mark.parametrize(("one", "other"), [("a nurse", "Nurse"), ("Zoë", "zoe"), ("the Beatles", "Beatles")])
def test_wordings_of_one_value_are_the_same(one: str, other: str) -> None:
    assert value_key(one) == value_key(other)


def test_what_ended_no_longer_holds() -> None:
    (bike,) = build_facts([state(1, "owns", "bike"), state(3, "owns", "the bike", ends=True)])
    assert (bike.since, bike.until, bike.statements) == (on_day(1), on_day(3), (1,))


def test_an_ending_without_a_value_ends_all_of_them() -> None:
    said = [state(1, "likes", "jazz"), state(2, "likes", "figs"), state(3, "likes", "", ends=True)]
    assert [fact.until for fact in build_facts(said)] == [on_day(3)] * 2


def test_of_what_was_never_stated_only_the_end_is_known() -> None:
    (bike,) = build_facts([state(3, "owns", "bike", ends=True)])
    assert (bike.since, bike.until, bike.seqs) == (None, on_day(3), (3,))
    assert values(build_facts([state(3, "owns", "bike", ends=True)], as_of=on_day(1))) == ["bike"]


def test_what_ended_may_begin_again() -> None:
    said = [state(1, "likes", "jazz"), state(2, "likes", "jazz", ends=True), state(3, "likes", "jazz")]
    first, second = build_facts(said)
    assert (first.until, second.since, second.until) == (on_day(2), on_day(3), None)
    assert first.id != second.id


def test_without_a_statement_what_it_replaced_holds_again() -> None:
    said = [state(1, "home", "Leeds"), state(5, "home", "York"), state(6, "home", "York", ends=True)]
    assert [fact.holds for fact in build_facts(said[:1])] == [True]
    assert [fact.holds for fact in build_facts(said[::2])] == [True, False]


def test_the_moment_that_a_line_gives_counts_more_than_its_time() -> None:
    leeds, york = build_facts([state(1, "home", "Leeds", moment="2019"), state(5, "home", "York", moment="2023-03")])
    assert (leeds.since, leeds.since_stated) == (datetime(2019, 1, 1, tzinfo=UTC), "2019")
    assert leeds.until == york.since == datetime(2023, 3, 1, tzinfo=UTC)


def test_a_moment_that_is_given_later_counts() -> None:
    (fact,) = build_facts([state(1, "home", "York"), state(5, "home", "York", moment="2020-05-04")])
    assert (fact.since, fact.since_stated) == (datetime(2020, 5, 4, tzinfo=UTC), "2020-05-04")


@pytest.mark.parametrize(
    ("statements", "can_resume"),
    [
        ([state(1, "home", "Leeds")], False),
        ([state(1, "home", "the Hague"), state(5, "home", "The Hague", ends=True)], True),
        ([state(5, "home", "Leeds", ends=True)], True),
        ([state(1, "home", "Leeds"), state(5, "home", "", ends=True)], False),
        ([state(1, "home", "Leeds"), state(5, "home", "York")], False),
        ([state(1, "home", "Leeds"), state(5, "home", "York"), state(9, "home", "Leeds", ends=True)], False),
    ],
)
def test_an_end_can_be_undone_if_a_statement_of_the_value_made_it(
    statements: list[Statement], can_resume: bool
) -> None:
    assert build_facts(statements)[0].can_resume is can_resume


def test_nothing_ends_before_it_began() -> None:
    leeds, _ = build_facts([state(1, "home", "Leeds"), state(5, "home", "York", moment="2023-10")])
    assert leeds.since == leeds.until == on_day(1)


@pytest.mark.parametrize("moment", ["2010", "2010-06", "2022", "2023-01-05"])
def test_a_memory_of_the_past_does_not_replace_the_present(moment: str) -> None:
    leeds, bonn = build_facts([state(1, "home", "Leeds"), state(5, "home", "Bonn", moment=moment, is_event=True)])
    assert (leeds.holds, leeds.replaces, leeds.since) == (True, None, on_day(1))
    assert (bonn.since, bonn.until) == (read_moment(moment, UTC), on_day(1))
    assert (bonn.since_stated, bonn.until_stated, bonn.replaced_by) == (moment, None, None)
    assert not bonn.can_resume


@pytest.mark.parametrize("moment", ["2023", "2023-12", "2023-01-06", "2023-01-07"])
def test_what_began_less_than_a_year_before_it_was_said_replaces_what_was_said_since(moment: str) -> None:
    facts = build_facts([state(1, "home", "Leeds"), state(5, "home", "Bonn", moment=moment, is_event=True)])
    assert [(fact.value, fact.holds) for fact in facts] == [("Leeds", False), ("Bonn", True)]


@pytest.mark.parametrize(("first", "later"), [("2015", "2019"), ("2015", "2015"), ("2015-06", "2015")])
def test_a_moment_that_is_not_before_the_present_value_began_replaces_it(first: str, later: str) -> None:
    said = [state(1, "home", "Leeds", moment=first), state(5, "home", "Bonn", moment=later, is_event=True)]
    facts = build_facts(said)
    assert [(fact.value, fact.holds) for fact in facts] == [("Leeds", False), ("Bonn", True)]


def test_what_holds_since_a_moment_is_no_memory() -> None:
    york, leeds = build_facts([state(1, "home", "York"), state(5, "home", "Leeds", moment="2020")])
    assert (york.holds, york.replaced_by, york.until) == (False, "Leeds", on_day(1))
    assert (leeds.holds, leeds.since_stated, leeds.replaces) == (True, "2020", "York")


def test_a_repeated_memory_is_one_fact() -> None:
    said = [
        state(number, "home", "Bonn", moment=moment, is_event=True) for number, moment in ((5, "2010"), (6, "2011"))
    ]
    leeds, bonn = build_facts([state(1, "home", "Leeds"), *said])
    assert (bonn.seqs, bonn.since_stated, bonn.until) == ((5, 6), "2011", leeds.since)


@pytest.mark.parametrize("number", [0, 1])
def test_without_a_time_no_line_is_a_memory(number: int) -> None:
    said = [state(1, "home", "Leeds"), state(5, "home", "Bonn", moment="2010", is_event=True)]
    said[number] = replace(said[number], is_undated=True)
    assert [(fact.value, fact.holds) for fact in build_facts(said)] == [("Leeds", False), ("Bonn", True)]


def test_values_that_hold_side_by_side_need_no_memory() -> None:
    facts = build_facts([state(1, "owns", "bike"), state(5, "owns", "car", moment="2010")])
    assert all(fact.holds for fact in facts)


def test_since_when_is_unknown_if_the_line_has_no_time() -> None:
    (fact,) = build_facts([state(1, "home", "Leeds", is_undated=True)])
    assert (fact.since, fact.undated) == (None, True)
    assert fact.holds


@pytest.mark.parametrize(("moment", "is_undated"), [(None, True), ("2023", False)])
def test_until_when_is_unknown_if_the_line_that_ends_it_has_no_time_and_says_none(
    moment: str | None, is_undated: bool
) -> None:
    said = (
        [state(1, "home", "Leeds"), state(5, "home", "York", moment=moment, is_undated=True)],
        [state(1, "owns", "bike"), state(5, "owns", "bike", ends=True, moment=moment, is_undated=True)],
    )
    for statements in said:
        ended = build_facts(statements)[0]
        assert (ended.holds, ended.until_undated, ended.undated) == (False, is_undated, False)


def test_as_of_gives_what_held_then() -> None:
    said = [state(1, "home", "Leeds"), state(5, "home", "York"), state(8, "home", "", ends=True)]
    found = [values(build_facts(said, as_of=on_day(day))) for day in (0, 1, 4, 5, 7, 8)]
    assert found == [[], ["Leeds"], ["Leeds"], ["York"], ["York"], []]


def test_known_at_leaves_out_what_was_said_later() -> None:
    said = [state(1, "home", "Leeds"), state(5, "home", "York", moment="2023-10")]
    assert [(fact.value, fact.holds) for fact in build_facts(said, known_at=on_day(3))] == [("Leeds", True)]


def test_the_surest_and_all_writers_are_named() -> None:
    said = [state(1, "home", "York", confidence=0.6), state(2, "home", "York", writer="person", confidence=0.9)]
    (fact,) = build_facts(said)
    assert (fact.confidence, fact.writers, fact.is_confirmed) == (0.9, ("rules", "person"), True)
