"""Settings of `everthread serve` that it refuses before it serves anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from everthread.cli.main import main


@pytest.mark.parametrize("host", ["a b", "a;b", "https://memory.example.org", "memory.example.org:8080", "a/b"])
def test_a_host_that_no_request_can_name_is_refused(host: str, tmp_path: Path) -> None:
    refused = CliRunner().invoke(
        main, ["--store", str(tmp_path), "serve"], env={"EVERTHREAD_SERVER_HOSTS": f"b.example.org, {host}"}
    )
    assert refused.exit_code == 2
    expected = "expected names such as memory.example.org, separated by commas"
    assert f"invalid server_hosts: got {host!r}, {expected}" in refused.stderr


@pytest.mark.parametrize("origin", ["https://a https://b", "chat.example.org", "https://chat.example.org/"])
def test_an_origin_that_no_browser_sends_is_refused(origin: str, tmp_path: Path) -> None:
    refused = CliRunner().invoke(
        main, ["--store", str(tmp_path), "serve"], env={"EVERTHREAD_PROXY_ORIGINS": f"app://obsidian.md,{origin}"}
    )
    assert refused.exit_code == 2
    assert f"invalid proxy_origins: got {origin!r}, expected origins such as https://chat.example.org" in refused.stderr
