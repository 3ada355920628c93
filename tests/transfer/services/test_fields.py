from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.fields import get_object, get_objects, get_text, parse_epoch, parse_time


def test_an_absent_field_is_empty_and_one_of_another_type_is_named() -> None:
    assert (get_text({}, "a"), get_object({"a": None}, "a"), get_objects({}, "a")) == ("", {}, [])
    for read in (get_text, get_object, get_objects):
        with pytest.raises(BadFile, match='"a" is 1; expected'):
            read({"a": 1}, "a")
    with pytest.raises(BadFile, match="expected a list of objects"):
        get_objects({"a": [{}, "x"]}, "a")


@pytest.mark.parametrize("value", [1_717_358_400, 1_717_358_400.0, "1717358400"])
def test_a_time_counted_from_1970_may_be_a_number_or_its_digits(value: object) -> None:
    assert parse_epoch(value) == datetime(2024, 6, 2, 20, tzinfo=UTC)
    assert parse_epoch(float(str(value)) * 1000, per_second=1000) == datetime(2024, 6, 2, 20, tzinfo=UTC)


@pytest.mark.parametrize("value", [None, True, "", "soon", 0, 1e30, float("nan"), [], "9" * 400])
def test_other_values_give_no_time(value: object) -> None:
    assert parse_epoch(value) is None
    assert parse_time(value) is None


def test_a_time_without_an_offset_is_in_the_given_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_time("2024-06-02T20:11:00Z", berlin) == datetime(2024, 6, 2, 20, 11, tzinfo=UTC)
    assert parse_time("June 2, 2024 8:11pm", berlin) == datetime(2024, 6, 2, 18, 11, tzinfo=UTC)
