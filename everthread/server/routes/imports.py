"""Imports of files that were previewed: the progress as events, of chosen conversations, with the speakers' names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Request
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from everthread.common.undo import undo_on_error
from everthread.memory import Memory
from everthread.server import kept_uploads
from everthread.server.import_runs import ImportRun
from everthread.server.kept_uploads import UploadName
from everthread.server.people.accounts import Account
from everthread.server.permissions import WriteLazyMemory, build_check, get_caller
from everthread.server.routes.api_router import create_router
from everthread.server.transfer_schemas import DateOrder
from everthread.server.uploads import name_in_errors
from everthread.transfer import importing
from everthread.transfer.dates import parse_zone
from everthread.transfer.selection import select

router = create_router("transfer", "/banks/{bank}/import")

UPLOAD_PATTERN = "^[0-9a-f]{32}$"
UploadId = Annotated[str, Path(pattern=UPLOAD_PATTERN, description="The `keep` of its preview.")]
SpeakerName = Annotated[str, Field(max_length=200)]
EVENTS: Mapping[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `progress` …, with the lines `done` and their `total`, `stored` with the "
        "counts, `embedding` …, then `done` or `error`. Closing the connection before `stored` stops the import.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class ImportBody(BaseModel):
    """The choices of a person who has seen a preview.

    name is the file's, and tz the zone of times without one. date_order: of dates that may be read in two ways.
    sessions: the ids of the conversations; null: all. speakers: new names, by those in the file. assistants: the
    speakers who are chatbots. embed: whether the response reports how the lines are embedded; false, of a file that
    others follow: they are embedded in the background.
    """

    name: Annotated[str, Field(min_length=1, max_length=200)]
    tz: SpeakerName | None = None
    date_order: DateOrder | None = None
    sessions: list[str] | None = None
    speakers: dict[SpeakerName, Annotated[str, Field(min_length=1, max_length=200)]] = {}
    assistants: list[SpeakerName] = []
    embed: bool = True


def get_upload_name(request: Request, bank: str, upload: str) -> UploadName:
    """Return the name of an upload of the caller."""
    caller = get_caller(request)
    owner = (
        ""
        if caller is None
        else kept_uploads.name_account(caller)
        if isinstance(caller, Account)
        else f"key {caller.name}"
    )
    return UploadName(owner, bank, upload)


@router.post("/{upload}", response_class=StreamingResponse, responses=dict(EVENTS))
async def import_upload(
    request: Request, lazy_memory: WriteLazyMemory, upload: UploadId, body: ImportBody
) -> StreamingResponse:
    """Import a file whose preview was kept. It is removed when all of its lines are stored."""
    name = get_upload_name(request, lazy_memory.bank, upload)
    zone = None if body.tz is None else parse_zone(body.tz)

    def store(run: ImportRun) -> Memory:
        with kept_uploads.open_kept(name) as path, name_in_errors(path, body.name):
            source = importing.check_file(path, progress=lambda _: run.check(), tz=zone, date_order=body.date_order)
            store, bank = lazy_memory.services.store, lazy_memory.bank
            memory = lazy_memory(lambda: importing.require_not_forgotten(store, bank, source))
            chosen = select(source, body.sessions, body.speakers, body.assistants)
            importing.check_compatible(memory, chosen)
            run.store(memory, chosen)
            kept_uploads.discard(name)
            return memory

    def embed_later() -> None:
        """Embed what an import stored before it failed."""
        if lazy_memory.services.store.exists(lazy_memory.bank):
            lazy_memory.services.vectors.add(lazy_memory.get_existing())

    def work(run: ImportRun) -> None:
        with undo_on_error(embed_later):
            memory = store(run)
        if body.embed:
            run.embed(memory)
            lazy_memory.services.vectors.add_facts(memory)
        else:
            lazy_memory.services.vectors.add(memory)

    events = request.app.state.import_runs.start(ImportRun(work, build_check(request)))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


@router.delete("/{upload}", status_code=204)
def discard_upload(request: Request, lazy_memory: WriteLazyMemory, upload: UploadId) -> None:
    """Remove a kept file."""
    kept_uploads.discard(get_upload_name(request, lazy_memory.bank, upload))
