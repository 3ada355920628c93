"""Tests of how people introduce themselves: without verbs, without subjects, in small letters."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line

INTRODUCTIONS = {
    "hey, I'm Sam, just moved to Bristol with my girlfriend Tess": (
        "Kim | name | Sam; Kim | home | Bristol; Kim | partner | Tess"
    ),
    "shay, 27, sous chef": "Kim | name | shay; Kim | age | 27; Kim | occupation | sous chef",
    "31m, divorced, plumber, based in Ohio": (
        "Kim | age | 31; Kim | status | divorced; Kim | occupation | plumber; Kim | home | Ohio"
    ),
    "Yo, Marcus here. 22, from Atlanta": "Kim | name | Marcus; Kim | age | 22; Kim | origin | Atlanta",
    "I'm vegan and allergic to soy": "Kim | diet | vegan; Kim | allergy | soy",
    "My wife Ana is a nurse, allergic to nuts and from Lima": (
        "Kim | partner | Ana; Ana | occupation | nurse; Ana | allergy | nuts; Ana | origin | Lima"
    ),
    "sister's called Ruth, she's 19": "Kim | sister | Ruth; Ruth | age | 19",
    "mum Jo, dad Steve, sister Em": "Kim | mother | Jo; Kim | father | Steve; Kim | sister | Em",
    "we've got two girls, Ana and Mia, 9 and 7": (
        "Kim | daughter | Ana; Kim | daughter | Mia; Ana | age | 9; Mia | age | 7"
    ),
    "i live in leeds with my two cats, pickle and bean": (
        "Kim | home | leeds; Kim | pet | pickle; pickle | kind | cat; Kim | pet | bean; bean | kind | cat"
    ),
    "I have a 5 year old son, Max": "Kim | son | Max; Max | age | 5",
    "at 63 I still run": "Kim | age | 63; Kim | hobby | run",
    "hey, I'm Brian, 27": "Kim | name | Brian; Kim | age | 27",
    "hey, I'm Italian, 27": "Kim | age | 27",
    "hi, I'm Pisces, 27": "Kim | age | 27",
    "hi, I'm Sagittarius, 27": "Kim | age | 27",
    "hi, I'm Home, 27": "Kim | age | 27",
    "hi, I'm Serious, 27": "Kim | age | 27",
    "hi, I'm Vegan, 27": "Kim | age | 27; Kim | diet | Vegan",
    "italian, 27, nurse": "Kim | occupation | nurse",
    "hello im ana and im new here": "Kim | name | ana",
    "Ich bin die Jana, wohne in Köln": "Kim | name | Jana; Kim | home | Köln",
    "Hallo, ich bin Petra, 52, Krankenschwester aus Bonn": (
        "Kim | name | Petra; Kim | age | 52; Kim | occupation | Krankenschwester; Kim | origin | Bonn"
    ),
    "meine Freundin heißt Lisa, sie ist 25": "Kim | partner | Lisa; Lisa | age | 25",
    "mein Freund Tim kommt aus Graz": "Tim | origin | Graz",
    "Soy Lucía, vivo en Sevilla": "Kim | name | Lucía; Kim | home | Sevilla",
    "tengo 35, divorciado, dos nenas": "Kim | age | 35; Kim | status | divorciado",
    "叫我阿强就行，广州人": "Kim | name | 阿强; Kim | origin | 广州",
    "家里有只金毛叫大黄，五岁了": "Kim | pet | 大黄; 大黄 | breed | 金毛; 大黄 | age | 五岁",
}

OTHERS = [
    "I'm Batman",
    "hi im tired",
    "hi im stuck on this bug and i need help",
    "It was 35, hot and windy",
    "I'm thinking of Tom, teacher of the year",
    "I'm not single, teacher or otherwise",
    "Monday, 27, sunny",
    "Winter here, 30 below",
    "Stay here, you fool.",
    "Sign here, please",
    "Nearly here!",
    "if I'm Sam, 27, from Hull, who are you?",
    "my two favourite things, tea and books",
    "at 16 I left school",
    "at 18 I still lived at home",
    "At 30 I still had hopes",
    "today is my 30th birthday party planning",
    "hey, I'm Italian",
    "hi im hungover",
    "hi im skint",
    "hi im nonbinary",
    "hi im wrecked, talk later",
    "morning! Kids here.",
    "Sister Act is on tonight",
    "Ich bin der Meinung, dass wir gehen",
    "Ich bin die Ruhe selbst.",
    "Mein Freund und Helfer, die Polizei",
    "Soy Madrileño",
    "获得这么多成就的他，其实才三十六岁",
    "了解，是一名喜剧演员",
    "我好怕是多动症",
]


def read(*texts: str) -> set[str]:
    """Read what lines of Kim's state."""
    at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    lines = [Line(seq, "s", "user", "Kim", text, at, key=str(seq)) for seq, text in enumerate(texts, 1)]
    return {f"{each.subject} | {each.attribute} | {each.value}" for each in read_statements(lines)}


@pytest.mark.parametrize(("text", "stated"), INTRODUCTIONS.items())
def test_an_introduction_states_what_its_pieces_say(text: str, stated: str) -> None:
    assert read(text) == set(stated.split("; "))


@pytest.mark.parametrize("text", OTHERS)
def test_what_only_looks_like_an_introduction_states_nothing(text: str) -> None:
    assert read(text) == set()


def test_a_relative_without_an_owner_may_be_that_of_the_one_before() -> None:
    assert read("My friend Joe is 30. Wife is a nurse.") == {"Kim | friend | Joe", "Joe | age | 30"}


@pytest.mark.parametrize("name", ["Sam", "Kim"])
def test_a_pronoun_never_means_the_name_that_its_speaker_has_stated(name: str) -> None:
    stated = read(f"I'm {name}, my girlfriend Tess lives with me", "she's a vet, works at the clinic")
    assert stated >= {"Kim | partner | Tess", "Tess | occupation | vet", "Tess | employer | clinic"}
