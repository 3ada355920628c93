from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadFile
from everthread.transfer import transcript
from everthread.transfer.files import KeyGenerator
from everthread.transfer.services.lines import Findings
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


def write_text(folder: Path, text: str, name: str = "diary.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def at(day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2024, 5, day, hour, minute, second, tzinfo=UTC)


def test_the_documented_sample_is_read(tmp_path: Path) -> None:
    lines = list(read(write_text(tmp_path, SAMPLE), assistant=("Ann",)))
    assert [(line.said_at, line.speaker, line.role) for line in lines] == [
        (at(6), "Ann", "assistant"),
        (at(6, second=1), "Bob Miller", "user"),
        (at(6, 18, 5), "Ann", "assistant"),
        (at(7, 9, 12), "Bob Miller", "user"),
        (at(9), "Ann", "assistant"),
    ]
    sessions = [line.session or "" for line in lines]
    assert sessions[0] == sessions[1] == sessions[2] == sessions[3] != sessions[4]
    assert all(session.startswith("diary-") for session in sessions)
    assert lines[1].text == "I did.\nAll of them, even the fern: see https://example.org/fern"


@pytest.mark.parametrize("person", ["You", "Me", "me", "User", "Human", "Prompt"])
def test_the_person_has_a_neutral_name_or_a_given_one(tmp_path: Path, person: str) -> None:
    path = write_text(tmp_path, f"{person}: I am allergic to nuts.\nAnn: I know.\n")
    findings = Findings()
    assert [line.speaker for line in read(path, findings=findings)] == ["user", "Ann"]
    assert findings.owners == {"user": 1}
    assert [line.speaker for line in read(path, me="Karl", findings=findings)] == ["Karl", "Ann"]
    assert [line.speaker for line in read(path, assistant=[person])] == [person, "Ann"]


def test_the_key_of_a_line_does_not_depend_on_the_name_that_the_person_gets(tmp_path: Path) -> None:
    path = write_text(tmp_path, "You: hi\n[2024-05-06 18:05] You: bye\n")
    keys = [line.key for line in read(path)]
    generator = KeyGenerator()  # as 0.1.0 made them
    first = generator.next_key(None, "You", "hi", timed=False)
    assert keys == [first, generator.next_key("2024-05-06T18:05:00", "You", "bye", timed=True)]
    assert [line.key for line in read(path, me="Karl")] == keys


def test_a_speaker_may_be_the_person(tmp_path: Path) -> None:
    path = write_text(tmp_path, SAMPLE)
    findings = Findings()
    assert {line.speaker for line in read(path, me="Ann", findings=findings)} == {"Ann", "Bob Miller"}
    assert findings.owners == {"Ann": 1}


def test_messages_before_the_first_date_are_undated(tmp_path: Path) -> None:
    lines = list(read(write_text(tmp_path, "Ann: Good morning.\n--- 2024-05-09 ---\nAnn: Good night.\n")))
    assert [(line.undated, line.said_at) for line in lines] == [(True, None), (False, at(9))]


def test_the_docstring_shows_what_is_tested() -> None:
    shown = [line.strip() for line in (transcript.__doc__ or "").splitlines()]
    assert all(line in shown for line in SAMPLE.splitlines()[:7])


@pytest.mark.parametrize(
    "text",
    ["https://example.org", "12:30 is fine", "12: the dozen", "the plan is this: go", "The plan is this: go",
     "One Two Three Four Five: no", "A" * 41 + ": too long", "[note: this]", ": nobody"],
)  # fmt: skip
def test_text_without_a_name_continues_the_message_before(tmp_path: Path, text: str) -> None:
    (line,) = read(write_text(tmp_path, f"Ann: hello\n{text}\n"))
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
    assert [line.speaker for line in read(write_text(tmp_path, f"{name}: hello"))] == [name]


def test_a_full_width_colon_needs_no_space(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "小明：你好"))
    assert (line.speaker, line.text) == ("小明", "你好")


def test_without_dates_lines_have_no_time(tmp_path: Path) -> None:
    assert [line.said_at for line in read(write_text(tmp_path, "Ann: a\nBob: b"))] == [None, None]


def test_the_time_zone_is_used(tmp_path: Path) -> None:
    east = timezone(timedelta(hours=8))
    (line,) = read(write_text(tmp_path, "[2024-05-01 10:22] Ann: hi"), tz=east)
    assert line.said_at == datetime(2024, 5, 1, 10, 22, tzinfo=east)


