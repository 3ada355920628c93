from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.bench.datasets import madial
from everthread.bench.madial import build_query
from everthread.errors import BadFile

DIALOGUE: dict[str, Any] = {
    "dialogue": [
        "<BOD>\n",
        '<Bart>: "I lost my hat."\n',
        '"Was it red?"\n',
        '<Bart>: "Yes!"\n',
        '<Assistant>: "As in May."\n',
        "<EOD>\n",
    ],
    "test-turn": [4, 2],
    "relevant-id": [3, 99],
    "user-id": 1,
}
MEMORIES = [
    {"3": {"time": "2023-05-02", "scene": "Others", "emotion": "Sad", "event": "The red hat flew away."}},
    {"1": {"time": "2023-06-02", "scene": "Others", "emotion": "Happy", "event": "Bart swam."}},
    {"2": {"time": "2022-06-02", "scene": "Others", "emotion": "Happy", "event": "Lisa swam."}},
]


def write_dataset(
    folder: Path, language: str = "en", dialogues: object = (DIALOGUE,), memories: object = MEMORIES
) -> Path:
    folder.mkdir(exist_ok=True)
    for kind, records in (("dialogue", dialogues), ("memory", memories)):
        assert isinstance(records, list | tuple)
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"MADial-Bench-{language}-{kind}.json").write_text(text, encoding="utf-8")
    return folder


def test_the_query_is_the_dialogue_before_its_first_test_turn() -> None:
    assert build_query(DIALOGUE, Path("f")) == ("Bart: I lost my hat.", "Assistant: Was it red?")
    later = {**DIALOGUE, "test-turn": [4]}
    assert build_query(later, Path("f"))[0] == "Bart: I lost my hat.\nAssistant: Was it red?\nBart: Yes!"


def test_a_bank_holds_the_memories_of_one_child_by_date(tmp_path: Path) -> None:
    (conversation,) = madial(write_dataset(tmp_path))
    assert (conversation.id, conversation.ids) == ("madial-en-1", ("3", "1"))
    assert [(line.text, line.session, line.key) for line in conversation.lines] == [
        ("The red hat flew away.", "memory-3", "madial:en:3"),
        ("Bart swam.", "memory-1", "madial:en:1"),
    ]
    assert (set(conversation.questions[0].gold), conversation.unresolved, conversation.left_out) == ({"3"}, 1, 0)


def test_chinese_memories_have_their_own_user_and_are_in_a_folder(tmp_path: Path) -> None:
    memories = [{"3": {"time": "2023-05-02", "event": "帽子飞走了。", "user-id": 2}}]
    other = {**DIALOGUE, "user-id": 2, "relevant-id": [3]}
    write_dataset(tmp_path / "ch", "zh", [DIALOGUE, other], memories)
    bart, lisa = madial(tmp_path, "zh")
    assert (len(bart.lines), bart.left_out, bart.unresolved) == (0, 1, 2)
    assert (lisa.lines[0].text, lisa.lines[0].speaker, len(lisa.questions)) == ("帽子飞走了。", "Lisa", 1)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"test-turn": []}, '"test-turn" is \\[\\]'),
        ({"test-turn": [99]}, '"test-turn" is \\[99\\]'),
        ({"user-id": "Bart"}, "\"user-id\" is 'Bart'"),
        ({"dialogue": "hello"}, "'hello' is not a list"),
    ],
)
def test_a_bad_dialogue_is_refused(tmp_path: Path, fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadFile, match=complaint):
        madial(write_dataset(tmp_path, dialogues=[{**DIALOGUE, **fields}]))


def test_bad_memories_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no MADial-Bench-en-memory.json here".replace(".", r"\.")):
        madial(tmp_path)
    with pytest.raises(BadFile, match="\"time\" is 'May'"):
        madial(write_dataset(tmp_path, memories=[{"3": {"time": "May", "event": "A hat."}}]))
    with pytest.raises(BadFile, match="'x' is not a memory's number"):
        madial(write_dataset(tmp_path, memories=[{"x": {}}]))
