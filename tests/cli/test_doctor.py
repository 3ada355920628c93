from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from everthread import __version__
from everthread.cli import doctor
from everthread.cli.doctor import REQUIRED_PACKAGES, Finding, examine, repair
from everthread.common.installation import extra_command
from everthread.errors import ConfigError
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import NewLine


class Multilingual(HashEmbedder):
    multilingual = True


def findings(folder: Path, *banks: str, embedder: str = "hash") -> dict[str, Finding]:
    return {finding.what: finding for finding in examine(str(folder), embedder, banks)}


def create_bank(folder: Path, bank: str) -> Path:
    """Create a bank of a few lines; return the path of its file."""
    with Memory.open(bank, store=folder, embedder=HashEmbedder()) as memory:
        for number in range(5):
            memory.observe(f"The ferry number {number} left.")
    return folder / f"{bank}.bank"


def test_every_requirement_is_checked(tmp_path: Path) -> None:
    by_name = findings(tmp_path)
    own = {"everthread", "python", "server", "store", "disk", "recipe", "embedder", "languages", "language model"}
    own |= {"extras", "server settings", "tokens", "refusals", "scribe"}
    assert set(by_name) == own | set(REQUIRED_PACKAGES)
    assert all(finding.ok for finding in by_name.values())
    assert "SQLite" in by_name["python"].detail
    assert by_name["everthread"].detail == __version__
    assert by_name["store"].detail == str(tmp_path)
    assert re.fullmatch(r"0\.0 MB in this folder, [\d,]+ MB free", by_name["disk"].detail)
    assert by_name["recipe"].detail == "default"
    assert by_name["embedder"].detail == "hash-64 answers"
    assert by_name["language model"].detail.startswith("none; ")


def test_a_full_disk_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIN_FREE_BYTES", 10**18)
    found = findings(tmp_path)["disk"]
    assert not found.ok
    assert found.detail.endswith(" MB free; make room")


def test_a_missing_server_is_named_with_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings(tmp_path)["server"].detail == "installed"
    monkeypatch.setattr(doctor, "find_spec", {"uvicorn": None}.get)
    assert findings(tmp_path)["server"] == Finding(
        "server", True, f"not installed; to add it: {extra_command('server')}"
    )


def test_missing_extras_are_named_with_a_command_that_adds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(tmp_path)["extras"].ok
    monkeypatch.setattr(doctor, "OPTIONAL_PACKAGES", {"llm": ("pydantic",), "mcp": ("no-such-package",)})
    assert findings(tmp_path)["extras"].detail == f"without mcp; to add one: {extra_command('mcp')}"
    monkeypatch.setattr(doctor, "OPTIONAL_PACKAGES", {"llm": ("pydantic",)})
    assert findings(tmp_path)["extras"].detail == "all installed"


