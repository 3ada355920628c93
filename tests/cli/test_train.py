import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from everthread.cli.main import main


def test_without_a_source_of_pairs_the_options_are_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["train", str(tmp_path / "out"), "--model", str(tmp_path)])
    assert result.exit_code == 2
    assert "--bank" in result.stderr
    assert "--pairs" in result.stderr


def test_without_the_extra_the_command_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.cli.train.PACKAGES", ("a_package_that_does_not_exist",))
    arguments = ["train", str(tmp_path / "out"), "--model", str(tmp_path), "--pairs", str(tmp_path / "pairs"), "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "a_package_that_does_not_exist not installed" in json.loads(result.stdout)["error"]
    assert "[train]" in result.stderr
