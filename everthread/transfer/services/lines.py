"""Turns the conversations of an export into lines of a bank.

A line is identified by the service, the conversation and the message, so that a later or overlapping export adds only
what is new. Messages that the service does not show, because they were edited or regenerated away, become retracted
lines, retracted at the time at which they were said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from everthread.bank.line_validation import MAX_NAME_CHARS, clean_line, replace_unstorable
from everthread.bank.validation import MAX_TITLE_CHARS, check_session_metadata, check_unit
from everthread.errors import BadFile, BadInput
from everthread.transfer.bank_file import SessionLabel
from everthread.transfer.files import PLACEHOLDER_TIME, KeyGenerator, hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import open_export
from everthread.transfer.services.order import Placed, order_messages
from everthread.transfer.services.registry import UNIQUE_IDS, load_reader
from everthread.types import JSONValue, NewLine, NewUnit, Role

_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class Findings:
    """The findings of reading an export, apart from its lines.

    Attributes:
        services: the services whose export it is; none for a file in another format.
        skipped: the number of entries without a line, by kind.
        sessions: the titles and the metadata of the conversations, by id.
        broken: why conversations can't be read, by title or place.
        owners: the speakers whose export it is, with the number of their conversations.
        chosen: those of the names in `ReadOptions.only` that a conversation has.
        titles: all titles, if conversations are chosen by name.
        units: facts and notes that another memory wrote.
    """

    services: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    sessions: dict[str, SessionLabel] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    owners: Counter[str] = field(default_factory=Counter)
    chosen: set[str] = field(default_factory=set)
    titles: dict[str, None] = field(default_factory=dict)
    units: list[NewUnit] = field(default_factory=list)

    def clear(self) -> None:
        """Forget everything, before the export is read again."""
        lists = self.services, self.units
        for found in (*lists, self.skipped, self.sessions, self.broken, self.owners, self.chosen, self.titles):
            found.clear()


def read_lines(
    paths: Sequence[Path],
    services: Collection[str],
    options: ReadOptions,
    findings: Findings,
    left_out: Collection[Path] = (),
) -> Iterator[NewLine]:
    """Yield the lines of an export, those of a conversation one after the other.

    Args:
        paths: the files, archives and folders of the export.
        services: the services whose files are read.
        options: how they are read.
        findings: filled with what is found, from the beginning.
        left_out: files and archives that are not read.

    Raises:
        BadFile: a file is not in the form in which the service writes it, or, if `options.strict`, a conversation.
    """
    findings.clear()
    findings.services += services
    with open_export(paths, left_out) as export:
        for service in services:
            for entry in load_reader(service).read(export, options):
                read = _read_entry(service, entry, options, findings)
                if not isinstance(read, BrokenConversation):
                    yield from read
                elif options.strict:
                    raise BadFile(f"conversation {read.name!r}: {read.reason}", path=paths[0])
                else:
                    findings.broken[_number_name(read.name, findings.broken)] = read.reason


def _read_entry(
    service: str, entry: Entry, options: ReadOptions, findings: Findings
) -> list[NewLine] | BrokenConversation:
    """Return the lines of an entry, and note what was found; or what is wrong with it."""
    try:
        if isinstance(entry, NewUnit):
            findings.units += [check_unit(entry)] if _is_unit_chosen(entry, options, findings) else []
            return []
        return _convert(service, entry, options, findings) if isinstance(entry, Conversation) else entry
    except BadInput as error:
        name = (entry.title or entry.id) if isinstance(entry, Conversation) else "a fact or a note"
        return BrokenConversation(name, str(error))


def _number_name(name: str, used: Collection[str]) -> str:
    """Return a name, with a number if it is used."""
    return f"{name} ({len(used) + 1})" if name in used else name


def _convert(service: str, conversation: Conversation, options: ReadOptions, findings: Findings) -> list[NewLine]:
    """Return the lines of a conversation, and note what was found.

    Raises:
        BadInput: a bank can't store one.
    """
    if not _is_chosen(service, conversation, options, findings):
        return []
    skipped = Counter(conversation.skipped)
    located = [_localize(message, options.tz) for message in conversation.messages]
    placed = order_messages(located, skipped)
    lines = _build_lines(service, conversation, placed, options)
    if lines:
        metadata = {"source": service, **{name: _clean(value) for name, value in conversation.metadata.items()}}
        title = " ".join(replace_unstorable(conversation.title or "")[0].split())[:MAX_TITLE_CHARS]
        findings.sessions[lines[0].session or ""] = SessionLabel(title or None, check_session_metadata(metadata) or {})
    else:
        skipped["empty conversations"] += 1
    if conversation.owner is not None:
        findings.owners[options.me or conversation.owner] += 1
    findings.skipped += skipped
    return lines


def _is_chosen(service: str, conversation: Conversation, options: ReadOptions, findings: Findings) -> bool:
    """Return whether a conversation is to be imported; count one that is excluded."""
    own_names = conversation.id, _name_session(service, conversation), conversation.title
    texts = (*own_names, *conversation.metadata.values())
    names = {text.casefold() for text in texts if isinstance(text, str)}
    chosen = {name for name in options.only if name.casefold() in names}
    findings.chosen |= chosen
    if options.only:
        findings.titles[conversation.title or conversation.id] = None
        return bool(chosen)
    if conversation.excluded:
        findings.skipped[conversation.excluded] += 1
    return not conversation.excluded


def _name_session(service: str, conversation: Conversation) -> str:
    """Return the id of a conversation's session, which no other service's conversation has."""
    return conversation.id if service in UNIQUE_IDS else f"{service}:{conversation.id}"


def _is_unit_chosen(unit: NewUnit, options: ReadOptions, findings: Findings) -> bool:
    names = {value.casefold() for value in unit.metadata.values() if isinstance(value, str)}
    chosen = {name for name in options.only if name.casefold() in names}
    findings.chosen |= chosen
    return bool(chosen) or not options.only


def _localize(message: Message, tz: tzinfo) -> Message:
    said_at = message.said_at
    return message if said_at is None or said_at.tzinfo else replace(message, said_at=said_at.replace(tzinfo=tz))


def _build_lines(
    service: str, conversation: Conversation, placed: Sequence[Placed], options: ReadOptions
) -> list[NewLine]:
    """Return the lines of messages in their order. Raises BadLine if a bank can't store one."""
    session = _limit(_name_session(service, conversation))
    keys = _make_keys(service, conversation, placed)
    times: list[datetime | None] = []
    lines: list[NewLine] = []
    is_linear = all(place.parent is None for place in placed)
    for index, (place, key) in enumerate(zip(placed, keys, strict=True)):
        message, parent = place.message, place.parent
        before = index - 1 if is_linear and index else parent
        said_at = message.said_at or _find_time(conversation, times, before, options.tz)
        times.append(said_at)
        speaker, role = _name_speaker(message, conversation, options)
        line = NewLine(
            replace_unstorable(message.text)[0],
            speaker,
            role,
            said_at,
            session,
            message.metadata,
            None if parent is None else keys[parent],
            key,
            retracted_at=None if message.shown else said_at or PLACEHOLDER_TIME,
            undated=said_at is None,
        )
        clean_line(line, PLACEHOLDER_TIME)
        lines.append(line)
    return lines


