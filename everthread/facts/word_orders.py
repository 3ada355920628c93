"""Derives the orders of words in which a language states the same thing. Pure.

In German the verb is second ("ich wohne in Köln"), may be before its subject ("seit Mai wohne ich in Köln"), or is last
("weil ich in Köln wohne"). So a pattern may have `clauses` beside its forms, each with

- `me`: the verb in the first person singular, which may have no subject, and `others`: its other forms;
- `said`: what it says, a list of templates; `stop`: what must follow if the verb doesn't;
- `done`: the rest of the verb ("gezogen"), which then ends the clause;
- `near`: whether between its parts only what the macro `near` matches may be, not all that `adv` does.

The table `orders` of the grammar has templates of them, in which {verb} is any form of the verb and {past} is `done`
alone. The templates `subject` add forms to the pattern. The templates `unsaid` (with {me}), `inverted` and `fronted`
("in Köln wohne ich") make further patterns. The templates `elided` are for clauses with `elides`, whose verb
is left out if the clause before has it ("sie ist 38, geschieden und Ärztin").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACE = re.compile(r"\{(verb|me|said|stop|done|past)\}")


def derive_orders(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a grammar in which the clauses of each pattern are forms."""
    orders = table["orders"]
    return {**table, "patterns": [each for pattern in table["patterns"] for each in _derive(pattern, orders)]}


def _derive(pattern: Mapping[str, Any], orders: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Yield the pattern of the forms, and those of each clause, which are only tried on lines with its verb."""
    plain = {name: value for name, value in pattern.items() if name != "clauses"}
    if plain.get("forms"):
        yield plain
    for clause in pattern.get("clauses", ()):
        yield from _derive_clause({**plain, "context": _list_parts(clause, "")["context"]}, clause, orders)


def _derive_clause(
    plain: Mapping[str, Any], clause: Mapping[str, Any], orders: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    elided = _write(orders.get("elided", []), clause) if clause.get("elides") else []
    yield {**plain, "forms": [*_write(orders["subject"], clause), *elided]}
    shared = {name: value for name, value in plain.items() if name != "bare"}
    if plain.get("about", "anyone") in ("anyone", "speaker"):
        if "me" in clause:
            unsaid = _write(orders["unsaid"], clause)
            yield shared | {"forms": unsaid, "bare": "verb", "joins": False, "about": "speaker"}
        yield shared | {"forms": _write(orders["fronted"], clause), "about": "speaker"}
    yield shared | {"forms": _write(orders["inverted"], clause), "anywhere": True, "is_event": True}


def _write(orders: list[str], clause: Mapping[str, Any]) -> list[str]:
    """Write a clause in each order."""
    return [
        _fill(order, clause, said)
        for order in orders
        for said in clause["said"]
        if "{past}" not in order or "done" in clause
    ]


def _fill(order: str, clause: Mapping[str, Any], said: str) -> str:
    """Write a clause in an order."""
    parts = _list_parts(clause, said)
    form = _PLACE.sub(lambda place: parts[place[1]], order if said else _drop_said(order))
    return form.replace("{adv}", "{near}") if clause.get("near") else form


def _drop_said(order: str) -> str:
    return order.replace(" {said}", "").removeprefix("{said} ")


def _list_parts(clause: Mapping[str, Any], said: str) -> dict[str, str]:
    """Return what takes the place of each name in an order."""
    verbs = "|".join(clause[name] for name in ("me", "others") if name in clause)
    done = clause.get("done")
    return {
        "context": rf"\b(?:{done or verbs})\b",
        "verb": f"(?:{verbs})",
        "me": f"(?:{clause.get('me', '')})",
        "said": said,
        "stop": "" if done else clause.get("stop", ""),
        "past": f"(?:{done})",
        "done": f"{{adv}} (?:{done})(?!\\w)" if done else "",
    }
