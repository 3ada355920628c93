"""Commands in messages, for the shells of each system."""

from __future__ import annotations

import sys

import pytest

from everthread.common.shell import join, quote


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        (r"C:\Users\ann\.venv\Scripts\python.exe", r"C:\Users\ann\.venv\Scripts\python.exe"),
        (r"C:\Program Files\python.exe", r'"C:\Program Files\python.exe"'),
        ("everthread[server]", "everthread[server]"),
        ("rock & roll", '"rock & roll"'),
        ("Ann's", '"Ann\'s"'),
        ('the "best"', r'"the \"best\""'),
        ("", '""'),
    ],
)
def test_windows_shells_get_double_quotes(monkeypatch: pytest.MonkeyPatch, argument: str, written: str) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert quote(argument) == written


def test_other_shells_get_single_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert quote("rock & roll") == "'rock & roll'"
    assert join(["everthread", "chat", "--bank", "nora's"]) == """everthread chat --bank 'nora'"'"'s'"""
