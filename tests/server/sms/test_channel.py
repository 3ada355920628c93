"""The names that banks and server.sqlite have for text messages, which must not change."""

import sqlite3
from contextlib import closing
from pathlib import Path

from everthread.server.messaging.message_store import MessageStore
from everthread.server.sms.channel import SMS


def test_the_names_in_banks_are_those_of_the_first_version() -> None:
    assert SMS.get_bank("0a1b") == "sms/0a1b"
    assert SMS.setting == "sms"
    assert SMS.make_key("SM1") == "sms:e084a13cc812fc9d09d293dbd8ec4a52f2e86c7bd78685c34e62bf31a7651ac6"


def test_a_file_of_the_first_version_is_read_and_continued(tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite"
    with closing(sqlite3.connect(file)) as db, db:
        db.executescript("""
            CREATE TABLE sms_answered (message TEXT PRIMARY KEY, parts TEXT, at REAL NOT NULL) WITHOUT ROWID;
            CREATE TABLE sms_stopped (person TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
        """)
        key = SMS.make_key("SM1").removeprefix("sms:")
        db.execute("INSERT INTO sms_answered VALUES (?, ?, unixepoch())", (key, '[["line", 2], ["pictures", 0]]'))
        db.execute("INSERT INTO sms_stopped VALUES ('0a1b', unixepoch())")
    store = MessageStore(file, SMS.name)
    assert store.lease("SM1") == (("line", 2), ("pictures", 0))
    assert store.has_opted_out("0a1b")
    store.opt_in("0a1b")
    assert store.lease("SM2") is True
    assert store.lease("SM2") is False
    store.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM sms_stopped").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM sms_answered").fetchone() == (2,)
