from __future__ import annotations

from everthread.recipes.goodai.word_index import WordIndex


def index(*texts: str) -> WordIndex:
    found = WordIndex()
    for id, text in enumerate(texts, 1):
        found.put(id, text)
    return found


def ids(found: list[tuple[int, float]]) -> list[int]:
    return [id for id, _ in found]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    found = index("the ferry sails", "the ferry waits", "the kite sails", "a ferry").search("kite ferry")
    assert found[0][0] == 3
    assert set(ids(found)) == {1, 2, 3, 4}
    assert all(0 < share < 1 for _, share in found)


def test_other_forms_of_a_word_are_found() -> None:
    assert index("She planted walnuts.").search("plant a walnut") == [(1, 1.0)]


def test_a_short_text_comes_before_a_long_one_and_the_older_of_equals_first() -> None:
    assert ids(index("kite and a great many other things in the hall", "kite", "kite").search("kite")) == [2, 3, 1]


def test_texts_without_shared_words_are_not_found() -> None:
    chunks = index("kite", "ferry")
    assert (chunks.search("walnut"), chunks.search("the of"), chunks.search("")) == ([], [], [])
    assert WordIndex().search("kite") == []


def test_a_replaced_text_is_found_by_its_new_words() -> None:
    chunks = index("kite", "ferry")
    chunks.put(1, "walnut")
    chunks.drop([2, 9])
    assert (ids(chunks.search("walnut")), chunks.search("kite ferry")) == ([1], [])
    assert (1 in chunks, 2 in chunks) == (True, False)
