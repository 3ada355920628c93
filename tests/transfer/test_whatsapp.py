from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from time import perf_counter

import pytest

from everthread.errors import BadFile, ConfigError
from everthread.memory import Memory
from everthread.transfer import whatsapp
from everthread.transfer.files import KeyGenerator
from everthread.transfer.formats import open_reader
from everthread.transfer.importing import check_compatible, check_file, import_lines
from everthread.transfer.types import AmbiguousDate
from everthread.transfer.whatsapp import is_whatsapp_export, read
from transfer.services.messenger_exports import discord_export, discord_message, to_json

IPHONE = """\
[05/06/24, 18:05:22] Flat 4: \u200eMessages and calls are end-to-end encrypted.
[05/06/24, 18:05:22] Ann: Did you water the plants?
\u200e[05/06/24, 18:06:01] Bob Miller: \u200eimage omitted
[05/06/24, 18:06:30] Bob Miller: I did.

All of them, even: the fern. \u200e<This message was edited>
[13/06/24, 09:00:00] Ann: Thank you!
"""
ANDROID = """\
05/06/2024, 6:05\u202fpm - Messages and calls are end-to-end encrypted. Tap to learn more.
05/06/2024, 6:05\u202fpm - Ann: Did you water the plants?
05/06/2024, 6:06\u202fpm - Bob Miller: <Media omitted>
05/06/2024, 6:06\u202fpm - Bob Miller: This message was deleted
05/06/2024, 6:06\u202fpm - Bob Miller: I did.

All of them, even: the fern. <This message was edited>
06/06/2024, 12:10\u202fam - Ann: Thank you!
"""


