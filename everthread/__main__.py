"""`python -m everthread` is the command `everthread`."""

from everthread.cli import main

main()
