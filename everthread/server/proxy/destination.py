"""Finds out for which bank and session a request is, and which model it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from starlette.datastructures import Headers

from everthread.bank.line_validation import MAX_NAME_CHARS
from everthread.errors import BadInput
from everthread.server.name_headers import BANK_HEADER, SESSION_HEADER, read_name
from everthread.server.proxy.body_options import BodyOptions
from everthread.server.proxy.formats.base import BANK_FIELD, ModelRequest
from everthread.server.proxy.model_names import split_model
from everthread.stores.limits import check_bank_id, check_storable

USER_HEADER = "x-openwebui-user-id"
SESSION_HEADERS = (  # of front ends
    *("x-openwebui-chat-id", "x-conversation-id", "x-claude-code-session-id"),
    "session-id",  # Codex
)


@dataclass(frozen=True, slots=True)
class Destination:
    """The bank and the session of a request, and the model without the suffix of the bank.

    session is None if the client names none.
    """

    bank: str
    session: str | None
    model: str


def find_destination(
    headers: Headers,
    request: ModelRequest,
    options: BodyOptions,
    path_bank: str | None,
    default_bank: str,
    is_bank: Callable[[str], bool],
) -> Destination:
    """Find the bank, the session and the model of a request.

    Args:
        headers: of the request.
        request: its body.
        options: the options in the body.
        path_bank: the bank in the path.
        default_bank: the bank of requests that name none.
        is_bank: as for `split_model`.

    Raises:
        BadInput: an id or a name is invalid.
    """
    model, suffix = split_model(request.get_text("model"), is_bank)
    named = (
        read_name(headers, BANK_HEADER),
        options.bank or request.get_metadata(BANK_FIELD),
        suffix,
        path_bank,
        _name_user(headers.get(USER_HEADER)),
        _name_user(request.user),
    )
    bank = check_bank_id(next((name for name in named if name), default_bank))
    return Destination(bank, _find_session(headers, request, options), model)


def _name_user(user: str | None) -> str:
    """Return the bank of a client's user: the id itself, or a hash of one that can't name a bank."""
    if user is None or not user.strip():
        return ""
    return user if _is_usable(user) else f"user-{sha256(user.encode('utf-8', 'replace')).hexdigest()}"


def _is_usable(name: str | None) -> bool:
    """Return whether a name that is not meant for Everthread can be that of a bank or a session."""
    return name is not None and name.strip() != "" and len(name) <= MAX_NAME_CHARS and name.isprintable()


def _find_session(headers: Headers, request: ModelRequest, options: BodyOptions) -> str | None:
    own = read_name(headers, SESSION_HEADER) or options.session
    if own:
        return check_storable(_check_length(own), "the session", BadInput)
    others = (*(headers.get(name) for name in SESSION_HEADERS), request.find_session())
    return next(filter(_is_usable, others), None)


def _check_length(session: str) -> str:
    if len(session) > MAX_NAME_CHARS:
        raise BadInput(f"invalid session: got {len(session)} characters, expected at most {MAX_NAME_CHARS}")
    return session
