"""The files that writers make of one conversation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Any

from everthread.common.keys import META_UNDATED
from everthread.transfer.writers import html, markdown, openai, openwebui, sillytavern
from everthread.transfer.writers.branches import REPLY, Branch
from everthread.transfer.writers.session_record import SessionRecord, Turn
from everthread.types import Line, Role, Session

START = datetime(2024, 5, 1, 23, 58, 30, 123456, timezone(timedelta(hours=2)))
HOSTILE = '<script>alert(1)</script> & "quoted" </p><img src=x onerror=alert(2)>'


def line(seq: int, role: Role, text: str, minutes: int = 0, **metadata: Any) -> Line:
    speaker = {"user": "Nora", "assistant": "Captain *Vey*"}.get(role, role)
    return Line(seq, "one", role, speaker, text, START + timedelta(minutes=minutes), metadata=metadata)


OTHER = line(2, "assistant", "Which one?", 1)
TURNS = (
    Turn(line(1, "user", "I sold the boat.")),
    Turn(line(3, "assistant", "The blue one?", 2, model="llama3"), (OTHER,), (Branch(REPLY, (OTHER,)),)),
    Turn(line(4, "user", HOSTILE, 3)),
    Turn(line(5, "system", "The bell rings.", **{META_UNDATED: True})),
)
SESSION = Session("one", START, START + timedelta(minutes=3), 1, 5, 4)
RECORD = SessionRecord("nora", SESSION, "Boats <b>&</b> sails", TURNS)
UNTITLED = SessionRecord("nora", SESSION, "", TURNS[:1])


def test_markdown_has_a_heading_for_each_session_and_day_and_the_words_as_they_were_said() -> None:
    assert (
        "".join(markdown.write(iter([RECORD, UNTITLED])))
        == f"""\
# Boats \\<b\\>&\\</b\\> sails

## Wednesday, 1 May 2024

**Nora** (23:58)

I sold the boat.

## Thursday, 2 May 2024

**Captain \\*Vey\\*** (00:00)

The blue one?

> Another reply:
>
> **Captain \\*Vey\\*** (23:59)
>
> Which one?

**Nora** (00:01)

{HOSTILE}

## At an unknown time

**system**

The bell rings.

# Conversation of 1 May 2024

## Wednesday, 1 May 2024

**Nora** (23:58)

I sold the boat.
"""
    )


class Page(HTMLParser):
    """Collects the elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_no_scripts_loads_nothing_and_shows_hostile_text_as_text() -> None:
    text = "".join(html.write(iter([RECORD, UNTITLED])))
    page = Page(text)
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "a", "form"})
    assert page.attributes == {
        "charset", "class", "content", "datetime", "dir", "http-equiv", "lang", "name",
    }  # fmt: skip
    assert not re.search(r"url\(|@import|https?:", text)
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    for said in ("Boats <b>&</b> sails", HOSTILE, "Which one?", "Captain *Vey*", "Conversation of 1 May 2024"):
        assert said in page.text
    assert '<time datetime="2024-05-02T00:00:30.123+02:00">00:00</time>' in text
    assert "".join(html.write(iter([]))).count("<h1>") == 1


def test_the_title_of_a_page_names_the_person_or_else_the_bank() -> None:
    unnamed = replace(RECORD, turns=TURNS[1:2])
    for record, title in ((RECORD, "Conversations of Nora"), (unnamed, "Conversations in the bank nora")):
        assert f"<title>{title}</title>" in "".join(html.write(iter([record])))


def test_a_chat_of_sillytavern_has_names_dates_and_swipes() -> None:
    header, *rows = [json.loads(row) for row in sillytavern.write(iter([RECORD, UNTITLED]))]
    assert (header["user_name"], header["character_name"]) == ("Nora", "Captain *Vey*")
    assert [(row["name"], row["is_user"], row["mes"]) for row in rows] == [
        (turn.line.speaker, turn.line.role == "user", turn.line.text) for turn in TURNS
    ]
    assert [row["send_date"] for row in rows] == [*(turn.line.said_at.isoformat() for turn in TURNS[:3]), ""]
    assert rows[1]["extra"] == {"model": "llama3"}
    assert (rows[1]["swipes"], rows[1]["swipe_id"]) == (["Which one?", "The blue one?"], 1)
    assert [info["send_date"] for info in rows[1]["swipe_info"]] == [
        "2024-05-01T23:59:30.123456+02:00", "2024-05-02T00:00:30.123456+02:00",
    ]  # fmt: skip
    assert all("swipes" not in row for row in (rows[0], *rows[2:]))
    assert rows[3]["extra"] == {"type": "narrator"}
    assert sillytavern.name_file(RECORD) == "Captain *Vey* - 2024-05-01@23h58m30s"


def test_messages_of_openai_have_roles_and_the_names_that_its_api_accepts() -> None:
    assert json.loads("".join(openai.write(iter([RECORD, UNTITLED])))) == [
        {"role": "user", "name": "Nora", "content": "I sold the boat."},
        {"role": "assistant", "content": "The blue one?"},
        {"role": "user", "name": "Nora", "content": HOSTILE},
        {"role": "system", "content": "The bell rings."},
        {"role": "user", "name": "Nora", "content": "I sold the boat."},
    ]
    assert json.loads("".join(openai.write(iter([])))) == []


def test_a_chat_of_open_webui_is_a_tree_with_discarded_replies_as_siblings() -> None:
    chat, other = json.loads("".join(openwebui.write(iter([RECORD, UNTITLED]))))
    assert (chat["title"], other["title"], chat["created_at"]) == (RECORD.title, "New Chat", int(START.timestamp()))
    history = chat["chat"]["history"]
    messages = history["messages"]
    by_text = {message["content"]: message for message in messages.values()}
    assert set(by_text) == {turn.line.text for turn in TURNS} | {"Which one?"}
    first, shown, hidden = (by_text[text] for text in ("I sold the boat.", "The blue one?", "Which one?"))
    assert first["childrenIds"] == [hidden["id"], shown["id"]]
    assert (hidden["parentId"], shown["parentId"], hidden["childrenIds"]) == (first["id"], first["id"], [])
    assert (shown["model"], hidden["model"], shown["modelName"]) == ("llama3", "Captain *Vey*", "Captain *Vey*")
    path = [messages[history["currentId"]]]
    while (parent := path[-1]["parentId"]) is not None:
        path.append(messages[parent])
    assert [message["content"] for message in path[::-1]] == [turn.line.text for turn in TURNS]
    assert chat["chat"]["messages"] == path[::-1]
    assert first["timestamp"] == int(START.timestamp())
    assert "timestamp" not in by_text["The bell rings."]
    assert len({*messages, chat["id"]}) == 6
