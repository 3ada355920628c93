"""Every route, requested with a key that does not permit it."""

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from everthread.server import server_db
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from server.problem import RAW, kind


@pytest.fixture
def keys(services: Services) -> Iterator[KeyStore]:
    keys = KeyStore(server_db.get_path(services.store))
    yield keys
    keys.close()


def test_a_key_for_one_bank_is_rejected_for_others_whether_they_exist_or_not(
    api_with_lines: TestClient, keys: KeyStore
) -> None:
    api_with_lines.put("banks/bob")
    key = {"Authorization": f"Bearer {keys.create('bob', ['bob'])}"}
    for path, operations in api_with_lines.get("openapi.json").json()["paths"].items():
        if "{bank}" not in path:
            continue
        rest = re.sub(r"\{seq\}|\{id\}", "1", path.removeprefix("/api/v1/")).replace("{kind}", "note")
        rest = re.sub(r"\{(?!bank)\w+\}", "one", rest)
        for method, operation in operations.items():
            types = operation.get("requestBody", {}).get("content", {"application/json": {}})
            headers = {**key, "Content-Type": next(iter(types))}
            existing, missing = (
                api_with_lines.request(method, rest.replace("{bank}", bank), headers=headers)
                for bank in ("alice%2Fnemo", "carol")
            )
            assert kind(existing, 403) == "forbidden", (method, path)
            assert existing.content == missing.content, (method, path)
    assert api_with_lines.get("banks/alice%2Fnemo").json()["lines"] == 4


def test_a_key_for_one_bank_sees_no_other(api_with_lines: TestClient, keys: KeyStore) -> None:
    api_with_lines.post("banks/bob/lines", json={"text": "Ferns."})
    key = {"Authorization": f"Bearer {keys.create('bob', ['bob'])}"}
    assert [item["id"] for item in api_with_lines.get("banks", headers=key).json()["items"]] == ["bob"]
    for other in ("alice/nemo", "carol"):
        query = {"query": "Lisbon", "banks": ["bob", other]}
        for route in ("recall", "context"):
            assert kind(api_with_lines.post(f"banks/bob/{route}", json=query, headers=key), 403) == "forbidden"
        for route, body in (("reply", {"text": "Lisbon?"}), ("answer", {}), ("regenerate", {})):
            with_bank = {**body, "options": {"banks": [other]}}
            answer = api_with_lines.post(f"banks/bob/chat/one/{route}", json=with_bank, headers=key)
            assert kind(answer, 403) == "forbidden"
    assert api_with_lines.get("banks/bob").json()["lines"] == 1


def test_characters_are_readable_with_chat_and_writable_with_full_permission(
    api_with_lines: TestClient, keys: KeyStore
) -> None:
    chats = {"Authorization": f"Bearer {keys.create('chats', ['bob'], ['chat'])}"}
    reads = {"Authorization": f"Bearer {keys.create('reads', ['bob'], ['read'])}"}
    assert api_with_lines.get("characters", headers=chats).status_code == 200
    assert kind(api_with_lines.get("characters", headers=reads), 403) == "forbidden"
    for answer in (
        api_with_lines.put("characters/Nora", json={"name": "Nora"}, headers=chats),
        api_with_lines.delete("characters/Nora", headers=chats),
        api_with_lines.post("characters", content=b"{}", headers={**chats, **RAW}),
    ):
        assert kind(answer, 403) == "forbidden"


def test_a_key_without_forget_can_forget_only_the_current_conversation(
    api_with_lines: TestClient, keys: KeyStore
) -> None:
    chats = {"Authorization": f"Bearer {keys.create('chats', ['alice/*'], ['chat'])}"}
    forget = {"remember": False}
    assert kind(api_with_lines.post("banks/alice%2Fnemo/chat/one/end", json=forget, headers=chats), 403) == "forbidden"
    assert api_with_lines.get("banks/alice%2Fnemo").json()["lines"] == 4
    api_with_lines.post("banks/alice%2Fnemo/chat/current/reply", json={"text": "Not this."}, headers=chats)
    ending = api_with_lines.post("banks/alice%2Fnemo/chat/current/end", json=forget, headers=chats).json()
    assert ending["receipt"]["lines"] == 1
    assert api_with_lines.post("banks/alice%2Fnemo/chat/one/end", json=forget).json()["receipt"]["lines"] == 3


def test_a_key_without_forget_can_write_notes_but_not_remove_them(api_with_lines: TestClient, keys: KeyStore) -> None:
    writes = {"Authorization": f"Bearer {keys.create('writes', ['alice/*'], ['write'])}"}
    notes = "banks/alice%2Fnemo/notes"
    assert api_with_lines.put(notes, json={"text": "Ann has a sister."}, headers=writes).status_code == 200
    assert kind(api_with_lines.put(notes, json={"text": " "}, headers=writes), 403) == "forbidden"
    assert api_with_lines.get(notes).json()["text"] == "Ann has a sister."


def test_a_key_with_only_chat_can_not_change_the_recipe(api_with_lines: TestClient, keys: KeyStore) -> None:
    chats = {"Authorization": f"Bearer {keys.create('chats', ['alice/*'], ['chat'])}"}
    with_recipe = {"options": {"recipe": "emi"}}
    for route, body in (
        ("reply", {"text": "Hello."}),
        ("answer", {}),
        ("regenerate", {}),
        ("edit", {"seq": 1, "text": "x"}),
    ):
        answer = api_with_lines.post(f"banks/alice%2Fnemo/chat/one/{route}", json=body | with_recipe, headers=chats)
        assert kind(answer, 403) == "forbidden"
    assert api_with_lines.get("banks/alice%2Fnemo/recipe").json()["name"] == "default"
