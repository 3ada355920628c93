from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from everthread.chat import quote_detection
from everthread.chat.quote_detection import MAX_RUNS, MAX_TEXTS, MIN_RUN_WORDS, QuoteIndex

LISBON = "I moved to Lisbon in May because of the light."
WORD = st.sampled_from("a b cat Dog it's Lisbon über 我 们 好 天 2026 don’t".split())
MARK = st.sampled_from([" ", ", ", ".\n", " — ", '" "', "。"])


def texts_of(min_words: int) -> st.SearchStrategy[str]:
    """Build texts of at least `min_words` words; a Chinese character is one of them."""
    parts = st.lists(st.tuples(WORD, MARK), min_size=min_words, max_size=30)
    return parts.map(lambda pairs: "".join(itertools.chain.from_iterable(pairs)).strip())


TEXT = texts_of(0)


def recalled(*texts: str) -> QuoteIndex:
    seen = QuoteIndex()
    seen.add(texts)
    return seen


def repeated(reply: str, *texts: str) -> list[str]:
    return [reply[start:end] for start, end in recalled(*texts).find_spans(reply)]


def words(text: str) -> list[str]:
    return [word for word, _ in quote_detection.split_words(text)]


# ------------------------------------------------------------------- always


@given(st.lists(TEXT, max_size=6), TEXT)
def test_spans_are_valid_ascending_and_disjoint(texts: list[str], reply: str) -> None:
    edges = [edge for span in recalled(*texts).find_spans(reply) for edge in span]
    assert edges == sorted(edges)
    assert all(start < end for start, end in recalled(*texts).find_spans(reply))
    assert not edges or (edges[0] >= 0 and edges[-1] <= len(reply))


@pytest.mark.slow
@given(st.lists(TEXT, max_size=4), texts_of(2 * MIN_RUN_WORDS), TEXT, TEXT)
def test_a_long_text_is_found_wherever_it_is_embedded(others: list[str], text: str, before: str, after: str) -> None:
    reply = f"{before} {text} {after}"
    start, end = len(before) + 1, len(before) + 1 + len(text)
    covered = [position for span in recalled(*others, text).find_spans(reply) for position in range(*span)]
    assert {position for position in range(start, end) if reply[position].isalnum()} <= set(covered)


@given(st.lists(TEXT, max_size=4), TEXT)
def test_a_reply_without_a_shared_run_has_no_spans(texts: list[str], reply: str) -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        said = words(text)
        return {tuple(said[start : start + MIN_RUN_WORDS]) for start in range(len(said) - MIN_RUN_WORDS + 1)}

    assume(not any(runs(text) & runs(reply) for text in texts))
    assume(not any(quote in reply for quote in '"'))
    assert recalled(*texts).find_spans(reply) == []


# ------------------------------------------------------------------- runs


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("You said you moved to Lisbon in May because of the light!", ["moved to Lisbon in May because of the light!"]),
        ("So: “I moved to Lisbon in May.” Lovely.", ["“I moved to Lisbon in May.”"]),
        ("I MOVED — to Lisbon, in may", ["I MOVED — to Lisbon, in may"]),
        ("**I moved to Lisbon in May**, you say.", ["**I moved to Lisbon in May**,"]),
        ("I moved to Lisbon in June because of the light.", []),
        ("In May: because of the rain", []),
        ("", []),
        ("Is it?", []),
    ],
)
def test_six_words_in_a_row_are_an_echo(reply: str, found: list[str]) -> None:
    assert repeated(reply, LISBON) == found


def test_a_run_does_not_join_two_texts() -> None:
    one, two = "she keeps her bees", "behind the old mill"
    assert repeated("She keeps her bees behind the old mill.", one, two) == []
    assert repeated("She keeps her bees behind the old mill.", f"{one} {two}") == [
        "She keeps her bees behind the old mill."
    ]


def test_echoes_of_several_texts_have_separate_spans() -> None:
    other = "My sister keeps three hives of bees behind the mill."
    reply = f"{LISBON} And then? My sister keeps three hives of bees, you said."
    assert repeated(reply, LISBON, other) == [LISBON, "My sister keeps three hives of bees,"]


def test_a_run_shared_by_two_texts_is_found_once() -> None:
    assert repeated(LISBON, "I moved to Lisbon in May because", "Lisbon in May because of the light") == [LISBON]


def test_a_character_of_a_script_without_spaces_counts_as_half_a_word() -> None:
    text = "我五月搬到里斯本去住了因为那里阳光好"
    assert repeated("你说过：“我五月搬到里斯本去住了，因为热。”真好", text) == ["“我五月搬到里斯本去住了，因为"]
    assert repeated("五月搬到里斯本去住", text) == []
    assert repeated("我叫 Nora Lind 住在里斯本附近的小镇。", "我叫 Nora Lind 住在里斯本附近的小镇") == [
        "我叫 Nora Lind 住在里斯本附近的小镇。"
    ]


# ------------------------------------------------------------------- quotations


@pytest.mark.parametrize("quoted", ['"{}"', "“{}.”", "‘{}’", "'{}!'", "«{}»", "「{}」", '"*{}*"'])
def test_a_short_text_is_an_echo_only_as_a_whole_and_in_quotation_marks(quoted: str) -> None:
    said = quoted.format("My sister keeps bees")
    assert repeated(f"You said {said} once.", "My sister keeps bees.") == [said]
    assert repeated("My sister keeps bees, too.", "My sister keeps bees.") == []
    assert repeated('"My sister keeps bees at home"', "My sister keeps bees.") == []
    assert repeated('"And my sister keeps bees"', "My sister keeps bees.") == []


def test_small_talk_is_no_echo_even_in_quotation_marks() -> None:
    assert repeated('"How are you doing?"', "How are you doing?") == []
    assert repeated('"My sister sings."', "My sister sings.") == []


# ------------------------------------------------------------------- memory


def texts(count: int) -> list[str]:
    return [
        " ".join(f"{word}{number}" for word in "some words that nobody else ever says".split())
        for number in range(count)
    ]


def test_the_latest_texts_remain_indexed() -> None:
    seen = recalled(*texts(MAX_TEXTS + 1))
    assert seen.find_spans(texts(1)[0]) == []
    assert all(seen.find_spans(text) == [(0, len(text))] for text in texts(MAX_TEXTS + 1)[1:])
    assert len(seen._texts) == MAX_TEXTS


def test_a_text_recalled_again_becomes_the_latest() -> None:
    seen = recalled(*texts(MAX_TEXTS), texts(1)[0], "one more that was said on another day")
    assert seen.find_spans(texts(1)[0]) == [(0, len(texts(1)[0]))]
    assert not seen.find_spans(texts(2)[1])


@pytest.mark.slow
def test_long_texts_remain_indexed_while_there_is_room() -> None:
    long = [" ".join(f"w{number}x{word}" for word in range(MAX_RUNS // 2)) for number in range(3)]
    seen = recalled(*long)
    assert [bool(seen.find_spans(text[:1_000])) for text in long] == [False, True, True]
    longest = " ".join(f"v{word}" for word in range(2 * MAX_RUNS))
    seen.add([longest])
    assert [bool(seen.find_spans(text[:1_000])) for text in (*long, longest)] == [False, False, False, True]


def test_dropped_texts_leave_no_trace() -> None:
    seen = recalled("ha " * 20, "ha ha ha ha ha ha ho")
    for key in list(seen._texts):
        seen._forget(key)
    assert (seen._runs, seen._texts, seen._quotable, seen._words) == ({}, {}, {}, 0)
