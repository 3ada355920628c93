"""What a test wants to know of an answer that tells what went wrong."""

from collections.abc import Mapping
from typing import Any, Protocol

RAW = {"Content-Type": "application/octet-stream"}  # of a file that is sent


class Answer(Protocol):
    """An answer, as the client of the moment has it."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def text(self) -> str: ...

    def json(self) -> Any: ...


def kind(answer: Answer, status: int) -> str:
    """The kind of problem; the answer has this status, and tells of no place on the disk."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["detail"]
    assert "/tmp" not in answer.text
    return str(told["type"]).removeprefix("urn:everthread:")
