"""What goes over the wire of a conversation: its state, what a reply is asked with, and the data of its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from everthread.bank.settings import remember_policy
from everthread.chat.chat import Chat
from everthread.chat.offline_reply import without_label
from everthread.chat.reply import Reply
from everthread.common.keys import META_REPEATS
from everthread.server.schemas import (
    MAX_BATCH,
    HitView,
    LineView,
    ReceiptView,
    Remember,
    RequestBody,
    View,
    corrected_positions,
)
from everthread.types import Context, Hit, Line, Sampling, Usage


class OptionsBody(RequestBody):
    """How a reply is made; what is not given is as the server has it. budget: tokens of what is remembered; banks:
    others on which the reply may draw."""

    model: str | None = None
    recipe: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    budget: int | None = Field(default=None, ge=1, le=100_000)
    banks: list[str] | None = Field(default=None, max_length=MAX_BATCH)

    def sampling(self) -> Sampling:
        """How the model chooses its words."""
        return Sampling(self.temperature, self.top_p, self.frequency_penalty, self.presence_penalty, self.max_tokens)


class AskBody(RequestBody):
    """A reply to what stands. incognito: whoever asks takes it that nothing is written, and is refused where it would
    be."""

    options: OptionsBody = OptionsBody.model_validate({})
    incognito: bool = False


class ReplyBody(AskBody):
    """What the person says."""

    text: str


class EditBody(ReplyBody):
    """What a line says instead."""

    seq: int


class BranchBody(RequestBody):
    """The line to go on from."""

    seq: int


class IncognitoBody(RequestBody):
    """Whether nothing is written from now on."""

    on: bool


class EndBody(RequestBody):
    """Whether the conversation is remembered; null asks, where the bank is not set to always."""

    remember: bool | None = None


class SwipeView(View):
    """A reply that stood where the last one stands."""

    seq: int
    text: str


class UsageView(View):
    """Tokens of a language model. cost is in the currency of the configured prices."""

    prompt: int
    completion: int
    cost: float | None
    estimated: bool


class StateView(View):
    """The state of a conversation. repeats: for each line that repeats a discarded one, the number of that one."""

    session: str
    lines: list[LineView]
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
    model: str | None
    recipe: str
    usage: UsageView


class EndingView(View):
    """How a conversation ended. remembered is null where `question` is to be answered first."""

    session: str
    remembered: bool | None
    question: str
    receipt: ReceiptView | None


LINE_LIST = TypeAdapter(list[LineView])
HIT_LIST = TypeAdapter(list[HitView])

REMEMBER_NAMES: dict[bool | None, Remember] = {True: "always", None: "ask", False: "never"}


def build_state(chat: Chat, usage: Usage, replying: bool) -> StateView:
    """A conversation as it stands."""
    lines = list(chat.lines)
    return StateView.model_validate(
        {
            "session": chat.session,
            "lines": lines,
            "repeats": {line.seq: line.metadata[META_REPEATS] for line in lines if META_REPEATS in line.metadata},
            "swipes": [] if replying else chat.alternatives(),
            "greeting": chat.greeting,
            "offer": chat.offer,
            "notes": chat.notes,
            "incognito": chat.incognito,
            "remember": REMEMBER_NAMES[remember_policy(chat.memory.settings())],
            "unanswered": chat.is_unanswered,
            "question": chat.question,
            "replying": replying,
            "character": chat.character.to_json(),
            "model": chat.llm.name if chat.llm else None,
            "recipe": chat.memory.recipe.name,
            "usage": usage,
        }
    )


def line_event(line: Line) -> dict[str, object]:
    """The data of `line`: what the person said, as it is kept."""
    return {"line": lines_to_json([line])[0]}


def context_event(reply: Reply) -> dict[str, object]:
    """The data of `context`: what was remembered for a reply."""
    return {**_context(reply.context), "offer": reply.offer, "notes": reply.notes}


def _context(found: Context) -> dict[str, object]:
    return {
        "text": found.text,
        "tokens": found.tokens,
        "relevance": found.relevance,
        "hits": hits_to_json(found.hits),
        "lines": lines_to_json(found.lines),
        "corrects": corrected_positions(line for hit in found.hits for line in hit.passage),
        "bank": found.bank,
        "others": list(map(_context, found.others)),
    }


def done_event(line: Line | None, reply: Reply | None = None) -> dict[str, object]:
    """Return the data of `done`: the stored line, of a reply that has just ended or of an earlier one.

    `kind` says what the text is, and `body` is the text without the label of a recall-only reply.
    """
    told = line.metadata if line else {}
    kind, text = _kind(reply), reply.text.strip() if reply else line.text if line else ""
    return {
        "line": lines_to_json([line])[0] if line else None,
        "kind": kind,
        "text": text,
        "body": without_label(text) if kind == "recall_only" else text,
        "partial": reply.partial if reply else bool(told.get("partial")),
        "refused": reply.refused if reply else bool(told.get("refused")),
        "model": told.get("model") or None,
        "usage": UsageView.model_validate(reply.usage if reply else Usage()).model_dump(),
        "labelled": kind == "recall_only",
    }


def _kind(reply: Reply | None) -> Literal["reply", "recall_only", "ending"]:
    if reply is None or reply.prompt is not None:
        return "reply"
    return "recall_only" if reply.ending is None else "ending"


def ending_event(reply: Reply) -> tuple[str, dict[str, Any]]:
    """Returns the name and the data of `question`, or of `ended` where a conversation has ended with a reply."""
    ending = EndingView.model_validate(reply.ending)
    if ending.remembered is None:
        return "question", {"question": ending.question}
    return "ended", ending.model_dump(mode="json")


def lines_to_json(given: Iterable[Line]) -> list[dict[str, Any]]:
    """Lines as JSON has them."""
    found: list[dict[str, Any]] = LINE_LIST.dump_python(
        LINE_LIST.validate_python(list(given), from_attributes=True), mode="json"
    )
    return found


def hits_to_json(given: Iterable[Hit]) -> list[dict[str, Any]]:
    """Hits as JSON has them."""
    found: list[dict[str, Any]] = HIT_LIST.dump_python(
        HIT_LIST.validate_python(list(given), from_attributes=True), mode="json"
    )
    return found
