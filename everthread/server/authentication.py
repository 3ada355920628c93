"""Authentication: finds the key of a program or the account of a person, by the head of a request.

`permissions` decides what they allow; `keys` and `people` store them.
"""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from everthread.server.keys import KEY_PREFIX, ApiKey, KeyStore
from everthread.server.people import cookies
from everthread.server.people.accounts import Account
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.trusted_header import TrustedHeader
from everthread.server.problems import Problem

Caller = ApiKey | Account

PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip")  # a proxy names its client in one of these
API_KEY_HEADER = "x-api-key"  # in which clients of Anthropic's API send their key
KEY_SCHEMES = ("bearer", "token")  # of Authorization; clients of mem0 send the second
SAFE_METHODS = ("GET", "HEAD")


class Authenticator:
    """Finds the caller of a request. Unless a key is required, one on this machine without a key may do everything."""

    def __init__(self, keys: KeyStore, people: PeopleDirectory, header: TrustedHeader, required: bool) -> None:
        self.keys, self.people, self.header, self.key_required = keys, people, header, required

    def close(self) -> None:
        """Close the files."""
        self.keys.close()
        self.people.close()

    def find_key(self, headers: Headers) -> ApiKey | None:
        """Return the key in the headers of a request, or None if they hold no valid key."""
        scheme, _, secret = (find_authorization(headers) or "").partition(" ")
        return self.keys.find(secret.strip()) if scheme.lower() in KEY_SCHEMES and secret.strip() else None

    def authenticate_model_client(self, request: Request) -> ApiKey | None:
        """Return the caller's key, as `authenticate_program`.

        Clients of language models always send a key; where none of ours is needed, it is one of the models' server.
        """
        authorization = find_authorization(request.headers) or ""
        is_foreign = bool(authorization) and not authorization.rpartition(" ")[2].startswith(KEY_PREFIX)
        if is_foreign and not self.needs_key(request):
            return None
        return self.authenticate_program(request)

    def needs_key(self, request: Request) -> bool:
        """Return whether a caller without a key is rejected.

        A key is always needed behind a proxy, which may forward requests from other machines.
        """
        return self.key_required or any(name in request.headers for name in PROXY_HEADERS)

    def has_credentials(self, request: Request) -> bool:
        """Return whether a key or an account has to be looked up."""
        is_named = bool(self.header.name) and self.header.name in request.headers
        return is_named or find_authorization(request.headers) is not None or cookies.get_token(request) is not None

    def find_account(self, request: HTTPConnection) -> Account | None:
        """Return the account of the person who has signed in, here or at a trusted proxy, or None."""
        if (account := self.header.find_account(request)) is not None:
            return account
        token = cookies.get_token(request)
        return self.people.sessions.find_account(token) if token else None

    def authenticate(self, request: Request) -> Caller | None:
        """Return the caller's key or account, or None if none is needed.

        A cookie is sent with requests that another page has caused, so a request that changes something must name its
        page as well; `request_guard` has compared it with this server.

        Raises:
            Problem: 401 if a needed key is missing, or the key is invalid; 403 for a change that names no page.
        """
        account = self.find_account(request) if find_authorization(request.headers) is None else None
        if account is None:
            return self.authenticate_program(request)
        if request.method not in SAFE_METHODS and "origin" not in request.headers:
            raise Problem(403, "foreign-origin", "a change with a session's cookie needs an Origin; programs use a key")
        return account

    def is_still_valid(self, request: Request, caller: Caller) -> bool:
        """Return whether the caller of a long request may go on: its key isn't revoked; or the session isn't over, and
        the account isn't locked or removed."""
        if isinstance(caller, ApiKey):
            return self.find_key(request.headers) is not None
        account, token = self.people.accounts.find(caller.name), cookies.get_token(request)
        if account is None or account.id != caller.id or account.is_locked:
            return False
        is_signed_in = token is not None and self.people.sessions.find_account(token) is not None
        return is_signed_in or self.header.is_sent_by_proxy(request)

    def authenticate_program(self, request: Request) -> ApiKey | None:
        """Return the caller's key, or None if none is needed.

        Raises:
            Problem: 401 if a needed key is missing, or the key is invalid.
        """
        authorization = find_authorization(request.headers)
        if (key := self.find_key(request.headers)) is not None:
            return key
        if authorization is not None or self.needs_key(request):
            reason = "unknown or revoked key" if authorization else "a key is required: send Authorization: Bearer et_…"
            remedy = "create one with `everthread keys new` where the server runs"
            raise Problem(401, "unauthorized", f"{reason}; {remedy}", {"WWW-Authenticate": "Bearer"})
        return None


def find_authorization(headers: Headers) -> str | None:
    """Return the Authorization of a request: the header, or one with the key of ours that another header holds; None
    if it is missing or blank."""
    authorization, api_key = headers.get("authorization") or None, headers.get(API_KEY_HEADER, "").strip()
    is_own = (authorization or "").rpartition(" ")[2].startswith(KEY_PREFIX)
    return f"Bearer {api_key}" if api_key.startswith(KEY_PREFIX) and not is_own else authorization
