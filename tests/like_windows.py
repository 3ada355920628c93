"""Runs Python code in a process that lacks what Windows lacks, on Linux: without fcntl and others, open files stay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_MISSING = ("fcntl", "grp", "pwd", "readline", "resource", "termios", "uvloop")
_PREPARE = f"""\
import os
import sys

sys.modules.update(dict.fromkeys({_MISSING!r}))


def is_open(path):
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            descriptors = os.listdir("/proc/" + process + "/fd")
        except OSError:  # it has ended, or is another user's
            continue
        for descriptor in descriptors:
            try:
                if os.readlink("/proc/" + process + "/fd/" + descriptor) == os.path.realpath(path):
                    return True
            except OSError:
                continue
    return False


def refuse(event, arguments):
    paths = {{"os.remove": arguments[:1], "os.rename": arguments[:2]}}.get(event, ())
    if any(is_open(path) for path in paths):
        error = PermissionError(13, "the file is open in another program")
        error.winerror = 32
        raise error


sys.addaudithook(refuse)
"""


def run_like_windows(code: str, *arguments: str | Path, **environment: str) -> str:
    """Return what the code prints."""
    done = subprocess.run(
        [sys.executable, "-c", _PREPARE + code, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
