"""Chat: a conversation with a character. Replies come as server-sent events."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.responses import StreamingResponse

from everthread.chat import Chat, Ending
from everthread.reply import Reply
from everthread.server import paths
from everthread.server.access import Beginning, Chatting, Open
from everthread.server.once import Once
from everthread.server.running import Running
from everthread.server.wire_chat import (
    AskBody,
    BranchBody,
    EditBody,
    EndBody,
    EndingView,
    IncognitoBody,
    ReplyBody,
    StateView,
)

router = APIRouter(prefix="/banks/{bank}/chat/{session}", tags=["chat"])

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `line`, `context`, `piece` …, then `done` or `error`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


async def session(
    session: Annotated[str, Path(description="A session's name, or `current` for the one that goes on.")],
) -> str:
    """The session that the path names."""
    return paths.name(session)


Session = Annotated[str, Depends(session)]


class Events(StreamingResponse):
    """A reply's events, from the first on."""

    media_type = "text/event-stream"

    def __init__(self, running: Running) -> None:
        super().__init__(running.follow(), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.get("", response_model=StateView)
def state(memory: Chatting, session: Session, talks: Open) -> StateView:
    """The conversation as it stands."""
    return talks.state(memory, session)


@router.post("/reply", status_code=200, response_class=Events, responses=STREAM)
def reply(memory: Beginning, session: Session, talks: Open, body: ReplyBody, once: Once) -> Events:
    """Say something, and have it answered. What is said is kept before anything comes back."""
    return Events(talks.reply(memory, session, body.text, body.options, once.key()))


@router.post("/regenerate", status_code=200, response_class=Events, responses=STREAM)
def regenerate(memory: Chatting, session: Session, talks: Open, body: AskBody | None = None) -> Events:
    """Another reply in place of the last one, which becomes a swipe when the new one is kept."""
    return Events(talks.again(memory, session, lambda chat: chat.regenerate(), (body or AskBody()).options))


@router.post("/answer", status_code=200, response_class=Events, responses=STREAM)
def answer(memory: Chatting, session: Session, talks: Open, body: AskBody | None = None) -> Events:
    """A reply to the conversation as it stands: where what was said last got none."""
    return Events(talks.again(memory, session, lambda chat: chat.answer(), (body or AskBody()).options))


@router.post("/edit", status_code=200, response_class=Events, responses=STREAM)
def edit(memory: Chatting, session: Session, talks: Open, body: EditBody) -> Events:
    """Put a text in place of a line's. What came after it is discarded. A line of the person's is answered anew; to one
    of the character's nothing comes but `done`."""

    def act(chat: Chat) -> Reply | None:
        return chat.edit(body.seq, body.text)

    return Events(talks.again(memory, session, act, body.options, told=True))


@router.get("/stream", status_code=200, response_class=Events, responses=STREAM)
def stream(memory: Chatting, session: Session, talks: Open) -> Events:
    """The reply that is running, from its beginning."""
    return Events(talks.running(memory, session))


@router.post("/stop", response_model=StateView)
def stop(memory: Chatting, session: Session, talks: Open) -> StateView:
    """Stop the reply that is running. What has arrived of it is kept, and marked as partial."""
    return talks.stop(memory, session)


@router.post("/undo", response_model=StateView)
def undo(memory: Chatting, session: Session, talks: Open, once: Once) -> StateView:
    """Take back the person's last line and all that came after it."""
    return once.once(
        lambda: talks.change(memory, session, lambda chat: chat.undo()),
        lambda _: None,
        lambda _: talks.state(memory, session),
    )


@router.post("/branch", response_model=StateView)
def branch(memory: Chatting, session: Session, talks: Open, body: BranchBody) -> StateView:
    """Go on from a line, which may be a discarded one: a swipe, for instance."""
    return talks.change(memory, session, lambda chat: chat.branch(body.seq))


@router.post("/incognito", response_model=StateView)
def incognito(memory: Beginning, session: Session, talks: Open, body: IncognitoBody) -> StateView:
    """Write nothing from now on. Switched off, what was said meanwhile is gone."""
    return talks.incognito(memory, session, body.on)


@router.post("/end", response_model=EndingView)
def end(memory: Chatting, session: Session, talks: Open, body: EndBody | None = None) -> Ending:
    """End the conversation: it is summarised and remembered, or forgotten. Without an answer it may ask first."""
    with talks.using(memory, session) as chat:
        return chat.end((body or EndBody()).remember)
