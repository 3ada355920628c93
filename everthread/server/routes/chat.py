"""Chat: a conversation with a character. Replies come as server-sent events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import StreamingResponse

from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.auth import ChatLazyMemory, ChatMemory, Conversations, permitted_banks, require
from everthread.server.chat_schemas import (
    AskBody,
    BranchBody,
    EditBody,
    EndBody,
    EndingView,
    IncognitoBody,
    ReplyBody,
    StateView,
)
from everthread.server.conversations.registry import CURRENT, Act, ConversationRegistry
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.request_body import AuthFirstRoute

router = APIRouter(prefix="/banks/{bank}/chat/{session}", tags=["chat"], route_class=AuthFirstRoute)

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `line`, `context`, `piece` …, then `done` or `error`; or, "
        "after a goodbye, `line`, `question` or `ended`, then `done`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


Session = Annotated[
    path_segments.PathSegment, Path(description="A session's name, or `current` for the one that goes on.")
]


class Events(StreamingResponse):
    """A reply's events, from the first on."""

    media_type = "text/event-stream"

    def __init__(self, running: ReplyStream) -> None:
        super().__init__(running.read_events(), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.get("", response_model=StateView)
def state(memory: ChatMemory, session: Session, conversations: Conversations) -> StateView:
    """The conversation as it stands."""
    return conversations.get_state(memory, session)


@router.post("/reply", status_code=200, response_class=Events, responses=STREAM)
async def reply(
    request: Request,
    new: ChatLazyMemory,
    session: Session,
    conversations: Conversations,
    body: ReplyBody,
    once: Idempotency,
) -> Events:
    """Say something, and have it answered. What is said is kept before anything comes back.

    Where the recipe or the bank asks whether to remember, a goodbye is answered with the event `question`; the yes or
    no after it ends the conversation, as `end` does, and is answered with `ended`."""

    _permit(request, body)

    def begin() -> ReplyStream:
        memory = new(lambda: conversations.validate(session, body.text, body.options))
        may_forget = session == CURRENT or bool(permitted_banks(request, "forget", [new.bank]))
        return conversations.reply(
            *(memory, session, body.text, body.options, once.line_key()),
            incognito=body.incognito,
            may_forget=may_forget,
        )

    return Events(await conversations.start_limiter.run(new.bank, begin))


@router.post("/regenerate", status_code=200, response_class=Events, responses=STREAM)
def regenerate(
    request: Request,
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    once: Idempotency,
    body: AskBody | None = None,
) -> Events:
    """Another reply in place of the last one, which becomes a swipe when the new one is kept."""
    return _again(request, memory, session, conversations, once, lambda chat: chat.regenerate(), body or AskBody())


@router.post("/answer", status_code=200, response_class=Events, responses=STREAM)
def answer(
    request: Request,
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    once: Idempotency,
    body: AskBody | None = None,
) -> Events:
    """A reply to the conversation as it stands: where what was said last got none."""
    return _again(request, memory, session, conversations, once, lambda chat: chat.answer(), body or AskBody())


@router.post("/edit", status_code=200, response_class=Events, responses=STREAM)
def edit(
    request: Request,
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    once: Idempotency,
    body: EditBody,
) -> Events:
    """Put a text in place of a line's. What came after it is discarded. A line of the person's is answered anew; to one
    of the character's nothing comes but `done`."""

    def act(chat: Chat) -> Reply | None:
        return chat.edit(body.seq, body.text)

    return _again(request, memory, session, conversations, once, act, body, told=True)


def _permit(request: Request, body: AskBody) -> None:
    """Raises Problem 403 unless the key may read every bank on which the reply is to draw, and may change the bank's
    settings where a recipe is named, which the bank then keeps."""
    if body.options.recipe is not None:
        require(request, "write", path_segments.decode_segment(request.path_params["bank"]))
    for bank in body.options.banks or ():
        require(request, "read", bank)


def _again(
    request: Request,
    memory: Memory,
    session: str,
    conversations: ConversationRegistry,
    once: IdempotentRequest,
    act: Act,
    body: AskBody,
    *,
    told: bool = False,
) -> Events:
    """A reply to what stands, begun once."""
    _permit(request, body)
    running = once.run_once(
        lambda: conversations.start_reply(
            memory, session, act, body.options, echo_user_line=told, key=once.name, incognito=body.incognito
        ),
        lambda _: True,
        lambda _: conversations.find_reply(memory, session, once.name),
    )
    return Events(running)


@router.get("/stream", status_code=200, response_class=Events, responses=STREAM)
def stream(request: Request, memory: ChatMemory, session: Session, conversations: Conversations) -> Events:
    """The reply that is running, from its beginning. Where it draws on other banks, the key must allow reading them."""
    running = conversations.get_running(memory, session)
    for bank in running.other_banks:
        require(request, "read", bank)
    return Events(running)


@router.post("/stop", response_model=StateView)
def stop(memory: ChatMemory, session: Session, conversations: Conversations, once: Idempotency) -> StateView:
    """Stop the reply that is running. What has arrived of it is kept, and marked as partial."""
    return _changed(memory, session, conversations, once, lambda: conversations.stop(memory, session))


@router.post("/undo", response_model=StateView)
def undo(memory: ChatMemory, session: Session, conversations: Conversations, once: Idempotency) -> StateView:
    """Take back the person's last line and all that came after it."""
    return _changed(
        memory, session, conversations, once, lambda: conversations.change(memory, session, lambda chat: chat.undo())
    )


@router.post("/branch", response_model=StateView)
def branch(
    memory: ChatMemory, session: Session, conversations: Conversations, once: Idempotency, body: BranchBody
) -> StateView:
    """Go on from a line, which may be a discarded one: a swipe, for instance."""

    def change() -> StateView:
        return conversations.change(memory, session, lambda chat: chat.branch(body.seq))

    return _changed(memory, session, conversations, once, change)


@router.post("/incognito", response_model=StateView)
def incognito(
    new: ChatLazyMemory, session: Session, conversations: Conversations, once: Idempotency, body: IncognitoBody
) -> StateView:
    """Write nothing from now on. Switched off, what was said meanwhile is gone."""
    memory = new(lambda: conversations.validate(session))
    return _changed(memory, session, conversations, once, lambda: conversations.set_incognito(memory, session, body.on))


def _changed(
    memory: Memory,
    session: str,
    conversations: ConversationRegistry,
    once: IdempotentRequest,
    change: Callable[[], StateView],
) -> StateView:
    """The conversation once it is changed, which is done once."""
    return once.run_once(change, lambda _: True, lambda _: conversations.get_state(memory, session))


@router.post("/end", response_model=EndingView)
def end(
    request: Request,
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    once: Idempotency,
    body: EndBody | None = None,
) -> EndingView:
    """End the conversation: it is summarised and remembered, or forgotten. Without an answer it may ask first. A key
    that may not forget can have no other conversation forgotten than the one that goes on."""
    remember = (body or EndBody()).remember
    if remember is False and session != CURRENT:
        require(request, "forget", memory.bank)

    def act() -> tuple[EndingView, int]:
        with conversations.use(memory, session) as chat:
            first = chat.lines[0].seq if chat.lines else 0
            ending = EndingView.model_validate(chat.end(remember))
        if ending.receipt is not None:
            conversations.drop_events(memory.bank)
        return ending, first

    return once.run_once(act, _ending, lambda told: _ended(memory, session, told))[0]


def _ending(ended: tuple[EndingView, int]) -> dict[str, Any]:
    """How a conversation ended, without its name: by its first line."""
    return {"ending": ended[0].model_dump(mode="json", exclude={"session"}), "first": ended[1]}


def _ended(memory: Memory, session: str, told: dict[str, Any]) -> tuple[EndingView, int]:
    """The same again. A conversation that is forgotten is called as in the path."""
    first = told["first"]
    name = next((each.id for each in memory.sessions() if each.first_seq == first), session)
    return EndingView.model_validate({**told["ending"], "session": name}), first
