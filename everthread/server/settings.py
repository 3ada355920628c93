"""Settings of the server that affect requests. Plain values, so that they can be passed to every worker."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_MAX_BODY_BYTES = 4_000_000  # bytes: a thousand lines of four kilobytes, or the longest line, in one request


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits of an app. All but body_timeout_s, which is for tests, come from `everthread.config`."""

    key_required: bool = False  # also of whoever asks from this machine
    host: str = "127.0.0.1"  # where it serves
    allowed_hosts: tuple[str, ...] = ()  # names it is reached under besides, through a proxy with the usual ports
    max_threads: int = 64  # requests that are worked on at a time; the others wait
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES  # bytes of a request; files have a limit of their own, see `guard`
    requests_per_minute: int = 0  # requests a minute of one key, or of one address without a key; 0 means any number
    max_replies: int = 256  # replies that are written at a time; who asks for one more is told to come again
    body_timeout_s: float = 30.0  # seconds for a request's body, besides the time that a slow line needs
    sms_token: str = field(default="", repr=False)  # the auth token of a Twilio account; none means no text messages
    sms_account: str = ""  # its SID, with which late replies are sent
    sms_number: str = ""  # from which they are sent; none means the one that was written to
    sms_url: str = ""  # the address that Twilio calls
