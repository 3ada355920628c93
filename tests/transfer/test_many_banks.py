from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.importing import check_file
from everthread.transfer.many_banks import import_into_banks, name_banks
from transfer.services.chatgpt_export import conversation, node, save_zip
from transfer.services.messenger_exports import telegram_message, to_json


def test_each_conversation_goes_into_the_bank_of_its_title(tmp_path: Path) -> None:
    titles = ["Luna", "Luna", "TCP/IP\n4", "", "x" * 300, ".."]
    talks = [
        conversation(f"c{number}", [node(f"m{number}", None)], None, title=title) for number, title in enumerate(titles)
    ]
    source = check_file(save_zip(tmp_path / "export.zip", {"conversations.json": talks}))
    names = name_banks("nora/{title}", source)
    assert list(names.values()) == [
        "nora/Luna",
        "nora/Luna",
        "nora/TCP IP 4",
        "nora/c3",
        f"nora/{'x' * 195}",
        "nora/c5",
    ]
    twice = name_banks("{title}/{title}", source)
    assert (twice["c0"], max(map(len, twice.values()))) == ("Luna/Luna", 199)
    with pytest.raises(BadInput, match="each title needs 40; give a shorter one"):
        name_banks("n" * 161 + "{title}", source)
    with closing(SQLiteStore(tmp_path / "store")) as store:

        def open_bank(bank: str) -> Memory:
            return Memory.open(bank, store=store, embedder=HashEmbedder())

        counts = import_into_banks(open_bank, source, "{title}")
        added = {bank: each["added"] for bank, each in counts.items()}
        assert added == {"Luna": 2, "TCP IP 4": 1, "c3": 1, "x" * 200: 1, "c5": 1}
        with open_bank("Luna") as memory:
            assert [(line.text, line.session) for line in memory.lines()] == [("m0", "c0"), ("m1", "c1")]


def test_two_people_of_one_name_have_a_bank_each(tmp_path: Path) -> None:
    chats = [
        {"name": "Ann", "type": "personal_chat", "id": id, "messages": [telegram_message(1)]} for id in (4242, 4343)
    ]
    chats.append({**chats[0], "name": "Bob", "id": 5})
    path = tmp_path / "result.json"
    path.write_bytes(to_json({"chats": {"list": chats}}))
    assert list(name_banks("nora/{title}", check_file(path)).values()) == ["nora/Ann 4242", "nora/Ann 4343", "nora/Bob"]
