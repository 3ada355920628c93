from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from transfer.services.companion_examples import SMS_BACKUP


def test_each_person_or_group_is_a_conversation_in_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "sms-1.xml").write_bytes(SMS_BACKUP)
    source = check_file(tmp_path / "sms-1.xml", me="Nora")
    assert source.contents.services == ("SMS Backup & Restore",)
    assert [(line.session, line.speaker, line.text, line.metadata) for line in source.read()] == [
        ("smsbackup:01234567", "Ann", "Which door &\nkey?", {}),
        ("smsbackup:01234567", "Nora", "The right one 😀", {}),
        ("smsbackup:01234567~07654321", "Bob", "This one.", {"attachments": ["door.jpg"]}),
    ]
    assert [str(line.said_at) for line in source.read()][:2] == [
        "2024-05-06 18:04:10+00:00",
        "2024-05-06 18:04:20+00:00",
    ]
    assert [each.title for each in source.contents.conversations] == ["Ann", "Ann, Bob"]
    assert source.skipped == {"messages that were not sent": 1, "messages without words": 1}


def test_several_backups_are_one_export(tmp_path: Path) -> None:
    for name in ("sms-1.xml", "sms-2.xml"):
        (tmp_path / name).write_bytes(SMS_BACKUP)
    lines = list(check_file(tmp_path).read())
    assert {line.session for line in lines} == {"smsbackup:01234567", "smsbackup:01234567~07654321"}


def test_references_to_characters_that_xml_does_not_have_become_blanks(tmp_path: Path) -> None:
    row = b'<sms address="1" date="1715018650000" type="1" body="a&#0;b&#55357;c&#8364;" contact_name="null"/>'
    (tmp_path / "sms.xml").write_bytes(b"<smses>%b</smses>" % row)
    assert [(line.speaker, line.text) for line in check_file(tmp_path).read()] == [("1", "a b c€")]


def test_a_backup_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sms.xml").write_bytes(SMS_BACKUP[:600])
    with pytest.raises(BadFile, match=r"sms\.xml: not XML \(.*\); make or download the backup again"):
        check_file(tmp_path / "sms.xml")
