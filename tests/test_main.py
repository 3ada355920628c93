from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED_AT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["everthread", *{arguments!r}]
from everthread.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("everthread.cli.main", ["banks"]),
        ("numpy", ["banks"]),
        ("everthread.memory", ["--help"]),
        ("everthread.cli.chat", ["chat"]),
        ("fastapi", ["serve"]),
    ],
)
def test_an_interrupt_while_modules_load_ends_with_one_line_and_130(
    tmp_path: Path, module: str, arguments: list[str]
) -> None:
    script = INTERRUPTED_AT.format(module=module, arguments=arguments)
    environment = {**os.environ, "EVERTHREAD_STORE": str(tmp_path / "banks")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip().startswith("everthread: interrupted")
    assert len(done.stderr.strip().splitlines()) == 1
