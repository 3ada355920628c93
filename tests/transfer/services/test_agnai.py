from __future__ import annotations

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.agnai import build_chat
from transfer.services.companion_examples import AGNAI
from transfer.services.reading import hidden, shown


def test_the_path_to_the_leaf_is_shown_and_characters_are_assistants() -> None:
    built = build_chat(AGNAI)
    assert shown(built) == [("Aria", "Hello Nora."), ("Nora", "Which door is red?"), ("Aria", "The right one.")]
    assert hidden(built) == {"The left one.": "Which door is red?"}
    assert [message.role for message in built.messages] == ["assistant", "user", "assistant", "assistant"]
    assert (built.title, built.owner) == ("Aria", "Nora")


def test_messages_without_links_are_linear() -> None:
    rows = [{"msg": "Hello.", "characterId": "c"}, {"msg": "Hi.", "userId": "u"}, {"msg": "", "userId": "u"}]
    built = build_chat({"messages": rows})
    assert shown(built) == [("assistant", "Hello."), ("user", "Hi.")]
    assert built.skipped == {"messages without text": 1}


def test_a_value_without_messages_is_rejected() -> None:
    with pytest.raises(BadFile, match="it has no list of messages"):
        build_chat({"messages": {}})
