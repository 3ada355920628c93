"""The metadata of sessions under simultaneous changes, and the session of a line that names none, on all stores."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from everthread import Memory, NewLine
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder


def test_simultaneous_changes_of_a_sessions_metadata_are_all_stored(any_store: Store) -> None:
    memory = Memory("alice", any_store, HashEmbedder(64), Default())
    memory.observe("The kettle sings.", session="s")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.set_session("s", metadata={f"m{number}": number}), range(24)))
    assert memory.sessions()[0].metadata == {f"m{number}": number for number in range(24)}


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
JANUARY = datetime(2026, 1, 7, 9, tzinfo=UTC)


def test_an_old_line_does_not_end_the_live_session(any_store: Store) -> None:
    memory = Memory("old line", any_store, HashEmbedder(64), Default())
    live = memory.observe("Now one.", said_at=NOON)
    old = memory.observe("Old.", said_at=JANUARY)
    older = memory.observe("Old, a minute later.", said_at=JANUARY + timedelta(minutes=1))
    later = memory.observe("Now two.", said_at=NOON + timedelta(minutes=2))
    assert later.session == live.session
    assert old.session == older.session == "2026-01-07T09:00:00Z"


def test_an_old_line_does_not_end_the_live_session_in_one_batch_either(any_store: Store) -> None:
    memory = Memory("old line in a batch", any_store, HashEmbedder(64), Default())
    times = [NOON, JANUARY, NOON + timedelta(minutes=1), JANUARY, NOON + timedelta(hours=2)]
    lines = memory.observe_many([NewLine(f"Line {n}.", said_at=at) for n, at in enumerate(times)])
    assert lines[0].session == lines[2].session
    assert lines[4].session == "2026-05-01T14:00:00Z"


def test_after_an_old_line_an_ended_session_stays_ended(any_store: Store) -> None:
    memory = Memory("ended", any_store, HashEmbedder(64), Default())
    live = memory.observe("Now one.", said_at=NOON)
    memory.end(live.session, NOON)
    memory.observe("Old.", said_at=JANUARY)
    assert memory.observe("Now two.", said_at=NOON + timedelta(minutes=2)).session != live.session