def write_text(folder: Path, text: str, name: str = "_chat.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def days(folder: Path, *dates: str) -> list[str]:
    """Return these dates as they are read, in ISO format."""
    path = write_text(folder, "".join(f"{date}, 10:00 - Ann: {number}\n" for number, date in enumerate(dates)))
    return [f"{line.said_at:%Y-%m-%d}" for line in read(path)]


@pytest.mark.parametrize(
    ("text", "times", "counts"),
    [
        (IPHONE, ["2024-06-05 18:05:22", "2024-06-05 18:06:30", "2024-06-13 09:00:00"], {"without words": 2}),
        (
            ANDROID,
            ["2024-06-05 18:05:00", "2024-06-05 18:06:00", "2024-06-06 00:10:00"],
            {"notices": 1, "without words": 2},
        ),
    ],
    ids=["iphone", "android"],
)
def test_an_export_is_read_and_entries_without_words_are_counted(
    tmp_path: Path, text: str, times: list[str], counts: dict[str, int]
) -> None:
    skipped: Counter[str] = Counter()
    path = write_text(tmp_path, text)
    assert is_whatsapp_export(path)
    lines = list(read(path, assistant=("Ann",), skipped=skipped))
    assert [(line.speaker, line.role, line.text) for line in lines] == [
        ("Ann", "assistant", "Did you water the plants?"),
        ("Bob Miller", "user", "I did.\n\nAll of them, even: the fern."),
        ("Ann", "assistant", "Thank you!"),
    ]
    assert [f"{line.said_at:%Y-%m-%d %H:%M:%S}" for line in lines] == times
    assert skipped == counts
    assert {line.session for line in lines} == {None}


def test_the_docstring_shows_what_is_read(tmp_path: Path) -> None:
    shown = [line.strip() for line in (whatsapp.__doc__ or "").splitlines() if line.startswith("    ")]
    first, second, third = shown
    assert [line.text for line in read(write_text(tmp_path, first))] == ["Did you water the plants?"]
    assert [line.text for line in read(write_text(tmp_path, f"{second}\n{third}"))] == [
        "I did.\nAll of them, even the fern."
    ]


@pytest.mark.parametrize(
    ("dates", "read_as"),
    [
        (["05/06/2024", "13/06/2024"], ["2024-06-05", "2024-06-13"]),
        (["5/6/24", "5/13/24"], ["2024-05-06", "2024-05-13"]),
        (["5/6/24", "5/9/24", "6/1/24"], ["2024-05-06", "2024-05-09", "2024-06-01"]),
        (["5/6/24", "5/9/24"], ["2024-05-06", "2024-05-09"]),
        (["05/06/2024", "09/06/2024"], ["2024-06-05", "2024-06-09"]),
        (["05/06/2024"], ["2024-06-05"]),
        (["05.06.24", "13.06.24"], ["2024-06-05", "2024-06-13"]),
        (["2024-05-06", "2024-05-13"], ["2024-05-06", "2024-05-13"]),
        (["13/06/2024", "12/06/2024"], ["2024-06-13", "2024-06-12"]),
        (["29/2/2567", "2567/3/1"], ["2024-02-29", "2024-03-01"]),
        (["29/2/67", "1/3/67"], ["2024-02-29", "2024-03-01"]),
        (
            ["1402/12/29", "1403/1/1", "1403/12/30", "1404/1/1"],
            ["2024-03-19", "2024-03-20", "2025-03-20", "2025-03-21"],
        ),
        (["98/12/29", "99/1/1"], ["2020-03-19", "2020-03-20"]),
        (["24-06-05", "24-06-13"], ["2024-06-05", "2024-06-13"]),
        (["24-06-10", "24-06-13"], ["2024-06-10", "2024-06-13"]),
        (["24-06-10"], ["2024-06-10"]),
        (["25/11/24"], ["2024-11-25"]),
        (["13.05.14", "13.05.15"], ["2014-05-13", "2015-05-13"]),
        (["04.05.24", "05.05.24", "04.06.24"], ["2024-05-04", "2024-05-05", "2024-06-04"]),
        (["24.05.13", "24.05.31"], ["2024-05-13", "2024-05-31"]),
        (["05-06-24", "13-06-24"], ["2024-06-05", "2024-06-13"]),
    ],
)
def test_the_order_of_day_and_month_is_inferred_from_the_whole_file(
    tmp_path: Path, dates: list[str], read_as: list[str]
) -> None:
    assert days(tmp_path, *dates) == read_as


@pytest.mark.parametrize(
    ("dates", "noted"),
    [
        (["04/05/24"], AmbiguousDate("04/05/24", "dmy", date(2024, 5, 4), "mdy", date(2024, 4, 5))),
        (["5/6/24", "5/9/24"], AmbiguousDate("5/6/24", "mdy", date(2024, 5, 6), "dmy", date(2024, 6, 5))),
        (["24-06-10"], AmbiguousDate("24-06-10", "ymd", date(2024, 6, 10), "dmy", date(2010, 6, 24))),
        (["24. 6. 10."], AmbiguousDate("24. 6. 10.", "ymd", date(2024, 6, 10), "dmy", date(2010, 6, 24))),
    ],
)
def test_dates_that_fit_two_orders_are_noted_and_an_order_can_be_given(
    tmp_path: Path, dates: list[str], noted: AmbiguousDate
) -> None:
    path = write_text(tmp_path, "".join(f"{each}, 10:00 - Ann: hi\n" for each in dates), "WhatsApp Chat with Ann.txt")
    assert check_file(path).contents.ambiguous_dates == {"Ann": noted}
    other = check_file(path, date_order=noted.other_order).contents
    assert other.ambiguous_dates == {}
    assert other.first_at is not None
    assert other.first_at.date() == noted.other_day


def test_an_order_that_the_dates_of_a_chat_exclude_is_not_used(tmp_path: Path) -> None:
    path = write_text(tmp_path, "04/05/24, 10:00 - Ann: hi\n13/05/24, 10:00 - Ann: hi\n")
    assert [f"{line.said_at:%d %B}" for line in open_reader(path, date_order="mdy")()] == ["04 May", "13 May"]


def test_an_unknown_order_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="unknown order of dates 'ydm'; expected one of dmy, mdy, ymd; correct date_o"
    ):
        open_reader(write_text(tmp_path, ANDROID), date_order="ydm")


