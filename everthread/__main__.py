"""The command `everthread`, also as `python -m everthread`.

The command line is imported in `main`, which takes a second, so that an interrupt meanwhile also ends the command with
one line and the exit status 130.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130  # the exit status of a program that SIGINT ended, as shells have it


def main() -> None:
    """Load the command line and run it."""
    try:
        from everthread.cli.main import main as command

        command()
    except KeyboardInterrupt:
        print("\neverthread: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
