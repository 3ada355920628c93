"""The cookie of a session: not readable by scripts, not sent from pages of other sites, and only by https where there
is https."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from everthread.server.people.login_sessions import LIFETIME_S

NAME = "everthread"
SECURE_NAME = "__Host-everthread"  # browsers accept it only by https, and not from other hosts of the same domain


def is_secure(connection: HTTPConnection) -> bool:
    """Return whether the client uses https; a proxy on this machine says so in X-Forwarded-Proto."""
    return connection.scope.get("scheme") == "https"


def get_token(connection: HTTPConnection) -> str | None:
    """Return the token in the cookie of a request, or None."""
    return connection.cookies.get(SECURE_NAME if is_secure(connection) else NAME) or None


def set_token(connection: HTTPConnection, response: Response, token: str) -> None:
    """Add the cookie to a response."""
    secure = is_secure(connection)
    response.set_cookie(
        SECURE_NAME if secure else NAME, token, max_age=LIFETIME_S, httponly=True, secure=secure, samesite="strict"
    )


def delete_token(connection: HTTPConnection, response: Response) -> None:
    """Have the browser delete the cookie."""
    secure = is_secure(connection)
    response.delete_cookie(SECURE_NAME if secure else NAME, httponly=True, secure=secure, samesite="strict")
