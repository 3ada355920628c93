from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.transfer.services.claude import build_conversation
from transfer.services.chatgpt_export import save_zip

NOTE = "This block is not supported on your current device yet."


def message(name: str, sender: str, *content: Any, text: str = "", **fields: Any) -> dict[str, Any]:
    times = {"created_at": "2025-03-01T10:00:00.123456Z", "updated_at": "2025-03-01T10:00:00.123456Z"}
    lists = {"content": list(content), "attachments": [], "files": []}
    return {"uuid": name, "sender": sender, "text": text, **times, **lists, **fields}


def talk(*messages: object, **fields: object) -> dict[str, Any]:
    times = {"created_at": "2025-03-01T09:59:00Z", "updated_at": "2025-03-01T10:00:00Z"}
    return {"uuid": "c", "name": "Ferns", **times, "account": {"uuid": "u"}, "chat_messages": list(messages), **fields}


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text, "citations": []}


def test_the_parts_of_a_message_are_read_and_its_text_if_it_has_no_parts() -> None:
    tools = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "tool_use", "name": "artifacts"},
        {"type": "tool_result"},
    ]
    messages = [
        message("a", "human", said("Do ferns need shade?"), text="Do ferns need shade?"),
        message(
            "b", "assistant", said("Let me look."), *tools, said("They do."), text=f"Let me look.\n{NOTE}\nThey do."
        ),
        message("c", "human", text="Thank you."),
        message("d", "assistant", *tools[:1], text=NOTE),
        {**message("e", "moderator", said("No.")), "content": [said("No.")]},
        "torn",
    ]
    built = build_conversation(talk(*messages), {})
    assert [each.text for each in built.messages] == [
        "Do ferns need shade?",
        "Let me look.\n\nThey do.",
        "Thank you.",
        "",
        "",
    ]
    assert built.skipped == {"thoughts": 2, "calls of tools": 1, "results of tools": 1, "messages without text": 2}


def test_thoughts_and_artifacts_in_the_text_of_older_messages_are_cut_out() -> None:
    artifact = '<antArtifact identifier="a" type="text">1\n</antArtifact>'
    old = f"<antThinking>A list.</antThinking>\n\nHere it is:\n\n{artifact}\n\nOk?"
    built = build_conversation(talk(message("a", "assistant", said(old))), {})
    assert [each.text for each in built.messages] == ["Here it is:\n\n\n\nOk?"]
    assert built.skipped == {"thoughts": 1, "artifacts": 1}
    assert build_conversation(talk(message("a", "human", said(old))), {}).messages[0].text == old


def test_spoken_messages_are_their_transcripts() -> None:
    spoken = {"type": "voice_note", "title": "Ferns", "text": "Do ferns need shade?"}
    assert build_conversation(talk(message("a", "human", spoken)), {}).messages[0].text == "Do ferns need shade?"


ROOT = "00000000-0000-4000-8000-000000000000"


def branches(*links: tuple[str, str | None], **fields: object) -> dict[str, tuple[str | None, bool]]:
    """Return the parent of each message, and whether it is shown.

    Args:
        links: the id of each message, and of the one that it follows, in the order of the file and of their times.
        fields: of the conversation.
    """
    messages = [
        message(
            name,
            "human" if number % 2 == 0 else "assistant",
            said(f"Message {name}"),
            parent_message_uuid=parent,
            created_at=f"2026-08-01T10:{number:02}:00Z",
        )
        for number, (name, parent) in enumerate(links)
    ]
    built = build_conversation(talk(*messages, **fields), {})
    return {str(each.id): (each.parent, each.shown) for each in built.messages}


def test_the_path_to_the_latest_message_is_current() -> None:
    tree = [("a", ROOT), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "b"), ("f", "e")]
    expected = {
        "a": (None, True),
        "b": ("a", True),
        "c": ("b", False),
        "d": ("c", False),
        "e": ("b", True),
        "f": ("e", True),
    }
    assert branches(*tree) == expected
    named = branches(*tree, current_leaf_message_uuid="d")
    assert [name for name, (_, is_shown) in named.items() if is_shown] == ["a", "b", "c", "d"]


def test_a_message_that_names_none_follows_the_one_before_it() -> None:
    assert branches(("a", ROOT), ("b", ROOT)) == {"a": (None, False), "b": (None, True)}
    assert branches(("a", None), ("b", None)) == {"a": (None, True), "b": (None, True)}
    assert branches(("a", None), ("b", None), ("c", "b"), ("d", "b")) == {
        "a": (None, True),
        "b": ("a", True),
        "c": ("b", False),
        "d": ("b", True),
    }


