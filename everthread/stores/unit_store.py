"""The part of the interface of a store that saves memory units: texts derived from lines."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everthread.types import JSONValue, Line, NewUnit, ScribeJob, Unit, Vector, Vectors

UnitKey = tuple[str, int]  # a unit's kind and id
UnitCosines = list[tuple[str, int, float]]  # kind, id and cosine of units, by kind and id
UnitVersion = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class UnitReplacement:
    """An atomic replacement of units of one kind, with the setting that records how far their writer has read.

    Attributes:
        kind: the kind of all these units.
        delete_ids: ids of the units to delete.
        units: the new units.
        vectors: (pieces, D) of each new unit, in their order.
        min_id: new units get ids above this one and above every existing id.
        setting: the name of the setting.
        expected_value: the setting's value when the replacement was computed.
        make_value: computes its new value from the id of the first new unit.
        supersedes: ids of units that the first new units supersede, in their order.
        forgets: whether to remove the deleted units from the records of recall as well, and erase their bytes, as
            `forget_unit` does.
        lines: the lines that were read for the replacement. If one has been removed, or another is stored under its
            number, as in a bank that was forgotten and created again, nothing is replaced.
    """

    kind: str
    delete_ids: Sequence[int]
    units: Sequence[NewUnit]
    vectors: Sequence[Vectors]
    min_id: int
    setting: str
    expected_value: JSONValue | None
    make_value: Callable[[int], JSONValue]
    supersedes: Sequence[int] = ()
    forgets: bool = False
    lines: Sequence[Line] = ()


class UnitStore(Protocol):
    """Saves memory units and their vectors. Units of one kind are numbered 1, 2, 3 …"""

    def put_unit(
        self,
        bank: str,
        unit: NewUnit,
        vectors: Vectors | None,
        model: str,
        at: datetime,
        *,
        supersedes: int | None = None,
        finished_job: ScribeJob | None = None,
    ) -> Unit:
        """Store a unit in one transaction.

        Args:
            bank: the bank.
            unit: the unit.
            vectors: (pieces, D) of its text; None if no embedder answered.
            model: the name of the embedder.
            at: the time from which it is current.
            supersedes: the id of the current unit of its kind that ends with it.
            finished_job: a job to remove from the queue.

        Raises:
            NotFound: a source line is missing or retracted, the span ends after the bank's last line, the unit of
                `supersedes` is not current, or there is a current note, or a current summary of the session, and
                `supersedes` is None. Nothing is stored.
        """

    def restore_unit(self, bank: str, unit: Unit, vectors: Vectors | None, model: str) -> None:
        """Store a unit of another store unchanged, replacing the unit of the same kind and id."""

    def forget_unit(self, bank: str, kind: str, number: int) -> list[int]:
        """Delete a unit and the units that it superseded. Erases bytes as `forget` does.

        Returns:
            The ids of the deleted units, its own first.

        Raises:
            NotFound: there is no such unit, or it is retracted.
        """

    def replace_units(self, bank: str, replacement: UnitReplacement, model: str, at: datetime) -> bool:
        """Delete units, write others and store the setting, in one transaction.

        Returns:
            False, with nothing changed, if the setting has another value now, a source line of the new units is missing
            or retracted, a unit to supersede is not current, or the bank was forgotten.

        Raises:
            StoreUnavailable: for units that are forgotten also if they are deleted, but bytes of them may remain.
        """

    def units(
        self,
        bank: str,
        kinds: Sequence[str] = (),
        *,
        only_current: bool = False,
        include_retracted: bool = False,
        ids: Sequence[int] | None = None,
    ) -> list[Unit]:
        """Return units, by kind and id.

        Args:
            bank: the bank.
            kinds: only units of these kinds; empty for all.
            only_current: only units that no other supersedes.
            include_retracted: retracted units too.
            ids: only units with these ids; None for all.
        """

    def unit_version(self, bank: str, kind: str) -> UnitVersion:
        """Return a value that changes with the units of a kind that are not retracted; cheaper than reading them."""

    def unit_spans(self, bank: str, kind: str, *, retracted: bool = False) -> npt.NDArray[np.int64]:
        """Return (U, 3) id, first and last seq of the units of a kind, by id: the retracted ones, or all others."""

    def unit_cosines(
        self, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None = None
    ) -> UnitCosines:
        """Return the cosine of the nearest piece of each unit to the query.

        Args:
            bank: the bank.
            model: the name of the embedder.
            query: (D,) or (Q, D).
            kinds: only units of these kinds; empty for all.
            k: only the k nearest units.

        Returns:
            Kind, id and cosine of the units that are not retracted and have a vector of the model, by kind and id.
        """

    def units_without_vectors(self, bank: str, model: str, dim: int) -> list[Unit]:
        """Return the units that are not retracted and have no vector of this model, by kind and id."""

    def put_unit_vectors(self, bank: str, model: str, vectors: Mapping[tuple[str, int], Vectors]) -> None:
        """Store the vectors of units: kind and id -> (pieces, D). Missing and retracted units are ignored."""
