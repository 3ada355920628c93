from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadFile
from everthread.transfer import transcript
from everthread.transfer.transcript import read

SAMPLE = """Monday, 6 May 2024
Ann: Did you water the plants?
Bob Miller: I did.
All of them, even the fern: see https://example.org/fern
[18:05] Ann: Thank you!

[2024-05-07 09:12] Bob Miller: The fern has a new leaf.
--- 2024-05-09 ---
Ann: Two leaves now.
"""


def saved(folder: Path, text: str, name: str = "diary.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def at(day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2024, 5, day, hour, minute, second, tzinfo=UTC)


def test_the_documented_sample_is_read(tmp_path: Path) -> None:
    lines = list(read(saved(tmp_path, SAMPLE), assistant=("Ann",)))
    assert [(line.session, line.said_at, line.speaker, line.role) for line in lines] == [
        ("diary-1", at(6), "Ann", "assistant"),
        ("diary-1", at(6, second=1), "Bob Miller", "user"),
        ("diary-1", at(6, 18, 5), "Ann", "assistant"),
        ("diary-1", at(7, 9, 12), "Bob Miller", "user"),
        ("diary-2", at(9), "Ann", "assistant"),
    ]
    assert lines[1].text == "I did.\nAll of them, even the fern: see https://example.org/fern"


def test_the_docstring_shows_what_is_tested() -> None:
    shown = [line.strip() for line in (transcript.__doc__ or "").splitlines()]
    assert all(line in shown for line in SAMPLE.splitlines()[:7])


@pytest.mark.parametrize(
    "text",
    ["https://example.org", "12:30 is fine", "12: the dozen", "the plan is this: go", "The plan is this: go",
     "One Two Three Four Five: no", "A" * 41 + ": too long", "[note: this]", ": nobody"],
)  # fmt: skip
def test_what_is_no_name_goes_on_with_the_message_before(tmp_path: Path, text: str) -> None:
    (line,) = read(saved(tmp_path, f"Ann: hello\n{text}\n"))
    assert line.text == f"hello\n{text}"


@pytest.mark.parametrize(
    "name",
    [
        "Ann",
        "ann",
        "user",
        "Bob Miller",
        "Ludwig van Beethoven",
        "Dr. O'Neil-Smith",
        "Émile",
        "小明",
        "Ann (mobile)",
        "R2",
    ],
)
def test_names_may_have_spaces_and_any_script(tmp_path: Path, name: str) -> None:
    assert [line.speaker for line in read(saved(tmp_path, f"{name}: hello"))] == [name]


def test_a_full_width_colon_needs_no_space(tmp_path: Path) -> None:
    (line,) = read(saved(tmp_path, "小明：你好"))
    assert (line.speaker, line.text) == ("小明", "你好")


def test_given_speakers_are_the_only_names(tmp_path: Path) -> None:
    (line,) = read(saved(tmp_path, "Ann: hello\nNote: this is hers, too"), speakers=("Ann",))
    assert line.text == "hello\nNote: this is hers, too"


def test_without_dates_lines_have_no_time(tmp_path: Path) -> None:
    assert [line.said_at for line in read(saved(tmp_path, "Ann: a\nBob: b"))] == [None, None]


def test_a_zone_may_be_given(tmp_path: Path) -> None:
    east = timezone(timedelta(hours=8))
    (line,) = read(saved(tmp_path, "[2024-05-01 10:22] Ann: hi"), tz=east)
    assert line.said_at == datetime(2024, 5, 1, 10, 22, tzinfo=east)


def test_an_empty_first_line_is_filled_by_what_follows(tmp_path: Path) -> None:
    (line,) = read(saved(tmp_path, "Ann:\n\n  So it began.\n"))
    assert line.text == "So it began."


def test_the_same_words_twice_are_two_lines_with_two_keys_each_time(tmp_path: Path) -> None:
    path = saved(tmp_path, "Ann: yes\nBob: yes\nAnn: yes\n")
    keys = [line.key for line in read(path)]
    assert len(set(keys)) == 3
    assert keys == [line.key for line in read(path)]
    longer = saved(tmp_path, "Ann: yes\nBob: yes\nAnn: yes\nBob: well\n")
    assert [line.key for line in read(longer)][:3] == keys


def test_brackets_that_hold_no_time_belong_to_the_text(tmp_path: Path) -> None:
    (line,) = read(saved(tmp_path, "Ann: look\n[a photo] of the sea\n"))
    assert line.text == "look\n[a photo] of the sea"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hello there\n", "line 1: nobody says 'hello there'; begin a message with 'Name: '"),
        ("Ann: a\n2024-05-01\nno name\n", "line 3: nobody says 'no name'"),
        ("Ann: a\nBob:\n\nAnn: b\n", "line 2: Bob says nothing"),
        ("[10:22] Ann: hi\n", r"line 1: the time '\[10:22\] Ann: hi' is on an unknown day"),
    ],
)
def test_each_bad_transcript_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"diary\.txt, {complaint}"):
        list(read(saved(tmp_path, text)))


def test_an_empty_transcript_has_no_lines(tmp_path: Path) -> None:
    assert list(read(saved(tmp_path, "\n\n"))) == []


sentences = st.text("abc xyz.!?é你", min_size=1, max_size=40).filter(lambda s: s.strip() and not s.startswith("["))
turns = st.lists(st.tuples(st.sampled_from(["Ann", "Bob Miller", "小明"]), sentences), max_size=8)


@given(turns=turns)
def test_what_was_said_comes_back_in_order(
    turns: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = saved(tmp_path_factory.mktemp("t"), "".join(f"{name}: {text}\n" for name, text in turns))
    assert [(line.speaker, line.text) for line in read(path)] == [(name, text.strip()) for name, text in turns]
