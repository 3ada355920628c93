"""Import and export: a bank's lines as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from everthread.memory import Memory
from everthread.server.auth import ReadMemory, WriteLazyMemory
from everthread.server.idempotency import StreamedIdempotency
from everthread.server.request_body import AuthFirstRoute
from everthread.server.schemas import ImportView
from everthread.server.uploads import RAW, Upload, hide_paths, received
from everthread.transfer import importing, jsonl
from everthread.transfer.dates import zone
from everthread.transfer.formats import FORMATS

router = APIRouter(prefix="/banks/{bank}", tags=["transfer"], route_class=AuthFirstRoute)

NDJSON = "application/x-ndjson"
TOGETHER = 200  # lines of one piece of an export

ENDINGS = {"application/json": "json", NDJSON: "jsonl"}
Name = Annotated[str | None, Query(min_length=1, max_length=200, description="What the file is called.")]


async def called(request: Request, name: Name = None) -> str:
    """The file's name, or one that says what its Content-Type does."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return name or f"file.{ENDINGS.get(kind, 'txt')}"


Called = Annotated[str, Depends(called)]


async def upload(request: Request, name: Called) -> AsyncIterator[Upload]:
    """The file that is sent."""
    async with received(request, name) as file:
        yield file


@router.post("/import", response_model=ImportView, openapi_extra={"requestBody": {"required": True, "content": RAW}})
def import_file(
    new: WriteLazyMemory,
    once: StreamedIdempotency,
    file: Annotated[Upload, Depends(upload)],
    name: Called,
    format: Annotated[str | None, Query(description=f"{', '.join(FORMATS)}. Else by the file.")] = None,
    assistant: Annotated[list[str] | None, Query(description="A name that is the bot's; may be given again.")] = None,
    tz: Annotated[str | None, Query(description="The zone of times without one. Else UTC.")] = None,
) -> dict[str, Any]:
    """Keep the lines of a file of conversations. All of it is checked first; sent again, it adds nothing."""

    def bring() -> dict[str, Any]:
        with hide_paths(file.path, name):
            options = {"assistant": assistant or (), "tz": None if tz is None else zone(tz)}
            source = importing.source(file.path, format, **options)
            memory = new(lambda: None)
            importing.check_compatible(memory, source)
            return importing.import_lines(memory, source)

    return once.with_body_digest(file.digest).run_once(bring, dict, dict)


@router.get(
    "/export", response_class=StreamingResponse, responses={200: {"content": {NDJSON: {"schema": {"type": "string"}}}}}
)
def export(
    memory: ReadMemory, retracted: Annotated[bool, Query(description="Retracted lines too.")] = False
) -> StreamingResponse:
    """All lines as JSON Lines, which `import` reads back."""
    return StreamingResponse(_pieces(memory, retracted), media_type=NDJSON)


def _pieces(memory: Memory, retracted: bool) -> Iterator[str]:
    lines = memory.lines(retracted=retracted)
    while some := list(islice(lines, TOGETHER)):
        yield "".join(map(jsonl.row, some))