def test_repair_brings_what_is_derived_from_lines_up_to_date(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.replace_lines([], [NewLine("The ferry returned.", "Ida")], defer_embedding=True)
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("UPDATE bank SET analyser = analyser - 1")
    [repaired] = repair(str(tmp_path), HashEmbedder())
    assert repaired == Finding("bank alice", True, "6 lines analysed, 1 embedded")
    assert findings(tmp_path)["bank alice"].detail == "sound"
    assert list(repair(str(tmp_path), HashEmbedder())) == []


def test_repair_leaves_damaged_banks_and_those_of_another_embedder(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    (tmp_path / "broken.bank").write_bytes(b"no database" * 1000)
    [broken] = repair(str(tmp_path), Multilingual(32))
    assert (broken.what, broken.ok) == ("bank broken", False)
    assert "not repaired" in broken.detail
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.stats().pending == 0


def test_every_bank_is_checked_when_none_is_named(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    create_bank(tmp_path, "bob")
    by_name = findings(tmp_path)
    assert by_name["bank alice"] == Finding("bank alice", True, "sound")
    assert by_name["bank bob"].ok
    assert "bank bob" not in findings(tmp_path, "alice")


def test_lines_whose_words_an_earlier_version_analysed_are_counted(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        lines = db.execute("SELECT lines FROM bank").fetchone()[0]
        db.execute("UPDATE bank SET analyser = analyser - 1")
    finding = findings(tmp_path)["bank alice"]
    assert finding.ok
    assert finding.detail.startswith(f"sound; the words of {lines} lines are of an earlier version")
    with Memory.open("bob", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("The ferry left.")
    with closing(sqlite3.connect(tmp_path / "bob.bank")) as db, db:
        db.execute("UPDATE bank SET analyser = analyser - 1")
    assert "the words of 1 line are of" in findings(tmp_path)["bank bob"].detail


def test_an_unknown_bank_is_named(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    finding = findings(tmp_path, "alice", "zoe")["banks"]
    assert not finding.ok
    assert "there is no bank 'zoe'" in finding.detail


def test_a_missing_folder_is_reported_and_not_created(tmp_path: Path) -> None:
    missing = tmp_path / "typo"
    assert findings(missing)["banks"].ok
    assert not findings(missing, "alice")["banks"].ok
    assert f"the folder {missing} does not exist" in findings(missing)["banks"].detail
    assert not missing.exists()


def test_the_other_banks_are_checked_after_a_damaged_one(tmp_path: Path) -> None:
    create_bank(tmp_path, "alice")
    (tmp_path / "broken.bank").write_bytes(b"no database" * 1000)
    by_name = findings(tmp_path)
    assert not by_name["bank broken"].ok
    assert "damaged" in by_name["bank broken"].detail
    assert by_name["bank alice"].ok


def test_a_bank_whose_middle_was_overwritten_is_not_sound(tmp_path: Path) -> None:
    path = create_bank(tmp_path, "alice")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 8] = b"\xa5" * (4096 * 6)
    path.write_bytes(data)
    assert not findings(tmp_path)["bank alice"].ok


def test_an_empty_file_is_a_finding_until_the_bank_is_used(tmp_path: Path) -> None:
    path = create_bank(tmp_path, "alice")
    path.write_bytes(b"")
    for _ in range(2):
        finding = findings(tmp_path)["bank alice"]
        assert not finding.ok
        assert "the file has 0 bytes" in finding.detail
    assert path.stat().st_size == 0
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("A new beginning.")
    assert findings(tmp_path)["bank alice"].ok


def test_counts_that_contradict_the_lines_are_found(tmp_path: Path) -> None:
    path = create_bank(tmp_path, "alice")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE bank SET lines = lines + 1")
    finding = findings(tmp_path)["bank alice"]
    assert not finding.ok
    assert "lines: 6 recorded, 5 found" in finding.detail


def test_an_unreachable_embedder_is_a_finding_with_its_reason(tmp_path: Path) -> None:
    finding = findings(tmp_path, embedder=str(tmp_path))["embedder"]
    assert not finding.ok
    assert str(tmp_path) in finding.detail
    assert not findings(tmp_path, embedder="elephant")["embedder"].ok


def test_the_languages_that_the_embedder_reads_are_named(tmp_path: Path) -> None:
    reads = {
        embedder.multilingual: {each.what: each for each in examine(str(tmp_path), embedder)}["languages"]
        for embedder in (HashEmbedder(), Multilingual())
    }
    assert (
        reads[False].detail
        == "hash-64 reads English, and Chinese by glosses; lines in other languages are found by their words"
    )
    assert reads[True].detail == "hash-64 reads several languages; which ones, its own documentation says"
    assert reads[False].ok
    assert "languages" not in findings(tmp_path, embedder="elephant")


def test_a_store_that_is_a_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    found = findings(tmp_path / "file")
    assert not found["store"].ok
    assert str(tmp_path / "file") in found["store"].detail
    assert found.keys().isdisjoint(("language model", "banks"))  # which would only repeat it


def test_a_folder_that_cannot_be_written_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may write everywhere
    found = findings(tmp_path)
    assert (found["store"].ok, found["store"].detail) == (
        False,
        f"{tmp_path} can't be written; check the folder's permissions",
    )


def test_a_database_that_does_not_answer_is_a_finding_without_its_password() -> None:
    found = {finding.what: finding for finding in examine("postgresql://nora:secret@127.0.0.1:1/banks", "hash")}
    assert not found["store"].ok
    assert "can't be reached" in found["store"].detail
    assert "secret" not in found["store"].detail
    assert found.keys().isdisjoint(("language model", "banks"))


def test_the_configured_store_is_checked_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(tmp_path / "kept"))
    create_bank(tmp_path / "kept", "alice")
    by_name = {finding.what: finding for finding in examine(None, "hash")}
    assert by_name["store"].detail == str(tmp_path / "kept")
    assert by_name["bank alice"].ok


def test_an_unreadable_configuration_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(tmp_path / "missing.toml"))
    for store in (None, str(tmp_path)):
        with pytest.raises(ConfigError, match=r"missing\.toml"):
            list(examine(store, None))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('recipe = "packaby"', "unknown recipe 'packaby'; expected one of default"),
        ("[recipes.packaby]\nhits = 1", "sets [recipes.packaby]: unknown recipe"),
        ("[recipes.packabby]\nthreshold = 25", "sets [recipes.packabby]: threshold must be a number from -1 to 1"),
    ],
)
def test_a_recipe_that_can_not_be_opened_is_a_finding_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, said: str
) -> None:
    (tmp_path / "config.toml").write_text(written, encoding="utf-8")
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(tmp_path / "config.toml"))
    by_name = findings(tmp_path / "kept")
    assert not by_name["recipe"].ok
    assert said in by_name["recipe"].detail


def test_settings_that_a_server_refuses_are_findings_with_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('proxy_role = "robot"\ntelegram_token = "abc"', encoding="utf-8")
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    monkeypatch.setenv("EVERTHREAD_SERVER_HOSTS", "a b")
    wrong = [each for each in examine(str(tmp_path / "kept"), "hash") if each.what == "server settings"]
    assert not any(finding.ok for finding in wrong)
    starts = ("EVERTHREAD_SERVER_HOSTS: invalid server_hosts", f"proxy_role in {file}:", f"telegram_token in {file}:")
    assert all(finding.detail.startswith(start) for finding, start in zip(wrong, starts, strict=True))


@pytest.mark.parametrize(
    ("variable", "value", "what", "said"),
    [
        ("EVERTHREAD_TOKENS", "elephant", "tokens", "invalid tokens 'elephant'"),
        ("EVERTHREAD_SCRIBE_MODEL", "http://[#x", "scribe", "is not the address of a language model"),
        ("EVERTHREAD_REFUSALS", "/nowhere/refusals.toml", "refusals", "/nowhere/refusals.toml can't be read"),
        ("EVERTHREAD_LLM_URL", "elephant", "language model", "is not the address of a language model"),
    ],
)
def test_another_setting_that_can_not_be_used_is_a_finding_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, what: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    found = findings(tmp_path)[what]
    assert not found.ok
    assert found.detail.startswith(f"{variable}: ")
    assert said in found.detail


def test_without_the_packages_of_the_server_its_settings_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setenv("EVERTHREAD_PROXY_ROLE", "robot")
    assert "server settings" not in findings(tmp_path)


def test_the_checks_change_nothing_in_a_bank(tmp_path: Path) -> None:
    path = create_bank(tmp_path, "alice")
    findings(tmp_path)
    before = path.read_bytes()
    findings(tmp_path)
    assert path.read_bytes() == before
