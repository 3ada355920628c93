from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.dates import parse_zone
from everthread.transfer.importing import check_file
from transfer.services.companion_examples import TABLE


def read_table(folder: Path, text: str, name: str = "talk.csv") -> list[tuple[str, str, str, str | None]]:
    """Return the roles, speakers, texts and times of the messages in a table."""
    (folder / name).write_text(text, encoding="utf-8")
    source = check_file(folder / name)
    assert source.contents.services == ("tables in CSV",)
    return [
        (line.role, line.speaker, line.text, line.said_at.isoformat() if line.said_at else None)
        for line in source.read()
    ]


def test_the_history_of_copilot_is_read_from_the_first_message_on(tmp_path: Path) -> None:
    (tmp_path / "copilot-activity-history.csv").write_bytes(TABLE)
    source = check_file(tmp_path, me="Nora", assistant=["Copilot"], tz=parse_zone("Europe/Berlin"))
    assert [(line.role, line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("user", "Nora", "Which door is red?", "2025-05-01 10:00:00+02:00"),
        ("assistant", "Copilot", 'The right one, "Nora".', "2025-05-01 10:01:00+02:00"),
    ]
    assert [each.title for each in source.contents.conversations] == ["Doors"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Date;From;Text\n2024-05-06 18:05;Ann;hi\n1715018760;Bob;yes; no\n;Ann;\n", "talk.csv"),
        ("时间,发送者,内容\n2024-05-06 18:05,Ann,hi\n2024-05-06 18:06,Bob,yes\n", "talk.csv"),
        ("Datum;Absender;Nachricht\n06.05.2024 18:05;Ann;hi\n06.05.2024 18:06;Bob;yes\n", "talk.csv"),
        ("sender\tmessage\ttimestamp\nAnn\thi\t2024-05-06T18:05:00Z\nBob\tyes\t6 May 2024 18:06\n", "talk.tsv"),
    ],
)
def test_columns_are_found_by_their_names(tmp_path: Path, text: str, name: str) -> None:
    assert read_table(tmp_path, text, name) == [
        ("user", "Ann", "hi", "2024-05-06T18:05:00+00:00"),
        ("user", "Bob", "yes", "2024-05-06T18:06:00+00:00"),
    ]


def test_conversations_may_be_mixed_and_words_may_be_long(tmp_path: Path) -> None:
    words = "door " * 40_000
    text = f"chat,name,time,text\na,Ann,2024-05-06,hi\nb,Bob,2024-05-07,{words}\na,Ann,2024-05-08,bye\n"
    assert [row[2] for row in read_table(tmp_path, text)] == ["hi", "bye", words.strip()]


def test_messages_without_a_sender_are_those_of_the_person(tmp_path: Path) -> None:
    rows = "Bob,2024-05-06 18:05:00,Incoming,Bob,hi\nBob,2024-05-06 18:06:00,Outgoing,,yes\n"
    assert read_table(tmp_path, f"Chat Session,Message Date,Type,Sender Name,Text\n{rows}") == [
        ("user", "Bob", "hi", "2024-05-06T18:05:00+00:00"),
        ("user", "user", "yes", "2024-05-06T18:06:00+00:00"),
    ]


def test_who_is_called_me_gets_the_name_of_the_person(tmp_path: Path) -> None:
    (tmp_path / "talk.csv").write_text(
        "Timestamp,From,Text\n2024-05-06,Me,hi\n2024-05-06,Rep,hello\n", encoding="utf-8"
    )
    source = check_file(tmp_path / "talk.csv", me="Nora", assistant=["Rep"])
    assert [(line.speaker, line.role) for line in source.read()] == [("Nora", "user"), ("Rep", "assistant")]


@pytest.mark.parametrize("rows", [(1, 2, 3), (3, 2, 1)])
def test_a_row_without_a_readable_time_follows_the_row_before_it(tmp_path: Path, rows: Sequence[int]) -> None:
    table = {1: "2024-05-06 18:05,Ann,one", 2: "some day,Bob,two", 3: "2024-05-06 18:07,Ann,three"}
    text = "\n".join(["time,name,text", *(table[row] for row in rows)])
    assert [row[2] for row in read_table(tmp_path, text)] == ["one", "two", "three"]
    text = "\n".join(["time,name,text", table[1], table[3], table[2]])
    assert [row[2:] for row in read_table(tmp_path, text)][-1] == ("two", "2024-05-06T18:07:00.000001+00:00")


