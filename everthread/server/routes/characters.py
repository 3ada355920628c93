"""Characters: the gallery, and the import and export of cards. They belong to no bank (`server.gallery`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response
from fastapi import Path as InPath

from everthread.chat import card, character_banks, character_library
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.common.keys import SETTING_CHARACTER
from everthread.common.staging import scratch_folder
from everthread.errors import BadFile, BadInput, NotFound
from everthread.memory import Memory
from everthread.server import path_segments
from everthread.server.gallery import Gallery
from everthread.server.idempotency import Idempotency, StreamedIdempotency
from everthread.server.pagination import DEFAULT_LIMIT, After, Limit, build_page, decode_cursor
from everthread.server.permissions import (
    ForgetGallery,
    SharedServices,
    VisibleGallery,
    WriteGallery,
    permitted_banks,
    require,
)
from everthread.server.problems import Problem
from everthread.server.routes.api_router import create_router
from everthread.server.schemas import CharacterBody, CharacterItem, CharacterView, Page
from everthread.server.services import Services
from everthread.server.uploads import RAW_CONTENT, Upload, name_in_errors, receive_upload

router = create_router("characters", "/characters")

MAX_DESCRIPTION_CHARS = 200  # in the list
PNG: dict[str, Any] = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
Name = Annotated[path_segments.PathSegment, InPath(description="A character's name; a / in it is written %2F.")]
BANK = "A bank of the person whose chats with the character change with it."
PICTURE = {"required": True, "content": {**PNG, **RAW_CONTENT}}
CARD = {"required": True, "content": {**RAW_CONTENT, **PNG, "application/json": {"schema": {"type": "object"}}}}


@router.get("", response_model=Page[CharacterItem])
def characters(gallery: VisibleGallery, after: After = None, limit: Limit = DEFAULT_LIMIT) -> dict[str, Any]:
    """List the characters."""
    previous = decode_cursor(after, (str,))
    names = sorted({*gallery.names(), DEFAULT_CHARACTER.name})
    items = (_build_item(gallery, name) for name in names if previous is None or name > previous[0])
    return build_page((item for item in items if item), limit, lambda item: [item["name"]])


def _build_item(gallery: Gallery, name: str) -> dict[str, Any] | None:
    """Return a character in short; None if its file is no longer a card."""
    try:
        description = gallery.load(name).description[:MAX_DESCRIPTION_CHARS]
    except (BadFile, NotFound):
        return None
    return {
        "name": name,
        "description": description,
        "has_picture": gallery.has_picture(name),
        "builtin": not gallery.is_own(name),
    }


@router.get("/{name}", response_model=CharacterView, response_model_exclude_unset=True)
def character(gallery: VisibleGallery, name: Name) -> dict[str, Any]:
    """Get a character."""
    return dict(gallery.load(name).to_json())


@router.put("/{name}", response_model=CharacterView, response_model_exclude_unset=True)
def put_character(
    request: Request,
    gallery: WriteGallery,
    services: SharedServices,
    idempotency: Idempotency,
    name: Name,
    body: CharacterBody,
    bank: Annotated[str | None, Query(description=BANK)] = None,
) -> dict[str, Any]:
    """Create or change a character: a member of the server one of their own. Missing fields are empty; a picture is
    not changed.

    With `bank`, the change is made in the banks of that person as well, except in fields that were changed there.
    """
    if body.name != name:
        raise BadInput(f"invalid name: got {name!r} in the path and {body.name!r} in the body; expected the same")
    character = Character(**body.model_dump())

    def save() -> None:
        copies = [] if bank is None else _follow_edit(request, services, gallery, bank, character)
        gallery.check_room([name])
        for memory, changed in copies:
            memory.set_setting(SETTING_CHARACTER, changed.to_json())
        gallery.save(character)  # last: if a bank can't be changed, the request can be repeated

    idempotency.run_once(save, lambda _: True, lambda _: None)
    return dict(gallery.load(name).to_json())


def _follow_edit(
    request: Request, services: Services, gallery: Gallery, bank: str, character: Character
) -> list[tuple[Memory, Character]]:
    """Return the banks of a person that follow an edit of the gallery, each with its new character."""
    require(request, "read", bank)
    try:
        before = gallery.load(character.name)
    except NotFound:
        return []
    ids = permitted_banks(request, "write", services.store.banks())
    banks = character_banks.list_banks_with(services.store, bank, character.name, ids)
    return character_banks.follow_edit(map(services.get_memory, banks), before, character)


@router.delete("/{name}", status_code=204)
def remove_character(gallery: ForgetGallery, idempotency: Idempotency, name: Name) -> None:
    """Remove a character for good. Its conversations remain in their banks."""

    def remove() -> None:
        if gallery.find_folder(name) != gallery.folder:
            raise Problem(403, "forbidden", f"the character {name!r} belongs to all; an administrator can remove it")
        character_library.remove(name, gallery.folder)

    idempotency.run_once(remove, lambda _: True, lambda _: None)


async def upload(request: Request) -> AsyncIterator[Upload]:
    """Receive a card or a picture."""
    async with receive_upload(request, "card.json") as file:
        yield file


@router.post(
    "",
    status_code=201,
    response_model=CharacterView,
    response_model_exclude_unset=True,
    openapi_extra={"requestBody": CARD},
)
def import_character(
    gallery: WriteGallery,
    idempotency: StreamedIdempotency,
    file: Annotated[Upload, Depends(upload)],
    replace: Annotated[bool, Query(description="Replace the character of that name.")] = False,
    rename: Annotated[bool, Query(description="Keep the character of that name; this one gets a number.")] = False,
) -> dict[str, Any]:
    """Store the character of a card: its bytes, JSON or PNG (V1, V2, V3)."""

    def add() -> Character:
        gallery.check_room()
        with name_in_errors(file.path, "the card"):
            return character_library.add(file.path, force=replace, rename=rename, folder=gallery.folder)

    def read_again(_: Any) -> Character:
        with name_in_errors(file.path, "the card"):
            again = card.read(file.path)
            return gallery.load(character_library.find_numbered(again.name, gallery.folder)) if rename else again

    return dict(idempotency.with_body_digest(file.digest).run_once(add, lambda _: True, read_again).to_json())


@router.get("/{name}/card", response_class=Response, responses={200: {"content": {**PNG, "application/json": {}}}})
def character_card(gallery: VisibleGallery, name: Name, format: Literal["png", "json"] = "json") -> Response:
    """Export a character as a card for other programs. It contains all fields, including your name and the location."""
    character = gallery.load(name)
    with scratch_folder() as folder:
        file = folder / f"card.{format}"
        if name in gallery.names():
            character_library.export(name, file, folder=gallery.find_folder(name))
        else:
            card.write(character, file)
        content = file.read_bytes()
    media_type = "image/png" if format == "png" else "application/json"
    disposition = f"attachment; filename*=UTF-8''{quote(f'{name}.{format}', safe='')}"
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


@router.get("/{name}/picture", response_class=Response, responses={200: {"content": PNG}})
def character_picture(gallery: VisibleGallery, name: Name) -> Response:
    """Get the picture of a character, without its card."""
    return Response(character_library.read_picture(name, gallery.find_folder(name)), media_type="image/png")


@router.put("/{name}/picture", status_code=204, openapi_extra={"requestBody": PICTURE})
def set_character_picture(
    gallery: WriteGallery, idempotency: StreamedIdempotency, name: Name, file: Annotated[Upload, Depends(upload)]
) -> None:
    """Give a character a picture: the bytes of a PNG file."""
    character = gallery.load(name)

    def save() -> None:
        with name_in_errors(file.path, "the picture"):
            gallery.save(character, file.path)

    idempotency.with_body_digest(file.digest).run_once(save, lambda _: True, lambda _: None)
