"""Turns the conversations of an export into lines of a bank.

A line is identified by the service, the conversation and the message, so that a later or overlapping export adds only
what is new. Messages that the service does not show, because they were edited or regenerated away, become retracted
lines, retracted at the time at which they were said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from everthread.bank.line_validation import MAX_NAME_CHARS, clean_line, replace_unstorable
from everthread.bank.validation import MAX_TITLE_CHARS, check_session_metadata, check_unit
from everthread.errors import BadFile, BadInput
from everthread.transfer.bank_file import SessionLabel
from everthread.transfer.files import PLACEHOLDER_TIME, KeyGenerator, hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import open_export
from everthread.transfer.services.message_spool import MessageSpool
from everthread.transfer.services.order import Placed, order_messages
from everthread.transfer.services.registry import UNIQUE_IDS, load_reader
from everthread.transfer.types import AmbiguousDate
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
        ambiguous_dates: as of `FileContents`.
    """

    services: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    sessions: dict[str, SessionLabel] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    owners: Counter[str] = field(default_factory=Counter)
    chosen: set[str] = field(default_factory=set)
    titles: dict[str, None] = field(default_factory=dict)
    units: list[NewUnit] = field(default_factory=list)
    ambiguous_dates: dict[str, AmbiguousDate] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything, before the export is read again."""
        for found in fields(self):
            getattr(self, found.name).clear()


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
                for read in _read_entry(service, entry, options, findings):
                    if isinstance(read, NewLine):
                        yield read
                    elif options.strict:
                        raise BadFile(f"conversation {read.name!r}: {read.reason}", path=paths[0])
                    else:
                        findings.broken[number_name(read.name, findings.broken)] = read.reason


def _read_entry(
    service: str, entry: Entry, options: ReadOptions, findings: Findings
) -> Iterator[NewLine | BrokenConversation]:
    """Yield the lines of an entry, and note what was found; or what is wrong with it."""
    try:
        if isinstance(entry, NewUnit):
            findings.units += [check_unit(entry)] if _is_unit_chosen(entry, options, findings) else []
        elif isinstance(entry, BrokenConversation):
            yield entry
        elif _is_chosen(service, entry, options, findings):
            is_linear = isinstance(entry.messages, MessageSpool)
            yield from (_stream if is_linear else _convert)(service, entry, options, findings)
    except BadInput as error:
        name = (entry.title or entry.id) if isinstance(entry, Conversation) else "a fact or a note"
        yield BrokenConversation(name, str(error))


def number_name(name: str, used: Collection[str]) -> str:
    """Return a name, with a number if it is used."""
    return f"{name} ({len(used) + 1})" if name in used else name


def _convert(service: str, conversation: Conversation, options: ReadOptions, findings: Findings) -> list[NewLine]:
    """Return the lines of a conversation, and note what was found.

    Raises:
        BadInput: a bank can't store one.
    """
    skipped = Counter(conversation.skipped)
    located = [_localize(message, options.tz) for message in conversation.messages]
    lines = _build_lines(service, conversation, order_messages(located, skipped), options)
    _note(service, conversation, bool(lines), skipped, options, findings)
    return lines


def _stream(
    service: str, conversation: Conversation, options: ReadOptions, findings: Findings
) -> Iterator[NewLine | BrokenConversation]:
    """Yield the lines of a linear conversation, one in memory at a time, and what is wrong with the others."""
    builder = _LineBuilder(service, conversation, options)
    is_empty, said_at = True, None
    for number, message in enumerate(conversation.messages, 1):
        try:
            line = builder.build(_localize(message, options.tz), None, said_at)
        except BadInput as error:
            yield BrokenConversation(f"{conversation.title or conversation.id}, message {number}", str(error))
            continue
        is_empty, said_at = False, line.said_at
        yield line
    _note(service, conversation, not is_empty, conversation.skipped, options, findings)


def _note(
    service: str,
    conversation: Conversation,
    has_lines: bool,
    skipped: Counter[str],
    options: ReadOptions,
    findings: Findings,
) -> None:
    """Note what was found in a conversation apart from its lines."""
    if has_lines:
        metadata = {"source": service, **{name: _clean(value) for name, value in conversation.metadata.items()}}
        title = " ".join(replace_unstorable(conversation.title or "")[0].split())[:MAX_TITLE_CHARS]
        label = SessionLabel(title or None, check_session_metadata(metadata) or {})
        findings.sessions[_name_session(service, conversation)] = label
    else:
        findings.skipped["empty conversations"] += 1
    if conversation.owner is not None:
        findings.owners[options.me or conversation.owner] += 1
    findings.skipped += skipped


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
    return _limit(conversation.id if service in UNIQUE_IDS else f"{service}:{conversation.id}")


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
    builder = _LineBuilder(service, conversation, options)
    lines: list[NewLine] = []
    is_linear = all(place.parent is None for place in placed)
    for index, place in enumerate(placed):
        before = index - 1 if is_linear and index else place.parent
        said_at = None if before is None else lines[before].said_at
        lines.append(builder.build(place.message, None if place.parent is None else lines[place.parent].key, said_at))
    return lines


class _LineBuilder:
    """Builds the lines of a conversation from its messages, one after the other."""

    def __init__(self, service: str, conversation: Conversation, options: ReadOptions) -> None:
        self._conversation, self._options = conversation, options
        self._session = _name_session(service, conversation)
        namespace = conversation.id if conversation.namespace is None else conversation.namespace
        self._key_prefix, self._keys = f"{service}:{namespace}", KeyGenerator()

    def build(self, message: Message, parent: str | None, before: datetime | None) -> NewLine:
        """Return the line of a message.

        Args:
            message: the message.
            parent: the key of the line that it follows.
            before: the time of the line before it.

        Raises:
            BadLine: a bank can't store it.
        """
        said_at = message.said_at or self._find_time(before)
        speaker, role = _name_speaker(message, self._conversation, self._options)
        line = NewLine(
            replace_unstorable(message.text)[0],
            speaker,
            role,
            said_at,
            self._session,
            message.metadata,
            parent,
            self._make_key(message),
            retracted_at=None if message.shown else said_at or PLACEHOLDER_TIME,
            undated=said_at is None,
        )
        clean_line(line, PLACEHOLDER_TIME)
        return line

    def _find_time(self, before: datetime | None) -> datetime | None:
        """Return the time of a message without one: just after the line before it, or else its conversation's."""
        if before is not None:
            try:
                return before + _MICROSECOND
            except OverflowError:  # the last moment of the year 9999
                return before
        started_at = self._conversation.started_at
        return started_at if started_at is None or started_at.tzinfo else started_at.replace(tzinfo=self._options.tz)

    def _make_key(self, message: Message) -> str:
        """Return the key of a message: from its id, or else from its time, its speaker and its text."""
        if (name := message.id) is None:
            said_at = message.said_at and message.said_at.isoformat()
            name = self._keys.next_key(said_at, message.speaker, message.text, timed=said_at is not None)
        return _limit(f"{self._key_prefix}:{name}")


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
