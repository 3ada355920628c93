"""Import and export: conversations and banks as files."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any

from anyio import from_thread
from fastapi import Depends, Query, Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from everthread.common.undo import undo_on_error
from everthread.errors import BadQuery
from everthread.memory import Memory
from everthread.server import kept_uploads
from everthread.server.conversations.reply_stream import CHECK_INTERVAL_S
from everthread.server.idempotency import StreamedIdempotency
from everthread.server.permissions import ReadMemory, WriteLazyMemory, build_check
from everthread.server.routes.api_router import create_router
from everthread.server.routes.imports import UPLOAD_PATTERN, get_upload_name
from everthread.server.transfer_schemas import DateOrder, FileContentsView, ImportView
from everthread.server.uploads import RAW_CONTENT, Upload, name_in_errors, receive_upload
from everthread.transfer import exporting, importing
from everthread.transfer.dates import parse_zone
from everthread.transfer.encodings import recode
from everthread.transfer.exporting import EXPORT_FORMATS, find_format
from everthread.transfer.formats import FORMATS
from everthread.transfer.types import FileContents

router = create_router("transfer", "/banks/{bank}")

NDJSON = "application/x-ndjson"
CHUNK_LINES = 200  # of an export
MAX_LINES_EMBEDDED_AT_ONCE = 2000  # of a service's export; those of a larger one are embedded after the response
MAX_ZIP_IN_MEMORY_BYTES = 1_000_000  # a larger archive is a temporary file until it is sent
ZIP_CHUNK_BYTES = 65_536

SUFFIXES = {"application/json": "json", NDJSON: "jsonl", "application/zip": "zip"}
FileNameQuery = Annotated[str | None, Query(min_length=1, max_length=200, description="The file's name.")]


async def get_file_name(request: Request, name: FileNameQuery = None) -> str:
    """Return the file's name, or one with an extension for its Content-Type."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return name or f"file.{SUFFIXES.get(media_type, 'txt')}"


FileName = Annotated[str, Depends(get_file_name)]
IMPORT_FLAGS = ("strict", "facts_as_lines", "attachments", "disappearing")


