"""The sample life of each language."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from everthread.demo.sample import FOLDER, LANGUAGES, Sample
from everthread.errors import BadInput
from everthread.transfer import importing

MIN_LINES = {"en": 400, "de": 60, "zh": 60}


@pytest.fixture(params=LANGUAGES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return the sample of each language."""
    return Sample.load(request.param)


def test_a_sample_is_a_file_of_two_years_that_the_importer_reads(sample: Sample) -> None:
    source = importing.check_file(sample.path)
    lines = list(source.read())
    times = [line.said_at for line in lines if line.said_at is not None]
    assert len(times) == len(lines) == sample.line_count >= MIN_LINES[sample.language]
    assert times == sorted(times)
    assert times[-1] - times[0] > timedelta(days=700)
    assert {(line.speaker, line.role) for line in lines} == {(sample.person, "user"), ("Ever", "assistant")}


def test_three_questions_name_lines_of_the_person(sample: Sample) -> None:
    lines = list(importing.check_file(sample.path).read())
    assert len(sample.questions) == 3
    assert all(lines[question.line - 1].speaker == sample.person for question in sample.questions)


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match="invalid language: got 'eo', expected one of en, de, zh"):
        Sample.load("eo")


def test_the_wheel_takes_the_folder_of_the_samples_whole() -> None:
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["everthread"]}
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".jsonl", ".toml")} == {
        f"{language}.{suffix}" for language in LANGUAGES for suffix in ("jsonl", "toml")
    }
