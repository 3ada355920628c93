"""Characters over HTTP."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from everthread.chat import card, character_library, png_text
from everthread.chat.character import Character
from server.problem import RAW, kind

NORA: dict[str, Any] = {"name": "Nora", "description": "A sailor.", "greeting": "Ahoy, {{user}}!"}


def test_the_gallery_lists_the_builtin_and_the_created_characters(api: TestClient) -> None:
    assert [item["builtin"] for item in api.get("characters").json()["items"]] == [True]
    assert api.put("characters/Nora", json=NORA).json() == NORA == api.get("characters/Nora").json()
    ever, nora = api.get("characters").json()["items"]
    assert nora == {"name": "Nora", "description": "A sailor.", "has_picture": False, "builtin": False}
    first = api.get("characters", params={"limit": 1}).json()
    assert first["items"] == [ever]
    assert api.get("characters", params={"after": first["next"]}).json()["items"] == [nora]
    assert api.delete("characters/Nora").status_code == 204
    assert kind(api.get("characters/Nora"), 404) == "not-found"
    assert kind(api.delete("characters/Nora"), 404) == "not-found"


def test_the_builtin_character_can_be_replaced(api: TestClient) -> None:
    assert api.get("characters/Ever").json()["name"] == "Ever"
    api.put("characters/Ever", json={"name": "Ever", "description": "Another."})
    assert api.get("characters").json()["items"][0]["builtin"] is False
    assert api.delete("characters/Ever").status_code == 204
    assert kind(api.delete("characters/Ever"), 404) == "not-found"


def test_a_card_is_imported_once_and_exported(api: TestClient) -> None:
    raw = json.dumps(card.to_card(Character(**NORA))).encode()
    assert api.post("characters", content=raw, headers=RAW).json() == NORA
    assert kind(api.post("characters", content=raw, headers=RAW), 422) == "bad-input"
    assert api.post("characters", params={"replace": True}, content=raw, headers=RAW).status_code == 201
    exported = api.get("characters/Nora/card")
    assert exported.headers["content-disposition"] == "attachment; filename*=UTF-8''Nora.json"
    assert card.from_card(exported.json()) == Character(**NORA)
    assert kind(api.get("characters/Nora/picture"), 404) == "not-found"


def test_a_card_of_a_known_name_is_kept_beside_the_other(api: TestClient) -> None:
    raw = json.dumps(card.to_card(Character(**NORA))).encode()
    headers = {**RAW, "Idempotency-Key": "once"}
    renamed = {"rename": True}
    names = [api.post("characters", params=renamed, content=raw, headers=RAW).json()["name"] for _ in range(2)]
    assert names == ["Nora", "Nora 2"]
    again = [api.post("characters", params=renamed, content=raw, headers=headers).json()["name"] for _ in range(2)]
    assert again == ["Nora 3", "Nora 3"]
    picture = api.get("characters/Nora/card", params={"format": "png"}).content
    assert api.post("characters", params=renamed, content=picture, headers=RAW).json()["name"] == "Nora 4"
    assert [item["has_picture"] for item in api.get("characters").json()["items"]] == [False] * 4 + [True]
    assert api.get("characters/Nora 4").json() == NORA | {"name": "Nora 4"}


def test_a_picture_is_served_without_its_card(api: TestClient) -> None:
    character_library.save(Character(**NORA))
    raw = api.get("characters/Nora/card", params={"format": "png"}).content
    assert api.post("characters", params={"replace": True}, content=raw, headers=RAW).status_code == 201
    assert api.get("characters").json()["items"][1]["has_picture"] is True
    picture = api.get("characters/Nora/picture")
    assert picture.headers["content-type"] == "image/png"
    assert png_text.is_png(picture.content)
    assert b"chara" not in picture.content
    assert b"chara" in api.get("characters/Nora/card", params={"format": "png"}).content
    assert api.get("characters/Ever/card", params={"format": "png"}).status_code == 200


def test_a_character_is_given_a_picture(api: TestClient) -> None:
    api.put("characters/Nora", json=NORA)
    picture = png_text.build_plain_picture()
    assert api.put("characters/Nora/picture", content=picture, headers=RAW).status_code == 204
    assert api.get("characters/Nora/picture").content == picture
    assert api.get("characters/Nora").json() == NORA
    for content in (b"", b"GIF89a", picture[:-20]):
        answer = api.put("characters/Nora/picture", content=content, headers=RAW)
        assert kind(answer, 422) == "bad-file"
        assert "the picture" in answer.json()["detail"]
    assert kind(api.put("characters/Nora/picture", content=bytes(8_000_001), headers=RAW), 413) == "too-large"
    as_text = api.put("characters/Nora/picture", content=picture, headers={"Content-Type": "text/plain"})
    assert as_text.status_code == 415
    assert api.get("characters/Nora/picture").content == picture
    assert kind(api.put("characters/Nobody/picture", content=picture, headers=RAW), 404) == "not-found"


@pytest.mark.parametrize("content", [b"", b"{}", b"[", b"\x89PNG\r\n\x1a\nnot", b"\xff\xfe", b'{"name": ""}'])
def test_a_file_that_is_not_a_card_is_rejected(api: TestClient, content: bytes) -> None:
    answer = api.post("characters", content=content, headers=RAW)
    assert kind(answer, 422) == "bad-file"
    assert "everthread-" not in answer.text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (png_text.build_plain_picture(), "no-card"),
        (json.dumps({"name": "N" * 500}).encode(), "long-name"),
        (json.dumps({"spec": "chara_card_v3", "data": {"name": "Nora", "tags": 5}}).encode(), None),
        (b"[", "damaged-file"),
    ],
)
def test_only_a_picture_without_a_card_is_said_to_have_none(
    api: TestClient, content: bytes, reason: str | None
) -> None:
    document = api.post("characters", content=content, headers=RAW).json()
    assert document["type"] == "urn:everthread:bad-file"
    assert document.get("reason") == reason


def test_a_card_of_more_than_eight_megabytes_is_rejected(api: TestClient) -> None:
    assert kind(api.post("characters", content=bytes(8_000_001), headers=RAW), 413) == "too-large"


def test_different_names_in_path_and_body_are_rejected(api: TestClient) -> None:
    assert kind(api.put("characters/Nemo", json=NORA), 422) == "bad-input"
    assert kind(api.put("characters/Nora", json={**NORA, "person": "Nora"}), 422) == "bad-input"
    assert kind(api.put("characters/Nora", json={"name": "Nora", "mood": 1}), 422) == "invalid-request"


@pytest.mark.parametrize("part", ["", "/card", "/picture"])
@pytest.mark.parametrize("form", ["{path}", "..%2Fbanks%2Falice.json", "%2Fetc%2Fpasswd.json", ".."])
def test_a_path_is_not_accepted_as_a_character(api: TestClient, tmp_path: Any, form: str, part: str) -> None:
    file = tmp_path / "card.json"
    card.write(Character(**NORA), file)
    name = form.replace("{path}", str(file).replace("/", "%2F"))
    assert api.get(f"characters/{name}{part}").status_code == 404


def test_a_damaged_card_does_not_hide_other_characters(api: TestClient) -> None:
    character_library.save(Character(**NORA))
    (character_library.library_folder() / "nemo.json").write_text("{")
    assert [item["name"] for item in api.get("characters").json()["items"]] == ["Ever", "Nora"]
    answer = api.get("characters/nemo")
    assert kind(answer, 422) == "bad-file"
    assert str(character_library.library_folder()) not in answer.text
