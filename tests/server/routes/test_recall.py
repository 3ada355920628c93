"""Recall over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.server.services import Services
from everthread.types import Filter
from server.problem import kind

BANK = "banks/alice%2Fnemo"


def test_hits_equal_those_of_the_library(api_with_lines: TestClient, services: Services) -> None:
    body = {"query": "Where does Mia live?", "k": 2, "where": {"session": ["one"]}}
    hits = api_with_lines.post(f"{BANK}/recall", json=body).json()["items"]
    expected = services.get_memory("alice/nemo").recall("Where does Mia live?", 2, where=Filter(session=("one",)))
    assert [hit["line"]["seq"] for hit in hits] == [hit.line.seq for hit in expected]
    assert [hit["signals"] for hit in hits] == [hit.signals for hit in expected]
    assert [len(hit["passage"]) for hit in hits] == [len(hit.passage) for hit in expected]


def test_hits_of_several_banks_name_them(api_with_lines: TestClient) -> None:
    api_with_lines.post("banks/bob/lines", json={"text": "My sister lives in Lisbon, too."})
    body = {"query": "Who lives in Lisbon?", "banks": ["bob", "alice/nemo"]}
    assert {hit["bank"] for hit in api_with_lines.post(f"{BANK}/recall", json=body).json()["items"]} == {
        "bob",
        "alice/nemo",
    }
    assert kind(api_with_lines.post(f"{BANK}/recall", json={"query": "Lisbon", "banks": ["carol"]}), 404) == "not-found"


def test_a_context_equals_that_of_the_library(api_with_lines: TestClient, services: Services) -> None:
    body = {"query": "Where does Mia live?", "gate": False, "min_relevance": 0, "session": "two", "budget": 200}
    context = api_with_lines.post(f"{BANK}/context", json=body).json()
    expected = services.get_memory("alice/nemo").context(
        "Where does Mia live?", 200, gate=False, min_relevance=0, session="two"
    )
    assert context["text"] == expected.text
    assert (context["tokens"], context["relevance"]) == (expected.tokens, expected.relevance)
    assert context["text"]


def test_a_context_without_time_for_a_model_is_found_by_words(api_with_lines: TestClient) -> None:
    body = {"query": "Where does my sister Mia live?", "gate": False}
    late, in_time, without = (
        api_with_lines.post(f"{BANK}/context", json={**body, **deadline}).json()
        for deadline in ({"deadline_s": 0}, {"deadline_s": 60}, {})
    )
    assert (late["complete"], "Mia" in late["text"]) == (False, True)
    assert in_time == without
    assert without["complete"]


def test_a_context_names_the_position_of_each_corrected_line(api_with_lines: TestClient) -> None:
    body = {"query": "Where does my sister Mia live?", "gate": False, "min_relevance": 0}
    assert api_with_lines.post(f"{BANK}/context", json=body).json()["corrects"] == {}
    line = api_with_lines.patch(f"{BANK}/lines/1", json={"text": "My sister Mia moved to Porto."}).json()
    line = api_with_lines.patch(f"{BANK}/lines/{line['seq']}", json={"text": "My sister Mia moved to Braga."}).json()
    assert api_with_lines.post(f"{BANK}/context", json=body).json()["corrects"] == {str(line["seq"]): 1}


def test_a_context_of_several_banks_has_a_part_for_each(api_with_lines: TestClient, services: Services) -> None:
    api_with_lines.post("banks/bob/lines", json={"text": "My sister lives in Lisbon, too."})
    body = {"query": "Who lives in Lisbon?", "banks": ["bob", "alice/nemo"], "gate": False, "min_relevance": 0}
    context = api_with_lines.post(f"{BANK}/context", json=body).json()
    memory = services.get_memory("alice/nemo")
    expected = memory.context("Who lives in Lisbon?", gate=False, min_relevance=0, banks=["bob", "alice/nemo"])
    assert context["text"] == expected.text
    assert [(other["bank"], len(other["hits"])) for other in context["others"]] == [("bob", 1)]
    assert (
        kind(api_with_lines.post(f"{BANK}/context", json={"query": "Lisbon", "banks": ["carol"]}), 404) == "not-found"
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "invalid-request"),
        ({"query": "a", "k": 0}, "invalid-request"),
        ({"query": "a", "as_of": "2024-05-01T10:00:00"}, "bad-query"),
        ({"query": "a", "where": {"speaker": "a\0b"}}, "bad-query"),
        ({"query": "a", "where": {"mood": "grim"}}, "invalid-request"),
        ({"query": "a", "where": {"condition": {"field": "mood"}}}, "bad-query"),
        ({"query": "a", "where": {"condition": {"field": "metadata.a", "op": "like", "value": 1}}}, "bad-query"),
        ({"query": "a", "banks": []}, "invalid-request"),
    ],
)
def test_an_invalid_query_is_rejected(api_with_lines: TestClient, body: dict[str, Any], problem: str) -> None:
    assert kind(api_with_lines.post(f"{BANK}/recall", json=body), 422) == problem


@pytest.mark.parametrize(
    "body",
    [{"query": "a", "budget": 0}, {"query": "a", "min_relevance": 2}, {"query": 7}, {"query": "a", "deadline_s": -1}],
)
def test_an_invalid_context_request_is_rejected(api_with_lines: TestClient, body: dict[str, Any]) -> None:
    assert kind(api_with_lines.post(f"{BANK}/context", json=body), 422) == "invalid-request"
