"""The `everthread` command: one module for each command, `common` for what the commands share.

Only this package and `bench` import click; it may import every package except `bench`, whose command is loaded by name.
"""
