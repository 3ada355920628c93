"""Checks of problem documents."""

from collections.abc import Mapping
from typing import Any, Protocol

RAW = {"Content-Type": "application/octet-stream"}  # for an uploaded file


class Answer(Protocol):
    """A response of any HTTP client."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def text(self) -> str: ...

    def json(self) -> Any: ...


def kind(answer: Answer, status: int) -> str:
    """Return the kind of a problem, after checks of its status and that it reveals no path of the disk."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    assert document["detail"]
    assert "/tmp" not in answer.text
    return str(document["type"]).removeprefix("urn:everthread:")
