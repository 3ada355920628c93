"""The methods of `Client` about facts, which are those of `facts.bank_facts`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from everthread.client import decode
from everthread.facts.types import Entity, Fact, Profile


class ClientFacts(ABC):
    """The facts of one bank on a server."""

    @abstractmethod
    def _request(self, method: str, *names: str | int, body: object = None, **query: object) -> Any:
        """Send a request to a path below the bank's, and return the parsed response."""

    @abstractmethod
    def _list_items(self, name: str, **query: object) -> Iterator[Any]:
        """Yield the items of a list of the bank, page by page."""

    def facts(
        self,
        subject: str | None = None,
        attribute: str | None = None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        include_ended: bool = False,
    ) -> list[Fact]:
        """Return what is known, in the order of `Memory.facts`."""
        query = {"subject": subject, "attribute": attribute, "ended": include_ended}
        query |= {"as_of": decode.encode_time(as_of), "known_at": decode.encode_time(known_at)}
        return [decode.fact(item) for item in self._list_items("facts", **query)]

    def get_fact(self, fact_id: int) -> Fact:
        """Return a fact by its id, or by that of one of its statements. Raises NotFound."""
        return decode.fact(self._request("GET", "facts", fact_id))

    def profile(self, name: str | None = None, *, include_ended: bool = False) -> Profile:
        """Return an entity and what is known of it. Raises the same errors as `Memory.profile`."""
        return decode.profile(self._request("GET", "profile", name=name, ended=include_ended))

    def entities(self) -> list[Entity]:
        """Return the people, pets, places, organisations and things that facts name, in the order of their mention."""
        return [decode.entity(item) for item in decode.items(self._request("GET", "entities"))]

    def confirm_fact(self, fact_id: int) -> Fact:
        """Note that the person has confirmed a fact; return it as it is now. Raises NotFound."""
        return decode.fact(self._request("POST", "facts", fact_id, "confirm"))

    def correct_fact(self, fact_id: int, value: str) -> Fact:
        """Replace the value of a fact, also in the past. Raises the same errors as `Memory.correct_fact`."""
        return decode.fact(self._request("PATCH", "facts", fact_id, body={"value": value}))

    def end_fact(self, fact_id: int, moment: str | None = None) -> Fact:
        """Note that a fact is no longer true. Raises the same errors as `Memory.end_fact`."""
        return decode.fact(self._request("POST", "facts", fact_id, "end", body={"moment": moment}))

    def resume_fact(self, fact_id: int) -> Fact:
        """Note that a fact that has ended is still true. Raises the same errors as `Memory.resume_fact`."""
        return decode.fact(self._request("POST", "facts", fact_id, "resume"))

    def list_fact_lines(self, fact_id: int) -> list[int]:
        """Return the numbers of the lines that state a fact's value, also at other times. Raises NotFound."""
        return list(self._request("GET", "facts", fact_id, "lines")["seqs"])

    def forget_fact(self, fact_id: int, *, with_lines: bool = False) -> list[int]:
        """Delete a fact, and its lines if they are to be forgotten with it; return the numbers of its lines.

        Raises the same errors as `Memory.forget_fact`.
        """
        removed = self._request("DELETE", "facts", fact_id, with_lines=with_lines)
        return list(removed["seqs"])

    def merge_entities(self, name: str, other: str) -> Entity:
        """Note that two entities are one; return it. Raises the same errors as `Memory.merge_entities`."""
        return decode.entity(self._request("POST", "entities", "merge", body={"name": name, "other": other}))

    def split_entity(self, name: str, statements: Collection[int]) -> Entity:
        """Note that some statements about an entity are about another one. See `Memory.split_entity`."""
        body = {"name": name, "statements": list(statements)}
        return decode.entity(self._request("POST", "entities", "split", body=body))
