from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.transcript import read


def read_all(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Return the roles, the speakers and the texts in a file."""
    path = folder / "chat.md"
    path.write_text(text, encoding="utf-8")
    return [(line.role, line.speaker, line.text) for line in read(path)]


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-06 18:05 Ann: hi\n2024-05-06 18:06 Bob Miller: yes\nand: no\n",
        "2024-05-06T18:05:00Z - Ann: hi\n2024-05-06T18:06:00Z - Bob Miller: yes\nand: no\n",
        "06.05.2024, 18:05 Ann: hi\n06.05.2024, 18:06 Bob Miller: yes\nand: no\n",
        "(2024-05-06 6:05 pm) Ann: hi\n(2024-05-06 6:06 pm) Bob Miller: yes\nand: no\n",
        "Ann (2024-05-06 18:05): hi\nBob Miller (2024-05-06 18:06): yes\nand: no\n",
        "Ann, [06.05.2024 18:05]\nhi\n\nBob Miller, [06.05.2024 18:06]\nyes\nand: no\n",
        "Plants\nAnn [2024-05-06 18:05]\nhi\nBob Miller [2024-05-06 18:06]\nyes\nand: no\n",
    ],
)
def test_dates_may_stand_before_or_after_names(tmp_path: Path, text: str) -> None:
    assert read_all(tmp_path, text) == [("user", "Ann", "hi"), ("user", "Bob Miller", "yes\nand: no")]
    times = [line.said_at for line in read(tmp_path / "chat.md")]
    assert times == [datetime(2024, 5, 6, 18, minute, tzinfo=UTC) for minute in (5, 6)]


@pytest.mark.parametrize("stamps", [("", ""), ("[2024-05-06 18:05] ", "[18:06] ")])
def test_names_may_be_in_angle_brackets(tmp_path: Path, stamps: tuple[str, str]) -> None:
    text = f"{stamps[0]}<Ann> hi\n{stamps[1]}<@bob> see <Ann> above\n"
    assert read_all(tmp_path, text) == [("user", "Ann", "hi"), ("user", "bob", "see <Ann> above")]


def test_names_may_be_bold(tmp_path: Path) -> None:
    text = "# Plants\n\n**You:** Do ferns need shade?\n\n**Claude:** Yes.\n**Note:** And water.\n\n"
    text += "* * *\n\n**You:** Thanks.\n"
    assert read_all(tmp_path, text) == [
        ("user", "user", "Do ferns need shade?"),
        ("assistant", "Claude", "Yes.\n**Note:** And water."),
        ("user", "user", "Thanks."),
    ]
    named = read_all(tmp_path, "**Ann**: hi\n**Luna**: hello\n**Note**: see\n")
    assert named == [("user", "Ann", "hi"), ("user", "Luna", "hello\n**Note**: see")]


def test_a_heading_in_a_reply_is_not_a_name(tmp_path: Path) -> None:
    reply = "Here:\n## Question\nShade?\n## Answer\nYes."
    assert read_all(tmp_path, f"**You:** hi\n**ChatGPT:** {reply}\n") == [
        ("user", "user", "hi"),
        ("assistant", "ChatGPT", reply),
    ]
    assert read_all(tmp_path, f"## You\nhi\n## Claude\n{reply}\n")[1:] == [("assistant", "Claude", reply)]


@pytest.mark.parametrize(
    "text",
    [
        "# Plants\n\n**User:** Nora\n**Created:** 8/15/2025 10:00\n\n## Prompt:\nShade?\n\n## Response:\nYes.\n## Why\n"
        "They burn.\n\n---\nPowered by [a tool](https://example.org)\n",
        "---\ntitle: Plants\n---\n\n#### User:\nShade?\n\n#### Assistant:\nYes.\n## Why\nThey burn.\n",
    ],
)
def test_names_may_be_headings(tmp_path: Path, text: str) -> None:
    assert read_all(tmp_path, text) == [
        ("user", "user", "Shade?"),
        ("assistant", "Assistant", "Yes.\n## Why\nThey burn."),
    ]


def test_the_copied_page_of_a_service_is_read(tmp_path: Path) -> None:
    text = "Skip to content\nYou said:\nShade?\n\nChatGPT said:\nYes.\nNote: and water.\n"
    assert read_all(tmp_path, text) == [
        ("user", "user", "Shade?"),
        ("assistant", "ChatGPT", "Yes.\nNote: and water."),
    ]


def test_in_a_copied_page_words_may_follow_the_name_on_its_line(tmp_path: Path) -> None:
    reply = 'Yes.\nYou said: "I hate rain." Why?'
    text = f"You said: Shade?\nChatGPT said: {reply}\nYou said: Thanks: a lot.\nChatGPT said:\nBye.\n"
    assert read_all(tmp_path, text) == [
        ("user", "user", "Shade?"),
        ("assistant", "ChatGPT", reply),
        ("user", "user", "Thanks: a lot."),
        ("assistant", "ChatGPT", "Bye."),
    ]


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("ChatGPT\n", ""),
        ("ChatGPT\n\nThought for 5 seconds\n\n", "ChatGPT can make mistakes. Check important info.\n"),
        ("Thought for 1m 5s\n", "ChatGPT can make mistakes. Check important info. See Cookie Preferences.\n"),
        ("Thought for a couple of seconds\n", "ChatGPT is AI and can make mistakes.\n"),
        ("Reasoned for less than a second\n", "\n"),
    ],
)
def test_what_a_copied_page_shows_around_a_reply_is_left_out(tmp_path: Path, above: str, below: str) -> None:
    reply = "Thought for food:\nhumans can make mistakes."
    text = f"You said:\nThought for 5 seconds\nShade?\nChatGPT said:\n{above}{reply}\n{below}"
    assert read_all(tmp_path, text) == [
        ("user", "user", "Thought for 5 seconds\nShade?"),
        ("assistant", "ChatGPT", reply),
    ]


def test_a_reply_that_is_only_a_name_is_kept(tmp_path: Path) -> None:
    text = "**You:** Who are you?\n**ChatGPT:** ChatGPT\n"
    assert read_all(tmp_path, text)[1] == ("assistant", "ChatGPT", "ChatGPT")


def test_a_file_that_begins_with_a_message_has_no_other_style(tmp_path: Path) -> None:
    text = "Ann: hi\n## Prompt:\n2024-05-06 18:05 Bob: no\n"
    assert read_all(tmp_path, text) == [("user", "Ann", "hi\n## Prompt:\n2024-05-06 18:05 Bob: no")]


def test_speakers_that_are_called_like_a_role_have_it(tmp_path: Path) -> None:
    text = "System: Be kind.\nUser: hi\nAssistant: hello\nAI: hello\nClaude: hello\n"
    assert [role for role, _, _ in read_all(tmp_path, text)] == ["system", "user", "assistant", "assistant", "user"]
    roles = [line.role for line in read(tmp_path / "chat.md", assistant=["Claude"])]
    assert roles == ["user", "user", "user", "user", "assistant"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("05/06/2024 18:05 Ann: hi\n", "begins with an ambiguous time"),
        ("Ann (18:05): hi\n", "has no date"),
        ("# Plants\n\nDo ferns need shade?\n", "has no speaker"),
        ("# Plants\n## Question\nShade?\n**Note:** see\nLunch (2024-05-06 12:30)\n", "has no speaker"),
    ],
)
def test_a_time_that_is_not_certain_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadFile, match=complaint):
        read_all(tmp_path, text)
