"""Words that a template requires: every match contains one of each choice."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.facts.required_words import MAX_CHOICES, MAX_WORDS, Choice, find_required_words

MACROS: dict[str, str | list[str]] = {
    "works": ["work", "works", "am working"],
    "adv": "(?: still| now)?",
    "city": r"(?:Leeds|Köln)",
    "any": r"\w+",
    "many": [f"word{'abcdefgh'[n % 8]}{'ijklmnop'[n // 8]}" for n in range(MAX_WORDS + 1)],
}


def choices_of(name: str) -> tuple[Choice, ...]:
    return find_required_words(MACROS[name], choices_of)


@pytest.mark.parametrize(
    ("template", "choices"),
    [
        ("{adv} live in {city}", [{"live"}, {"in"}, {"leeds", "köln"}]),
        ("{works} as {job:any}", [{"as"}, {"work", "works", "working"}]),
        ("(?:live|liv(?:es|ing)) (?:in|near) {any}", [{"in", "near"}, {"liv", "live"}]),
        ("lives? here", [{"live"}, {"here"}]),
        ("(?:lived )?here", [{"here"}]),
        ("(?:lived ){0,2}(?:here ){1,2}", [{"here"}]),
        (r"(?<!not )(?=\w)(?![aeiou]x)(?P<home>\w+) town", [{"town"}]),
        (r"a\b[xyz]+\x41\u00e9 \(b\)", []),
        ("(?(told)yes|no) more", [{"more"}]),
        ("在(?:上海|北京)工作", [{"工作"}, {"在"}, {"上海", "北京"}]),
        ("(?:live in|{any})", []),
        ("{many}", []),
        ([], []),
    ],
)
def test_only_words_of_every_way_through_a_template_are_required(
    template: str | list[str], choices: list[set[str]]
) -> None:
    found = find_required_words(template, choices_of)
    assert len(found) <= MAX_CHOICES
    assert sorted(map(sorted, found)) == sorted(map(sorted, choices))


PART = st.sampled_from(
    ["live", "in", "x", " ", "Leeds", "[ab]", r"\w", r"\d?", "s?", "é+", "a{0,2}", "be{2}", "(?>it)"]
)


def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(parts, min_size=1, max_size=3).map("".join)
    group = st.lists(sequence, min_size=1, max_size=3).map(lambda ways: f"(?:{'|'.join(ways)})")
    return st.one_of(
        sequence, group, st.tuples(group, st.sampled_from(["", "?", "*", "+", "{2}", "{0,1}"])).map("".join)
    )


@given(st.recursive(PART, combine, max_leaves=8), st.data())
def test_whatever_matches_contains_the_required_words(template: str, data: st.DataObject) -> None:
    required = find_required_words(template, choices_of)
    pattern = re.compile(template.replace("(?>", "(?:"), re.ASCII)  # the generator knows no atomic groups
    text = data.draw(st.from_regex(pattern, fullmatch=True)).lower()
    assert all(any(word in text for word in choice) for choice in required)
