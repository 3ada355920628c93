"""Runs the soak: the server, the clients, the disturbances, the measurements and the verdict."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from everthread import factory
from everthread.bench.loopback import HOST, run_process
from everthread.bench.soak import verdict as verdicts
from everthread.bench.soak.journal import Journal
from everthread.bench.soak.model import run_model
from everthread.bench.soak.person import Person
from everthread.bench.soak.requests import Calls, PatientConnection
from everthread.bench.soak.server import EXIT_STATUSES, ServerProcess
from everthread.bench.soak.verdict import Verdict
from everthread.bench.soak.windows import Sample, Window, build_windows, compare_thirds, measure_growth, table
from everthread.errors import BadInput
from everthread.types import now

SIMULATED_DAYS = 180  # of talk
CLIENT_COUNT = 6  # people who do something at the same time
PAUSE_S = 0.05  # of a client between two things
KEPT_BACKUPS = 2
DISTURBANCES = ("kill", "restart", "kill worker", "kill")  # in this order, again and again
BACKUP_TIMEOUT_S = 600.0
DISTURBANCE_COUNT = 12  # in a run, by default

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan: minutes of the run, people, seed of all choices, workers of the server, seconds between two
    disturbances."""

    minutes: float = 60.0
    people: int = 200
    seed: int = 0
    workers: int = 1
    interval_s: float = 300.0

    def __post_init__(self) -> None:
        if min(self.minutes, self.interval_s) <= 0 or min(self.people, self.workers) < 1:
            raise BadInput(
                f"minutes, interval, people and workers must be positive, got {self.minutes}, {self.interval_s}, "
                f"{self.people}, {self.workers}"
            )


@dataclass(frozen=True, slots=True)
class SoakResult:
    """The results of one run. growth is in MiB an hour; folder is kept if something failed."""

    plan: Plan
    seconds: float
    calls: Calls
    windows: list[Window]
    growth: float | None
    disturbances: dict[str, int]
    backups: int
    recalled: tuple[int, int]
    unreachable: int
    relapses: list[str]
    problems: list[str]
    verdict: Verdict
    folder: Path | None = None

    @property
    def failed(self) -> bool:
        """True if a line was lost, doubled or found after it was forgotten."""
        return bool(self.verdict.failures or self.relapses)

    def json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            **asdict(self.plan),
            "seconds": round(self.seconds, 1),
            "calls": dict(self.calls.count),
            "repeated": self.calls.repeated,
            "blocked": self.calls.blocked,
            "refusals": dict(self.calls.refusals),
            "errors": dict(self.calls.errors),
            "windows": [asdict(window) for window in self.windows],
            "ratios": compare_thirds(self.windows),
            "growth": self.growth,
            "disturbances": self.disturbances,
            "backups": self.backups,
            "recalled": self.recalled,
            "unreachable": self.unreachable,
            "relapses": self.relapses,
            "problems": self.problems,
            **asdict(self.verdict),
        }

    def text(self) -> str:
        """Return the figures as text, for the terminal and the docs."""
        calls, done = self.calls, ", ".join(f"{count} × {name}" for name, count in self.disturbances.items())
        rows = [
            f"{self.plan.people} people, {SIMULATED_DAYS} days in {self.seconds / 60:.1f} minutes, "
            f"{self.plan.workers} workers, seed {self.plan.seed}: {sum(calls.count.values()):,} calls "
            f"({', '.join(f'{name} {count:,}' for name, count in sorted(calls.count.items()))})",
            f"{done or 'no disturbances'}, {self.backups} backups; {calls.repeated} calls repeated after an "
            f"interruption, {calls.blocked} under a new key",
            "",
            table(self.windows),
            "",
            f"memory grows by {'-' if self.growth is None else f'{self.growth:.0f}'} MiB an hour between restarts",
            f"{self.recalled[0]:,} of {self.recalled[1]:,} lines recalled by a question with their words; "
            f"{self.unreachable} receipts name a backup out of reach",
        ]
        for title, counts in (("refused", calls.refusals), ("error", calls.errors)):
            rows += [f"{title}, {count} times: {text}" for text, count in counts.most_common()]
        rows += [f"problem: {problem}" for problem in self.problems]
        rows += [f"recalled after it was forgotten: {marker}" for marker in self.relapses]
        rows += ["", self.verdict.text()]
        if self.folder is not None:
            rows.append(f"banks, backups, log and journal are kept in {self.folder}")
        return "\n".join(rows)


