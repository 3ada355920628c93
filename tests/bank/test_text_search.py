"""The search for words, over both stores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everthread import Filter, Memory
from everthread.bank import text_search
from everthread.errors import BadQuery
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder
from everthread.text.analyzer import fold

LINES = ("What is the name of my dog?", "Her Škoda is red.", "The dog (Rex) is at the café.", "我的妹妹搬到里斯本了。")


@pytest.fixture(params=["sqlite", "postgres"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    store = tmp_path if request.param == "sqlite" else PostgresStore(request.getfixturevalue("database"))
    with Memory.open("searched", store=store, embedder=HashEmbedder(64)) as memory:
        for number, text in enumerate(LINES):
            memory.observe(text, speaker="Ann" if number % 2 else "Bob", session="one")
        yield memory
        memory.forget(everything=True)  # the tests share a database
    if isinstance(store, PostgresStore):
        store.close()


def seqs(bank: Memory, text: str, where: Filter | None = None, before: int | None = None) -> list[int]:
    return [line.seq for line in bank.search(text, where, before=before)]


def test_every_line_with_all_the_words_is_found_also_questions_and_parts_of_words(
    bank: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "LINES_PER_READ", 2)
    for text, expected in {
        "dog": [3, 1],
        "DOG name": [1],
        "skod": [2],
        "CAFE": [3],
        "dog?": [3, 1],
        "(rex)": [3],
        "里斯本": [4],
        "dog red": [],
        "?": [1],
        " ": [4, 3, 2, 1],
    }.items():
        assert seqs(bank, text) == expected, text
    assert [line.seq for line in bank.search("o", limit=2)] == [3, 2]


def test_lines_that_were_said_last_come_first_also_if_they_were_stored_earlier(
    bank: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "LINES_PER_READ", 2)
    for year, text in ((2019, "A dog!"), (2031, "dog, dog"), (2019, "Your dog?"), (2020, "?!")):
        bank.observe(text, session="two", said_at=datetime(year, 5, 1, tzinfo=UTC))
    corrected = bank.correct(5, "A big dog!")
    assert seqs(bank, "dog") == [6, 3, 1, corrected.seq, 7]
    assert seqs(bank, "?!") == [8]
    assert seqs(bank, "dog", before=1) == [corrected.seq, 7]
    assert seqs(bank, "dog", before=corrected.seq) == [7]
    bank.forget(seq=3)
    assert seqs(bank, "dog", before=3) == [1]  # the line is gone, so its number decides


def test_filters_and_the_number_before_which_to_search_are_respected(bank: Memory) -> None:
    assert seqs(bank, "dog", Filter(speaker="Ann")) == []
    assert seqs(bank, "dog", Filter()) == [3, 1]
    assert seqs(bank, "dog", before=3) == [1]
    bank.retract(1)
    bank.forget(seq=3)
    assert seqs(bank, "dog") == []


def test_invalid_arguments_are_refused(bank: Memory) -> None:
    with pytest.raises(BadQuery, match="text of a search must be a str, got 7"):
        bank.search(7)  # type: ignore[arg-type]
    with pytest.raises(BadQuery, match="before must be a whole number, got 'x'"):
        bank.search("dog", before="x")  # type: ignore[arg-type]
    with pytest.raises(BadQuery, match="limit"):
        bank.search("dog", limit=-1)
    with pytest.raises(BadQuery, match="where must be a Filter"):
        bank.search("dog", "Ann")  # type: ignore[arg-type]


letters = st.sampled_from("aAbsSßſ eéE\u0301\u0308\u0345iıİσΣς.ﬁ²…’'ﾊﾞ가\u1112\u1161\u11ab里\u200d\n\r\u2028")
texts = st.lists(st.text(letters | st.characters(exclude_characters="\0", codec="utf-8"), min_size=1), max_size=6)


@example(["\u0301e", "E\u0301", "cafE", "\u0301"], "é")
@given(texts, st.text(letters, min_size=1, max_size=2))
def test_texts_that_are_searched_together_are_found_like_each_alone(texts: list[str], searched: str) -> None:
    words = text_search.parse_search(searched, None, None)
    expected = {number for number, text in enumerate(texts) if all(word in fold(text) for word in words)}
    assert text_search.find_texts(words, enumerate(texts)) == expected
