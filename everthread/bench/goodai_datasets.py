"""Loads three public datasets as goodai-ltm does: facts, the questions that they answer, and the texts before.

Only the first records of a file are read, and incomplete ones are left out, which gives the published denominators:
1,832 of QReCC's first 2,000, 2,000 of StrategyQA, and 1,108 of MS MARCO's. The module measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from everthread.bench.questions import read_list
from everthread.transfer.files import JsonObject, file_error, load_json, require_object, require_text, shorten

STRATEGYQA = ("train.json", "dev.json")


@dataclass(frozen=True, slots=True)
class FactItem:
    """A fact to be stored, the question that should find it, and the texts said before the question."""

    fact: str
    question: str
    context: tuple[str, ...]


def strategyqa(path: Path, limit: int) -> list[FactItem]:
    """Load StrategyQA: the first of an entry's facts, and its description as the text before the question.

    Args:
        path: a file, or the folder of train.json and dev.json, which are read in this order.
        limit: number of entries to read.
    """
    files = [path / name for name in STRATEGYQA if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise file_error(
            path, "", f"there is no {' or '.join(STRATEGYQA)} here", "give the dataset's folder, or one file"
        )
    entries = ((file, number, entry) for file in files for number, entry in _read_entries(file))
    items = []
    for file, number, entry in islice(entries, limit):
        place = f"entry {number}"
        if facts := read_list(entry.get("facts"), file, "facts"):
            fact = require_text({"facts": facts[0]}, "facts", file, place)
            question = require_text(entry, "question", file, place)
            items.append(FactItem(fact, question, (_optional_text(entry, "description", file, place),)))
    return items


def qrecc(path: Path, limit: int) -> list[FactItem]:
    """Load QReCC: the answer, the rewritten question, and the turns before it.

    Args:
        path: the file qrecc_test.json.
        limit: number of entries to read.
    """
    items = []
    for number, entry in islice(_read_entries(path), limit):
        place = f"entry {number}"
        answer, question = (_optional_text(entry, field, path, place) for field in ("Answer", "Rewrite"))
        if answer and question and entry.get("Context") is not None:
            items.append(FactItem(answer, question, _require_texts(entry["Context"], path, "Context")))
    return items


def msmarco(path: Path, limit: int) -> list[FactItem]:
    """Load MS MARCO v2.1: the longest answer to a query with a selected passage, and the unselected passages.

    Args:
        path: the file dev_v2.1.json: an object of columns, each of which is an object by row.
        limit: number of rows to read.
    """
    columns = require_object(load_json(path), path, "the file")
    answers_by_row, passages_by_row, queries = (
        require_object(columns.get(name), path, name) for name in ("answers", "passages", "query")
    )
    items = []
    for row in islice(queries, limit):
        place = f"row {row}"
        answers = _require_texts(answers_by_row.get(row), path, place)
        passages = [require_object(item, path, place) for item in read_list(passages_by_row.get(row), path, place)]
        unselected = [passage for passage in passages if not passage.get("is_selected")]
        if answers and len(unselected) < len(passages):
            context = tuple(require_text(passage, "passage_text", path, place) for passage in unselected)
            items.append(FactItem(max(answers, key=len), require_text(queries, row, path, place), context))
    return [item for item in items if item.fact]


READERS = {"strategyqa": strategyqa, "qrecc": qrecc, "msmarco": msmarco}


def _read_entries(path: Path) -> Iterator[tuple[int, JsonObject]]:
    """Yield the objects of a list with their numbers from 1."""
    entries = load_json(path)
    if not isinstance(entries, list):
        raise file_error(path, "", f"{shorten(entries)} is not a list", "give the file as it was published")
    for number, entry in enumerate(entries, 1):
        yield number, require_object(entry, path, f"entry {number}")


def _optional_text(entry: JsonObject, field: str, path: Path, place: str) -> str:
    """Return a text field; empty if it is missing."""
    return "" if entry.get(field) is None else require_text(entry, field, path, place)


def _require_texts(value: object, path: Path, place: str) -> tuple[str, ...]:
    return tuple(require_text({place: item}, place, path, place) for item in read_list(value, path, place))
