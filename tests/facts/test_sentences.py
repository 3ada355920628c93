"""Tests of the sentences of statements and facts, in each language."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.facts import sentences
from everthread.facts.attributes import ATTRIBUTES, RELATIONS
from everthread.facts.history import build_facts
from everthread.facts.sentences import describe_fact, describe_statement
from everthread.facts.types import Statement

DATA = tomllib.loads(Path(sentences.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LANGUAGES = sorted(DATA)


def state(attribute: str, value: str, subject: str = "Nora", **fields: Any) -> Statement:
    return replace(Statement(subject, attribute, value, (1,), datetime(2024, 3, 5, tzinfo=UTC), id=1), **fields)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (state("home", "Porto"), "Nora lives in Porto."),
        (state("home", "Porto", moment="2024-03"), "Nora lives in Porto (since March 2024)."),
        (state("home", "Porto", moment="2024-03-05"), "Nora lives in Porto (since 5 March 2024)."),
        (state("owns", "bike", ends=True, moment="2024"), "Nora no longer owns the bike (until 2024)."),
        (state("owns", "old boat"), "Nora owns an old boat."),
        (state("owns", "two boats"), "Nora owns two boats."),
        (state("occupation", "nurse at the university"), "Nora is a nurse at the university."),
        (state("occupation", "university teacher"), "Nora is a university teacher."),
        (state("occupation", "an actor"), "Nora is an actor."),
        (state("sister", "Mia"), "Mia is Nora's sister."),
        (state("partner", "Tom"), "Nora's partner is Tom."),
        (state("partner", "Tom", ends=True), "Nora's partner is no longer Tom."),
        (state("home", "Porto", "Nora's sister"), "Nora's sister lives in Porto."),
        (state("favourite colour", "green"), "Nora's favourite colour is green."),
        (state("age", "34"), "Nora is 34 years old."),
        (state("age", "three weeks"), "Nora is three weeks old."),
        (state("", "Nora swims.", ""), "Nora swims."),
        (state("", "Nora swims", "", moment="2024"), "Nora swims (since 2024)."),
        (state("", "Nora swims.", "", moment="2024"), "Nora swims (since 2024)."),
    ],
)
def test_a_statement_is_a_sentence(statement: Statement, sentence: str) -> None:
    assert describe_statement(statement) == sentence


@pytest.mark.parametrize(
    ("language", "statement", "sentence"),
    [
        ("de", state("likes", "Lieder von die Ärzte"), "Nora mag Lieder von die Ärzte."),
        ("de", state("hobby", "Lieder von die Ärzte", "user"), "Hobby von der Person: Lieder von die Ärzte."),
        ("es", state("owns", "Casa de el Rey"), "Nora tiene: Casa de el Rey."),
        (
            "es",
            state("likes", "la Casa de el Rey", "Nora's brother"),
            "Al hermano de Nora le gusta: la Casa de el Rey.",
        ),
        ("en", state("likes", "{subject}", "{name} {value}"), "{name} {value} likes {subject}."),
    ],
)
def test_a_value_is_never_changed(language: str, statement: Statement, sentence: str) -> None:
    assert describe_statement(statement, language) == sentence


@pytest.mark.parametrize(
    ("language", "home", "relation"),
    [
        ("en", "Nora lives in Porto (since March 2024; before: Leeds).", "Nora's sister likes figs."),
        ("de", "Nora wohnt in Porto (seit März 2024; davor: Leeds).", "Schwester von Nora mag figs."),
        ("es", "Nora vive en Porto (desde marzo de 2024; antes: Leeds).", "A la hermana de Nora le gusta: figs."),
        ("zh", "Nora住在Porto（从2024年3月起；之前：Leeds）。", "Nora的姐妹喜欢figs。"),
        ("fr", "Nora habite à : Porto (depuis mars 2024 ; avant : Leeds).", "La sœur de Nora aime : figs."),
        ("ja", "Noraの住まいはPorto（2024年3月から；以前：Leeds）。", "Noraの姉妹の好きなもの：figs。"),
        ("it", "Nora lives in Porto (since March 2024; before: Leeds).", "Nora's sister likes figs."),
    ],
)
def test_facts_are_written_in_the_language_of_the_talk(language: str, home: str, relation: str) -> None:
    leeds = state("home", "Leeds", said_at=datetime(2023, 1, 1, tzinfo=UTC))
    facts = build_facts([leeds, state("home", "Porto", id=2), state("likes", "figs", "Nora's sister", id=3)])
    assert [describe_fact(fact, language) for fact in facts[1:]] == [home, relation]


@pytest.mark.parametrize(
    ("language", "subject", "sentence"),
    [
        ("en", "user", "The user lives in Porto."),
        ("en", "user's sister", "The user's sister lives in Porto."),
        ("de", "user", "Die Person wohnt in Porto."),
        ("de", "user's sister", "Schwester von der Person wohnt in Porto."),
        ("es", "user", "La persona vive en Porto."),
        ("es", "Nora's brother's sister", "La hermana del hermano de Nora vive en Porto."),
        ("es", "vera", "vera vive en Porto."),
        ("zh", "user", "用户住在Porto。"),
    ],
)
def test_a_subject_that_is_no_name_has_an_article_and_none_is_called_user(
    language: str, subject: str, sentence: str
) -> None:
    assert describe_statement(state("home", "Porto", subject), language) == sentence


def test_what_was_replaced_names_the_next_value() -> None:
    leeds = state("home", "Leeds", said_at=datetime(2023, 1, 1, tzinfo=UTC))
    old, _ = build_facts([leeds, state("home", "Porto", id=2)])
    assert describe_fact(old) == "Nora no longer lives in Leeds (until March 2024; then: Porto)."


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Nora no longer lives in Leeds (until an unknown time; then: Porto)."),
        ("de", "Nora wohnt nicht mehr in Leeds (bis zu einem unbekannten Zeitpunkt; danach: Porto)."),
        ("es", "Nora ya no vive en Leeds (hasta un momento desconocido; después: Porto)."),
        ("zh", "Nora不再住在Leeds（到未知的时间为止；之后：Porto）。"),
    ],
)
def test_an_end_that_no_line_dates_was_at_an_unknown_time(language: str, sentence: str) -> None:
    leeds, porto = build_facts([state("home", "Leeds"), state("home", "Porto", id=2, is_undated=True)])
    assert describe_fact(leeds, language) == sentence
    assert porto.text == "Nora lives in Porto (before: Leeds)."


def test_a_first_value_without_a_stated_moment_has_no_time() -> None:
    assert [describe_fact(fact) for fact in build_facts([state("home", "Porto")])] == ["Nora lives in Porto."]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("attribute", [*sorted(ATTRIBUTES), "favourite food"])
def test_every_attribute_has_sentences_with_the_subject_and_the_value(language: str, attribute: str) -> None:
    for ends in (False, True):
        text = describe_statement(state(attribute, "Zx", ends=ends), language)
        assert "Nora" in text
        assert "Zx" in text
        assert "{" not in text
    assert text != describe_statement(state(attribute, "Zx"), language)


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["You live in Porto.", "Your sister likes figs.", "No longer true: you own a bike (until March 2024)."]),
        (
            "de",
            [
                "Du wohnst in Porto.",
                "Schwester von dir mag figs.",
                "Nicht mehr wahr: du besitzt: bike (bis März 2024).",
            ],
        ),
        (
            "es",
            ["Vives en Porto.", "A tu hermana le gusta: figs.", "Ya no es así: tienes: bike (hasta marzo de 2024)."],
        ),
        ("zh", ["你住在Porto。", "你的姐妹喜欢figs。", "不再属实：你有bike（到2024年3月为止）。"]),
    ],
)
def test_a_fact_about_the_reader_addresses_them(language: str, texts: list[str]) -> None:
    said = [
        state("home", "Porto"),
        state("likes", "figs", "Nora's sister", id=2),
        state("owns", "bike", ends=True, id=3),
    ]
    assert [describe_fact(fact, language, "Nora") for fact in build_facts(said)] == texts
    assert "Nora" in describe_fact(build_facts(said)[0], language, "Mia")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("attribute", [*sorted(ATTRIBUTES), "favourite food"])
def test_every_attribute_has_a_sentence_for_the_reader(language: str, attribute: str) -> None:
    (fact,) = build_facts([state(attribute, "Zx")])
    text = describe_fact(fact, language, "Nora")
    assert "Zx" in text
    assert "Nora" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_words(language: str) -> None:
    words = DATA[language]
    assert words.keys() == DATA["en"].keys()
    assert words["holds"].keys() == words["ended"].keys() | ({"ex"} if "ex" in words["holds"] else set())
    assert words["you"].keys() == words["holds"].keys()
    assert len(words["months"]) == 12
    assert language == "en" or words["relations"].keys() == RELATIONS - {"pet"}


def test_an_age_says_when_it_was_said_unless_it_says_since_when() -> None:
    (fact,) = build_facts([state("age", "34")])
    assert fact.text == "Nora is 34 years old (as of March 2024)."
    assert describe_fact(fact, "de", "Nora") == "Du bist 34 Jahre alt (Stand März 2024)."
    (dated,) = build_facts([state("age", "34", moment="2024-02")])
    assert dated.text == "Nora is 34 years old (since February 2024)."
    (undated,) = build_facts([state("age", "34", is_undated=True)])
    assert undated.text == "Nora is 34 years old."


def test_another_birthday_corrects_the_one_before() -> None:
    later = state("birthday", "May 4", id=2, said_at=datetime(2024, 4, 5, tzinfo=UTC))
    (birthday,) = (fact for fact in build_facts([state("birthday", "May 3"), later]) if fact.holds)
    assert birthday.text == "Nora's birthday is May 4 (before: May 3)."


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sentence_of_a_death_is_gentle(language: str) -> None:
    dead = Statement("Rose", "status", "dead", (1,), datetime(2024, 5, 6, tzinfo=UTC), moment="2024-05")
    text = describe_fact(build_facts([dead])[0], language)
    assert "Rose" in text
    assert "2024" in text
    assert "dead" not in text
