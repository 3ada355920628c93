"""The app as a whole."""

import subprocess
import sys
from pathlib import Path

TRACED = """
import sys
from pathlib import Path
from fastapi.testclient import TestClient
from opentelemetry import trace
from everthread.testing import HashEmbedder
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore

tracers = []

class NamingProvider(trace.TracerProvider):
    def get_tracer(self, name, *args, **kwargs):
        tracers.append(name)
        return trace.NoOpTracer()

trace.set_tracer_provider(NamingProvider())
store = SQLiteStore(Path(sys.argv[1]))
with TestClient(create_app(Services(store, HashEmbedder(64), None, Default())), base_url="http://127.0.0.1") as client:
    assert client.post("/api/v1/banks/alice/lines", json={"text": "a secret"}).status_code == 201
store.close()
assert set(tracers) == {"everthread"}, tracers
"""


def test_only_the_apps_own_spans_go_to_the_opentelemetry_of_its_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRACED, str(tmp_path)], capture_output=True, text=True, env={"HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr


FROZEN = """
import gc
import sys
import time
from pathlib import Path
from fastapi.testclient import TestClient
from everthread.testing import HashEmbedder
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.services import Services
from everthread.stores.sqlite.store import SQLiteStore

for closes in (False, True):
    services = Services(SQLiteStore(Path(sys.argv[1])), HashEmbedder(64), None, Default())
    with TestClient(create_app(services, closes=closes), base_url="http://127.0.0.1") as client:
        assert client.get("/healthz").status_code == 200
    services.store.close()
    print(gc.get_freeze_count() > 10_000)
"""


def test_a_process_that_only_serves_freezes_its_permanent_objects(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FROZEN, str(tmp_path)], capture_output=True, text=True, env={"HOME": str(tmp_path)}
    )
    assert done.stdout.split() == ["False", "True"], done.stderr
