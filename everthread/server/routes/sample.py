"""The sample life of the demonstration: fill a bank with it, and get its questions."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Literal

from fastapi import Request

from everthread.demo.bank import fill_bank, find_sample
from everthread.demo.sample import Sample
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.server.idempotency import Idempotency
from everthread.server.permissions import Conversations, ReadMemory, WriteLazyMemory, require
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import RequestBody, View

router = create_router("banks", "/banks/{bank}/sample")

_filling = threading.Lock()  # of two fills at once, one would see a part of the other's lines, and remove them


class SampleBody(RequestBody):
    """The language of a sample."""

    language: Literal["en", "de", "zh"] = "en"


class QuestionView(View):
    """A question that the sample answers. line: the number of the line that does."""

    text: str
    line: int


class SampleView(View):
    """The sample in a bank: whose life it is, from when to when, and questions to ask."""

    language: str
    person: str
    lines: int
    first_said_at: datetime
    last_said_at: datetime
    questions: list[QuestionView]


@router.post("", response_model=SampleView)
def fill(
    request: Request,
    lazy_memory: WriteLazyMemory,
    idempotency: Idempotency,
    conversations: Conversations,
    body: SampleBody,
) -> SampleView:
    """Make a bank hold the sample life of a language and nothing else. A bank with other lines is left as it is."""
    require(request, "forget", lazy_memory.bank)
    memory = lazy_memory(lambda: None)

    def fill_paused() -> None:
        with _filling, conversations.pause_bank(memory.bank, close=True):
            fill_bank(memory, body.language)

    idempotency.run_once(fill_paused, lambda _: True, lambda _: None)
    return _view(memory, find_sample(memory))


@router.get("", response_model=SampleView)
def sample(memory: ReadMemory) -> SampleView:
    """Get the sample that a bank was filled with."""
    return _view(memory, find_sample(memory))


def _view(memory: Memory, sample: Sample | None) -> SampleView:
    sessions = memory.sessions()
    if sample is None or not sessions:
        raise NotFound(f"bank {memory.bank!r} has no sample life; POST to this address fills an empty bank with it")
    return SampleView(
        language=sample.language,
        person=sample.person,
        lines=memory.stats().lines,
        first_said_at=min(session.started_at for session in sessions),
        last_said_at=max(session.last_at for session in sessions),
        questions=[QuestionView(text=question.text, line=question.line) for question in sample.questions],
    )
