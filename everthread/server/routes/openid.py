"""Signing in at an OpenID Connect provider: the way there, and the way back.

They are pages for the browser, outside the API. The way back ends with a page of this server that leads on, so that the
next request doesn't count as caused by the provider's page, and has the session's cookie.
"""

from __future__ import annotations

from functools import partial
from html import escape
from urllib.parse import quote, urlencode

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from everthread.server.people import cookies
from everthread.server.people.accounts import list_taken_banks
from everthread.server.people.openid_provider import SignInFailed
from everthread.server.people.openid_sign_in import OpenIDSignIn
from everthread.server.rate_limit import client_address
from everthread.server.settings import Settings

PATH = "/sign-in/openid"
CALLBACK_PATH = f"{PATH}/callback"
PAGE = (
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta http-equiv="refresh" content="0;url={url}"><title>Everthread</title><a href="{url}">Everthread</a>'
)

router = APIRouter(include_in_schema=False)


def install(app: FastAPI, settings: Settings) -> OpenIDSignIn:
    """Add the pages to an app, and return what signs people in.

    Raises:
        ConfigError: for an invalid provider.
    """
    app.router.routes += router.routes
    services, authenticator = app.state.services, app.state.authenticator
    list_taken = partial(list_taken_banks, services.store, authenticator.keys, settings.proxy_bank)
    return OpenIDSignIn(settings, authenticator.people, list_taken, services.location)


@router.get(PATH)
def begin(request: Request) -> Response:
    """Lead to the provider."""
    sign_in: OpenIDSignIn = request.app.state.openid
    try:
        url, token = sign_in.begin(_redirect_uri(request), client_address(request.scope))
    except SignInFailed as error:
        return RedirectResponse(_page_url(error), 303)
    response = RedirectResponse(url, 303)
    cookies.set_token(request, response, token, cookies.SIGN_IN)
    return response


@router.get(CALLBACK_PATH)
def finish(request: Request) -> Response:
    """Begin the session of a person that the provider sends back, or lead to the page with the reason why not."""
    sign_in: OpenIDSignIn = request.app.state.openid
    token = cookies.get_token(request, cookies.SIGN_IN)
    address, session, url = client_address(request.scope), None, ""
    try:
        account, session = sign_in.finish(request.query_params, token, _redirect_uri(request), address)
        url = f"/#/{quote(account.banks[0], safe='')}"
    except SignInFailed as error:
        url = _page_url(error)
    response = HTMLResponse(PAGE.format(url=escape(url)))
    cookies.delete_token(request, response, cookies.SIGN_IN)
    if session:
        cookies.set_token(request, response, session)
    return response


def _redirect_uri(request: Request) -> str:
    """Return the address of `finish`, at the host of the request, which the guard has checked."""
    return str(request.url.replace(path=CALLBACK_PATH, query="", fragment=""))


def _page_url(error: SignInFailed) -> str:
    return "/?" + urlencode({"sign-in": error.reason} | ({"seconds": error.wait_s} if error.wait_s else {}))
