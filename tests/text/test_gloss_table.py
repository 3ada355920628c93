from __future__ import annotations

from pathlib import Path

from everthread.text import gloss
from everthread.text.gloss_table import build_table, count_words, main

OEWN = [
    "1-n\ti1\tcat|true_cat\t\tan animal\n",
    "2-n\ti2\tguy|cat\t\ta man\n",
    "3-a\ti3\thappy|felicitous\t\tglad\n",
    "4-v\ti4\train|rain_down\t\tfall\n",
]
COW = ["i1\t猫\n", "i2\t猫\n", "i3\t快乐+的\n", "i4\t下雨（动词）\n", "i9\t无\n", "i1\tcat\n"]


def test_the_word_of_most_senses_is_chosen() -> None:
    assert build_table(COW, OEWN, {})["猫"] == "cat"


def test_a_commoner_word_and_then_a_shorter_one_is_chosen() -> None:
    table = build_table(COW, OEWN, count_words(["Guy, guy! Guy, a felicitous guy. " * 9]))
    assert table == {"下雨": "rain", "快乐": "felicitous", "猫": "guy"}


def test_a_written_table_is_read_by_glosses(tmp_path: Path) -> None:
    for name, rows in (("cow.tsv", COW), ("oewn.tsv", OEWN), ("talk.csv", ["A cat.\n"])):
        (tmp_path / name).write_text("".join(rows), encoding="utf-8")
    main(str(tmp_path / "cow.tsv"), str(tmp_path / "oewn.tsv"), str(tmp_path), str(tmp_path / "zh.txt.xz"))
    (tmp_path / "zh.toml").write_text('[words]\n"I" = ["我"]\n', encoding="utf-8")
    assert gloss.read_words(tmp_path) == {"下雨": "rain", "快乐": "happy", "猫": "cat", "我": "I"}
