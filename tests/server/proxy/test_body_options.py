"""The options for the memory in the body of a request."""

from __future__ import annotations

import pytest

from everthread.errors import BadInput
from everthread.server.proxy.body_options import BodyOptions


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("alice", "invalid everthread: got 'alice', expected an object"),
        ({"banks": "alice"}, "unknown member 'banks' of everthread; expected one of bank, session, memory, budget"),
        ({"bank": 3}, "invalid everthread.bank: got '3', expected a str"),
        ({"budget": True}, "invalid everthread.budget: got 'True', expected a int"),
        ({"budget": 0}, "invalid everthread.budget: got 0, expected a number of tokens from 1"),
    ],
)
def test_invalid_options_are_named(value: object, message: str) -> None:
    with pytest.raises(BadInput, match="everthread") as caught:
        BodyOptions.parse(value)
    assert str(caught.value) == message


def test_options_may_be_left_out() -> None:
    assert BodyOptions.parse(None) == BodyOptions()
    assert BodyOptions.parse({"memory": False, "budget": 800, "bank": None}) == BodyOptions(memory=False, budget=800)
