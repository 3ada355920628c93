"""Facts, profiles and entities over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.problem import kind

BANK = "banks/nora"
SAID = ("I live in Leeds.", "My sister Mia lives in Porto.", "I'm allergic to peanuts.", "We moved to York.")


@pytest.fixture
def bank(api: TestClient) -> TestClient:
    """Return a client of a server to which Nora has talked of herself and her sister."""
    for text in SAID:
        api.post(f"{BANK}/lines", json={"text": text, "speaker": "Nora"}).raise_for_status()
    return api


def facts(api: TestClient, **query: Any) -> dict[str, dict[str, Any]]:
    """Return the facts by value."""
    return {fact["value"]: fact for fact in api.get(f"{BANK}/facts", params=query).json()["items"]}


def test_facts_are_listed_as_sentences_with_their_lines(bank: TestClient) -> None:
    known = facts(bank)
    assert list(known) == ["Mia", "Porto", "peanuts", "York"]
    assert known["Porto"]["subject"] == "Mia"
    assert known["Porto"]["text"] == "Mia lives in Porto."
    assert known["York"]["replaces"] == "Leeds"
    assert known["York"]["seqs"] == [4]
    assert list(facts(bank, subject="Nora's sister")) == ["Porto"]
    assert facts(bank, attribute="home", ended=True).keys() == {"Leeds", "Porto", "York"}
    assert kind(bank.get(f"{BANK}/facts", params={"attribute": "shoe size"}), 422) == "bad-input"


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_facts_are_listed_a_page_at_a_time_the_newest_of_an_attribute_first(bank: TestClient, limit: int) -> None:
    bank.post(f"{BANK}/lines", json={"text": "I'm allergic to figs.", "speaker": "Nora"}).raise_for_status()
    page = bank.get(f"{BANK}/facts", params={"limit": limit}).json()
    values = [fact["value"] for fact in page["items"]]
    while page["next"] is not None:
        page = bank.get(f"{BANK}/facts", params={"limit": limit, "after": page["next"]}).json()
        values += [fact["value"] for fact in page["items"]]
    assert values == ["Mia", "Porto", "figs", "peanuts", "York"]


def test_facts_and_ends_of_undated_lines_are_marked(bank: TestClient) -> None:
    line = {"text": "I moved to Graz in January.", "speaker": "Nora", "undated": True}
    bank.post(f"{BANK}/lines", json=line).raise_for_status()
    known = facts(bank, ended=True)
    assert (known["Graz"]["undated"], known["Graz"]["since"], known["Graz"]["since_stated"]) == (True, None, None)
    assert (known["York"]["undated"], known["York"]["until_undated"]) == (False, True)
    entities = {entity["name"]: entity for entity in bank.get(f"{BANK}/entities").json()["items"]}
    assert entities["Graz"]["first_at"] is None
    assert entities["York"]["first_at"] is not None


def test_what_held_at_a_time_and_what_was_known_by_then_differ(bank: TestClient) -> None:
    before = facts(bank, attribute="home", ended=True)["Leeds"]["until"]
    assert "York" in facts(bank, subject="Nora", as_of=before)
    assert facts(bank, known_at="2020-01-01T00:00:00Z") == {}


def test_profiles_and_entities_name_what_they_are(bank: TestClient) -> None:
    profile = bank.get(f"{BANK}/profile", params={"name": "Mia"}).json()
    assert profile["entity"]["relations"] == [["Nora", "sister"]]
    assert [fact["value"] for fact in profile["facts"]["home"]] == ["Porto"]
    assert bank.get(f"{BANK}/profile").json()["entity"]["name"] == "Nora"
    assert kind(bank.get(f"{BANK}/profile", params={"name": "Xaver"}), 404) == "not-found"
    names = [entity["name"] for entity in bank.get(f"{BANK}/entities").json()["items"]]
    assert {"Nora", "Mia", "Porto"} <= set(names)


def test_a_fact_is_confirmed_corrected_and_ended_once(bank: TestClient) -> None:
    known = facts(bank)
    once = {"Idempotency-Key": "once"}
    corrected = [
        bank.patch(f"{BANK}/facts/{known['Porto']['id']}", json={"value": "Lisbon"}, headers=once).json()
        for _ in range(2)
    ]
    assert corrected[0] == corrected[1]
    assert corrected[0]["writers"] == ["person"]
    confirmed = bank.post(f"{BANK}/facts/{known['peanuts']['id']}/confirm").json()
    assert (confirmed["value"], confirmed["confidence"]) == ("peanuts", 1)
    ended = bank.post(f"{BANK}/facts/{known['York']['id']}/end", json={}).json()
    assert ended["until"] is not None
    assert ended["can_resume"]
    assert list(facts(bank)) == ["Mia", "Lisbon", "peanuts"]
    assert bank.get(f"{BANK}/facts/{known['York']['id']}").json() == ended
    blank = bank.patch(f"{BANK}/facts/{known['Porto']['id']}", json={"value": " "})
    assert kind(blank, 422) == "bad-input"
    resumed = bank.post(f"{BANK}/facts/{known['York']['id']}/resume").json()
    assert (resumed["until"], resumed["writers"]) == (None, ["rules", "person"])
    assert [each["can_resume"] for each in facts(bank, ended=True).values()] == [False] * 5
    missing = bank.post(f"{BANK}/facts/99/end", json={"moment": "2024"})
    assert kind(missing, 404) == "not-found"
    no_moment = bank.post(f"{BANK}/facts/{known['Porto']['id']}/end", json={"moment": "soon"})
    assert kind(no_moment, 422) == "bad-input"


def test_a_fact_is_forgotten_alone_or_with_its_lines(bank: TestClient) -> None:
    known = facts(bank)
    alone = bank.delete(f"{BANK}/facts/{known['peanuts']['id']}").json()
    assert (alone["seqs"], alone["with_lines"]) == ([3], False)
    assert "peanuts" not in facts(bank, ended=True)
    assert bank.get(f"{BANK}/lines/3").status_code == 200
    bank.delete(f"{BANK}/facts/{known['Porto']['id']}", params={"with_lines": True}).raise_for_status()
    assert bank.get(f"{BANK}/lines/2").status_code == 404
    assert list(facts(bank)) == ["York"]


def test_two_of_one_name_are_split_and_merged(bank: TestClient) -> None:
    porto = facts(bank)["Porto"]
    apart = bank.post(f"{BANK}/entities/split", json={"name": "Mia", "statements": porto["statements"]}).json()
    assert bank.get(f"{BANK}/profile", params={"name": "Nora's sister"}).json()["facts"] == {}
    joined = bank.post(f"{BANK}/entities/merge", json={"name": "Nora's sister", "other": apart["name"]}).json()
    assert joined["name"] == "Mia"
    assert list(facts(bank, subject="Mia")) == ["Porto"]


def test_a_repeated_merge_or_split_returns_the_entity_that_it_returned_first(bank: TestClient) -> None:
    statement = facts(bank)["Mia"]["statements"]  # which names Nora, too
    split = {"name": "Mia", "statements": statement}
    first, repeated = (
        bank.post(f"{BANK}/entities/split", json=split, headers={"Idempotency-Key": "split"}).json() for _ in range(2)
    )
    assert repeated == first
    merge = {"name": "Nora's sister", "other": facts(bank)["Porto"]["subject"]}
    first, repeated = (
        bank.post(f"{BANK}/entities/merge", json=merge, headers={"Idempotency-Key": "merge"}).json() for _ in range(2)
    )
    assert repeated == first
    assert first["name"] == "Mia"
