"""Tests of what ends because of what a line states."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from everthread.facts.consequences import find_consequences, settle
from everthread.facts.referents import Names
from everthread.facts.types import Statement

SAID_AT = datetime(2025, 3, 3, 12, tzinfo=UTC)


def state(attribute: str, value: str, *, ends: bool = False) -> Statement:
    return Statement("Kim", attribute, value, (1,), SAID_AT, ends=ends)


def know(*statements: Statement) -> Names:
    names = Names()
    for statement in statements:
        names.add(statement)
    return names


def list_ends(*stated: Statement, known: tuple[Statement, ...]) -> list[tuple[str, str]]:
    found = find_consequences(stated, know(*known, *stated))
    return [(each.attribute, each.value) for each in found if each.ends]


def test_a_taste_ends_its_opposite() -> None:
    assert list_ends(state("dislikes", "Olives"), known=(state("likes", "olives"),)) == [("likes", "Olives")]
    assert list_ends(state("dislikes", "olives"), known=(state("likes", "figs"),)) == []


def test_a_status_ends_what_it_rules_out_if_that_is_known() -> None:
    assert list_ends(state("status", "retired"), known=(state("employer", "Asda"),)) == [("employer", "")]
    assert list_ends(state("status", "retired"), known=()) == []


def test_a_status_keeps_what_the_same_line_states() -> None:
    stated = state("status", "divorced"), state("partner", "Tess")
    assert list_ends(*stated, known=(state("partner", "Ann"),)) == []


def test_a_new_partner_or_employer_ends_a_status_that_it_rules_out() -> None:
    assert list_ends(state("partner", "Ann"), known=(state("status", "single"),)) == [("status", "single")]
    assert list_ends(state("employer", "Lidl"), known=(state("status", "Arbeitslos"),)) == [("status", "arbeitslos")]
    assert list_ends(state("partner", "Ann"), known=(state("status", "divorced"),)) == []
    assert list_ends(state("partner", "Ann"), state("status", "single"), known=(state("status", "single"),)) == []


def test_a_partner_of_long_ago_ends_no_status() -> None:
    met = replace(state("partner", "Ann"), moment="2010", is_event=True)
    assert list_ends(met, known=(state("status", "single"),)) == []


def test_who_leaves_an_employer_leaves_the_boss() -> None:
    left, boss = state("employer", "Greggs", ends=True), state("boss", "Sharon")
    assert list_ends(left, known=(boss,)) == [("boss", "")]
    assert list_ends(left, known=()) == []
    assert list_ends(left, state("boss", "Ben"), known=(boss,)) == []


@pytest.mark.parametrize(
    ("employer", "occupation"),
    [("bakery", "baker"), ("Bäckerei", "Bäckerin"), ("panadería", "panadera"), ("面包店", "面包师")],
)
def test_who_leaves_a_workplace_leaves_the_work_that_it_is_named_for(employer: str, occupation: str) -> None:
    known = state("employer", employer), state("occupation", occupation)
    for value in (employer, ""):
        assert list_ends(state("employer", value, ends=True), known=known) == [("occupation", "")]
    assert list_ends(state("employer", employer, ends=True), state("occupation", "nurse"), known=known) == []
    nurse = state("employer", "hospital"), state("occupation", "nurse")
    assert list_ends(state("employer", "hospital", ends=True), known=nurse) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("engaged", "married"),
        ("verlobt", "verheiratet"),
        ("comprometida", "casado"),
        ("订婚", "结婚"),
        ("married", "divorced"),
    ],
)
def test_the_status_of_one_of_a_couple_ends_the_earlier_one_of_the_other(before: str, after: str) -> None:
    known = state("partner", "Ann"), replace(state("status", before), subject="Ann")
    found = find_consequences([state("status", after)], know(*known))
    assert [(each.subject, each.value) for each in found if each.attribute == "status"] == [("Ann", before)]
    found = find_consequences([replace(state("status", after), subject="Ann")], know(known[0], state("status", before)))
    assert [(each.subject, each.value) for each in found if each.attribute == "status"] == [("Kim", before)]
    assert list_ends(state("status", before), known=(known[0], replace(known[1], value=after))) == []


def test_an_engagement_ends_with_the_couple_and_a_marriage_does_not() -> None:
    parted, ann = state("partner", "", ends=True), state("partner", "Ann")
    assert list_ends(parted, known=(ann, state("status", "engaged"))) == [("status", "engaged")]
    assert list_ends(parted, known=(ann, state("status", "married"))) == []


def test_a_death_ends_the_relation_to_a_pet_and_a_partner_and_not_to_a_mother() -> None:
    dead = Statement("Rex", "status", "dead", (1,), SAID_AT)
    for relation, ended in (("pet", [("Kim", "pet", "Rex")]), ("partner", [("Kim", "partner", "Rex")]), ("mother", [])):
        found = find_consequences([dead], know(state(relation, "Rex")))
        assert [(each.subject, each.attribute, each.value) for each in found if each.ends] == ended


def test_a_taste_that_has_ended_has_no_consequences() -> None:
    assert list_ends(state("dislikes", "olives", ends=True), known=(state("likes", "olives"),)) == []


def test_a_new_value_replaces_a_single_one_and_an_end_without_a_value_all() -> None:
    names = know(state("home", "Leeds"), state("home", "York"), state("likes", "figs"), state("likes", "olives"))
    settle(names, [state("home", "York"), state("likes", "", ends=True)])
    assert (names.values["Kim", "home"], names.values["Kim", "likes"]) == ({"york"}, set())
