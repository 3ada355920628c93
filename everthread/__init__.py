"""Everthread: long-term memory for chatbots. `Memory` remembers; `Chat` talks with it."""

from everthread.chat import Chat, Ending
from everthread.client import Client
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
from everthread.memory import Memory
from everthread.prompt.character import Character
from everthread.reply import Reply
from everthread.scene import Scene
from everthread.types import (
    Context,
    Hit,
    Line,
    NewLine,
    NewUnit,
    Receipt,
    Sampling,
    Session,
    Stats,
    Unit,
    Usage,
    Where,
    Work,
)

__version__ = "0.1.0"

__all__ = [
    "BadBankId",
    "BadFile",
    "BadInput",
    "BadLine",
    "BadQuery",
    "BankDamaged",
    "BankTooNew",
    "Character",
    "Chat",
    "Client",
    "ConfigError",
    "Context",
    "EmbedderUnavailable",
    "Ending",
    "EverthreadError",
    "Hit",
    "LLMDenied",
    "LLMRejected",
    "LLMUnavailable",
    "Line",
    "Memory",
    "ModelError",
    "ModelNotFound",
    "NewLine",
    "NewUnit",
    "NotFound",
    "Receipt",
    "Reply",
    "Sampling",
    "Scene",
    "ScribeFailed",
    "Session",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Unit",
    "Usage",
    "Where",
    "Work",
    "__version__",
]
