"""Names of models with the bank that a conversation belongs to: `model@bank`.

A front end that offers nothing but a choice of models can choose a bank by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from everthread.server.proxy.raw_json import Edit, Scanner, apply_edits, to_json

# A suffix that is a version or a quantisation of a model, or a preset of OpenRouter's: claude-3-5-sonnet@20240620,
# gemini@default, qwen3@q4_k_m, gpt-4o@preset/letters.
VERSION = re.compile(r"\d+|default|latest|\d+bit|i?q\d\w*|(b?f|fp|mxfp|nvfp|int)\d\w*|preset/.*", re.IGNORECASE)
BANK_MARK = "@"  # between a model and a bank
MAX_ADDED_MODELS = 1000  # further names would only lengthen the list


def split_model(model: str, is_bank: Callable[[str], bool]) -> tuple[str, str | None]:
    """Split `model@bank` into the model and the bank, which is None if the name has no such suffix.

    Args:
        model: the name of the model.
        is_bank: whether a suffix that looks like a version names a bank.
    """
    name, _, bank = model.rpartition(BANK_MARK)
    is_part = not name or name.endswith("/")  # of a name such as workers-ai/@cf/meta/llama
    if is_part or not bank or (VERSION.fullmatch(bank) and not is_bank(bank)):
        return model, None
    return name, bank


def add_banks(body: bytes, banks: Sequence[str], field: str = "data", name_fields: Sequence[str] = ("id",)) -> bytes:
    """Add to a list of models each model with each bank, up to MAX_ADDED_MODELS.

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
        {**model, **{name: f"{model[name]}{BANK_MARK}{bank}" for name in name_fields if name in model}}
        for bank in banks
        for model in named
    ][:MAX_ADDED_MODELS]
    if data is None or not added:
        return body
    end = data.end - 1  # before the bracket
    return apply_edits(text, [Edit(end, end, "".join(f", {to_json(model)}" for model in added))]).encode()


def rename(body: bytes, name: str) -> bytes:
    """Replace the name in the description of a model. Raises as `add_banks`."""
    text = body.decode()
    span = Scanner(text).read_members().get("id")
    return body if span is None else apply_edits(text, [Edit(span.value_start, span.end, to_json(name))]).encode()
