"""Which line a chat without a model states for an update."""

from everthread.bench.fact_updates import TURNS_BETWEEN, Update, load_updates
from everthread.bench.update_quotes import UpdateQuote, as_json, measure_update_quotes, table

LAST = TURNS_BETWEEN + 2


def find(question: str) -> Update:
    return next(update for update in load_updates(["open"]) if update.question == question)


def test_the_later_line_is_stated_by_what_is_known() -> None:
    (quote,) = measure_update_quotes([find("Where do I live?")])
    assert (quote.with_facts, quote.without in (0, 1, LAST)) == (LAST, True)


def test_shares_are_of_each_part_with_facts_and_without() -> None:
    update = find("Where do I live?")
    quotes = [UpdateQuote(update, LAST, 1), UpdateQuote(update, LAST, LAST), UpdateQuote(update, 0, 1)]
    assert as_json(quotes) == [
        {"part": "open", "facts": False, "updates": 3, "later": 33.33, "first": 66.67},
        {"part": "open", "facts": True, "updates": 3, "later": 66.67, "first": 0},
    ]
    assert table(quotes).splitlines()[2].split() == ["open", "used", "3", "66.7", "0.0"]
