from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from everthread.chat.fact_writing import list_factless, require_fact_scribe, write_facts
from everthread.common.keys import META_NEEDS_CONSENT
from everthread.errors import BadInput, LLMUnavailable, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.stores.base import Store
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Filter, Message, NewLine, now

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MIA = "Mia is Nora's sister."
BOAT = "Nora sold her boat."
NOTHING = '{"facts": []}'
NAMES = count()


def facts(*items: tuple[str, int]) -> str:
    return json.dumps({"facts": [{"fact": fact, "lines": [seq]} for fact, seq in items]})


@pytest.fixture
def imported(any_store: Store) -> Memory:
    """Three sessions: lines 1 and 2, line 3, line 4."""
    memory = Memory.open(f"nora-{next(NAMES)}", store=any_store, embedder=HashEmbedder(512))
    texts = {
        "one": ["My sister Mia moved to Lisbon.", "She rents a flat."],
        "two": ["I sold my boat."],
        "three": ["Hm."],
    }
    for day, (session, said) in enumerate(texts.items()):
        memory.observe_many(NewLine(text, "Nora", session=session, said_at=NOON + timedelta(days=day)) for text in said)
    return memory


def write(memory: Memory, llm: ScriptedLLM) -> int:
    return write_facts(memory, LLMScribe(llm), list_factless(memory))


def test_a_fact_is_dated_by_its_lines_and_forgotten_with_any_of_them(imported: Memory) -> None:
    llm = ScriptedLLM([facts((MIA, 1), ("Mia rents a flat in Lisbon.", 2)), facts((BOAT, 3)), NOTHING])
    assert write(imported, llm) == 3
    mia, flat, boat = imported.units("fact")
    spans = [(unit.first_seq, unit.last_seq) for unit in (mia, flat, boat)]
    assert spans == [(1, 1), (1, 2), (3, 3)], "the second fact names line 2 alone, but has Mia's name from line 1"
    assert boat.said_at == NOON + timedelta(days=1)
    assert [hit.unit.text for hit in imported.recall("boat", where=Filter(kind="fact")) if hit.unit][:1] == [BOAT]
    imported.forget(seq=2)
    assert imported.units("fact") == [mia, boat]
    imported.forget(seq=1)
    assert imported.units("fact") == [boat]


def test_a_session_is_read_once_and_what_is_a_fact_already_is_not_stored_twice(imported: Memory) -> None:
    assert write(imported, ScriptedLLM([facts((MIA, 1)), facts((MIA, 3), (BOAT, 3), (BOAT, 3)), NOTHING])) == 2
    assert list_factless(imported) == []
    imported.observe("Mia has a dog.", session="one", said_at=NOON + timedelta(minutes=9))
    llm = ScriptedLLM([facts(("Mia has a dog.", 5))])
    assert write(imported, llm) == 1
    assert "Lisbon" not in llm.prompts[0][1].content


def test_an_interrupted_call_and_one_whose_model_fails_are_continued(imported: Memory) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_facts(imported, LLMScribe(ScriptedLLM([facts((MIA, 1))])), list_factless(imported), interrupt)
    assert [session.id for session in list_factless(imported)] == ["two", "three"]
    with pytest.raises(ScribeFailed, match=r"could not write the facts of session 'two' \(LLMUnavailable\).*again"):
        write(imported, ScriptedLLM([LLMUnavailable("the model is away")]))
    with pytest.raises(ScribeFailed, match=r"session 'two' \(ScribeFailed\)"):
        write(imported, ScriptedLLM(["I see no facts.", "None."]))
    assert write(imported, ScriptedLLM(["Facts?", facts((BOAT, 3)), NOTHING])) == 1
    assert [unit.text for unit in imported.units("fact")] == [MIA, BOAT]


def test_nothing_is_stored_of_a_line_that_is_forgotten_while_the_model_reads_it(imported: Memory) -> None:
    def forget(_: Sequence[Message]) -> str:
        imported.forget(seq=1)
        return facts((MIA, 1))

    with pytest.raises(ScribeFailed, match=r"session 'one' \(NotFound\)"):
        write(imported, ScriptedLLM([forget]))
    assert imported.units("fact") == []
    assert len(list_factless(imported)) == 3


def test_secrets_are_removed_and_what_may_not_be_remembered_is_not_read(imported: Memory) -> None:
    imported.observe("May you write this down?", metadata={META_NEEDS_CONSENT: True}, session="asked", said_at=NOON)
    imported.observe("I am still here.", session="now", said_at=now())
    assert "now" not in {session.id for session in list_factless(imported)}
    assert write(imported, ScriptedLLM([facts((MIA, 1)), facts(("Nora's boat has the PIN 1234.", 3)), NOTHING])) == 2
    assert not any("1234" in unit.text for unit in imported.units("fact"))
    imported.set_setting("remember", "never")
    with pytest.raises(BadInput, match="never remembers conversations"):
        list_factless(imported)


def test_a_scribe_without_a_model_says_that_facts_need_one() -> None:
    with pytest.raises(BadInput, match=r"the scribe 'extractive' uses none; name a model with --model"):
        require_fact_scribe(ExtractiveScribe())
