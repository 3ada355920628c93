"""Tests of the languages' files."""

from __future__ import annotations

import re
from re import _parser  # type: ignore[attr-defined]

import pytest

from everthread.facts.attributes import ATTRIBUTES, RELATIONS
from everthread.facts.grammar import FOLDER, Form, Grammar, _Builder, _read_table, load_grammar
from everthread.facts.templates import Templates

LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.toml"))
GROUPS = {
    "named",
    *("speaker", "relation", "relation_name", "relation_small", "name", "pronoun", "relative", "other", "acquaintance"),
    *("possessor_speaker", "possessor_pronoun", "possessor_name"),
    *("kin", "role", "names", "names_too", "ages", "known", "instead", "favourite", "favourite_kind", "count"),
    *("it", "home_there", "home_here", "aged", "couple", "listed_name", "first_name", "likely_name", "practised"),
}
COMPARED = 25  # forms of each grammar, because it takes 10 to 30 ms to parse a long one
MOST = 9_999  # characters, of an expression without a limit


def load(language: str, lowercase: bool) -> Grammar:
    """Load a grammar that exists."""
    grammar = load_grammar(language, lowercase=lowercase)
    assert grammar is not None
    return grammar


class Outlines(Templates):
    """Expands templates with a short expression of the same groups and width in place of each macro.

    A form is valid if its macros are and if its outline is. Each macro is compiled once, while the forms have thousands
    of characters each.
    """

    def expand_macro(self, name: str) -> str:
        """Return the short expression of a macro."""
        if name not in self._expanded:
            macro = super().expand_macro(name)
            groups = "".join(f"(?P<{group}>)" for group in re.compile(macro).groupindex)
            low, high = _parser.parse(macro).getwidth()
            self._expanded[name] = f"(?:{groups}.{{{low},{min(high, MOST)}}})"
        return self._expanded[name]


def outline(language: str, lowercase: bool) -> Grammar:
    """Build a grammar with the outlines of its forms."""
    builder = _Builder(_read_table(FOLDER / f"{language}.toml"), lowercase)
    builder.templates = Outlines(builder.macros)
    return builder.build()


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_is_a_valid_expression_with_known_groups(language: str, lowercase: bool) -> None:
    forms = [form for pattern in load(language, lowercase).patterns for form in pattern.forms]
    outlines = [form for pattern in outline(language, lowercase).patterns for form in pattern.forms]
    assert [(form.head, form.lists) for form in outlines] == [(form.head, form.lists) for form in forms]
    for form in outlines:
        groups = re.compile(form.source).groupindex
        names = {part for name in groups for part in name.removesuffix("_too").split("_or_")}
        unknown = names - ATTRIBUTES - GROUPS
        assert unknown == set()


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_forms_of_all_lengths_have_the_groups_and_the_least_width_of_their_outlines(
    language: str, lowercase: bool
) -> None:
    outlines = outline(language, lowercase).patterns
    pairs = [
        (form, outlined)
        for pattern, of_pattern in zip(load(language, lowercase).patterns, outlines, strict=True)
        for form, outlined in zip(pattern.forms, of_pattern.forms, strict=True)
    ]
    pairs.sort(key=lambda pair: len(pair[0].source), reverse=True)
    for form, outlined in pairs[:: len(pairs) // COMPARED]:
        assert groups_and_least_width(form) == groups_and_least_width(outlined)


def groups_and_least_width(form: Form) -> tuple[set[str], int]:
    parsed = _parser.parse(form.source, re.IGNORECASE)  # takes half the time of compiling
    return set(parsed.state.groupdict), parsed.getwidth()[0]


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_relation_has_words_in_every_language(language: str) -> None:
    assert {relation.attribute for relation in load(language, False).relations.values()} == RELATIONS


def test_a_relation_with_hyphens_is_written_with_spaces_as_well() -> None:
    relations = load("en", False).relations
    assert relations["mother in law"] == relations["mother-in-law"]
    assert relations["mothers in law"].is_plural


def test_a_language_without_a_file_has_no_grammar() -> None:
    assert load_grammar("xx") is None
