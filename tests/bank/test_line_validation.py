from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bank.line_validation import MAX_NAME_CHARS, MAX_TEXT_CHARS, clean_line
from everthread.common.keys import META_REPLACED_CHARACTERS
from everthread.errors import BadLine
from everthread.types import NewLine

PRESENT = datetime(2024, 5, 1, 12, tzinfo=UTC)


def clean(text: str = "Hello.", **fields: Any) -> NewLine:
    return clean_line(NewLine(text, **fields), PRESENT)


def nest(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(str.strip))
def test_text_is_stored_verbatim(text: str) -> None:
    assert clean(text).text == text
    assert META_REPLACED_CHARACTERS not in clean(text).metadata


@pytest.mark.parametrize(
    "text", ["مرحبا \u202eعالم\u202c", "\u200b", "a\u200db", "👩‍👩‍👧", "e\u0301", " leading", "\ttab\r\n"]
)
def test_unusual_text_is_accepted(text: str) -> None:
    assert clean(text).text == text


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [("a\x00b", "a\ufffdb", 1), ("\ud83d half", "\ufffd half", 1), ("\x00\x00\udc00", "\ufffd" * 3, 3)],
)
def test_unstorable_characters_are_replaced_and_counted(text: str, expected: str, count: int) -> None:
    line = clean(text, metadata={"mood": "odd"})
    assert line.text == expected
    assert line.metadata == {"mood": "odd", META_REPLACED_CHARACTERS: count}


def test_unstorable_characters_in_names_and_metadata_are_replaced_and_counted() -> None:
    line = clean(speaker="Bo\ud800", session="s\x00", key="k\udfff", metadata={"a": "x\ud800"}, parent="p\x00")
    assert (line.speaker, line.session, line.key, line.parent) == ("Bo\ufffd", "s\ufffd", "k\ufffd", "p\ufffd")
    assert line.metadata == {"a": "x\ufffd", META_REPLACED_CHARACTERS: 4}


def test_nul_in_metadata_is_replaced_but_not_its_escape_sequence() -> None:
    line = clean(metadata={"a\0": ["b\0c", {"d": "\0\0"}], "e": r"\u0000 \\u0000", "f": "\\\0"})
    assert line.metadata == {
        "a\ufffd": ["b\ufffdc", {"d": "\ufffd\ufffd"}], "e": r"\u0000 \\u0000", "f": "\\\ufffd",
        META_REPLACED_CHARACTERS: 5,
    }  # fmt: skip


def test_a_number_too_long_to_print_is_rejected() -> None:
    with pytest.raises(BadLine, match="metadata must be JSON-serialisable, got a number of thousands of digits: "):
        clean(metadata={"a": 10**5000})


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u2003\u3000"])
def test_a_blank_text_is_rejected(text: str) -> None:
    with pytest.raises(BadLine, match=r"text is empty: .*; a line needs at least one character that is not blank"):
        clean(text)


@pytest.mark.parametrize("text", [None, 5, b"bytes"])
def test_a_text_that_is_not_a_str_is_rejected(text: Any) -> None:
    with pytest.raises(BadLine, match=f"text must be a str, got {type(text).__name__}"):
        clean(text)


def test_a_text_longer_than_the_maximum_is_rejected() -> None:
    assert len(clean("x" * MAX_TEXT_CHARS).text) == MAX_TEXT_CHARS
    with pytest.raises(
        BadLine, match=r"text has 4,000,001 characters; at most 4,000,000 are allowed in a line; import it in parts"
    ):
        clean("x" * (MAX_TEXT_CHARS + 1))


@pytest.mark.parametrize("role", ["bot", "", None, "User", ["user"]])
def test_an_unknown_role_is_rejected_with_the_known_ones(role: Any) -> None:
    with pytest.raises(BadLine, match=r"unknown role .*; expected one of user, assistant, system, tool"):
        clean(role=role)


@pytest.mark.parametrize("field", ["speaker", "session", "key", "parent"])
@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_blank_name_is_rejected(field: str, name: str) -> None:
    with pytest.raises(BadLine, match=f"{field} must be text that is not blank, got"):
        clean(**{field: name})


