"""The banks of a person's characters over HTTP."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from fastapi.testclient import TestClient

from everthread.server import server_db
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.stores.sqlite.bank_file import file_name
from everthread.stores.sqlite.store import SQLiteStore
from server.problem import kind

VEY = {"name": "Captain Vey", "description": "A sailor."}
OWN = "banks/laura%2Fcaptain-vey"


def test_a_character_gets_a_bank_for_each_person_and_is_found_there_again(api: TestClient) -> None:
    api.put("banks/laura")
    api.patch("banks/laura/character", json={"person": "Laura"})
    api.put("characters/Captain Vey", json=VEY)
    given = api.put("banks/laura/characters/Captain Vey").json()
    assert given == {
        "id": "laura/captain-vey", "character": "Captain Vey", "person": "Laura", "lines": 0, "sessions": 0,
        "last_said_at": None,
    }  # fmt: skip
    api.post(f"{OWN}/lines", json={"text": "Ahoy."})
    api.put("characters/Captain Vey", json={**VEY, "description": "A pirate."})
    assert api.put(f"{OWN}/characters/Captain Vey").json()["lines"] == 1
    assert api.get(f"{OWN}/character").json()["description"] == "A sailor."
    assert api.put(f"{OWN}/characters/Ever").json()["id"] == "laura"
    both = [(bank["id"], bank["character"]) for bank in api.get(f"{OWN}/characters").json()["items"]]
    assert both == [("laura", "Ever"), ("laura/captain-vey", "Captain Vey")]
    assert api.get("banks/laura/characters").json() == api.get(f"{OWN}/characters").json()
    assert kind(api.put("banks/laura/characters/Nobody"), 404) == "not-found"
    assert kind(api.put("banks/ida/characters/Ever"), 404) == "not-found"
    api.put("characters/Laura", json={"name": "Laura"})
    assert kind(api.put("banks/laura/characters/Laura"), 422) == "bad-input"


def test_an_edit_in_the_gallery_changes_a_persons_chats_except_where_they_were_changed(api: TestClient) -> None:
    for person in ("laura", "ida"):
        api.put(f"banks/{person}")
        api.put("characters/Captain Vey", json={**VEY, "greeting": "Ahoy."})
        api.put(f"banks/{person}/characters/Captain Vey")
        api.post(f"banks/{person}%2Fcaptain-vey/lines", json={"text": "Ahoy."})
    api.patch(f"{OWN}/character", json={"description": "My sailor.", "person": "Laura"})
    edited = {"name": "Captain Vey", "description": "A pirate.", "greeting": "Arr!", "scenario": "A storm."}
    assert api.put("characters/Captain Vey?bank=laura", json=edited).json() == edited
    assert api.get(f"{OWN}/character").json() == edited | {"description": "My sailor.", "person": "Laura"}
    assert api.get("banks/ida%2Fcaptain-vey/character").json() == {**VEY, "greeting": "Ahoy."}
    refused = api.put("characters/Captain Vey?bank=laura", json={**edited, "nickname": "Laura"})
    assert kind(refused, 422) == "bad-input"
    assert api.get("characters/Captain Vey").json() == edited


def test_an_edit_in_the_gallery_that_a_bank_could_not_follow_can_be_repeated(
    api: TestClient, services: Services
) -> None:
    api.put("banks/laura")
    api.put("characters/Captain Vey", json=VEY)
    api.put("banks/laura/characters/Captain Vey")
    api.post(f"{OWN}/lines", json={"text": "Ahoy."})
    edited = {**VEY, "description": "A pirate."}
    assert isinstance(services.store, SQLiteStore)
    with closing(sqlite3.connect(services.store.folder / file_name("laura/captain-vey"))) as db:
        db.execute("CREATE TRIGGER refuse BEFORE INSERT ON setting BEGIN SELECT RAISE(FAIL, 'refused'); END")
        assert api.put("characters/Captain Vey?bank=laura", json=edited).status_code == 503
        assert api.get("characters/Captain Vey").json() == VEY
        db.execute("DROP TRIGGER refuse")
    assert api.put("characters/Captain Vey?bank=laura", json=edited).json() == edited
    assert api.get(f"{OWN}/character").json() == edited


def test_a_bank_that_was_only_opened_for_a_character_is_discarded_and_any_other_stays(
    api: TestClient, services: Services
) -> None:
    api.put("banks/laura")
    api.patch("banks/laura/character", json={"person": "Laura"})
    api.put("characters/Captain Vey", json=VEY)
    opened = "banks/laura/characters/Captain Vey"
    changes: list[tuple[str, str, dict[str, object]]] = [
        ("POST", f"{OWN}/lines", {"text": "Ahoy."}),
        ("PATCH", f"{OWN}/character", {"location": "On deck"}),
        ("PATCH", f"{OWN}/settings", {"remember": "always"}),
    ]
    for method, path, body in changes:
        api.put(opened)
        assert api.get(f"{OWN}/chat/current").status_code == 200
        assert api.delete(f"{OWN}/characters").status_code == 204
        assert not services.store.exists("laura/captain-vey")
        api.put(opened)
        api.request(method, path, json=body).raise_for_status()
        assert api.delete(f"{OWN}/characters").status_code == 204
        assert services.store.exists("laura/captain-vey"), path
        api.delete(OWN)
    assert api.delete("banks/laura/characters").status_code == 204
    assert services.store.exists("laura")
    reads = KeyStore(server_db.get_path(services.store))
    key = {"Authorization": f"Bearer {reads.create('reads', ['laura/*'], ['read', 'write', 'chat'])}"}
    reads.close()
    assert kind(api.delete(f"{OWN}/characters", headers=key), 403) == "forbidden"


def test_a_key_opens_only_the_characters_that_it_may_write_to(api: TestClient, services: Services) -> None:
    keys = KeyStore(server_db.get_path(services.store))
    one, all_below = (
        {"Authorization": f"Bearer {keys.create(name, banks)}"}
        for name, banks in (("one", ["laura"]), ("all", ["laura", "laura/*"]))
    )
    keys.close()
    api.put("banks/laura")
    api.put("characters/Captain Vey", json=VEY)
    assert kind(api.put("banks/laura/characters/Captain Vey", headers=one), 403) == "forbidden"
    assert not services.store.exists("laura/captain-vey")
    assert api.put("banks/laura/characters/Captain Vey", headers=all_below).status_code == 200
    assert [bank["id"] for bank in api.get("banks/laura/characters", headers=one).json()["items"]] == ["laura"]


def test_a_bank_shares_its_memories_only_with_readers_of_both(api: TestClient, services: Services) -> None:
    keys = KeyStore(server_db.get_path(services.store))
    own_only = {"Authorization": f"Bearer {keys.create('own', ['laura/captain-vey'])}"}
    keys.close()
    api.post("banks/laura/lines", json={"text": "I hid the gold in the barn."})
    api.put(OWN)
    assert kind(api.patch(f"{OWN}/settings", json={"recall_from": ["laura"]}, headers=own_only), 403) == "forbidden"
    assert kind(api.patch(f"{OWN}/settings", json={"recall_from": ["ida"]}), 404) == "not-found"
    shared = api.patch(f"{OWN}/settings", json={"recall_from": ["laura"]}).json()
    assert shared == {"remember": "ask", "recall_from": ["laura"]}
    question = {"text": "Where did I hide the gold?"}
    assert "barn" not in api.post(f"{OWN}/chat/current/reply", json=question, headers=own_only).text
    assert "barn" in api.post(f"{OWN}/chat/current/reply", json=question).text
    assert "barn" in api.post(f"{OWN}/chat/current/regenerate").text
    assert api.patch(f"{OWN}/settings", json={"recall_from": []}).json() == {"remember": "ask"}
    assert "barn" not in api.post(f"{OWN}/chat/current/reply", json=question).text


def test_a_forgotten_bank_is_no_longer_shared_even_if_it_is_created_again(api: TestClient) -> None:
    for bank in ("laura", "laura%2Fcook", "laura%2Fcaptain-vey", "laurel"):
        api.put(f"banks/{bank}")
    api.patch(f"{OWN}/settings", json={"recall_from": ["laura", "laura/cook"]})
    api.delete("banks/laura")
    api.put("banks/laura")
    assert api.get(f"{OWN}/settings").json()["recall_from"] == ["laura/cook"]
    api.delete("banks/laura%2Fcook")
    assert api.get(f"{OWN}/settings").json() == {"remember": "ask"}
