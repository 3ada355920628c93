"""What the server is, which models it can ask, and whether it is well."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from everthread import __version__, factory
from everthread.errors import BankDamaged, BankTooNew
from everthread.server import metrics
from everthread.server.auth import ReadAllServices, SharedServices, get_key
from everthread.server.problems import Problem

router = APIRouter(tags=["about"])  # of the API
health = APIRouter(include_in_schema=False)  # at the root, where those look who keep servers alive

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class RecipeSummaryView(BaseModel):
    """A complete way of remembering."""

    name: str
    about: str


class ModelView(BaseModel):
    """The language model that replies. context: tokens that prompt and reply may have together."""

    name: str
    context: int


class AboutView(BaseModel):
    """What the server is. model is null where there is none, and for whoever lacks a key that is needed. incognito:
    whether conversations may be had of which nothing is kept: wherever all of one come to the process that knows it."""

    version: str
    recipe: str
    recipes: list[RecipeSummaryView]
    model: ModelView | None
    embedder: str
    key_required: bool
    incognito: bool


class ModelsView(BaseModel):
    """Names of models at the server that is configured, and the one that replies if none is named."""

    items: list[str]
    default: str | None


@router.get("/about")
def about(request: Request, services: SharedServices) -> AboutView:
    """What the server is. Needs no key, so that whoever comes learns whether one is needed."""
    known = has_valid_key(request)
    llm = services.llm if known else None
    return AboutView(
        version=__version__,
        recipe=services.recipe.name,
        recipes=[RecipeSummaryView(name=name, about=each.description) for name, each in factory.RECIPES.items()],
        model=None if llm is None else ModelView(name=llm.name, context=llm.context),
        embedder=services.embedder.name,
        key_required=request.app.state.authenticator.key_required,
        incognito=not request.app.state.conversations.isolated,
    )


@router.get("/models")
def models(services: ReadAllServices) -> ModelsView:
    """The models that may be chosen: those of the server that is configured, and of no other."""
    return ModelsView(items=services.llms.list_names(), default=services.llm.name if services.llm else None)


@health.get("/healthz")
async def healthz() -> PlainTextResponse:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


@health.get("/readyz")
def readyz(request: Request, services: SharedServices) -> PlainTextResponse:
    """Whether the store can be read, and the keys. One bank that is damaged keeps no other from being used."""
    request.app.state.authenticator.keys.list_keys()
    banks = services.store.banks()
    with suppress(BankDamaged, BankTooNew):
        if banks:
            services.store.corpus(banks[0])
    return PlainTextResponse("ready\n")


@health.get("/metrics")
def numbers(request: Request, _: ReadAllServices) -> Response:
    """The counters, for Prometheus."""
    return Response(metrics.get_metrics(request).render(), media_type=PROMETHEUS)


def has_valid_key(request: Request) -> bool:
    """Whether whoever asks may come in at all."""
    try:
        get_key(request)
    except Problem:
        return False
    return True
