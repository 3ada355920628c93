"""Imports of files that were previewed, over HTTP."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hardship import PATIENCE

from everthread import NewLine
from everthread.memory import BATCH_LINES
from everthread.server import kept_uploads
from everthread.server.services import Services
from server.problem import RAW, kind

BANK = "banks/alice%2Fnemo"
ID = "0123456789abcdef" * 2
AT = "2024-05-01T1{}:00:00+00:00"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of kept files, which no other test uses."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def channel(name: str, *texts: str) -> dict[str, Any]:
    """Return a channel as DiscordChatExporter writes it, in which two people and a bot speak in turn."""
    authors = [
        {"id": str(n), "name": who, "isBot": who == "helper"} for n, who in enumerate(("nora_k", "ben", "helper"))
    ]
    messages = [
        {"id": f"{name}{n}", "type": "Default", "timestamp": AT.format(n), "content": text, "author": authors[n % 3]}
        for n, text in enumerate(texts)
    ]
    return {
        "guild": {"id": "1", "name": "Home"},
        "channel": {"id": name, "name": name},
        "messages": messages,
        "messageCount": len(messages),
    }


def preview(api: TestClient, content: object, name: str = "kites.json", **query: str) -> Any:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    params = {"name": name, "keep": ID, **query}
    return api.post(f"{BANK}/import/preview", params=params, content=data, headers=RAW)


def events(api: TestClient, **body: object) -> list[tuple[str, dict[str, Any]]]:
    """Import the kept file; return its events."""
    response = api.post(f"{BANK}/import/{ID}", json={"name": "kites.json", **body})
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.splitlines() for block in response.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_a_previewed_file_is_imported_with_the_chosen_names_and_then_removed(api: TestClient, folder: Path) -> None:
    contents = preview(api, channel("kites", "The red one flew.", "Far?", "Very far.")).json()
    assert (contents["services"], contents["messages"]) == (["Discord"], 3)
    assert [path.stat().st_mode & 0o777 for path in folder.glob(f"{kept_uploads.FOLDER_PREFIX}*")] == [0o700]
    assert api.get(f"{BANK}/lines").status_code == 404  # nothing is stored
    names = {"speakers": {"nora_k": "Nora"}, "assistants": ["ben"]}
    found = events(api, sessions=[contents["conversations"][0]["id"]], **names)
    assert [name for name, _ in found] == ["progress", "progress", "stored", "embedding", "embedding", "done"]
    assert [found[1][1], found[4][1]] == [{"done": 3, "total": 3}] * 2
    assert {name: found[2][1][name] for name in ("added", "new", "lines")} == {"added": 3, "new": 3, "lines": 3}
    lines = api.get(f"{BANK}/lines").json()["items"]
    assert [(line["speaker"], line["role"]) for line in lines] == [
        ("Nora", "user"),
        ("ben", "assistant"),
        ("helper", "assistant"),
    ]
    assert not list(folder.iterdir())
    assert events(api)[-1][1]["type"] == "urn:everthread:upload-gone"
    preview(api, channel("kites", "The red one flew.", "Far?", "Very far."))
    assert [data["new"] for name, data in events(api, **names) if name == "stored"] == [0]


def test_an_import_is_undone_by_the_numbers_of_its_lines_and_leaves_what_the_bank_had_before(api: TestClient) -> None:
    preview(api, channel("kites", "The red one flew."))
    events(api)
    api.post(f"{BANK}/lines", json={"text": "I have a green kite."})
    preview(api, channel("kites", "The blue one flew.", "Far?", "Very far."))  # the first message was edited
    (stored,) = [data for name, data in events(api) if name == "stored"]
    assert stored["seqs"] == [[3, 4]]
    receipt = api.post(f"{BANK}/lines/forget", json={"seqs": stored["seqs"]})
    assert (receipt.status_code, receipt.json()["lines"], receipt.json()["seqs"]) == (200, 2, [[3, 4]])
    assert [line["text"] for line in api.get(f"{BANK}/lines").json()["items"]] == [
        "I have a green kite.",
        "The blue one flew.",
    ]


def test_conversations_that_are_not_chosen_are_left_out(api: TestClient) -> None:
    rows = [{"text": f"{name} flew.", "session": name, "said_at": AT.format(0)} for name in ("red", "blue")]
    file = "\n".join(map(json.dumps, rows)).encode()
    preview(api, file, "kites.jsonl")
    assert events(api, sessions=["blue"])[0][1]["total"] == 1
    assert [line["text"] for line in api.get(f"{BANK}/lines").json()["items"]] == ["blue flew."]


def test_lines_that_were_imported_under_the_names_of_the_file_keep_them(api: TestClient) -> None:
    for text, names, new in (("Ann: Hi!\n", {}, 1), ("Ann: Hi!\nAnn: Bye!\n", {"Ann": "Nora"}, 1)):
        preview(api, text.encode(), "talk.txt")
        assert [data["new"] for name, data in events(api, speakers=names) if name == "stored"] == [new]
    assert [line["speaker"] for line in api.get(f"{BANK}/lines").json()["items"]] == ["Ann", "Nora"]


def test_a_file_that_others_follow_is_embedded_in_the_background_and_so_is_what_a_failed_import_has_stored(
    api: TestClient, services: Services
) -> None:
    preview(api, b"Ann: Hi!\n", "talk.txt")
    assert [name for name, _ in events(api, embed=False)] == ["progress", "progress", "stored", "done"]
    assert services.vectors.join(PATIENCE)
    memory = services.get_memory("alice/nemo")
    assert (memory.stats().lines, memory.stats().pending) == (1, 0)
    memory.backlog.discard(memory.replace_lines((), [NewLine("One.")], defer_embedding=True))
    assert events(api)[-1][1]["type"] == "urn:everthread:upload-gone"
    assert services.vectors.join(PATIENCE)
    assert (memory.stats().lines, memory.stats().pending) == (2, 0)


def test_an_upload_whose_sender_goes_away_while_it_is_read_is_not_kept(api: TestClient, folder: Path) -> None:
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    path = f"/api/v1/{BANK}/import/preview"
    headers = [(b"host", b"127.0.0.1:7391"), (b"content-type", b"application/octet-stream")]
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "headers": headers,
    }
    scope |= {"path": path, "raw_path": path.encode(), "query_string": f"name=a.jsonl&keep={ID}".encode()}
    assert api.portal is not None
    line = b'{"text": "Hi!"}\n'
    for text in (line, line * BATCH_LINES + b"{"):
        messages = iter([{"type": "http.request", "body": text, "more_body": False}])

        async def receive(messages: Iterator[Any] = messages) -> Any:
            return next(messages, {"type": "http.disconnect"})

        api.portal.call(api.app, scope, receive, send)
        assert sent[-2]["status"] == 499  # not 422: the damaged end was not read
        assert not list(folder.iterdir())


def test_an_upload_belongs_to_its_caller_and_bank_and_makes_room_expires_or_is_discarded(
    api: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {"messages": [{"role": "user", "content": "Hello."}]}
    assert preview(api, text).status_code == 200
    other = api.post(f"banks/ben/import/{ID}", json={"name": "kites.json"})
    assert "upload-gone" in other.text
    assert preview(api, text, keep="f" * 32).status_code == 200
    assert len(list(folder.iterdir())) == 2
    for name, limit in (("MAX_KEPT_FILES", 2), ("MAX_KEPT_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(kept_uploads, name, limit)
            assert preview(api, text, keep="e" * 32).status_code == 200  # in place of the oldest
    assert len(list(folder.iterdir())) == 1
    assert api.delete(f"{BANK}/import/{'e' * 32}").status_code == 204
    assert not list(folder.iterdir())
    assert preview(api, text).status_code == 200
    kept_uploads.remove_expired()
    (kept,) = folder.iterdir()
    os.utime(kept, (time.time() - kept_uploads.KEPT_S - 1,) * 2)
    kept_uploads.remove_expired()
    assert not list(folder.iterdir())
    assert kind(preview(api, text, keep="../x"), 422) == "invalid-request"
    assert kind(preview(api, b"\x00\xff", "x.bin"), 422) == "bad-file"
    assert not list(folder.iterdir())


def test_a_kept_upload_is_removed_when_its_bank_is_forgotten_and_no_other(api: TestClient, folder: Path) -> None:
    for bank in (BANK, "banks/alice"):
        params = {"name": "talk.txt", "keep": ID}
        assert api.post(f"{bank}/import/preview", params=params, content=b"Ann: Hello!", headers=RAW).status_code == 200
        api.put(bank)
    assert api.delete(BANK).status_code == 200
    assert "upload-gone" in api.post(f"{BANK}/import/{ID}", json={"name": "talk.txt"}).text
    assert [path.read_text() for path in folder.rglob("*.txt")] == ["Ann: Hello!"]


def test_an_error_of_an_import_is_its_last_event(api: TestClient) -> None:
    preview(api, {"messages": [{"role": "user", "content": "Hello."}]})
    assert kind(api.post(f"{BANK}/import/{ID}", json={"name": "a.json", "tz": "Moon"}), 422) == "config-error"
    (kept,) = (path for folder in Path(tempfile.gettempdir()).iterdir() for path in folder.glob("*.json"))
    kept.write_text("{")
    ((name, problem),) = events(api)
    assert (name, problem["type"], problem["path"]) == ("error", "urn:everthread:bad-file", "kites.json")
    assert "everthread-kept" not in json.dumps(problem)
