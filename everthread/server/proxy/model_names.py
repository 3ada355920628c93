"""Names of models with the bank that a conversation belongs to: `model@bank`.

A front end that offers nothing but a choice of models can choose a bank by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from everthread.server.proxy.raw_json import Edit, Scanner, apply_edits, to_json

VERSION = re.compile(r"\d+")  # of a model, as in claude-3-5-sonnet@20240620, and not a bank
MAX_ADDED_MODELS = 1000  # further names would only lengthen the list


def split_model(model: str, exists: Callable[[str], bool]) -> tuple[str, str | None]:
    """Split `model@bank` into the model and the bank, which is None if the name has no such suffix.

    Args:
        model: the name of the model.
        exists: whether there is a bank of this id.
    """
    name, _, bank = model.rpartition("@")
    if not name or not bank or (VERSION.fullmatch(bank) and not exists(bank)):
        return model, None
    return name, bank


def add_banks(body: bytes, banks: Sequence[str], field: str = "data", name_fields: Sequence[str] = ("id",)) -> bytes:
    """Add to a list of models each model with each bank, as far as there is room.

    Args:
        body: the upstream's list.
        banks: ids.
        field: the field of the list.
        name_fields: the fields of a model that contain its name.

    Raises:
        ValueError, RecursionError: it is not a list of models.
    """
    text = body.decode()
    data = Scanner(text).read_members().get(field)
    models = data.value if data is not None and isinstance(data.value, list) else []
    named = [model for model in models if isinstance(model, dict) and isinstance(model.get(name_fields[0]), str)]
    added = [
        {**model, **{name: f"{model[name]}@{bank}" for name in name_fields if name in model}}
        for bank in banks
        for model in named
    ][:MAX_ADDED_MODELS]
    if data is None or not added:
        return body
    end = data.end - 1  # before the bracket
    return apply_edits(text, [Edit(end, end, "".join(f", {to_json(model)}" for model in added))]).encode()


def remove_bank(body: bytes, exists: Callable[[str], bool]) -> tuple[bytes, str | None]:
    """Remove the bank from the name of the model in a request.

    Args:
        body: the request.
        exists: as for `split_model`.

    Returns:
        The request, and the bank; None if the name has none, or the request is not understood.
    """
    try:
        text = body.decode()
        members = Scanner(text).read_members()
    except (ValueError, RecursionError):
        return body, None
    for span in (members[field] for field in ("model", "name") if field in members):
        name, bank = split_model(span.value, exists) if isinstance(span.value, str) else ("", None)
        if bank is not None:
            return apply_edits(text, [Edit(span.value_start, span.end, to_json(name))]).encode(), bank
    return body, None


def rename(body: bytes, name: str) -> bytes:
    """Replace the name in the description of a model. Raises as `add_banks`."""
    text = body.decode()
    span = Scanner(text).read_members().get("id")
    return body if span is None else apply_edits(text, [Edit(span.value_start, span.end, to_json(name))]).encode()
