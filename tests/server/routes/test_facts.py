"""Facts, profiles and entities over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.problem import kind

BANK = "banks/nora"
SAID = ("I live in Leeds.", "My sister Mia lives in Porto.", "I'm allergic to peanuts.", "We moved to York.")


@pytest.fixture
def told(api: TestClient) -> TestClient:
    """Return a client of a server to which Nora has talked of herself and her sister."""
    for text in SAID:
        api.post(f"{BANK}/lines", json={"text": text, "speaker": "Nora"}).raise_for_status()
    return api


def facts(api: TestClient, **query: Any) -> dict[str, dict[str, Any]]:
    """Return the facts by value."""
    return {fact["value"]: fact for fact in api.get(f"{BANK}/facts", params=query).json()["items"]}


def test_facts_are_listed_as_sentences_with_their_lines(told: TestClient) -> None:
    known = facts(told)
    assert list(known) == ["Mia", "Porto", "peanuts", "York"]
    assert known["Porto"]["subject"] == "Mia"
    assert known["Porto"]["text"] == "Mia lives in Porto."
    assert known["York"]["replaces"] == "Leeds"
    assert known["York"]["seqs"] == [4]
    assert list(facts(told, subject="Nora's sister")) == ["Porto"]
    assert facts(told, attribute="home", ended=True).keys() == {"Leeds", "Porto", "York"}
    assert kind(told.get(f"{BANK}/facts", params={"attribute": "shoe size"}), 422) == "bad-input"


def test_facts_are_listed_a_page_at_a_time(told: TestClient) -> None:
    first = told.get(f"{BANK}/facts", params={"limit": 3}).json()
    rest = told.get(f"{BANK}/facts", params={"after": first["next"]}).json()
    assert [fact["value"] for fact in (*first["items"], *rest["items"])] == ["Mia", "Porto", "peanuts", "York"]
    assert rest["next"] is None


def test_what_held_at_a_time_and_what_was_known_by_then_are_told_apart(told: TestClient) -> None:
    before = facts(told, attribute="home", ended=True)["Leeds"]["until"]
    assert "York" in facts(told, subject="Nora", as_of=before)
    assert facts(told, known_at="2020-01-01T00:00:00Z") == {}


def test_profiles_and_entities_name_what_they_are(told: TestClient) -> None:
    profile = told.get(f"{BANK}/profile", params={"name": "Mia"}).json()
    assert profile["entity"]["relations"] == [["Nora", "sister"]]
    assert [fact["value"] for fact in profile["facts"]["home"]] == ["Porto"]
    assert told.get(f"{BANK}/profile").json()["entity"]["name"] == "Nora"
    assert kind(told.get(f"{BANK}/profile", params={"name": "Xaver"}), 404) == "not-found"
    names = [entity["name"] for entity in told.get(f"{BANK}/entities").json()["items"]]
    assert {"Nora", "Mia", "Porto"} <= set(names)


def test_a_fact_is_confirmed_corrected_and_ended_once(told: TestClient) -> None:
    known = facts(told)
    once = {"Idempotency-Key": "once"}
    corrected = [
        told.patch(f"{BANK}/facts/{known['Porto']['id']}", json={"value": "Lisbon"}, headers=once).json()
        for _ in range(2)
    ]
    assert corrected[0] == corrected[1]
    assert corrected[0]["writers"] == ["person"]
    confirmed = told.post(f"{BANK}/facts/{known['peanuts']['id']}/confirm").json()
    assert (confirmed["value"], confirmed["confidence"]) == ("peanuts", 1)
    ended = told.post(f"{BANK}/facts/{known['York']['id']}/end", json={}).json()
    assert ended["until"] is not None
    assert list(facts(told)) == ["Mia", "Lisbon", "peanuts"]
    assert told.get(f"{BANK}/facts/{known['York']['id']}").json() == ended
    blank = told.patch(f"{BANK}/facts/{known['Porto']['id']}", json={"value": " "})
    assert kind(blank, 422) == "bad-input"
    missing = told.post(f"{BANK}/facts/99/end", json={"moment": "2024"})
    assert kind(missing, 404) == "not-found"
    no_moment = told.post(f"{BANK}/facts/{known['Porto']['id']}/end", json={"moment": "soon"})
    assert kind(no_moment, 422) == "bad-input"


def test_a_fact_is_forgotten_alone_or_with_its_lines(told: TestClient) -> None:
    known = facts(told)
    alone = told.delete(f"{BANK}/facts/{known['peanuts']['id']}").json()
    assert (alone["seqs"], alone["with_lines"]) == ([3], False)
    assert "peanuts" not in facts(told, ended=True)
    assert told.get(f"{BANK}/lines/3").status_code == 200
    told.delete(f"{BANK}/facts/{known['Porto']['id']}", params={"with_lines": True}).raise_for_status()
    assert told.get(f"{BANK}/lines/2").status_code == 404
    assert list(facts(told)) == ["York"]


def test_two_of_one_name_are_split_and_merged(told: TestClient) -> None:
    porto = facts(told)["Porto"]
    apart = told.post(f"{BANK}/entities/split", json={"name": "Mia", "statements": porto["statements"]}).json()
    assert told.get(f"{BANK}/profile", params={"name": "Nora's sister"}).json()["facts"] == {}
    joined = told.post(f"{BANK}/entities/merge", json={"name": "Nora's sister", "other": apart["name"]}).json()
    assert joined["name"] == "Mia"
    assert list(facts(told, subject="Mia")) == ["Porto"]