@dataclass
class _Soak:
    """The parts of one run."""

    plan: Plan
    folder: Path
    store: str
    server: ServerProcess
    journal: Journal
    calls: Calls
    progress: Progress
    samples: list[Sample] = field(default_factory=list)
    disturbances: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    backups: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    outage: threading.Lock = field(default_factory=threading.Lock)

    @property
    def seconds(self) -> float:
        return 60 * self.plan.minutes

    @property
    def is_folder(self) -> bool:
        return "://" not in self.store


def run_soak(
    plan: Plan, store: str | None = None, embedder: str | None = None, progress: Progress = lambda text: None
) -> SoakResult:
    """Play months of talk, and check what is left.

    Args:
        plan: what is played.
        store: an empty folder or the URL of an empty database; default: a temporary folder.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: a number is not positive, or the store has banks.
        ModelError: a server does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="everthread-soak-"))
    location = store or str(folder / "banks")
    _check_empty(location)
    with run_process(run_model, plan.seed) as model:
        server = ServerProcess(location, f"http://{HOST}:{model.port}/v1", folder, embedder, plan.workers)
        server.start()
        journal = Journal(folder / "journal.jsonl")
        soak = _Soak(plan, folder, location, server, journal, Calls(), progress)
        try:
            _play(soak)
            verdict = _judge(soak)
        finally:
            server.kill()
            journal.close()
    result = _build_result(soak, verdict)
    if not result.failed:
        shutil.rmtree(folder)
    return result


def _check_empty(location: str) -> None:
    store = factory.open_store(location)
    try:
        if banks := store.banks():
            raise BadInput(f"{location} has the bank {banks[0]!r}; name an empty folder or database")
    finally:
        store.close()


# ------------------------------------------------------------------------- playing


def _play(soak: _Soak) -> None:
    """Let the clients talk until the end, and disturb the server meanwhile."""
    started_at = now() - timedelta(days=SIMULATED_DAYS)

    def simulated_now() -> datetime:
        return started_at + timedelta(days=SIMULATED_DAYS * min(soak.calls.elapsed_s() / soak.seconds, 1.0))

    connections = [PatientConnection(soak.server.url, soak.calls) for _ in range(CLIENT_COUNT)]
    soak.people = [
        Person(number, soak.plan.seed, connections[number % CLIENT_COUNT], soak.journal, simulated_now)
        for number in range(soak.plan.people)
    ]
    threads = [
        threading.Thread(target=_talk, args=(soak, soak.people[number::CLIENT_COUNT], number), name=f"client {number}")
        for number in range(min(CLIENT_COUNT, soak.plan.people))
    ]
    threads.append(threading.Thread(target=_sample, args=(soak,), name="samples"))
    for thread in threads:
        thread.start()
    try:
        _disturb(soak)
    finally:
        soak.over.set()
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()


def _talk(soak: _Soak, people: Sequence[Person], number: int) -> None:
    """Let some people do one thing after another."""
    rng = Random(f"{soak.plan.seed}/client {number}")
    try:
        while not soak.over.is_set():
            rng.choice(people).act()
            soak.over.wait(rng.uniform(0, 2 * PAUSE_S))
    except Exception as error:  # of any kind: a test that has lost a client must not pass
        soak.problems.append(f"client {number} has ended: {error!r}")
        raise


def _sample(soak: _Soak) -> None:
    """Measure the server at regular moments, when it is not being started."""
    while not soak.over.wait(max(0.5, soak.seconds / 300)):
        with soak.outage:
            usage, started_at = soak.server.usage(), soak.server.started_at
            lines = sum(soak.journal.count(state) for state in ("stored", "retracted"))
            age_s = time.monotonic() - started_at
            soak.samples.append(
                Sample(soak.calls.elapsed_s(), age_s, usage.memory, usage.descriptors, _count_bytes(soak.store), lines)
            )


def _count_bytes(location: str) -> int:
    """Return the size of the files of a store."""
    if "://" in location:
        import psycopg

        with psycopg.connect(location) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            return int(row[0]) if row else 0
    total = 0
    for path in Path(location).rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # removed meanwhile
            continue
    return total


# ----------------------------------------------------------------------- disturbing


def _disturb(soak: _Soak) -> None:
    """Restart and kill the server at regular intervals, each time while a backup is made, until the end."""
    rng, number = Random(f"{soak.plan.seed}/disturbances"), 0
    while (rest_s := soak.seconds - soak.calls.elapsed_s()) > 0:
        if rest_s <= soak.plan.interval_s:
            soak.over.wait(rest_s)
            return
        soak.over.wait(soak.plan.interval_s)
        with _back_up(soak):
            soak.over.wait(rng.uniform(0, min(3.0, soak.plan.interval_s / 4)))
            name = DISTURBANCES[number % len(DISTURBANCES)]
            if name == "kill worker" and soak.plan.workers == 1:
                name = "kill"
            number += 1
            soak.disturbances[name] = soak.disturbances.get(name, 0) + 1
            _disturb_once(soak, name, rng)
        soak.progress(f"{soak.calls.elapsed_s() / 60:.1f} minutes: {name}, {sum(soak.calls.count.values()):,} calls")


def _disturb_once(soak: _Soak, name: str, rng: Random) -> None:
    if name == "kill worker":
        soak.server.kill_worker(rng)
        return
    with soak.outage:
        if name == "kill":
            soak.server.kill()
        elif (status := soak.server.stop()) not in EXIT_STATUSES:
            soak.problems.append(f"the server ended with status {status}")
        soak.server.start()


@contextmanager
def _back_up(soak: _Soak) -> Iterator[None]:
    """Make a backup in another process while the block runs."""
    command = [sys.executable, "-m", "everthread", "--store", soak.store, "backup", str(soak.folder / "backups")]
    process = subprocess.Popen(
        [*command, "--keep", str(KEPT_BACKUPS)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield
    finally:
        _, message = process.communicate(timeout=BACKUP_TIMEOUT_S)
        soak.backups += process.returncode == 0
        if process.returncode:
            soak.problems.append(f"a backup failed: {message.decode().strip().splitlines()[-1:]}")


# -------------------------------------------------------------------------- judging


def _judge(soak: _Soak) -> Verdict:
    """Compare everything that is left with the journal: over the API, then in the store and the bytes of all files."""
    verdict, banks = Verdict(), [person.bank for person in soak.people]
    soak.progress("checking what the server returns")
    verdicts.count_expected(verdict, soak.journal)
    with _back_up(soak):
        pass
    verdicts.check_server(verdict, soak.journal, soak.server.url, banks)
    try:
        if (status := soak.server.stop()) not in EXIT_STATUSES:
            soak.problems.append(f"the server ended with status {status}")
    except subprocess.TimeoutExpired:
        soak.problems.append("the server does not stop")
        soak.server.kill()
    soak.progress("checking the store and its files")
    known = verdicts.check_store(verdict, soak.journal, soak.store, banks)
    places = {"backups": soak.folder / "backups", "temporary files": soak.server.temporary_folder}
    if soak.is_folder:
        places["store"] = Path(soak.store)
    else:
        verdict.remains += verdicts.find_in_tables(soak.store, known)
    verdicts.check_files(verdict, soak.journal, known, places)
    return verdict


def _build_result(soak: _Soak, verdict: Verdict) -> SoakResult:
    people = soak.people
    relapses = [marker for person in people for marker in person.relapses]
    return SoakResult(
        plan=soak.plan,
        seconds=soak.calls.elapsed_s(),
        calls=soak.calls,
        windows=build_windows(soak.calls.times, soak.samples, soak.seconds),
        growth=measure_growth(soak.samples),
        disturbances=soak.disturbances,
        backups=soak.backups,
        recalled=(sum(person.recalled for person in people), sum(person.asked for person in people)),
        unreachable=sum(person.unreachable for person in people),
        relapses=relapses,
        problems=soak.problems,
        verdict=verdict,
        folder=soak.folder if verdict.failures or relapses else None,
    )
