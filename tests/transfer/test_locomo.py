from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.locomo import read

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ida",
        "speaker_b": "Tom",
        "session_2": [{"speaker": "Ida", "dia_id": "D2:1", "text": "Back from the lake."}],
        "session_2_date_time": "12:05 am on 3 January, 2024",
        "session_1": [
            {"speaker": "Ida", "dia_id": "D1:1", "text": "I built a kite."},
            {
                "speaker": "Tom",
                "dia_id": "D1:2",
                "text": "Show me!",
                "blip_caption": "a kite",
                "img_url": ["u"],
                "query": "kite",
            },
            {"speaker": "Ida", "dia_id": "D1:3", "text": "", "img_url": ["u"]},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_10_date_time": "1:56 pm on 8 May, 2025",
    },
    "qa": [],
}


def write_json(folder: Path, value: object) -> Path:
    path = folder / "locomo.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def with_changes(**fields: object) -> dict[str, Any]:
    sample = copy.deepcopy(SAMPLE)
    sample["conversation"].update(fields)
    return sample


def test_turns_are_read_in_the_order_of_their_sessions(tmp_path: Path) -> None:
    lines = list(read(write_json(tmp_path, SAMPLE)))
    assert [(line.key, line.session, line.speaker, line.role, line.metadata) for line in lines] == [
        ("locomo:conv-1:D1:1", "session_1", "Ida", "user", {"dia_id": "D1:1"}),
        ("locomo:conv-1:D1:2", "session_1", "Tom", "user", {"dia_id": "D1:2"}),
        ("locomo:conv-1:D1:3", "session_1", "Ida", "user", {"dia_id": "D1:3"}),
        ("locomo:conv-1:D2:1", "session_2", "Ida", "user", {"dia_id": "D2:1"}),
    ]
    assert [line.said_at for line in lines] == [
        datetime(2023, 5, 8, 13, 56, 0, tzinfo=UTC),
        datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC),
        datetime(2023, 5, 8, 13, 56, 2, tzinfo=UTC),
        datetime(2024, 1, 3, 0, 5, tzinfo=UTC),
    ]


def test_an_image_is_imported_as_its_caption(tmp_path: Path) -> None:
    texts = [line.text for line in read(write_json(tmp_path, [SAMPLE]))]
    assert texts[1:3] == ["Show me! [image: a kite]", "[image]"]


def test_samples_are_selected_by_id_and_have_separate_sessions(tmp_path: Path) -> None:
    path = write_json(tmp_path, [SAMPLE, {**SAMPLE, "sample_id": "conv-2"}])
    assert {line.session for line in read(path, only=["conv-2"])} == {"session_1", "session_2"}
    assert {line.session for line in read(path)} == {
        "conv-1/session_1", "conv-1/session_2", "conv-2/session_1", "conv-2/session_2",
    }  # fmt: skip
    assert len({line.key for line in read(path)}) == 8


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("text", "sample 1: 'text' is not an object"),
        ({"conversation": {}}, 'sample 1: "sample_id" is None'),
        ({"sample_id": "x"}, "x: conversation: None is not an object"),
        ([SAMPLE, SAMPLE], "two samples share a sample_id"),
        (with_changes(session_1="hello"), "conv-1: session_1: 'hello' is not a session"),
        (with_changes(session_1=["hello"]), r"conv-1: session_1\[1\]: 'hello' is not an object"),
        (with_changes(session_1=[{"dia_id": "D1:1", "text": "a"}]), r'session_1\[1\]: "speaker" is None'),
        (with_changes(session_1=[{"speaker": "Ida", "text": "a"}]), r'session_1\[1\]: "dia_id" is None'),
        (
            with_changes(session_1_date_time="May"),
            "conv-1: session_1_date_time: 'May' is not a date; write it as 1:56 pm",
        ),
        (with_changes(session_1_date_time=None), 'conv-1: "session_1_date_time" is None'),
    ],
)
def test_each_invalid_file_is_rejected_with_the_place(tmp_path: Path, value: object, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"locomo\.json, .*{complaint}|locomo\.json: {complaint}"):
        list(read(write_json(tmp_path, value)))


def test_an_unknown_sample_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no sample 'conv-9'; choose from conv-1"):
        list(read(write_json(tmp_path, SAMPLE), only=["conv-9"]))


@pytest.mark.parametrize("field", ["session_01", "session_１", "session_" + "9" * 5000])
def test_an_invalid_session_number_is_reported(tmp_path: Path, field: str) -> None:
    turns = [{"speaker": "Ida", "dia_id": "D7:1", "text": "Hello."}]
    with pytest.raises(BadFile, match=r"conv-1: invalid session 'session_.*number sessions session_1, session_2"):
        list(read(write_json(tmp_path, with_changes(**{field: turns}))))


def test_a_session_that_exceeds_the_year_9999_is_reported(tmp_path: Path) -> None:
    turns = [{"speaker": "Ida", "dia_id": f"D3:{n}", "text": "Hello."} for n in range(1, 4)]
    sample = with_changes(session_3=turns, session_3_date_time="9999-12-31T23:59:58")
    with pytest.raises(BadFile, match=r"session_3\[3\]: the session begins too close to the year 10000"):
        list(read(write_json(tmp_path, sample)))
