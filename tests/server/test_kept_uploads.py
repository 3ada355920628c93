from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from like_windows import run_like_windows

from everthread.server import kept_uploads
from everthread.server.kept_uploads import UploadName
from everthread.server.problems import Problem


def test_no_other_caller_or_bank_finds_an_upload() -> None:
    names = [
        UploadName(caller, bank, "id") for caller in ("account 1", "account 2", "") for bank in ("nora", "nora/nemo")
    ]
    assert len({name.folder for name in names}) == 6
    assert len({name.prefix for name in names}) == 3


def test_a_file_is_imported_once_at_a_time_and_kept_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(kept_uploads, "LOCK_PATIENCE_S", 0.0)
    monkeypatch.setattr(kept_uploads, "KEPT_S", 0.0)
    name = UploadName("", "nora", "id")
    (tmp_path / "talk.txt").write_text("Nora: Hello!")
    kept_uploads.keep(tmp_path / "talk.txt", name)
    with kept_uploads.open_kept(name) as path:
        with pytest.raises(Problem, match="is being imported"), kept_uploads.open_kept(name):
            pass
        kept_uploads.remove_expired()
        assert path.read_text() == "Nora: Hello!"
    kept_uploads.remove_expired()
    with pytest.raises(Problem, match="no longer kept"), kept_uploads.open_kept(name):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="open files are found in /proc")
def test_expired_files_and_those_of_killed_processes_are_removed_where_open_files_stay(tmp_path: Path) -> None:
    code = """
import tempfile
from pathlib import Path
from everthread.server import kept_uploads, uploads
folder = Path(sys.argv[1])
tempfile.tempdir = sys.argv[1]
kept_uploads.KEPT_S = 0.0
name = kept_uploads.UploadName("", "nora", "id")
(folder / "talk.txt").write_text("Nora: Hello!")
kept_uploads.keep(folder / "talk.txt", name)
with kept_uploads.open_kept(name) as path:
    kept_uploads.remove_expired()
    print(path.read_text())
kept_uploads.remove_expired()
print(os.listdir(folder))

killed, running = (folder / (uploads.FOLDER_PREFIX + name) for name in ("killed", "running"))
for upload in (killed, running):
    (upload / "talk").mkdir(parents=True)
    (upload / "talk" / "talk.txt").write_text("Nora: Hello!")
    (upload / uploads.LOCK_NAME).touch()
with (running / uploads.LOCK_NAME).open():
    uploads.remove_stale_uploads()
print(killed.exists(), (running / "talk" / "talk.txt").exists())
"""
    assert run_like_windows(code, tmp_path).splitlines() == ["Nora: Hello!", "[]", "False True"]
