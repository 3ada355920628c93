"""The shares of right and of false quotes at a bound of relevance."""

from everthread.bench.quotes import BOUNDS, Quote, QuoteRates, build_json, build_table, compute_rates

QUOTES = [
    Quote(0.6, True, True),
    Quote(0.3, False, True),
    Quote(0.1, True, True),
    Quote(0.0, False, True),
    Quote(0.3, False, False),
    Quote(0.0, False, False),
]


def test_a_bound_changes_how_many_lines_are_stated_and_how_many_of_them_are_right() -> None:
    assert compute_rates(QUOTES, 0.0) == QuoteRates(2 / 3, 0.75, 0.5)
    assert compute_rates(QUOTES, 0.3) == QuoteRates(0.5, 0.5, 0.5)
    assert compute_rates(QUOTES, 0.4) == QuoteRates(1.0, 0.25, 0.0)


def test_the_table_has_a_row_for_each_bound_and_a_column_for_each_kind_of_bank() -> None:
    head, _, first, *others = build_table({"small": QUOTES, "large": QUOTES[:1]}).splitlines()
    assert head == "| bound | small | large |"
    assert first == "| 0% | 67 / 75 / 50.0 | 100 / 100 / 0.0 |"
    assert len(others) == len(BOUNDS) - 1
    assert len(build_json({"small": QUOTES})) == len(BOUNDS)
