"""Units and notes over HTTP."""

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from everthread.server.services import Services
from everthread.types import NewUnit, now
from server.problem import kind

BANK = "banks/alice%2Fnemo"
AT = datetime(2024, 5, 6, 20, tzinfo=UTC)


@pytest.fixture
def api_with_units(api_with_lines: TestClient, services: Services) -> TestClient:
    memory = services.get_memory("alice/nemo")
    memory.add_unit(NewUnit("fact", "Mia lives in Porto.", 1, 3, AT))
    memory.add_unit(NewUnit("note", "Ann has a sister.", 1, 3, AT))
    return api_with_lines


def test_units_are_listed_and_edited_by_hand(api_with_units: TestClient) -> None:
    edited = api_with_units.patch(f"{BANK}/units/fact/1", json={"text": "Mia lives in Lisbon."}).json()
    assert (edited["id"], edited["supersedes"]) == (2, 1)
    units = api_with_units.get(f"{BANK}/units").json()["items"]
    assert [(unit["kind"], unit["id"]) for unit in units] == [("fact", 1), ("fact", 2), ("note", 1)]
    assert api_with_units.get(f"{BANK}/units", params={"kind": "fact", "current": True}).json()["items"] == [edited]
    first = api_with_units.get(f"{BANK}/units", params={"limit": 2}).json()
    assert api_with_units.get(f"{BANK}/units", params={"after": first["next"]}).json()["items"] == units[2:]
    assert kind(api_with_units.patch(f"{BANK}/units/fact/1", json={"text": "No."}), 404) == "not-found"
    assert kind(api_with_units.patch(f"{BANK}/units/fact/2", json={"text": " "}), 422) == "bad-input"
    assert kind(api_with_units.patch(f"{BANK}/units/fact/0", json={"text": "No."}), 422) == "invalid-request"


def test_a_unit_is_forgotten_with_those_it_superseded(api_with_units: TestClient) -> None:
    api_with_units.patch(f"{BANK}/units/fact/1", json={"text": "Mia lives in Lisbon."})
    receipts = [
        api_with_units.delete(f"{BANK}/units/fact/2", headers={"Idempotency-Key": "k"}).json() for _ in range(2)
    ]
    assert receipts[0] == receipts[1]  # with the same time
    forgotten_at = datetime.fromisoformat(receipts[0].pop("forgotten_at"))
    assert abs(now() - forgotten_at) < timedelta(minutes=2)
    assert receipts[0] == {"kind": "fact", "id": 2, "earlier": [1]}
    assert [unit["kind"] for unit in api_with_units.get(f"{BANK}/units").json()["items"]] == ["note"]
    assert kind(api_with_units.delete(f"{BANK}/units/fact/2"), 404) == "not-found"


def test_the_notes_are_read_and_written(api_with_units: TestClient) -> None:
    assert api_with_units.get(f"{BANK}/notes").json() == {"text": "Ann has a sister.", "id": 1}
    assert api_with_units.put(f"{BANK}/notes", json={"text": "Ann has two."}).json() == {
        "text": "Ann has two.",
        "id": 2,
    }
    assert api_with_units.put(f"{BANK}/notes", json={"text": "Ann has two."}).json()["id"] == 2
    assert api_with_units.get(f"{BANK}/notes").json()["text"] == "Ann has two."


@pytest.mark.parametrize("blank", ["", "\t"])
def test_a_blank_text_removes_the_notes_for_good(api_with_units: TestClient, blank: str) -> None:
    api_with_units.put(f"{BANK}/notes", json={"text": "Ann has two."})
    for _ in range(2):
        assert api_with_units.put(f"{BANK}/notes", json={"text": blank}).json() == {"text": "", "id": None}
    assert api_with_units.get(f"{BANK}/notes").json() == {"text": "", "id": None}
    assert [unit["kind"] for unit in api_with_units.get(f"{BANK}/units").json()["items"]] == ["fact"]
    assert api_with_units.put(f"{BANK}/notes", json={"text": "Ann has three."}).json()["text"] == "Ann has three."


def test_a_bank_without_lines_has_no_notes(api: TestClient) -> None:
    api.put("banks/bob")
    assert api.get("banks/bob/notes").json() == {"text": "", "id": None}
    assert kind(api.put("banks/bob/notes", json={"text": "She likes tea."}), 422) == "bad-input"
