"""Settings of the server that affect requests. Plain values, so that they can be passed to every worker."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_MAX_BODY_BYTES = 4_000_000  # bytes: a thousand lines of four kilobytes, or the longest line, in one request
DEFAULT_PROXY_BODY_BYTES = 64_000_000  # bytes: several pictures, which are sent as data URLs


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits of an app. All but body_timeout_s, which is for tests, come from `everthread.config`."""

    key_required: bool = False  # also for callers on this machine
    host: str = "127.0.0.1"  # the address to serve at
    allowed_hosts: tuple[str, ...] = ()  # further names, of a proxy with the default ports
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")  # addresses and networks that may name their clients
    account_header: str = ""  # in which they name the person; empty: in none
    openid_issuer: str = ""  # the OpenID Connect provider where people sign in; empty: none
    openid_client: str = ""  # the id of this server there
    openid_secret: str = field(default="", repr=False)  # empty: a public client
    openid_name: str = ""  # of the provider, on the page; empty: its host
    openid_creates_accounts: bool = True  # for people who sign in for the first time
    max_threads: int = 64  # requests processed at a time; the others wait
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES  # of a request; files have limits of their own, see `request_guard`
    requests_per_minute: int = 0  # per key or account, or per address without either; 0 is unlimited
    max_replies: int = 256  # replies in progress; further ones are refused
    body_timeout_s: float = 30.0  # for a request's body, plus the time that a slow connection needs
    proxy_url: str = ""  # the server of the language models; empty: as for the character's replies
    proxy_key: str = field(default="", repr=False)  # its key; empty: the client's own is passed on
    proxy_bank: str = "default"  # of requests that name none
    proxy_role: str = "system"  # as what memories are sent: system, developer, or user-prefix
    proxy_patience_s: float = 0.3  # for recall, before a request is passed on without memories
    proxy_timeout_s: float = 600.0  # how long the server of the language models may be silent
    proxy_stores_history: bool = True  # whether a history that the bank has never seen is stored
    proxy_origins: tuple[str, ...] = ()  # of pages that may use the proxy from a browser, or "*"
    proxy_max_body_bytes: int = DEFAULT_PROXY_BODY_BYTES  # of a request below /v1
    serves_mem0: bool = False  # whether the paths of mem0's self-hosted server are served, too
    sms_token: str = field(default="", repr=False)  # the auth token of a Twilio account; empty: no text messages
    sms_account: str = ""  # its SID, with which late replies are sent
    sms_number: str = ""  # the number that sends them; empty: the one that received the message
    sms_language: str = "en"  # of the bot's own messages, until the person chooses another
    sms_url: str = ""  # the address that Twilio calls
    telegram_token: str = field(default="", repr=False)  # of a bot; empty: no Telegram bot
    telegram_language: str = "en"  # of the bot's own texts, for people whose app has another one
    telegram_url: str = "https://api.telegram.org"  # of the Bot API
