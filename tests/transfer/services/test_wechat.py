from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from transfer.services.chat_exports import WECHAT


def test_texts_are_read_and_the_other_rows_are_counted(tmp_path: Path) -> None:
    (path := tmp_path / "小明_utf8.csv").write_bytes(WECHAT)
    source = check_file(path, me="Nora")
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("小明", "哪扇门是红色的？", "2024-05-06 18:05:22+00:00"),
        ("Nora", "右边那扇，\n对吧？", "2024-05-06 18:06:00+00:00"),
        ("小明", "谢谢", "2024-05-06 18:07:20+00:00"),  # an older table has no names
    ]
    assert source.skipped == {"messages without words": 1, "notices": 1}
    assert (source.contents.services, source.contents.me) == (("WeChat",), "Nora")
    assert [each.title for each in source.contents.conversations] == ["小明"]


def test_a_table_of_all_chats_is_refused_with_what_to_export(tmp_path: Path) -> None:
    (path := tmp_path / "messages.csv").write_bytes(WECHAT)
    with pytest.raises(BadFile, match="does not show which message is of which; export the chats one by one"):
        check_file(path)
