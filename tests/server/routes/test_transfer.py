"""Import and export over HTTP."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hardship import PATIENCE
from transfer.services.chatgpt_export import conversation, node, save_zip
from transfer.services.messenger_exports import discord_export, discord_message, to_json

from everthread.server.routes import transfer
from everthread.server.services import Services
from server.problem import RAW, kind

BANK = "banks/alice%2Fnemo"


def test_an_export_is_read_back_into_another_bank(api_with_lines: TestClient) -> None:
    api_with_lines.post(f"{BANK}/lines/4/retract")
    session = api_with_lines.get(f"{BANK}/lines").json()["items"][0]["session"]
    label = {"title": "Lisbon", "metadata": {"source": "desk"}}
    api_with_lines.patch(f"{BANK}/sessions/{session}", json=label)
    export = api_with_lines.get(f"{BANK}/export", params={"retracted": True})
    assert export.headers["content-type"].startswith("application/x-ndjson")
    _, first, *rows = map(json.loads, export.text.splitlines())
    assert first == {"session": session, **label}
    assert [row["seq"] for row in rows] == [1, 2, 3, 4]
    assert len(api_with_lines.get(f"{BANK}/export").text.splitlines()) == 2 + 3
    answer = api_with_lines.post("banks/bob/import", params={"name": "talk.jsonl"}, content=export.content, headers=RAW)
    assert answer.json() == {
        "read": 4,
        "added": 4,
        "seqs": [],
        "skipped": {},
        "lines": 3,
        "broken": {},
        "units": 0,
        "ambiguous_dates": {},
    }
    again = api_with_lines.post("banks/bob/import", params={"name": "talk.jsonl"}, content=export.content, headers=RAW)
    assert again.json() == {
        "read": 4,
        "added": 0,
        "seqs": [],
        "skipped": {},
        "lines": 3,
        "broken": {},
        "units": 0,
        "ambiguous_dates": {},
    }
    assert api_with_lines.get("banks/bob/export").text.count("Mia moved to Lisbon") == 1
    sessions = api_with_lines.get("banks/bob/sessions").json()["items"]
    assert [each["title"] for each in sessions if each["id"] == session] == ["Lisbon"]


def test_a_bank_is_exported_in_other_formats_and_each_session_as_a_file_of_an_archive(
    api_with_lines: TestClient,
) -> None:
    page = api_with_lines.get(f"{BANK}/export", params={"format": "html", "session": "one"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-disposition"] == "attachment"
    assert "Mia moved to Lisbon" in page.text
    archive = api_with_lines.get(f"{BANK}/export", params={"format": "markdown", "zip": True})
    assert archive.headers["content-type"] == "application/zip"
    with ZipFile(io.BytesIO(archive.content)) as opened:
        texts = [opened.read(name).decode() for name in opened.namelist()]
    assert (len(texts), sum("Mia moved to Lisbon" in text for text in texts)) == (2, 1)
    for refused in ("format=pdf", "zip=true", "format=markdown&zip=true&session=one"):
        assert kind(api_with_lines.get(f"{BANK}/export?{refused}"), 422) == "bad-query"
    assert kind(api_with_lines.get(f"{BANK}/export?session=none"), 404) == "not-found"


def test_a_chat_without_a_name_of_its_own_is_named_after_the_file(api: TestClient) -> None:
    day = json.dumps([{"type": "message", "user": "U1", "ts": "1717228860.000100", "text": "The fern grows."}])
    given = {"params": {"name": "garden.json"}, "content": day.encode(), "headers": RAW}
    assert [api.post("banks/bob/import", **given).json()["added"] for _ in range(2)] == [1, 0]  # type: ignore[arg-type]
    assert [each["id"] for each in api.get("banks/bob/sessions").json()["items"]] == ["slack:garden"]


def test_a_file_is_read_in_the_requested_format(api: TestClient) -> None:
    text = "Ann: My sister Mia moved to Lisbon.\nNora: How exciting!\n"
    given: dict[str, Any] = {"name": "talk.txt", "format": "transcript", "assistant": "Nora", "tz": "Europe/Berlin"}
    assert api.post("banks/bob/import", params=given, content=text.encode(), headers=RAW).json()["added"] == 2
    assert [line["role"] for line in api.get("banks/bob/lines").json()["items"]] == ["user", "assistant"]
    assert api.get("banks/bob/sessions").json()["items"][0]["id"].startswith("talk-")


@pytest.mark.parametrize(
    ("given", "content", "problem"),
    [
        ({"name": "talk.jsonl"}, b"", "bad-file"),
        ({"name": "talk.jsonl"}, b'{"text": ""}', "bad-file"),
        ({"name": "talk.jsonl"}, b"\xff", "bad-file"),
        ({"name": "talk.json"}, b"{}", "config-error"),
        ({"name": "talk.jsonl", "format": "tarot"}, b"{}", "config-error"),
        ({"name": "talk.jsonl", "tz": "Europe"}, b'{"text": "a"}', "config-error"),
        ({"name": "talk.jsonl", "assistant": "Nora"}, b'{"text": "a"}', "config-error"),
        ({"name": ""}, b"a", "invalid-request"),
    ],
)
def test_an_unreadable_file_is_rejected(api: TestClient, given: dict[str, str], content: bytes, problem: str) -> None:
    answer = api.post("banks/bob/import", params=given, content=content, headers=RAW)
    assert kind(answer, 422) == problem
    assert "everthread-" not in answer.text


@pytest.mark.parametrize(("name", "content"), [("what.json", b'{"soups": []}'), ("what.txt", b'{"soups": []}')])
def test_a_file_of_an_unknown_format_is_refused_with_the_parts_of_its_problem(
    api: TestClient, name: str, content: bytes
) -> None:
    problem = api.post("banks/bob/import", params={"name": name}, content=content, headers=RAW).json()
    remedy = problem["remedy"].replace("{option}", "?format=")
    assert problem["detail"] == f"{name}: {problem['message']}; {remedy}"
    assert (problem["path"], problem["option"]) == (name, "format")
    assert "{option}" in problem["remedy"]
    assert "format=" not in problem["message"]
    named = api.post("banks/bob/import", params={"name": name, "format": "tarot"}, content=content, headers=RAW).json()
    assert not {"path", "message", "remedy", "option"} & named.keys()


def test_a_key_that_the_bank_has_for_another_text_stops_the_import(api: TestClient) -> None:
    api.post("banks/bob/lines", json={"text": "One.", "key": "k"})
    rows = b'{"text": "Two.", "key": "j"}\n{"text": "Three.", "key": "k"}'
    answer = api.post("banks/bob/import", params={"name": "talk.jsonl"}, content=rows, headers=RAW)
    assert kind(answer, 422) == "bad-file"
    assert "talk.jsonl, line 2" in answer.json()["detail"]
    assert len(api.get("banks/bob/lines").json()["items"]) == 1


def test_a_file_is_imported_into_a_bank_with_a_slash_in_its_id(api_with_lines: TestClient) -> None:
    answer = api_with_lines.post(
        f"{BANK}/import", params={"name": "a.jsonl"}, content=b'{"text": "Ferns."}', headers=RAW
    )
    assert (answer.status_code, answer.json()["added"]) == (200, 1)
    large = b'{"text": "' + b"x" * 3_000_000 + b'"}\n'
    answer = api_with_lines.post(f"{BANK}/import", params={"name": "b.jsonl"}, content=large * 2, headers=RAW)
    assert (answer.status_code, answer.json()["read"]) == (200, 2)
    assert kind(api_with_lines.request("DELETE", "banks/x%2Fimport", content=b"{}", headers=RAW), 415) == "wrong-type"


def test_an_export_is_imported_by_its_content_type(api_with_lines: TestClient) -> None:
    export = api_with_lines.get(f"{BANK}/export")
    sent = {"Content-Type": export.headers["content-type"]}
    assert api_with_lines.post("banks/bob/import", content=export.content, headers=sent).json()["added"] == 4


def test_chats_in_an_archive_that_are_not_read_are_named(api: TestClient, tmp_path: Path) -> None:
    channel = to_json(discord_export([discord_message(1)]))
    files = {"channel.json": channel, "chat.md": b"Ann: Hi\nBob: Hello\n"}
    content = save_zip(tmp_path / "all.zip", files).read_bytes()
    given: dict[str, Any] = {"content": content, "headers": {"Content-Type": "application/zip"}}
    reason = "beside exports, a transcript is not read; import it by itself"
    assert api.post("banks/bob/import/preview", **given).json()["broken"] == {"chat.md": reason}
    done = api.post("banks/bob/import", **given).json()
    assert (done["read"], done["broken"]) == (1, {"chat.md": reason})


def test_a_large_export_of_a_service_is_embedded_after_the_response(
    api: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MAX_LINES_EMBEDDED_AT_ONCE", 1)
    talk = conversation("cats", [node("purr", None), node("meow", "purr", "assistant")], "meow")
    content = save_zip(tmp_path / "export.zip", {"conversations.json": [talk]}).read_bytes()
    given: dict[str, Any] = {"content": content, "headers": {"Content-Type": "application/zip"}}
    assert api.post("banks/bob/import/preview", **given).json()["services"] == ["ChatGPT"]
    assert kind(api.get("banks/bob"), 404) == "not-found"
    assert api.post("banks/bob/import", **given).json()["added"] == 2
    assert cast("FastAPI", api.app).state.services.vectors.join(PATIENCE)
    assert api.get("banks/bob").json()["pending"] == 0


def test_an_import_does_not_create_a_bank_again_that_is_forgotten_while_the_file_arrives(
    api_with_lines: TestClient, services: Services
) -> None:
    def send() -> Iterator[bytes]:
        yield b"Ann: The garden needs water.\n"
        services.get_memory("alice/nemo").forget(everything=True)
        yield b"Bob: I'll see to it.\n"

    answer = api_with_lines.post(f"{BANK}/import", params={"name": "talk.txt"}, content=send(), headers=RAW)
    assert kind(answer, 404) == "not-found"
    assert not services.store.exists("alice/nemo")
