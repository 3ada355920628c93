from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.messages import is_messages, read

TALK = [
    {"role": "system", "content": "You are a gardener."},
    {"role": "user", "content": [{"type": "text", "text": "How often do I water a fern?"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "weekly"},
    {"role": "assistant", "name": "Flora", "content": "Once a week."},
]


def write_json(folder: Path, value: object) -> Path:
    path = folder / "talk.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("value", [TALK, {"model": "m", "messages": TALK}], ids=["a list", "an object with a list"])
def test_messages_are_read_in_order_and_those_without_words_counted(tmp_path: Path, value: object) -> None:
    skipped: Counter[str] = Counter()
    assert [(line.role, line.speaker, line.text) for line in read(write_json(tmp_path, value), skipped=skipped)] == [
        ("system", "system", "You are a gardener."),
        ("user", "user", "How often do I water a fern?"),
        ("tool", "tool", "weekly"),
        ("assistant", "Flora", "Once a week."),
    ]
    assert skipped == {"without words": 1}
    assert is_messages(value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("created_at", "2024-05-01T10:00:00Z"),
        ("createdAt", "2024-05-01T12:00:00+02:00"),
        ("timestamp", 1714557600),
        ("timestamp", 1714557600000),
    ],
)
def test_times_are_read_under_the_names_that_other_programs_give_them(
    tmp_path: Path, field: str, value: object
) -> None:
    first, second = read(write_json(tmp_path, [{"role": "user", "content": "Hi", field: value}, TALK[4]]))
    assert first.said_at == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert (first.undated, second.undated) == (False, True)
    (bare,) = read(write_json(tmp_path, [{"role": "user", "content": "Hi"}]))
    assert first.key == bare.key  # as when such times were not read
    (other,) = read(write_json(tmp_path, [{"role": "user", "content": "Hi", field: "soon"}]))
    assert (other.undated, other.metadata) == (True, {field: "soon"})


@pytest.mark.parametrize("value", [12.5, 3600, 915148800, 915148800000])
def test_a_number_that_is_no_time_since_2000_leaves_a_message_undated(tmp_path: Path, value: float) -> None:
    (line,) = read(write_json(tmp_path, [{"role": "user", "content": "Hello there.", "timestamp": value}]))
    assert (line.said_at, line.undated, line.metadata) == (None, True, {"timestamp": value})


def test_the_role_of_a_message_of_zep_is_its_role_type(tmp_path: Path) -> None:
    talk = [{"role": "Nora", "role_type": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert [(line.speaker, line.role) for line in read(write_json(tmp_path, talk))] == [
        ("Nora", "user"),
        ("assistant", "assistant"),
    ]


def test_texts_of_the_assistants_api_are_read(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": {"value": "Hi", "annotations": []}}]
    (line,) = read(write_json(tmp_path, [{"role": "user", "content": parts}]))
    assert line.text == "Hi"


def test_a_message_that_only_calls_a_tool_needs_no_content(tmp_path: Path) -> None:
    talk = [{"role": "assistant", "tool_calls": [{"id": "x"}]}, {"role": "tool", "content": "sunny"}]
    skipped: Counter[str] = Counter()
    assert [line.text for line in read(write_json(tmp_path, talk), skipped=skipped)] == ["sunny"]
    assert skipped == {"without words": 1}
    assert is_messages(talk)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_text_with_a_picture_is_imported_and_the_picture_counted(tmp_path: Path) -> None:
    parts = [PICTURE, {"type": "text", "text": "What plant"}, PICTURE, {"type": "text", "text": "is this?"}]
    talk = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A fern."}]
    skipped: Counter[str] = Counter()
    first, second = read(write_json(tmp_path, talk), skipped=skipped)
    assert (first.text, first.metadata, second.text) == ("What plant\nis this?", {}, "A fern.")
    assert skipped == {"non-text parts": 2}


@pytest.mark.parametrize(
    "parts", [[PICTURE], [PICTURE, {"type": "input_audio"}], [PICTURE, {"type": "text", "text": ""}]]
)
def test_a_message_of_pictures_only_is_skipped_and_counted(tmp_path: Path, parts: list[object]) -> None:
    talk = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A fern."}]
    skipped: Counter[str] = Counter()
    assert [line.text for line in read(write_json(tmp_path, talk), skipped=skipped)] == ["A fern."]
    assert skipped == {"without words": 1}


def test_a_longer_conversation_has_the_same_keys_at_its_beginning(tmp_path: Path) -> None:
    keys = [line.key for line in read(write_json(tmp_path, TALK))]
    longer = [line.key for line in read(write_json(tmp_path, [*TALK, {"role": "user", "content": "Thanks!"}]))]
    assert (longer[:4], len(set(longer))) == (keys, 5)


def test_two_files_of_one_name_are_two_sessions(tmp_path: Path) -> None:
    def sessions(said: str) -> set[str | None]:
        system = {"role": "system", "content": "You are helpful."}
        return {line.session for line in read(write_json(tmp_path, [system, {"role": "user", "content": said}]))}

    (one,), (two,) = sessions("Hello"), sessions("Good day")
    assert one != two
    assert str(one).startswith("talk-")
    assert sessions("Hello") == {one}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"messages": "none"}, "'none' is not a list of messages; write"),
        ([{"role": "user", "content": "a"}, 7], "message 2: 7 is not an object"),
        ([{"role": "user", "content": [{"image_url": "cat.png"}]}], "message 1: the content part .* has no type"),
        ([{"content": "a", "role": "narrator"}], "message 1: \"role\" is 'narrator'"),
    ],
)
def test_each_invalid_message_is_rejected_with_its_number(tmp_path: Path, value: object, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"talk\.json.*{complaint}"):
        list(read(write_json(tmp_path, value)))


@pytest.mark.parametrize(
    "value",
    [
        [{"content": "Hello"}, {"role": "user", "content": "Hello"}],
        {"messages": [{"content": "Hello", "author": {"name": "Ann"}, "timestamp": "2023-05-01T10:00:00+02:00"}]},
        {"messages": [{"sender_name": "Ann", "timestamp_ms": 1682928000000, "content": "Hello"}]},
    ],
)
def test_messages_of_unnamed_people_are_rejected_even_if_the_format_is_given(tmp_path: Path, value: object) -> None:
    with pytest.raises(
        BadFile, match=r"talk\.json, message 1: an object with .* has neither a role nor a speaker; add"
    ):
        list(read(write_json(tmp_path, value)))


def test_messages_may_name_speakers_instead_of_roles(tmp_path: Path) -> None:
    (line,) = read(write_json(tmp_path, [{"speaker": "Ann", "text": "Hello"}]))
    assert (line.speaker, line.text) == ("Ann", "Hello")


@pytest.mark.parametrize("value", [[], {}, {"messages": []}, [1], [{"conversation": {}}], "text"])
def test_other_json_is_not_recognised_as_messages(value: object) -> None:
    assert not is_messages(value)


@pytest.mark.parametrize(
    "value",
    [
        [{"content": "Hello"}],
        {"messages": [{"content": "Hello", "sender": "Ann"}]},
        [{"role": 1, "content": "Hello"}],
        [{"role": "user"}],
        {"messages": []},
    ],
)
def test_messages_need_a_role_and_content_to_be_recognised(value: object) -> None:
    assert not is_messages(value)
