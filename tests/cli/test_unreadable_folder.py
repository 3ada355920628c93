"""A folder of banks that belongs to another user, and may not be listed, is an error in every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hardship.forked import exits_cleanly, fork_child
from hardship.limits import UNPRIVILEGED_UID

from cli.commands import run
from everthread.bank.backup_folder import is_backup

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder of banks that others may not read, in a folder that they may write."""
    with TemporaryDirectory() as outside:
        Path(outside).chmod(0o777)
        folder = Path(outside, "banks")
        run(folder, "observe", "Tea is at four.", "--bank", "nora")
        yield folder
        folder.chmod(0o700)


def fails(folder: Path, *arguments: object, complaint: str = "Permission denied") -> None:
    """Run a command as another user, and check that it fails with a complaint in one line."""

    def work() -> None:
        os.environ["XDG_CONFIG_HOME"] = str(folder.parent)
        if os.geteuid() == 0:
            os.setuid(UNPRIVILEGED_UID)
        result = run(folder, *arguments)
        print(result.output)
        assert result.exit_code == 1
        assert complaint in result.output
        assert "can't be written" not in result.output

    assert exits_cleanly(fork_child(work)), arguments


def test_a_folder_that_may_not_be_listed_is_an_error(folder: Path) -> None:
    folder.chmod(0o000)
    away = folder.parent / "away"
    for arguments in (("banks",), ("move", folder, away), ("backup", away), ("lines", "--bank", "nora"), ("doctor",)):
        fails(folder, *arguments)
    assert not (away / "nora.bank").exists()


def test_a_place_of_backups_that_may_not_be_listed_is_an_error(folder: Path) -> None:
    place = folder.parent / "backups"
    run(folder, "backup", place)
    place.chmod(0o000)
    folder.chmod(0o755)
    fails(folder, "backup", place, "--verify")
    fails(folder, "restore", place)
    place.chmod(0o700)


def test_a_folder_of_another_user_beside_backups_is_left_alone(folder: Path) -> None:
    folder.chmod(0o777)
    (folder / "nora.bank").chmod(0o666)
    (disk := folder.parent / "disk").mkdir()
    disk.chmod(0o777)
    (other := disk / "lost+found").mkdir(mode=0o000)

    def work() -> None:
        if os.geteuid() == 0:
            os.setuid(UNPRIVILEGED_UID)
        assert run(folder, "backup", disk).exit_code == 0

    assert exits_cleanly(fork_child(work))
    other.chmod(0o700)
    assert sum(map(is_backup, disk.iterdir())) == 1


def test_a_bank_that_may_not_be_read_is_named_as_such(folder: Path) -> None:
    (folder / "nora.bank").chmod(0o000)
    folder.chmod(0o755)
    fails(folder, "lines", "--bank", "nora", complaint="can't be read: ")
