"""Runs the tests of the Agents SDK's SQLite session, unchanged, with ours: `python openai_agents_suite.py FOLDER`.

FOLDER has the unpacked source of openai-agents. Exits with 1 if a test fails that `LEFT_OUT` doesn't name.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import agents
import pytest
from agents import SessionSettings

from everthread import Memory
from everthread.compat.openai_agents import EverthreadSession
from everthread.testing import HashEmbedder

SQL = "tests the connections, locks or transactions of SQLite's session"
ROWS = "writes broken rows into SQLite's table"
SETTINGS = "expects settings as a dict; ours are a SessionSettings"
LEFT_OUT: Mapping[str, str] = {
    "test_sqlite_session_close_closes_worker_thread_connections": SQL,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": SQL,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": SQL,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": SQL,
    "test_sqlite_session_closed_rejects_empty_add_items": SQL,
    "test_sqlite_session_file_lock_is_shared_across_instances": SQL,
    "test_sqlite_session_failed_add_items_releases_write_lock": SQL,
    "test_sqlite_session_failed_clear_session_rolls_back": SQL,
    "test_sqlite_session_failed_pop_item_releases_write_lock": SQL,
    "test_sqlite_session_rollback_failure_evicts_connection": SQL,
    "test_sqlite_session_close_retries_quarantined_connection": SQL,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": SQL,
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": ROWS,
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": ROWS,
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": ROWS,
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": ROWS,
    "test_session_settings_constructor_normalizes_dictionary": SETTINGS,
    "test_session_settings_rejects_unknown_dictionary_fields": SETTINGS,
}


class SuiteSession(EverthreadSession):
    """Our session, opened as the suite opens SQLite's."""

    def __init__(self, session_id: str, path: Path | str | None = None, **options: Any) -> None:
        folder = Path(tempfile.mkdtemp()) if path is None else Path(path).with_suffix("")
        memory = Memory.open("suite", store=folder, embedder=HashEmbedder())
        super().__init__(session_id, memory, options.get("session_settings") or SessionSettings())
        self.close = memory.close


class RunCoroutines:
    """A plugin of pytest that runs asynchronous tests."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "asyncio: an asynchronous test")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = inspect.signature(pyfuncitem.obj).parameters
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True


if __name__ == "__main__":
    vars(agents)["SQLiteSession"] = SuiteSession
    source = next(Path(sys.argv[1]).glob("openai_agents-*/"))
    sys.path.insert(0, str(source))
    suites = [f"tests/memory/{name}.py" for name in ("test_session", "test_session_limit")]
    left_out = [f"--deselect={suites[0]}::{name}" for name in LEFT_OUT]
    options = [
        "-q",
        "-n0",
        "-c",
        "/dev/null",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:langsmith_plugin",
        "-p",
        "no:asyncio",
        f"--rootdir={source}",
    ]
    files = [str(source / suite) for suite in suites]
    sys.exit(pytest.main([*options, *left_out, *files, *sys.argv[2:]], plugins=[RunCoroutines()]))