def test_a_clock_that_goes_back_by_more_than_half_a_day_has_passed_midnight(tmp_path: Path) -> None:
    text = "6 May 2024\n[23:58] Ann: a\n[00:01] Bob: b\nBob: c\n[09:00] Ann: d\n[08:59] Bob: e\n"
    assert [line.said_at for line in read(write_text(tmp_path, text))] == [
        at(6, 23, 58), at(7, 0, 1), at(7, 0, 1, 1), at(7, 9), at(7, 8, 59),
    ]  # fmt: skip
    after_header = "2024-05-06 23:50\n[00:05] Ann: a\n"
    assert [line.said_at for line in read(write_text(tmp_path, after_header))] == [at(7, 0, 5)]


def test_a_message_may_begin_on_the_line_after_its_name(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "Ann:\n\n  So it began.\n"))
    assert line.text == "So it began."


def test_repeated_words_are_two_lines_with_stable_keys(tmp_path: Path) -> None:
    path = write_text(tmp_path, "Ann: yes\nBob: yes\nAnn: yes\n")
    keys = [line.key for line in read(path)]
    assert len(set(keys)) == 3
    assert keys == [line.key for line in read(path)]
    longer = write_text(tmp_path, "Ann: yes\nBob: yes\nAnn: yes\nBob: well\n")
    assert [line.key for line in read(longer)][:3] == keys


def keys(folder: Path, text: str, name: str = "diary.txt", **more: Any) -> list[str | None]:
    return [line.key for line in read(write_text(folder, text, name), **more)]


def test_keys_do_not_depend_on_file_name_bot_or_time_zone(tmp_path: Path) -> None:
    again = keys(tmp_path, SAMPLE, "copy.txt", assistant=("Ann",), tz=timezone(timedelta(hours=8)))
    assert again == keys(tmp_path, SAMPLE)


def test_two_files_of_one_name_are_two_conversations(tmp_path: Path) -> None:
    one = list(read(write_text(tmp_path, "Ann: hi\nBob: yes\nAnn: good\n")))
    two = list(read(write_text(tmp_path, "Bob: hello\nBob: yes\nAnn: good\n")))
    assert not {line.key for line in one} & {line.key for line in two}
    assert {line.session for line in one}.isdisjoint({line.session for line in two})


def test_chats_without_times_share_keys_only_for_a_common_beginning(tmp_path: Path) -> None:
    one = keys(tmp_path, "Bot: How can I help?\nAnn: tea\nBot: Sure.\n")
    two = keys(tmp_path, "Bot: How can I help?\nAnn: coffee\nBot: Sure.\n")
    assert one[0] == two[0]
    assert not set(one[1:]) & set(two[1:])


def test_messages_with_times_are_recognised_wherever_the_file_begins(tmp_path: Path) -> None:
    day = "[2024-05-07 09:12] Ann: yes\n[2024-05-07 09:12] Ann: yes\n[2024-05-07 09:13] Bob: ok\n"
    later = keys(tmp_path, day + "[2024-05-08 10:00] Ann: more\n")
    assert len(set(later)) == 4
    assert keys(tmp_path, "[2024-05-01 08:00] Bob: before\n" + day)[1:] == later[:3]


def test_two_sessions_of_one_day_with_the_same_words_are_distinct(tmp_path: Path) -> None:
    assert len(set(keys(tmp_path, "2024-05-06\nAnn: hi\n2024-05-06\nAnn: hi\n"))) == 2


def test_a_file_name_may_have_the_greatest_length(tmp_path: Path) -> None:
    assert len(list(read(write_text(tmp_path, "Ann: hi", "n" * 250 + ".txt")))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[2023-13-45 10:00] Mia: hi",
        "[2024-06-31 10:00] Mia: hi",
        "[2024-05-01 25:99] Mia: hi",
        "[25:99] Mia: hi",
        "[31 June 2024] Mia: hi",
        "--- 2024-13-45 ---",
        "31 June 2024",
    ],
)
def test_an_almost_valid_time_is_rejected_with_a_remedy(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        BadFile,
        match=r"diary\.txt, line 3: '.*' begins with an invalid time; write it as 2024-05-31 or \[",
    ):
        list(read(write_text(tmp_path, f"2024-05-01\nAnn: hello\n{text}\nBob: a\n")))


