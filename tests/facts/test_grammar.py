"""Tests of the languages' files."""

from __future__ import annotations

import pytest

from everthread.facts.attributes import ATTRIBUTES, RELATIONS
from everthread.facts.grammar import FOLDER, Grammar, load_grammar

LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.toml"))
GROUPS = {
    "named",
    *("speaker", "relation", "relation_name", "relation_small", "name", "pronoun", "relative", "other", "acquaintance"),
    *("possessor_speaker", "possessor_pronoun", "possessor_name"),
    *("kin", "role", "names", "names_too", "ages", "favourite", "favourite_kind", "count"),
}


def load(language: str, lowercase: bool) -> Grammar:
    """Load a grammar that exists."""
    grammar = load_grammar(language, lowercase=lowercase)
    assert grammar is not None
    return grammar


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_is_a_valid_expression_with_known_groups(language: str, lowercase: bool) -> None:
    for pattern in load(language, lowercase).patterns:
        for form in pattern.forms:
            unknown = {name for name in form.regex.groupindex if name.removesuffix("_too") not in ATTRIBUTES | GROUPS}
            assert unknown == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pattern_has_forms_and_cues_in_small_letters(language: str) -> None:
    for pattern in load(language, False).patterns:
        assert pattern.forms
        assert pattern.cues
        assert all(cue == cue.lower() and cue for cue in pattern.cues)


@pytest.mark.parametrize("language", LANGUAGES)
def test_relations_have_known_attributes(language: str) -> None:
    for relation in load(language, False).relations.values():
        assert relation.attribute in RELATIONS
        assert relation.described_by in ("kind", "breed")


def test_a_language_without_a_file_has_no_grammar() -> None:
    assert load_grammar("xx") is None
