from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.bench.datasets import locomo, longmemeval, parse_evidence, realtalk
from everthread.errors import BadFile

KNOWN = frozenset({"D1:1", "D1:2", "D2:1", "D11:26", "D30:5"})


def write_json(folder: Path, value: object, name: str = "data.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("evidence", "ids", "unresolved", "repaired"),
    [
        (["D1:1"], {"D1:1"}, 0, 0),
        (["D1:1", "D1:1"], {"D1:1"}, 0, 0),
        (["D1:2; D2:1"], {"D1:2", "D2:1"}, 0, 1),
        (["D2:1 D1:2"], {"D1:2", "D2:1"}, 0, 1),
        (["D:11:26"], {"D11:26"}, 0, 1),
        (["D30:05"], {"D30:5"}, 0, 1),
        (["D"], set(), 1, 0),
        (["D1:1; D9:9"], {"D1:1"}, 1, 1),
        (["D9:9"], set(), 1, 0),
        ("D1:1", {"D1:1"}, 0, 0),
        ([], set(), 0, 0),
        (None, set(), 0, 0),
    ],
)
def test_evidence_is_resolved_if_possible(evidence: object, ids: set[str], unresolved: int, repaired: int) -> None:
    assert parse_evidence(evidence, KNOWN) == (frozenset(ids), unresolved, repaired)


def sample() -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "session_1": [
                {"speaker": "Ida", "dia_id": "D1:1", "text": "I built a kite."},
                {"speaker": "Tom", "dia_id": "D1:2", "text": "Show me!"},
            ],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": [
            {"question": "What did Ida build?", "answer": "a kite", "evidence": ["D1:1"], "category": 4},
            {"question": "When?", "answer": 2023, "evidence": ["D:1:02; D1:1"], "category": 2},
            {"question": "Who flew?", "adversarial_answer": "Tom", "evidence": ["D"], "category": 5},
            {"question": "Why?", "evidence": [], "category": 3},
        ],
    }


def test_locomo_keeps_questions_with_gold_and_counts_the_rest(tmp_path: Path) -> None:
    (conversation,) = locomo(write_json(tmp_path, [sample()]))
    assert (conversation.id, conversation.ids, conversation.speakers) == ("conv-1", ("D1:1", "D1:2"), ("Ida", "Tom"))
    assert [(q.text, set(q.gold), q.category, q.after, q.answer) for q in conversation.questions] == [
        ("What did Ida build?", {"D1:1"}, "single-hop", None, "a kite"),
        ("When?", {"D1:1", "D1:2"}, "temporal", None, "2023"),
    ]
    assert (conversation.unresolved, conversation.repaired, conversation.left_out) == (1, 1, 2)


def test_lines_and_ids_are_parallel(tmp_path: Path) -> None:
    (conversation,) = locomo(write_json(tmp_path, sample()))
    assert [line.key for line in conversation.lines] == [f"locomo:conv-1:{id}" for id in conversation.ids]


def test_realtalk_is_read_by_chat(tmp_path: Path) -> None:
    chat = {
        "session_1": [{"clean_text": "Hi", "speaker": "Ida", "date_time": "29.12.2023, 10:04:11", "dia_id": "D1:1"}],
        "qa": [{"question": "Who said hi?", "answer": "Ida", "evidence": ["D1:1"], "category": 1}],
    }
    write_json(tmp_path, chat, "Chat_1.json")
    write_json(tmp_path, {**chat, "qa": []}, "Chat_2.json")
    one, two = realtalk(tmp_path)
    assert (one.id, one.questions[0].category, set(one.questions[0].gold)) == ("Chat_1", "multi-hop", {"D1:1"})
    assert (two.id, two.questions) == ("Chat_2", ())
    assert [conversation.id for conversation in realtalk(tmp_path, only=["Chat_2"])] == ["Chat_2"]


def haystack(**fields: object) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which tea do I like?",
        "answer": "mint",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["late", "early", "late"],
        "haystack_dates": ["2023/05/30 (Tue) 10:00", "2023/05/20 (Sat) 02:21", "2023/06/01 (Thu) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I like mint tea.", "has_answer": True},
                {"role": "assistant", "content": "Noted."},
            ],
            [{"role": "user", "content": "Hello"}],
            [{"role": "user", "content": "Hello again", "has_answer": False}],
        ],
        "answer_session_ids": ["late"],
        **fields,
    }


def test_longmemeval_sorts_sessions_by_date(tmp_path: Path) -> None:
    (conversation,) = longmemeval(write_json(tmp_path, [haystack()]))
    assert conversation.ids == ("early:1", "late:1", "late:2", "late#2:1")
    assert [line.role for line in conversation.lines] == ["user", "user", "assistant", "user"]
    assert [(set(q.gold), q.category, q.answer) for q in conversation.questions] == [
        ({"late:1"}, "single-session-user", "mint")
    ]
    assert len({line.key for line in conversation.lines}) == 4
    assert str(conversation.lines[2].said_at) == "2023-05-30 10:00:01+00:00"


def test_longmemeval_leaves_out_unanswerable_questions(tmp_path: Path) -> None:
    path = write_json(tmp_path, [haystack(question_id="q1_abs"), haystack()])
    unanswerable, answerable = longmemeval(path)
    assert (unanswerable.questions, unanswerable.left_out) == ((), 1)
    assert len(answerable.questions) == 1
    assert [conversation.id for conversation in longmemeval(path, only=["q1"])] == ["q1"]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({}, "is not a list"),
        ([3], "question 1: 3 is not an object"),
        ([haystack(haystack_dates=["2023/05/30"])], "q1: not as many sessions as ids and dates"),
        ([haystack(haystack_dates=["a", "b", "c"])], "'a' is not a date"),
        ([haystack(question=None)], '"question" is None'),
    ],
)
def test_an_invalid_longmemeval_file_is_refused_with_the_position(
    tmp_path: Path, value: object, complaint: str
) -> None:
    with pytest.raises(BadFile, match=complaint):
        longmemeval(write_json(tmp_path, value))


def test_an_unknown_choice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no 'q9'; choose from q1"):
        longmemeval(write_json(tmp_path, [haystack()]), only=["q9"])
