"""`everthread serve` exports traces to a collector, here a server on loopback."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hardship.served import start_command
from hardship.web import post
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from everthread.common.installation import extra_command
from everthread.errors import ConfigError
from everthread.server import tracing

COMMAND = ("-m", "everthread", "--embedder", "hash", "--store")
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@contextmanager
def collect() -> Iterator[tuple[str, list[bytes]]]:
    """Run a collector; yield its address and the bodies that it receives."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read_spans(bodies: list[bytes]) -> list[Span]:
    return [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_requests_are_traced_by_route_within_the_trace_of_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collect() as (url, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        with start_command(*COMMAND, str(tmp_path), "serve", "--port", "0") as running:
            lines = f"{running.url}/api/v1/banks/alice/lines"
            traceparent = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
            assert post(lines, json={"text": "My sister Mia moved."}, headers=traceparent).status_code == 201
            recall = f"{running.url}/api/v1/banks/alice/recall"
            assert post(recall, json={"query": "Where is Mia?"}).status_code == 200
            assert running.stop() == 0
    spans = read_spans(bodies)
    [stored] = [span for span in spans if span.name == "POST /api/v1/banks/{bank}/lines"]
    assert stored.trace_id.hex() == TRACE_ID
    assert {attribute.key for attribute in stored.attributes} == {
        "http.request.method",
        "http.route",
        "http.response.status_code",
        "everthread.bank",
    }
    [observed] = [span for span in spans if span.name == "everthread.observe"]
    assert observed.parent_span_id == stored.span_id
    assert not [word for word in (b"Mia", b"alice", b"sister") if any(word in body for body in bodies)]


def test_without_the_packages_a_collector_is_refused_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_ENDPOINT is set") as refused:
        tracing.install()
    assert extra_command("otel") in str(refused.value)
