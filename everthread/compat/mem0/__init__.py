"""The interface of mem0 2.2. A memory is a line of a bank: what was said, word for word, with its date."""

from everthread.compat.mem0.async_memory import AsyncMemory
from everthread.compat.mem0.client import MemoryClient
from everthread.compat.mem0.memory import Memory

__all__ = ["AsyncMemory", "Memory", "MemoryClient"]
