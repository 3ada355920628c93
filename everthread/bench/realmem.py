"""Loads RealMem: a persona and an assistant over many short sessions. The module measures nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from everthread.bench.questions import AnnotatedConversation, ConversationBuilder, Question, check_chosen, read_list
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import JsonObject, file_error, load_json, require_object, require_text, shorten
from everthread.types import NewLine, Role

MIN_SNAPSHOT_CHARS = 20  # characters from which a snapshot identifies a turn that contains it


def realmem(path: Path, only: Collection[str] = ()) -> list[AnnotatedConversation]:
    """Load a file or a folder of them. The id of a line is "session-uuid:turn", turns from 1.

    The gold of a query are the turns that its answer used. Each `memory_used` is looked up among the extracted memories
    of its session, which name the turn that they came from. That turn is found by the memory's snapshot of its text,
    because `source_turn` is usually counted from 1, but sometimes from 0. If the snapshot was reworded, the turn is
    found by `source_turn` and its speaker. If that fails too, as for memories of a whole session, every turn of the
    session is gold. Only lines before the query count.

    Args:
        path: the file or folder.
        only: names of the personas to load; empty for all.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    named = {file.stem.partition("_dialogues")[0]: file for file in files}
    check_chosen(only, named, path)
    return [_Persona(name, file).conversation() for name, file in named.items() if not only or name in only]


def find_source_turns(memory: str, session: JsonObject, path: Path) -> list[int]:
    """Return the turns, from 1, that a memory of this session came from."""
    spoken = read_turns(session, path)
    for item in read_list(session.get("extracted_memory"), path, "extracted_memory"):
        record = require_object(item, path, "extracted_memory")
        if _normalize_spaces(record.get("content")) == _normalize_spaces(memory):
            return (
                _find_by_snapshot(record, spoken) or _find_by_number(record, spoken) or list(range(1, len(spoken) + 1))
            )
    return list(range(1, len(spoken) + 1))


def read_turns(session: JsonObject, path: Path) -> list[JsonObject]:
    """Return a session's turns."""
    place = str(session.get("session_uuid"))
    return [require_object(turn, path, place) for turn in read_list(session.get("dialogue_turns"), path, place)]


def _find_by_snapshot(record: JsonObject, spoken: list[JsonObject]) -> list[int]:
    snapshot = _normalize_spaces(record.get("source_content_snapshot"))
    texts = enumerate((_normalize_spaces(turn.get("content")) for turn in spoken), 1)
    return [
        n
        for n, text in texts
        if snapshot and (text == snapshot or (len(snapshot) > MIN_SNAPSHOT_CHARS and snapshot in text))
    ]


def _find_by_number(record: JsonObject, spoken: list[JsonObject]) -> list[int]:
    source, role = record.get("source_turn"), record.get("source_role_snapshot")
    numbers = (source, source + 1) if isinstance(source, int) else ()
    return [n for n in numbers if 1 <= n <= len(spoken) and spoken[n - 1].get("speaker") == role][:1]


def _normalize_spaces(value: object) -> str:
    return " ".join(str(value or "").split())


@dataclass(frozen=True, slots=True)
class _Persona:
    """Reads the file of one persona."""

    name: str
    path: Path

    def conversation(self) -> AnnotatedConversation:
        sessions = self._read_sessions()
        spoken = list(self._read_turns(sessions))
        builder = ConversationBuilder(self.name, tuple(line for _, line in spoken), tuple(id for id, _ in spoken))
        lines_before = {id: number for number, id in enumerate(builder.ids)}  # by the id of a line
        for uuid, session in sessions.items():
            self._add_questions(builder, uuid, read_turns(session, self.path), sessions, lines_before)
        return builder.build()

    def _read_sessions(self) -> dict[str, JsonObject]:
        file = require_object(load_json(self.path), self.path, "the file")
        records = [
            require_object(item, self.path, "dialogues")
            for item in read_list(file.get("dialogues"), self.path, "dialogues")
        ]
        return {
            require_text(record, "session_uuid", self.path, f"dialogue {n}"): record
            for n, record in enumerate(records, 1)
        }

    def _read_turns(self, sessions: Mapping[str, JsonObject]) -> Iterator[tuple[str, NewLine]]:
        """Yield the turns with their ids.

        A session has only a date: the first of a day begins at noon, each other ten minutes after the one before.
        """
        sessions_by_day: Counter[datetime] = Counter()
        for uuid, session in sessions.items():
            day = self._parse_day(session, uuid)
            started_at = day + timedelta(hours=12, minutes=10 * sessions_by_day[day])
            sessions_by_day[day] += 1
            for number, turn in enumerate(read_turns(session, self.path), 1):
                line = self._build_line(uuid, number, turn, started_at + timedelta(seconds=number - 1))
                if line.text:
                    yield f"{uuid}:{number}", line

    def _build_line(self, uuid: str, number: int, turn: JsonObject, said_at: datetime) -> NewLine:
        text = require_text(turn, "content", self.path, f"{uuid}: turn {number}").strip()
        role: Role = "assistant" if turn.get("speaker") == "Assistant" else "user"
        speaker = "Assistant" if role == "assistant" else self.name.replace("_", " ")
        return NewLine(text, speaker, role, said_at, uuid, key=f"realmem:{self.name}:{uuid}:{number}")

    def _parse_day(self, session: JsonObject, uuid: str) -> datetime:
        text = require_text(session, "current_time", self.path, uuid)
        try:
            return parse_moment(text, UTC)
        except ValueError:
            raise file_error(
                self.path, uuid, f'"current_time" is {shorten(text)}', "write it as 2025-12-19 (Friday)"
            ) from None

    def _add_questions(
        self,
        builder: ConversationBuilder,
        uuid: str,
        spoken: list[JsonObject],
        sessions: Mapping[str, JsonObject],
        lines_before: Mapping[str, int],
    ) -> None:
        """Add every query of a session, with the gold that the turn after it names."""
        for number, (turn, answer) in enumerate(zip(spoken, [*spoken[1:], {}], strict=True), 1):
            after = lines_before.get(f"{uuid}:{number}")
            if not turn.get("is_query") or after is None:
                continue
            details: dict[str, str] = {}
            for item in read_list(answer.get("memory_used"), self.path, uuid):
                used = require_object(item, self.path, uuid)
                sources = self._find_sources(used, sessions)
                earlier = [id for id in sources if lines_before.get(id, after) < after]
                builder.unresolved += not earlier
                for id in earlier:
                    details[id] = f"{details.get(id, '')} {used.get('content')}"
            text, category = str(turn["content"]).strip(), str(turn.get("category_name"))
            reply = str(answer.get("content", ""))
            builder.add_question(Question(text, frozenset(details), category, after, reply, details))

    def _find_sources(self, used: JsonObject, sessions: Mapping[str, JsonObject]) -> list[str]:
        uuid = str(used.get("session_uuid"))
        return [f"{uuid}:{n}" for n in find_source_turns(str(used.get("content")), sessions.get(uuid, {}), self.path)]
