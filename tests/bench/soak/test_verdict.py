from pathlib import Path

import pytest

from everthread.bench.soak.journal import Journal, State
from everthread.bench.soak.verdict import Verdict, check_files, compare_lines
from everthread.types import Line, now

MARKER = "zqbcdfghjkmn"


def make_line(seq: int, *, retracted: bool = False) -> Line:
    at = now()
    return Line(seq, "talk", "user", "Kim", f"It was {MARKER}.", at, retracted_at=at if retracted else None)


@pytest.mark.parametrize(
    ("state", "count", "failure"),
    [
        ("stored", 1, None),
        ("stored", 0, "lost"),
        ("stored", 2, "doubled"),
        ("forgotten", 0, None),
        ("forgotten", 1, "remains"),
        ("sending", 0, None),
        ("sending", 2, "doubled"),
    ],
)
def test_a_line_is_judged_by_its_state_and_how_often_it_is_there(
    tmp_path: Path, state: State, count: int, failure: str | None
) -> None:
    journal, verdict = Journal(tmp_path / "journal"), Verdict()
    journal.add(MARKER, "person-1", "talk", state, seq=1)
    compare_lines(verdict, "person-1", map(make_line, range(count)), journal.of_bank("person-1"), "store")
    failed = [kind for kind in ("lost", "doubled", "remains") if getattr(verdict, kind)]
    assert failed == ([] if failure is None else [failure])
    journal.close()


def test_a_cut_marker_beside_other_bytes_is_no_line(tmp_path: Path) -> None:
    (tmp_path / "person-1.bank").write_bytes(MARKER.encode() + b" " + MARKER[:-2].encode() + b"WX")
    journal, verdict = Journal(tmp_path / "journal"), Verdict()
    journal.add(MARKER, "person-1", "talk", "stored")
    check_files(verdict, journal, {MARKER}, {"store": tmp_path})
    assert (verdict.remains, verdict.found_bytes) == ([], 1.0)
    journal.close()


def test_bytes_of_a_reply_that_is_in_no_bank_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "person-1.bank").write_bytes(b"zvbcdfghjkmn")
    journal, verdict = Journal(tmp_path / "journal"), Verdict()
    check_files(verdict, journal, set(), {"store": tmp_path})
    assert verdict.remains == ["zvbcdfghjkmn (of a reply that is in no bank) in the store: person-1.bank"]
    journal.close()


def test_bytes_of_a_line_that_is_in_no_bank_are_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "banks"
    folder.mkdir()
    (folder / "person-1.bank-wal").write_bytes(MARKER.encode())
    journal, verdict = Journal(tmp_path / "journal"), Verdict()
    journal.add(MARKER, "person-1", "talk", "forgotten")
    check_files(verdict, journal, set(), {"store": folder})
    assert verdict.remains == [f"{MARKER} (forgotten) in the store: person-1.bank-wal"]
    journal.close()
