"""Facts, the questions that they answer, and what was said before: three public datasets as goodai-ltm reads them.

Only the first records of a file count, and of these the ones that have what it takes: so the published denominators
came about (1,832 of QReCC's first 2,000; 2,000 of StrategyQA; 1,108 of MS MARCO's). It measures nothing.
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
    """A fact to be stored, and the question that should find it, with what was said before it."""

    fact: str
    question: str
    context: tuple[str, ...]


def strategyqa(path: Path, limit: int) -> list[FactItem]:
    """Load StrategyQA: the first of an entry's facts, its description before the question.

    path is a file, or the folder of train.json and dev.json, which then follow one another.
    """
    files = [path / name for name in STRATEGYQA if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise file_error(
            path, "", f"there is no {' or '.join(STRATEGYQA)} here", "give the dataset's folder, or one file"
        )
    entries = ((file, number, entry) for file in files for number, entry in _list(file))
    found = []
    for file, number, entry in islice(entries, limit):
        place = f"entry {number}"
        if facts := read_list(entry.get("facts"), file, "facts"):
            first, question = (
                require_text({"facts": facts[0]}, "facts", file, place),
                require_text(entry, "question", file, place),
            )
            found.append(FactItem(first, question, (_text(entry, "description", file, place),)))
    return found


def qrecc(path: Path, limit: int) -> list[FactItem]:
    """Load QReCC: the answer, the question as it was rewritten, the turns before. path is qrecc_test.json."""
    found = []
    for number, entry in islice(_list(path), limit):
        place = f"entry {number}"
        answer, question = _text(entry, "Answer", path, place), _text(entry, "Rewrite", path, place)
        if answer and question and entry.get("Context") is not None:
            found.append(FactItem(answer, question, _texts(entry["Context"], path, "Context")))
    return found


def msmarco(path: Path, limit: int) -> list[FactItem]:
    """Load MS MARCO v2.1: the longest answer to a query with a selected passage; the passages not selected come before
    it.

    path is dev_v2.1.json: an object of columns, each of them an object by row.
    """
    columns = require_object(load_json(path), path, "the file")
    named = {name: require_object(columns.get(name), path, name) for name in ("answers", "passages", "query")}
    found = []
    for row in islice(named["query"], limit):
        place = f"row {row}"
        answers = _texts(named["answers"].get(row), path, place)
        passages = [require_object(each, path, place) for each in read_list(named["passages"].get(row), path, place)]
        if answers and any(each.get("is_selected") for each in passages):
            others = (
                require_text(each, "passage_text", path, place) for each in passages if not each.get("is_selected")
            )
            found.append(FactItem(max(answers, key=len), require_text(named["query"], row, path, place), tuple(others)))
    return [item for item in found if item.fact]


READERS = {"strategyqa": strategyqa, "qrecc": qrecc, "msmarco": msmarco}


def _list(path: Path) -> Iterator[tuple[int, JsonObject]]:
    entries = load_json(path)
    if not isinstance(entries, list):
        raise file_error(path, "", f"{shorten(entries)} is no list", "give the file as it was published")
    for number, entry in enumerate(entries, 1):
        yield number, require_object(entry, path, f"entry {number}")


def _text(entry: JsonObject, field: str, path: Path, place: str) -> str:
    """A field that may be missing."""
    return "" if entry.get(field) is None else require_text(entry, field, path, place)


def _texts(value: object, path: Path, place: str) -> tuple[str, ...]:
    return tuple(require_text({place: each}, place, path, place) for each in read_list(value, path, place))
