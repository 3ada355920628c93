"""Tests of entities: names, aliases, relations, and the person's merges and splits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from everthread.facts import entities as module
from everthread.facts.entities import SUBJECT, VALUE, Entities, EntityEdit
from everthread.facts.types import Statement
from facts.steps import count_steps

BEGUN = datetime(2024, 1, 1, 12, tzinfo=UTC)


def say(*said: tuple[str, str, str] | tuple[str, str, str, int]) -> list[Statement]:
    """Return a statement of each triple, in a line of its own or in the given line."""
    statements = []
    for number, (subject, attribute, value, *line) in enumerate(said, 1):
        seq = line[0] if line else 100 + number
        at = BEGUN + timedelta(days=seq)
        statements.append(Statement(subject, attribute, value, (seq,), at, position=seq, id=number))
    return statements


def names(entities: Entities) -> list[str]:
    return [entity.name for entity in entities.all()]


def subjects(entities: Entities) -> list[str]:
    return [statement.subject for statement in entities.statements]


def test_a_name_is_one_entity_whatever_its_case() -> None:
    entities = Entities(say(("Nora", "likes", "jazz"), ("nora", "likes", "figs")))
    assert names(entities) == ["Nora"]
    assert subjects(entities) == ["Nora", "Nora"]


def test_a_relation_is_an_alias_of_the_one_that_a_statement_names() -> None:
    entities = Entities(say(("Nora's sister", "home", "Porto"), ("Nora", "sister", "Mia"), ("Mia", "likes", "figs")))
    assert subjects(entities) == ["Mia", "Nora", "Mia"]
    (mia,) = entities.find("nora's SISTER")
    assert (mia.name, mia.aliases, mia.relations) == ("Mia", ("Nora's sister",), (("Nora", "sister"),))
    assert mia.statements == (1, 2, 3)
    assert (mia.first_at, mia.last_at) == (BEGUN + timedelta(days=101), BEGUN + timedelta(days=103))


def test_when_an_entity_was_mentioned_is_known_from_dated_lines_alone() -> None:
    first, second, third = say(("Nora", "likes", "jazz"), ("Nora", "likes", "figs"), ("Nora", "home", "York"))
    (nora, *_) = Entities([replace(first, is_undated=True), second, replace(third, is_undated=True)]).all()
    assert (nora.first_at, nora.last_at) == (second.said_at, second.said_at)
    (nora, *_) = Entities([replace(first, is_undated=True)]).all()
    assert (nora.first_at, nora.last_at) == (None, None)


def test_without_a_name_a_relation_is_the_name() -> None:
    entities = Entities(say(("Nora's sister", "home", "Porto"), ("Nora's sister's son", "likes", "figs")))
    assert [name for name in names(entities) if "Nora" in name] == ["Nora's sister", "Nora's sister's son"]
    assert entities.find("Nora's sister")[0].relations == (("Nora", "sister"),)


def test_a_subject_of_too_many_relations_is_taken_for_a_name() -> None:
    endless = "a's " * 1500 + "b"
    assert subjects(Entities(say((endless, "home", "Porto"), ("Nora's sister", "home", "Leeds")))) == [
        endless,
        "Nora's sister",
    ]


def test_a_relation_of_two_names_neither() -> None:
    entities = Entities(say(("Nora", "sister", "Mia"), ("Nora", "sister", "Ada"), ("Nora's sister", "home", "Porto")))
    assert subjects(entities)[2] == "Nora's sister"
    assert [entity.aliases for entity in entities.find("Mia")] == [()]


def test_of_two_in_a_relation_the_one_in_the_same_line_is_meant() -> None:
    said = say(("Nora", "sister", "Mia", 1), ("Nora", "sister", "Ada", 2), ("Nora's sister", "home", "Porto", 2))
    assert subjects(Entities(said))[2] == "Ada"


def test_a_partner_is_the_one_of_that_time() -> None:
    said = say(
        ("Nora", "partner", "Tom", 1),
        ("Nora's partner", "likes", "figs", 2),
        ("Nora", "partner", "Ben", 3),
        ("Nora's husband", "likes", "jazz", 4),
    )
    assert subjects(Entities(said)) == ["Nora", "Tom", "Nora", "Ben"]


def test_a_cat_is_the_pet_of_that_kind() -> None:
    said = say(
        ("Nora", "pet", "Biscuit"),
        ("Biscuit", "kind", "cat"),
        ("Nora", "pet", "Rex"),
        ("Rex", "kind", "dog"),
        ("Nora's cat", "age", "3"),
    )
    entities = Entities(said)
    assert subjects(entities)[4] == "Biscuit"
    assert [entity.kind for entity in entities.find("biscuit")] == ["pet"]


def test_an_ended_pet_is_meant_by_its_kind() -> None:
    said = say(("Nora", "pet", "Biscuit"), ("Biscuit", "kind", "cat"), ("Nora", "pet", "cat"))
    assert [statement.value for statement in Entities(said).statements] == ["Biscuit", "cat", "Biscuit"]


def test_what_a_speaker_is_called_is_the_name() -> None:
    entities = Entities(say(("user", "likes", "jazz"), ("user", "name", "Nora"), ("Nora's sister", "home", "Porto")))
    assert subjects(entities) == ["Nora", "Nora", "Nora's sister"]
    assert [entity.aliases for entity in entities.find("user")] == [("user",)]


def test_all_names_of_the_person_are_of_one_entity_that_is_called_by_the_present_one() -> None:
    told = say(
        ("Hana", "allergy", "figs"), ("user", "likes", "jazz"), ("Jo", "sister", "Hana"), ("Hana's cat", "kind", "cat")
    )
    entities = Entities(told, person_names=("Jo", "Hana", "user"))
    assert subjects(entities) == ["Jo", "Jo", "Jo", "Jo's cat"]
    assert [entity.aliases for entity in entities.find("hana")] == [("Jo's sister",)]
    assert [entity.name for entity in Entities(told[:2], person_names=("Jo", "Hana", "user")).find("hana")] == ["Jo"]
    assert subjects(Entities(told[:2], person_names=("user",))) == ["Hana", "user"]


def test_what_the_person_is_called_by_an_own_statement_comes_before_the_name_of_the_setting() -> None:
    told = say(("user", "name", "Johanna"), ("Jo", "likes", "jazz"))
    assert subjects(Entities(told, person_names=("Jo", "user"))) == ["Johanna", "Johanna"]


def test_two_of_one_name_differ_by_relations_that_exclude_each_other() -> None:
    said = say(
        ("Nora", "sister", "Mia", 1),
        ("Mia", "home", "Porto", 1),
        ("Nora", "colleague", "Mia", 2),
        ("Mia", "home", "Leeds", 2),
        ("Mia", "likes", "figs", 3),
    )
    entities = Entities(said)
    assert subjects(entities)[1::2] == ["Mia (Nora's sister)", "Mia (Nora's colleague)"]
    assert subjects(entities)[4] == "Mia (Nora's colleague)"  # who was mentioned last
    assert [entity.name for entity in entities.find("mia")] == ["Mia (Nora's sister)", "Mia (Nora's colleague)"]
    assert [entity.name for entity in entities.find("Nora's sister")] == ["Mia (Nora's sister)"]


def test_speakers_who_are_not_related_have_relatives_and_pets_of_their_own() -> None:
    said = say(("Ben", "sister", "Mia", 1), ("Mia", "home", "Bath", 1), ("Emma", "sister", "Mia", 2))
    said = [
        *said,
        *(replace(each, id=each.id + 10) for each in say(("Ben", "pet", "Rex", 3), ("Emma", "pet", "Rex", 4))),
    ]
    entities = Entities(said, speakers=("Ben", "Emma"))
    assert [entity.name for entity in entities.find("Mia")] == ["Mia (Ben's sister)", "Mia (Emma's sister)"]
    assert [entity.name for entity in entities.find("Rex")] == ["Rex (Ben's pet)", "Rex (Emma's pet)"]
    assert "Mia (Ben's sister)" in subjects(entities)
    assert len(Entities(said).find("Mia")) == 1  # of people who may never have spoken


def test_a_name_of_several_is_that_of_the_speakers_own_relative() -> None:
    said = say(("Ben", "sister", "Mia"), ("Emma", "sister", "Mia"), ("Mia", "home", "Bath"), ("Mia", "home", "Hull"))
    speakers = {101: "Ben", 102: "Emma", 103: "Ben", 104: "Emma"}
    entities = Entities(said, speakers=("Ben", "Emma"), find_speaker=speakers.get)
    assert subjects(entities)[2:] == ["Mia (Ben's sister)", "Mia (Emma's sister)"]


@pytest.mark.parametrize("is_said_last", [False, True])
def test_speakers_of_one_family_have_the_same_relatives(is_said_last: bool) -> None:
    sons, family = [("Ben", "son", "Leo"), ("Emma", "son", "Leo")], [("Ben", "partner", "Emma")]
    entities = Entities(say(*sons, *family) if is_said_last else say(*family, *sons), speakers=("Ben", "Emma"))
    assert [entity.relations for entity in entities.find("Leo")] == [(("Ben", "son"), ("Emma", "son"))]


def test_a_speaker_is_no_pet_of_that_name() -> None:
    entities = Entities(say(("Max", "home", "Hull"), ("Ben", "pet", "Max")), speakers=("Max", "Ben"))
    assert [(entity.name, entity.kind) for entity in entities.find("Max")][:1] == [("Max", "person")]
    assert "Max (Ben's pet)" in names(entities)


def test_a_speaker_who_claims_the_name_of_another_one_stays_another() -> None:
    said = say(("Anna", "home", "Leeds"), ("Farid", "name", "Anna"), ("Farid", "home", "Hull"))
    assert subjects(Entities(said, speakers=("Anna", "Farid"))) == ["Anna", "Farid", "Farid"]
    assert subjects(Entities(said[1:], speakers=("Anna", "Farid"))) == ["Farid", "Farid"]


def test_a_speaker_without_a_name_is_the_one_whose_name_is_stated() -> None:
    said = say(("user", "name", "Nora"), ("user", "home", "Hull"), ("Nora", "likes", "figs"))
    assert subjects(Entities(said, speakers=("user", "Nora"))) == ["Nora", "Nora", "Nora"]


def test_a_child_who_is_a_daughter_too_is_one() -> None:
    entities = Entities(say(("Nora", "child", "Mia"), ("Nora", "daughter", "Mia"), ("Mia", "age", "5")))
    assert [entity.relations for entity in entities.find("Mia")] == [(("Nora", "child"), ("Nora", "daughter"))]
    others = Entities(say(("Nora", "child", "Mia"), ("Nora", "sister", "Mia")))
    assert len(others.find("Mia")) == 2


def test_a_stepson_who_is_called_a_son_is_one() -> None:
    said = say(("Nora", "son", "Tim"), ("Nora", "stepson", "Tim"), ("Nora", "child", "Tim"), ("Tim", "age", "9"))
    assert len(Entities(said).find("Tim")) == 1
    assert len(Entities(say(("Nora", "son", "Tim"), ("Nora", "son-in-law", "Tim"))).find("Tim")) == 2


def test_an_aunt_may_be_a_godmother() -> None:
    assert len(Entities(say(("Nora", "aunt", "Ida"), ("Nora", "godmother", "Ida"))).find("Ida")) == 1


def test_relations_that_fit_together_are_of_one() -> None:
    entities = Entities(say(("Nora", "colleague", "Mia"), ("Nora", "friend", "Mia"), ("Tom", "sister", "Mia")))
    assert [entity.relations for entity in entities.find("Mia")] == [
        (("Nora", "colleague"), ("Nora", "friend"), ("Tom", "sister"))
    ]


def test_places_organisations_things_and_pets_are_entities() -> None:
    said = say(
        ("Nora", "home", "Porto"), ("Nora", "employer", "Kessler"), ("Nora", "owns", "bike"), ("Nora", "pet", "cat")
    )
    kinds = {entity.name: entity.kind for entity in Entities(said).all()}
    assert kinds == {
        "Nora": "person",
        "Porto": "place",
        "Kessler": "organisation",
        "Nora's bike": "thing",
        "Nora's cat": "pet",
    }


def test_a_place_and_a_person_of_one_name_are_two() -> None:
    entities = Entities(say(("Nora", "home", "Florence"), ("Florence", "likes", "figs")))
    assert len(entities.find("Florence")) == 1
    assert len(names(entities)) == 3


def test_merged_mentions_are_of_one_entity_with_all_that_is_theirs() -> None:
    said = say(
        ("user", "owns", "bike"),
        ("Nora", "owns", "bike"),
        ("user", "sister", "Mia"),
        ("Nora's sister", "home", "Porto"),
    )
    edit = EntityEdit("same", ((1, SUBJECT), (2, SUBJECT)))
    entities = Entities(said, [edit])
    assert subjects(entities) == ["user", "user", "user", "Mia"]
    assert names(entities) == ["user", "user's bike", "Mia", "Porto"]
    assert entities.find("Nora")[0].name == "user"


def test_split_mentions_are_of_another_entity() -> None:
    said = say(("Nora", "friend", "Mia"), ("Mia", "home", "Porto"), ("Mia", "home", "Leeds"))
    entities = Entities(said, [EntityEdit("apart", ((3, SUBJECT),))])
    assert subjects(entities) == ["Nora", "Mia (Nora's friend)", "Mia"]


def test_a_relation_in_a_line_of_split_mentions_is_of_the_one_that_was_split_off() -> None:
    said = say(
        ("Nora", "sister", "Mia"),
        ("Nora", "sister", "Mia", 110),
        ("Nora's sister", "home", "Porto", 110),
        ("Nora's sister's son", "likes", "figs", 110),
    )
    entities = Entities(said, [EntityEdit("apart", ((2, VALUE),))])
    assert [entity.statements for entity in entities.find("Mia")] == [(1,), (2, 3)]


def test_a_merge_undoes_a_split_and_a_split_a_merge() -> None:
    said = say(("Nora", "friend", "Mia"), ("Mia", "home", "Porto"), ("Mia", "home", "Leeds"))
    apart, same = EntityEdit("apart", ((3, SUBJECT),)), EntityEdit("same", ((1, VALUE), (3, SUBJECT)))
    assert subjects(Entities(said, [apart, same])) == ["Nora", "Mia", "Mia"]
    assert subjects(Entities(said, [same, apart])) == subjects(Entities(said, [apart]))


def test_an_edit_of_unknown_statements_changes_nothing() -> None:
    said = say(("Nora", "likes", "jazz"))
    edits = [EntityEdit("same", ((7, SUBJECT), (1, SUBJECT))), EntityEdit("apart", ((8, VALUE),))]
    assert subjects(Entities(said, edits)) == ["Nora"]


def test_entities_that_describe_each_other_can_be_merged() -> None:
    said = say(("Nora's sister", "likes", "figs"), ("Nora's sister's friend", "likes", "jazz"))
    for pair in (((1, SUBJECT), (2, SUBJECT)), ((2, SUBJECT), (1, SUBJECT))):
        assert len(set(subjects(Entities(said, [EntityEdit("same", pair)])))) == 1


CROWDS = {
    "a sister": (("Nora", "sister", "Mia"), ("Nora's sister", "likes", "figs")),
    "partners": (("Nora", "partner", "Tom {}"), ("Nora's partner", "likes", "figs")),
    "pets": (("Nora", "pet", "Rex {}"), ("Nora's cat", "likes", "figs")),
    "cats": (("Nora", "pet", "Rex {}"), ("Rex {}", "kind", "cat"), ("Nora's cat", "likes", "figs")),
    "kinds": (("Nora", "pet", "Rex"), ("Rex", "kind", "breed {}"), ("Nora's cat", "likes", "figs")),
    "owners": (("Person {}", "friend", "Mia"),),
    "two of one name": (("Nora", "sister", "Mia"), ("Nora", "friend", "Mia"), ("Mia", "likes", "figs")),
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_more_mentions_take_no_longer_each(crowd: str) -> None:
    few, many = (
        say(
            *((subject.format(n), word, value.format(n)) for n in range(size) for subject, word, value in CROWDS[crowd])
        )
        for size in (50, 400)
    )
    assert count_steps(module, lambda: Entities(many)) < 10 * count_steps(module, lambda: Entities(few))


@pytest.mark.parametrize("is_told_first", [False, True])
def test_a_cat_with_a_kind_is_found_in_either_order(is_told_first: bool) -> None:
    said = [("Nora", "pet", "Rex"), ("Rex", "kind", "cat"), ("Nora", "pet", "Ada"), ("Ada", "kind", "dog")]
    found = Entities(say(*(said if is_told_first else said[::-1]), ("Nora's cat", "likes", "figs")))
    assert subjects(found)[-1] == "Rex"


def test_a_sentence_is_about_no_entity() -> None:
    entities = Entities([Statement("", "", "Nora likes jazz.", (1,), BEGUN, id=1)])
    assert entities.all() == []
    assert subjects(entities) == [""]
