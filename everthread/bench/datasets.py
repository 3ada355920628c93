"""Loads public datasets as conversations with questions whose answers are in known lines.

Each loader reads one dataset as it was published. It knows no bank and measures nothing. A question whose gold can't be
resolved to a line is left out and counted; gold ids that name no line are dropped and counted.
"""

from __future__ import annotations

import re
from collections import Counter
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
_TURN_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")  # also "D:11:26"; int() normalises "D30:05"


def locomo(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load LoCoMo: two friends, and questions with the turns that answer them. `only` lists ids of samples."""
    conversations = []
    for name, sample in locomo_format.read_samples(path, only):
        lines = tuple(locomo_format.read_sample(sample, name, path))
        builder = ConversationBuilder(name, lines, tuple(str(line.metadata["dia_id"]) for line in lines))
        _add_questions(builder, sample, path, LOCOMO_CATEGORIES)
        conversations.append(builder.build())
    return conversations


def realtalk(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load REALTALK: one chat a file, or a folder of them.

    A chat without questions is loaded too, because it is asked the questions of another chat.
    """
    conversations = []
    for file in realtalk_format.find_chat_files(path, only):
        chat = realtalk_format.load_chat(file)
        lines = tuple(realtalk_format.read_chat(chat, file.stem, file))
        builder = ConversationBuilder(file.stem, lines, tuple(str(line.metadata["dia_id"]) for line in lines))
        _add_questions(builder, chat, file, REALTALK_CATEGORIES)
        conversations.append(builder.build())
    return conversations


def longmemeval(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load LongMemEval: one haystack and one question an item. The id of a line is "session-id:turn", turns from 1.

    The gold lines are the turns marked `has_answer`. Unanswerable questions (ids that end in _abs) are left out.
    Sessions are sorted by their dates.
    """
    records = [
        require_object(item, path, f"question {n}")
        for n, item in enumerate(read_list(load_json(path), path, "the file"), 1)
    ]
    named = [
        (require_text(record, "question_id", path, f"question {n}"), record) for n, record in enumerate(records, 1)
    ]
    check_chosen(only, [name for name, _ in named], path)
    return [_build_haystack(name, record, path) for name, record in named if not only or name in only]


def parse_evidence(evidence: object, known: AbstractSet[str]) -> tuple[frozenset[str], int, int]:
    """Parse the evidence of a LoCoMo question.

    Returns:
        The ids of lines, how many named no line, and how many strings had to be repaired.
    """
    entries = evidence if isinstance(evidence, list) else [evidence] if evidence else []
    gold: set[str] = set()
    unresolved = repaired = 0
    for entry in map(str, entries):
        ids = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(entry)]
        unknown = sum(id not in known for id in ids)
        unresolved += unknown + (not ids)
        repaired += unknown < len(ids) and ids != [entry]
        gold |= known & set(ids)
    return frozenset(gold), unresolved, repaired


def _add_questions(builder: ConversationBuilder, record: JsonObject, path: Path, categories: Mapping[int, str]) -> None:
    """Add the questions of a LoCoMo-like record."""
    known = frozenset(builder.ids)
    for number, item in enumerate(read_list(record.get("qa"), path, f"{builder.name}: qa"), 1):
        place = f"{builder.name}: qa[{number}]"
        qa = require_object(item, path, place)
        gold, unresolved, repaired = parse_evidence(qa.get("evidence"), known)
        builder.unresolved += unresolved
        builder.repaired += repaired
        category = qa.get("category")
        name = categories.get(category, str(category)) if isinstance(category, int) else str(category)
        answer = str(qa.get("answer", qa.get("adversarial_answer", "")))
        builder.add_question(Question(require_text(qa, "question", path, place), gold, name, None, answer))


def _build_haystack(name: str, record: JsonObject, path: Path) -> AnnotatedConversation:
    """Build the conversation of a LongMemEval question."""
    gold: set[str] = set()
    spoken: list[tuple[str, NewLine]] = []
    for session, said_at, turns in _read_sessions(name, record, path):
        for number, item in enumerate(turns, 1):
            turn = require_object(item, path, f"{name}: {session}")
            line = _build_line(turn, f"longmemeval:{name}:{session}:{number}", session, said_at, path)
            if line.text:
                spoken.append((f"{session}:{number}", line))
                gold.update([f"{session}:{number}"] if turn.get("has_answer") else [])
            said_at += timedelta(seconds=1)
    builder = ConversationBuilder(name, tuple(line for _, line in spoken), tuple(id for id, _ in spoken))
    text, category = require_text(record, "question", path, name), str(record.get("question_type"))
    gold_ids = frozenset() if name.endswith("_abs") else frozenset(gold)
    builder.add_question(Question(text, gold_ids, category, None, str(record.get("answer", ""))))
    return builder.build()


def _read_sessions(name: str, record: JsonObject, path: Path) -> Iterator[tuple[str, datetime, list[object]]]:
    """Yield (id, date, turns) by date. A session that occurs twice gets a number, so that its ids are unique."""
    columns = [read_list(record.get(f"haystack_{field}"), path, name) for field in ("session_ids", "dates", "sessions")]
    if len({len(column) for column in columns}) > 1:
        raise file_error(path, name, "not as many sessions as ids and dates", "give the file as it was published")
    occurrences: Counter[str] = Counter()
    sessions = []
    for id, date, turns in zip(*columns, strict=True):
        occurrences[str(id)] += 1
        unique = str(id) if occurrences[str(id)] == 1 else f"{id}#{occurrences[str(id)]}"
        sessions.append((unique, _parse_date(date, path, name), read_list(turns, path, f"{name}: {id}")))
    yield from sorted(sessions, key=lambda session: session[1])


def _parse_date(value: object, path: Path, name: str) -> datetime:
    try:
        return parse_moment(str(value), UTC)
    except ValueError:
        raise file_error(path, name, f"{shorten(value)} is not a date", "write it as 2023/05/30 (Tue) 23:40") from None


def _build_line(turn: JsonObject, key: str, session: str, said_at: datetime, path: Path) -> NewLine:
    role: Role = "assistant" if turn.get("role") == "assistant" else "user"
    return NewLine(require_text(turn, "content", path, key).strip(), role, role, said_at, session, key=key)
