"""The command `everthread`, also as `python -m everthread`.

The command line is imported inside `main`: this takes about a second, and an interrupt during it must also end the
command with one line and the exit status 130.
"""

from __future__ import annotations

import os
import sys

from everthread.common.fast_imports import without_garbage_collection

INTERRUPTED = 130  # the exit status of a program that SIGINT ended, by shell convention


def main() -> None:
    """Load the command line and run it. A hook loads only what it needs, because a prompt waits for it."""
    _open_closed_streams()
    try:
        if sys.argv[1:2] == ["hook"]:
            with without_garbage_collection():
                from everthread.cli.hook import hook

            hook(sys.argv[2:], prog_name="everthread hook")
        else:
            with without_garbage_collection():
                from everthread.cli.main import main as command

            command()
    except KeyboardInterrupt:
        print("\neverthread: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        # After an interrupt in `exec`, which dataclasses use, Python ends by the signal unless `exec` succeeds later.
        exec("")  # noqa: S102


def _open_closed_streams() -> None:
    """Open standard streams that the caller has closed, which are None, as empty ones."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends


if __name__ == "__main__":
    main()
