"""Banks over HTTP."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.problem import kind

BANK = "banks/alice%2Fnemo"


def test_banks_are_created_counted_and_listed(api_with_lines: TestClient) -> None:
    assert api_with_lines.put("banks/bob").json()["lines"] == 0
    assert api_with_lines.get(BANK).json()["lines"] == 4
    names = {"character": "Ever", "person": "user"}
    assert api_with_lines.get("banks").json()["items"] == [
        {"id": "alice/nemo", **names, "lines": 4, "sessions": 2, "last_said_at": "2024-07-01T09:00:00Z"},
        {"id": "bob", **names, "lines": 0, "sessions": 0, "last_said_at": None},
    ]
    first = api_with_lines.get("banks", params={"limit": 1}).json()
    assert [item["id"] for item in api_with_lines.get("banks", params={"after": first["next"]}).json()["items"]] == [
        "bob"
    ]


def test_a_damaged_bank_is_left_out_of_the_list_and_its_path_is_not_shown(
    api_with_lines: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "banks" / "carol.bank").write_bytes(b"no database " * 1000)
    assert [item["id"] for item in api_with_lines.get("banks").json()["items"]] == ["alice/nemo"]
    answer = api_with_lines.get("banks/carol")
    assert kind(answer, 500) == "bank-damaged"
    assert "carol.bank" not in answer.text


def test_a_bank_whose_file_cannot_be_opened_is_left_out_of_the_list(api_with_lines: TestClient, tmp_path: Path) -> None:
    (tmp_path / "banks" / "aaron.bank").mkdir()
    assert [item["id"] for item in api_with_lines.get("banks").json()["items"]] == ["alice/nemo"]
    assert kind(api_with_lines.get("banks/aaron"), 503) == "store-unavailable"


def test_reading_a_missing_bank_does_not_create_it(api: TestClient) -> None:
    for path in ("", "/settings", "/timeline", "/character", "/sessions", "/units", "/notes", "/export"):
        assert kind(api.get(f"banks/bob{path}"), 404) == "not-found"
    assert kind(api.patch("banks/bob/settings", json={"remember": "ask"}), 404) == "not-found"
    assert kind(api.delete("banks/bob"), 404) == "not-found"
    assert api.get("banks").json()["items"] == []


@pytest.mark.parametrize("bank", ["%20", "a%0Ab", "x" * 201])
def test_an_invalid_bank_id_is_rejected(api: TestClient, bank: str) -> None:
    assert kind(api.put(f"banks/{bank}"), 422) == "bad-bank-id"


def test_a_forgotten_bank_leaves_a_receipt_and_can_be_created_again(api_with_lines: TestClient) -> None:
    receipt = api_with_lines.delete(BANK).json()
    assert (receipt["bank"], receipt["scope"]) == (sha256(b"alice/nemo").hexdigest(), "bank")
    assert (receipt["seqs"], receipt["lines"]) == ([[1, 4]], 4)
    assert kind(api_with_lines.get(BANK), 404) == "not-found"
    assert api_with_lines.put(BANK).json()["lines"] == 0
    assert api_with_lines.get(BANK).status_code == 200


def test_only_the_persons_settings_are_shown_and_set(api_with_lines: TestClient) -> None:
    assert api_with_lines.get(f"{BANK}/settings").json() == {"remember": "ask"}
    assert api_with_lines.patch(f"{BANK}/settings", json={"remember": "never"}).json() == {"remember": "never"}
    api_with_lines.put(f"{BANK}/character", json={"name": "Nora"})
    assert api_with_lines.get(f"{BANK}/settings").json() == {"remember": "never"}
    for body in ({"remember": "perhaps"}, {"sample": 1}, {}):
        assert kind(api_with_lines.patch(f"{BANK}/settings", json=body), 422) == "invalid-request"


def test_the_timeline_counts_each_month(api_with_lines: TestClient) -> None:
    assert api_with_lines.get(f"{BANK}/timeline").json()["items"] == [
        {"month": "2024-05", "lines": 3, "sessions": 1},
        {"month": "2024-07", "lines": 1, "sessions": 1},
    ]


def test_a_bank_has_a_character_that_can_be_changed_in_part(api_with_lines: TestClient) -> None:
    assert api_with_lines.get(f"{BANK}/character").json()["name"] == "Ever"
    given = {"name": "Nora", "description": "A sailor.", "card": {"data": {"tags": ["sea"]}}}
    assert api_with_lines.put(f"{BANK}/character", json=given).json() == given
    changed = api_with_lines.patch(f"{BANK}/character", json={"location": "On deck", "person": "Ann"}).json()
    assert (
        changed == {**given, "location": "On deck", "person": "Ann"} == api_with_lines.get(f"{BANK}/character").json()
    )


@pytest.mark.parametrize("body", [{"name": ""}, {"name": "Nora", "mood": "grim"}, {"description": "Nobody."}])
def test_an_invalid_character_is_rejected(api_with_lines: TestClient, body: dict[str, Any]) -> None:
    assert kind(api_with_lines.put(f"{BANK}/character", json=body), 422) == "invalid-request"


def test_a_character_with_the_persons_name_is_rejected(api_with_lines: TestClient) -> None:
    assert kind(api_with_lines.put(f"{BANK}/character", json={"name": "Ann", "person": "ann"}), 422) == "bad-input"
    refused = api_with_lines.patch(f"{BANK}/character", json={"person": "Ever"})
    assert kind(refused, 422) == "bad-input"
    assert (refused.json()["reason"], refused.json()["values"]) == ("same-name", {"name": "Ever"})
