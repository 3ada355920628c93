"""Stores and recalls for the proxy.

One process at a time changes the conversations of a bank.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from everthread.bank import evidence
from everthread.bank.settings import remember_policy
from everthread.common.keys import SETTING_ENTITIES
from everthread.facts.fact_units import FACT
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.proxy.background_tasks import BackgroundTasks
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.kept_turn import keep_turn
from everthread.server.proxy.lineage import Lineage
from everthread.server.proxy.memory_block import MemoryBlock
from everthread.server.proxy.message_text import META_MESSAGE_ID, ChatMessage
from everthread.server.proxy.reply import Reply
from everthread.server.proxy.reply_index import META_RESPONSE
from everthread.server.proxy.turn import META_PARTIAL, Turn
from everthread.server.workers.bank_locks import BankLocks
from everthread.server.workers.table_locks import TableLocks
from everthread.stores.unit_store import UnitVersion
from everthread.types import JSONValue, Metadata

DEFAULT_BUDGET_TOKENS = 1000  # of a block
MAX_QUERY_CHARS = 4000  # of the newest message, from its end, where a question is
MAX_LINEAGES = 1024  # banks whose conversations are held in memory
MAX_BLOCKS = 1024  # turns whose tools may still be called
LOCK_TIMEOUT_S = 5.0
TURNS_AT_ONCE = 8  # more would delay each other, and close each other's banks
NO_BLOCK = MemoryBlock("", ())

Sources = Collection[tuple[str, int]]  # lines, by an empty kind and number, and units, by kind and id
Texts = dict[tuple[str, int], str]  # of such sources
FactVersion = tuple[UnitVersion, JSONValue | None]  # of the units, and what the person has merged and split


@dataclass(frozen=True, slots=True)
class Origin:
    """The stored texts and facts from which a block was made.

    Attributes:
        texts: the stored texts of its lines and units.
        facts: the version of the bank's facts, any of which may be named in a block as the value before another; None
            for a block without facts.
    """

    texts: Texts
    facts: FactVersion | None


class ConversationMemory:
    """The conversations that pass through the proxy. Thread-safe.

    Attributes:
        slots: limits how many requests store and recall at once.
        tasks: those that store, also after their requests.
    """

    def __init__(self, registry: ConversationRegistry, *, stores_history: bool) -> None:
        """Begin without any conversation.

        Args:
            registry: the conversations of this process.
            stores_history: as for `Lineage`.
        """
        self._registry, self._services = registry, registry.services
        self._locks = _open_locks(registry)
        self._stores_history = stores_history
        self.slots = asyncio.Semaphore(TURNS_AT_ONCE)
        self.tasks = BackgroundTasks()
        self._lineages: OrderedDict[str, Lineage] = OrderedDict()
        # By bank and line, each block with what it was made of.
        self._blocks: OrderedDict[tuple[str, int], tuple[MemoryBlock, Origin]] = OrderedDict()
        self._lock = threading.Lock()

    def is_read_only(self, bank: str) -> bool:
        """Return whether a bank is set to remember nothing."""
        store = self._services.store
        return store.exists(bank) and remember_policy(store.settings(bank)) is False

    def begin(self, bank: str, turn: PersonTurn, session: str | None) -> Turn | None:
        """Store the person's newest message.

        Returns None if the request has only results of tools, and the turn is not known.
        Raises the same errors as `Lineage.begin`; Problem if another process takes too long.
        """
        if not turn.messages and not self._services.store.exists(bank):
            return None
        with self._use(bank) as lineage:
            if not turn.upstream_has_history:
                return lineage.begin(turn.messages, session, is_resent=True, is_retry=turn.is_retry)
            resumed = lineage.resume(turn.messages, turn.response, session, is_retry=turn.is_retry)
        return None if resumed is None else self._add_recalled(bank, resumed)

    def finish(
        self,
        bank: str,
        turn: Turn,
        reply: Reply,
        metadata: Metadata,
        block: MemoryBlock = NO_BLOCK,
        beginning: str = "",
    ) -> None:
        """Store the received part of the reply to a request with these memories, after the beginning that the client
        gave. Raises the same errors as `begin`."""
        if not reply.text and not reply.response_id:
            self.embed(bank)
            return
        text = reply.join(beginning) if beginning else reply.text
        with self._use(bank, create=False) as lineage:
            named = {**metadata, **block.build_metadata(text), **_describe(reply)}
            lineage.finish(turn, text, partial=reply.is_partial, metadata=named)
        self.embed(bank)

    def keep_reply(self, bank: str, turn: PersonTurn, reply: Reply, metadata: Metadata, session: str | None) -> None:
        """Store the reply to a message without words. Raises the same errors as `begin`."""
        if not reply.text or self.is_read_only(bank):
            return
        partial = {META_PARTIAL: True} if reply.is_partial else {}
        message = ChatMessage("assistant", reply.text, metadata={**metadata, **_describe(reply), **partial})
        self.begin(bank, replace(turn, messages=[*turn.messages, message]), session)
        self.embed(bank)

    def embed(self, bank: str) -> None:
        """Embed the new lines of a bank, in the background. Raises StoreUnavailable."""
        if self._services.store.exists(bank):
            self._registry.get_scribe_worker(self._services.get_memory(bank)).start()

    def keep(self, bank: str, messages: Sequence[ChatMessage], session: str | None) -> str:
        """Store what is new in a conversation whose replies are given, and return its session. Raises as `keep_turn`;
        Problem if another process takes too long."""
        with self._use(bank) as lineage:
            name = keep_turn(lineage, messages, session)
        self.embed(bank)
        return name

    def has_last_reply(self, bank: str, messages: Sequence[ChatMessage], session: str | None) -> bool:
        """Return whether the bank has the beginning of a reply that a request continues. Raises as `begin`."""
        if not self._services.store.exists(bank):
            return False
        with self._use(bank, create=False) as lineage:
            return lineage.has_last_reply(messages, session)

    def extend_reply(self, bank: str, messages: Sequence[ChatMessage], reply: Reply, session: str | None) -> None:
        """Store the continuation of a reply, if the bank has its beginning. Raises as `begin`."""
        if not reply.text or not self._services.store.exists(bank) or self.is_read_only(bank):
            return
        with self._use(bank, create=False) as lineage:
            text = reply.join(messages[-1].text)
            lineage.extend_reply(messages, text, partial=reply.is_partial, session=session)

    def prepare(self, bank: str, text: str) -> None:
        """Begin to recall for a message, while it is stored.

        Args:
            bank: its id.
            text: the message.
        """
        if text.strip() and self._services.store.exists(bank):
            memory = self._services.get_memory(bank)
            memory.recipe.prepare(memory.reader, text[-MAX_QUERY_CHARS:])

    def recall(
        self,
        bank: str,
        person_turn: PersonTurn,
        turn: Turn | None,
        budget: int | None = None,
        deadline_s: float | None = None,
    ) -> MemoryBlock:
        """Recall for the person's newest message; while tools are called, the same block as before.

        Args:
            bank: its id.
            person_turn: the newest message.
            turn: the stored message; None if it is not stored.
            budget: tokens of the block at most; None: DEFAULT_BUDGET_TOKENS.
            deadline_s: as for `Memory.context`.

        Returns:
            The block; one without text if nothing is relevant.

        Raises:
            TimeoutError: nothing was found without a model that did not answer in time.
        """
        key, shown = (None, frozenset[int]()) if turn is None else ((bank, turn.line.seq), turn.in_request)
        block, sources, facts = self._recall(bank, person_turn, key, shown, budget, deadline_s)
        if key is not None and sources is not None:
            self._keep_block(key, block, sources, facts)
        return block

    def preview(
        self,
        bank: str,
        person_turn: PersonTurn,
        session: str | None,
        budget: int | None = None,
        deadline_s: float | None = None,
    ) -> MemoryBlock:
        """Recall what `recall` would after `begin`, but store nothing. Takes, returns and raises as both."""
        seq, shown = None, frozenset[int]()
        if self._services.store.exists(bank) and not self.is_read_only(bank):
            with self._use(bank, create=False) as lineage:
                seq, shown = lineage.preview(person_turn.messages, session)
        key = None if seq is None else (bank, seq)
        return self._recall(bank, person_turn, key, shown, budget, deadline_s)[0]

    def _recall(
        self,
        bank: str,
        person_turn: PersonTurn,
        key: tuple[str, int] | None,
        shown: Collection[int],
        budget: int | None,
        deadline_s: float | None,
    ) -> tuple[MemoryBlock, Sources | None, FactVersion | None]:
        """Recall for a message.

        Args:
            bank: its id.
            person_turn: the message.
            key: the bank and the number of its line; None if it is not stored.
            shown: numbers of the lines that the request contains.
            budget: as for `recall`.
            deadline_s: as for `recall`.

        Returns:
            The block, what it was made of, and the version of the bank's facts then; None for a block that is known
            already.
        """
        if not self._services.store.exists(bank):
            self._drop_blocks(bank)
            return NO_BLOCK, None, None
        if person_turn.continues and (block := self._find_block(key)) is not None:
            return block, None, None
        memory = self._services.get_memory(bank)
        if memory.recipe.facts and deadline_s is None:
            memory.read_known(exclude=shown)  # the context would read these lines, and so change the version
        facts = self._find_fact_version(bank)
        context = memory.context(
            person_turn.text[-MAX_QUERY_CHARS:],
            budget or DEFAULT_BUDGET_TOKENS,
            exclude=shown,
            deadline_s=deadline_s,
        )
        if not context.text and not context.complete:
            raise TimeoutError
        seqs = tuple(line.seq for line in context.lines) if context.text else ()
        texts = tuple(source.text for source in (*context.sources, *context.facts))
        block = MemoryBlock(context.text, seqs, texts, evidence.build_metadata(context))
        units = [(found.unit.kind, found.unit.id) for found in (*context.units, *context.facts)]
        return block, [*(("", line.seq) for line in context.lines), *units], facts

    def _add_recalled(self, bank: str, turn: Turn) -> Turn:
        """Add the lines that were recalled for earlier turns: the upstream has them in its history.

        They are compared by text, since the bank may have been forgotten and created again, with other lines of these
        numbers.
        """
        earlier = turn.in_request - {turn.line.seq}
        with self._lock:
            origins = [self._blocks[bank, seq][1] for seq in earlier if (bank, seq) in self._blocks]
        recalled = set[tuple[tuple[str, int], str]]().union(*(origin.texts.items() for origin in origins))
        still = self._read_texts(bank, {source for source, _ in recalled}).items() & recalled
        return replace(turn, in_request=turn.in_request.union(seq for (kind, seq), _ in still if not kind))

    def _keep_block(
        self, key: tuple[str, int], block: MemoryBlock, sources: Sources, facts: FactVersion | None
    ) -> None:
        """Keep the block recalled for a line while tools are called, unless one of its sources has already gone.

        Args:
            key: the bank and the number of the line.
            block: the block.
            sources: its lines and units.
            facts: the version of the bank's facts before the block was made.
        """
        texts = self._read_texts(key[0], sources)
        is_current = texts.keys() == set(sources) and facts == self._find_fact_version(key[0])
        with self._lock:
            self._blocks.pop(key, None)
            if is_current:
                self._blocks[key] = block, Origin(texts, facts)
            while len(self._blocks) > MAX_BLOCKS:
                self._blocks.popitem(last=False)

    def _find_block(self, key: tuple[str, int] | None) -> MemoryBlock | None:
        """Return the block recalled for a line, unless one of its sources has been changed or forgotten since."""
        with self._lock:
            kept = self._blocks.get(key) if key is not None else None
        if key is None or kept is None:
            return None
        block, origin = kept
        if self._find_fact_version(key[0]) == origin.facts and self._read_texts(key[0], origin.texts) == origin.texts:
            return block
        self._drop_blocks(key[0])
        return None

    def _drop_blocks(self, bank: str) -> None:
        """Drop the blocks of a bank in which something has been forgotten."""
        with self._lock:
            for key in [key for key in self._blocks if key[0] == bank]:
                del self._blocks[key]

    def _find_fact_version(self, bank: str) -> FactVersion | None:
        """Return the version of a bank's facts; None if blocks have none."""
        if not (self._services.store.exists(bank) and self._services.get_memory(bank).recipe.facts):
            return None
        store = self._services.store
        return store.unit_version(bank, FACT), store.settings(bank).get(SETTING_ENTITIES)

    def _read_texts(self, bank: str, sources: Sources) -> Texts:
        """Return the texts that the lines and units have now, without retracted and forgotten ones."""
        store = self._services.store
        seqs = np.array(sorted(number for kind, number in sources if not kind), np.int64)
        kinds = sorted({kind for kind, _ in sources if kind})
        units = store.units(bank, kinds, ids=[number for kind, number in sources if kind]) if kinds else []
        texts = {("", seq): text for seq, text in (store.texts(bank, seqs) if len(seqs) else ())}
        texts |= {(unit.kind, unit.id): unit.text for unit in units}
        return {source: texts[source] for source in sources if source in texts}

    @contextmanager
    def _use(self, bank: str, *, create: bool = True) -> Iterator[Lineage]:
        """Yield the conversations of a bank while no other process changes them."""
        memory = self._services.get_memory(bank, create=create)
        with self._lock:
            lineage = self._lineages.get(bank)
            if lineage is None or lineage.memory is not memory:
                lineage = Lineage(memory, stores_history=self._stores_history)
            self._lineages[bank] = lineage
            self._lineages.move_to_end(bank)
            while len(self._lineages) > MAX_LINEAGES:
                self._lineages.popitem(last=False)
        with self._locks.hold(bank, LOCK_TIMEOUT_S):
            yield lineage


def _describe(reply: Reply) -> Metadata:
    """Return the metadata of a reply that its answer contains."""
    given = {"model": reply.model, META_RESPONSE: reply.response_id, META_MESSAGE_ID: reply.message_id}
    return {name: each for name, each in given.items() if each}


def _open_locks(registry: ConversationRegistry) -> BankLocks | TableLocks:
    """Return the locks that exclude the other processes of the store: in the database, or among the workers."""
    location, own_socket = registry.services.location, registry.leases.own_socket
    if not isinstance(location, Path):
        return TableLocks(location)
    return BankLocks(None if own_socket is None else own_socket.parent)
