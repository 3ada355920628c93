from __future__ import annotations

import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from everthread import Memory
from everthread.common.tracing import span, traced
from everthread.errors import NotFound


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Collect the spans of this process during a test."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def find(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    [found] = [each for each in spans.get_finished_spans() if each.name == name]
    return found


def test_what_a_memory_does_is_traced_by_numbers(spans: InMemorySpanExporter, memory: Memory) -> None:
    memory.observe_many([])
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora")
    hits = memory.recall("Where does Mia live?")
    assert hits
    assert find(spans, "everthread.recall").attributes == {"everthread.hits": len(hits)}
    assert [
        each.attributes and each.attributes["everthread.lines"]
        for each in spans.get_finished_spans()
        if each.name == "everthread.observe"
    ] == [0, 1]
    question, recall = find(spans, "everthread.embed_question"), find(spans, "everthread.recall")
    assert question.parent is not None
    assert question.parent.span_id == recall.context.span_id


def test_no_span_has_what_was_said(spans: InMemorySpanExporter, memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Nora")
    memory.context("Where does Mia live?")
    memory.forget(seq=1)
    written = " ".join(each.to_json() for each in spans.get_finished_spans())
    assert not [word for word in ("Mia", "Nora", "Lisbon", memory.bank) if word in written]


def test_an_error_is_traced_by_its_class_and_not_by_its_message(spans: InMemorySpanExporter) -> None:
    @traced("search")
    def search() -> None:
        raise NotFound("there is no Mia")

    with pytest.raises(NotFound):
        search()
    failed = find(spans, "search")
    assert failed.attributes == {"error.type": "NotFound"}
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert not failed.events
    assert "Mia" not in failed.to_json()


def test_without_opentelemetry_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    with span("search") as set_attribute:
        set_attribute("hits", 1)
    assert "opentelemetry.trace" not in sys.modules