def _find_time(
    conversation: Conversation, times: Sequence[datetime | None], before: int | None, tz: tzinfo
) -> datetime | None:
    """Return the time of a message without one: just after the message before it, or else its conversation's."""
    if before is not None and (earlier := times[before]) is not None:
        try:
            return earlier + _MICROSECOND
        except OverflowError:  # the last moment of the year 9999
            return earlier
    started_at = conversation.started_at
    return started_at if started_at is None or started_at.tzinfo else started_at.replace(tzinfo=tz)


def _make_keys(service: str, conversation: Conversation, placed: Sequence[Placed]) -> list[str]:
    """Return the key of each message: from its id, or else from its time, its speaker and its text."""
    generator = KeyGenerator()
    namespace = conversation.id if conversation.namespace is None else conversation.namespace
    keys: list[str] = []
    for place in placed:
        message = place.message
        if (name := message.id) is None:
            said_at = message.said_at and message.said_at.isoformat()
            name = generator.next_key(said_at, message.speaker, message.text, timed=said_at is not None)
        keys.append(_limit(f"{service}:{namespace}:{name}"))
    return keys


def _limit(name: str) -> str:
    """Return a name as a bank stores it, or its hash if it is too long."""
    return replace_unstorable(name)[0] if len(name) <= MAX_NAME_CHARS else hash_parts(name)


def _clean(value: JSONValue) -> JSONValue:
    return replace_unstorable(value)[0] if isinstance(value, str) else value


def _name_speaker(message: Message, conversation: Conversation, options: ReadOptions) -> tuple[str, Role]:
    """Return the name and the role of the speaker of a message."""
    speaker, role = " ".join(message.speaker.split())[:MAX_NAME_CHARS] or message.role, message.role
    if message.speaker in options.assistant:
        return speaker, "assistant"
    if message.speaker == conversation.assistant and len(options.assistant) == 1:
        return options.assistant[0], "assistant"
    if options.me is not None and message.speaker == conversation.owner:
        return options.me, role
    return speaker, role
