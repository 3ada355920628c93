"""Plan: the changes that a request makes to a session, by comparing its messages with the lines. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, starmap, takewhile

from everthread.server.proxy.message_text import ChatMessage, normalize
from everthread.server.proxy.transcript import MAX_ALTERED, Transcript, is_shown
from everthread.server.proxy.turn import META_PARTIAL
from everthread.types import Line, Role

MAX_SUMMARY = 2  # messages that a client may put in place of others if a single known message follows them
MIN_SHOWN = 2  # known messages that must follow more of them: "You're welcome!" alone ends other conversations too


@dataclass
class Plan:
    """The changes that a request makes to a session, from the position `keep` on.

    Attributes:
        keep: current lines before this position stay current.
        corrected: the lines whose text the client has changed, with the new messages.
        inserted: displaced lines that come back between the kept ones, in order, with the kept line before them.
        added: the lines after them, before the newest message: discarded lines that come back, and unknown messages.
        known: the line of the newest message, if it is stored already.
        first: the position of the first line that the request contains.
        is_other_conversation: whether what is added is another conversation, which only begins like the session.
    """

    keep: int
    corrected: list[tuple[Line, ChatMessage]] = field(default_factory=list)
    inserted: list[tuple[Line, list[Line]]] = field(default_factory=list)
    added: list[Line | ChatMessage] = field(default_factory=list)
    known: Line | None = None
    first: int = 0
    is_other_conversation: bool = False


def make_plan(
    transcript: Transcript,
    history: Sequence[ChatMessage],
    newest: ChatMessage,
    *,
    named: bool,
    reply: str = "",
    is_retry: bool = False,
) -> Plan:
    """Compare a request with a session.

    Args:
        transcript: the session.
        history: the messages before the newest.
        newest: the person's newest message.
        named: whether the client named the session.
        reply: the reply to it, if it is known.
        is_retry: whether the client sends the request again, since it got no answer.
    """
    if transcript.is_whole(history):
        return Plan(len(history))
    history = transcript.skip_removed(history)
    transcript.arrange(history)
    alignment = transcript.align(history)
    if alignment is None and (branch := transcript.find_branch(history)) is not None:
        lines, position, index = branch
        shown = max(0, index + 1 - len(lines))  # messages before the discarded lines
        plan = Plan(position + 1, first=max(0, position + 1 - shown))
        plan.is_other_conversation = not named and transcript.only_begins_like(lines, position)
        plan.added = [
            *_overlay(transcript, lines, history[: index + 1]),
            *_find_lines_again(transcript, history[index + 1 :], lines[-1].seq),
        ]
        return plan
    if alignment is None:
        alignment = transcript.align(history, "user")
    if alignment is not None:
        plan = _compare(transcript, history, alignment.offset)
        if plan.corrected or plan.keep < len(transcript.current):
            plan = _plan_extension(transcript, history, alignment.offset) or plan
    else:  # a client that names its session may send its newest message only
        keep = len(transcript.current) if named and not _is_opening(transcript, newest) else 0
        keep -= _count_repeated(transcript, newest, reply, is_retry=is_retry) if keep and not history else 0
        plan = Plan(keep, first=keep)
        plan.added = list(history)
    if not plan.added:
        tail = transcript.current[plan.keep :]
        plan.known = tail[0] if tail and _is_repeated(tail[0], newest) else None
    if plan.known is None and all(_is_of_other(line, newest) for line in transcript.current[plan.keep :]):
        plan.keep = len(transcript.current)
    return plan


def plan_continuation(
    transcript: Transcript, line: Line | None, messages: Sequence[ChatMessage], *, is_retry: bool = False
) -> Plan:
    """Plan for a request that leaves out the history.

    Args:
        transcript: the session.
        line: the line after which the request continues; None: the latest.
        messages: what is new; the last is the person's.
        is_retry: as for `make_plan`.
    """
    branch, keep = transcript.find_path(line)
    if line is None:
        keep -= _count_unanswered(transcript, messages, is_retry=is_retry)
    repeated = 0 if branch else _count_equal(transcript.current[keep:], messages)
    if repeated == len(messages):
        return Plan(keep + repeated - 1, known=transcript.current[keep + repeated - 1])
    return Plan(keep + repeated, added=[*branch, *messages[repeated:-1]])


def _count_unanswered(transcript: Transcript, messages: Sequence[ChatMessage], *, is_retry: bool) -> int:
    """Return how many lines at the end of a session are these messages and the beginning of a reply to them; in a
    retry, also a whole reply, which the client didn't get."""
    current = transcript.current
    is_replaced = bool(current) and (
        bool(current[-1].metadata.get(META_PARTIAL)) or (is_retry and current[-1].role == "assistant")
    )
    count = len(messages) + is_replaced
    lines = current[-count:]
    return count if len(lines) == count and _count_equal(lines, messages) == len(messages) else 0


