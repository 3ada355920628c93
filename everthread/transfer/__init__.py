"""Import and export: one module a format, `formats` to choose among them, `importing` and `copy_bank` to write a bank.

The module of a format has `read(path, ...) -> Iterator[NewLine]`, which streams, yields the same lines each time and
uses no bank. The package may import `memory` and what lies below it.
"""
