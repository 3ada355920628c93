"""Receipts of forgetting: a repeated request gets the same receipt."""

from __future__ import annotations

from collections.abc import Callable

from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.idempotency import IdempotentRequest
from everthread.server.proxy.message_text import drop_cached_texts
from everthread.server.schemas import ReceiptView
from everthread.types import Receipt


def forget_once(
    idempotency: IdempotentRequest,
    conversations: ConversationRegistry,
    bank: str,
    forget: Callable[[], Receipt],
    *,
    close: bool = False,
) -> ReceiptView:
    """Forget once, and return the receipt.

    Args:
        idempotency: the request.
        conversations: the server's conversations; those of the bank are paused in the meantime.
        bank: the id of the bank.
        forget: forgets and returns the receipt.
        close: whether the whole bank is forgotten.
    """

    def forget_paused() -> ReceiptView:
        with conversations.pause_bank(bank, close=close):
            receipt = ReceiptView.model_validate(forget())
        drop_cached_texts()
        return receipt

    return idempotency.run_once(
        forget_paused, lambda receipt: receipt.model_dump(mode="json"), ReceiptView.model_validate
    )