def test_a_message_that_names_one_that_is_not_exported_follows_the_one_before_it() -> None:
    found = branches(("a", ROOT), ("b", "a"), ("d", "c"), ("e", "d"))
    assert found == {"a": (None, True), "b": ("a", True), "d": ("b", True), "e": ("d", True)}


def test_branches_are_imported_as_retracted_lines(tmp_path: Path, memory: Memory) -> None:
    names = [("a", ROOT), ("b", "a"), ("c", ROOT), ("d", "c")]
    messages = [
        message(
            name,
            "human",
            said(f"Message {name}"),
            parent_message_uuid=parent,
            created_at=f"2026-08-01T1{number}:00:00Z",
        )
        for number, (name, parent) in enumerate(names)
    ]
    file = save_zip(tmp_path / "data.zip", {"conversations.json": [talk(*messages)]})
    import_lines(memory, check_file(file))
    assert [line.text for line in memory.lines()] == ["Message c", "Message d"]
    assert len(list(memory.lines(include_retracted=True))) == 4


def test_a_message_may_follow_one_of_the_last_moment(tmp_path: Path) -> None:
    last = "9999-12-31T23:59:59.999999Z"
    messages = [message("a", "human", said("Hi"), created_at=last), message("b", "human", said("!"), created_at=None)]
    path = save_zip(tmp_path / "export.zip", {"conversations.json": [talk(*messages)]})
    assert [str(line.said_at) for line in check_file(path).read()] == ["9999-12-31 23:59:59.999999+00:00"] * 2


def test_names_times_titles_and_attachments_are_kept(tmp_path: Path) -> None:
    attached: dict[str, Any] = {
        "attachments": [{"file_name": "offer.txt", "extracted_content": "…"}],
        "files": [{"file_name": "fern.jpg"}],
    }
    messages = [message("a", "human", said("What is this?"), **attached), message("b", "assistant", said("A fern."))]
    files = {
        "conversations.json": [talk(*messages), talk(uuid="empty", name="")],
        "users.json": [{"uuid": "u", "full_name": "Nora"}],
    }
    source = check_file(save_zip(tmp_path / "data-2025-batch-0000.zip", files))
    first, second = source.read()
    assert (first.speaker, first.key, first.metadata) == (
        "Nora",
        "claude:c:a",
        {"attachments": ["offer.txt", "fern.jpg"]},
    )
    assert (second.speaker, second.role, str(second.said_at)) == (
        "Claude",
        "assistant",
        "2025-03-01 10:00:00.123456+00:00",
    )
    assert source.sessions["c"].title == "Ferns"
    assert (source.contents.me, source.skipped) == ("Nora", {"empty conversations": 1})
    named = check_file(source.path, me="Ann").read()
    assert [line.speaker for line in named] == ["Ann", "Claude"]


def test_texts_of_attachments_are_kept_if_they_are_wanted(tmp_path: Path, memory: Memory) -> None:
    offer = {"file_name": "offer.txt", "extracted_content": "Ten ferns, 40 euros."}
    pasted = {"file_name": "", "extracted_content": "A long text."}
    messages = [
        message("a", "human", said("Is this good?"), attachments=[offer], files=[{"file_name": "fern.jpg"}]),
        message("b", "human", attachments=[pasted]),
    ]
    path = save_zip(tmp_path / "export.zip", {"conversations.json": [talk(*messages)]})
    assert check_file(path).skipped == {"messages without text": 1}
    source = check_file(path, attachments=True)
    assert source.skipped == {}
    for _ in range(2):
        import_lines(memory, source)
    first, second = memory.lines(include_wordless=True)
    assert first.metadata == {
        "attachments": ["offer.txt", "fern.jpg"],
        "attachment_texts": [{"name": "offer.txt", "text": "Ten ferns, 40 euros."}],
    }
    assert (second.text, second.metadata) == (
        "",
        {"attachment_texts": [{"name": "pasted text", "text": "A long text."}]},
    )


def test_conversations_without_an_id_or_a_list_of_messages_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(
        json.dumps([talk(message("a", "human", text="Hi!")), talk(uuid=None), talk(name="Torn", chat_messages=3)])
    )
    source = check_file(path)
    assert source.contents.broken == {"Ferns": "it has no id", "Torn": "its messages are not a list"}
    with pytest.raises(BadFile, match="it has no 'chat_messages'"):
        build_conversation({"uuid": "c"}, {})


def test_a_conversation_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "single.json"
    path.write_text(json.dumps(talk(message("a", "human", said("Do ferns need shade?")))))
    assert [line.text for line in check_file(path).read()] == ["Do ferns need shade?"]
