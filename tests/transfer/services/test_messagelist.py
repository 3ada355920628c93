from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import ConfigError
from everthread.memory import Memory
from everthread.transfer.importing import CheckedFile, check_file, import_lines

ANN = {"sender": "Ann", "text": "Which door?", "timestamp": "2024-05-06T18:05:00Z"}
BOB = {"sender": "Bob", "text": "The red one.", "timestamp": "2024-05-06T18:06:00Z"}
SHOWN = [("Ann", "Which door?", "2024-05-06T18:05:00+00:00"), ("Bob", "The red one.", "2024-05-06T18:06:00+00:00")]


def check(folder: Path, value: object, name: str = "talk.json") -> CheckedFile:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    source = check_file(folder / name)
    assert source.contents.services == ("lists of messages in JSON",)
    return source


def shown(source: CheckedFile) -> list[tuple[str, str, str | None]]:
    return [(line.speaker, line.text, line.said_at.isoformat() if line.said_at else None) for line in source.read()]


@pytest.mark.parametrize(
    "value",
    [
        [ANN, BOB],
        [BOB, ANN],
        {"messages": [ANN, BOB], "exported": "2026"},
        [{**ANN, "sender": {"name": "Ann", "id": 1}}, {**BOB, "sender": {"id": 2, "username": "Bob"}}],
        {"conversation": [ANN, BOB]},
        [{"id": 1, "title": "Doors", "dialogue": [ANN, BOB]}],
        {"version": 2, "sessions": [{"session_id": "s1", "turns": [ANN, BOB]}]},
        {
            "chat": [
                {"speaker": "Ann", "utterance": "Which door?", "date": "6 May 2024 18:05"},
                {"speaker": "Bob", "utterance": "The red one.", "date": "06.05.2024 18:06"},
            ]
        },
        [
            {"from": "Ann", "message": "Which door?", "ts": 1715018700},
            {"from": "Bob", "message": "The red one.", "ts": 1715018760},
        ],
    ],
)
def test_messages_with_senders_are_read_from_lists_in_many_places(tmp_path: Path, value: Any) -> None:
    assert shown(check(tmp_path, value)) == SHOWN


def test_rows_of_json_lines_are_one_list_with_the_senders_that_they_name(tmp_path: Path) -> None:
    assert shown(check(tmp_path, f"{json.dumps(ANN)}\n{json.dumps(BOB)}\n", "talk.jsonl")) == SHOWN


def test_rows_in_the_format_jsonl_are_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"speaker": "Ann", "text": "Hi.", "session": "s"}\n', encoding="utf-8")
    assert [line.session for line in check_file(tmp_path / "talk.jsonl").read()] == ["s"]


def test_a_chatbot_is_known_by_its_role(tmp_path: Path) -> None:
    source = check(tmp_path, [{"sender": "user", "text": "Hi."}, {"sender": "bot", "text": "Hello."}])
    assert [(line.speaker, line.role, line.undated) for line in source.read()] == [
        ("user", "user", True),
        ("assistant", "assistant", True),
    ]


def test_messages_without_a_time_have_that_of_their_session(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "text": "Hi."}, {"speaker": "Bob", "text": "Hello."}]
    source = check(tmp_path, {"sessions": [{"date_time": "1:56 pm on 8 May, 2023", "turns": turns}]})
    assert [time for _, _, time in shown(source)] == ["2023-05-08T13:56:00+00:00", "2023-05-08T13:56:00.000001+00:00"]


def test_broken_entries_lose_only_themselves_and_are_counted(tmp_path: Path) -> None:
    talks = [{"id": 1, "turns": [ANN, 7, {"sender": "Bob", "text": ""}, BOB]}, 5]
    source = check(tmp_path, {"sessions": talks})
    assert shown(source) == SHOWN
    assert source.skipped == {"broken messages": 1, "messages without text": 1}
    assert list(source.contents.broken) == ["conversation 2 of talk.json"]


@pytest.mark.parametrize("earlier", [[ANN], [BOB]])
def test_a_longer_list_adds_its_new_messages_alone(tmp_path: Path, memory: Memory, earlier: list[object]) -> None:
    assert import_lines(memory, check(tmp_path, earlier))["added"] == 1
    assert import_lines(memory, check(tmp_path, [ANN, BOB]))["added"] == 1
    assert import_lines(memory, check(tmp_path, [BOB, ANN], "copy.json"))["added"] == 0


def test_named_texts_without_a_time_are_no_messages(tmp_path: Path) -> None:
    (tmp_path / "files.json").write_text(json.dumps([{"name": "a.md", "content": "Doors"}]), encoding="utf-8")
    with pytest.raises(ConfigError, match="unrecognised JSON"):
        check_file(tmp_path / "files.json")
    talk = [{"name": "Ann", "content": "Which door?", "time": "2024-05-06 18:05"}]
    assert shown(check(tmp_path, talk)) == SHOWN[:1]


@pytest.mark.parametrize(
    "messages",
    [
        [{"sender": "human", "text": "Hi"}, {"sender": "assistant", "text": "ok"}],
        [{"role": "user", "type": "human", "content": "Hi"}, {"role": "assistant", "type": "ai", "content": "ok"}],
        [
            {"id": "1", "message_type": "text", "role": "user", "content": "Hi"},
            {"id": "2", "message_type": "text", "role": "assistant", "content": "ok"},
        ],
    ],
    ids=["chatlist", "beside a role", "of another type"],
)
def test_files_of_other_readers_stay_theirs(tmp_path: Path, messages: list[dict[str, str]]) -> None:
    (tmp_path / "talk.json").write_text(json.dumps([{"title": "T", "messages": messages}]), encoding="utf-8")
    source = check_file(tmp_path / "talk.json")
    assert source.contents.services == ("other chat programs",)
    assert [(line.role, line.text) for line in source.read()] == [("user", "Hi"), ("assistant", "ok")]


def test_rows_of_the_own_format_stay_so(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"text": "Hi", "author": "web", "session": "a"}\n', encoding="utf-8")
    (line,) = check_file(tmp_path / "talk.jsonl").read()
    assert (line.session, line.role) == ("a", "user")


def test_two_conversations_that_begin_alike_are_two(tmp_path: Path) -> None:
    more = {**BOB, "text": "The blue one."}
    source = check(tmp_path, [{"messages": [ANN, BOB]}, {"messages": [ANN, more]}])
    assert len({line.session for line in source.read()}) == 2
    with Memory.open("nora", store=tmp_path / "banks", embedder="hash") as memory:
        assert [import_lines(memory, source)["added"] for _ in range(2)] == [4, 0]
