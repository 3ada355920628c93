"""Banks for tests: in a temporary folder, embedded by spelling alone; the user's own banks are out of reach."""

import gc
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Set
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hardship import llm
from hypothesis import HealthCheck, settings
from needs import TESTS, module_needs, needs_of

from everthread import Memory
from everthread.factory import open_store
from everthread.stores.base import Store
from everthread.stores.sqlite import bank_file
from everthread.testing import HashEmbedder

# How fast the machine is decides no test.
settings.register_profile("thorough", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", settings.get_profile("thorough"), max_examples=50)
settings.register_profile("unit", settings.get_profile("thorough"), max_examples=12)
settings.load_profile("suite")

PROCESS_STARTED = frozenset(  # audit events
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
)
ASKING = frozenset(("fc-list", "lscpu"))  # started by matplotlib without a cache of fonts, and by older numpy
# The URL of an empty database on the coordinator of a Citus cluster whose nodes have Citus and pgvector. The tests that
# every store must pass then run there as well, one module at a time.
CLUSTER = os.environ.get("EVERTHREAD_TEST_CITUS", "")
DATABASES = {"postgres": "database"} | ({"citus": "cluster"} if CLUSTER else {})  # store -> fixture of its URL
GARBAGE = 20_000  # objects between two collections; with Python's 700, they take 8% of the processor time
MEMORY = "/dev/shm"  # Linux keeps files there in memory
MEMORY_BYTES = 2 << 30  # free at least; the files of all workers and their Postgres servers take less than half of it
LONGEST = frozenset(("browser", "hardship", "process", "slow"))  # the marks of tests that take longest
_guard = {"unit": False}  # whether a unit test is running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--firefox", action="store_true", help="test the page in Firefox instead of Chromium")


def pytest_configure() -> None:
    """Keep the files of tests in memory if there is room: on a disk, they take an eighth of the processor time."""
    with suppress(OSError, AttributeError):  # of another system
        found = os.statvfs(MEMORY)
        if found.f_bavail * found.f_frsize >= MEMORY_BYTES and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules that unit tests can't import, for want of Postgres' driver, for example."""
    unit = config.getoption("markexpr") == "unit" and collection_path.match("test_*.py")
    return True if unit and module_needs(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect the tests without garbage collection, and exempt what they import from later collections.

    Garbage collection would take a fifth of the time, and imports make hardly any garbage. Later, some tests call
    `gc.collect`.
    """
    gc.disable()
    try:
        _import_test_modules(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE)
        gc.enable()


def _import_test_modules(config: pytest.Config) -> None:
    """Import all test modules, in each worker another share of them first, if all of them will be collected.

    Without their bytecode, as in CI, pytest rewrites their assertions, which takes longer than all else. Workers that
    collect them in the same order at the same time would each rewrite all of them.
    """
    worker = getattr(config, "workerinput", None)
    collects_all = config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.getoption("markexpr") != "unit"
    if worker is None or not collects_all:
        return
    files = sorted(TESTS.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    settings_of_folders = sorted(TESTS.rglob("conftest.py"))  # one turns off Haystack's telemetry
    for file in (*settings_of_folders, *files[first:], *files[:first]):
        # In a folder that is not a package, pytest imports them by other names.
        if file.parent == TESTS or (file.parent / "__init__.py").exists():
            with suppress(Exception):  # it is imported again, and reported, when it is collected
                import_module(".".join(file.relative_to(TESTS).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with what it needs, before any is selected, and put the files that take longest first.

    Otherwise the last files would keep one worker busy while the others have nothing left.
    """
    longest = set[Path]()
    for item in items:
        needs = (isinstance(item, pytest.Function) and needs_of(item)) or {"unit"}
        for mark in needs:
            item.add_marker(mark)
        if not LONGEST.isdisjoint(needs):
            longest.add(item.path)
    items.sort(key=lambda item: item.path not in longest)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the stores that the tests ran with."""
    if config.getoption("markexpr") != "unit":
        citus = "" if CLUSTER else "; Citus not tested, because EVERTHREAD_TEST_CITUS names no cluster"
        terminalreporter.write_line(f"stores: sqlite, {', '.join(DATABASES)}{citus}")


def _refuse_processes(
    event: str,
    values: tuple[Any, ...],
    started: Set[str] = PROCESS_STARTED,
    asking: Set[str] = ASKING,
    guard: Mapping[str, bool] = _guard,
) -> None:  # no globals, because it is called until the interpreter has ended
    if event in started and guard["unit"] and values[:1] not in [(name,) for name in asking]:
        raise RuntimeError(f"a unit test raised {event}: name what starts the process in needs.PROCESSES")


sys.addaudithook(_refuse_processes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse processes while a unit test runs."""
    _guard["unit"] = item.get_closest_marker("unit") is not None
    try:
        return (yield)
    finally:
        _guard["unit"] = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Allow processes after the last test, when the servers that others started are stopped."""
    if nextitem is None:
        _guard["unit"] = False


@pytest.fixture(scope="session")
def no_ollama() -> Iterator[str]:
    """Return an address at which no server answers."""
    with llm.closed_port() as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture(autouse=True, scope="session")
def _nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory, no_ollama: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in [name for name in os.environ if name.startswith("EVERTHREAD_")]:
            monkeypatch.delenv(name)
        for name in ("OPENAI_API_KEY", "LC_ALL", "LC_MESSAGES"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("LANG", "C.UTF-8")
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        monkeypatch.setenv("OLLAMA_HOST", no_ollama)  # no model of the user's is asked, either
        home = str(tmp_path_factory.getbasetemp() / "home")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, home)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_wait_for_the_disk() -> Iterator[None]:
    """Leave it to the operating system when to write to the disk: every test would wait for it several times."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(bank_file, "SYNCHRONOUS", "OFF")
        monkeypatch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Yield the URL of a running Postgres server with pgvector."""
    from hardship import postgres

    with postgres.run_server() as url:
        yield url


@pytest.fixture(scope="module")
def database(postgres_server: str) -> Iterator[str]:
    """Yield the URL of an empty database."""
    from hardship import postgres

    with postgres.database(postgres_server) as url:
        yield url


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Yield the URL of a database of a Citus cluster with distributed tables, which are dropped in the end."""
    from hardship import postgres

    with postgres.distributed_tables(CLUSTER) as url:
        yield url


@pytest.fixture(scope="module", params=DATABASES)
def any_database(request: pytest.FixtureRequest) -> str:
    """Return the URL of a database of each kind in turn, which the tests of a module share."""
    return str(request.getfixturevalue(DATABASES[request.param]))


@pytest.fixture(scope="module", params=["sqlite", *DATABASES])
def any_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Yield a store of each kind in turn, which the tests of a module share."""
    sqlite = request.param == "sqlite"
    made = open_store(tmp_path_factory.mktemp("banks") if sqlite else request.getfixturevalue(DATABASES[request.param]))
    yield made
    made.close()
