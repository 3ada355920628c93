from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation
from everthread.transfer.services.librechat import build_conversation
from transfer.services.companion_examples import LIBRECHAT, ROOT, plain
from transfer.services.reading import hidden, read_entries, shown, times


def row(number: int, parent: str, **fields: object) -> dict[str, object]:
    return {"messageId": str(number), "parentMessageId": parent, "text": f"Text {number}", "sender": "M", **fields}


def test_the_last_of_several_replies_is_shown() -> None:
    conversation = build_conversation(LIBRECHAT)
    assert shown(conversation) == [("user", "Which door?"), ("GPT-4", "The blue one.\nGo in."), ("user", "Thank you.")]
    assert hidden(conversation) == {"The red one.": "Which door?"}
    assert conversation.skipped == {"thoughts": 1, "calls of tools": 1}


def test_the_time_of_the_export_is_no_time_of_a_message() -> None:
    conversation = build_conversation({**LIBRECHAT, "messagesTree": [row(1, ROOT)]})
    assert (times(conversation), conversation.started_at) == ([None], None)


def test_a_list_of_messages_is_a_tree_by_their_parents(tmp_path: Path) -> None:
    rows = [row(1, ROOT), row(2, "1"), row(3, "1"), row(4, "3"), row(5, "4", error=True)]
    value = {"conversationId": "l2", "title": "T", "messages": rows}
    (conversation,) = read_entries("librechat", tmp_path, {"T.json": plain(value)})
    assert isinstance(conversation, Conversation)
    assert shown(conversation) == [("M", "Text 1"), ("M", "Text 3"), ("M", "Text 4")]
    assert hidden(conversation) == {"Text 2": "Text 1"}
    assert conversation.skipped == {"errors": 1}


def test_a_tree_may_be_as_deep_as_it_is_long(tmp_path: Path) -> None:
    rows = [json.dumps(row(number, str(number - 1) if number > 1 else ROOT)) for number in range(1, 1501)]
    tree = "".join(f'{text[:-1]}, "children": [' for text in rows) + "]}" * len(rows)
    content = f'{{"conversationId": "l3", "messagesTree": [{tree}]}}'.encode()
    (conversation,) = read_entries("librechat", tmp_path, {"long.json": content})
    assert isinstance(conversation, Conversation)
    assert len(shown(conversation)) == 1500


def test_messages_in_a_circle_end() -> None:
    rows = [row(1, "2"), row(2, "1")]
    assert len(build_conversation({"conversationId": "l4", "messages": rows}).messages) == 2


def test_a_conversation_without_messages_or_id_is_broken() -> None:
    with pytest.raises(BadFile, match="no messages"):
        build_conversation({"conversationId": "l5"})
    with pytest.raises(BadFile, match="no id"):
        build_conversation({"conversationId": "", "messages": []})
