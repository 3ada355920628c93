"""Builds the settings of a server from the configuration, and finds what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields

from everthread import config
from everthread.config import Config
from everthread.errors import BadBankId, ConfigError
from everthread.server import tracing
from everthread.server.people import openid_settings
from everthread.server.people.trusted_header import parse_network
from everthread.server.proxy import upstream
from everthread.server.settings import Settings
from everthread.server.sms.twilio import get_host
from everthread.server.telegram import bot_api
from everthread.stores.limits import check_bank_id

MESSAGE_SETTINGS = [setting.name for setting in fields(Settings) if setting.name.startswith(("sms_", "telegram_"))]
HOST_NAME = r"\[[0-9a-f:.]+\]|[a-z0-9._-]+"  # without a scheme, a port or a path: the guard compares only names
ORIGIN = rf"\*|null|[a-z][a-z0-9+.-]*://({HOST_NAME})?(:[0-9]+)?"  # as browsers send it: without a path
HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # a token (RFC 9110, 5.6.2)


def build_settings(host: str, key_required: bool) -> Settings:
    """Build the settings of a server.

    Args:
        host: the address to serve at.
        key_required: whether every caller needs a key or an account.

    Raises:
        ConfigError: the configuration can't be read, or a setting of the server is invalid.
    """
    for fault in find_faults():
        raise fault
    configured = config.load()
    hosts = _split(configured.server_hosts)
    if configured.sms_token:
        hosts = (*hosts, get_host(configured.sms_url))
    return Settings(
        key_required=key_required,
        host=host,
        allowed_hosts=hosts,
        proxies=_split(configured.server_proxies),
        account_header=configured.account_header.strip(),
        openid_issuer=configured.openid_issuer.strip(),
        openid_client=configured.openid_client.strip(),
        openid_secret=configured.openid_secret.strip(),
        openid_name=configured.openid_name.strip(),
        openid_creates_accounts=configured.openid_accounts == "create",
        max_threads=configured.server_threads,
        max_body_bytes=configured.server_max_body_bytes,
        requests_per_minute=configured.server_requests_per_minute,
        max_replies=configured.server_max_replies,
        proxy_url=configured.proxy_url,
        proxy_key=configured.proxy_key,
        proxy_bank=configured.proxy_bank,
        proxy_role=configured.proxy_role,
        proxy_patience_s=configured.proxy_patience / 1000,
        proxy_timeout_s=configured.proxy_timeout,
        proxy_stores_history=configured.proxy_history == "store",
        proxy_origins=_split(configured.proxy_origins),
        proxy_max_body_bytes=configured.proxy_max_body_bytes,
        **{name: getattr(configured, name).strip() for name in MESSAGE_SETTINGS},
    )


def find_faults() -> Iterator[ConfigError]:
    """Find what is wrong with the server's settings: an error each, which names where the value is from.

    Raises ConfigError for a configuration that can't be read.
    """
    configured = config.load()
    for check, settings in _CHECKS:
        try:
            with config.name_source(*settings):
                check(configured)
        except ConfigError as error:
            yield error
    try:
        tracing.check_packages()
    except ConfigError as error:
        yield error


def _split(value: str) -> tuple[str, ...]:
    """Return the parts of a setting that are separated by commas, in lower case."""
    return tuple(filter(None, (part.strip().lower() for part in value.split(","))))


def _check_hosts(configured: Config) -> None:
    _check_parts("server_hosts", configured.server_hosts, HOST_NAME, "names such as memory.example.org")


def _check_origins(configured: Config) -> None:
    _check_parts("proxy_origins", configured.proxy_origins, ORIGIN, "origins such as https://chat.example.org")


def _check_parts(setting: str, value: str, pattern: str, expected: str) -> None:
    for part in _split(value):
        if not re.fullmatch(pattern, part, re.ASCII):
            raise ConfigError(f"invalid {setting}: got {part!r}, expected {expected}, separated by commas")


def _check_proxies(configured: Config) -> None:
    for proxy in _split(configured.server_proxies):
        parse_network(proxy)


def _check_account_header(configured: Config) -> None:
    name = configured.account_header.strip()
    if name and not re.fullmatch(HEADER_NAME, name, re.ASCII):
        raise ConfigError(f"invalid account_header: got {name!r}, expected the name of a header such as Remote-User")


def _check_openid(configured: Config) -> None:
    issuer, client = configured.openid_issuer.strip(), configured.openid_client.strip()
    openid_settings.check_provider(issuer, client, configured.account_header.strip())


def _check_openid_accounts(configured: Config) -> None:
    _check_choice("openid_accounts", configured.openid_accounts, "create", "linked")


def _check_proxy_history(configured: Config) -> None:
    _check_choice("proxy_history", configured.proxy_history, "store", "skip")


def _check_choice(setting: str, value: str, *choices: str) -> None:
    if value not in choices:
        raise ConfigError(f"invalid {setting}: got {value!r}, expected {' or '.join(choices)}")


def _check_upstream(configured: Config) -> None:
    """Check the URL that the proxy uses: its own, or that of the language model."""
    for setting in ("proxy_url", "llm_url"):
        if url := getattr(configured, setting):
            upstream.check_url(setting, url)
            return


def _check_proxy_role(configured: Config) -> None:
    upstream.check_role(configured.proxy_role)


def _check_proxy_bank(configured: Config) -> None:
    try:
        check_bank_id(configured.proxy_bank)
    except BadBankId as error:
        raise ConfigError(f"invalid proxy_bank: {error}") from None


def _check_sms(configured: Config) -> None:
    if configured.sms_token.strip():
        get_host(configured.sms_url.strip())


def _check_telegram(configured: Config) -> None:
    if token := configured.telegram_token.strip():
        bot_api.check_token(token)


def _check_telegram_url(configured: Config) -> None:
    if configured.telegram_token.strip():
        bot_api.check_url(configured.telegram_url.strip())


_CHECKS: tuple[tuple[Callable[[Config], None], tuple[str, ...]], ...] = (  # with the settings that each of them reads
    (_check_hosts, ("server_hosts",)),
    (_check_proxies, ("server_proxies",)),
    (_check_account_header, ("account_header",)),
    (_check_openid, ("openid_issuer", "openid_client", "account_header")),
    (_check_openid_accounts, ("openid_accounts",)),
    (_check_upstream, ("proxy_url", "llm_url")),
    (_check_proxy_bank, ("proxy_bank",)),
    (_check_proxy_role, ("proxy_role",)),
    (_check_proxy_history, ("proxy_history",)),
    (_check_origins, ("proxy_origins",)),
    (_check_sms, ("sms_url", "sms_token")),
    (_check_telegram, ("telegram_token",)),
    (_check_telegram_url, ("telegram_url",)),
)
