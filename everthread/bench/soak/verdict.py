"""Compares the banks at the end with the journal: acknowledged lines are there once, forgotten ones nowhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from everthread import factory
from everthread.bench.soak.journal import Entry, Journal
from everthread.bench.soak.markers import find_in_files, find_markers, is_of_model
from everthread.client.client import Client
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.types import Line

MAX_EXAMPLES = 20  # of each kind of failure

# For each state, how often a line may be among the active lines and among the retracted ones.
EXPECTED: Mapping[str, frozenset[tuple[int, int]]] = {
    "sending": frozenset({(0, 0), (1, 0)}),
    "stored": frozenset({(1, 0)}),
    "retracting": frozenset({(1, 0), (0, 1)}),
    "retracted": frozenset({(0, 1)}),
    "forgetting": frozenset({(0, 0), (1, 0), (0, 1)}),
    "forgotten": frozenset({(0, 0)}),
}


@dataclass
class Verdict:
    """The findings at the end. A failure is described by one text.

    Attributes:
        stored: acknowledged lines that had to be there.
        forgotten: lines that had to be nowhere.
        lost: acknowledged lines that are missing.
        doubled: lines that are there more than once.
        remains: forgotten lines that were found, or bytes of lines that are in no bank.
        damaged: banks in which the check of the store found something.
        searched_bytes: whether the bytes of the files were searched.
        found_bytes: share of the lines that the same search found there, which shows that it finds lines.
    """

    stored: int = 0
    forgotten: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    remains: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    searched_bytes: bool = False
    found_bytes: float = 0.0

    @property
    def failures(self) -> int:
        """The number of failures."""
        return len(self.lost) + len(self.doubled) + len(self.remains) + len(self.damaged)

    def text(self) -> str:
        """Return the counts, and examples of the failures."""
        where = (
            f"the same search found {self.found_bytes:.1%} of the stored lines" if self.searched_bytes else "no files"
        )
        rows = [
            f"{self.stored:,} acknowledged lines: {len(self.lost)} lost, {len(self.doubled)} more than once; "
            f"{self.forgotten:,} forgotten: {len(self.remains)} found ({where}); {len(self.damaged)} banks damaged"
        ]
        for kind in ("lost", "doubled", "remains", "damaged"):
            rows += [f"  {kind}: {failure}" for failure in getattr(self, kind)[:MAX_EXAMPLES]]
        return "\n".join(rows)


def check_server(verdict: Verdict, journal: Journal, url: str, banks: Iterable[str]) -> None:
    """Compare what the running server returns with the journal: lines, export, units, facts and what is recalled."""
    for bank in banks:
        with Client(url, bank) as client:
            entries = journal.of_bank(bank)
            try:
                lines = list(client.lines(include_retracted=True, include_wordless=True))
                texts = {
                    "export": "\n".join(client.export(retracted=True)),
                    "units": "\n".join(unit.text for unit in client.units()),
                    "facts": repr([client.facts(include_ended=True), client.entities(), client.sessions()]),
                    "recall": _recall_forgotten(client, entries),
                }
            except NotFound:
                lines, texts = [], {}
            compare_lines(verdict, bank, lines, entries, "server")
            known = {marker for line in lines for marker in find_markers(line.text)}
            for name, text in texts.items():
                for marker in sorted(set(find_markers(text)) - known):
                    verdict.remains.append(f"{bank}: {marker} in the {name} of the server")


def _recall_forgotten(client: Client, entries: Iterable[Entry]) -> str:
    """Return what is recalled and found for some lines that were forgotten."""
    forgotten = [entry.marker for entry in entries if entry.state == "forgotten"][-MAX_EXAMPLES:]
    return repr([client.recall(" ".join(forgotten)), [list(client.search(each)) for each in forgotten[-3:]]])


def check_store(verdict: Verdict, journal: Journal, location: str, banks: Iterable[str]) -> set[str]:
    """Compare the banks with the journal while no server uses them. Returns the markers of all lines in them."""
    known: set[str] = set()
    with closing(factory.open_store(location)) as store:
        embedder, recipe = factory.open_embedder("hash"), factory.open_recipe("default")
        for bank in banks:
            lines: list[Line] = []
            if store.exists(bank):
                lines = list(Memory(bank, store, embedder, recipe).lines(include_retracted=True, include_wordless=True))
                verdict.damaged += [f"{bank}: {problem}" for problem in store.check(bank)]
            compare_lines(verdict, bank, lines, journal.of_bank(bank), "store")
            known |= {marker for line in lines for marker in find_markers(line.text)}
    return known


def compare_lines(verdict: Verdict, bank: str, lines: Iterable[Line], entries: Iterable[Entry], where: str) -> None:
    """Compare the lines of a bank, the retracted ones included, with the journal."""
    active, retracted = Counter[str](), Counter[str]()
    for line in lines:
        (active if line.retracted_at is None else retracted).update(set(find_markers(line.text)))
    listed = set()
    for entry in entries:
        listed.add(entry.marker)
        found = active[entry.marker], retracted[entry.marker]
        if found in EXPECTED[entry.state]:
            continue
        text = f"{bank}: {entry.marker} (seq {entry.seq}, session {entry.session}, {entry.state}) is {found[0]} times "
        text += f"among the active and {found[1]} times among the retracted lines of the {where}"
        if entry.state == "forgotten":
            verdict.remains.append(text)
        elif sum(found) > 1:
            verdict.doubled.append(text)
        else:
            verdict.lost.append(text)
    for marker in (active.keys() | retracted.keys()) - listed:  # of replies whose reader had left
        if active[marker] + retracted[marker] > 1:
            verdict.doubled.append(f"{bank}: {marker}, of a reply, is in several lines of the {where}")


def check_files(verdict: Verdict, journal: Journal, known: set[str], places: Mapping[str, Path]) -> None:
    """Search the bytes of files for lines that are in no bank.

    Args:
        verdict: what was found so far.
        journal: of all lines.
        known: the markers of all lines in the banks.
        places: the folders by their names; the one named "store" must have all lines.
    """
    for name, folder in places.items():
        found = find_in_files([folder])
        for marker in sorted(found.keys() - known):
            entry = journal.entries.get(marker)
            if entry is None and not is_of_model(marker):
                continue  # no line, as the journal has all markers of persons: a cut one before other bytes
            state = entry.state if entry else "of a reply that is in no bank"
            paths = ", ".join(str(path.relative_to(folder)) for path in sorted(found[marker]))
            verdict.remains.append(f"{marker} ({state}) in the {name}: {paths}")
        if name == "store":
            verdict.searched_bytes = True
            verdict.found_bytes = len(known & found.keys()) / max(len(known), 1)


def count_expected(verdict: Verdict, journal: Journal) -> None:
    """Count the lines that had to be there and those that had to be nowhere."""
    verdict.stored, verdict.forgotten = journal.count("stored") + journal.count("retracted"), journal.count("forgotten")


def find_in_tables(url: str, known: set[str]) -> list[str]:
    """Return descriptions of lines in the tables of a database that are in no bank."""
    import psycopg

    remains: list[str] = []
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        for (table,) in tables:
            rows = connection.execute(f'SELECT to_jsonb(t)::text FROM "{table}" t').fetchall()
            markers = set(find_markers(json.dumps(rows)))
            remains += [f"{marker} in the table {table}" for marker in sorted(markers - known)]
    return remains
