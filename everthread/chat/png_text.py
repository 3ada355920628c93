"""Reads and writes the texts of PNG pictures: tEXt chunks (https://www.w3.org/TR/png-3/#11tEXt).

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
TEXT = b"tEXt"
PLAIN_SIDE_PX, PLAIN_COLOUR = 256, (94, 120, 148)  # of a plain picture; a greyish blue

Chunk = tuple[bytes, bytes]  # (type, data)


def is_png(raw: bytes) -> bool:
    """Return whether data begins as a PNG file."""
    return raw.startswith(SIGNATURE)


def not_png_error(path: Path) -> BadFile:
    """Build the error for a file that is no PNG picture."""
    remedy = "give one as it was downloaded, and not renamed or converted"
    return file_error(path, "", "this is no PNG picture", remedy, reason="no-png")


def read_texts(raw: bytes, path: Path) -> dict[str, bytes]:
    """Return the texts of a picture by lower-case keyword; the first for each keyword. `path` is for messages."""
    texts: dict[str, bytes] = {}
    for kind, data in _read_chunks(raw, path)[0]:
        if kind == TEXT:
            texts.setdefault(_parse_keyword(data), data.partition(b"\0")[2])
    return texts


def replace_texts(raw: bytes, new: Mapping[str, bytes], remove: Collection[str], path: Path) -> bytes:
    """Return the picture with new texts at its end, and without those of the removed keywords.

    The rest stays the same, byte for byte, including data after the end of the picture.

    Args:
        raw: the picture.
        new: texts by keyword.
        remove: lower-case keywords.
        path: of the picture, for messages.
    """
    chunks, rest = _read_chunks(raw, path)
    *unchanged, end = [chunk for chunk in chunks if chunk[0] != TEXT or _parse_keyword(chunk[1]) not in remove]
    added = [(TEXT, keyword.encode("latin-1") + b"\0" + text) for keyword, text in new.items()]
    out = BytesIO()
    png.write_chunks(out, [*unchanged, *added, end])
    return out.getvalue() + rest


def build_plain_picture() -> bytes:
    """Build a small picture of one colour."""
    out = BytesIO()
    png.Writer(PLAIN_SIDE_PX, PLAIN_SIDE_PX, palette=[PLAIN_COLOUR, PLAIN_COLOUR], bitdepth=1).write(
        out, [[0] * PLAIN_SIDE_PX] * PLAIN_SIDE_PX
    )
    return out.getvalue()


def _parse_keyword(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("latin-1").lower()


def _read_chunks(raw: bytes, path: Path) -> tuple[list[Chunk], bytes]:
    """Return the chunks of the picture, and the data after its end."""
    if not is_png(raw):
        raise not_png_error(path)
    file = BytesIO(raw)
    try:
        chunks: list[Chunk] = list(png.Reader(file=file).chunks())
    except png.Error as error:  # a wrong signature or checksum, or the file ends too soon
        reason = " ".join(map(str, error.args)).rstrip(".")
        what, remedy = f"a damaged PNG ({reason})", "take another copy of the picture"
        raise file_error(path, "", what, remedy, reason="damaged-file") from None
    return chunks, file.read()