@pytest.mark.parametrize(
    "dates",
    [
        ["04/05/24", "13/05/24"],
        ["05/05/24"],
        ["2024-05-04"],
        ["04/05/24", "05/04/24"],
        ["13.05.24"],
        ["04.05.2024"],
        ["24.6.10"],
    ],
)
def test_dates_that_fit_one_order_are_not_noted(tmp_path: Path, dates: list[str]) -> None:
    path = write_text(tmp_path, "".join(f"{each}, 10:00 - Ann: hi\n" for each in dates))
    assert check_file(path).contents.ambiguous_dates == {}


@pytest.mark.parametrize(
    "pasted",
    [
        "[06/13/24, 18:05:22] Bob: see you",
        "31/06/24, 18:05 - Bob: see you",
        "13/06/24, 25:05 - Bob: see you",
        "[18:05, 13/06/2024] Bob: see you",
        "1/1/1970, 00:00 - Bob: see you",
    ],
)
def test_a_pasted_line_with_an_impossible_date_belongs_to_the_message_before_it(tmp_path: Path, pasted: str) -> None:
    chat = "".join(f"{day}/06/24, 10:00 - Ann: {day}\n" for day in range(12, 16))
    lines = list(read(write_text(tmp_path, f"{chat}{pasted}\n16/06/24, 10:00 - Ann: 16\n")))
    assert [line.text for line in lines] == ["12", "13", "14", f"15\n{pasted}", "16"]


@pytest.mark.parametrize("order", [None, "mdy"])
def test_a_pasted_stamp_of_another_region_does_not_change_the_order_of_a_chat(
    tmp_path: Path, order: str | None
) -> None:
    pasted = "31/12/23, 10:00 - Bob: pasted"
    chat = "".join(f"{number}/{number + 1}/24, 10:00 - Ann: hi\n" for number in range(1, 7))
    path = write_text(tmp_path, f"{chat}{pasted}\n", "WhatsApp Chat with Ann.txt")
    lines = list(open_reader(path, date_order=order)())
    assert [f"{line.said_at:%m-%d}" for line in lines] == ["01-02", "02-03", "03-04", "04-05", "05-06", "06-07"]
    assert lines[-1].text == f"hi\n{pasted}"
    noted = AmbiguousDate("1/2/24", "mdy", date(2024, 1, 2), "dmy", date(2024, 2, 1))
    assert check_file(path, date_order=order).contents.ambiguous_dates == ({} if order else {"Ann": noted})


