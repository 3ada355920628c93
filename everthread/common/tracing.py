"""Traces operations with OpenTelemetry, if the process uses it.

A span has an operation's name, its duration, numbers, and the class of an error. It has no text, no name and no message
of an error, which may quote its input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")
Attribute = str | int | float | bool

TRACER = "everthread"


@contextmanager
def span(
    name: str, attributes: Mapping[str, Attribute] | None = None, **options: Any
) -> Iterator[Callable[[str, Attribute], None]]:
    """Trace what is done inside. Without OpenTelemetry in this process, nothing is traced.

    Args:
        name: the operation.
        attributes: what is known of it at its beginning.
        options: further arguments of `Tracer.start_as_current_span`.

    Yields:
        A function that sets an attribute.
    """
    # Not imported here: a process that exports traces has imported it, and to others it would cost 20 ms.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _set_nothing
        return
    tracer = trace.get_tracer(TRACER)
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False, **options
    ) as current:
        try:
            yield current.set_attribute
        except Exception as error:  # of any kind: it is recorded and raised again
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(trace.StatusCode.ERROR)
            raise


def traced(name: str, **measures: Callable[[Any], Attribute]) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Make a decorator that traces each call of a function.

    Args:
        name: the operation.
        measures: by the names of attributes, what measures the result.
    """

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Result:
            with span(name) as set_attribute:
                result = function(*args, **kwargs)
                for attribute, measure in measures.items():
                    set_attribute(f"{TRACER}.{attribute}", measure(result))
                return result

        return call

    return decorate


def _set_nothing(name: str, value: Attribute) -> None:
    """Set no attribute."""
