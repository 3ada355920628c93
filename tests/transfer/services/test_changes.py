from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everthread.memory import Memory
from everthread.transfer.importing import check_compatible, check_file, import_lines
from transfer.services.chatgpt_export import START, conversation, node, save_zip
from transfer.services.messenger_exports import telegram_message, to_json

Conversation = dict[str, Any]

ASK = node("ask", None)
OLD = [node("old", "ask", "assistant", START + 1), node("old end", "old", said_at=START + 2)]
NEW = [node("new", "ask", "assistant", START + 3), node("new end", "new", said_at=START + 4)]


def bring(memory: Memory, folder: Path, *conversations: Conversation) -> int:
    """Import an export of these conversations, and return the number of lines that it added."""
    source = check_file(save_zip(folder / "export.zip", {"conversations-000.json": conversations}))
    check_compatible(memory, source)
    return int(import_lines(memory, source)["added"])


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def test_the_same_a_grown_and_an_overlapping_export_add_only_what_is_new(memory: Memory, tmp_path: Path) -> None:
    cats, dogs = conversation("cats", [ASK, *OLD], "old end"), conversation("dogs", [ASK], "ask")
    assert [bring(memory, tmp_path, cats, dogs) for _ in range(2)] == [4, 0]
    grown = conversation("dogs", [ASK, node("answer", "ask", "assistant", START + 9)], "answer")
    assert bring(memory, tmp_path, grown, conversation("hens", [ASK], "ask")) == 2
    assert texts(memory) == ["ask", "old", "old end", "ask", "answer", "ask"]
    assert {session.id: session.title for session in memory.sessions()} == {
        "cats": "Cats",
        "dogs": "Dogs",
        "hens": "Hens",
    }
    assert memory.sessions()[0].metadata == {"source": "chatgpt"}
    assert all(session.ended_at for session in memory.sessions()), "the bank's own next line begins a session"


def test_a_branch_that_the_service_left_is_retracted_and_one_that_it_returned_to_is_shown_again(
    memory: Memory, tmp_path: Path
) -> None:
    bring(memory, tmp_path, conversation("cats", [ASK, *OLD], "old end"))
    bring(memory, tmp_path, conversation("cats", [ASK, *OLD, *NEW], "new end"))
    assert texts(memory) == ["ask", "new", "new end"]
    more = node("more", "old end", "assistant", START + 5)
    assert bring(memory, tmp_path, conversation("cats", [ASK, *OLD, *NEW, more], "more")) == 3
    assert texts(memory) == ["ask", "old", "old end", "more"]
    assert bring(memory, tmp_path, conversation("cats", [ASK, *OLD, *NEW, more], "more")) == 0


def test_an_older_export_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    bring(memory, tmp_path, conversation("cats", [ASK, *OLD, *NEW], "new end"))
    assert bring(memory, tmp_path, conversation("cats", [ASK, *OLD], "old end")) == 0
    assert texts(memory) == ["ask", "new", "new end"]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_two_exports_in_one_import_the_newer_one_is_shown(memory: Memory, tmp_path: Path, is_reversed: bool) -> None:
    talks = [conversation("cats", [ASK, *OLD], "old end"), conversation("cats", [ASK, *OLD, *NEW], "new end")]
    assert bring(memory, tmp_path, *(talks[::-1] if is_reversed else talks)) == 5
    assert texts(memory) == ["ask", "new", "new end"]


def test_a_message_that_was_left_can_be_restored_with_the_messages_before_it(memory: Memory, tmp_path: Path) -> None:
    bring(memory, tmp_path, conversation("cats", [ASK, *OLD, *NEW], "new end"))
    left = next(line for line in memory.lines(include_retracted=True) if line.text == "old end")
    memory.restore(left.seq)
    assert texts(memory) == ["ask", "old", "old end"]


def test_a_text_that_was_edited_at_the_service_is_put_right_unless_the_bank_corrected_it(
    memory: Memory, tmp_path: Path
) -> None:
    def edited(text: str) -> Conversation:
        return conversation("cats", [node("a", None, content={"content_type": "text", "parts": [text]})], "a")

    assert [bring(memory, tmp_path, edited(text)) for text in ("I have a cat.", "I have two cats.")] == [1, 1]
    assert texts(memory) == ["I have two cats."]
    assert bring(memory, tmp_path, edited("I have two cats.")) == 0
    memory.correct(2, "I have three cats.")
    assert [bring(memory, tmp_path, edited(text)) for text in ("I have two cats.", "I have no cats.")] == [0, 0]
    assert texts(memory) == ["I have three cats."]


def test_what_the_bank_retracted_stays_retracted_and_what_it_forgot_comes_back(memory: Memory, tmp_path: Path) -> None:
    talk = conversation("cats", [ASK, *OLD], "old end")
    bring(memory, tmp_path, talk)
    memory.retract(3)
    assert bring(memory, tmp_path, talk) == 0
    assert texts(memory) == ["ask", "old"]
    memory.forget(seq=2)
    assert bring(memory, tmp_path, talk) == 1
    assert texts(memory) == ["ask", "old"]


def test_a_long_chat_is_stored_in_parts_and_changed_as_a_whole(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everthread.transfer.services.changes.BATCH_LINES", 2)
    messages = [telegram_message(number) for number in range(1, 8)]

    def bring_chat(*own: dict[str, Any]) -> list[int]:
        batches: list[int] = []
        path = tmp_path / "result.json"
        chat = {"name": "Bob", "type": "personal_chat", "id": 9}
        path.write_bytes(to_json({"chats": {"list": [{**chat, "id": 8, "messages": []}, {**chat, "messages": own}]}}))
        import_lines(memory, check_file(path), batches.append)
        return batches

    assert bring_chat(*messages) == [2, 2, 2, 1]
    edited = telegram_message(1, text="Edited.")
    assert bring_chat(edited, *messages[1:-1]) == [2, 2, 2], "an older export"
    assert "Edited." not in texts(memory)
    bring_chat(edited, *messages[1:])
    assert ("Edited." in texts(memory), len(texts(memory))) == (True, 7)
