"""Chat: a conversation with a character. Replies are server-sent events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from starlette.responses import StreamingResponse

from everthread.bank.settings import recall_from
from everthread.chat.chat import Chat
from everthread.chat.listeners import Listeners
from everthread.memory import Memory
from everthread.server import path_segments, problems
from everthread.server.chat_schemas import (
    AskBody,
    BranchBody,
    EditBody,
    EndBody,
    EndingView,
    IncognitoBody,
    OptionsBody,
    RegenerateBody,
    ReplyBody,
    SayBody,
    StateView,
    UndoBody,
)
from everthread.server.conversations.registry import CURRENT, Act, ConversationRegistry, GroupAct, Permit
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.idempotency import Idempotency, IdempotentRequest
from everthread.server.page_languages import ResponseLanguage
from everthread.server.permissions import (
    ChatLazyMemory,
    ChatMemory,
    Conversations,
    build_check,
    permitted_banks,
    require,
)
from everthread.server.routes.api_router import create_router
from everthread.stores.base import Store
from everthread.stores.limits import MAX_SEQ

router = create_router("chat", "/banks/{bank}/chat/{session}")

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `line`, `context`, `piece` …, then `done` or `error`; or, "
        "after a goodbye, `line`, `question` or `ended`, then `done`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


Session = Annotated[path_segments.PathSegment, Path(description="A session's name, or `current` for the running one.")]


class EventResponse(StreamingResponse):
    """A response that streams the events of a reply, from the first on."""

    media_type = "text/event-stream"

    def __init__(self, request: Request, reply_stream: ReplyStream) -> None:
        events = reply_stream.read_events(check=build_check(request))
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.get("", response_model=StateView)
def state(
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    language: ResponseLanguage,
    last: Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="Only the last lines, this many.")] = None,
) -> StateView:
    """Get the state of the conversation."""
    return conversations.get_state(memory, session, last, language)


@router.post("/reply", status_code=200, response_class=EventResponse, responses=STREAM)
async def reply(
    request: Request,
    lazy_memory: ChatLazyMemory,
    session: Session,
    conversations: Conversations,
    body: ReplyBody,
    idempotency: Idempotency,
    language: ResponseLanguage,
) -> EventResponse:
    """Say something and get a reply. The line is stored before the response begins.

    If the recipe or the bank asks whether to remember, a goodbye is answered with the event `question`; a yes after it
    ends the conversation, as `end` does, and is answered with `ended`. "No" forgets nothing yet: another `question`
    asks whether to forget for good, and if that is confirmed, the answer has `ended`. With `confirm_forget`, the caller
    asks that itself: "no" is answered with `question` and `"confirm_forget": true`.
    """
    _check_permissions(request, body)

    def begin() -> ReplyStream:
        options = _with_own_banks(request, lazy_memory.services.store, lazy_memory.bank, body.options)
        memory = lazy_memory(lambda: conversations.validate(session, body.text, body.options))
        may_forget = session == CURRENT or bool(permitted_banks(request, "forget", [lazy_memory.bank]))
        return conversations.reply(
            memory,
            session,
            text=body.text,
            options=options,
            key=idempotency.line_key(),
            incognito=body.incognito,
            may_forget=may_forget,
            confirm_forget=body.confirm_forget,
            language=language,
        )

    return EventResponse(request, await conversations.start_limiter.run(lazy_memory.bank, begin))


class _ConversationAction:
    """Base of the dependencies that act once in the conversation of the request."""

    def __init__(
        self,
        request: Request,
        memory: ChatMemory,
        session: Session,
        conversations: Conversations,
        idempotency: Idempotency,
    ) -> None:
        self._request, self._memory, self._session = request, memory, session
        self.conversations, self._idempotency = conversations, idempotency


class ReplyStarter(_ConversationAction):
    """Dependency: starts the reply of an action in the conversation of the request."""

    def start_once(
        self, act: Act, together: GroupAct, body: AskBody | None, *, echo_user_line: bool = False
    ) -> EventResponse:
        """Start the reply once; if the request is repeated, follow that reply.

        Args:
            act: makes the conversation reply.
            together: makes a group reply.
            body: the options of the reply; None: the defaults.
            echo_user_line: whether the person's line is the first event.

        Raises:
            Problem: 403 if the key lacks a permission.
        """
        body, key = body or AskBody(), self._idempotency.name
        _check_permissions(self._request, body)
        options = _with_own_banks(self._request, self._memory.store, self._memory.bank, body.options)
        chosen = self.conversations.choose_act(options, act, together, _permit_chat(self._request))
        reply_stream = self._idempotency.run_once(
            lambda: self.conversations.start_reply(
                self._memory,
                self._session,
                chosen,
                options,
                echo_user_line=echo_user_line,
                key=key,
                incognito=body.incognito,
            ),
            lambda _: True,
            lambda _: self.conversations.find_reply(self._memory, self._session, key),
        )
        return EventResponse(self._request, reply_stream)


Starter = Annotated[ReplyStarter, Depends()]


@router.post("/regenerate", status_code=200, response_class=EventResponse, responses=STREAM)
def regenerate(starter: Starter, body: RegenerateBody | None = None) -> EventResponse:
    """Generate the last reply again. The earlier one becomes a swipe when the new one is stored."""
    last = (body or RegenerateBody()).last
    return starter.start_once(
        lambda chat: _check_last(chat, last).regenerate(),
        lambda group, chat: group.regenerate(_check_last(chat, last)),
        body,
    )


@router.post("/answer", status_code=200, response_class=EventResponse, responses=STREAM)
def answer(starter: Starter, body: AskBody | None = None) -> EventResponse:
    """Reply to the conversation as it is, if the last line has no reply."""
    return starter.start_once(lambda chat: chat.answer(), lambda group, chat: group.answer(chat), body)


@router.post("/edit", status_code=200, response_class=EventResponse, responses=STREAM)
def edit(starter: Starter, body: EditBody) -> EventResponse:
    """Replace the text of a line, and discard the lines after it.

    A line of the person's gets a new reply, unless `answer` is false; for one of the character's the only event is
    `done`.
    """
    return starter.start_once(
        lambda chat: chat.edit(body.seq, body.text, answer=body.answer),
        lambda group, chat: group.edit(chat, body.seq, body.text, answer=body.answer),
        body,
        echo_user_line=True,
    )


def _check_last(chat: Chat, seq: int | None) -> Chat:
    """Return the chat if it ends with this line; None: any line.

    Raises:
        Problem: 409.
    """
    if seq is not None:
        chat.refresh()
        if not chat.lines or chat.lines[-1].seq != seq:
            raise problems.out_of_date()
    return chat


def _permit_chat(request: Request) -> Permit:
    """Return a function that returns those of the banks in which the caller may chat."""
    return lambda banks: permitted_banks(request, "chat", banks)


def _check_permissions(request: Request, body: AskBody) -> None:
    """Check that the key may read every bank that the reply draws on, may chat in those of a group, and may write if
    the body names a recipe, which then becomes the bank's.

    Raises:
        Problem: 403.
    """
    if body.options.recipe is not None:
        require(request, "write", path_segments.decode_segment(request.path_params["bank"]))
    require(request, "read", *(body.options.banks or ()))
    require(request, "chat", *body.options.group)


def _with_own_banks(request: Request, store: Store, bank: str, options: OptionsBody) -> OptionsBody:
    """Return the options with the further banks that the bank's settings name, if the key may read them, unless the
    request names banks."""
    if options.banks is not None or not store.exists(bank):
        return options
    banks = permitted_banks(request, "read", recall_from(store.settings(bank)))
    return options.model_copy(update={"banks": [other for other in banks if store.exists(other)]})


@router.get("/stream", status_code=200, response_class=EventResponse, responses=STREAM)
def stream(request: Request, memory: ChatMemory, session: Session, conversations: Conversations) -> EventResponse:
    """Follow the reply in progress, from its beginning. If it draws on other banks, the key must be allowed to read
    them."""
    reply_stream = conversations.get_running(memory, session)
    require(request, "read", *reply_stream.other_banks)
    return EventResponse(request, reply_stream)


@router.post("/stop", response_model=StateView)
def stop(memory: ChatMemory, session: Session, conversations: Conversations, idempotency: Idempotency) -> StateView:
    """Stop the reply in progress. The part that has arrived is stored, marked as partial."""
    return _change_once(memory, session, conversations, idempotency, lambda: conversations.stop(memory, session))


@router.post("/say", response_model=StateView)
def say(
    memory: ChatMemory, session: Session, conversations: Conversations, idempotency: Idempotency, body: SayBody
) -> StateView:
    """Store a line without a reply to it, such as one that another character of a group said. `answer` replies."""

    def add(chat: Chat) -> None:
        if body.incognito and not chat.incognito:
            raise problems.incognito_lost()
        speaker = chat.character.person if body.speaker is None else body.speaker
        chat.add_line(body.text, speaker, of_character=body.speaker is not None)

    return _change_once(memory, session, conversations, idempotency, lambda: conversations.change(memory, session, add))


class GroupChange(_ConversationAction):
    """Dependency: changes a conversation once, alone or in each bank of its group."""

    def run_once(
        self, group: Sequence[str], alone: Callable[[Chat], object], together: Callable[[Listeners, Chat], object]
    ) -> StateView:
        """Change the conversation once, and return its state.

        Raises:
            Problem: 403 if the key lacks a permission.
        """
        require(self._request, "chat", *group)

        def change(chat: Chat) -> None:
            if group:
                together(self.conversations.gather(chat, group, _permit_chat(self._request)), chat)
            else:
                alone(chat)

        memory, session, conversations = self._memory, self._session, self.conversations
        return _change_once(
            memory, session, conversations, self._idempotency, lambda: conversations.change(memory, session, change)
        )


Change = Annotated[GroupChange, Depends()]


@router.post("/undo", response_model=StateView)
def undo(change: Change, body: UndoBody | None = None) -> StateView:
    """Discard the person's last line and all lines after it."""
    body = body or UndoBody()
    return change.run_once(
        body.group,
        lambda chat: _check_last(chat, body.last).undo(),
        lambda group, chat: group.undo(_check_last(chat, body.last)),
    )