@pytest.mark.parametrize("field", ["speaker", "session", "key"])
def test_a_name_that_is_not_a_str_is_rejected(field: str) -> None:
    with pytest.raises(BadLine, match=f"{field} must be text that is not blank, got 7"):
        clean(**dict[str, Any]({field: 7}))


@pytest.mark.parametrize("field", ["speaker", "session", "key", "parent"])
def test_a_name_longer_than_the_maximum_is_rejected(field: str) -> None:
    clean(**{field: "n" * MAX_NAME_CHARS})
    with pytest.raises(BadLine, match=f"{field} 'nnn.* has 201 characters; at most 200 are allowed"):
        clean(**{field: "n" * (MAX_NAME_CHARS + 1)})


@pytest.mark.parametrize("parent", [0, -1, 1.0, True, 2**63])
def test_an_invalid_parent_is_rejected(parent: Any) -> None:
    with pytest.raises(BadLine, match=r"parent must be the seq of a line \(1, 2, 3 …\) or its key, got"):
        clean(parent=parent)


@pytest.mark.parametrize(
    "metadata",
    [
        {"score": float("nan")},
        {"score": float("inf")},
        {"tags": {"a", "b"}},
        {"at": PRESENT},
        {("a", 1): 2},
        {"deep": nest(100_000)},
        {"bytes": b"x"},
        {"self": object()},
    ],
)
def test_metadata_that_json_can_not_hold_is_rejected(metadata: Any) -> None:
    with pytest.raises(BadLine, match=r"metadata must be JSON-serialisable, got {.*}: "):
        clean(metadata=metadata)


def test_metadata_nested_too_deep_is_rejected() -> None:
    assert clean(metadata={"deep": nest(99)}).metadata == {"deep": nest(99)}
    for deep in (nest(100), [0, {"a": nest(98)}]):
        with pytest.raises(BadLine, match="metadata is nested more than 100 deep; simplify it"):
            clean(metadata={"deep": deep})


def test_metadata_that_contains_itself_is_rejected() -> None:
    metadata: dict[str, Any] = {}
    metadata["me"] = metadata
    with pytest.raises(BadLine, match="metadata must be JSON-serialisable"):
        clean(metadata=metadata)


@pytest.mark.parametrize("metadata", [[], "text", 5, None])
def test_metadata_must_be_a_mapping(metadata: Any) -> None:
    with pytest.raises(BadLine, match=f"metadata must be a mapping, got {type(metadata).__name__}"):
        clean(metadata=metadata)


def test_metadata_is_copied() -> None:
    given_metadata: dict[str, Any] = {"tags": ["a"]}
    line = clean(metadata=given_metadata)
    given_metadata["tags"].append("b")
    assert line.metadata == {"tags": ["a"]}


def test_a_line_without_a_time_gets_the_present_time() -> None:
    assert clean().said_at == PRESENT


def test_a_time_retains_its_utc_offset() -> None:
    at = datetime(2019, 3, 2, 23, 15, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    said_at = clean(said_at=at).said_at
    assert said_at is not None
    assert (said_at, said_at.utcoffset()) == (at, at.utcoffset())


@pytest.mark.parametrize("fold", [0, 1])
def test_a_time_of_the_hour_that_is_repeated_in_autumn_is_equal_to_itself_in_another_zone(fold: int) -> None:
    at = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold)
    assert clean(said_at=at).said_at == at.astimezone(UTC)


@pytest.mark.parametrize(
    ("at", "remedy"),
    [
        (datetime(2024, 5, 1), "has no time zone; set one"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "is outside the years 1 to 9999 in UTC"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))), "is outside the years 1 to 9999 in UTC"),
        ("2024-05-01T00:00:00Z", r"parse text with datetime\.fromisoformat"),
    ],
)
def test_an_invalid_time_is_rejected(at: Any, remedy: str) -> None:
    with pytest.raises(BadLine, match=remedy):
        clean(said_at=at)
    with pytest.raises(BadLine, match=rf"^retracted_at .*{remedy}"):
        clean(retracted_at=at)
