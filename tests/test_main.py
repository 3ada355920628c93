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
            {interrupt}

sys.meta_path.insert(0, Interrupt())
"""
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"


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
    status, output = interrupt_at(module, arguments, INTERRUPT, tmp_path)
    assert status == 130, output
    assert output.startswith("everthread: interrupted")
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize(("module", "arguments"), [("numpy", ["banks"]), ("fastapi", ["serve"])])
def test_an_interrupt_in_generated_code_ends_with_130(tmp_path: Path, module: str, arguments: list[str]) -> None:
    status, output = interrupt_at(module, arguments, f"exec({INTERRUPT!r})", tmp_path)
    assert status == 130, output


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_empty(tmp_path: Path, closed: str) -> None:
    everthread = f"{sys.executable} -m everthread --store {tmp_path / 'banks'} --embedder hash"
    for arguments, status in (("observe Hello.", 0), ("lines", 0), ("forget --everything", 2)):
        done = subprocess.run(f"{everthread} {arguments} {closed}", shell=True, capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr


def interrupt_at(module: str, arguments: list[str], interrupt: str, folder: Path) -> tuple[int, str]:
    """Interrupt a command at the import of a module; return its exit status and what it wrote to standard error."""
    (folder / "sitecustomize.py").write_text(INTERRUPTED_AT.format(module=module, interrupt=interrupt))
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "everthread", *arguments],
        env={**os.environ, "PYTHONPATH": paths, "EVERTHREAD_STORE": str(folder / "banks")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr.strip()
