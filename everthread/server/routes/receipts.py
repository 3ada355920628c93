"""Receipts over HTTP: whoever asks twice for the same forgetting gets the same receipt twice."""

from __future__ import annotations

from collections.abc import Callable

from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import IdempotentRequest
from everthread.server.schemas import ReceiptView
from everthread.types import Receipt


def forgotten(
    once: IdempotentRequest,
    conversations: ConversationRegistry,
    bank: str,
    forget: Callable[[], Receipt],
    *,
    close: bool = False,
) -> ReceiptView:
    """The receipt of what of a bank is forgotten now, or was before under the same key; whole: all of it."""

    def do() -> ReceiptView:
        with conversations.pause_bank(bank, close=close):
            return ReceiptView.model_validate(forget())

    return once.run_once(
        do,
        lambda receipt: receipt.model_dump(mode="json"),
        ReceiptView.model_validate,
    )
