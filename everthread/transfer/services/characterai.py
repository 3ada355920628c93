"""Reads chats of Character.AI, as CAI Tools and copies of its API's answers have them. The service exports none itself.

CAI Tools writes `{"histories": {"histories": [{"msgs": […]}]}}`; the API answers with pages of `turns`, newest first.
The versions of a reply are its candidates, of which the primary one is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_records, get_text, parse_iso

_EARLIEST = datetime.min.replace(tzinfo=UTC)


def recognises(export: Export) -> bool:
    """Return whether there are chats of Character.AI."""
    return any(_has_histories(file) or _has_turns(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, each from all its pages."""
    for file in filter(_has_histories, export.files):
        value = get_record(file.load())
        for number, history in enumerate(get_list(get_record(value, "histories"), "histories"), 1):
            try:
                yield build_history(history, _find_name(value))
            except BadFile as error:
                yield BrokenConversation(f"{file.name}, chat {number}", str(error))
    chats: dict[str, list[ExportFile]] = {}
    for file in filter(_has_turns, export.files):
        chats.setdefault(_find_chat(_first_page(file.head)) or _stem(file), []).append(file)
    for chat, files in chats.items():
        try:
            yield build_chat(chat, [turn for file in files for page in _list_pages(file.load()) for turn in page])
        except BadFile as error:
            yield BrokenConversation(chat, str(error))


def build_history(history: object, character: str | None = None) -> Conversation:
    """Build the conversation of a chat of CAI Tools.

    Args:
        history: the chat.
        character: the name of the character, if the file has it.

    Raises:
        BadFile: it has no list of messages.
    """
    value = get_record(history)
    if not isinstance(value.get("msgs"), list):
        raise BadFile("the chat has no list of messages (msgs)")
    rows = [(row, parse_iso(row.get("created"))) for row in get_records(value, "msgs")]
    skipped = Counter({"broken messages": len(get_list(value, "msgs")) - len(rows)})
    if rows and (rows[0][1] or _EARLIEST) > (rows[-1][1] or rows[0][1] or _EARLIEST):
        rows.reverse()
    messages: list[Message] = []
    for row, said_at in rows:
        is_human = get_record(row, "src").get("is_human") is True
        name = get_text(get_record(row, "src"), "name") or ("user" if is_human else character or "assistant")
        if row.get("deleted") is True or not get_text(row, "text"):
            skipped["deleted messages" if row.get("deleted") else "messages without text"] += 1
        else:
            messages.append(Message(get_text(row, "text"), "user" if is_human else "assistant", name, said_at))
    character = character or next((message.speaker for message in messages if message.role == "assistant"), None)
    chat = get_text(value, "external_id", "id") or _name_history(character, messages)
    return _describe(chat, messages, character, skipped)


def build_chat(chat: str, turns: Sequence[object]) -> Conversation:
    """Build the conversation of a chat of the API.

    Args:
        chat: the id of the chat.
        turns: its turns, from the newest to the oldest.

    Raises:
        BadFile: none of them is a turn.
    """
    records = [turn for turn in turns if isinstance(turn, dict) and isinstance(turn.get("candidates"), list)]
    if turns and not records:
        raise BadFile("no entry is a turn of Character.AI")
    skipped = Counter({"broken messages": len(turns) - len(records)})
    ordered = records[::-1]
    ordered.sort(key=lambda turn: parse_iso(turn.get("create_time")) or _EARLIEST)
    messages: list[Message] = []
    parent: str | None = None
    for turn in ordered:
        candidates = list(_build_candidates(turn, parent, skipped))
        messages += candidates
        parent = next((message.id for message in candidates if message.shown), parent)
    character = next((message.speaker for message in messages if message.role == "assistant"), None)
    return _describe(chat, messages, character, skipped)


def _describe(chat: str, messages: Sequence[Message], character: str | None, skipped: Counter[str]) -> Conversation:
    owner = next((message.speaker for message in messages if message.role == "user"), None)
    return Conversation(chat, messages, title=character, skipped=+skipped, owner=owner)


def _build_candidates(turn: Record, parent: str | None, skipped: Counter[str]) -> Iterator[Message]:
    """Yield the versions of a turn, and count those without words."""
    author = get_record(turn, "author")
    is_human = author.get("is_human") is True
    name = get_text(author, "name") or ("user" if is_human else "assistant")
    turn_id, candidates = get_text(get_record(turn, "turn_key"), "turn_id"), get_records(turn, "candidates")
    primary = get_text(turn, "primary_candidate_id")
    if primary not in [candidate.get("candidate_id") for candidate in candidates]:
        primary = get_text(candidates[0], "candidate_id") if candidates else ""
    for number, candidate in enumerate(candidates):
        text, candidate_id = get_text(candidate, "raw_content"), get_text(candidate, "candidate_id")
        if not text:
            skipped["messages without text"] += 1
            continue
        said_at = parse_iso(candidate.get("create_time")) or parse_iso(turn.get("create_time"))
        shown = candidate_id == primary if primary else number == 0
        message_id = candidate_id or f"{turn_id or hash_parts(parent, text)}:{number}"
        metadata = {"turn": turn_id} if turn_id else {}
        yield Message(text, "user" if is_human else "assistant", name, said_at, message_id, parent, shown, metadata)


def _has_histories(file: ExportFile) -> bool:
    return isinstance(get_record(file.head, "histories").get("histories"), list)


def _has_turns(file: ExportFile) -> bool:
    turns = _first_page(file.head).get("turns")
    return isinstance(turns, list) and (not turns or {"author", "candidates"} <= get_record(turns[0]).keys())


def _first_page(value: object) -> Record:
    first = get_record(value[0] if isinstance(value, list) and value else value)
    return {"turns": value} if "candidates" in first else first


def _list_pages(value: object) -> Iterator[Sequence[object]]:
    """Yield the turns of each page in a file, which has one page, a list of pages, or the turns alone."""
    if isinstance(value, list) and "candidates" in get_record(value[0] if value else None):
        yield value
        return
    for page in value if isinstance(value, list) else [value]:
        yield get_list(get_record(page), "turns")


def _find_chat(page: Record) -> str:
    """Return the id of the chat that a page is of; "" if it is not in the first turn."""
    turns = get_records(page, "turns")
    return get_text(page, "chat_id") or (get_text(get_record(turns[0], "turn_key"), "chat_id") if turns else "")


def _find_name(value: Record) -> str | None:
    """Return the name of the character in a file of CAI Tools."""
    return get_text(get_record(value, "info", "character"), "name", "participant__name") or None


def _name_history(character: str | None, messages: Sequence[Message]) -> str:
    """Return an id for a chat without one, which is the same in every export of it."""
    first = messages[0] if messages else None
    return f"{character or 'chat'}-{hash_parts(first and str(first.said_at), first and first.text)[:8]}"


def _stem(file: ExportFile) -> str:
    return PurePosixPath(file.name).stem
