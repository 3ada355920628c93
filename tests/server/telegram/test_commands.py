"""The commands of a chat."""

from __future__ import annotations

from pathlib import Path

from everthread.languages.wording import load_wording
from server.telegram.bots import RunningBot

ENGLISH = load_wording()


def test_in_incognito_nothing_is_written(nemo: RunningBot, tmp_path: Path) -> None:
    nemo.telegram.write("/incognito")
    nemo.telegram.wait_for(ENGLISH("telegram.incognito-on"))
    nemo.telegram.write("Between us: Gerda.")
    nemo.telegram.wait_for("Lisbon suits her.")
    nemo.telegram.write("/incognito")
    nemo.telegram.wait_for(ENGLISH("telegram.incognito-off"))
    assert nemo.lines() == []
    assert b"Gerda" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_bank_is_sent_as_a_file_from_which_it_can_be_imported(nemo: RunningBot) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/export")
    nemo.telegram.wait(lambda: nemo.telegram.files)
    ((name, content),) = nemo.telegram.files
    assert name.endswith(".jsonl")
    assert "Mia moved to Lisbon." in content.decode()


def test_the_character_is_chosen_by_name_or_by_a_button(nemo: RunningBot) -> None:
    nemo.telegram.write("/character Nobody")
    nemo.telegram.wait_for(ENGLISH("telegram.no-character", names="Nemo and Ever"))
    for count in (1, 2):
        nemo.telegram.write("/character")
        nemo.telegram.wait_for_copies(count, ENGLISH("telegram.characters", name="Nemo"))
    for count in (1, 2):  # in the first list, although she comes first now
        nemo.telegram.press("Ever")
        nemo.telegram.wait_for_copies(count, ENGLISH("telegram.character", name="Ever"))
    nemo.telegram.write("/character ever")
    nemo.telegram.wait_for_copies(3, ENGLISH("telegram.character", name="Ever"))
