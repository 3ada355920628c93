from __future__ import annotations

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.grok import build_conversation
from transfer.services.companion_examples import GROK, grok_response
from transfer.services.reading import hidden, shown, times


def test_the_branch_with_the_latest_message_is_shown_and_thoughts_and_cards_are_left_out() -> None:
    built = build_conversation(GROK["conversations"][0])
    assert shown(built) == [("user", "ask."), ("Grok", "new."), ("user", "draw."), ("Grok", "Red.")]
    assert hidden(built) == {"old.": "ask."}
    assert times(built) == [f"2025-05-01T10:00:{second}+00:00" for second in ("00", "09", "10", "11")]
    assert built.skipped == {"thoughts": 1}
    assert [message.metadata.get("model") for message in built.messages] == [None, "grok-3", "grok-4", None, None]
    assert (built.title, built.owner, built.assistant) == ("Doors", "user", "Grok")


def test_a_message_without_text_is_counted_and_times_may_be_text() -> None:
    rows = [grok_response("a", "human", 1, create_time="2025-05-01T10:00:00Z"), grok_response("b", "x", 1, message="")]
    built = build_conversation({"conversation": {"id": "g"}, "responses": rows})
    assert times(built) == ["2025-05-01T10:00:00+00:00"]
    assert built.skipped == {"messages without text": 1}


@pytest.mark.parametrize(
    ("value", "words"),
    [({"conversation": {"id": "g"}}, "it has no 'responses'"), ({"conversation": {}, "responses": []}, "it has no id")],
)
def test_a_value_that_is_no_conversation_is_rejected(value: object, words: str) -> None:
    with pytest.raises(BadFile, match=words):
        build_conversation(value)
