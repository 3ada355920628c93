"""Request and response models of a conversation: its state, the options of a reply, and the data of its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from everthread.bank.settings import remember_policy
from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.common.keys import META_REPEATS, SESSION_GROUP
from everthread.server.recall_schemas import HitView, UnitHitView
from everthread.server.schemas import (
    MAX_BATCH,
    AnswerView,
    FoundUnitView,
    LineView,
    ReceiptView,
    Remember,
    RequestBody,
    View,
    build_lines,
    corrected_positions,
)
from everthread.types import Context, Line, Sampling, Usage

MAX_GROUP = 20  # characters; each line is stored in the bank of each


class OptionsBody(RequestBody):
    """Options of a reply; missing ones default to the server's.

    budget: tokens of recalled text. banks: further banks to recall from; missing: those of the bank's settings.
    participants: the names of the other characters in a group, whose lines the character must not write.
    group: the banks of all characters in a group; each stores what is said and the reply in its session of this name.
    """

    model: str | None = None
    recipe: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    budget: int | None = Field(default=None, ge=1, le=100_000)
    banks: list[str] | None = Field(default=None, max_length=MAX_BATCH)
    participants: list[str] = Field(default=[], max_length=MAX_BATCH)
    group: list[str] = Field(default=[], max_length=MAX_GROUP)

    def sampling(self) -> Sampling:
        """Return the sampling options."""
        return Sampling(self.temperature, self.top_p, self.frequency_penalty, self.presence_penalty, self.max_tokens)


class AskBody(RequestBody):
    """A request for a reply to the conversation as it is.

    incognito: whether the caller expects that nothing is written; the request is refused if it would be.
    """

    options: OptionsBody = OptionsBody.model_validate({})
    incognito: bool = False


class ReplyBody(AskBody):
    """A message from the person.

    confirm_forget: whether the caller itself asks again after "no" to the question whether to remember the
    conversation, and then ends it.
    """

    text: str
    confirm_forget: bool = False


class RegenerateBody(AskBody):
    """A request for another version of the last reply. last: as for `undo`."""

    last: int | None = None


class EditBody(AskBody):
    """A new text for a line. answer: whether a line of the person's gets a new reply."""

    text: str
    seq: int
    answer: bool = True


class SayBody(RequestBody):
    """A line that is not answered: the person's or, with `speaker`, one by another character of a group.

    incognito: whether the caller expects that nothing is written; the request is refused if it would be.
    """

    text: str
    speaker: str | None = None
    incognito: bool = False


class GroupBody(RequestBody):
    """The banks of all characters in a group, in each of which a conversation is changed."""

    group: list[str] = Field(default=[], max_length=MAX_GROUP)


class UndoBody(GroupBody):
    """A request to discard the person's last line and those after it.

    last: the number of the line with which the caller expects the conversation to end; otherwise the request is
    refused.
    """

    last: int | None = None


class BranchBody(GroupBody):
    """The line to continue from."""

    seq: int


class IncognitoBody(RequestBody):
    """The new state of incognito."""

    on: bool


class EndBody(RequestBody):
    """A request to end a conversation.

    remember: whether it is remembered or forgotten; null asks the person, unless the bank is set to always.
    """

    remember: bool | None = None


class GroupMemberView(View):
    """A character of a group chat, and the bank in which it remembers."""

    bank: str
    name: str


class SwipeView(View):
    """An earlier generation of the conversation's last reply."""

    seq: int
    text: str


class UsageView(View):
    """Tokens that a language model used. cost is in the currency of the configured prices."""

    prompt: int
    completion: int
    cost: float | None
    estimated: bool


class StateView(View):
    """The state of a conversation.

    earlier: the number of lines before those that are listed. person_names: the names under which the lines of the
    person are stored. group: the characters of a group chat, else empty.
    """

    session: str
    lines: list[LineView]
    earlier: int
    repeats: dict[int, int]
    swipes: list[SwipeView]
    greeting: str
    offer: str
    notes: str
    incognito: bool
    remember: Remember
    unanswered: bool
    question: str
    replying: bool
    character: dict[str, Any]
    person_names: list[str]
    group: list[GroupMemberView]
    model: str | None
    recipe: str
    usage: UsageView


class EndingView(View):
    """The result of ending a conversation. remembered is null if `question` has to be answered first."""

    session: str
    remembered: bool | None
    question: str
    receipt: ReceiptView | None


