from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer.jsonl import export_key, exported_seq, format_rows, read
from everthread.types import JSONValue, Line, NewLine, Role

words = st.text(min_size=1, max_size=30).filter(lambda s: s.strip())
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(min_value=datetime(1900, 1, 1), timezones=offsets)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=9), scalars, max_size=3)
patient = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30
)  # banks are slow to draw
roles: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant", "system", "tool"])


@st.composite
def banks(draw: st.DrawFn) -> list[Line]:
    """Draw the lines of a bank: ascending numbers with gaps, and distinct keys."""
    steps = draw(st.lists(st.integers(1, 3), max_size=6))
    lines, seq = [], 0
    for number, step in enumerate(steps):
        parent = seq or None
        seq += step
        key = draw(st.none() | st.just(f"key {number}"))
        metadata: dict[str, JSONValue] = draw(st.dictionaries(st.text(max_size=9), values, max_size=3))
        retracted = draw(st.none() | times)
        texts = draw(st.tuples(words, words, words))
        lines.append(
            Line(seq, texts[0], draw(roles), texts[1], texts[2], draw(times), parent, metadata, key, retracted)
        )
    return lines


RECORDS = ({"text": "a"}, {"text": "a"}, {"text": "b"})


def write_records(folder: Path, *records: object) -> Path:
    path = folder / "lines.jsonl"
    path.write_text("".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


@patient
@given(lines=banks())
def test_written_lines_are_read_unchanged(lines: list[Line], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "lines.jsonl"
    path.write_text("".join(format_rows(lines)), encoding="utf-8", newline="")
    keys = {line.seq: export_key(line) for line in lines}
    read_lines = list(read(path))
    assert read_lines == [
        NewLine(
            line.text,
            line.speaker,
            line.role,
            line.said_at,
            line.session,
            line.metadata,
            keys.get(line.parent or 0),
            keys[line.seq],
            line.retracted_at,
        )
        for line in lines
    ]
    assert [new.said_at and new.said_at.utcoffset() for new in read_lines] == [
        line.said_at.utcoffset() for line in lines
    ]


@patient
@given(lines=banks())
def test_reading_twice_gives_the_same_lines_with_keys_all_different(
    lines: list[Line], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "lines.jsonl"
    path.write_text("".join(format_rows(lines)), encoding="utf-8", newline="")
    first = list(read(path))
    assert first == list(read(path))
    assert len({line.key for line in first}) == len(first) == len(lines)


def test_a_line_needs_only_a_text(tmp_path: Path) -> None:
    (line,) = read(write_records(tmp_path, {"text": " Hello "}))
    assert (line.text, line.speaker, line.role, line.said_at, line.session) == (" Hello ", "user", "user", None, None)


def test_a_line_without_a_time_is_undated_also_among_dated_ones(tmp_path: Path) -> None:
    dated, undated = {"text": "a", "said_at": "2019-03-04T05:06"}, {"text": "b"}
    path = write_records(tmp_path, dated, undated, dated)
    assert [line.undated for line in read(path)] == [False, True, False]
    with Memory.open("b", store=tmp_path / "banks", embedder="hash") as bank:
        for _ in range(2):
            bank.observe_many(read(path))
        assert [line.is_undated for line in bank.lines()] == [False, True, False]


def test_chat_api_messages_are_read(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    path = write_records(
        tmp_path, {"role": "assistant", "content": "Hi"}, {"role": "user", "name": "Ann", "content": parts}
    )
    assert [(line.role, line.speaker, line.text) for line in read(path)] == [
        ("assistant", "assistant", "Hi"),
        ("user", "Ann", "one\ntwo"),
    ]


def test_a_time_without_a_zone_takes_the_given_one_and_an_offset_is_kept(tmp_path: Path) -> None:
    path = write_records(
        tmp_path, {"text": "a", "said_at": "2019-03-04T05:06"}, {"text": "b", "said_at": "2019-03-04T05:06:00.5-03:00"}
    )
    assert next(read(path)).said_at == datetime(2019, 3, 4, 5, 6, tzinfo=UTC)
    west = [line.said_at for line in read(path, tz=timezone(timedelta(hours=-7)))]
    assert [t.isoformat() for t in west if t] == ["2019-03-04T05:06:00-07:00", "2019-03-04T05:06:00.500000-03:00"]


def test_keys_are_given_or_made_from_the_contents(tmp_path: Path) -> None:
    path = write_records(
        tmp_path, {"text": "a", "key": "k"}, {"text": "a", "id": 7}, {"text": "a"}, {"text": "a"}, {"text": "b"}
    )
    keys = [line.key for line in read(path)]
    assert keys[0] == "k"
    assert len(set(keys)) == 5
    assert keys[1:] == [line.key for line in read(write_records(tmp_path, {"text": "a", "id": 7}, *RECORDS))]
    shorter = [line.key for line in read(write_records(tmp_path, *RECORDS))]
    assert [line.key for line in read(write_records(tmp_path, *RECORDS, {"text": "a"}))][:3] == shorter


@pytest.mark.parametrize("number", [1, "1", 1.5])
def test_equal_ids_in_two_files_are_different_lines(tmp_path: Path, number: object) -> None:
    one, two = (next(read(write_records(tmp_path, {"id": number, "text": text}))) for text in ("I sail.", "I bake."))
    assert one.key != two.key
    assert one.metadata == two.metadata == {"id": number}
    assert next(read(write_records(tmp_path, {"id": 2, "text": "I sail."}))).key != one.key


def test_ids_may_repeat_in_one_file(tmp_path: Path) -> None:
    lines = list(read(write_records(tmp_path, *[{"id": 1, "text": "yes"}] * 3)))
    assert len({line.key for line in lines}) == 3


def test_the_place_of_each_key_is_returned(tmp_path: Path) -> None:
    places: dict[str, str] = {}
    path = write_records(tmp_path, {"text": "a", "key": "k"}, {"text": "b", "id": 1}, {"text": "c", "key": "l"})
    for _ in range(2):
        assert len(list(read(path, places=places))) == 3
        assert places == {"k": "line 1", "l": "line 3"}


def test_lines_are_recognised_by_their_times_or_by_the_lines_before(tmp_path: Path) -> None:
    day, night = ({"text": "yes", "said_at": f"2024-05-01T{hour}:00:00Z"} for hour in (10, 22))
    keys = [line.key for line in read(write_records(tmp_path, day, night))]
    assert [line.key for line in read(write_records(tmp_path, night, day))] == keys[::-1]
    one, two = ([line.key for line in read(write_records(tmp_path, {"text": t}, {"text": "yes"}))] for t in ("a", "b"))
    assert not set(one) & set(two)


def test_a_line_without_a_key_is_exported_with_one_made_from_number_and_contents() -> None:
    line = Line(17, "s", "user", "Ann", "Hello", datetime(2024, 1, 1, tzinfo=UTC))
    assert exported_seq(export_key(line)) == 17
    assert export_key(line) != export_key(replace(line, text="Hallo"))
    assert export_key(replace(line, key="k")) == "k"
    assert exported_seq("k") is None


def test_unknown_fields_are_kept_as_metadata(tmp_path: Path) -> None:
    (line,) = read(write_records(tmp_path, {"text": "a", "mood": "glad", "metadata": {"place": "home"}}))
    assert line.metadata == {"mood": "glad", "place": "home"}


@pytest.mark.parametrize(
    ("record", "metadata"),
    [
        ({"text": "a", "content": "b"}, {"content": "b"}),
        ({"text": "a", "speaker": "Ann", "name": "Annie"}, {"name": "Annie"}),
        ({"text": "a", "key": "k", "id": 7}, {"id": 7}),
        ({"text": None, "content": "a", "speaker": None, "name": "Ann"}, {}),
    ],
)
def test_a_second_name_of_a_field_is_kept_as_metadata(
    tmp_path: Path, record: object, metadata: dict[str, object]
) -> None:
    (line,) = read(write_records(tmp_path, record))
    assert line.text == "a"
    assert line.metadata == metadata


def test_messages_without_words_are_skipped_and_counted(tmp_path: Path) -> None:
    skipped: Counter[str] = Counter()
    path = write_records(
        tmp_path,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "tool_calls": [{"id": "c2"}]},
        {"role": "assistant", "function_call": {"name": "f"}},
        {"role": "tool", "content": "42"},
    )
    assert [line.text for line in read(path, skipped=skipped)] == ["42"]
    assert skipped == {"without words": 4}


def test_aliases_of_roles_and_content_parts_are_accepted(tmp_path: Path) -> None:
    parts = [{"type": "output_text", "text": "one"}, {"type": "input_text", "text": "two"}]
    path = write_records(tmp_path, {"role": "developer", "content": parts}, {"role": "function", "content": "3"})
    assert [(line.role, line.speaker, line.text) for line in read(path)] == [
        ("system", "system", "one\ntwo"), ("tool", "tool", "3"),
    ]  # fmt: skip


def test_parents_are_named_by_key_even_if_retracted(tmp_path: Path) -> None:
    path = write_records(
        tmp_path,
        {"seq": 3, "text": "root", "key": "r"},
        {"seq": 4, "text": "first try", "parent": 3, "retracted_at": "2024-01-01T00:00:00Z"},
        {"seq": 9, "text": "second try", "parent": 3},
        {"seq": 10, "text": "a branch", "parent": 3},
        {"seq": 11, "text": "of a retracted line", "parent": 4},
        {"seq": 12, "text": "of a lost line", "parent": 5},
    )
    root, first, *_ = lines = list(read(path))
    assert first.retracted_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert [line.text for line in lines if line.retracted_at] == ["first try"]
    assert [line.parent for line in lines] == [None, root.key, root.key, root.key, first.key, None]


def test_half_a_surrogate_pair_is_left_for_the_bank_to_replace(tmp_path: Path) -> None:
    (line,) = read(write_records(tmp_path, '{"text": "\\ud83d!"}\n'))
    assert line.text == "\ud83d!"
    assert line.key


def test_blank_lines_between_objects_are_ignored(tmp_path: Path) -> None:
    assert len(list(read(write_records(tmp_path, {"text": "a"}, "\n  \r\n", {"text": "b"})))) == 2


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert list(read(write_records(tmp_path))) == []


@pytest.mark.slow
def test_the_number_of_an_invalid_line_is_reported_in_a_long_file(tmp_path: Path) -> None:
    path = write_records(tmp_path, *[{"text": f"line {n}"} for n in range(4999)], '{"text": \n')
    with pytest.raises(BadFile, match=r"lines\.jsonl, line 5000, column \d+: not JSON"):
        list(read(path))


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ('["text"]\n', r"\['text'\] is not an object"),
        ({}, 'neither "text" nor "content"'),
        ({"text": 5}, '"text" is 5; it must be text'),
        ({"text": " \n"}, "the text is empty"),
        ({"text": None}, '"text" is None'),
        ({"text": "a", "mood": 1, "metadata": {"mood": 2}}, '"mood" is both in "metadata" and outside it'),
        ({"content": ["Hello"]}, "the content part 'Hello' has no type; add it, as chat APIs do"),
        ({"content": [{"text": "Hello"}]}, "the content part {'text': 'Hello'} has no type"),
        ({"content": [{"type": "text", "text": 5}]}, '"text" is 5; it must be text'),
        ({"text": "a", "role": "narrator"}, "\"role\" is 'narrator'; it must be one of user, assistant, system, tool"),
        ({"text": "a", "role": ["user"]}, '"role" is'),
        ({"text": "a", "speaker": ""}, '"speaker" is empty'),
        ({"text": "a", "said_at": "soon"}, "\"said_at\" is 'soon'; write it as 2024-05-01T10:22:00"),
        ({"text": "a", "retracted_at": "soon"}, "\"retracted_at\" is 'soon'; write it as 2024-05-01T10:22:00"),
        ({"text": "a", "said_at": 1714550000}, '"said_at" is 1714550000'),
        ({"text": "a", "session": 3}, '"session" is 3'),
        ({"text": "a", "seq": 0}, '"seq" is 0'),
        ({"text": "a", "parent": True}, '"parent" is True'),
        ({"text": "a", "metadata": []}, r'"metadata" is \[\]; it must be an object'),
        ({"text": "a", "session": "s" * 201}, "at most 200 are allowed"),
        ({"session": "s", "title": 3}, "invalid title: got 3, expected a str"),
        ({"session": "s", "title": None, "metadata": []}, r"invalid metadata of a session: got \[\]"),
        ({"session": 3, "title": "Ferns"}, '"session" is 3'),
        ({"session": "s", "title": "Ferns", "message": "Hi."}, 'neither "text" nor "content"'),
        ({"session": "s", "metadata": {}}, 'neither "text" nor "content"'),
        ({"text": "a", "key": "k"}, "the key 'k' was already used on line 1"),
    ],
)
def test_each_invalid_line_is_rejected_with_its_number(tmp_path: Path, record: object, complaint: str) -> None:
    path = write_records(tmp_path, {"text": "good", "key": "k"}, record)
    with pytest.raises(BadFile, match=r"lines\.jsonl, line 2.*" + complaint):
        list(read(path))


def test_unset_fields_are_not_written() -> None:
    line = Line(1, "s", "user", "Ann", "你好", datetime(2024, 1, 1, tzinfo=UTC), key="k")
    fields = (
        '"seq": 1, "session": "s", "role": "user", "speaker": "Ann", "text": "你好", '
        '"said_at": "2024-01-01T00:00:00+00:00"'
    )
    assert list(format_rows([line])) == [f'{{{fields}, "key": "k"}}\n']
    (without_key,) = format_rows([replace(line, key=None)])
    assert without_key == f'{{{fields}, "ref": "{export_key(replace(line, key=None))}"}}\n'


def test_other_characters_are_escaped_on_request() -> None:
    (row,) = format_rows([Line(1, "s", "user", "Ann", "你好 😀", datetime(2024, 1, 1, tzinfo=UTC))], ascii_only=True)
    assert row.isascii()
    assert json.loads(row)["text"] == "你好 😀"


def test_a_bank_can_be_exported_and_imported_into_another(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with Memory.open("old", store=tmp_path / "old", embedder="hash") as old:
        old.observe("I sold the boat.", speaker="Ann", session="s", said_at=datetime(2019, 5, 1, tzinfo=UTC), key="k")
        old.observe("Which boat?", role="assistant", session="s", metadata={"n": 1}, parent=1)
        lines = list(old.lines())
        path.write_text("".join(format_rows(old.lines())), encoding="utf-8")
    with Memory.open("new", store=tmp_path / "new", embedder="hash") as new:
        for _ in range(2):
            new.observe_many(read(path))
        assert [replace(line, key=None) for line in new.lines()] == [replace(line, key=None) for line in lines]


def test_the_reader_streams(tmp_path: Path) -> None:
    path = write_records(tmp_path, {"text": "good"}, "broken\n")
    assert isinstance(next(read(path)), NewLine)


def test_parents_are_found_in_a_bank_with_other_lines(tmp_path: Path) -> None:
    path = write_records(tmp_path, {"seq": 1, "text": "Which boat?"}, {"seq": 2, "text": "The blue one.", "parent": 1})
    with Memory.open("b", store=tmp_path / "banks", embedder="hash") as bank:
        bank.observe("Said long before.")
        bank.observe_many(list(read(path))[:1])  # an interrupted import
        bank.observe("Said in between.")
        bank.observe_many(read(path))
        assert [(line.text, line.parent) for line in bank.lines()][1::2] == [
            ("Which boat?", None), ("The blue one.", 2),
        ]  # fmt: skip
