from __future__ import annotations

import pytest

from everthread.transfer.whatsapp_phrases import is_system_message, strip_edit_mark


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "<Media omitted>", "<Medien ausgeschlossen>", "\u200eimage omitted", "\u200eBild weggelassen",
        "\u200eMietvertrag.pdf • \u200e3 pages \u200edocument omitted", "\u200e<attached: 00000012-PHOTO.jpg>",
        "This message was deleted", "\u200eYou deleted this message.", "\u200eMissed voice call, \u200eTap to call",
    ],
)  # fmt: skip
def test_media_left_out_deleted_messages_and_calls_hold_no_words(text: str) -> None:
    assert is_system_message(text)


@pytest.mark.parametrize(
    "text",
    [
        "<sigh>", "<https://example.org>", "\u200e+49 170 1234567", "image omitted, sorry", "voice call at eight?",
        "\u200ePOLL:\nWhich day?", "This message was deleted by you",
    ],
)  # fmt: skip
def test_all_else_is_words(text: str) -> None:
    assert not is_system_message(text)


def test_the_remark_that_a_message_was_edited_is_no_part_of_it() -> None:
    assert strip_edit_mark("I did. \u200e<This message was edited>") == "I did."
    assert strip_edit_mark("I did.\n<This message was edited>") == "I did."
    assert strip_edit_mark(" <This message was edited> no") == " <This message was edited> no"
