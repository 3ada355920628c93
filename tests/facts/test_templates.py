"""Templates become regular expressions, and are relaxed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.facts.templates import MAX_LISTED, Templates, relax

TEMPLATES = Templates(
    {
        "city": ["Leeds", "York"],
        "home": "(?:in|near) {city}",
        "nothing": [],
        "separator": ", ",
        "last_separator": ",? and ",
    }
)


@pytest.mark.parametrize(
    ("template", "text", "values"),
    [
        ("i live {home}", "I live near York", {}),
        ("i live in {place:city}", "I LIVE \n  IN  YORK", {"place": "YORK"}),
        ("i'm in {place:city}", "im in Leeds", {"place": "Leeds"}),
        ("that’s {place:city}", "that's York", {"place": "York"}),
        ("{places:city*}", "York, Leeds and York", {"places": "York, Leeds and York"}),
        ("{places:city+}", "York, and Leeds, York", {"places": "York, and Leeds, York"}),
        (["in {place:city}", "from {city}"], "from York", {"place": None}),
    ],
)
def test_a_template_matches_what_people_write(
    template: str | list[str], text: str, values: dict[str, str | None]
) -> None:
    match = re.fullmatch(TEMPLATES.expand(template), text, re.IGNORECASE)
    assert match is not None
    assert match.groupdict() == values


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("that’s {city}", "thats York"),
        ("{places:city*}", "York, Leeds"),
        ("{places:city+}", ", ".join(["York"] * (MAX_LISTED + 1))),
        ("{nothing}", ""),
    ],
)
def test_a_template_matches_nothing_else(template: str, text: str) -> None:
    assert re.fullmatch(TEMPLATES.expand(template), text, re.IGNORECASE) is None


@pytest.mark.parametrize(
    ("template", "relaxed"),
    [
        (r"live(?!\w) in (?=[(]|(?:a|b)\)){city}(?<!x)", "live in {city}"),
        ("(?>mother|mother in law) (?:is|was)", "(?:mother|mother in law) (?:is|was)"),
        (r"\w++ (?:a?+){1,2}+ b+? [*+]", r"\w+ (?:a?){1,2} b+? [*+]"),
        ("{places:city*} (?P<name>x)", "{places:city+} (?P<name>x)"),
        (r"(?P<twin>x)(?!y)(?P=twin) (?(twin)\?|!)", r"(?P<twin>x)(?P=twin) (?:\?|!)"),
        (["a(?!b)", "c"], ["a", "c"]),
    ],
)
def test_a_relaxed_template_has_no_conditions(template: str | list[str], relaxed: str | list[str]) -> None:
    assert relax(template) == relaxed


PART = st.sampled_from(
    ["a", "b", "ab", " ", "[ab]", r"\w", "a?", "b+", "a{0,2}", "a*+", "{x:some*}", "(?>a|ab)", "(?=a)", "(?!b(?:a|b))"]
)
TWIN = "(?P<twin>{some})(?P=twin)(?(twin)a?|b)"
SOME = {"some": ["a", "b(?!a)"], "separator": " ", "last_separator": "c"}


def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(parts, min_size=1, max_size=4).map("".join)
    return st.one_of(
        sequence,
        st.tuples(
            st.sampled_from(["(?:", "(?>", "(?<!b)(?:"]),
            st.lists(sequence, min_size=1, max_size=3).map("|".join),
            st.sampled_from([")", ")?", "){2}", "){0,1}+"]),
        ).map("".join),
    )


@given(
    st.recursive(PART, combine, max_leaves=8).filter(lambda template: template.count("{x:") < 2),
    st.sampled_from(["", TWIN]),
    st.text("abc ", max_size=8),
)
def test_a_relaxed_template_matches_wherever_the_template_does(template: str, rest: str, text: str) -> None:
    strict = re.compile(Templates(SOME).expand(template + rest))
    relaxed = re.compile(Templates({name: relax(macro) for name, macro in SOME.items()}).expand(relax(template + rest)))
    for place in range(len(text) + 1):
        assert strict.match(text, place) is None or relaxed.match(text, place) is not None