def test_a_grown_table_adds_its_new_rows(tmp_path: Path) -> None:
    rows = ["time,name,text", "2024-05-06 18:05,Ann,hi", "2024-05-06 18:06,Bob,hi", "2024-05-06 18:06,Bob,hi"]
    keys = []
    for count in (3, 4):
        read_table(tmp_path, "\n".join(rows[:count]))
        keys.append([line.key for line in check_file(tmp_path / "talk.csv").read()])
    assert keys[1][:2] == keys[0]
    assert len(set(keys[1])) == 3


AMBIGUOUS = "time,name,text\n05/06/2024 18:05,Ann,hi\n"


def read_days(folder: Path, dates: Sequence[str], date_order: str | None = None) -> list[str]:
    """Return the days of messages with these dates."""
    rows = "".join(f'"{date}",Ann,hi {number}\n' for number, date in enumerate(dates))
    (folder / "days.csv").write_text(f"time,name,text\n{rows}", encoding="utf-8")
    lines = check_file(folder / "days.csv", date_order=date_order).read()
    return [f"{line.said_at:%Y-%m-%d}" for line in sorted(lines, key=lambda line: line.text) if line.said_at]


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["05/06/2024", "25/06/2024 18:05"], ["2024-06-05", "2024-06-25"]),
        (["25/06/2024", "05/06/2024", "04/05/2024"], ["2024-06-25", "2024-06-05", "2024-05-04"]),
        (["6/5/2024, 6:05 PM", "6/25/2024, 6:05 PM"], ["2024-06-05", "2024-06-25"]),
        (["05-06-24 18:05", "31-05-24 18:05"], ["2024-06-05", "2024-05-31"]),
        (["24/05/06", "24/12/31"], ["2024-05-06", "2024-12-31"]),
        (
            ["05/06/2024", "25/06/2024", "2024-07-01T10:00:00Z", "", "soon"],
            ["2024-06-05", "2024-06-25", *["2024-07-01"] * 3],
        ),
        (["05.06.2024", "04.05.2024"], ["2024-06-05", "2024-05-04"]),
    ],
)
def test_the_order_of_dates_is_inferred_from_all_rows(tmp_path: Path, dates: list[str], days: list[str]) -> None:
    assert read_days(tmp_path, dates) == days


@pytest.mark.parametrize(("order", "day"), [("dmy", "2024-06-05"), ("mdy", "2024-05-06")])
@pytest.mark.parametrize("date", ["05/06/2024 18:05", "05-06-24", "05.06.2024"])
def test_the_order_of_dates_can_be_given(tmp_path: Path, date: str, order: str, day: str) -> None:
    assert read_days(tmp_path, [date], date_order=order) == [day]


@pytest.mark.parametrize("dates", [["05/06/2024 18:05"], ["05/06/2024 18:05", "25/06/2024", "06/25/2024"]])
def test_without_an_order_an_ambiguous_date_is_refused(tmp_path: Path, dates: list[str]) -> None:
    what = r"days\.csv, row 2: the date '05/06/2024 18:05' is ambiguous or impossible"
    with pytest.raises(BadFile, match=f"{what}; give the order of day, month and year with date_order="):
        read_days(tmp_path, dates)


def test_a_date_that_the_given_order_excludes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="row 3: the date '25/06/2024' is impossible with the month first; give"):
        read_days(tmp_path, ["05/06/2024", "25/06/2024"], date_order="mdy")


def test_a_table_with_ambiguous_dates_is_left_out_of_several(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AMBIGUOUS, encoding="utf-8")
    (tmp_path / "b.csv").write_text("time,name,text\n2024-05-06,Ann,hi\n", encoding="utf-8")
    contents = check_file(tmp_path).contents
    assert contents.broken == {"a.csv": "row 2; the date '05/06/2024 18:05' is ambiguous or impossible"}
    assert check_file(tmp_path, date_order="dmy").contents.messages == 2


@pytest.mark.parametrize("text", ["name,phone\nAnn,1\n", "name,text\nAnn,hi\n", "\n"])
def test_another_table_is_no_chat(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadFile, match="this is a table, not a chat"):
        read_table(tmp_path, text)
