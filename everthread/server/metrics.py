"""Metrics for Prometheus. No label contains a bank, a key or an address.

Several processes of one server count together, in a folder that `runner` creates.
"""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

MULTIPROC_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client's own name for it
DURATION_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one app; several apps can be in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._create_counter("requests", "Requests answered.", ("route", "method", "status"))
        self.durations = Histogram(
            "everthread_request_seconds",
            "Seconds from a request's head to the end of its response.",
            ("route", "method"),
            buckets=DURATION_BUCKETS_S,
            registry=self.registry,
        )
        self.streams = Gauge(
            "everthread_streams",
            "Open streams.",
            multiprocess_mode="livesum",
            registry=self.registry,
        )
        self.lines = self._create_counter("lines_kept", "Lines stored over the API.")
        self.recalls = self._create_counter("recalls", "Recall requests over the API.")

    def _create_counter(self, name: str, description: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"everthread_{name}", description, labels, registry=self.registry)

    def render(self) -> bytes:
        """Render all metrics in Prometheus' text format."""
        if MULTIPROC_DIR_VARIABLE not in os.environ:
            return generate_latest(self.registry)
        all_processes = CollectorRegistry()
        multiprocess.MultiProcessCollector(all_processes)  # type: ignore[no-untyped-call]
        return generate_latest(all_processes)


def get_metrics(request: Request) -> Metrics:
    """Return the metrics of the app."""
    return request.app.state.metrics  # type: ignore[no-any-return]


RequestMetrics = Annotated[Metrics, Depends(get_metrics)]  # a route counts with `metrics.lines.inc(n)`
