"""Everthread: long-term memory for chatbots. `Memory` is the way in."""

from everthread.errors import (
    BadBankId,
    BadFile,
    BadInput,
    BadLine,
    BadQuery,
    BankDamaged,
    BankTooNew,
    ConfigError,
    EmbedderUnavailable,
    EverthreadError,
    ModelError,
    ModelNotFound,
    NotFound,
    StoreError,
    StoreUnavailable,
)
from everthread.memory import Memory
from everthread.types import Context, Hit, Line, NewLine, Receipt, Session, Stats, Where

__version__ = "0.1.0"

__all__ = [
    "BadBankId",
    "BadFile",
    "BadInput",
    "BadLine",
    "BadQuery",
    "BankDamaged",
    "BankTooNew",
    "ConfigError",
    "Context",
    "EmbedderUnavailable",
    "EverthreadError",
    "Hit",
    "Line",
    "Memory",
    "ModelError",
    "ModelNotFound",
    "NewLine",
    "NotFound",
    "Receipt",
    "Session",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Where",
    "__version__",
]
