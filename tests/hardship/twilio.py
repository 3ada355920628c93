"""A stand-in for Twilio: signed requests to the webhook, and a REST API that accepts messages."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx

from hardship.loopback import Quiet, serve_handler

TOKEN, ACCOUNT, URL = "12345", "AC0123456789abcdef0123456789abcdef", "https://bot.example.com/sms"
ALICE, BOT = "+14158675309", "+18005551212"
SIDS = itertools.count(0xABCDEF)


def sign(url: str, fields: Mapping[str, str], token: str = TOKEN) -> str:
    """Sign a request as Twilio's documentation describes it, independently of our code.

    The signature is Base64 of HMAC-SHA1, with the auth token as the key, over the full URL and each field's name and
    value, sorted by name.
    """
    text = url
    for name in sorted(fields):
        text += name + fields[name]
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


@dataclass
class Phone:
    """A phone that writes to the bot."""

    client: Any  # of httpx, or starlette's in its place
    number: str = ALICE

    def send(self, text: str, *, sid: str | None = None, **more: str) -> list[str]:
        """Send a message; return the messages of the response."""
        answer = self.post(text, sid=sid, **more)
        assert answer.status_code == 200, answer.text
        return messages(answer)

    def post(self, text: str, *, sid: str | None = None, **more: str) -> httpx.Response:
        """Send a message as Twilio's request; return the response."""
        fields = form(text, sid or f"SM{next(SIDS):032x}", self.number, **more)
        headers = {"X-Twilio-Signature": sign(URL, fields), "Content-Type": "application/x-www-form-urlencoded"}
        answer: httpx.Response = self.client.post("/sms", content=urlencode(fields).encode(), headers=headers)
        return answer


def form(text: str, sid: str, number: str = ALICE, **more: str) -> dict[str, str]:
    """Build the fields of an incoming message."""
    fields = {
        "MessageSid": sid,
        "SmsSid": sid,
        "SmsMessageSid": sid,
        "AccountSid": ACCOUNT,
        "ApiVersion": "2010-04-01",
        "From": number,
        "To": BOT,
        "Body": text,
        "NumMedia": "0",
        "NumSegments": "1",
        "SmsStatus": "received",
        "FromCity": "SAN RAFAEL",
        "FromCountry": "US",
        "ToCity": "",
    }
    return {**fields, **more}


def messages(answer: httpx.Response) -> list[str]:
    """Parse the messages of a TwiML response."""
    assert answer.headers["content-type"].startswith("text/xml")
    root = ET.fromstring(answer.content)
    assert root.tag == "Response"
    assert {each.tag for each in root} <= {"Message"}
    return [each.text or "" for each in root]


@dataclass
class Api:
    """A running stand-in for Twilio's REST API. The first requests are answered with `statuses`, one each."""

    url: str
    statuses: list[tuple[int, int]] = field(default_factory=list)  # HTTP status and Twilio's error code
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and Authorization
    sent: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def api() -> Iterator[Api]:
    """Serve an API that accepts messages as Twilio does."""

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            twilio_api.asked.append((self.path, self.headers["Authorization"]))
            status, code = twilio_api.statuses.pop(0) if twilio_api.statuses else (201, 0)
            if status < 400:
                twilio_api.sent.append(dict(parse_qsl(body)))
            data = json.dumps({"code": code} if code else {"sid": "SM1", "status": "queued"}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with serve_handler(Handler) as url:
        twilio_api = Api(url)
        yield twilio_api
