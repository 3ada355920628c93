from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.bench.datasets import realmem
from everthread.bench.realmem import find_source_turns
from everthread.errors import BadFile


def memory(content: str, **fields: object) -> dict[str, Any]:
    return {
        "content": content,
        "source_turn": 1,
        "source_role_snapshot": "User",
        "source_content_snapshot": "",
        **fields,
    }


FIRST: dict[str, Any] = {
    "session_uuid": "aa",
    "current_time": "2025-01-02 (Thursday)",
    "dialogue_turns": [
        {"speaker": "User", "content": "I want to grow tomatoes on the roof."},
        {"speaker": "Assistant", "content": "Six hours of sun are enough for them."},
        {"speaker": "User", "content": "Good,  the roof has eight."},
    ],
    "extracted_memory": [
        memory("wants tomatoes", source_content_snapshot="I want to grow tomatoes on the roof.", source_turn=0),
        memory("needs six hours", source_role_snapshot="Assistant", source_turn=2, source_content_snapshot="reworded"),
        memory("has eight hours", source_content_snapshot="Good, the roof has eight.", source_turn=3),
        memory("everything", source_turn=-1, source_role_snapshot="Assistant"),
    ],
}


def persona(*used: str, uuid: str = "aa") -> dict[str, Any]:
    query = {"speaker": "User", "content": "What about my plan?", "is_query": True, "category_name": "Dynamic Updating"}
    answer = {
        "speaker": "Assistant",
        "content": "Tomatoes.",
        "memory_used": [{"session_uuid": uuid, "content": c} for c in used],
    }
    second = {
        "session_uuid": "bb",
        "current_time": "2025-01-02 (Thursday)",
        "dialogue_turns": [
            {"speaker": "User", "content": "Me again."},
            {"speaker": "Assistant", "content": "Hello."},
            query,
            answer,
        ],
        "extracted_memory": [memory("asks again", source_content_snapshot="What about my plan?")],
    }
    return {"dialogues": [FIRST, second]}


def write_json(folder: Path, value: object) -> Path:
    path = folder / "Ana_Lima_dialogues_256k.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "turns"),
    [
        ("wants tomatoes", [1]),
        ("needs six hours", [2]),
        ("has eight  hours", [3]),
        ("everything", [1, 2, 3]),
        ("unknown", [1, 2, 3]),
    ],
)
def test_a_memory_is_traced_to_its_turn_or_else_to_its_session(content: str, turns: list[int]) -> None:
    assert find_source_turns(content, FIRST, Path("f")) == turns


def test_a_query_sees_only_the_lines_before_it(tmp_path: Path) -> None:
    (conversation,) = realmem(write_json(tmp_path, persona("wants tomatoes", "has eight hours")))
    (question,) = conversation.questions
    assert (conversation.id, conversation.speakers) == ("Ana_Lima", ("Ana Lima", "Assistant"))
    assert (question.after, set(question.gold), question.category) == (5, {"aa:1", "aa:3"}, "Dynamic Updating")
    assert (question.text, question.answer) == ("What about my plan?", "Tomatoes.")
    assert [line.role for line in conversation.lines[:2]] == ["user", "assistant"]
    assert conversation.lines[0].key == "realmem:Ana_Lima:aa:1"


def test_sessions_of_a_day_follow_each_other(tmp_path: Path) -> None:
    (conversation,) = realmem(write_json(tmp_path, persona("everything")).parent)
    times = [line.said_at for line in conversation.lines if line.said_at]
    assert times == sorted(set(times))
    assert len(times) == 7


def test_gold_that_had_not_been_said_yet_is_counted_and_its_question_left_out(tmp_path: Path) -> None:
    (conversation,) = realmem(write_json(tmp_path, persona("asks again", uuid="bb")))
    assert (conversation.questions, conversation.left_out, conversation.unresolved) == ((), 1, 1)


def test_gold_of_an_unknown_session_is_counted(tmp_path: Path) -> None:
    (conversation,) = realmem(write_json(tmp_path, persona("wants tomatoes", uuid="zz")))
    assert (conversation.left_out, conversation.unresolved) == (1, 1)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is not a list"):
        realmem(write_json(tmp_path, {"dialogues": 5}))
    with pytest.raises(BadFile, match="aa: \"current_time\" is 'soon'"):
        realmem(write_json(tmp_path, {"dialogues": [{**FIRST, "current_time": "soon"}]}))
    with pytest.raises(BadFile, match="there is no 'Bo'; choose from Ana_Lima"):
        realmem(tmp_path, only=["Bo"])
