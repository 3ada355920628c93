"""Everthread: long-term memory for chatbots. `Memory` stores and recalls lines; `Chat` is a chatbot that uses it.

The names below are imported when they are first used, so that commands start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from everthread.errors import (
    BadBankId,
    BadFile,
    BadInput,
    BadLine,
    BadQuery,
    BankDamaged,
    BankMoved,
    BankNotEmpty,
    BankTooNew,
    ConfigError,
    EmbedderUnavailable,
    EverthreadError,
    LLMDenied,
    LLMRejected,
    LLMUnavailable,
    ModelError,
    ModelNotFound,
    NotFound,
    ScribeFailed,
    StoreError,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from everthread.chat.character import Character
    from everthread.chat.chat import Chat
    from everthread.chat.group_chat import GroupChat
    from everthread.chat.reply import Reply
    from everthread.client.client import Client
    from everthread.memory import Memory
    from everthread.transfer.types import AmbiguousDate, FileContents, FileConversation, FileSpeaker, ImportResult
    from everthread.types import (
        AllOf,
        AnyOf,
        Comparison,
        Context,
        EndResult,
        Evidence,
        Filter,
        FoundUnit,
        Hit,
        Line,
        NewLine,
        NewUnit,
        Not,
        Receipt,
        Sampling,
        ScribeJob,
        Session,
        Stats,
        Unit,
        Usage,
    )

_NAMES_BY_MODULE = {
    "chat.character": ("Character",),
    "chat.chat": ("Chat",),
    "chat.group_chat": ("GroupChat",),
    "chat.reply": ("Reply",),
    "client.client": ("Client",),
    "memory": ("Memory",),
    "transfer.types": ("AmbiguousDate", "FileContents", "FileConversation", "FileSpeaker", "ImportResult"),
    "types": (
        "AllOf",
        "AnyOf",
        "Comparison",
        "Context",
        "EndResult",
        "Evidence",
        "Filter",
        "FoundUnit",
        "Hit",
        "Line",
        "NewLine",
        "NewUnit",
        "Not",
        "Receipt",
        "Sampling",
        "ScribeJob",
        "Session",
        "Stats",
        "Unit",
        "Usage",
    ),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "AllOf",
    "AmbiguousDate",
    "AnyOf",
    "BadBankId",
    "BadFile",
    "BadInput",
    "BadLine",
    "BadQuery",
    "BankDamaged",
    "BankMoved",
    "BankNotEmpty",
    "BankTooNew",
    "Character",
    "Chat",
    "Client",
    "Comparison",
    "ConfigError",
    "Context",
    "EmbedderUnavailable",
    "EndResult",
    "EverthreadError",
    "Evidence",
    "FileContents",
    "FileConversation",
    "FileSpeaker",
    "Filter",
    "FoundUnit",
    "GroupChat",
    "Hit",
    "ImportResult",
    "LLMDenied",
    "LLMRejected",
    "LLMUnavailable",
    "Line",
    "Memory",
    "ModelError",
    "ModelNotFound",
    "NewLine",
    "NewUnit",
    "Not",
    "NotFound",
    "Receipt",
    "Reply",
    "Sampling",
    "ScribeFailed",
    "ScribeJob",
    "Session",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Unit",
    "Usage",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_BY_NAME})
