"""Traces requests with OpenTelemetry, by route and not by path, and exports the traces if the environment asks for it.

The variables are OpenTelemetry's own: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and so on.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everthread.common import tracing
from everthread.common.installation import extra_command
from everthread.errors import ConfigError
from everthread.server import logs, path_segments

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SERVER_ERROR = 500


def check_packages() -> None:
    """Raise ConfigError if the environment names an endpoint for traces, and the packages for them are missing."""
    if not (variable := _find_endpoint()):
        return
    try:
        import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError:
        raise ConfigError(
            f"{variable} is set, but the packages that export traces are missing; install them with: "
            f"{extra_command('otel')}"
        ) from None


def install() -> None:
    """Export this process's traces, if the environment names an endpoint.

    Raises:
        ConfigError: the packages for this are missing.
    """
    check_packages()
    if not _find_endpoint():
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME", "everthread")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _find_endpoint() -> str:
    """Return the variable that names an endpoint for traces; empty if none does."""
    return next(filter(os.environ.get, ENDPOINT_VARIABLES), "")


def finish() -> None:
    """Export the spans that are still to be exported, and end tracing in this process."""
    trace = sys.modules.get("opentelemetry.trace")
    shutdown = getattr(trace and trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        shutdown()


class TracingMiddleware:
    """Traces each request as a part of the client's trace, if the client sends one (`traceparent`)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trace = sys.modules.get("opentelemetry.trace")
        if trace is None or scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from opentelemetry.propagate import extract

        method = scope["method"] if scope["method"] in logs.METHODS else logs.UNKNOWN_ROUTE
        status = SERVER_ERROR

        async def observe_and_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        parent, kind = extract(Headers(scope=scope)), trace.SpanKind.SERVER
        attributes = {"http.request.method": method}
        with tracing.span(method, attributes, context=parent, kind=kind) as set_attribute:
            try:
                await self.app(scope, receive, observe_and_send)
            finally:
                route = logs.route_template(scope)
                span = trace.get_current_span()
                span.update_name(f"{method} {route}")
                set_attribute("http.route", route)
                set_attribute("http.response.status_code", status)
                if (bank := scope.get("path_params", {}).get("bank")) is not None:
                    set_attribute("everthread.bank", logs.hash_bank_id(path_segments.decode_segment(bank)))
                if status >= SERVER_ERROR:
                    span.set_status(trace.StatusCode.ERROR)
