"""LangChain's retriever over the lines of a bank. `test_suites` runs LangChain's own tests of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from everthread import Filter, Memory, NewUnit
from everthread.compat.langchain import EverthreadRetriever
from everthread.errors import BadInput

JUNE = datetime(2024, 6, 2, 18, 30, tzinfo=UTC)
QUERY = "Where did Mia move?"


@pytest.fixture
def talk(memory: Memory) -> Memory:
    memory.observe("I moved to Lisbon.", speaker="Mia", said_at=JUNE, session="s1")
    memory.observe("Good for you, Mia!", speaker="Bot", role="assistant", said_at=JUNE, session="s1")
    memory.observe("Lisbon is warm.", speaker="Guide", session="s2", undated=True)
    return memory


def test_a_document_says_who_said_it_and_when(talk: Memory) -> None:
    document = EverthreadRetriever(memory=talk, k=1).invoke(QUERY)[0]
    assert (document.page_content, document.id) == ("Mia, 2 June 2024: I moved to Lisbon.", "1")
    relevance = document.metadata.pop("relevance")
    assert relevance == talk.recall(QUERY, 1)[0].relevance
    assert document.metadata == {
        "seq": 1,
        "session": "s1",
        "speaker": "Mia",
        "role": "user",
        "said_at": "2024-06-02T18:30:00+00:00",
    }
    assert EverthreadRetriever(memory=talk, k=1, dated=False).invoke(QUERY)[0].page_content == "I moved to Lisbon."


def test_an_undated_document_has_no_day(talk: Memory) -> None:
    (document,) = EverthreadRetriever(memory=talk, where=Filter(session="s2")).invoke(QUERY)
    assert document.page_content == "Guide: Lisbon is warm."
    assert document.metadata["said_at"] is None


def test_a_gated_retriever_returns_only_what_is_relevant(talk: Memory) -> None:
    retriever = EverthreadRetriever(memory=talk, k=2, gated=True)
    assert retriever.invoke("What is 17 times 4?") == []
    assert 1 <= len(retriever.invoke("Who moved to Lisbon?")) <= 2
    assert len(retriever.invoke("Who moved to Lisbon?", None, k=1)) == 1


def test_units_are_documents_too(talk: Memory) -> None:
    talk.add_unit(NewUnit("fact", "Mia lives in Lisbon.", 1, 1, JUNE))
    (document,) = EverthreadRetriever(memory=talk, where=Filter(kind="fact")).invoke(QUERY)
    assert (document.page_content, document.id) == ("fact, 2 June 2024: Mia lives in Lisbon.", "fact:1")
    assert (document.metadata["kind"], document.metadata["seq"]) == ("fact", 1)


def test_an_invalid_argument_is_named(talk: Memory) -> None:
    with pytest.raises(BadInput, match="k must be"):
        EverthreadRetriever(memory=talk).invoke(QUERY, None, k=0)
    with pytest.raises(BadInput, match="where must be a Filter, got 'Mia'"):
        EverthreadRetriever(memory=talk, where="Mia").invoke(QUERY)
    with pytest.raises(ValidationError, match="memory"):
        EverthreadRetriever(memory="alice")  # type: ignore[arg-type]
