"""Which reasons for a memory the terminal gives in words."""

from datetime import UTC, datetime

import pytest

from everthread.cli.why import list_reasons
from everthread.languages.wording import load_wording
from everthread.types import Hit, Line

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("signals", "reasons"),
    [
        ({"cosine": 0.1, "standing": 1.5}, ["a lasting fact that matters here"]),
        ({"cosine": 0.1}, ["loosely related"]),
        ({"cosine": 0.6, "day": 1.0}, ["close in meaning", "said on the day you asked about"]),
    ],
)
def test_a_lasting_fact_a_day_and_a_meaning_are_reasons_and_without_one_a_hit_is_loosely_related(
    signals: dict[str, float], reasons: list[str]
) -> None:
    line = Line(1, "s", "user", "Nora", "I can't eat walnuts.", NOON)
    hit = Hit(line, 1.0, 0.5, signals, (line,))
    assert list_reasons(hit, "What should I cook?", NOON, load_wording("en"))[1:-1] == reasons
