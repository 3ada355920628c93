"""Restricts searches to the lines of some roles, such as a bot's replies."""

from __future__ import annotations

from dataclasses import replace

from everthread.stores.base import CorpusStats
from everthread.stores.filters import allowed_names
from everthread.types import Filter, Role


def restrict_to_roles(where: Filter | None, roles: tuple[Role, ...], corpus: CorpusStats) -> Filter:
    """Return the filter narrowed to lines of these roles.

    In a bank without a bot (people among themselves) every line counts as a reply, and the filter is unchanged.

    Args:
        where: the caller's filter; its roles restrict the lines as well.
        roles: the roles that are searched.
        corpus: the bank's statistics.
    """
    where = where or Filter()
    if not corpus.has_assistant:
        return where
    allowed = roles if where.role is None else allowed_names(where.role, "role")
    return replace(where, role=tuple(role for role in roles if role in allowed))
