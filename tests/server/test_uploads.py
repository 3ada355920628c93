"""Files that are sent, and what they are called here."""

from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everthread.server.uploads import called


@given(st.text(max_size=300))
@example("../../etc/passwd")
@example("..")
@example("/")
@example("a\0b.json")
@example("文" * 100 + ".jsonl")
def test_no_name_leaves_its_folder_or_is_too_long(name: str) -> None:
    made = called(name)
    assert PurePosixPath(made).name == made
    assert made not in (".", "..")
    assert "\0" not in made
    assert len(made.encode()) < 255


@pytest.mark.parametrize(
    ("name", "made"),
    [("talk.jsonl", "talk.jsonl"), ("My talk.TXT", "My_talk.txt"), ("talk", "talk.txt"), ("../x/y.json", "y.json")],
)
def test_a_plain_name_stays_nearly_as_it_is(name: str, made: str) -> None:
    assert called(name) == made