async def upload(request: Request, name: FileName) -> AsyncIterator[Upload]:
    """Receive a file."""
    async with receive_upload(request, name) as file:
        yield file


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is read: the query parameters of an import and of its preview."""

    format: Annotated[str | None, Query(description=f"{', '.join(FORMATS)}. Default: detected.")] = None
    assistant: Annotated[list[str] | None, Query(description="A name under which the bot speaks; repeatable.")] = None
    me: Annotated[str | None, Query(description="The name of the person whose file it is.")] = None
    only: Annotated[list[str] | None, Query(description="Title or id of a conversation to import; repeatable.")] = None
    strict: Annotated[bool, Query(description="Import nothing if a conversation can't be read.")] = False
    tz: Annotated[str | None, Query(description="The time zone of times without one. Default: UTC.")] = None
    facts_as_lines: Annotated[bool, Query(description="Store the facts of another memory (mem0) as lines.")] = False
    attachments: Annotated[bool, Query(description="Store the texts of attachments in the metadata.")] = False
    disappearing: Annotated[bool, Query(description="Store messages that were to disappear (Signal).")] = False

    date_order: Annotated[
        DateOrder | None, Query(description="In dates of WhatsApp, a table or a transcript. Default: inferred.")
    ] = None

    encoding: Annotated[
        str | None, Query(description="The encoding of a text, such as gb18030. Default: UTF-8 or UTF-16.")
    ] = None

    def check(self, path: Path, name: str, progress: importing.Progress | None = None) -> importing.CheckedFile:
        """Read an uploaded file of this name, and check all of it, as `importing.check_file`."""
        zone = None if self.tz is None else parse_zone(self.tz)
        names = {"assistant": self.assistant or (), "only": self.only or (), "me": self.me}
        given = {**names, "tz": zone, "date_order": self.date_order}
        with name_in_errors(path, name):
            if self.encoding is not None:
                recode(path, self.encoding)
            flags = {name: getattr(self, name) for name in IMPORT_FLAGS}
            return importing.check_file(path, self.format, progress, **flags, **given)


Options = Annotated[ImportOptions, Depends()]
KEEP = "Keep the file for some minutes under this random name, to import it with `…/import/{upload}`."
UPLOAD = {"requestBody": {"required": True, "content": RAW_CONTENT}}


def check_connection(request: Request) -> None:
    """Check that a client waits for its response; called in a thread. Raises ClientDisconnect if it went away."""
    if from_thread.run(request.is_disconnected):
        raise ClientDisconnect


@router.post("/import", response_model=ImportView, openapi_extra=UPLOAD)
def import_file(
    lazy_memory: WriteLazyMemory,
    idempotency: StreamedIdempotency,
    file: Annotated[Upload, Depends(upload)],
    name: FileName,
    options: Options,
) -> dict[str, Any]:
    """Store the lines of a file of conversations. The whole file is checked first; importing it again adds nothing."""

    def import_all() -> dict[str, Any]:
        source = replace(options.check(file.path, name), began_at=file.began_at)
        store, bank = lazy_memory.services.store, lazy_memory.bank
        memory = lazy_memory(lambda: importing.require_not_forgotten(store, bank, source))
        with name_in_errors(file.path, name):
            importing.check_compatible(memory, source)
            is_small = source.line_count <= MAX_LINES_EMBEDDED_AT_ONCE
            result = importing.import_lines(memory, source, embed=is_small)
        if source.is_export and not is_small:
            lazy_memory.services.vectors.add(memory)
        else:
            lazy_memory.services.vectors.add_facts(memory)
        return result

    return idempotency.with_body_digest(file.digest).run_once(import_all, dict, dict)


@router.post("/import/preview", response_model=FileContentsView, openapi_extra=UPLOAD)
def preview_import(
    request: Request,
    lazy_memory: WriteLazyMemory,
    file: Annotated[Upload, Depends(upload)],
    name: FileName,
    options: Options,
    keep: Annotated[str | None, Query(pattern=UPLOAD_PATTERN, description=KEEP)] = None,
) -> FileContents:
    """List the contents of a file of conversations as they would be imported; nothing is stored."""
    contents = options.check(file.path, name, lambda _: check_connection(request)).contents
    if keep is not None:
        check_connection(request)  # a cancelled upload is not kept
        kept_uploads.keep(file.path, get_upload_name(request, lazy_memory.bank, keep))
    return contents


EXPORT_CONTENT = {format.media_type: {"schema": {"type": "string"}} for format in EXPORT_FORMATS.values()}
ZIP = "application/zip"
DOWNLOAD = {"Content-Disposition": "attachment"}  # a browser must not open HTML on the origin of the server


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {**EXPORT_CONTENT, ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
)
def export(
    request: Request,
    memory: ReadMemory,
    format: Annotated[str, Query(description=f"{', '.join(EXPORT_FORMATS)}. Only jsonl has everything.")] = "jsonl",
    session: Annotated[str | None, Query(description="Only this session.")] = None,
    retracted: Annotated[bool, Query(description="Include retracted lines.")] = False,
    zip: Annotated[bool, Query(description="A zip archive with a file for each session; not for jsonl.")] = False,
) -> StreamingResponse:
    """Export the bank as JSON Lines, of which `import` into an empty bank makes the same bank again, or in a format of
    other programs."""
    if zip:
        return _export_zip(memory, format, session, retracted)
    texts = exporting.export(memory, format, session=session, retracted=retracted)
    chunks = _join(texts, build_check(request))
    return StreamingResponse(chunks, media_type=find_format(format).media_type, headers=DOWNLOAD)


def _join(texts: Iterator[str], check: Callable[[], None] | None) -> Iterator[str]:
    """Yield texts joined to chunks.

    Args:
        texts: rows or other small parts.
        check: raises Problem once the caller may not go on, so that the response is cut off; None if nothing is to be
            checked.
    """
    checked_at = time.monotonic()
    while chunk := "".join(islice(texts, CHUNK_LINES)):
        yield chunk
        if check is not None and time.monotonic() - checked_at >= CHECK_INTERVAL_S:
            check()
            checked_at = time.monotonic()


def _export_zip(memory: Memory, format: str, session: str | None, retracted: bool) -> StreamingResponse:
    if session is not None:
        raise BadQuery("zip has a file for each session; leave out session, or zip")
    file = SpooledTemporaryFile(max_size=MAX_ZIP_IN_MEMORY_BYTES)  # noqa: SIM115 closed when it was sent
    with undo_on_error(file.close):
        exporting.export_zip(memory, format, file, retracted=retracted)
    file.seek(0)
    return StreamingResponse(_read_chunks(file), media_type=ZIP, headers=DOWNLOAD)


def _read_chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(ZIP_CHUNK_BYTES):
            yield chunk
