"""Finds the path that a service shows in a tree of messages."""

from __future__ import annotations

from collections.abc import Mapping


def trace_path(parents: Mapping[str, str | None], leaf: str | None) -> set[str]:
    """Return the messages from a leaf up to the root.

    Args:
        parents: the id of each message, and of the one that it follows.
        leaf: the last message of the path.
    """
    path: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in path:
        path.add(leaf)
        leaf = parents[leaf]
    return path