@router.post("/branch", response_model=StateView)
def branch(change: Change, body: BranchBody) -> StateView:
    """Continue from a line, which may be a discarded one, such as a swipe."""
    return change.run_once(
        body.group, lambda chat: chat.branch(body.seq), lambda group, chat: group.branch(chat, body.seq)
    )


@router.post("/incognito", response_model=StateView)
def set_incognito(
    lazy_memory: ChatLazyMemory,
    session: Session,
    conversations: Conversations,
    idempotency: Idempotency,
    body: IncognitoBody,
) -> StateView:
    """Switch incognito on or off. While it is on nothing is written; switching it off discards what was said."""
    memory = lazy_memory(lambda: conversations.validate(session))
    return _change_once(
        memory, session, conversations, idempotency, lambda: conversations.set_incognito(memory, session, body.on)
    )


def _change_once(
    memory: Memory,
    session: str,
    conversations: ConversationRegistry,
    idempotency: IdempotentRequest,
    change: Callable[[], StateView],
) -> StateView:
    """Change the conversation once, and return its state."""
    return idempotency.run_once(change, lambda _: True, lambda _: conversations.get_state(memory, session))


@router.post("/end", response_model=EndingView)
def end(
    request: Request,
    memory: ChatMemory,
    session: Session,
    conversations: Conversations,
    idempotency: Idempotency,
    body: EndBody | None = None,
) -> EndingView:
    """End the conversation: it is summarised and remembered, or forgotten. Without `remember` it may ask first.

    A key without `forget` can forget only the current conversation.
    """
    remember = (body or EndBody()).remember
    if remember is False and session != CURRENT:
        require(request, "forget", memory.bank)

    def act() -> tuple[EndingView, int]:
        with conversations.use(memory, session) as chat:
            first_seq = chat.lines[0].seq if chat.lines else 0
            ending = EndingView.model_validate(chat.end(remember))
        if ending.receipt is not None:
            conversations.drop_events(memory.bank)
        return ending, first_seq

    return idempotency.run_once(act, _ending_outcome, lambda outcome: _restore_ending(memory, session, outcome))[0]


def _ending_outcome(ended: tuple[EndingView, int]) -> dict[str, Any]:
    """Return the outcome to record. It names the conversation by its first line, for a record contains no text."""
    return {"ending": ended[0].model_dump(mode="json", exclude={"session"}), "first": ended[1]}


def _restore_ending(memory: Memory, session: str, outcome: dict[str, Any]) -> tuple[EndingView, int]:
    """Restore an ending from its outcome. A forgotten conversation is named as in the path."""
    first_seq = outcome["first"]
    name = next((stored.id for stored in memory.sessions() if stored.first_seq == first_seq), session)
    return EndingView.model_validate({**outcome["ending"], "session": name}), first_seq
