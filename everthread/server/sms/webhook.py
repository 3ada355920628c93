"""POST /sms: the webhook that Twilio calls with each text message, and what becomes of an answer that is late.

Twilio waits 15 seconds, and asks again where the line broke; so a message is taken up once, and its answer can be given
again. An answer that takes longer is sent behind, through Twilio's REST API.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from everthread.errors import EverthreadError
from everthread.server import server_db
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.problems import Problem
from everthread.server.settings import Settings
from everthread.server.sms import keywords
from everthread.server.sms.conversation import Message, SmsConversation
from everthread.server.sms.store import Parts, Record
from everthread.server.sms.twilio import API, Fields, Sender, Unsubscribed, host_of, signed, twiml

log = logging.getLogger("everthread.server")

PATIENCE = 12.0  # seconds until an answer is late: Twilio waits 15, and the way there and back takes its time
AGAIN = 0.1  # seconds between two looks whether another has answered
AT_ONCE = 64  # messages that are answered at a time; the others wait, and are late
FIELDS = 200
Given = TypeVar("Given")

_NUMBER = re.compile(r"(?:[a-z]+:)?\+?[0-9]{1,20}", re.ASCII)


@dataclass
class Turn:
    """A message that is being answered. Whoever waits for the answer, and whoever makes it, agree here whether it is
    late; number and sender are known for as long as that takes."""

    message: Message
    number: str = field(repr=False)
    sender: str = field(repr=False)
    done: Future[None] = field(default_factory=Future)
    lock: threading.Lock = field(default_factory=threading.Lock)
    parts: Parts = (("unkept", 0),)  # unless something better is found
    late: bool = False


class Sms:
    """Answers the text messages of one Twilio account."""

    def __init__(
        self,
        talks: ConversationRegistry,
        settings: Settings,
        file: Path,
        *,
        api: str = API,
        patience: float = PATIENCE,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """file is where `Record` keeps its rows. Raises ConfigError."""
        host_of(settings.sms_url)
        self._token, self._url, self._from = settings.sms_token, settings.sms_url, settings.sms_number
        self._sender = Sender(settings.sms_account, settings.sms_token, api) if settings.sms_account else None
        self.record = Record(file)
        self.talk = SmsConversation(talks, self.record, clock)
        self._patience = patience
        self._pool = ThreadPoolExecutor(AT_ONCE, "everthread sms")
        self._waiting: dict[str, deque[Turn]] = {}  # by person: one message after the other is answered
        self._changed = threading.Condition()

    async def receive(self, body: bytes, given: str) -> bytes:
        """The XML that answers a webhook. It holds no thread while it waits. Problem 403 where its signature is not
        Twilio's, and 400 where it is no message. Raises StoreError."""
        turn = self._turn(body, given)
        parts = await self._parts(turn)
        return twiml(await run_in_threadpool(self.talk.texts, turn.message.person, parts))

    def _turn(self, body: bytes, given: str) -> Turn:
        """The message of a request."""
        fields = _fields(body)
        if not signed(self._token, self._url, fields, given):
            raise Problem(403, "bad-signature", "this request was not signed by Twilio for this address; see sms_url")
        said = dict(fields)
        number, sid = said.get("From", ""), said.get("MessageSid") or said.get("SmsSid", "")
        if not sid or not _NUMBER.fullmatch(number):
            raise Problem(400, "no-message", "a text message has a MessageSid and comes From a number; this is none")
        person, pictures = self.record.person(number), said.get("NumMedia", "0") not in ("", "0")
        message = Message(sid, person, said.get("Body", ""), pictures, bool(said.get("OptOutType")))
        return Turn(message, number, self._from or said.get("To", ""))

    def close(self) -> None:
        """Answer what has come, and no more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
        self._pool.shutdown()
        self.record.close()

    # ----------------------------------------------------------------- answering

    async def _parts(self, turn: Turn) -> Parts:
        """The answer to a message, made once, or what is said where it is late."""
        until = time.monotonic() + self._patience
        while not isinstance(claimed := await run_in_threadpool(self.record.lease, turn.message.sid), tuple):
            if claimed:
                self._take_up(turn)
                await asyncio.wait([asyncio.wrap_future(turn.done)], timeout=max(until - time.monotonic(), 0))
                return await run_in_threadpool(self._given, turn)
            if time.monotonic() > until:
                return ()  # whoever answers it sends it behind
            await asyncio.sleep(AGAIN)
        return claimed

    def _given(self, turn: Turn) -> Parts:
        """The answer, or what is said where it is late from now on."""
        with turn.lock:
            if turn.done.done():
                return turn.parts
            turn.late = True
            told: Parts = () if self._sender else (("moment", 0),)
            self.record.answered(turn.message.sid, told)
            return told

    def _take_up(self, turn: Turn) -> None:
        """Have it answered: behind the person's other messages, but who wants to be left alone does not wait."""
        if not _talks(turn.message):
            self._submit(self._answer, turn)
            return
        with self._changed:
            waiting = self._waiting.setdefault(turn.message.person, deque())
            waiting.append(turn)
            if len(waiting) == 1:
                self._submit(self._next, turn.message.person)

    def _next(self, person: str) -> None:
        """Answer the message of this person that has waited for longest."""
        waiting = self._waiting[person]
        try:
            self._answer(waiting[0])
        finally:
            with self._changed:
                waiting.popleft()
                if waiting:
                    self._submit(self._next, person)
                else:
                    del self._waiting[person]
                    self._changed.notify_all()

    def _submit(self, do: Callable[[Given], None], what: Given) -> None:
        self._pool.submit(do, what).add_done_callback(_told)

    def _answer(self, turn: Turn) -> None:
        """Make the answer, in a thread of its own."""
        try:
            turn.parts = self.talk.answer(turn.message)
            if _talks(turn.message) and self.record.stopped(turn.message.person):
                turn.parts = ()
        except (EverthreadError, Problem) as error:
            log.error("a text message could not be answered: %s", type(error).__name__)
        finally:
            self._publish(turn)
        if turn.late:
            self._send(turn)

    def _publish(self, turn: Turn) -> None:
        """Let whoever waits have the answer, unless it is late."""
        with turn.lock:
            if not turn.late:
                turn.done.set_result(None)
                self.record.answered(turn.message.sid, turn.parts)

    def _send(self, turn: Turn) -> None:
        """Send what is late, or keep that it is owed."""
        person, texts = turn.message.person, self.talk.texts(turn.message.person, turn.parts)
        try:
            if self._sender is None or not self._sender.send(texts, to=turn.number, sender=turn.sender):
                self.talk.owe(person, turn.parts)
        except Unsubscribed:
            self.record.stop(person)


