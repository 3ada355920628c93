"""Tests of the facts of a bank: current without a call, corrected and forgotten by the person, in both stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from everthread import BadInput, BadQuery, Memory, NewLine, NewUnit, NotFound
from everthread.bank.evidence import build_metadata
from everthread.chat.character import Character
from everthread.chat.character_banks import save_character
from everthread.common.keys import (
    META_ECHO,
    META_GREETING,
    META_HEARD,
    META_NEEDS_CONSENT,
    SETTING_CHARACTER,
    SETTING_ENTITIES,
    SETTING_FACTS,
    SETTING_REMEMBER,
)
from everthread.facts import rules
from everthread.facts.cache import FactIndex
from everthread.facts.reading_state import RULES_VERSION
from everthread.facts.sentences import describe_fact
from everthread.facts.types import Fact, Statement, StoredStatement
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.transfer.exporting import export
from everthread.transfer.importing import check_file, import_lines
from everthread.types import Context, Filter, FoundUnit, Hit, JSONValue, Line, Unit
from facts.sample_reader import read_statements

BEGUN = datetime(2024, 1, 1, 12, tzinfo=UTC)
NAMES = count()


def open_memory(store: Store | Path, bank: str | None = None) -> Memory:
    memory = Memory.open(bank or f"bank {next(NAMES)}", store=store, embedder=HashEmbedder(), recipe="default")
    memory.statement_reader = read_statements
    return memory


@pytest.fixture
def memory(any_store: Store) -> Memory:
    return open_memory(any_store)


def test_what_the_person_said_under_an_earlier_name_is_still_known_of_the_person(memory: Memory) -> None:
    save_character(memory, Character("Fern", person="Hana"), "user")
    memory.observe("I live in Leeds.", speaker="Hana", said_at=BEGUN)
    assert [(fact.subject, fact.value) for fact in memory.facts()] == [("Hana", "Leeds")]
    save_character(memory, Character("Fern", person="Jo"), "Hana")
    for number, (speaker, taste) in enumerate((("Jo", "jazz"), ("Ben", "figs")), 1):
        memory.observe(f"I like {taste}.", speaker=speaker, said_at=BEGUN + timedelta(hours=number))
    facts = {(fact.subject, fact.value) for fact in memory.facts()}
    assert facts == {("Jo", "Leeds"), ("Jo", "jazz"), ("Ben", "figs")}
    assert memory.profile().entity.name == "Jo"


def test_facts_of_people_in_a_group_are_not_mixed(memory: Memory) -> None:
    memory.statement_reader = rules.read_statements
    said = (
        *(("Ben", "My sister Mia is a nurse."), ("Emma", "My sister Mia is a vet."), ("Ben", "Mia lives in Bath.")),
        *(
            ("Emma", "Mia lives in Hull."),
            ("Anna", "I live in Leeds."),
            ("Farid", "I'm Anna."),
            ("Farid", "I'm vegan."),
        ),
    )
    for number, (speaker, text) in enumerate(said):
        memory.observe(text, speaker=speaker, said_at=BEGUN + timedelta(minutes=number), session="s")
    facts = {(fact.subject, fact.attribute, fact.value) for fact in memory.facts(include_ended=True)}
    assert facts == {
        *(
            ("Ben", "sister", "Mia"),
            ("Mia (Ben's sister)", "occupation", "nurse"),
            ("Mia (Ben's sister)", "home", "Bath"),
        ),
        *(("Emma", "sister", "Mia"), ("Mia (Emma's sister)", "occupation", "vet")),
        *(("Mia (Emma's sister)", "home", "Hull"), ("Anna", "home", "Leeds")),
        *(("Farid", "name", "Anna"), ("Farid", "diet", "vegan")),
    }
    assert memory.profile("Emma's sister").entity.name == "Mia (Emma's sister)"


def test_an_answer_to_a_bots_question_is_a_fact(memory: Memory) -> None:
    memory.statement_reader = rules.read_statements
    memory.observe("Any allergies?", role="assistant", said_at=BEGUN, session="s")
    memory.observe("Peanuts.", speaker="user", said_at=BEGUN + timedelta(minutes=1), session="s")
    assert [(fact.attribute, fact.value, fact.seqs) for fact in memory.facts()] == [("allergy", "Peanuts", (2,))]
    memory.observe("Where do you work?", role="assistant", said_at=BEGUN + timedelta(minutes=3), session="s")
    assert len(memory.facts()) == 1  # the question is read before its answer
    memory.observe("Tesco.", speaker="user", said_at=BEGUN + timedelta(minutes=4), session="s")
    assert [fact.value for fact in memory.facts()] == ["Peanuts", "Tesco"]


def test_who_a_fact_is_about_follows_the_speakers_without_new_facts(memory: Memory) -> None:
    memory.statement_reader = rules.read_statements
    for text in ("I'm Anna.", "I live in Hull."):
        memory.observe(text, speaker="Farid", said_at=BEGUN, session="s")
    assert [fact.subject for fact in memory.facts(attribute="home")] == ["Anna"]
    memory.observe("Good morning", speaker="Anna", said_at=BEGUN, session="s")
    assert [fact.subject for fact in memory.facts(attribute="home")] == ["Farid"]


def test_a_former_name_of_the_person_is_forgotten_with_its_lines(memory: Memory) -> None:
    for former, name in (("user", "Hana"), ("Hana", "Jo")):
        save_character(memory, Character("Fern", person=name), former)
        memory.observe("I live in Leeds.", speaker=name)
    memory.forget(speaker="Hana")
    assert "Hana" not in str(memory.settings())
    assert [fact.subject for fact in memory.facts()] == ["Jo"]


def tell(memory: Memory, *texts: str, speaker: str = "Nora", **fields: Any) -> list[int]:
    """Store lines, each a day after the last, and return their numbers."""
    last = memory.store.corpus_stats(memory.bank).last_seq
    lines = [
        NewLine(text, speaker, said_at=BEGUN + timedelta(days=number), session="s", **fields)
        for number, text in enumerate(texts, last + 1)
    ]
    return [line.seq for line in memory.observe_many(lines)]


def shown(memory: Memory, **fields: Any) -> list[str]:
    """Return the facts that hold as sentences without their times."""
    return [describe_fact(fact).split(" (")[0].rstrip(".") for fact in memory.facts(**fields)]


def only(memory: Memory, **fields: Any) -> Fact:
    (fact,) = memory.facts(**fields)
    return fact


# ------------------------------------------------------------------ current


def test_facts_are_current_after_each_way_to_change_lines(memory: Memory) -> None:
    leeds, york = tell(memory, "I live in Leeds.", "I live in York.")
    assert shown(memory) == ["Nora lives in York"]
    memory.retract(york)
    assert shown(memory) == ["Nora lives in Leeds"]
    memory.restore(york)
    assert shown(memory) == ["Nora lives in York"]
    corrected = memory.correct(leeds, "I live in Porto.")
    assert {fact.value: fact.holds for fact in memory.facts(include_ended=True)} == {"Porto": False, "York": True}
    memory.forget(seq=corrected.seq)
    assert [fact.value for fact in memory.facts(include_ended=True)] == ["York"]
    memory.observe("I live in Rome.", speaker="Nora")
    assert shown(memory) == ["Nora lives in Rome"]


@pytest.mark.parametrize("forgets", [False, True])
def test_a_fact_outlasts_a_line_between_its_lines_but_none_of_them(memory: Memory, forgets: bool) -> None:
    first, between, last = tell(memory, "My sister is here.", "It rains.", "She lives in Porto.")
    remove = (lambda seq: memory.forget(seq=seq)) if forgets else memory.retract
    memory.statement_reader = lambda lines, _: [
        Statement("Nora's sister", "home", "Porto", (first, last), line.said_at) for line in lines if line.seq == last
    ]
    memory.correct_fact(only(memory).id, "Lisbon")
    remove(between)
    assert only(memory).value == "Lisbon"
    remove(first)
    assert memory.facts(include_ended=True) == []


def test_lines_that_a_fact_does_not_have_are_ignored(memory: Memory) -> None:
    first, between, last = tell(memory, "Hello.", "It rains.", "Well.")
    for lines in ([first], [first, 99], "all"):
        memory.add_unit(NewUnit("fact", "It rains on Nora.", first, last, BEGUN, metadata={"lines": lines}))
    memory.forget(seq=between)
    assert memory.units("fact") == []


def test_a_corrected_line_keeps_its_place_among_lines_of_the_same_time(memory: Memory) -> None:
    said = ["I live in Leeds.", "I live in York."]
    first, _ = memory.observe_many([NewLine(text, "Nora", said_at=BEGUN, session="s") for text in said])
    corrected = memory.correct(first.seq, "I live in Porto.")
    assert shown(memory) == ["Nora lives in York"]
    memory.retract(corrected.seq)
    memory.restore(corrected.seq)
    memory.observe("I live in York.", speaker="Nora", said_at=BEGUN, session="s")
    assert shown(memory) == ["Nora lives in York"]


def test_lines_are_read_once_however_often_facts_are_asked_for(memory: Memory) -> None:
    tell(memory, *(f"I like fruit{number}." for number in range(9)))
    assert len(memory.facts()) == 9
    read: list[str] = []

    def record(lines: Any, known: Any) -> list[Statement]:
        read.extend(line.text for line in lines)
        return read_statements(lines, known)

    memory.statement_reader = record
    assert len(memory.facts()) == 9
    assert read == []
    assert len(memory.units("fact")) == 9


def test_many_lines_are_read_in_batches(memory: Memory) -> None:
    tell(memory, *(f"I like fruit{number}." for number in range(1100)))
    assert len(memory.facts(include_ended=True)) == 1100
    assert memory.settings()[SETTING_FACTS] == {"to": 1100, "ids": 1100, "rules": RULES_VERSION}


TALK = (
    "My sister Mia came over yesterday.",
    "She lives in Porto.",
    "She works as a nurse.",
    "My brother Tom likes jazz.",
    "He plays the cello.",
)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_is_found_does_not_depend_on_when_facts_are_asked_for(memory: Memory, size: int) -> None:
    at_once = open_memory(memory.store)
    for each in (memory, at_once):
        each.statement_reader = rules.read_statements
    tell(at_once, *TALK)
    for first in range(0, len(TALK), size):
        tell(memory, *TALK[first : first + size])
        memory.facts()
    assert shown(memory) == shown(at_once)
    assert {"Mia lives in Porto", "Tom plays cello"} <= set(shown(memory))


def test_what_a_line_before_stated_is_not_stored_again(memory: Memory) -> None:
    tell(memory, "I like jazz.")
    memory.end_fact(only(memory).id, "2024-02")
    memory.correct_fact(only(memory, include_ended=True).id, "figs")
    ended = shown(memory, include_ended=True)
    tell(memory, "Hello.")
    assert shown(memory, include_ended=True) == ended


def test_readers_at_the_same_time_store_each_statement_once(any_store: Store) -> None:
    first = open_memory(any_store)
    tell(first, *(f"I like fruit{number}." for number in range(600)))
    others = [open_memory(any_store, first.bank) for _ in range(3)]
    threads = [Thread(target=other.facts) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(first.units("fact")) == len(first.facts()) == 600


def test_a_line_retracted_while_it_is_read_states_nothing(memory: Memory) -> None:
    (seq,) = tell(memory, "I like jazz.")

    def retract(lines: Any, known: Any) -> list[Statement]:
        memory.statement_reader = read_statements
        memory.retract(seq)
        return read_statements(lines, known)

    memory.statement_reader = retract
    assert memory.facts() == []
    assert memory.units("fact") == []


@pytest.mark.parametrize("text", ["I like jazz.", "Hello there."])
def test_a_bank_forgotten_while_it_is_read_is_not_created_again(any_store: Store, text: str) -> None:
    memory = open_memory(any_store)
    tell(memory, text)

    def forget(lines: Any, known: Any) -> list[Statement]:
        memory.forget(everything=True)
        return read_statements(lines, known)

    memory.statement_reader = forget
    memory.read_facts()
    assert not any_store.exists(memory.bank)


@pytest.mark.parametrize("text", ["I like jazz.", "Hello there."])
def test_a_bank_created_again_while_it_is_read_has_no_facts_of_the_former_one(any_store: Store, text: str) -> None:
    memory = open_memory(any_store)
    tell(memory, text, "What a day.")

    def forget(lines: Any, known: Any) -> list[Statement]:
        if lines[0].text == text:
            memory.forget(everything=True)
            tell(memory, "I like tea.")
        return read_statements(lines, known)

    memory.statement_reader = forget
    memory.read_facts()
    assert [fact.value for fact in memory.facts()] == ["tea"]
    tell(memory, "I live in Leeds.")
    assert {fact.value for fact in memory.facts()} == {"Leeds", "tea"}


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "assistant"},
        {"role": "system"},
        {"role": "tool"},
        {"metadata": {META_NEEDS_CONSENT: True}},
        {"metadata": {META_HEARD: True}},
        {"metadata": {META_GREETING: True}},
        {"metadata": {META_ECHO: [[0, 12]]}},
    ],
)
def test_what_is_not_the_persons_own_statement_is_not_read(memory: Memory, fields: dict[str, Any]) -> None:
    tell(memory, "I like jazz.", **fields)
    assert memory.facts() == []


def test_a_bank_that_never_remembers_has_no_facts(memory: Memory) -> None:
    tell(memory, "I like jazz.")
    assert len(memory.facts()) == 1
    memory.set_setting(SETTING_REMEMBER, "never")
    assert memory.facts() == []
    assert memory.entities() == []
    tell(memory, "I like figs.")
    assert SETTING_FACTS in memory.settings()
    memory.set_setting(SETTING_REMEMBER, "always")
    assert shown(memory) == ["Nora likes figs", "Nora likes jazz"]


def test_of_a_bank_that_cannot_be_written_facts_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(tmp_path, "alice")
    tell(memory, *(f"I like fruit{number}." for number in range(600)))

    class ReadOnly(type(memory.store)):  # type: ignore[misc]
        def replace_units(self, *args: Any) -> bool:
            from everthread import StoreUnavailable

            raise StoreUnavailable("the folder is read-only")

    memory.store.__class__ = ReadOnly
    assert len({fact.id for fact in memory.facts()}) == 600
    assert memory.units("fact") == []


def test_sentences_of_a_model_are_facts_without_a_subject(memory: Memory) -> None:
    (seq,) = tell(memory, "Hello.")
    memory.add_unit(NewUnit("fact", "Nora swims every morning.", seq, seq, BEGUN, metadata={"scribe": "m"}))
    memory.add_unit(NewUnit("fact", "Nora has a boat.", 0, 0, BEGUN, metadata={"source": "mem0", "id": "7"}))
    facts = memory.facts()
    assert [(fact.subject, fact.attribute, fact.value, fact.seqs) for fact in facts] == [
        ("", "", "Nora swims every morning.", (seq,)),
        ("", "", "Nora has a boat.", ()),
    ]
    assert [fact.text for fact in facts] == ["Nora swims every morning.", "Nora has a boat."]
    with pytest.raises(NotFound, match="it knows only sentences"):
        memory.profile()
    memory.end_fact(facts[1].id)
    corrected = memory.correct_fact(facts[0].id, "Nora swims every evening.")
    assert corrected.value == "Nora swims every evening."
    assert shown(memory) == ["Nora swims every evening"]


def test_a_sentence_is_edited_as_a_unit_and_a_statement_is_not(memory: Memory) -> None:
    (seq,) = tell(memory, "I live in Leeds.")
    memory.add_unit(NewUnit("fact", "Nora swims every morning.", seq, seq, BEGUN))
    sentence, home = sorted(memory.facts(), key=lambda fact: fact.attribute)
    memory.correct_fact(sentence.id, "Nora swims every noon.")
    unit = next(unit for unit in memory.units("fact", only_current=True) if "noon" in unit.text)
    memory.edit_unit("fact", unit.id, "Nora swims every evening.")
    assert memory.get_fact(sentence.id).value == "Nora swims every evening."
    with pytest.raises(BadInput, match=f"the text of fact {home.id} can't be edited: it follows from the value"):
        memory.edit_unit("fact", home.id, "Nora lives in York.")
    assert memory.get_fact(home.id).value == "Leeds"


# ------------------------------------------------------------------ asking


def test_a_subject_is_found_by_any_alias_in_any_case(memory: Memory) -> None:
    tell(memory, "My sister is Mia.", "My sister lives in Porto.")
    wanted = ["Mia lives in Porto"]
    assert shown(memory, subject="MIA") == shown(memory, subject="nora's sister") == wanted
    assert memory.facts("Zoe") == []


def test_facts_of_one_attribute(memory: Memory) -> None:
    tell(memory, "I live in Leeds. I like jazz.")
    assert shown(memory, attribute="likes") == ["Nora likes jazz"]
    assert memory.facts(attribute="favourite colour") == []
    with pytest.raises(BadInput, match="unknown attribute 'shoe'; expected one of age, allergy"):
        memory.facts(attribute="shoe")


def test_of_several_values_the_one_that_was_said_last_comes_first(memory: Memory) -> None:
    tell(memory, "I like jazz.", "My sister is Mia.", "I like figs.", "I own the bike.")
    tell(memory, "I like tea.", "I no longer like tea.", "I like jazz.")
    likes = ["jazz", "figs", "tea"]
    assert [fact.value for fact in memory.facts(include_ended=True)] == [*likes, "Mia", "bike"]
    assert [fact.value for fact in memory.facts()] == ["jazz", "figs", "Mia", "bike"]
    assert [fact.value for fact in memory.profile("Nora").facts["likes"]] == ["jazz", "figs"]
    context = memory.context("What do you know about Nora?", facts=True)
    assert [fact.text for fact in context.facts if " likes " in fact.text] == ["Nora likes jazz.", "Nora likes figs."]


def test_as_of_and_known_at_read_the_past(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I live in York since 2020.")
    assert [fact.value for fact in memory.facts(as_of=datetime(2021, 1, 1, tzinfo=UTC))] == ["York"]
    first_day = BEGUN + timedelta(days=1)
    assert shown(memory, known_at=first_day) == ["Nora lives in Leeds"]
    assert [fact.value for fact in memory.facts(include_ended=True)] == ["York", "Leeds"]
    with pytest.raises(BadQuery, match="has no time zone"):
        memory.facts(as_of=datetime(2024, 1, 1))


def test_a_fact_that_begins_later_does_not_hold_yet(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I live in York since 2099. I like jazz.")
    assert [fact.value for fact in memory.facts()] == ["Leeds", "jazz"]
    assert [fact.value for fact in memory.profile("Nora").facts["home"]] == ["Leeds"]
    assert [fact.value for fact in memory.facts(include_ended=True)] == ["York", "Leeds", "jazz"]


def test_a_profile_has_the_facts_of_an_entity_by_attribute(memory: Memory) -> None:
    tell(memory, "I live in Leeds. I like jazz. My sister is Mia.", "I live in York. I like figs.")
    tell(memory, "I like tea.", speaker="Tom")
    profile = memory.profile("nora")
    assert profile.entity.name == "Nora"
    found = {attribute: [fact.value for fact in facts] for attribute, facts in profile.facts.items()}
    assert found == {"home": ["York"], "likes": ["figs", "jazz"], "sister": ["Mia"]}
    assert [fact.value for fact in memory.profile("nora", include_ended=True).facts["home"]] == ["York", "Leeds"]
    assert memory.profile().entity.name == "Nora"
    memory.set_setting(SETTING_CHARACTER, {"name": "Fern", "person": "Tom"})
    assert memory.profile().entity.name == "Tom"


def test_a_profile_of_an_unknown_or_an_ambiguous_name_is_refused(memory: Memory) -> None:
    with pytest.raises(NotFound, match="nothing is known in bank"):
        memory.profile()
    tell(memory, "My sister is Mia.", "My colleague is Mia.")
    with pytest.raises(NotFound, match="nothing is known about 'Zoe'"):
        memory.profile("Zoe")
    with pytest.raises(BadInput, match=r"several are called 'mia': .Mia \(Nora's sister\)., .Mia \(Nora's colleague\)"):
        memory.profile("mia")
    assert memory.profile("Mia (Nora's sister)").entity.relations == (("Nora", "sister"),)


# -------------------------------------------------------- what people change


def test_a_confirmed_fact_stays_as_it_was(memory: Memory) -> None:
    tell(memory, "I live in Leeds since 2019.", "I live in Leeds.")
    before = only(memory)
    after = memory.confirm_fact(before.id)
    assert after.is_confirmed
    assert (after.id, after.value, after.seqs, after.since) == (before.id, before.value, before.seqs, before.since)
    assert only(memory) == after


def test_a_corrected_value_counts_also_for_the_past(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I live in Leeds.", "I like jazz.")
    leeds = only(memory, attribute="home")
    corrected = memory.correct_fact(leeds.id, " Leigh ")
    assert (corrected.value, corrected.since, corrected.replaces) == ("Leigh", leeds.since, None)
    assert [fact.value for fact in memory.facts(include_ended=True)] == ["Leigh", "jazz"]
    assert {unit.text for unit in memory.units("fact", only_current=True)} == {
        "Nora lives in Leigh.",
        "Nora likes jazz.",
    }


def test_a_corrected_fact_stays_corrected_until_a_later_line(memory: Memory, tmp_path: Path) -> None:
    _, second = tell(memory, "I live in Leeds.", "I live in Leeds.")
    memory.correct_fact(only(memory).id, "Leigh")
    tell(memory, "I like jazz.")
    memory.retract(second)
    assert shown(memory, attribute="home") == ["Nora lives in Leigh"]
    memory.restore(second)
    assert shown(memory, attribute="home") == ["Nora lives in Leigh"]
    memory.observe("I live in Leeds.", speaker="Nora", said_at=BEGUN - timedelta(days=9))
    assert shown(memory, attribute="home") == ["Nora lives in Leigh"]
    tell(memory, "I live in Leeds.")
    assert shown(memory, attribute="home") == ["Nora lives in Leeds"]


def test_a_corrected_fact_that_has_ended_stays_ended(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I sold the bike.", "I own the bike.", "I live in Leeds.")
    memory.end_fact(only(memory, attribute="home").id, "2024-05")
    _, bike, home = memory.facts(include_ended=True)
    assert memory.correct_fact(bike.id, "tram").until == bike.until
    assert memory.correct_fact(home.id, "Leigh").until == datetime(2024, 5, 1, tzinfo=UTC)
    assert shown(memory) == ["Nora owns a bike"]
    assert [fact.value for fact in memory.facts(include_ended=True)] == ["bike", "tram", "Leigh"]


def test_a_fact_known_only_as_ended_is_not_corrected_to_another_that_would_end(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I sold the boat.")
    bike, boat = memory.facts(include_ended=True)
    with pytest.raises(BadInput, match="got 'a bike', which fact 1 has; expected another, as fact 2 is known only as"):
        memory.correct_fact(boat.id, "a bike")
    assert memory.facts(include_ended=True) == [bike, boat]
    assert memory.correct_fact(boat.id, "tram").until == boat.until


@pytest.mark.parametrize("value", ["", "  ", "x" * 201, 7])
def test_an_invalid_value_is_refused(memory: Memory, value: Any) -> None:
    tell(memory, "I live in Leeds.")
    with pytest.raises(BadInput, match="invalid value of a fact"):
        memory.correct_fact(only(memory).id, value)


@pytest.mark.parametrize("value", ["Lei\0gh", "Lei\ud800gh"])
def test_a_value_that_not_every_bank_can_store_is_refused(memory: Memory, value: str) -> None:
    tell(memory, "I live in Leeds.")
    with pytest.raises(BadInput, match="the value of a fact contains NUL or half a surrogate pair"):
        memory.correct_fact(only(memory).id, value)


def test_an_ended_fact_held_until_then_and_may_begin_again(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I own the bike.")
    ended = memory.end_fact(only(memory).id, "2024-05")
    assert ended.until == datetime(2024, 5, 1, tzinfo=UTC)
    assert memory.facts() == []
    memory.observe("I own the bike.", speaker="Nora", said_at=datetime(2100, 1, 1, tzinfo=UTC))
    assert shown(memory, as_of=datetime(2100, 1, 2, tzinfo=UTC)) == ["Nora owns a bike"]


def test_a_fact_ended_by_hand_stays_ended_while_any_of_its_lines_remains(memory: Memory) -> None:
    first, second = tell(memory, "I own the bike.", "I own the bike.")
    memory.end_fact(only(memory).id)
    memory.retract(second)
    assert memory.facts() == []
    memory.retract(first)
    assert memory.facts(include_ended=True) == []


def test_ending_a_fact_again_corrects_the_moment(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I own the bike.", "I like jazz.", "I no longer like jazz.", "I sold the boat.")
    bike, boat, jazz = memory.facts(include_ended=True)
    memory.end_fact(bike.id)
    for fact in (bike, jazz, boat):
        for moment in ("2024-06", "2024-05-04"):
            ended = memory.end_fact(fact.id, moment)
            assert (ended.id, ended.value, ended.until_stated) == (fact.id, fact.value, moment)
    assert len(memory.units("fact", only_current=True)) == 7
    assert memory.facts() == []


def test_ending_a_fact_again_without_a_moment_leaves_its_end(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I live in Leeds.", "I no longer live in Leeds since 2020.")
    bike, leeds = memory.facts(include_ended=True)
    ended = memory.end_fact(bike.id)
    for fact in (ended, leeds):
        assert memory.end_fact(fact.id) == fact
    assert leeds.until_stated == "2020"


def test_a_corrected_end_does_not_end_what_began_again(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I sold the bike.", "I own the bike.")
    second, first = memory.facts(include_ended=True)
    memory.end_fact(first.id)
    assert only(memory) == second


def test_ending_and_resuming_a_fact_many_times_states_it_a_few_times_more(memory: Memory) -> None:
    memory.observe_many([NewLine("I live in Leeds.", "Nora", said_at=BEGUN), NewLine("I live in Leeds.", "Nora")])
    (home,) = memory.facts(attribute="home")
    for _ in range(6):
        assert not memory.end_fact(home.id).holds
        assert memory.resume_fact(home.id).holds
    assert len(memory.read_known().stored) <= 2 + 6 * 2


def test_an_end_is_undone(memory: Memory) -> None:
    tell(memory, "I own the bike.", "I own the bike.", "I like jazz.", "I no longer like jazz.", "I sold the boat.")
    bike, boat, jazz = memory.facts(include_ended=True)
    memory.end_fact(bike.id, "2024-05")
    for fact in (bike, jazz, boat, bike):
        resumed = memory.resume_fact(fact.id)
        assert (resumed.id, resumed.value, resumed.seqs[0], resumed.until) == (fact.id, fact.value, fact.seqs[0], None)
        assert resumed.is_confirmed
    assert [fact.value for fact in memory.facts()] == ["boat", "bike", "jazz"]
    assert memory.get_fact(bike.id).since == bike.since
    assert memory.end_fact(bike.id, "2024-07").until_stated == "2024-07"


@pytest.mark.parametrize(
    ("stated", "ended", "value", "left"),
    [
        ("I own a red bike.", "I sold the bike.", "red bike", "bike"),
        ("I have a cat called Tom.", "The cat died.", "Tom", "cat"),
    ],
)
def test_an_end_that_names_the_value_otherwise_is_undone_and_keeps_no_word_of_a_forgotten_line(
    memory: Memory, stated: str, ended: str, value: str, left: str
) -> None:
    memory.statement_reader = rules.read_statements
    first, last = tell(memory, stated, ended)
    (fact,) = (fact for fact in memory.facts("Nora", include_ended=True))
    assert (fact.value, fact.until, fact.can_resume) == (value, BEGUN + timedelta(days=last), True)
    assert memory.end_fact(fact.id, "2024-01-02").until_stated == "2024-01-02"
    resumed = memory.resume_fact(fact.id)
    assert (resumed.id, resumed.value, resumed.seqs, resumed.holds) == (fact.id, value, (first, last), True)
    memory.forget(seq=first)
    assert [(each.value, each.holds) for each in memory.facts("Nora", include_ended=True)] == [(left, False)]


@pytest.mark.parametrize("lines", [("I live in Leeds since 2010.",), ()])
def test_the_moment_of_an_undone_end_is_not_that_of_a_beginning(memory: Memory, lines: Sequence[str]) -> None:
    seqs = tell(memory, *lines, "I no longer live in Leeds since 2023-03.")
    (leeds,) = memory.facts(include_ended=True)
    resumed = memory.resume_fact(leeds.id)
    assert resumed.since_stated == ("2010" if lines else None)
    assert resumed.since == (leeds.since or BEGUN + timedelta(days=seqs[-1]))
    memory.end_fact(leeds.id, "2023")
    assert memory.resume_fact(leeds.id).since == resumed.since


def test_an_undone_end_states_its_line_again_with_its_event(memory: Memory) -> None:
    (moved,) = tell(memory, "We moved to Leeds in 2010.")
    memory.statement_reader = lambda lines, _: [
        Statement("Nora", "home", "Leeds", (moved,), line.said_at, moment="2010", is_event=True) for line in lines
    ]
    leeds = only(memory)
    memory.end_fact(leeds.id, "2023")
    memory.resume_fact(leeds.id)
    assert {(each.moment, each.is_event) for each in memory.read_known().entities.statements} == {("2010", True)}


@pytest.mark.parametrize("act", [lambda memory, fact: memory.end_fact(fact, "2024"), Memory.resume_fact])
def test_the_end_of_a_fact_that_was_replaced_is_not_changed(memory: Memory, act: Callable[[Memory, int], Fact]) -> None:
    tell(memory, "I live in Leeds.", "I live in York.")
    york, leeds = memory.facts(include_ended=True)
    with pytest.raises(BadInput, match=f"the end of fact {leeds.id} can't be changed: .* but 'York' took its place"):
        act(memory, leeds.id)
    assert memory.facts(include_ended=True) == [york, leeds]


@pytest.mark.parametrize("moment", ["May", 2024])
def test_an_invalid_moment_is_refused(memory: Memory, moment: Any) -> None:
    tell(memory, "I own the bike.")
    with pytest.raises(BadInput, match=f"invalid moment: got {moment!r}"):
        memory.end_fact(only(memory).id, moment)


@pytest.mark.parametrize(
    ("text", "moment", "since"),
    [("I live in Leeds.", "2023", "2024-01-02"), ("I live in Leeds since 2019.", "2018-05-04", "2019")],
)
def test_an_end_before_the_beginning_is_refused(memory: Memory, text: str, moment: str, since: str) -> None:
    tell(memory, text)
    home = only(memory)
    with pytest.raises(BadInput, match=f"got {moment}, before it began; expected {since} or later"):
        memory.end_fact(home.id, moment)
    assert only(memory) == home
    assert memory.end_fact(home.id, since[:4]).until_stated == since[:4]
    with pytest.raises(BadInput, match="before it began"):
        memory.end_fact(home.id, moment)


@pytest.mark.parametrize("act", ["confirm_fact", "end_fact", "resume_fact", "forget_fact"])
def test_an_unknown_fact_is_not_found(memory: Memory, act: str) -> None:
    with pytest.raises(NotFound, match="there is no fact 9"):
        getattr(memory, act)(9)


def test_a_fact_whose_line_is_missing_is_not_changed_but_can_be_forgotten(memory: Memory) -> None:
    tell(memory, "Hello.")
    values: dict[str, JSONValue] = {"subject": "Nora", "attribute": "home", "value": "Leeds", "lines": [1, 2]}
    memory.store.reserve_seqs(memory.bank, 2)
    unit = Unit(7, "fact", "Nora lives in Leeds.", 1, 2, BEGUN, BEGUN, metadata=values)
    memory.store.restore_unit(memory.bank, unit, None, "none")
    for act in (memory.confirm_fact, memory.end_fact):
        with pytest.raises(NotFound, match="fact 7 could not be changed: a line that states it is missing"):
            act(7)
    assert memory.forget_fact(7) == [1, 2]
    assert memory.facts() == []


def test_a_fact_forgotten_alone_does_not_come_back(memory: Memory) -> None:
    first, second = tell(memory, "I own the bike. I like jazz.", "I sold the bike.")
    bike = only(memory, attribute="owns", include_ended=True)
    assert memory.list_fact_lines(bike.id) == memory.forget_fact(bike.id) == [first, second]
    for _ in range(2):
        assert shown(memory, include_ended=True) == ["Nora likes jazz"]
        tell(memory, "Hello.")
    memory.retract(first)
    (copy, *_) = memory.restore(first)
    assert shown(memory, include_ended=True) == ["Nora likes jazz"]
    memory.correct(copy.seq, "I own the bike. I like figs.")
    assert memory.facts(include_ended=True) == []


def test_versions_of_corrected_lines_are_searched_once_for_all(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten, *seqs = tell(memory, "I own the bike.", *(f"I like fruit{number}." for number in range(20)))
    memory.forget_fact(only(memory, attribute="owns").id)
    for seq in (forgotten, *seqs):
        memory.correct(seq, f"I like tea{seq}.")
    searches = []
    read_lines = memory.store.lines

    def record(bank: str, where: Filter | None = None, **options: Any) -> Iterator[Line]:
        searches.append(where)
        return read_lines(bank, where, **options)

    monkeypatch.setattr(memory.store, "lines", record)
    assert shown(memory) == [f"Nora likes tea{seq}" for seq in reversed(seqs)]
    assert sum(where is not None for where in searches) <= 2


def test_a_version_restored_after_its_corrected_fact_was_forgotten_states_nothing(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    assert only(memory).value == "Leeds"
    memory.retract(1)
    memory.restore(1)
    memory.correct_fact(only(memory).id, "Rome")
    for seq in (2, 3):
        memory.retract(seq)
        memory.restore(seq)
    memory.forget_fact(only(memory).id)
    memory.retract(4)
    memory.restore(3)
    assert memory.facts() == []


def test_a_fact_can_be_forgotten_with_its_lines(memory: Memory) -> None:
    *_, third = tell(memory, "I own the bike. I like jazz.", "I own the bike.", "I like jazz.")
    memory.forget_fact(only(memory, attribute="owns").id, with_lines=True)
    assert [line.seq for line in memory.lines()] == [third]
    assert shown(memory) == ["Nora likes jazz"]


def test_a_fact_forgotten_while_it_is_ended_is_not_written_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory, "I own the bike. I like jazz.")
    memory.forget_fact(only(memory, attribute="likes").id)
    fact = only(memory)
    find_fact = FactIndex.find_fact

    def forget_meanwhile(known: FactIndex, number: int) -> Fact:
        monkeypatch.undo()
        found = find_fact(known, number)
        memory.forget_fact(number)
        return found

    monkeypatch.setattr(FactIndex, "find_fact", forget_meanwhile)
    with pytest.raises(NotFound, match="there is no fact"):
        memory.end_fact(fact.id)
    assert memory.units("fact") == []


@pytest.mark.parametrize(
    "act", [Memory.confirm_fact, Memory.end_fact, lambda memory, number: memory.correct_fact(number, "tram")]
)
def test_a_fact_changed_while_it_is_forgotten_is_forgotten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, act: Callable[[Memory, int], Fact]
) -> None:
    tell(memory, "I own the bike. I like jazz.", "I own the bike.")
    fact = only(memory, attribute="owns")
    statements_of_value = FactIndex.statements_of_value

    def change_meanwhile(known: FactIndex, found: Fact) -> list[StoredStatement]:
        monkeypatch.undo()
        pairs = statements_of_value(known, found)
        act(memory, fact.id)
        return pairs

    monkeypatch.setattr(FactIndex, "statements_of_value", change_meanwhile)
    assert memory.forget_fact(fact.id) == [1, 2]
    assert [unit.text for unit in memory.units("fact")] == ["Nora likes jazz."]


def test_a_forgotten_sentence_is_forgotten_in_all_of_its_versions_and_in_records_of_recall(memory: Memory) -> None:
    tell(memory, "Hello.")
    boat = memory.add_unit(NewUnit("fact", "Nora has a boat.", 1, 1, BEGUN))
    yacht = memory.add_unit(NewUnit("fact", "Nora has a yacht.", 1, 1, BEGUN), supersedes=boat.id)
    context = Context("", 1, (), (Hit(FoundUnit(yacht, "s", "fact"), 1.0, 1.0, {}),), (), 1.0)
    reply = memory.observe("Yes.", role="assistant", session="s", metadata=build_metadata(context))
    memory.forget_fact(only(memory).id)
    assert memory.units("fact") == []
    evidence = memory.evidence(reply.seq)
    assert (evidence.hits, evidence.forgotten) == ((), 1)


# ------------------------------------------------------------------ entities


def test_entities_are_merged_and_split_by_hand(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", speaker="user")
    tell(memory, "I like jazz.")
    merged = memory.merge_entities("Nora", "USER")
    assert merged.aliases == ("user",)
    assert shown(memory, subject="user") == ["Nora lives in Leeds", "Nora likes jazz"]
    home = only(memory, attribute="home")
    assert memory.split_entity("user", home.statements).name == "user"
    assert shown(memory, subject="Nora") == ["Nora likes jazz"]
    assert shown(memory, subject="user") == ["The user lives in Leeds"]
    memory.merge_entities("user", "Nora")
    assert len(memory.facts("user")) == 2


def test_merges_have_no_text_and_outlast_forgotten_lines(memory: Memory) -> None:
    first, *_ = tell(memory, "I live in Leeds.", "I like jazz.", speaker="user")
    tell(memory, "I like figs.")
    memory.merge_entities("Nora", "user")
    assert "Nora" not in str(memory.settings()[SETTING_ENTITIES])
    memory.forget(seq=first)
    assert len(memory.facts("Nora")) == 2


def test_merges_and_splits_outlast_the_correction_of_all_lines_that_name_them(memory: Memory, tmp_path: Path) -> None:
    first, second, third = tell(memory, "I live in Leeds.", "I like jazz.", "I like figs.", speaker="user")
    (fourth,) = tell(memory, "I like tea.")
    memory.merge_entities("Nora", "user")
    memory.split_entity("Nora", memory.facts("Nora", "likes")[1].statements)
    memory.correct(first, "I live in York.")
    memory.correct(second, "I like tango.")
    memory.correct(third, "I like olives.")
    corrected = memory.correct(fourth, "I like coffee.")
    wanted = {"York": "Nora", "tango": "Nora", "olives": "user", "coffee": "Nora"}
    assert {fact.value: fact.subject for fact in memory.facts()} == wanted
    memory.retract(corrected.seq)
    assert "coffee" not in {fact.value for fact in memory.facts()}
    memory.restore(corrected.seq)
    assert {fact.value: fact.subject for fact in memory.facts()} == wanted
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(export(memory, retracted=True)), encoding="utf-8")
    target = open_memory(tmp_path / "banks")
    import_lines(target, check_file(file))
    assert {fact.value: fact.subject for fact in target.facts()} == wanted


def test_an_id_is_given_once_so_that_merges_and_splits_stay_what_they_are(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    (last,) = tell(memory, "I like jazz.")
    memory.split_entity("Nora", only(memory, attribute="likes").statements)
    memory.forget(seq=last)
    tell(memory, "I like figs.")
    assert {fact.subject for fact in memory.facts()} == {"Nora"}


def test_a_split_of_statements_about_others_is_refused(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I like jazz.")
    with pytest.raises(NotFound, match=r"none of the statements \[9\] is about 'Nora'"):
        memory.split_entity("Nora", [9])


def test_an_invalid_setting_of_entities_changes_nothing(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    memory.set_setting(SETTING_ENTITIES, ["same", ["same", 7], ["apart", [[7, 0], ["x"]]], ["other", []]])
    assert shown(memory) == ["Nora lives in Leeds"]
    for last_seq in ("x", 10**30):
        memory.set_setting(SETTING_FACTS, {"to": last_seq, "never": 3})
        tell(memory, "I live in Leeds.")
        assert len(only(open_memory(memory.store, memory.bank)).seqs) == memory.stats().lines


# -------------------------------------------------------------- other banks


def test_an_export_has_what_lines_state_and_what_the_person_said_of_it(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "I live in Leeds. I own the bike.", "I like jazz.", speaker="user")
    tell(memory, "I like figs.")
    memory.correct_fact(only(memory, attribute="home").id, "Leigh")
    memory.forget_fact(only(memory, attribute="owns").id)
    memory.merge_entities("user", "Nora")
    wanted = memory.facts(include_ended=True)
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(export(memory, retracted=True)), encoding="utf-8")
    for target in (memory, open_memory(tmp_path / "banks")):
        for _ in range(2):
            import_lines(target, check_file(file))
            assert target.facts(include_ended=True) == wanted
        assert len(target.units("fact")) == len(memory.units("fact"))


@pytest.mark.slow
def test_facts_that_are_asked_for_during_an_import_are_those_of_the_file(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "I live in Leeds. I own the bike.", *(f"I like fruit{number}." for number in range(600)))
    memory.correct_fact(only(memory, attribute="home").id, "Leigh")
    memory.forget_fact(only(memory, attribute="owns").id)
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(export(memory, retracted=True)), encoding="utf-8")
    target = open_memory(tmp_path / "banks")
    during = list[list[Fact]]()
    import_lines(target, check_file(file), lambda _: during.append(target.facts()))
    assert during[0] == []
    assert target.facts(include_ended=True) == memory.facts(include_ended=True)
    assert len(target.units("fact")) == len(memory.units("fact"))


@pytest.mark.parametrize("last_seq", [10**9, 10**30])
def test_a_file_that_claims_to_be_read_beyond_its_last_line_leaves_later_lines_to_be_read(
    tmp_path: Path, last_seq: int
) -> None:
    memory = open_memory(tmp_path)
    tell(memory, "I live in Leeds.")
    assert len(memory.facts()) == 1
    memory.set_setting(SETTING_FACTS, {"to": last_seq, "ids": 1})
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(export(memory, retracted=True)), encoding="utf-8")
    target = open_memory(tmp_path / "banks")
    import_lines(target, check_file(file))
    tell(target, "I like jazz.")
    assert shown(target) == ["Nora lives in Leeds", "Nora likes jazz"]


def test_lines_of_a_file_without_facts_are_read(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "I live in Leeds.")
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(export(memory, retracted=True)), encoding="utf-8")
    target = open_memory(tmp_path / "banks")
    target.observe("I like jazz.", speaker="Nora")
    import_lines(target, check_file(file))
    assert sorted(shown(target)) == ["Nora likes jazz", "Nora lives in Leeds"]


# -------------------------------------------------------------------- names


def test_a_name_in_a_forgotten_line_remains_in_no_statement(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, "alice")

    def knowing(lines: Any, known: Any) -> list[Statement]:
        """Read "my sister" as Mia, once that is known."""
        found = read_statements(lines, known)
        names = {f"{each.subject}'s {each.attribute}": each.value for each in (*known, *found)}
        return [
            Statement(names.get(each.subject, each.subject), each.attribute, each.value, each.seqs, each.said_at)
            for each in found
        ]

    memory.statement_reader = knowing
    first, _ = tell(memory, "My sister is Zqxcanary.", "My sister lives in Porto.")
    assert shown(memory, subject="Zqxcanary") == ["Zqxcanary lives in Porto"]
    memory.end_fact(only(memory, subject="Zqxcanary").id)
    memory.forget(seq=first)
    assert [fact.subject for fact in memory.facts(include_ended=True)] == ["Nora's sister"]
    memory.close()
    assert not any(b"zqxcanary" in path.read_bytes().lower() for path in tmp_path.iterdir())


def test_no_byte_of_a_forgotten_fact_remains(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, "alice")
    (seq,) = tell(memory, "I like jazz.")
    memory.correct_fact(only(memory).id, "Zqxcanary")
    memory.correct_fact(only(memory).id, "Zqxcanaries")
    memory.end_fact(only(memory).id)
    memory.forget_fact(only(memory, include_ended=True).id)
    assert memory.get(seq) is not None
    memory.close()
    assert not any(b"zqxcanar" in path.read_bytes().lower() for path in tmp_path.iterdir())
    with sqlite3.connect(tmp_path / "alice.bank") as db:
        assert db.execute("SELECT count(*) FROM unit").fetchone() == (0,)