def _count_equal(lines: Sequence[Line], messages: Sequence[ChatMessage]) -> int:
    """Return how many of the first lines are the messages."""
    pairs = zip(lines, messages, strict=False)
    return sum(takewhile(bool, starmap(_is_equal, pairs)))


def _is_opening(transcript: Transcript, newest: ChatMessage) -> bool:
    """Return whether a message repeats the only message of a session, for another reply.

    In a room, where messages have names, a message that was answered is not a repetition: the person says it again.
    """
    current = transcript.current
    if not 0 < len(current) <= 2 or not _is_repeated(current[0], newest):
        return False
    return newest.name is None or len(current) == 1 or bool(current[1].metadata.get(META_PARTIAL))


def _count_repeated(transcript: Transcript, newest: ChatMessage, reply: str, *, is_retry: bool) -> int:
    """Return how many lines at the end of a session a turn repeats: the message without a reply, or with this one; in
    a retry with any."""
    *before, last = transcript.current[-2:]
    if _is_repeated(last, newest):
        return 1
    is_answer = last.role == "assistant" and (is_retry or normalize(last.text) == normalize(reply))
    return 2 if is_answer and before and _is_repeated(before[0], newest) else 0


def _compare(transcript: Transcript, history: Sequence[ChatMessage], offset: int) -> Plan:
    """Compare a history, message by message, with the current lines at a distance."""
    current = transcript.current
    index = _count_preface(transcript, history, offset)
    plan = Plan(index + offset, first=index + offset)
    while index < len(history):
        message, position = history[index], index + offset
        is_known = position < len(current) and is_shown(message, current[position])
        may_be_left_out = not is_known and not plan.corrected
        if may_be_left_out and (rest := _find_rest(transcript, history[index:], position)) is not None:
            index, plan.first, plan.keep = len(history), rest.start, rest.stop
            break
        if position >= len(current) or current[position].role != message.role:
            break
        line = current[position]
        if not is_known:
            before = current[position - 1].seq if position else None
            if transcript.find_discarded(message, before) is not None:
                break
            plan.corrected.append((line, message))
        index += 1
        plan.keep = position + 1
    plan.added = _find_lines_again(transcript, history[index:], current[plan.keep - 1].seq if plan.keep else None)
    return plan


def _count_preface(transcript: Transcript, history: Sequence[ChatMessage], offset: int) -> int:
    """Return how many messages at the beginning of a history are no lines at a distance.

    They were said before the session; or the client has put them in place of the lines that it has trimmed, as a
    summary of these, or as the beginning of the conversation. A single unknown message in the place of a line of the
    same role is that line, changed by the client.
    """
    start, current = max(0, -offset), transcript.current
    if offset <= 0:
        return start
    pairs = list(zip(history, current[offset:], strict=False))
    count = next((index for index, pair in enumerate(pairs) if is_shown(*pair)), 0)
    preface, shown = history[:count], sum(starmap(is_shown, pairs[count:]))
    is_unproven = count > MAX_SUMMARY and shown < MIN_SHOWN
    if is_unproven or any(transcript.find_discarded(message) is not None for message in preface):
        return start
    is_changed = count == 1 and preface[0].role == current[offset].role
    is_changed = is_changed and not any(_is_equal(line, preface[0]) for line in current[:offset])
    return start if is_changed else count


