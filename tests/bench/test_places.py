"""The measurement of several places."""

from __future__ import annotations

from pathlib import Path

import pytest
from hardship.places import write_places

from everthread import factory
from everthread.bench.places import measure_places
from everthread.errors import BadInput


@pytest.mark.slow
def test_recall_and_a_move_are_measured_in_each_place(tmp_path: Path) -> None:
    path = write_places(tmp_path, north="north", south="south")
    result = measure_places(path, 40, "hash")
    assert [(each.place, each.next) for each in result.places] == [("north", "south"), ("south", "north")]
    assert all(each.direct.calls == each.placed.calls > 0 < each.move_s for each in result.places)
    assert "; move to south: " in result.text()
    assert result.json()["embedded_s"] > 0
    assert factory.open_store(path).banks() == []


def test_there_must_be_two_places_and_a_line(tmp_path: Path) -> None:
    for path, lines in ((tmp_path, 9), (write_places(tmp_path / "one", north="north"), 9)):
        with pytest.raises(BadInput, match="expected a file of at least two places and a positive number of lines"):
            measure_places(path, lines, "hash")
    with pytest.raises(BadInput, match=r"got .* and 0"):
        measure_places(write_places(tmp_path / "two", north="north", south="south"), 0, "hash")
