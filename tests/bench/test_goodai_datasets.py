from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.bench.goodai_datasets import FactItem, msmarco, qrecc, strategyqa
from everthread.errors import BadFile


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def entry(name: str, **more: Any) -> dict[str, Any]:
    facts = [f"A {name} is made of wood.", f"A {name} floats."]
    return {"question": f"Does a {name} sink?", "description": f"A kind of {name}", "facts": facts, **more}


def turn(name: str, **more: Any) -> dict[str, Any]:
    return {
        "Context": ["Tell me about ships.", "They float."],
        "Question": "And it?",
        "Rewrite": f"Does a {name} float?",
        "Answer": f"A {name} floats.",
        **more,
    }


def item(name: str) -> FactItem:
    return FactItem(f"A {name} is made of wood.", f"Does a {name} sink?", (f"A kind of {name}",))


def test_of_strategyqa_the_first_fact_counts_and_the_description_comes_before(tmp_path: Path) -> None:
    path = write_json(tmp_path / "dev.json", [entry("raft"), entry("kite", facts=[]), entry("oar")])
    assert strategyqa(path, 9) == [item("raft"), item("oar")]


def test_a_folder_of_strategyqa_is_read_from_train_on_to_dev(tmp_path: Path) -> None:
    write_json(tmp_path / "dev.json", [entry("oar"), entry("kite")])
    write_json(tmp_path / "train.json", [entry("raft")])
    assert strategyqa(tmp_path, 2) == [item("raft"), item("oar")]


def test_of_qrecc_the_rewritten_question_counts_and_turns_without_answer_are_left_out(tmp_path: Path) -> None:
    turns = [turn("raft"), turn("kite", Answer=""), turn("oar", Context=[]), turn("ferry")]
    context = ("Tell me about ships.", "They float.")
    items = qrecc(write_json(tmp_path / "qrecc_test.json", turns), 3)
    raft = FactItem("A raft floats.", "Does a raft float?", context)
    assert items == [raft, FactItem("A oar floats.", "Does a oar float?", ())]


def columns(**more: Any) -> dict[str, Any]:
    passages = [
        {"is_selected": 0, "passage_text": "Ships.", "url": "u"},
        {"is_selected": 1, "passage_text": "Rafts float.", "url": "u"},
        {"is_selected": 0, "passage_text": "Kites.", "url": "u"},
    ]
    unselected = [{**passage, "is_selected": 0} for passage in passages]
    return {
        "answers": {"7": ["Yes", "It floats."], "8": ["No"], "9": [""], "10": ["Late"]},
        "passages": {"7": passages, "8": unselected, "9": passages, "10": passages},
        "query": {"7": "does a raft float", "8": "and a stone", "9": "and", "10": "later"},
        **more,
    }


def test_of_ms_marco_rows_with_a_selected_passage_count_and_their_longest_answer(tmp_path: Path) -> None:
    items = msmarco(write_json(tmp_path / "dev_v2.1.json", columns()), 3)
    assert items == [FactItem("It floats.", "does a raft float", ("Ships.", "Kites."))]


@pytest.mark.parametrize(
    ("read", "value", "complaint"),
    [
        (strategyqa, {}, "is not a list"),
        (strategyqa, [entry("raft", question=None)], 'entry 1: "question" is None'),
        (strategyqa, [entry("raft", facts=[3])], 'entry 1: "facts" is 3'),
        (qrecc, [3], "3 is not an object"),
        (qrecc, [turn("raft", Context="hello")], "'hello' is not a list"),
        (qrecc, [turn("raft", Answer=3)], '"Answer" is 3'),
        (msmarco, {}, "None is not an object"),
        (msmarco, columns(answers={"7": "Yes"}), "'Yes' is not a list"),
        (msmarco, columns(query={"7": 3}), '"7" is 3'),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, read: Any, value: object, complaint: str) -> None:
    with pytest.raises(BadFile, match=complaint):
        read(write_json(tmp_path / "file.json", value), 9)


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"no train.json or dev.json here"):
        strategyqa(tmp_path, 9)