def _find_rest(transcript: Transcript, rest: Sequence[ChatMessage], position: int) -> range | None:
    """Return the positions of the current lines that the rest of a history shows, if the client has left out those
    before them from a position on, or has put something in their place; None if it has not. The first message of the
    rest is not the line at this position."""
    current = transcript.current
    alignment = transcript.align(rest)
    if alignment is None or alignment.offset <= position:
        return None
    end, count = alignment.offset + len(rest), _count_preface(transcript, rest, alignment.offset)
    shown = range(alignment.offset + count, end)
    is_rest = all(map(is_shown, rest[count:], current[shown.start :]))
    return shown if is_rest and end <= len(current) else None


def _plan_extension(transcript: Transcript, history: Sequence[ChatMessage], offset: int) -> Plan | None:
    """Plan for a history that shows all current lines since its beginning, whatever is between them: it discards none.

    Unknown messages between them are not stored, since they may have been forgotten.

    Args:
        transcript: the session.
        history: the messages before the newest.
        offset: the distance at which most of its messages are current lines.
    """
    current = transcript.current
    starts = range(max(0, offset), min(len(current), max(0, offset) + MAX_ALTERED))
    first = next((place for place in starts if _is_equal(current[place], history[0])), max(0, offset))
    places = defaultdict[tuple[Role, str], deque[int]](deque)
    for index, message in enumerate(history):
        places[message.role, message.normalized].append(index)
    shown: dict[int, Line] = {}
    for line in current[first:]:
        found = places.get((line.role, normalize(line.text)))
        if not found:
            return None
        shown[found.popleft()] = line
    if not shown:
        return None
    plan = Plan(len(current), first=first)
    for index, following in pairwise(sorted(shown)):
        displaced = transcript.find_displaced(history[index + 1 : following], shown[index])
        plan.inserted += [(shown[index], displaced)] if displaced else []
    plan.added = _find_lines_again(transcript, history[max(shown) + 1 :], current[-1].seq)
    return plan


def _is_equal(line: Line, message: ChatMessage) -> bool:
    """Return whether a line has the role and the text of a message."""
    return line.role == message.role and normalize(line.text) == message.normalized


def _is_repeated(line: Line, message: ChatMessage) -> bool:
    """Return whether a message is one that the same person sends again."""
    return _is_equal(line, message) and line.speaker == message.speaker


def _is_of_other(line: Line, message: ChatMessage) -> bool:
    """Return whether a line is the message of another person, who may have sent it at the same time."""
    return line.role == "user" and line.speaker != message.speaker


def _overlay(
    transcript: Transcript, lines: Sequence[Line], messages: Sequence[ChatMessage]
) -> Iterator[Line | ChatMessage]:
    """Iterate over discarded lines; where the client shows other texts, over these. Both sequences end together."""
    unseen = max(0, len(lines) - len(messages))
    yield from lines[:unseen]
    for line, message in zip(lines[unseen:], messages[len(messages) - len(lines) + unseen :], strict=True):
        yield line if is_shown(message, line) else transcript.find_discarded(message) or message


def _find_lines_again(
    transcript: Transcript, messages: Sequence[ChatMessage], parent: int | None
) -> list[Line | ChatMessage]:
    """Return for each message the discarded line with its text, or else the message."""
    found: list[Line | ChatMessage] = []
    for message in messages:
        line = transcript.find_discarded(message, parent)
        found.append(message if line is None else line)
        parent = None if line is None else line.seq
    return found
