"""Tests of lines that say that someone died: it is known from then on, and what the living do ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.facts.types import Statement
from everthread.types import Line

DIED = {
    "my grandma died last week": "Kim's grandmother",
    "My friend Tom works at Bosch. / Tom passed away in March.": "Tom",
    "my husband Paul is a nurse / my husband died two years ago": "Paul",
    "my grandad is dead": "Kim's grandfather",
    "my uncle Joe is no longer with us": "Joe",
    "my dog Rex is old / Rex died yesterday": "Rex",
    "I have a cat named Minka / we had to put Minka down": "Minka",
    "I have a cat named Minka / we had to put her to sleep": "Minka",
    "we had to have my cat Mimi put down": "Mimi",
    "we had to put our dog down on Monday": "Kim's dog",
    "Meine Oma Erna wohnt in Kiel. / Meine Oma ist letzte Woche gestorben.": "Erna",
    "Mein Hund heißt Bello. / Bello ist gestern gestorben.": "Bello",
    "Leider ist unser Hund Bello gestorben.": "Bello",
    "Wir haben eine Katze namens Mimi. / Wir mussten unsere Katze einschläfern.": "Mimi",
    "Mein Vater ist seit Jahren tot.": "Kim's father",
    "Mi abuela Rosa vive en Lugo. / Mi abuela murió la semana pasada.": "Rosa",
    "Tengo un perro que se llama Toby. / Se nos murió Toby.": "Toby",
    "Ha muerto mi abuelo.": "Kim's grandfather",
    "我外婆住在苏州。 / 我外婆去年去世了。": "Kim's grandmother",
    "我养了一只猫叫咪咪。 / 咪咪死了。": "咪咪",
}
ALIVE = [
    "my dad died laughing",
    "my sister died her hair / my mum died her long grey hair pink",
    "my dog nearly died last year",
    "if my mum died I would be lost",
    "did your dog die?",
    "my mum was dead set on it",
    "my phone died",
    "I had to put Tom down for a nap",
    "Prince died in 2016.",
    "my mum says Elvis died on the toilet",
    "Mein Handy ist gestorben.",
    "Meine Oma ist fast gestorben.",
    "我快死了",
]


def read(talk: str) -> list[Statement]:
    lines = [
        Line(number, "s", "user", "Kim", text, datetime(2026, 1, number, tzinfo=UTC))
        for number, text in enumerate(talk.split(" / "), 1)
    ]
    return read_statements(lines)


@pytest.mark.parametrize(("talk", "who"), DIED.items())
def test_the_death_of_relatives_friends_and_pets_is_known(talk: str, who: str) -> None:
    dead = [each.subject for each in read(talk) if (each.attribute, each.value, each.ends) == ("status", "dead", False)]
    assert dead == [who]


@pytest.mark.parametrize("talk", ALIVE)
def test_what_only_sounds_like_a_death_or_is_that_of_strangers_is_not_stated(talk: str) -> None:
    assert [each for each in read(talk) if each.value == "dead"] == []


@pytest.mark.parametrize(
    ("talk", "ended"),
    [
        ("my grandma Rose lives in Leeds. She works at Asda. / my grandma died", {("home", ""), ("employer", "")}),
        ("Meine Oma Erna wohnt in Kiel. / Meine Oma ist gestorben.", {("home", "")}),
        ("Mi abuela Rosa vive en Lugo. / Mi abuela murió ayer.", {("home", "")}),
        ("我外婆住在苏州。 / 我外婆去世了。", {("home", "")}),
        ("my wife Sue is lovely / Sue died in May", {("partner", "Sue")}),
        ("my dog Rex is old / Rex died yesterday", {("pet", "Rex")}),
    ],
)
def test_who_died_lives_and_works_nowhere_and_is_no_one_s_pet_or_partner(
    talk: str, ended: set[tuple[str, str]]
) -> None:
    assert {(each.attribute, each.value) for each in read(talk) if each.ends} == ended
