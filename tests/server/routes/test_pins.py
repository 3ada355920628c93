"""Pins over HTTP."""

from __future__ import annotations

from fastapi.testclient import TestClient

BANK = "banks/alice"
PINS = f"{BANK}/pins"


def test_a_line_is_pinned_listed_and_unpinned(api: TestClient) -> None:
    api.post(f"{BANK}/lines", json={"text": "I am allergic to nuts."})
    assert api.put(f"{PINS}/1").json()["items"][0]["text"] == "I am allergic to nuts."
    assert [line["seq"] for line in api.get(PINS).json()["items"]] == [1]
    assert api.put(f"{PINS}/2").status_code == 404
    assert api.put(f"{PINS}/0").status_code == 404
    assert api.delete(f"{PINS}/1").json() == {"items": []}
    assert api.get("banks/bob/pins").status_code == 404


def test_a_line_that_is_corrected_or_edited_stays_pinned(api: TestClient) -> None:
    api.post(f"{BANK}/lines", json={"text": "I am allergic to nuts.", "session": "s"})
    api.post(f"{BANK}/lines", json={"text": "And to cats.", "session": "s"})
    api.put(f"{PINS}/1")
    assert api.patch(f"{BANK}/lines/1", json={"text": "I am allergic to bees."}).json()["seq"] == 3
    assert [line["text"] for line in api.get(PINS).json()["items"]] == ["I am allergic to bees."]
    api.patch(f"{BANK}/lines/2", json={"text": "And to dogs."})
    assert len(api.get(PINS).json()["items"]) == 1
    assert api.post(f"{BANK}/chat/s/edit", json={"seq": 3, "text": "I am allergic to wasps."}).status_code == 200
    assert [line["text"] for line in api.get(PINS).json()["items"]] == ["I am allergic to wasps."]
