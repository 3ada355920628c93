from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from everthread.types import NewLine
from transfer.services.chatgpt_export import START, conversation, node, root, save_zip

BEGIN = datetime.fromtimestamp(START, UTC)


def lines_of(tmp_path: Path, *conversations: object, **options: Any) -> list[NewLine]:
    return list(check_file(save_zip(tmp_path / "export.zip", {"conversations.json": conversations}), **options).read())


def test_a_line_is_known_by_service_conversation_and_message(tmp_path: Path) -> None:
    talk = conversation("cats", [root(), node("a", "root"), node("b", "a", "assistant")], "b")
    first, second = lines_of(tmp_path, talk)
    assert (first.key, first.session, first.parent) == ("chatgpt:cats:a", "cats", None)
    assert (second.key, second.session, second.parent) == ("chatgpt:cats:b", "cats", first.key)
    long = conversation("c" * 300, [node("a", None)], "a")
    (line,) = lines_of(tmp_path, long)
    assert (len(line.key or ""), len(line.session or "")) == (64, 64)


def test_messages_that_are_not_shown_become_retracted_lines_in_their_place(tmp_path: Path) -> None:
    nodes = [node("ask", None), node("old", "ask", "assistant", START + 1), node("new", "ask", "assistant", START + 2)]
    lines = lines_of(tmp_path, conversation("cats", nodes, "new"))
    assert [(line.text, line.parent, line.retracted_at) for line in lines] == [
        ("ask", None, None),
        ("old", "chatgpt:cats:ask", BEGIN + timedelta(seconds=1)),
        ("new", "chatgpt:cats:ask", None),
    ]


def test_a_message_without_a_time_is_dated_after_its_parent_or_with_the_conversation(tmp_path: Path) -> None:
    nodes = [node("a", None, said_at=None), node("b", "a", said_at=None), node("c", "b", said_at=START - 5)]
    times = [line.said_at for line in lines_of(tmp_path, conversation("cats", nodes, "c"))]
    assert times == [BEGIN, BEGIN + timedelta(microseconds=1), BEGIN - timedelta(seconds=5)]
    undated = lines_of(tmp_path, conversation("cats", nodes[:2], "b", create_time=None))
    assert [(line.said_at, line.undated) for line in undated] == [(None, True), (None, True)]


def test_the_user_and_the_assistant_get_the_names_that_they_go_by(tmp_path: Path) -> None:
    talk = conversation("cats", [node("a", None), node("b", "a", "assistant")], "b")
    speakers = [(line.speaker, line.role) for line in lines_of(tmp_path, talk)]
    assert speakers == [("user", "user"), ("ChatGPT", "assistant")]
    named = lines_of(tmp_path, talk, me="Nora", assistant=("Luna",), tz=ZoneInfo("Asia/Tokyo"))
    assert [(line.speaker, line.role) for line in named] == [("Nora", "user"), ("Luna", "assistant")]


def test_only_chosen_conversations_are_read(tmp_path: Path) -> None:
    talks = [conversation(name, [node(name, None)], name) for name in ("cats", "dogs")]
    private = conversation("secret", [node("secret", None)], "secret", is_do_not_remember=True, gizmo_id="g-luna")
    path = save_zip(tmp_path / "export.zip", {"conversations.json": [*talks, private]})

    def texts(*only: str) -> list[str]:
        return [line.text for line in check_file(path, only=only).read()]

    assert texts() == ["cats", "dogs"]
    assert texts("DOGS") == ["dogs"]
    assert texts("g-luna", "cats") == ["cats", "secret"]
    skipped = check_file(path).skipped
    assert skipped == {"conversations that ChatGPT was asked not to remember": 1}


def test_a_broken_conversation_is_named_and_left_out_and_an_error_if_asked(tmp_path: Path) -> None:
    whole = conversation("cats", [node("a", None)], "a")
    no_time = conversation("dogs", [node("b", None, said_at=-1e300)], "b")
    broken = {"title": "Torn", "conversation_id": "t", "current_node": "x"}
    content = {"content_type": "text", "parts": ["x" * 4_000_001]}
    too_long = conversation("long", [node("ok", None), node("novel", "ok", content=content)], "novel")
    path = tmp_path / "export.json"
    path.write_text(json.dumps([whole, no_time, broken, broken, None, too_long]))
    source = check_file(path)
    assert [line.text for line in source.read()] == ["a", "b"]
    assert list(source.contents.broken) == ["Torn", "Torn (2)", "conversation 5 of export.json", "Long"]
    assert source.contents.broken["Torn"].startswith("it has no 'mapping': an object with 'title'")
    with pytest.raises(BadFile, match=r"export\.json: conversation 'Torn': it has no 'mapping'"):
        check_file(path, strict=True)


def test_files_that_cannot_be_read_are_named_and_the_others_imported(tmp_path: Path) -> None:
    whole = save_zip(tmp_path / "a.zip", {"conversations.json": [conversation("cats", [node("a", None)], "a")]})
    content = whole.read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[:-30])
    at = content.index(b"conversations.json") + len(b"conversations.json") + 3
    (tmp_path / "z.zip").write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "z.zip").write_bytes(content[:-30])
    source = check_file(tmp_path)
    assert [line.text for line in source.read()] == ["a"]
    assert sorted(source.contents.broken) == ["cut.zip", "z.zip", "z.zip (3)"]
    assert source.contents.broken["cut.zip"].endswith("; download it again, or give the files that were in it")
    assert check_file([tmp_path / "cut.zip", whole]).line_count == 1
    with pytest.raises(BadFile, match=r"cut\.zip: not a readable zip archive"):
        check_file(tmp_path, strict=True)
    with pytest.raises(BadFile, match=r"cut\.zip: not a readable zip archive"):
        check_file([tmp_path / "cut.zip", tmp_path / "z.zip"])


def test_conversations_of_two_services_are_two_sessions(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(json.dumps({"store": {"nora": [{"role": "user", "content": "Hi."}]}}))
    fact = {"id": "m1", "memory": "Nora has a cat.", "user_id": "nora"}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [fact]}))
    source = check_file(tmp_path, facts_as_lines=True)
    assert list(source.sessions) == ["mem0:nora", "llamaindex:nora"]
    assert {line.session for line in check_file(tmp_path, only=["mem0:nora"], facts_as_lines=True).read()} == {
        "mem0:nora"
    }
