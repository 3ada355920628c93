from pathlib import Path
from random import Random

from everthread.bench.soak.markers import find_in_files, find_markers, is_of_model, make_marker


def test_a_marker_is_found_in_a_text_in_any_case() -> None:
    marker = make_marker(Random(1), "person")
    assert find_markers(f"My dog is called {marker.capitalize()}, he said.") == [marker]
    assert not is_of_model(marker)
    assert is_of_model(make_marker(Random(1), "model"))


def test_a_marker_is_found_once_in_the_bytes_of_a_file(tmp_path: Path) -> None:
    marker = make_marker(Random(2), "person")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"\x00\xff" + marker.encode() + b"\x00")
    assert find_in_files([tmp_path]) == {marker: {tmp_path / "below" / "file"}}
