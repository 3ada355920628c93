"""Public datasets as conversations, and questions whose answers are in known lines.

Each loader reads one dataset as it was published. It knows no bank and measures nothing. A question whose gold can't be
resolved to a line is left out and counted; gold ids that name no line are dropped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from pathlib import Path

from everthread.bench.madial import madial
from everthread.bench.questions import AnnotatedConversation, ConversationBuilder, Question, check_chosen, read_list
from everthread.bench.realmem import realmem
from everthread.transfer import locomo as locomo_format
from everthread.transfer import realtalk as realtalk_format
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import JsonObject, file_error, load_json, require_object, require_text, shorten
from everthread.types import NewLine, Role

__all__ = [
    "AnnotatedConversation",
    "Question",
    "locomo",
    "longmemeval",
    "madial",
    "parse_evidence",
    "realmem",
    "realtalk",
]

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
REALTALK_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
_TURN_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")  # also "D:11:26"; int() takes care of "D30:05"


def locomo(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load LoCoMo: two friends, and questions with the turns that answer them. only names samples."""
    found = []
    for name, sample in locomo_format.read_samples(path, only):
        lines = tuple(locomo_format.read_sample(sample, name, path))
        gathering = ConversationBuilder(name, lines, tuple(str(line.metadata["dia_id"]) for line in lines))
        _ask(gathering, sample, path, LOCOMO_CATEGORIES)
        found.append(gathering.build())
    return found


def realtalk(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load REALTALK: one chat a file, or a folder of them. A chat without questions remains: those of others are put to
    it."""
    found = []
    for file in realtalk_format.find_chat_files(path, only):
        chat = realtalk_format.load_chat(file)
        lines = tuple(realtalk_format.read_chat(chat, file.stem, file))
        gathering = ConversationBuilder(file.stem, lines, tuple(str(line.metadata["dia_id"]) for line in lines))
        _ask(gathering, chat, file, REALTALK_CATEGORIES)
        found.append(gathering.build())
    return found


def longmemeval(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """LongMemEval: one haystack and one question an item. The id of a line is "session-id:turn", turns from 1.

    Gold are the turns marked `has_answer`. Questions about what was never said (ids ending in _abs) have none and are
    left out. Sessions are put in the order of their dates.
    """
    records = [
        require_object(item, path, f"question {n}")
        for n, item in enumerate(read_list(load_json(path), path, "the file"), 1)
    ]
    named = [
        (require_text(record, "question_id", path, f"question {n}"), record) for n, record in enumerate(records, 1)
    ]
    check_chosen(only, [name for name, _ in named], path)
    return [_haystack(name, record, path) for name, record in named if not only or name in only]


def parse_evidence(evidence: object, known: AbstractSet[str]) -> tuple[frozenset[str], int, int]:
    """Parse the evidence of a LoCoMo question.

    Returns:
        The ids of lines, how many named no line, and how many strings had to be repaired.
    """
    entries = evidence if isinstance(evidence, list) else [evidence] if evidence else []
    gold: set[str] = set()
    unresolved = mended = 0
    for entry in map(str, entries):
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(entry)]
        lost = sum(id not in known for id in found)
        unresolved += lost + (not found)
        mended += lost < len(found) and found != [entry]
        gold |= known & set(found)
    return frozenset(gold), unresolved, mended


def _ask(gathering: ConversationBuilder, record: JsonObject, path: Path, categories: Mapping[int, str]) -> None:
    """Add the questions of a LoCoMo-like record."""
    known = frozenset(gathering.ids)
    for number, item in enumerate(read_list(record.get("qa"), path, f"{gathering.name}: qa"), 1):
        place = f"{gathering.name}: qa[{number}]"
        qa = require_object(item, path, place)
        gold, unresolved, mended = parse_evidence(qa.get("evidence"), known)
        gathering.unresolved += unresolved
        gathering.repaired += mended
        category = qa.get("category")
        name = categories.get(category, str(category)) if isinstance(category, int) else str(category)
        answer = str(qa.get("answer", qa.get("adversarial_answer", "")))
        gathering.add_question(Question(require_text(qa, "question", path, place), gold, name, None, answer))


def _haystack(name: str, record: JsonObject, path: Path) -> AnnotatedConversation:
    gold: set[str] = set()
    spoken: list[tuple[str, NewLine]] = []
    for session, said_at, turns in _sessions(name, record, path):
        for number, item in enumerate(turns, 1):
            turn = require_object(item, path, f"{name}: {session}")
            line = _turn(turn, f"longmemeval:{name}:{session}:{number}", session, said_at, path)
            if line.text:
                spoken.append((f"{session}:{number}", line))
                gold.update([f"{session}:{number}"] if turn.get("has_answer") else [])
            said_at += timedelta(seconds=1)
    gathering = ConversationBuilder(name, tuple(line for _, line in spoken), tuple(id for id, _ in spoken))
    text, category = require_text(record, "question", path, name), str(record.get("question_type"))
    wanted = frozenset() if name.endswith("_abs") else frozenset(gold)
    gathering.add_question(Question(text, wanted, category, None, str(record.get("answer", ""))))
    return gathering.build()


def _sessions(name: str, record: JsonObject, path: Path) -> Iterator[tuple[str, datetime, list[object]]]:
    """Yield (id, date, turns) by date. A session that occurs twice gets a number, so that its ids are unique."""
    columns = [read_list(record.get(f"haystack_{field}"), path, name) for field in ("session_ids", "dates", "sessions")]
    if len({len(column) for column in columns}) > 1:
        raise file_error(path, name, "not as many sessions as ids and dates", "give the file as it was published")
    times: dict[str, int] = {}
    found = []
    for id, date, turns in zip(*columns, strict=True):
        times[str(id)] = times.get(str(id), 0) + 1
        unique = str(id) if times[str(id)] == 1 else f"{id}#{times[str(id)]}"
        found.append((unique, _date(date, path, name), read_list(turns, path, f"{name}: {id}")))
    yield from sorted(found, key=lambda session: session[1])


def _date(value: object, path: Path, name: str) -> datetime:
    try:
        return parse_moment(str(value), UTC)
    except ValueError:
        raise file_error(path, name, f"{shorten(value)} is no date", "write it as 2023/05/30 (Tue) 23:40") from None


def _turn(turn: JsonObject, key: str, session: str, said_at: datetime, path: Path) -> NewLine:
    role: Role = "assistant" if turn.get("role") == "assistant" else "user"
    return NewLine(require_text(turn, "content", path, key).strip(), role, role, said_at, session, key=key)
