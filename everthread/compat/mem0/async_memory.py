"""AsyncMemory: `Memory` for programs with an event loop. Each call runs in a thread."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

from everthread.compat.mem0.memory import DEFAULT_THRESHOLD, DEFAULT_TOP_K, UNCHANGED, Memory, Record
from everthread.embedders.base import Embedder
from everthread.recipes.base import Recipe
from everthread.stores.base import Store


class AsyncMemory:
    """The methods of `Memory`, with the same arguments, results and errors, to be awaited."""

    def __init__(
        self,
        config: object = None,
        *,
        store: Store | str | Path | None = None,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        """Open the memories of a store, as `Memory`."""
        self._memory = Memory(config, store=store, embedder=embedder, recipe=recipe)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open the memories of the configured store, as `Memory.from_config`."""
        return cls(config_dict)

    async def add(
        self,
        messages: str | Mapping[str, Any] | list[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: float | str | datetime | None = None,
        expiration_date: str | date | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        llm: object = None,
    ) -> Record:
        """Store messages, word for word, each as a memory; `llm` makes no difference."""
        return await to_thread(
            self._memory.add,
            messages,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            metadata=metadata,
            timestamp=timestamp,
            expiration_date=expiration_date,
            infer=infer,
            memory_type=memory_type,
            prompt=prompt,
        )

    async def get(self, memory_id: str) -> Record | None:
        """Return a memory; None if no memory has this id."""
        return await to_thread(self._memory.get, memory_id)

    async def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = DEFAULT_TOP_K,
        show_expired: bool = False,
        **kwargs: object,
    ) -> Record:
        """Return the newest memories, under "results"."""
        return await to_thread(self._memory.get_all, filters=filters, top_k=top_k, show_expired=show_expired, **kwargs)

    async def search(
        self,
        query: str,
        *,
        top_k: int = DEFAULT_TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = DEFAULT_THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: float | str | datetime | None = None,
        show_expired: bool = False,
        **kwargs: object,
    ) -> Record:
        """Find the memories that are relevant to a query."""
        return await to_thread(
            self._memory.search,
            query,
            top_k=top_k,
            filters=filters,
            threshold=threshold,
            rerank=rerank,
            explain=explain,
            reference_date=reference_date,
            show_expired=show_expired,
            **kwargs,
        )

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = UNCHANGED,
        data: str | None = None,
    ) -> Record:
        """Replace the text of a memory, or add to its metadata."""
        return await to_thread(self._memory.update, memory_id, text, metadata, expiration_date, data)

    async def delete(self, memory_id: str) -> Record:
        """Delete a memory with all its versions."""
        return await to_thread(self._memory.delete, memory_id)

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Record:
        """Delete all memories of a user, an agent or a run."""
        return await to_thread(self._memory.delete_all, user_id, agent_id, run_id)

    async def history(self, memory_id: str) -> list[Record]:
        """Return how a memory changed."""
        return await to_thread(self._memory.history, memory_id)

    async def reset(self) -> None:
        """Delete all memories of all users, agents and runs."""
        await to_thread(self._memory.reset)

    def close(self) -> None:
        """Close the store, unless the caller opened it."""
        self._memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
