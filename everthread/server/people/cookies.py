"""The cookies of sessions and of sign-ins that go on elsewhere: not readable by scripts, and only by https if there is.

That of a session isn't sent from pages of other sites. That of a sign-in has to be sent when the provider's page leads
back, and is of no use without the provider's answer.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from everthread.server.people import login_sessions, pending_sign_ins

SESSION, SIGN_IN = "everthread", "everthread-sign-in"
SECURE_PREFIX = "__Host-"  # browsers accept it only by https, and not from other hosts of the same domain
LIFETIMES_S = {SESSION: login_sessions.LIFETIME_S, SIGN_IN: pending_sign_ins.LIFETIME_S}


def is_secure(connection: HTTPConnection) -> bool:
    """Return whether the client uses https; a proxy on this machine says so in X-Forwarded-Proto."""
    return connection.scope.get("scheme") == "https"


def get_token(connection: HTTPConnection, name: str = SESSION) -> str | None:
    """Return the token in the cookie of a request, or None."""
    return connection.cookies.get(_full_name(connection, name)) or None


def set_token(connection: HTTPConnection, response: Response, token: str, name: str = SESSION) -> None:
    """Add the cookie to a response."""
    response.set_cookie(
        _full_name(connection, name),
        token,
        max_age=LIFETIMES_S[name],
        httponly=True,
        secure=is_secure(connection),
        samesite="strict" if name == SESSION else "lax",
    )


def delete_token(connection: HTTPConnection, response: Response, name: str = SESSION) -> None:
    """Have the browser delete the cookie."""
    response.delete_cookie(
        _full_name(connection, name),
        httponly=True,
        secure=is_secure(connection),
        samesite="strict" if name == SESSION else "lax",
    )


def _full_name(connection: HTTPConnection, name: str) -> str:
    return SECURE_PREFIX + name if is_secure(connection) else name
