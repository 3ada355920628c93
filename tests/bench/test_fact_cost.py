from __future__ import annotations

from bench.test_facts import CONVERSATION, TALK, Written
from everthread.bench import fact_cost
from everthread.bench.fact_cost import measure_costs, table


def test_the_time_of_a_line_is_measured_on_talk_and_on_synthetic_lines() -> None:
    reader = Written([])
    talk, synthetic = costs = measure_costs(reader, [CONVERSATION, CONVERSATION])
    assert (talk.source, talk.lines) == ("talk", 6)
    assert (synthetic.source, synthetic.lines) == ("synthetic", fact_cost.SYNTHETIC_LINES)
    assert 0 < talk.characters < len(TALK) / 3
    assert min(talk.microseconds, synthetic.microseconds) >= 0
    assert len(reader.known) == fact_cost.PASSES * (
        2 * 2 + fact_cost.SYNTHETIC_LINES / 20
    )  # two days in each conversation
    assert table(costs).splitlines()[1].split()[:2] == ["talk", "6"]
