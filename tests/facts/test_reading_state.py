"""How far a bank was read for facts."""

import pytest

from everthread.facts.reading_state import RULES_VERSION, ReadingState
from everthread.types import JSONValue


@pytest.mark.parametrize("state", [ReadingState(), ReadingState(7, 1, 3, frozenset({2, 5}), 12)])
def test_a_state_is_parsed_from_the_setting_that_it_writes(state: ReadingState) -> None:
    assert ReadingState.parse(state.to_json()) == state


@pytest.mark.parametrize("value", [None, "7", [7], {"to": "7", "never": 3, "ids": -1}, {"to": True, "ids": 1 << 70}])
def test_nothing_was_read_under_an_invalid_setting(value: JSONValue) -> None:
    assert ReadingState.parse(value) == ReadingState()


def test_lines_that_were_read_before_rules_had_versions_were_read_by_the_first_rules() -> None:
    assert ReadingState.parse({"to": 7, "ids": 3}).rules == 1
    assert ReadingState.parse(None).rules == RULES_VERSION


def test_ids_are_counted_on_from_the_first_one_that_the_store_gave() -> None:
    assert ReadingState(last_id=3).with_units(first_id=10, count=2).last_id == 11
