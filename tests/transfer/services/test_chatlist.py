from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.memory import Memory
from everthread.transfer.importing import CheckedFile, check_file, import_lines
from everthread.transfer.services.chatlist import build_conversation
from transfer.services.companion_examples import AI_STUDIO, CHAT_LIST, TRAINING, rows
from transfer.services.messenger_exports import telegram_export, telegram_message, to_json
from transfer.services.reading import shown, times

DOORS = [("user", "Which door is red?"), ("assistant", "The right one.")]


def check(folder: Path, value: object, name: str = "chats.json") -> CheckedFile:
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    source = check_file(folder / name)
    assert source.contents.services == ("other chat programs",)
    return source


def test_roles_titles_and_times_are_read_and_instructions_are_counted() -> None:
    built = build_conversation(CHAT_LIST["data"]["chats"][0])
    assert shown(built) == DOORS
    assert times(built) == ["2025-05-01T10:00:00+00:00", "2025-05-01T10:01:00+00:00"]
    assert (built.id, built.title, built.skipped) == ("t1", "Doors", {"instructions": 1})


def test_a_prompt_of_ai_studio_has_the_name_of_its_file_as_title() -> None:
    built = build_conversation(AI_STUDIO, "Doors")
    assert (shown(built), built.title, built.skipped) == (DOORS, "Doors", {"thoughts": 1})


@pytest.mark.parametrize(
    "messages",
    [
        [{"from": "human", "value": "Which door is red?"}, {"from": "gpt", "value": "<think>A</think>The right one."}],
        [{"role": "Prompt", "say": "Which door is red?"}, {"role": "Response", "say": "The right one."}],
        [
            {"role": "user", "fragments": [{"ft": "content", "part": {"pt": "text", "text": "Which door is red?"}}]},
            {
                "role": "assistant",
                "fragments": [{"part": {"pt": "ma", "aText": "A"}}, {"part": {"pt": "text", "text": "The right one."}}],
            },
        ],
        [
            {"author": {"role": "user"}, "content": "Which door is red?"},
            {"author": {"role": "assistant"}, "content": [{"type": "text", "text": {"value": "The right one."}}]},
            {"author": {"role": "tool"}, "content": "7"},
            {"author": {"role": "assistant"}, "content": [{"type": "image_url"}]},
            {"author": {"role": "critic"}, "content": "Hm."},
        ],
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["messages", "conversations"])
def test_messages_are_read_in_the_forms_of_many_programs(messages: list[dict[str, Any]], name: str) -> None:
    assert shown(build_conversation({name: messages})) == DOORS


def test_a_conversation_may_be_in_the_form_of_geminis_api(tmp_path: Path) -> None:
    contents = [{"role": role.replace("assistant", "model"), "parts": [{"text": text}]} for role, text in DOORS]
    source = check(tmp_path, {"contents": contents, "generationConfig": {}})
    assert [(line.role, line.text) for line in source.read()] == DOORS


@pytest.mark.parametrize("path", ["", "conversations", "chats", "threads", "data.chats"])
def test_the_list_of_conversations_may_be_a_member(tmp_path: Path, path: str) -> None:
    value: Any = [{"id": "1", "title": "Doors", "messages": TRAINING[1]["messages"]}]
    for name in reversed(path.split(".") if path else []):
        value = {"version": 1, name: value}
    source = check(tmp_path, value)
    assert [line.text for line in source.read()] == [text for _, text in DOORS]
    assert [each.title for each in source.contents.conversations] == ["Doors"]


def test_conversations_with_the_same_beginning_are_not_mixed(tmp_path: Path, memory: Memory) -> None:
    path = tmp_path / "training.jsonl"
    path.write_bytes(rows(*TRAINING))
    source = check_file(path)
    assert import_lines(memory, source)["added"] == 4
    assert [each.lines for each in memory.sessions()] == [2, 2]
    assert import_lines(memory, check_file(path))["added"] == 0


def test_a_bot_of_telegram_may_have_the_name_of_a_role(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(to_json(telegram_export([telegram_message(1, **{"from": "ChatGPT"})])))
    assert check_file(tmp_path / "result.json").contents.services == ("Telegram",)


def test_a_value_without_messages_is_named(tmp_path: Path) -> None:
    source = check(tmp_path, [TRAINING[0], {"messages": "torn"}, "torn"])
    assert list(source.contents.broken) == ["conversation 2 of chats.json", "conversation 3 of chats.json"]
