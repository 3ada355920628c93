"""Reads and writes texts in PNG pictures: tEXt chunks (https://www.w3.org/TR/png-3/#11tEXt), whatever they hold.

Pixels are never decoded, so a picture of any size is harmless, and a copy is identical. Raises BadFile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path

import png

from everthread.errors import BadFile
from everthread.transfer.files import file_error

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXT, END = b"tEXt", b"IEND"
SIDE, COLOUR = 256, (94, 120, 148)  # of a plain picture: pixels, and a greyish blue

Chunk = tuple[bytes, bytes]  # its type, and what is in it


def recognised(raw: bytes) -> bool:
    """Whether it begins as a PNG does."""
    return raw.startswith(SIGNATURE)


def none(path: Path) -> BadFile:
    """The complaint about a file that is something else."""
    return file_error(path, "", "this is no PNG picture", "give one as it was downloaded, and not renamed or converted")


def texts(raw: bytes, path: Path) -> dict[str, bytes]:
    """The texts by their keywords in lower case; of two under one keyword the first. path is for messages."""
    found: dict[str, bytes] = {}
    for kind, data in _chunks(raw, path)[0]:
        if kind == TEXT:
            found.setdefault(_keyword(data), data.partition(b"\0")[2])
    return found


def with_texts(raw: bytes, new: Mapping[str, bytes], without: Collection[str], path: Path) -> bytes:
    """The picture with new texts at its end, and without those of some keywords; the rest stays as it is, byte for
    byte, also what stands behind the picture."""
    chunks, rest = _chunks(raw, path)
    kept = [chunk for chunk in chunks if chunk[0] != TEXT or _keyword(chunk[1]) not in without]
    added = [(TEXT, keyword.encode("latin-1") + b"\0" + text) for keyword, text in new.items()]
    out = BytesIO()
    png.write_chunks(out, [*kept[:-1], *added, kept[-1]])  # the last is the end
    return out.getvalue() + rest


def plain() -> bytes:
    """A small picture of one colour."""
    out = BytesIO()
    png.Writer(SIDE, SIDE, palette=[COLOUR, COLOUR], bitdepth=1).write(out, [[0] * SIDE] * SIDE)
    return out.getvalue()


def _keyword(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("latin-1").lower()


def _chunks(raw: bytes, path: Path) -> tuple[list[Chunk], bytes]:
    """The chunks up to the end of the picture, and what stands behind it."""
    if not recognised(raw):
        raise none(path)
    file = BytesIO(raw)
    try:
        chunks: list[Chunk] = list(png.Reader(file=file).chunks())
    except png.Error as error:  # a wrong signature, a checksum, an end too soon
        why = " ".join(map(str, error.args)).rstrip(".")
        raise file_error(path, "", f"a damaged PNG ({why})", "take another copy of the picture") from None
    return chunks, file.read()
