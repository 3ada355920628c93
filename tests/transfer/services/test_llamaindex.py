from __future__ import annotations

from pathlib import Path

from everthread.transfer.importing import check_file
from everthread.transfer.services.conversation import BrokenConversation, Conversation
from everthread.transfer.services.llamaindex import build_conversation
from transfer.services.companion_examples import LLAMAINDEX, plain
from transfer.services.reading import read_entries, shown


def test_each_key_is_a_conversation_and_a_broken_one_leaves_the_others(tmp_path: Path) -> None:
    value = {**LLAMAINDEX, "store": {**LLAMAINDEX["store"], "broken": [3]}}
    nora, emil, broken = read_entries("llamaindex", tmp_path, {"chat_store.json": plain(value)})
    assert isinstance(nora, Conversation)
    assert isinstance(emil, Conversation)
    assert isinstance(broken, Conversation)
    assert (nora.id, shown(nora)) == ("nora", [("user", "Which door?"), ("assistant", "The\nblue.")])
    assert shown(emil) == [("user", "Good day.")]
    assert (nora.skipped, broken.skipped) == ({"instructions": 1}, {"broken messages": 1})


def test_a_key_without_a_list_is_broken(tmp_path: Path) -> None:
    value = {"store": {"a": 1, "b": [{"role": "user", "content": "Hi.", "additional_kwargs": {"name": "Nora"}}]}}
    broken, named = read_entries("llamaindex", tmp_path, {"s.json": plain(value)})
    assert broken == BrokenConversation("a", "it has no list of messages")
    assert isinstance(named, Conversation)
    assert shown(named) == [("Nora", "Hi.")]
    assert shown(build_conversation("k", [{"role": "assistant", "blocks": [{"block_type": "image"}]}])) == []


def test_options_name_those_who_have_no_name(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(plain(LLAMAINDEX))
    lines = check_file(tmp_path / "s.json", me="Ann", assistant=["Door"]).read()
    assert [line.speaker for line in lines] == ["Ann", "Door", "Ann"]