@pytest.mark.parametrize(
    ("time", "hour"),
    [
        *(("18:05", 18), ("18.05", 18), ("6:05 PM", 18), ("6:05\u202fPM", 18), ("6:05\xa0p.\xa0m.", 18)),
        *(("12:05 a.m.", 0), ("PM 6:05", 18), ("ÖS 6:05", 18), ("ÖÖ 6:05", 6), ("6:05 ös", 18), ("下午6:05", 18)),
        *(("上午6:05", 6), ("凌晨12:05", 0), ("中午12:05", 12), ("晚上 8:05", 20), ("午後6:05", 18), ("午後0:05", 12)),
        *(("午前0:05", 0), ("오후 6:05", 18), ("오전 12:05", 0)),
        *(("6:05 م", 18), ("12:05 ص", 0), ("6:05 אחה״צ", 18), ("6:05 μ.μ.", 18), ("12:05 π.μ.", 0), ("6:05 PTG", 18)),
    ],
)
def test_clocks_of_twelve_and_of_twenty_four_hours_are_read(tmp_path: Path, time: str, hour: int) -> None:
    (line,) = read(write_text(tmp_path, f"05/06/2024, {time} - Ann: hi"), tz=timezone(timedelta(hours=2)))
    assert line.said_at == datetime(2024, 6, 5, hour, 5, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize("stamp", ["5.06.2024 18:05:22", "2024. 6. 5. 오후 6:05:22", "2024/6/5 下午6:05:22"])
def test_stamps_without_a_comma_are_read_also_after_a_mark(tmp_path: Path, stamp: str) -> None:
    path = write_text(tmp_path, f"[{stamp}] Ann: hi\n\u200e[{stamp}] Bob: \u200eimage omitted\n[{stamp}] Bob: ok\n")
    skipped: Counter[str] = Counter()
    lines = list(open_reader(path, skipped=skipped)())
    assert [(line.speaker, line.text) for line in lines] == [("Ann", "hi"), ("Bob", "ok")]
    assert {line.said_at for line in lines} == {datetime(2024, 6, 5, 18, 5, 22, tzinfo=UTC)}
    assert skipped == {"without words": 1}


@pytest.mark.parametrize(
    "stamp",
    [
        "١٤\u200f/١١\u200f/٢٠٢٢, ٩:٤٣ م -",
        "[١٤\u200f/١١\u200f/٢٠٢٢، ٩:٤٣:٠٠ م]",
        "\u200f[14.11.2022, 21:43:00]",
        "[14\u200f/11\u200f/2022, 9:43:00\u202fم]",
        "14.11.2022 klo 21.43 -",
        "14/11/2022 à 21:43 -",
        "2022-11-14 21 h 43 -",
        "[2022-11-14 21\u202fh\u202f43 min 00 s]",
        "14.11.22 um 21:43 -",
        "14.11.22 г., 21:43 -",
        "[14.11.2022 г., 21:43:00 ч.]",
        "2022년 11월 14일 오후 9:43 -",
        "2022. 11. 14. 오후 9:43 -",
        "2022年11月14日 21:43 -",
        "22-11-14 21:43 -",
        "21:43, 14/11/2022 -",
        "[21:43, 14/11/2022]",
        "9:43 CH, 14/11/22 -",
        "14/11/65 21:43 -",
        "۱۴۰۱/۸/۲۳، ۲۱:۴۳ -",
    ],
)
def test_stamps_of_other_scripts_and_languages_are_read(tmp_path: Path, stamp: str) -> None:
    path = write_text(
        tmp_path, f"{stamp} أحمد: مرحبا\n{stamp} \u200fדני: כן\n{stamp} \u2068Ann\u2069: \u200f<המדיה לא נכללה>\n"
    )
    skipped: Counter[str] = Counter()
    lines = list(open_reader(path, skipped=skipped)())
    assert [(line.speaker, line.text) for line in lines] == [("أحمد", "مرحبا"), ("דני", "כן")]
    assert {line.said_at for line in lines} == {datetime(2022, 11, 14, 21, 43, tzinfo=UTC)}
    assert skipped == {"without words": 1}


def test_a_phone_number_is_a_name(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "[05/06/24, 18:05:22] ~\u202f+49 170 1234567: hi: you"))
    assert (line.speaker, line.text) == ("+49 170 1234567", "hi: you")


def test_a_later_export_has_the_same_keys_for_common_messages(tmp_path: Path) -> None:
    day = "13/06/2024, 10:00 - Ann: yes\n"
    first = [line.key for line in read(write_text(tmp_path, day + day))]
    assert len(set(first)) == 2
    later = [
        line.key for line in read(write_text(tmp_path, "12/06/2024, 09:00 - Bob: before\n" + day + day, "later.txt"))
    ]
    assert later[2:] == first[1:]
    exact = "[13/06/24, 10:00:01] Ann: yes\n"
    first = [line.key for line in read(write_text(tmp_path, exact))]
    later = [line.key for line in read(write_text(tmp_path, "[12/06/24, 09:00:00] Bob: before\n" + exact))]
    assert later[1:] == first


