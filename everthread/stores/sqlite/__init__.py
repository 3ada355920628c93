"""The default store: a folder with one SQLite file per bank, and vectors and postings cached in memory.

The package may import the shared modules of `stores`; it imports nothing from `postgres`.
"""