@pytest.mark.parametrize(
    ("other", "day"),
    [
        ("25/06/2024", "2024-05-04"),
        ("06/25/2024", "2024-04-05"),
        ("--- Tuesday, 25-06-2024 ---", "2024-05-04"),
        ("[6/25/24 6:05 pm] Bob: yes", "2024-04-05"),
    ],
)
@pytest.mark.parametrize("stamp", ["04/05/2024 10:22", "04/05/24, 10:22:30"])
def test_another_date_of_the_file_shows_whether_the_day_or_the_month_comes_first(
    tmp_path: Path, stamp: str, other: str, day: str
) -> None:
    first, second = list(read(write_text(tmp_path, f"[{stamp}] Mia: hi\n{other}\nBob: a\n")))[:2]
    assert f"{first.said_at:%Y-%m-%d %H:%M}" == f"{day} 10:22"
    assert f"{second.said_at:%d %B}" == "25 June"


@pytest.mark.parametrize("quoted", ["05/25/24", "[05/25/2024 11:00] https://example.org/door"])
def test_a_date_in_a_message_changes_no_clear_date(tmp_path: Path, quoted: str) -> None:
    first, _ = read(write_text(tmp_path, f"06.05.2024\nAnn: I got it by\n{quoted}\nBob: ok\n"))
    assert (first.said_at, first.text) == (at(6), f"I got it by\n{quoted}")


@pytest.mark.parametrize("text", ["[05/06/2024 10:22] Mia: hi", "[05/06/24 10:22] Mia: hi", "05/06/2024\nMia: hi"])
def test_an_ambiguous_date_needs_its_order(tmp_path: Path, text: str) -> None:
    path = write_text(tmp_path, f"2024-05-01\nAnn: hello\n{text}\n")
    what = "line 3: '.*' begins with an ambiguous time, and no other, such as 25/06/2024, shows its order; "
    with pytest.raises(BadFile, match=what + "give the order of day, month and year with date_order=, or write it"):
        list(read(path))
    assert [f"{line.said_at:%d %B}" for line in read(path, date_order="dmy")] == ["01 May", "05 June"]
    assert [f"{line.said_at:%d %B}" for line in read(path, date_order="mdy")] == ["01 May", "06 May"]


def test_a_short_date_alone_is_part_of_a_message(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "[25/06/2024 10:22] Mia: The deadline is\n26/06/24\n"))
    assert line.text == "The deadline is\n26/06/24"


@pytest.mark.parametrize(
    "text",
    ["12:30", "1.2.34", "2024", "5/6", "It was 2023-13-45 or so.", "[see 3:16] John: read it", "[1] Mia: a note",
     "[2024-05-01 10:22:33] panic at line 7", "on 31 June 2024 we met", "- 10:15 tea", "192.168.2.2024"],
)  # fmt: skip
def test_text_about_times_continues_the_message_before(tmp_path: Path, text: str) -> None:
    (line,) = read(write_text(tmp_path, f"2024-05-01\nAnn: hello\n{text}\n"))
    assert line.text == f"hello\n{text}"


def test_brackets_without_a_time_belong_to_the_text(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "Ann: look\n[a photo] of the sea\n"))
    assert line.text == "look\n[a photo] of the sea"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hello there\n", "line 1: 'hello there' has no speaker; begin a message with 'Name: '"),
        ("[9999-12-31 23:59:59] Ann: hi\nBob: yo\n", "line 2: its time comes after the year 9999; correct the date"),
        ("[9999-12-31 23:59] Ann: hi\n[00:01] Bob: yo\n", "line 2: its time comes after the year 9999; correct the"),
        ("Ann: a\n2024-05-01\nno name\n", "line 3: 'no name' has no speaker"),
        ("Ann: a\nBob:\n\nAnn: b\n", "line 2: Bob says nothing"),
        ("[10:22] Ann: hi\n", r"line 1: the time '\[10:22\] Ann: hi' has no date"),
    ],
)
def test_each_invalid_transcript_is_rejected_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"diary\.txt, {complaint}"):
        list(read(write_text(tmp_path, text)))


def test_an_empty_transcript_has_no_lines(tmp_path: Path) -> None:
    assert list(read(write_text(tmp_path, "\n\n"))) == []


sentences = st.text("abc xyz.!?é你", min_size=1, max_size=40).filter(lambda s: s.strip() and not s.startswith("["))
turns = st.lists(st.tuples(st.sampled_from(["Ann", "Bob Miller", "小明"]), sentences), max_size=8)


@given(turns=turns)
def test_messages_are_read_in_order(turns: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_text(tmp_path_factory.mktemp("t"), "".join(f"{name}: {text}\n" for name, text in turns))
    assert [(line.speaker, line.text) for line in read(path)] == [(name, text.strip()) for name, text in turns]
