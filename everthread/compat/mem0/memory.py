"""Memory: mem0's interface over the banks of a store."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from everthread import factory
from everthread.bank.corrections import build_correction
from everthread.bank.line_versions import find_versions, read_recorded
from everthread.compat.mem0 import records
from everthread.compat.mem0.banks import MemoryBanks, MemoryNotFound
from everthread.compat.mem0.filters import EXPIRES, UPDATED, names_an_id, to_time
from everthread.compat.mem0.ids import ID_NAMES, identify, name_bank, require_ids
from everthread.compat.mem0.messages import check_memory_type, read_expiration, read_messages, read_metadata
from everthread.embedders.base import Embedder
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory as Bank
from everthread.recipes.base import Recipe
from everthread.stores.base import Store
from everthread.types import Filter, Line, NewLine, now

MAX_OPEN_BANKS = 256
DEFAULT_TOP_K = 20
DEFAULT_THRESHOLD = 0.1
MAX_TRIES = 100  # of an update; while one fails, another succeeds
RENAMED = {"limit": "use top_k"}  # arguments of earlier versions of mem0
UNCHANGED = object()

Record = dict[str, Any]


class Memories:
    """The methods of mem0's `Memory`, over banks. Thread-safe."""

    def __init__(self, banks: MemoryBanks) -> None:
        self.banks = banks

    def add(
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
    ) -> Record:
        """Store messages, word for word, each as a memory.

        Args:
            messages: a text, a message with `role` and `content`, or a list of messages, which are stored even if they
                were added before. System messages and messages without text are left out.
            user_id, agent_id, run_id: whose memories they are; at least one.
            metadata: JSON values by name.
            timestamp: when they were said, in seconds since 1970 or in ISO 8601; None: now.
            expiration_date: the last day on which they are found, such as 2027-01-31.
            infer, prompt: make no difference, because no model rewrites what was said.
            memory_type: "procedural_memory" or None; it is stored in the metadata.

        Returns:
            Under "results" each memory, with its id and the event ADD.

        Raises:
            BadInput: an argument is invalid; nothing is stored.
            StoreUnavailable: the bank can't be written.
        """
        ids = require_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        return self.add_for(
            ids,
            messages,
            metadata=metadata,
            timestamp=timestamp,
            expiration_date=expiration_date,
            memory_type=memory_type,
        )

    def add_for(
        self,
        ids: Mapping[str, str],
        messages: str | Mapping[str, Any] | list[Mapping[str, Any]],
        *,
        metadata: Mapping[str, Any] | None = None,
        timestamp: float | str | datetime | None = None,
        expiration_date: str | date | None = None,
        memory_type: str | None = None,
    ) -> Record:
        """Store messages with these ids, one of which may be an `app_id`. Otherwise as `add`."""
        further = {EXPIRES: read_expiration(expiration_date), "memory_type": check_memory_type(memory_type)}
        given = {name: value for name, value in further.items() if value is not None}
        said_at = None if timestamp is None else to_time(timestamp, "timestamp")
        template = NewLine(
            "", said_at=said_at, session=ids.get("run_id"), metadata={**read_metadata(metadata), **given, **ids}
        )
        lines = read_messages(messages, template)
        bank = name_bank(ids)
        stored = self.banks.open(bank).observe_many(lines) if lines else []
        return {"results": [records.build_added(bank, line) for line in stored]}

    def get(self, memory_id: str) -> Record | None:
        """Return a memory; None if no memory has this id."""
        found = self.banks.find_current(memory_id)
        return None if found is None else records.build_record(found[0].bank, found[1])

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = DEFAULT_TOP_K,
        show_expired: bool = False,
        **kwargs: object,
    ) -> Record:
        """Return the newest memories, under "results".

        Args:
            filters: at least a user_id, an agent_id or a run_id; see `search`.
            top_k: the maximum number.
            show_expired: whether to include expired memories.

        Raises:
            BadInput: an argument is invalid.
        """
        _check_arguments(kwargs, "get_all")
        _, found = self.list_page(_require_filters(filters), count=_check_count(top_k), show_expired=show_expired)
        return {"results": [{name: value for name, value in record.items() if name != "score"} for record in found]}

    def list_page(
        self, filters: Mapping[str, Any] | None, *, skip: int = 0, count: int, show_expired: bool = False
    ) -> tuple[int, list[Record]]:
        """Return the number of memories that filters allow, and a page of them, newest first in each bank.

        Raises:
            BadInput: a filter is invalid.
        """
        total = 0
        found: list[Record] = []
        for bank, where in self.banks.filter(filters, show_expired):
            seqs = _matching_seqs(bank, where)[::-1]
            first = max(skip - total, 0)
            chosen = seqs[first : first + count - len(found)]
            lines = {line.seq: line for line in bank.store.get(bank.bank, sorted(chosen))}
            found += [records.build_record(bank.bank, lines[seq]) for seq in chosen if seq in lines]
            total += len(seqs)
        return total, found

    def search(
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
        """Find the memories that are relevant to a query.

        Args:
            query: the query.
            top_k: the maximum number.
            filters: at least a user_id, an agent_id or a run_id; further fields of the metadata with a value, `"*"` for
                any, or an operator: eq, ne, gt, gte, lt, lte, in, nin, contains, icontains; AND, OR and NOT with lists
                of filters. A list of values allows any of them.
            threshold: the least relevance, a calibrated probability; None: 0.1.
            rerank: whether to use the recipe's reranker.
            explain: whether to add the measured signals as "score_details".
            reference_date: the moment as of which memories are read, as `timestamp` of `add`; None: now.
            show_expired: whether to include expired memories.

        Returns:
            The memories under "results", the most relevant first, each with its relevance as "score".

        Raises:
            BadInput: an argument is invalid.
        """
        _check_arguments(kwargs, "search")
        text, least = _check_query(query), _check_threshold(threshold)
        as_of = None if reference_date is None else to_time(reference_date, "reference_date")
        k = _check_count(top_k)
        found: list[Record] = []
        for bank, where in self.banks.filter(_require_filters(filters), show_expired) if k else ():
            hits = bank.recall(text, k, where=where, as_of=as_of, rerank=None if rerank else "none")
            relevant = (hit for hit in hits if isinstance(hit.source, Line) and hit.relevance >= least)
            found += [records.build_found(bank.bank, hit, explain) for hit in relevant]
        return {"results": sorted(found, key=lambda record: -record["score"])[:k]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = UNCHANGED,
        data: str | None = None,
    ) -> Record:
        """Replace the text of a memory, or add to its metadata. Its earlier version stays in its history.

        Args:
            memory_id: its id, which it keeps. Of several updates at once, the last counts.
            text: the new text.
            metadata: JSON values by name; values that are not named are left as they are.
            expiration_date: as in `add`; None removes it.
            data: mem0's former name of `text`.

        Raises:
            BadInput: an argument is missing or invalid.
            MemoryNotFound: there is no such memory.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNCHANGED:
            raise BadInput("update changes nothing: expected a text, metadata or an expiration_date")
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise BadInput(f"invalid text: got {text!r}, expected text that is not blank")
        changes = read_metadata(metadata)
        if expiration_date is not UNCHANGED:
            changes[EXPIRES] = read_expiration(expiration_date)
        for _ in range(MAX_TRIES):
            bank, line = self.banks.require(memory_id)
            with suppress(NotFound):  # another call changed the memory since it was read
                _replace(bank, line, line.text if text is None else text, changes)
                return {"message": "Memory updated successfully!"}
        raise MemoryNotFound(f"memory {memory_id!r} is changed by others all the time; try again")

    def delete(self, memory_id: str) -> Record:
        """Delete a memory with all its versions, so that no byte of it remains. Raises MemoryNotFound."""
        bank, line = self.banks.require(memory_id)
        bank.forget(seq=line.seq)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Record:
        """Delete all memories of a user, an agent or a run; with several ids, those that have all of them.

        Raises:
            BadInput: an id is missing or invalid.
        """
        return self.delete_for(require_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}))

    def delete_for(self, ids: Mapping[str, str]) -> Record:
        """Delete all memories with these ids, one of which may be an `app_id`."""
        for bank, where in self.banks.filter(ids, show_expired=True):
            if name_bank(ids) == bank.bank and len(ids) == 1:
                bank.forget(everything=True)
            else:
                with suppress(NotFound):  # no memory has these ids
                    bank.forget(seq=_matching_seqs(bank, where))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Record]:
        """Return how a memory changed, oldest event first; an empty list if no memory has this id."""
        found = self.banks.find_recorded(memory_id)
        if found is None:
            return []
        bank, line = found
        seqs = find_versions(bank.store, bank.bank, [line.seq])
        versions = read_recorded(bank.store, bank.bank, seqs)
        return records.build_history(identify(bank.bank, line), versions)

    def reset(self) -> None:
        """Delete all memories of all users, agents and runs; other banks stay."""
        for bank in self.banks.list_all():
            self.banks.open(bank).forget(everything=True)


class Memory(Memories):
    """The memories of many users, with the methods of mem0's `Memory`. Thread-safe; a context manager.

        memory = Memory()
        memory.add("I moved to Lisbon in May.", user_id="nora")
        memory.search("Where do I live?", filters={"user_id": "nora"})

    The memories of each user are a bank, `mem0/user/nora`; without a user, those of an agent, a run or an app.
    """

    def __init__(
        self,
        config: object = None,
        *,
        store: Store | str | Path | None = None,
        embedder: Embedder | str | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        """Open the memories of a store.

        Args:
            config: mem0's configuration, which is ignored with a warning: Everthread has models and a store of its own.
            store, embedder, recipe: as for `everthread.Memory.open`.

        Raises:
            BadInput, ConfigError: an argument is invalid.
            StoreUnavailable: the store can't be opened.
        """
        if config is not None:
            warnings.warn("Everthread ignores mem0's llm, embedder and vector_store: it has its own", stacklevel=2)
        opened = factory.open_store(store)
        model = factory.open_embedder(embedder)

        @lru_cache(MAX_OPEN_BANKS)
        def open_bank(bank: str) -> Bank:
            return Bank.open(bank, store=opened, embedder=model, recipe=recipe)

        super().__init__(MemoryBanks(opened, open_bank))
        self._owns_store = opened is not store

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open the memories of the configured store; mem0's configuration is ignored with a warning."""
        return cls(config_dict)

    def close(self) -> None:
        """Close the store, unless the caller opened it."""
        if self._owns_store:
            self.banks.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _matching_seqs(bank: Bank, where: Filter) -> list[int]:
    """Return the numbers of the lines that a filter allows, ascending."""
    seqs = bank.store.filter_seqs(bank.bank, where, None)
    return [] if seqs is None else seqs.tolist()


def _replace(bank: Bank, line: Line, text: str, changes: Mapping[str, Any]) -> None:
    """Store a new version of a line. Raises NotFound if it has another one already."""
    new = build_correction(bank.store, bank.bank, line.seq, text)
    merged = {**new.metadata, **changes, UPDATED: now().isoformat()}
    metadata = {name: value for name, value in merged.items() if (name, value) != (EXPIRES, None)}
    bank.replace_lines([line.seq], [replace(new, metadata=metadata)], corrects=line.seq)


def _check_arguments(unknown: Mapping[str, object], method: str) -> None:
    """Refuse arguments that mem0 refuses, too: ids are filters."""
    for name in unknown:
        remedy = RENAMED.get(name) or (f"use filters={{{name!r}: …}}" if name in ID_NAMES else "omit it")
        raise BadInput(f"{method} has no argument {name}; {remedy}")


def _require_filters(filters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return filters that name a user, an agent, a run or an app.

    Raises:
        BadInput: they don't.
    """
    if not isinstance(filters, Mapping) or not names_an_id(filters):
        raise BadInput(f"invalid filters: got {filters!r}, expected one of {', '.join(ID_NAMES)} in them")
    return filters


def _check_query(query: object) -> str:
    if not isinstance(query, str) or not query.strip():
        raise BadInput(f"invalid query: got {query!r}, expected text that is not blank")
    return query.strip()


def _check_count(top_k: object) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise BadInput(f"invalid top_k: got {top_k!r}, expected a whole number, 0 or greater")
    return top_k


def _check_threshold(threshold: object) -> float:
    if threshold is None:
        return DEFAULT_THRESHOLD
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise BadInput(f"invalid threshold: got {threshold!r}, expected a number from 0 to 1")
    return threshold
