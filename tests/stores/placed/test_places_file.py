"""The file of places: what is refused, and which place is the home of a bank."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from everthread.errors import BadInput, ConfigError, NotFound
from everthread.stores.placed.places_file import PlacesFile, read_places_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "places.toml"


def read(path: Path, content: str) -> PlacesFile:
    path.write_text(content)
    return read_places_file(path)


def test_a_relative_folder_is_beside_the_file(path: Path) -> None:
    file = read(
        path, '[places]\nnorth = "banks"\neast = "postgresql://me@host/memories"\n[banks]\n"Nora K" = "north"\n'
    )
    assert file.places == {"north": str(path.parent / "banks"), "east": "postgresql://me@host/memories"}
    assert file.order("Nora K") == ["north", "east"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"has no places; write \[places\], and for each a line such as: north = "),
        ("[places", "can't be read as TOML"),
        ("places = 3", r"places is not a table; write \[places\]"),
        ("[places]\na = 3", r"'a' in \[places\] is 3, expected text in quotes"),
        ('[places]\nNorth = "x"', "invalid name of a place 'North'; expected at most 32 characters"),
        (
            '[places]\na = "mysql://me:zqx@host/db"',
            r"place 'a' is 'mysql://me@host/db'; expected a folder, or postgresql",
        ),
        ('[places]\na = "other.toml"', "place 'a' is 'other.toml'; expected a folder"),
        ('[places]\na = "x"\nb = "./x"', "'a' and 'b' are one place, ./x|/x; remove one of them"),
        (
            '[places]\na = "postgresql://a@h/d"\nb = "postgres://b:zqx@h/d"',
            "'a' and 'b' are one place, postgres://b@h/d",
        ),
        ('[places]\na = "x"\n[banks]\nnora = "b"', "bank 'nora' is in the unknown place 'b'; expected a"),
        ('[places]\na = "x"\n[banks]\n" " = "a"', "a bank id must be text that is not blank"),
        ('[places]\na = "x"\n[table]', "unknown table 'table'"),
    ],
)
def test_an_invalid_file_is_refused_with_the_value(path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        read(path, content)
    assert str(path) in str(error.value)
    assert "zqx" not in str(error.value)


def test_a_missing_file_and_an_unknown_place_are_named(path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no file .*places.toml of places; write \[places\]"):
        read_places_file(path)
    with pytest.raises(BadInput, match=r"unknown place 'c'; .*places.toml has a, b"):
        read(path, '[places]\na = "x"\nb = "y"').check_name("c")


def test_banks_have_homes_in_all_places_and_a_new_place_takes_only_its_share(path: Path) -> None:
    names = [f"person {number}" for number in range(600)]
    three = PlacesFile(path, dict.fromkeys("abc", "x"), {})
    four = PlacesFile(path, dict.fromkeys("dabc", "x"), {})
    assert all(170 < count < 230 for count in Counter(three.order(name)[0] for name in names).values())
    changed = [name for name in names if three.order(name)[0] != four.order(name)[0]]
    assert {four.order(name)[0] for name in changed} == {"d"}
    assert 120 < len(changed) < 180
    assert all([each for each in four.order(name) if each != "d"] == three.order(name) for name in names)
