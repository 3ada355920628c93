from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from everthread.transfer.services.deepseek import build_conversation
from transfer.services.companion_examples import DEEPSEEK, plain
from transfer.services.reading import hidden, shown, times


def test_the_branch_with_the_latest_message_is_shown_and_thoughts_and_citations_are_left_out() -> None:
    built = build_conversation(DEEPSEEK[0])
    assert shown(built) == [
        ("user", "Which door is red?"),
        ("DeepSeek", "The right one."),
        ("user", "Thank you! [citation:1] stays."),
    ]
    assert hidden(built) == {"The left one.": "Which door is red?"}
    assert times(built) == [f"2025-04-29T{time}+08:00" for time in ("11:59:13.202000", "12:01:00", "12:02:00")]
    assert built.skipped == {"thoughts": 1, "calls of tools": 1}
    metadata = [message.metadata for message in built.messages if message.text]
    assert metadata == [
        {"attachments": ["door.pdf"]},
        {"model": "deepseek-reasoner"},
        {"model": "deepseek-chat"},
        {},
    ]


def test_in_an_older_export_prompts_and_answers_alternate() -> None:
    def node(name: str, parent: str, text: str, **fields: str) -> tuple[str, object]:
        message = {
            "inserted_at": f"2025-02-01T10:00:0{name}+08:00",
            "model": "deepseek-chat",
            "content": text,
            **fields,
        }
        return name, {"id": name, "parent": parent, "message": message}

    nodes = [
        node("1", "root", "Which door is red?"),
        node("2", "1", "The left one."),
        node("3", "1", "The right one.", reasoning_content="Hm."),
        node("4", "3", "Thank you!"),
    ]
    mapping = {"root": {"id": "root", "parent": None, "message": None}, **dict(nodes)}
    built = build_conversation({"id": "d", "inserted_at": "2025-02-01T10:00:00+08:00", "mapping": mapping})
    assert shown(built) == [("user", "Which door is red?"), ("DeepSeek", "The right one."), ("user", "Thank you!")]
    assert hidden(built) == {"The left one.": "Which door is red?"}
    assert built.skipped == {"thoughts": 1}


def test_an_export_is_not_taken_for_one_of_chatgpt(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_bytes(plain(DEEPSEEK))
    source = check_file(tmp_path / "conversations.json", me="Nora", assistant=["Luna"])
    assert source.contents.services == ("DeepSeek",)
    assert [(line.speaker, line.role) for line in source.read()] == [
        ("Nora", "user"),
        ("Luna", "assistant"),
        ("Luna", "assistant"),
        ("Nora", "user"),
    ]
    assert [each.title for each in source.contents.conversations] == ["Doors"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"id": "1"}, "it has no 'mapping'"),
        ({"id": "1", "mapping": {}}, "it has no messages"),
        ({"mapping": {"root": {}}}, "it has no id"),
    ],
)
def test_a_value_that_is_no_conversation_is_rejected(value: object, words: str) -> None:
    with pytest.raises(BadFile, match=words):
        build_conversation(value)
