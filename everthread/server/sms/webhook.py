"""POST /sms: the webhook that Twilio calls with each text message.

Twilio waits 15 seconds, and repeats a request if the connection breaks. Each message is therefore leased once, and its
answer can be repeated. An answer that takes longer is sent later, through Twilio's REST API.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from everthread.errors import EverthreadError
from everthread.languages.wording import DEFAULT_LANGUAGE
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.messaging.conversation import MessageConversation
from everthread.server.messaging.message import AnswerParts, Message
from everthread.server.messaging.message_store import MessageStore
from everthread.server.messaging.person_queues import PersonQueues
from everthread.server.problems import Problem
from everthread.server.server_db import Location
from everthread.server.settings import Settings
from everthread.server.sms.channel import SMS
from everthread.server.sms.number_hasher import NumberHasher
from everthread.server.sms.twilio import (
    API_URL,
    FormFields,
    RecipientOptedOut,
    TwilioSender,
    get_host,
    is_signed,
    render_twiml,
)
from everthread.server.sms_key import load_key

log = logging.getLogger("everthread.server")

ANSWER_TIMEOUT_S = 12.0  # Twilio waits 15 s, transmission included
POLL_INTERVAL_S = 0.1  # while another thread or process answers the message
MAX_FIELDS = 200

_NUMBER = re.compile(r"(?:[a-z]+:)?\+?[0-9]{1,20}", re.ASCII)


@dataclass
class PendingMessage:
    """A message that is being answered.

    The request waits for the answer, and another thread creates it. Under the lock they agree whether it is late.
    """

    message: Message
    number: str = field(repr=False)  # of the person; held only until the message is answered
    sender: str = field(repr=False)  # the number to answer from
    done: Future[None] = field(default_factory=Future)
    lock: threading.Lock = field(default_factory=threading.Lock)
    parts: AnswerParts = (("unkept", 0),)  # replaced by the answer
    is_late: bool = False


class SmsService:
    """Answers the text messages of one Twilio account."""

    def __init__(
        self,
        conversations: ConversationRegistry,
        settings: Settings,
        location: Location,
        *,
        api: str = API_URL,
        timeout_s: float = ANSWER_TIMEOUT_S,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Open the store of text messages.

        Args:
            conversations: the conversations of the server.
            settings: the server's settings, with Twilio's token and URL.
            location: of the server's own data.
            api: the URL of Twilio's REST API.
            timeout_s: seconds after which an answer is late.
            clock: returns the current time.

        Raises:
            ConfigError: for an invalid URL, or if the key can't be read or created.
        """
        get_host(settings.sms_url)
        self._token, self._url, self._from = settings.sms_token, settings.sms_url, settings.sms_number
        self._sender = TwilioSender(settings.sms_account, settings.sms_token, api) if settings.sms_account else None
        self.hasher, self.store = NumberHasher(load_key(location)), MessageStore(location, SMS.name)
        self.conversation = MessageConversation(
            SMS, conversations, self.store, clock, settings.sms_language or DEFAULT_LANGUAGE
        )
        self._timeout_s = timeout_s
        self._queues = PersonQueues("everthread sms")

    async def receive(self, body: bytes, signature: str) -> bytes:
        """Answer a request of Twilio. No thread is held while it waits.

        Args:
            body: the body of the request.
            signature: the signature of the request.

        Returns:
            The TwiML.

        Raises:
            Problem: 403 for an invalid signature, 400 for an invalid message.
            StoreError: if the store fails.
        """
        pending = self._read_message(body, signature)
        parts = await self._get_answer(pending)
        return render_twiml(await run_in_threadpool(self.conversation.render_messages, pending.message.person, parts))

    def _read_message(self, body: bytes, signature: str) -> PendingMessage:
        """Read the message of a request."""
        fields = _parse_form(body)
        if not is_signed(self._token, self._url, fields, signature):
            raise Problem(403, "bad-signature", "this request was not signed by Twilio for this address; see sms_url")
        form = dict(fields)
        number, sid = form.get("From", ""), form.get("MessageSid") or form.get("SmsSid", "")
        if not sid or not _NUMBER.fullmatch(number):
            raise Problem(400, "no-message", "invalid message: expected a MessageSid, and a number in From")
        person, has_pictures = self.hasher.hash(number), form.get("NumMedia", "0") not in ("", "0")
        message = Message(sid, person, form.get("Body", ""), has_pictures, bool(form.get("OptOutType")))
        return PendingMessage(message, number, self._from or form.get("To", ""))

    def close(self) -> None:
        """Wait until the pending messages are answered, and stop."""
        self._queues.close()
        self.store.close()

    # ----------------------------------------------------------------- answering

    async def _get_answer(self, pending: PendingMessage) -> AnswerParts:
        """Return the answer to a message, or the text for a late one. Each answer is created once."""
        deadline = time.monotonic() + self._timeout_s
        while not isinstance(lease := await run_in_threadpool(self.store.lease, pending.message.id), tuple):
            if lease:
                self._enqueue(pending)
                await asyncio.wait([asyncio.wrap_future(pending.done)], timeout=max(deadline - time.monotonic(), 0))
                return await run_in_threadpool(self._get_or_postpone, pending)
            if time.monotonic() > deadline:
                return ()  # the thread that holds the lease sends the answer later
            await asyncio.sleep(POLL_INTERVAL_S)
        return lease

    def _get_or_postpone(self, pending: PendingMessage) -> AnswerParts:
        """Return the answer; if it is not ready, mark it as late and return the text for late answers."""
        with pending.lock:
            if pending.done.done():
                return pending.parts
            pending.is_late = True
            parts: AnswerParts = () if self._sender else (("moment", 0),)
            self.store.save_answer(pending.message.id, parts)
            return parts

    def _enqueue(self, pending: PendingMessage) -> None:
        """Answer a keyword at once, and any other message after the person's earlier ones."""
        if self.conversation.is_urgent(pending.message):
            self._queues.run(lambda: self._answer(pending))
        else:
            self._queues.enqueue(pending.message.person, lambda: self._answer(pending))

    def _answer(self, pending: PendingMessage) -> None:
        """Create the answer and publish it, or send it if it is late."""
        try:
            pending.parts = self.conversation.answer(pending.message)
        except (EverthreadError, Problem) as error:
            log.error("a text message could not be answered: %s", type(error).__name__)
        finally:
            self._publish(pending)
        if pending.is_late:
            self._send(pending)

    def _publish(self, pending: PendingMessage) -> None:
        """Publish the answer, unless it is late."""
        with pending.lock:
            if not pending.is_late:
                pending.done.set_result(None)
                self.store.save_answer(pending.message.id, pending.parts)

    def _send(self, pending: PendingMessage) -> None:
        """Send a late answer; if that fails, save it for the next answer."""
        person, texts = pending.message.person, self.conversation.render_messages(pending.message.person, pending.parts)
        try:
            if self._sender is None or not self._sender.send(texts, to=pending.number, sender=pending.sender):
                self.conversation.save_owed(person, pending.parts)
        except RecipientOptedOut:
            self.store.opt_out(person)


def _parse_form(body: bytes) -> FormFields:
    """Return the fields of a form. Raises Problem 400 for an invalid body."""
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Problem(400, "no-form", "the body is not an application/x-www-form-urlencoded form in UTF-8") from None


# --------------------------------------------------------------------- the route

router = APIRouter(tags=["sms"])


@router.post("/sms", include_in_schema=False)
async def sms(request: Request, x_twilio_signature: Annotated[str, Header()] = "") -> Response:
    """Handle an incoming message: Twilio's webhook."""
    service: SmsService = request.app.state.sms
    return Response(await service.receive(await request.body(), x_twilio_signature), media_type="text/xml")


def install(app: FastAPI, conversations: ConversationRegistry, settings: Settings) -> SmsService | None:
    """Add the webhook to the app if Twilio's token is set.

    Raises:
        ConfigError: for invalid settings.
    """
    if not settings.sms_token:
        return None
    app.router.routes += router.routes
    return SmsService(conversations, settings, conversations.services.location)