def _talks(message: Message) -> bool:
    """Whether a message is more than a keyword; a yes may be an answer."""
    return keywords.keyword(message.text) in (None, "yes")


def _told(done: Future[None]) -> None:
    """What nobody foresaw is told in the log, by its kind alone."""
    if (error := done.exception()) is not None:
        log.error("a text message could not be answered: %s", type(error).__name__)


def _fields(body: bytes) -> Fields:
    """The fields of a form. Problem 400 where it is none."""
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except ValueError:
        raise Problem(400, "no-form", "the body is no application/x-www-form-urlencoded form in UTF-8") from None


# --------------------------------------------------------------------- the route

router = APIRouter(tags=["sms"])


@router.post("/sms", include_in_schema=False)
async def sms(request: Request, x_twilio_signature: Annotated[str, Header()] = "") -> Response:
    """Twilio's webhook for an incoming message."""
    service: Sms = request.app.state.sms
    return Response(await service.receive(await request.body(), x_twilio_signature), media_type="text/xml")


def install(app: FastAPI, talks: ConversationRegistry, settings: Settings) -> Sms | None:
    """Have the app answer text messages, where Twilio's token is set. Raises ConfigError."""
    if not settings.sms_token:
        return None
    app.include_router(router)
    return Sms(talks, settings, server_db.path(talks.engine.store))
