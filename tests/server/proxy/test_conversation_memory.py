"""The memories of a turn are the same while tools are called, unless something that they were made of is gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hardship import PATIENCE
from hardship.served import wait_until

from everthread import Line, NewUnit
from everthread.facts.types import Statement
from everthread.recipes.default import Default
from everthread.recipes.snapshots import Snapshots
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.proxy.conversation_memory import ConversationMemory
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

QUESTION = PersonTurn([ChatMessage("user", "Where does Mara work?")], 0, continues=True)


def test_a_unit_that_was_forgotten_while_tools_are_called_is_not_recalled(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    services = Services(store, HashEmbedder(64), None, Snapshots())
    proxied = ConversationMemory(ConversationRegistry(services), stores_history=False)
    memory = services.get_memory("nora", create=True)
    line = memory.observe("They hired me.")
    unit = memory.add_unit(NewUnit("note", "Mara works at the library.", line.seq, line.seq, line.said_at))
    turn = proxied.begin("nora", QUESTION, None)
    block = proxied.recall("nora", QUESTION, turn)
    assert unit.text in block.text
    memory.observe("Where Mara works is a quiet place.")
    assert proxied.recall("nora", QUESTION, turn) is block
    memory.forget_unit("note", unit.id)
    assert unit.text not in proxied.recall("nora", QUESTION, turn).text
    store.close()


def test_a_value_that_was_replaced_and_forgotten_while_tools_are_called_is_not_recalled(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    services = Services(store, HashEmbedder(64), None, Default(facts=True))
    proxied = ConversationMemory(ConversationRegistry(services), stores_history=False)
    memory = services.get_memory("nora", create=True)
    memory.observe("I live in Leeds, in a quiet house.", speaker="Nora", session="first")
    for number in range(3):
        memory.observe(f"The dentist called {number} times.", speaker="Nora", session="second")
    memory.observe("We moved to York.", speaker="Nora", session="second")
    question = PersonTurn([ChatMessage("user", "Who has a quiet house in Leeds?")], 0, continues=True)
    turn = proxied.begin("nora", question, None)
    block = proxied.recall("nora", question, turn)
    assert "then: York" in block.text
    assert proxied.recall("nora", question, turn) is block
    york = next(fact for fact in memory.facts() if fact.value == "York")
    assert not set(york.seqs) & set(block.seqs)
    memory.split_entity("Nora", york.statements)
    assert "then: York" not in proxied.recall("nora", question, turn).text
    memory.merge_entities("Nora", memory.get_fact(york.id).subject)
    assert "then: York" in proxied.recall("nora", question, turn).text
    memory.forget_fact(york.id, with_lines=True)
    assert "York" not in proxied.recall("nora", question, turn).text
    store.close()


def test_a_preview_is_what_is_recalled_once_the_message_is_stored(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    services = Services(store, HashEmbedder(64), None, Default())
    proxied = ConversationMemory(ConversationRegistry(services), stores_history=True)
    memory = services.get_memory("nora", create=True)
    memory.observe("My sister Mia moved to Lisbon in May.")
    said = [ChatMessage("user", "My sister Mia has a quiet house."), ChatMessage("assistant", "I see.")]
    proxied.keep("nora", said, None)
    for text in ("Where does my sister Mia live?", *["And where does my sister Mia live?"] * 2):
        turn = PersonTurn([*said, ChatMessage("user", text)], 2, continues=False)
        before = list(memory.lines(include_retracted=True))
        preview = proxied.preview("nora", turn, None)
        assert list(memory.lines(include_retracted=True)) == before
        stored = proxied.begin("nora", turn, None)
        assert proxied.recall("nora", turn, stored) == preview
        assert "Lisbon" in preview.text
        assert "quiet" not in preview.text
    store.close()


def test_a_line_with_the_number_of_one_that_was_recalled_from_a_former_bank_is_recalled(tmp_path: Path) -> None:
    store, of_other_process = SQLiteStore(tmp_path), SQLiteStore(tmp_path)
    proxied = ConversationMemory(
        ConversationRegistry(Services(store, HashEmbedder(64), None, Default())), stores_history=False
    )
    other = Services(of_other_process, HashEmbedder(64), None, Default()).get_memory("nora", create=True)

    def ask(text: str) -> str:
        person_turn = PersonTurn([ChatMessage("user", text)], 0, continues=False, upstream_has_history=True)
        return proxied.recall("nora", person_turn, proxied.begin("nora", person_turn, "talk")).text

    other.observe("Mara works at the library.", session="first")
    assert "library" in ask("Where does Mara work?")
    assert "library" not in ask("Where does Mara work now?")
    other.forget(everything=True)
    other.observe("Mara works at the harbour.", session="first")
    for text in ("Hello.", "I am back."):
        other.observe(text, session="talk")
    assert "harbour" in ask("Where does Mara work now?")
    store.close()
    of_other_process.close()


def test_lines_are_embedded_while_those_of_another_bank_are_read_for_facts(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        services = Services(store, HashEmbedder(64), None, Default())
        registry = ConversationRegistry(services)
        proxied = ConversationMemory(registry, stores_history=False)
        begun, go = threading.Event(), threading.Event()

        def read(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
            begun.set()
            assert go.wait(PATIENCE)
            return []

        memories = {bank: services.get_memory(bank, create=True) for bank in ("mara", "nora")}
        memories["mara"].statement_reader = read
        for bank in memories:
            proxied.keep(bank, [ChatMessage("user", "I work at the library.")], None)
            assert begun.wait(PATIENCE)
        wait_until(lambda: not any(memory.backlog for memory in memories.values()))
        assert [memory.stats().pending for memory in memories.values()] == [0, 0]
        go.set()
        registry.close()
