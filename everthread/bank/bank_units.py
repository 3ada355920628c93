"""The methods of `Memory` about units: to write, edit and forget them, and to queue the jobs of scribes."""

from __future__ import annotations

from everthread.bank import corrections, kept_backups, validation
from everthread.bank.damage import raises_bank_damaged
from everthread.embedders.encoder import Encoder
from everthread.stores.base import Store
from everthread.stores.unit_store import UnitStore
from everthread.types import NewUnit, ScribeJob, Unit, now


@raises_bank_damaged
class BankUnits:
    """The units of one bank, and the queue of jobs on them."""

    bank: str
    store: Store
    _encoder: Encoder

    def add_unit(self, unit: NewUnit, *, supersedes: int | None = None, finished_job: ScribeJob | None = None) -> Unit:
        """Store a unit: a text that derives from lines.

        Args:
            unit: the unit.
            supersedes: the id of the current unit of its kind that it replaces.
            finished_job: the job that wrote it; it is removed from the queue in the same transaction.

        Raises:
            BadInput: an argument is invalid.
            NotFound: one of its sources was retracted or forgotten, or the superseded unit is no longer current;
                nothing is stored, and the job stays queued.
            StoreUnavailable: the bank can't be written.
        """
        unit = validation.check_unit(unit)
        validation.check_superseded(supersedes)
        finished_job = finished_job and validation.check_job(finished_job)
        vectors = self._encoder.try_embed_vectors([unit.text])
        vector = vectors[0] if vectors else None
        return self.store.put_unit(
            self.bank, unit, vector, self._encoder.name, now(), supersedes=supersedes, finished_job=finished_job
        )

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Store a unit with a new text that supersedes a current one. Raises the same errors as `add_unit`."""
        new = corrections.build_edit(self.store, self.bank, validation.check_name(kind, "kind"), number, text)
        return self.add_unit(new, supersedes=number)

    def set_notes(self, text: str) -> Unit:
        """Store notes written by hand, which supersede the current ones. Raises the same errors as `add_unit`."""
        new, superseded = corrections.build_note(self.store, self.bank, text)
        return self.add_unit(new, supersedes=superseded)

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Delete a unit and those that it superseded, and return their ids; its lines stay.

        Raises BadInput and NotFound; StoreUnavailable as in `forget`.
        """
        kind, number = validation.check_name(kind, "kind"), validation.check_at_least(number, "a unit's id", 1)

        def forget(store: UnitStore) -> list[int]:
            return store.forget_unit(self.bank, kind, number)

        return kept_backups.forget_units(self.store, self.bank, lambda: forget(self.store), forget)

    def units(self, kind: str | None = None, *, only_current: bool = False, category: str | None = None) -> list[Unit]:
        """Return the units that are not retracted, by kind and id.

        Args:
            kind: only units of this kind.
            only_current: leave out superseded units.
            category: only units of this category.

        Raises:
            BadInput: the kind is invalid.
        """
        kinds = () if kind is None else (validation.check_name(kind, "kind"),)
        units = self.store.units(self.bank, kinds, only_current=only_current)
        return [unit for unit in units if category in (None, unit.category)]

    def enqueue(self, job: ScribeJob) -> None:
        """Queue a job for a scribe, or update a queued one. Raises BadInput; NotFound if its session doesn't exist."""
        self.store.enqueue(self.bank, validation.check_job(job))

    def jobs(self) -> list[ScribeJob]:
        """Return the queued jobs, oldest first."""
        return self.store.jobs(self.bank)

    def dequeue(self, job: ScribeJob) -> None:
        """Remove a job from the queue, if it is queued. Raises BadInput."""
        self.store.dequeue(self.bank, validation.check_job(job))
