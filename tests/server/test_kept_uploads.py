from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

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
