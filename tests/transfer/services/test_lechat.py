from __future__ import annotations

from pathlib import Path

from everthread.transfer.importing import check_file
from transfer.services.companion_examples import LE_CHAT, plain


def test_messages_are_in_the_order_of_their_times_and_texts_may_be_in_chunks(tmp_path: Path) -> None:
    (tmp_path / "chat-l1.json").write_bytes(plain(LE_CHAT))
    source = check_file(tmp_path / "chat-l1.json")
    assert source.contents.services == ("Le Chat",)
    lines = list(source.read())
    assert [(line.speaker, line.role, line.text) for line in lines] == [
        ("user", "user", "Which door is red?"),
        ("Le Chat", "assistant", "The left one."),
        ("user", "user", "Thank you!"),
    ]
    assert [f"{line.said_at:%H:%M:%S}" for line in lines] == ["10:00:01", "10:00:03", "10:00:05"]
    assert [line.metadata for line in lines] == [{"attachments": ["door.pdf"]}, {}, {}]
    assert source.skipped == {"messages without words": 1}