def test_a_longer_export_has_the_same_keys_at_its_beginning(tmp_path: Path) -> None:
    chat = "13/06/2024, 10:00 - Ann: yes\n13/06/2024, 10:00 - Ann: yes\n13/06/2024, 10:00 - Bob: ok\n"
    keys = [line.key for line in read(write_text(tmp_path, chat))]
    longer = [line.key for line in read(write_text(tmp_path, chat + "13/06/2024, 10:00 - Cem: yes\n"))]
    assert (longer[:3], len(set(longer))) == (keys, 4)


def test_equal_answers_in_one_minute_of_two_chats_are_distinct(tmp_path: Path) -> None:
    def answer(question: str) -> str | None:
        chat = f"05/06/24, 18:05 - Bob: {question}\n05/06/24, 18:06 - Ann: Yes\n"
        return [line.key for line in read(write_text(tmp_path, chat))][1]

    assert answer("Dinner at eight?") != answer("Will you marry me?")


def read_chat(folder: Path, *messages: str) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return speakers and texts of a chat of these messages, and the counts of skipped entries."""
    skipped: Counter[str] = Counter()
    path = write_text(folder, "".join(f"05/06/24, 18:05 - {message}\n" for message in messages))
    return [(line.speaker, line.text) for line in read(path, skipped=skipped)], skipped


@pytest.mark.parametrize(
    "notice",
    [
        'Ann changed the group name from "Trip: Rome" to "Trip: Oslo"',
        "You changed the group name from “Trip” to “Trip: Oslo”",
        "Ann hat den Gruppennamen zu „Reise: Rom“ geändert",
        'Ann changed the group name to "' + "x" * 190 + ': y"',
        "x" * 201 + ": y",
        "Ann changed the group name to Trip: Oslo",
        "https://example.org was pinned",
        "Ann added Bob at 10:30",
    ],
)
def test_a_notice_with_a_colon_is_a_notice(tmp_path: Path, notice: str) -> None:
    lines, skipped = read_chat(tmp_path, "Ann: hello", notice, "Bob: ok")
    assert lines == [("Ann", "hello"), ("Bob", "ok")]
    assert skipped == {"notices": 1}


@pytest.mark.parametrize("name", ["Ann Miller", "Ann from work", 'Bob "Bobby" Stone', "Dr. Who"])
def test_a_longer_name_is_a_name(tmp_path: Path, name: str) -> None:
    assert read_chat(tmp_path, "Ann: hello", f"{name}: hi")[0] == [("Ann", "hello"), (name, "hi")]


def test_a_frequent_speaker_may_have_a_long_name(tmp_path: Path) -> None:
    lines, _ = read_chat(tmp_path, "Ann: hello", *["Ann of the green house: hi"] * 3)
    assert len(lines) == 4


def test_words_in_angle_brackets_or_after_a_mark_are_words(tmp_path: Path) -> None:
    texts = ["<https://example.org/recipe>", "<sigh>", "\u200e+49 170 1234567 is my new number"]
    lines, skipped = read_chat(tmp_path, *(f"Ann: {text}" for text in ["Hello", *texts]))
    assert [text for _, text in lines] == ["Hello", *texts]
    assert skipped == {}


def test_messages_of_the_group_itself_are_skipped(tmp_path: Path) -> None:
    group = ("Flat 4: \u200eMessages and calls are end-to-end encrypted.", "Flat 4: \u200eAnn added Bob")
    lines, skipped = read_chat(tmp_path, *group, "Ann: hi")
    assert (lines, skipped) == ([("Ann", "hi")], {"without words": 2})
    lines, _ = read_chat(tmp_path, group[0], "Flat 4: hello", "Flat 4: \u200e170 is my number")
    assert len(lines) == 2


def test_marked_messages_that_begin_with_the_name_of_their_speaker_are_notices(tmp_path: Path) -> None:
    notices = (
        "Ann: \u200eAnn hat diese Gruppe erstellt",
        "~\u202fBob: \u200e~\u202fBob left",
        "Bob: \u200eBob wurde entfernt",
    )
    said = ("Ann: Ann said no", "Ann: \u200eAnna is coming", "~\u202fBob: hi")
    lines, skipped = read_chat(tmp_path, *notices, *said)
    assert [text for _, text in lines] == ["Ann said no", "\u200eAnna is coming", "hi"]
    assert skipped == {"without words": 3}


def test_the_first_message_of_an_iphone_is_the_notice_of_encryption_in_any_language(tmp_path: Path) -> None:
    notice = "\u200eXabarlar va qo‘ng‘iroqlar boshidan oxirigacha shifrlangan."
    messages, skipped = read_chat(tmp_path, f"Ann: {notice}", "Ann: Hi", "Bob: Hello")
    assert (messages, skipped) == ([("Ann", "Hi"), ("Bob", "Hello")], {"without words": 1})
    for first in ("\u200ePOLL:\nWhich day shall we leave for Rome?", "\u200e+49 170 1234567"):
        assert read_chat(tmp_path, f"Ann: {first}", "Ann: Hi")[0] == [("Ann", first), ("Ann", "Hi")]


@pytest.mark.parametrize("space", ["\t", "\n"])
def test_long_white_space_is_read_quickly(tmp_path: Path, space: str) -> None:
    began = perf_counter()
    (line,) = read_chat(tmp_path, f"Ann: a{space * 100_000}b")[0]
    assert len(line[1]) == 100_002
    assert perf_counter() - began < 60  # seconds; quadratic backtracking would take minutes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[31/06/24, 18:05:22] Ann: hi", r"line 1: invalid time: '31/06/24', '18:05:22', read with the day"),
        ("[13/06/24, 18:05:22] Ann: hi\n[06/13/24, 18:05:22] Ann: hi", "line 2: invalid time: '06/13/24'"),
        ("[13/06/24, 25:05:22] Ann: hi", "line 1: invalid time"),
        ("13/06/24 ÖS 18:05 - Ann: hi", "line 1: invalid time: '13/06/24', 'ÖS 18:05'"),
        (
            "12/3/1445, 14:05 - Ann: hi",
            "line 1: '12/3/1445' would be a day of 1445, so it is of another calendar; choose",
        ),
        ("12/3/40, 14:05 - Ann: hi", "line 1: '12/3/40' would be a day of 2040, so it is of another calendar; choose"),
        ("\nhello\n", "line 2: 'hello' is not the beginning of a message; give the file as exported"),
    ],
)
def test_each_invalid_export_is_rejected_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadFile, match=rf"_chat\.txt, {complaint}"):
        list(read(write_text(tmp_path, text)))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("[2024-05-07 09:12] Ann: hi", False),
        ("Ann: hi", False),
        ("", False),
        ("\n\u200e[07.05.24, 09:12:00] Ann: hi", True),
        ("07-05-2024 09:12 - Ann: hi", True),
        ("5.06.2024 ÖS 6:05 - Ann: hi", True),
        ("[5.06.2024 18:05:22] Ann: hi", True),
        ("[5.06.2024 ÖS 6:05:22] Ann: hi", True),
        ("[2024/06/05 18:05:22] Ann: \u200eMessages and calls are end-to-end encrypted.", True),
        ("[5.06.2024 18:05] Ann: hi", False),
        ("[2024-06-05 18:05:22] Ann: hi", False),
    ],
)
def test_an_export_is_recognised_by_its_first_line(tmp_path: Path, text: str, is_one: bool) -> None:
    assert is_whatsapp_export(write_text(tmp_path, text)) is is_one


def test_an_empty_export_has_no_lines(tmp_path: Path) -> None:
    assert list(read(write_text(tmp_path, "\n"))) == []


def zip_chats(folder: Path, chats: Mapping[str, str | bytes]) -> Path:
    path = folder / "WhatsApp Chat.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in chats.items():
            archive.writestr(name, content)
    return path


def test_an_archive_of_a_phone_is_read_like_the_text_in_it(tmp_path: Path) -> None:
    noise: dict[str, str | bytes] = {
        "__MACOSX/._chat.txt": b"\0",
        "00000012-PHOTO.jpg": b"\xff\xd8",
        "notes.txt": "Buy a fern.",
    }
    archive = zip_chats(tmp_path, {"_chat.txt": "\ufeff" + IPHONE, **noise})
    skipped: Counter[str] = Counter()
    text = list(open_reader(write_text(tmp_path, IPHONE))())
    assert list(open_reader(archive, skipped=skipped)()) == text
    assert skipped == {"without words": 2}


def test_each_chat_of_an_archive_or_a_folder_has_its_own_order_of_day_and_month(tmp_path: Path) -> None:
    chats = {"Ann.txt": "13/06/24, 18:05 - Ann: hi\n", "Bob.txt": "06/13/24, 18:05 - Bob: hi\n"}
    folder = tmp_path / "chats"
    folder.mkdir()
    for name, text in chats.items():
        write_text(folder, text, name)
    for path in (zip_chats(tmp_path, chats), folder):
        lines = list(open_reader(path)())
        assert [(line.speaker, f"{line.said_at:%d %B}") for line in lines] == [("Ann", "13 June"), ("Bob", "13 June")]
        assert [line.session for line in lines] == ["Ann", "Bob"]
        assert check_file(path).line_count == 2


def test_archives_of_several_phones_are_one_import(tmp_path: Path) -> None:
    paths = []
    for name in ("Chat - Dr. Ann", "Chat - Bob"):
        (tmp_path / name).mkdir()
        paths.append(zip_chats(tmp_path / name, {"_chat.txt": IPHONE}).rename(tmp_path / f"{name}.zip"))
    (tmp_path / "Cem").mkdir()
    paths += [write_text(tmp_path / "Cem", IPHONE), write_text(tmp_path, ANDROID, "WhatsApp Chat with Dan.txt")]
    lines = list(open_reader(paths)())
    sessions = list(dict.fromkeys(line.session for line in lines))
    assert sessions == ["Chat - Dr. Ann", "Chat - Bob", "Cem", "WhatsApp Chat with Dan"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("WhatsApp Chat - Ann.txt", "Ann"),
        ("WhatsApp-Chat mit Ann (2).txt", "Ann"),
        ("Chat de WhatsApp con Ann with Bob.txt", "Ann with Bob"),
        ("WhatsApp Chat.txt", None),
        ("Ann.txt", None),
    ],
)
def test_a_chat_is_called_as_its_file_says(tmp_path: Path, name: str, title: str | None) -> None:
    contents = check_file(write_text(tmp_path, ANDROID, name)).contents
    assert (contents.services, contents.conversations[0].title) == (("WhatsApp",), title)


def test_the_sessions_of_a_chat_have_its_title(memory: Memory, tmp_path: Path) -> None:
    source = check_file(write_text(tmp_path, ANDROID, "WhatsApp Chat with Ann.txt"))
    memory.observe("Hello.", session="mine")
    import_lines(memory, source)
    assert [session.title for session in memory.sessions()] == ["Ann", "Ann", None]


def test_the_person_gets_another_name_where_the_name_of_a_chat_shows_who_that_is(tmp_path: Path) -> None:
    single = write_text(tmp_path, ANDROID, "WhatsApp Chat with Ann.txt")
    group = write_text(tmp_path, ANDROID + "06/06/2024, 12:11\u202fam - Cem: Hi!\n", "WhatsApp Chat with Trip.txt")
    lines, renamed = (list(open_reader([single, group], me=me)()) for me in (None, "Bo"))
    assert [line.speaker for line in renamed] == ["Ann", "Bo", "Ann", "Ann", "Bo", "Ann", "Cem"]
    assert [line.key for line in renamed] == [line.key for line in lines]
    assert [check_file(single, me=me).contents.me for me in (None, "Bo")] == ["Bob Miller", "Bo"]
    assert check_file(group, me="Cem").contents.me is None
    with pytest.raises(ConfigError, match="no speaker is called 'Bo'; the most frequent are Ann, Bob Miller, Cem; cor"):
        check_file(group, me="Bo")


def test_chats_and_exports_of_services_are_one_import(tmp_path: Path, memory: Memory) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "Bob.json").write_bytes(to_json(discord_export([discord_message(1)])))
    zip_chats(folder, {"WhatsApp Chat with Ann.txt": ANDROID})
    write_text(folder, ANDROID, "file-1-WhatsApp Chat with Ann.txt")  # attached to a chat of ChatGPT
    source = check_file(folder)
    assert source.contents.services == ("Discord", "WhatsApp")
    assert list(source.sessions) == ["discord:7", "WhatsApp Chat with Ann"]
    added = import_lines(memory, source)["added"]
    assert {line.session for line in memory.lines()} == set(source.sessions)
    assert (added, import_lines(memory, check_file(folder))["added"]) == (source.line_count, 0)
    for order, day in (("dmy", "05 June"), ("mdy", "06 May")):
        chat = check_file(folder, date_order=order).contents.conversations[-1]
        assert f"{chat.first_at:%d %B}" == day
    one = check_file([folder / "Bob.json", write_text(tmp_path, ANDROID, "Dan.txt")], only=["dan"])
    assert {line.session for line in one.read()} == {"Dan"}


def test_an_error_in_an_archive_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = zip_chats(tmp_path, {"_chat.txt": "[13/06/24, 18:05:22] Ann: hi\n[06/13/24, 18:05:22] Ann: hi"})
    with pytest.raises(BadFile, match=r"Chat\.zip, _chat\.txt, line 2: invalid time: '06/13/24'"):
        list(read(path))
    with pytest.raises(BadFile, match=r"Chat\.zip: no chat of WhatsApp is in it; give the archive as exported"):
        list(read(zip_chats(tmp_path, {"notes.txt": "Buy a fern.", "cut.txt": b"\xff"})))


def test_the_name_of_a_file_is_noted_and_its_caption_is_the_text(tmp_path: Path) -> None:
    (line,) = read(write_text(tmp_path, "[13/06/24, 18:05:22] Ann: Our fern \u200e<attached: 00000012-PHOTO.jpg>"))
    assert (line.text, line.metadata) == ("Our fern", {"attachments": ["00000012-PHOTO.jpg"]})
    android = "02/05/2024, 18:05 - Ann: IMG-20240502-WA0001.jpg (Datei angehängt)\nOur fern"
    (line,) = read(write_text(tmp_path, android))
    assert (line.text, line.metadata) == ("Our fern", {"attachments": ["IMG-20240502-WA0001.jpg"]})


def test_a_caption_that_an_earlier_version_stored_with_the_name_of_its_file_is_not_added_again(
    tmp_path: Path, memory: Memory
) -> None:
    note = "IMG-20240502-WA0001.jpg (file attached)\nOur fern"
    chat = write_text(tmp_path, f"02/05/2024, 18:05 - Ann: {note}\n02/05/2024, 18:05 - Bob: Lovely!\n")
    for line in read(chat):
        text = note if line.text == "Our fern" else line.text
        memory.observe(text, speaker=line.speaker, said_at=line.said_at, key=line.key)
    source = check_file(chat)
    check_compatible(memory, source)
    assert (import_lines(memory, source)["added"], memory.stats().lines) == (0, 2)


def test_the_key_of_a_caption_is_that_of_its_whole_message_as_in_earlier_versions(tmp_path: Path) -> None:
    note = "IMG-20240502-WA0001.jpg (file attached)\nOur fern"
    caption, answer = read(write_text(tmp_path, f"02/05/2024, 18:05 - Ann: {note}\n02/05/2024, 18:05 - Bob: Lovely!\n"))
    keys, first = KeyGenerator(), ("2024-05-02T18:05:00", "Ann", note)
    assert caption.key == keys.next_key(*first, timed=True)
    assert answer.key == keys.next_key("2024-05-02T18:05:00", "Bob", "Lovely!", *first, timed=True)
