"""Secrets that all processes of a server share."""

from pathlib import Path

from everthread.server.shared_secret import SECRET_BYTES, load_secret


def test_all_workers_have_the_same_secret(tmp_path: Path) -> None:
    first = load_secret(tmp_path / "server.sqlite", "mcp_secret")
    assert len(first) == SECRET_BYTES
    assert load_secret(tmp_path / "server.sqlite", "mcp_secret") == first
    assert load_secret(tmp_path / "server.sqlite", "sms_secret") != first
    assert load_secret(tmp_path / "other.sqlite", "mcp_secret") != first
