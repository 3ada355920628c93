from __future__ import annotations

from datetime import timedelta, timezone

from everthread.transfer.services.textgen import build_chat
from transfer.services.companion_examples import TEXTGEN
from transfer.services.reading import shown, times


def test_messages_and_replies_are_read_as_they_were_written() -> None:
    built = build_chat(TEXTGEN, "Aria", timezone(timedelta(hours=2)))
    assert shown(built) == [
        ("Aria", "Hello <b>Nora</b>."),
        ("user", "Which door is red?"),
        ("Aria", "The right one."),
        ("user", "Thank you!"),
    ]
    assert times(built) == [None, "2025-05-01T10:00:00+02:00", "2025-05-01T10:01:00+02:00", None]
    assert built.skipped == {"thoughts": 1, "messages without text": 1}
    assert (built.title, built.owner) == ("Aria", "user")


def test_entries_that_are_no_messages_are_left_out() -> None:
    built = build_chat({"internal": [7, ["Hi.", None], ["Hi."]], "visible": []})
    assert shown(built) == [("user", "Hi."), ("user", "Hi.")]
    assert built.title is None


def test_a_chat_has_the_same_id_when_it_has_grown() -> None:
    ids = {build_chat({**TEXTGEN, "internal": TEXTGEN["internal"][:length]}).id for length in (2, 3)}
    assert len(ids) == 1
    other = [TEXTGEN["internal"][0], ["Which door is blue?", "None."]]
    assert build_chat({**TEXTGEN, "internal": other}).id not in ids
