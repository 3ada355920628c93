"""Receipts over HTTP: whoever asks twice for the same forgetting gets the same receipt twice."""

from __future__ import annotations

from collections.abc import Callable

from everthread.server.once import Attempt
from everthread.server.wire import ReceiptView
from everthread.types import Receipt


def forgotten(once: Attempt, forget: Callable[[], Receipt]) -> ReceiptView:
    """The receipt of what is forgotten now, or was before under the same key."""
    return once.once(
        lambda: ReceiptView.model_validate(forget()),
        lambda receipt: receipt.model_dump(mode="json"),
        ReceiptView.model_validate,
    )
