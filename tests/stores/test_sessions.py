"""The metadata of sessions under simultaneous changes, on both stores."""

from concurrent.futures import ThreadPoolExecutor

from everthread import Memory
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder


def test_simultaneous_changes_of_a_sessions_metadata_are_all_stored(any_store: Store) -> None:
    memory = Memory("alice", any_store, HashEmbedder(64), Default())
    memory.observe("The kettle sings.", session="s")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.set_session("s", metadata={f"m{number}": number}), range(24)))
    assert memory.sessions()[0].metadata == {f"m{number}": number for number in range(24)}
