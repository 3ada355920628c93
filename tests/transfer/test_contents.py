from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from everthread.transfer.importing import check_file
from everthread.transfer.types import FileConversation, FileSpeaker


def test_a_file_in_any_format_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("[2024-01-01 10:00] Ann: Hi!\n[2024-01-03 10:00] Ben: Hello!\nBen: And?\n")
    contents = check_file(path, assistant=("Ben",)).contents
    first, last = datetime(2024, 1, 1, 10, tzinfo=UTC), datetime(2024, 1, 3, 10, 0, 1, tzinfo=UTC)
    assert (contents.services, contents.messages, contents.first_at, contents.last_at) == ((), 3, first, last)
    assert contents.speakers == (FileSpeaker("Ben", "assistant", 2), FileSpeaker("Ann", "user", 1))
    assert (contents.me, contents.assistant) == ("Ann", "Ben")
    assert sum(conversation.messages for conversation in contents.conversations) == 3


def test_the_person_of_a_file_in_which_all_have_names_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    for sender, me in (("Ann", None), ("user", "user")):
        path.write_text(f"sender,text,time\n{sender},Hi!,2024-05-01 10:00\nBob,Hello!,2024-05-01 10:01\n")
        assert check_file(path).contents.me == me


def test_a_conversation_has_the_beginning_of_its_first_words(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text(
        '{"text": "", "metadata": {"file": "a.png"}}\n{"text": "My sister Mia\\nmoves to Lisbon in May, and I hope'
        ' that she takes the cat with her."}\n{"text": "Which cat?"}\n'
    )
    (conversation,) = check_file(path).contents.conversations
    assert conversation.opening == "My sister Mia moves to Lisbon in May, and I…"


def test_discarded_and_undated_messages_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    rows = (
        '{"session": "s", "title": "Kites", "metadata": {}}',
        '{"session": "s", "text": "One."}',
        '{"session": "s", "text": "Two.", "retracted_at": "2024-01-01T00:00:00Z"}',
    )
    path.write_text("\n".join(rows))
    contents = check_file(path).contents
    assert contents.conversations == (FileConversation("s", "Kites", 1, None, None, "One."),)
    assert (contents.messages, contents.retracted, contents.me, contents.assistant) == (1, 1, None, None)