LINE_LIST = TypeAdapter(list[LineView])
UNIT_LIST = TypeAdapter(list[FoundUnitView])
HIT_LIST = TypeAdapter(list[HitView | UnitHitView])
REMEMBER_NAMES: dict[bool | None, Remember] = {True: "always", None: "ask", False: "never"}


def build_state(chat: Chat, usage: Usage, replying: bool, last: int | None = None) -> StateView:
    """Return the state of a conversation, with its last lines; None: with all of them."""
    lines = chat.lines[-(last or 0) :]
    memory = chat.memory
    return StateView.model_validate(
        {
            "session": chat.session,
            "lines": build_lines(memory, lines, chat.person_names),
            "earlier": len(chat.lines) - len(lines),
            "repeats": {line.seq: first for line in lines if type(first := line.metadata.get(META_REPEATS)) is int},
            "swipes": [] if replying else chat.alternatives(),
            "greeting": chat.greeting,
            "offer": chat.reminder,
            "notes": chat.notes,
            "incognito": chat.incognito,
            "remember": REMEMBER_NAMES[remember_policy(memory.settings())],
            "unanswered": chat.is_unanswered,
            "question": chat.question,
            "replying": replying,
            "character": chat.character.to_json(),
            "person_names": sorted(chat.person_names),
            "group": _list_group(chat),
            "model": chat.llm.name if chat.llm else None,
            "recipe": memory.recipe.name,
            "usage": usage,
        }
    )


def _list_group(chat: Chat) -> list[GroupMemberView]:
    """Return the characters of a group chat as its session records them; none if that is not a group."""
    metadata = next((stored.metadata for stored in chat.memory.sessions() if stored.id == chat.session), {})
    members = metadata.get(SESSION_GROUP)
    try:
        return TypeAdapter(list[GroupMemberView]).validate_python(members or [])
    except ValidationError:  # a client has set it to something else
        return []


def line_event(line: Line) -> dict[str, object]:
    """Return the data of `line`: the person's line, as it was stored."""
    return {"line": lines_to_json([line])[0]}


def context_event(reply: Reply) -> dict[str, object]:
    """Return the data of `context`: what was recalled for a reply, and the tokens of each part of its prompt."""
    sizes = reply.prompt.sizes if reply.prompt else {}
    return {**_context_to_json(reply.context), "offer": reply.reminder, "notes": reply.notes, "prompt": dict(sizes)}


def _context_to_json(context: Context) -> dict[str, object]:
    return {
        "text": context.text,
        "tokens": context.tokens,
        "relevance": context.relevance,
        "hits": _to_json(HIT_LIST, context.hits),
        "lines": lines_to_json(context.lines),
        "corrects": corrected_positions(line for hit in context.hits for line in hit.passage),
        "units": _to_json(UNIT_LIST, context.units),
        "bank": context.bank,
        "others": list(map(_context_to_json, context.others)),
    }


def done_event(line: Line | None, reply: Reply | None = None) -> dict[str, object]:
    """Return the data of `done`: the stored line, of a reply that has just ended or of an earlier one.

    `kind` is the kind of the text, and `answer` what it says without a model.
    """
    metadata = line.metadata if line else {}
    kind, text = _reply_kind(reply), reply.text.strip() if reply else line.text if line else ""
    answer = reply.answer if reply else None
    return {
        "line": lines_to_json([line])[0] if line else None,
        "kind": kind,
        "text": text,
        "answer": AnswerView.build(answer, reply.person_names).model_dump(mode="json") if reply and answer else None,
        "partial": reply.partial if reply else bool(metadata.get("partial")),
        "refused": reply.refused if reply else bool(metadata.get("refused")),
        "model": metadata.get("model") or None,
        "usage": UsageView.model_validate(reply.usage if reply else Usage()).model_dump(),
    }


def _reply_kind(reply: Reply | None) -> Literal["reply", "recall_only", "ending"]:
    if reply is None or reply.prompt is not None:
        return "reply"
    return "recall_only" if reply.ending is None else "ending"


def ending_event(reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the name and the data of `question`, or of `ended` if the conversation has ended with the reply."""
    ending = EndingView.model_validate(reply.ending)
    if ending.remembered is None:
        return "question", {"question": ending.question}
    return "ended", ending.model_dump(mode="json")


def lines_to_json(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Convert lines to JSON."""
    return _to_json(LINE_LIST, lines)


def _to_json(views: TypeAdapter[Any], items: Iterable[object]) -> list[dict[str, Any]]:
    converted: list[dict[str, Any]] = views.dump_python(
        views.validate_python(list(items), from_attributes=True), mode="json"
    )
    return converted
