"""Times the way from a clone to the demonstration's first answer, step by step: `python docs/time_first_answer.py`.

It clones this repository, or the one that is named, into a temporary folder and runs `make demo` there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS = {  # the beginning of the line with which `make demo` begins a step, and the step
    "Making a Python environment": "environment",
    "Installing Everthread": "installation",
    "Reading the sample": "sample",
    "  > ": "",  # the first answer
}


def main() -> None:
    """Print the seconds of each step."""
    repository = sys.argv[1] if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        began = start = time.monotonic()
        subprocess.run(["git", "clone", "--quiet", repository, "clone"], cwd=folder, check=True)
        step, pending = "clone", list(STEPS)
        environment = {**os.environ, "XDG_DATA_HOME": folder, "PYTHONUNBUFFERED": "1"}
        command = ["make", "demo"]
        with subprocess.Popen(
            command, cwd=Path(folder) / "clone", env=environment, stdout=subprocess.PIPE, text=True
        ) as demo:
            for line in demo.stdout or ():
                if pending and line.startswith(pending[0]):
                    now = time.monotonic()
                    print(f"{now - start:6.1f} s  {step}", flush=True)
                    start, step = now, STEPS[pending.pop(0)]
        if pending:
            sys.exit(f"`make demo` did not reach its first answer: nothing began with {pending[0]!r}")
        print(f"{start - began:6.1f} s  in all")


if __name__ == "__main__":
    main()
