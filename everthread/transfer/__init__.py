"""Import and export: one module for each format, `formats` to choose one, `importing` and `copy_bank` to write banks.

The module of a format has `read(path, ...) -> Iterator[NewLine]`, which streams, yields the same lines each time and
uses no bank. The package may import `memory` and every package below it.
"""
