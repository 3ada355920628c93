"""Ways in and out of a bank: one format a file.

A reader is `read(path, ...) -> Iterator[NewLine]`. It streams, gives the same lines each time, stores nothing and
knows no bank: run it once to validate the whole file, and again to remember. A line's key names it at its source;
`into.py` tells a bank's own lines from strange ones.
"""
