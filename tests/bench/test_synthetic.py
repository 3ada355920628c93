from __future__ import annotations

from collections import Counter

from everthread.bench import synthetic


def test_the_same_lines_are_generated_for_any_count() -> None:
    few, many = list(synthetic.lines(30)), list(synthetic.lines(90))
    assert few == many[:30]
    assert list(synthetic.lines(30, seed=1)) != few


def test_lines_are_lifelike() -> None:
    lines = list(synthetic.lines(4000))
    words = Counter(word for line in lines for word in line.text.lower().rstrip(".").split())
    assert 17 < words.total() / len(lines) < 25
    assert words.most_common(1)[0][0] == "the"
    assert 5_000 < len(words) <= synthetic.VOCABULARY
    assert len({line.session for line in lines}) == 200
    assert {line.speaker for line in lines} == set(synthetic.SPEAKERS)
    assert len({line.key for line in lines}) == 4000
    assert [line.said_at for line in lines] == sorted(line.said_at for line in lines if line.said_at)


def test_sessions_repeat_the_words_of_their_topic() -> None:
    words = [word for line in synthetic.session(7) for word in line.text.lower().rstrip(".").split()]
    invented = [word for word in words if word not in synthetic.FUNCTION_WORDS]
    assert Counter(invented).most_common(1)[0][1] >= 4


def test_queries_come_from_lines_that_are_not_in_the_bank() -> None:
    queries = synthetic.queries(50, skip=1000)
    assert len(queries) == 50
    assert queries == synthetic.queries(50, skip=1000)
    assert all(query.startswith("What did ") and query.endswith("?") for query in queries)


def test_skipped_lines_are_not_generated_again() -> None:
    for skip in (0, 1, 20, 33):
        keys = {line.key for line in synthetic.lines(skip)}
        assert not keys & {line.key for line in synthetic.lines(25, skip=skip)}
