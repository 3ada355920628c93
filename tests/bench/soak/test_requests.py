from everthread.bench.soak.requests import Calls
from everthread.errors import NotFound, StoreUnavailable


def test_refusals_of_one_kind_are_counted_together_and_errors_by_their_whole_text() -> None:
    calls = Calls()
    for number in (3, 14):
        calls.add_error("recall", NotFound(f"there is no bank 'person-{number}'"))
        calls.add_error("forget lines", NotFound(f"bank 'person-{number}' has no line {number}"))
        calls.add_error("recall", StoreUnavailable(f"the server ended with status {number}"))
    assert calls.refusals == {
        "recall: NotFound: there is no bank …": 2,
        "forget lines: NotFound: bank … has no line …": 2,
    }
    assert calls.errors == {
        "recall: StoreUnavailable: the server ended with status 3": 1,
        "recall: StoreUnavailable: the server ended with status 14": 1,
    }
