"""The version, the models, and the health of the server."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from everthread import __version__, factory
from everthread.server import metrics
from everthread.server.people.accounts import Account
from everthread.server.permissions import ReadAllServices, SharedServices, get_caller
from everthread.server.problems import Problem
from everthread.server.routes.account import AccountView, build_view, get_people
from everthread.server.routes.api_router import create_router

router = create_router("about", route_class=APIRoute)  # of the API
health = APIRouter(include_in_schema=False)  # at the root, where monitors expect it

METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RecipeSummaryView(BaseModel):
    """A recipe: a complete way of remembering."""

    name: str
    about: str


class ModelView(BaseModel):
    """The language model that replies. context: tokens of prompt and reply together."""

    name: str
    context: int


class AboutView(BaseModel):
    """Information about the server.

    model is null if no model is configured, and for callers that lack a required key. incognito: whether the server
    offers conversations that are not stored; all requests of one must reach the process that holds it. account: of the
    caller, if it is a person who has signed in. has_accounts: whether one can sign in with a name and a password.
    openid: the name of the provider that /sign-in/openid leads to, or null.
    """

    version: str
    recipe: str
    recipes: list[RecipeSummaryView]
    model: ModelView | None
    embedder: str
    key_required: bool
    incognito: bool
    account: AccountView | None
    has_accounts: bool
    openid: str | None


class ModelsView(BaseModel):
    """The models of the configured server, and the default one."""

    items: list[str]
    default: str | None


@router.get("/about")
def about(request: Request, services: SharedServices) -> AboutView:
    """Describe the server. Needs no key, and says whether other requests need one."""
    is_known, caller = is_authenticated(request), getattr(request.state, "caller", None)
    openid = request.app.state.openid
    llm = services.llm if is_known else None
    return AboutView(
        version=__version__,
        recipe=services.recipe.name,
        recipes=[RecipeSummaryView(name=name, about=recipe.description) for name, recipe in factory.RECIPES.items()],
        model=None if llm is None else ModelView(name=llm.name, context=llm.context),
        embedder=services.embedder.name,
        key_required=request.app.state.authenticator.key_required,
        incognito=not request.app.state.conversations.is_isolated,
        account=build_view(caller, request) if isinstance(caller, Account) else None,
        has_accounts=get_people(request).accounts.has_passwords(),
        openid=None if openid is None else openid.name,
    )


@router.get("/models")
def models(services: ReadAllServices) -> ModelsView:
    """List the models of the configured server."""
    return ModelsView(items=services.llms.list_names(), default=services.llm.name if services.llm else None)


@health.get("/healthz")
async def healthz() -> PlainTextResponse:
    """Report that the process answers."""
    return PlainTextResponse("ok\n")


@health.get("/readyz")
async def readyz(request: Request) -> PlainTextResponse:
    """Report that the store and the keys can be read."""
    await request.app.state.readiness.check()
    return PlainTextResponse("ready\n")


@health.get("/metrics")
def prometheus_metrics(request: Request, _: ReadAllServices) -> Response:
    """Return the metrics, for Prometheus."""
    return Response(metrics.get_metrics(request).render(), media_type=METRICS_MEDIA_TYPE)


def is_authenticated(request: Request) -> bool:
    """Return whether the caller has a valid key or an account, or needs neither."""
    try:
        get_caller(request)
    except Problem:
        return False
    return True
