"""Twilio's protocol: signatures, TwiML, and the REST API.

Sources: "Secure webhooks", "TwiML for Programmable Messaging" and "Messages resource" in https://www.twilio.com/docs.
"""

from __future__ import annotations

import base64
import hmac
import logging
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit, urlunsplit
from xml.sax.saxutils import escape

import httpx

from everthread.common.retry import Retries
from everthread.common.tls import tls_context
from everthread.common.urls import is_http_url
from everthread.errors import ConfigError

log = logging.getLogger("everthread.server")

API_URL = "https://api.twilio.com"
UNSUBSCRIBED_CODE = 21610  # Twilio's error code for a person who has said STOP
RETRY_DELAYS_S = (0.5, 2.0)  # before a message that Twilio did not accept is sent again
TIMEOUT_S = 10.0  # for Twilio to accept a message

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not representable in XML 1.0

FormFields = Sequence[tuple[str, str]]  # names and values, in the order of the form


def compute_signature(token: str, url: str, fields: FormFields) -> str:
    """Compute the X-Twilio-Signature of a request.

    It is the Base64 of the HMAC-SHA1, by the account's auth token, of the URL followed by each field's name and value,
    sorted by name. Repeated fields count once, as in Twilio's own libraries.
    """
    signed = url + "".join(name + value for name, value in sorted(set(fields)))
    return base64.b64encode(hmac.digest(token.encode(), signed.encode("utf-8", "replace"), "sha1")).decode()


def is_signed(token: str, url: str, fields: FormFields, signature: str) -> bool:
    """Return whether the signature of a request is valid.

    `url` is the URL that Twilio is configured with. Twilio may add or omit the default port, and omits the fragment.
    """
    # All variants are compared, each in constant time.
    matches = [
        hmac.compare_digest(compute_signature(token, variant, fields).encode(), signature.encode())
        for variant in _url_variants(url)
    ]
    return any(matches)


def get_host(url: str) -> str:
    """Return the host of the webhook's URL.

    Raises:
        ConfigError: if the URL is invalid.
    """
    if is_http_url(url) and (host := urlsplit(url).hostname):
        return host
    raise ConfigError(
        f"invalid sms_url: got {url!r}, expected the URL that Twilio calls, such as https://bot.example.com/sms; it is "
        "part of Twilio's signature"
    )


def _url_variants(url: str) -> list[str]:
    parts = urlsplit(url)._replace(fragment="")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.netloc if parts.port is None else parts.netloc.rpartition(":")[0]
    return [urlunsplit(parts._replace(netloc=netloc)) for netloc in (host, f"{host}:{port}")]


def render_twiml(messages: Iterable[str]) -> bytes:
    """Render the response to a webhook, which sends these messages to the person."""
    elements = "".join(f"<Message>{escape(_ILLEGAL.sub('', text))}</Message>" for text in messages)
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{elements}</Response>'.encode()


class RecipientOptedOut(Exception):
    """The person has said STOP to Twilio."""


class TwilioSender:
    """Sends messages through Twilio's REST API. Thread-safe."""

    def __init__(self, account: str, token: str, api: str = API_URL) -> None:
        self._url = f"{api}/2010-04-01/Accounts/{account}/Messages.json"
        self._auth = httpx.BasicAuth(account, token)

    def send(self, messages: Iterable[str], *, to: str, sender: str) -> bool:
        """Send messages in order. A message that Twilio may have accepted is not sent again.

        Args:
            messages: the texts.
            to: the recipient's number.
            sender: the number to send from.

        Returns:
            True if Twilio accepted all of them.

        Raises:
            RecipientOptedOut: if the person has said STOP.
        """
        with httpx.Client(auth=self._auth, timeout=TIMEOUT_S, verify=tls_context()) as client:
            return all(self._send_one(client, {"To": to, "From": sender, "Body": text}) for text in messages)

    def _send_one(self, client: httpx.Client, message: dict[str, str]) -> bool:
        retries = Retries(RETRY_DELAYS_S)
        while True:
            try:
                response = client.post(self._url, data=message)
            except httpx.ConnectError as error:
                problem = type(error).__name__
            except httpx.HTTPError as error:
                log.warning("Twilio did not confirm a late reply: %s", type(error).__name__)
                return True
            else:
                problem = str(response.status_code)
                if response.is_success:
                    return True
                if _error_code(response) == UNSUBSCRIBED_CODE:
                    raise RecipientOptedOut
                if response.status_code != 429 and response.status_code < 500:
                    break
            if not retries.wait():
                break
        log.warning("Twilio did not send a late reply: %s", problem)
        return False


def _error_code(response: httpx.Response) -> int | None:
    """Return the error code in Twilio's response, or None."""
    try:
        document = response.json()
    except ValueError:
        return None
    code = document.get("code") if isinstance(document, dict) else None
    return code if isinstance(code, int) else None
