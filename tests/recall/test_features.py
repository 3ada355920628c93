"""Compares the signals with naive ones, computed from their definitions one line and one term at a time."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.embedders.calibration import measure_calibration as scale_of
from everthread.memory import Memory
from everthread.recall import features, statements
from everthread.recall.candidates import Candidates
from everthread.recall.features import UNKNOWN_COSINE
from everthread.recall.query_parsing import ParsedQuery, parse_query
from everthread.recall.types import Query
from everthread.testing import HashEmbedder
from everthread.text import analyzer as text
from everthread.text.analyzer import HEAD_CHARS
from everthread.text.first_person import Person, find_person
from everthread.text.line_features import ENDS_WITH_QUESTION, HAS_TIME, UNINFORMATIVE, line_flags, split_for_embedding
from everthread.text.time_expressions import Span
from everthread.types import Line, NewLine
from recall.builders import BEGUN, open_filled

WORDS = "where is fern garden the ferry yesterday we 蕨类植物 May kite? running ran Ann's bread-knife".split()
NAMES = {"Ann": "user", "Bob": "user", "Bot": "assistant"}
DATES = ("", "on 6 May", "on May 7th, 2024", "in May 2023", "in June", "2024-05-08", "in 2024")


class Polyglot(HashEmbedder):
    """An embedder for queries in any script."""

    multilingual = True


# ------------------------------------------------------------------ naive signals


@cache
def terms(content: str) -> tuple[str, ...]:
    return tuple(text.terms(content))


@cache
def cosine(content: str, query: str) -> float:
    model = Polyglot()
    raw = (model.embed(split_for_embedding(content)) @ model.embed_query(query)).max()
    return float(scale_of(model).to_shipped(raw))


@dataclass(frozen=True)
class Naive:
    """A bank as a list of lines. The ids of its sessions are s0, s1 … in the order in which they began."""

    lines: Sequence[Line]
    sessions: int  # including those whose lines are all retracted
    first_seqs: Mapping[str, int]  # by session
    last_seq: int
    query: ParsedQuery

    def signals(self, line: Line) -> dict[str, float]:
        previous = self.neighbour(line, -1)
        return {
            "cosine": self.cosine(line),
            "cosine_near": self.mean_cosine(line, -1, 1),
            "cosine_window": self.mean_cosine(line, -2, -1, 1),
            "cosine_session": max(
                self.neighbour_cosine(other) for other in self.lines if other.session == line.session
            ),
            "bm25_window": self.bm25_window(line),
            "bm25_nearby": self.bm25_nearby(line),
            "bm25_session": self.bm25_session(line),
            "share": self.share(lambda term: term in terms(line.text)),
            "share_window": self.share(lambda term: self.window(line)[term] > 0),
            "asks": float("?" in line.text),
            "length": math.log(1 + len(terms(line.text))),
            "speaker": self.speaker(line),
            "person": float(line.role != "assistant"),
            "day": self.said_on(line, day=True),
            "near_day": self.said_near(line),
            "month": self.said_on(line, day=False),
            "answers": float(previous is not None and line_flags(previous.text) & ENDS_WITH_QUESTION > 0),
            "time": float(self.query.asks_for_time and line_flags(line.text) & HAS_TIME > 0),
            "empty": float(line_flags(line.text) & UNINFORMATIVE > 0),
            "opening": 1 / (1 + line.seq - self.first_seqs[line.session]),
            "age": math.log(1 + (self.last_seq - line.seq) / 50),
            "first_person": self.speaks_as(line, Person.FIRST) * self.speaker(line),
            "experience": float(self.query.asks_what_happened and self.speaks_as(line, Person.EXPERIENCE)),
        }

    def mean_cosine(self, line: Line, *steps: int) -> float:
        around = [self.neighbour_cosine(other) for step in steps if (other := self.neighbour(line, step))]
        return (self.cosine(line) + sum(around)) / (1 + len(around))

    def speaks_as(self, line: Line, least: Person) -> bool:
        return line.role != "assistant" and find_person(line.text) >= least

    def is_echo(self, line: Line) -> bool:
        return line_flags(line.text) & UNINFORMATIVE > 0 and all(term in self.query.terms for term in terms(line.text))

    def neighbour_cosine(self, line: Line) -> float:
        return UNKNOWN_COSINE if self.is_echo(line) else self.cosine(line)

    def neighbour(self, line: Line, step: int) -> Line | None:
        found = [other for other in self.lines if other.seq == line.seq + step and other.session == line.session]
        return found[0] if found else None

    def cosine(self, line: Line) -> float:
        return cosine(line.text, self.query.embedding_text)

    def idf(self, term: str) -> float:
        df = sum(term in terms(line.text) for line in self.lines)
        return math.log(1 + (len(self.lines) + 100 - df + 0.5) / (df + 0.5))

    def mass(self) -> float:
        return sum(map(self.idf, self.query.terms))

    def bm25(self, counts: Counter[str], length: float, mean: float) -> float:
        total = 0.0
        for term in self.query.terms:
            tf = counts[term]
            total += self.idf(term) * tf * 1.9 / (tf + 0.9 * (0.25 + 0.75 * length / mean)) if tf else 0
        return total / math.sqrt(self.mass()) if self.query.terms else 0.0

    def window(self, line: Line) -> Counter[str]:
        """Count the line's terms, and those of its neighbours' beginnings, weighted by distance."""
        counts: Counter[str] = Counter(terms(line.text))
        for step, weight in ((-2, 0.5), (-1, 0.8), (1, 0.5)):
            if (other := self.neighbour(line, step)) and not self.is_echo(other):
                for term in terms(other.text[:HEAD_CHARS]):
                    counts[term] += weight  # type: ignore[assignment]
        return counts

    def bm25_window(self, line: Line) -> float:
        neighbours = [found for step in (-2, -1, 1) if (found := self.neighbour(line, step))]
        length = len(terms(line.text)) + sum(len(terms(other.text[:HEAD_CHARS])) for other in neighbours)
        mean = sum(len(terms(each.text)) + 3 * len(terms(each.text[:HEAD_CHARS])) for each in self.lines) / len(
            self.lines
        )
        return self.bm25(self.window(line), length, mean)

    def bm25_nearby(self, line: Line) -> float:
        mean = sum(len(terms(each.text)) for each in self.lines) / len(self.lines)
        before, after = (math.ceil(count / max(mean, 1)) for count in (24, 12))
        nearby = [
            line,
            *self.lines_until(line, -1, min(max(before, 2), 6), 24),
            *self.lines_until(line, 1, min(after, 3), 12),
        ]
        counts = Counter(term for other in nearby if not self.is_echo(other) for term in terms(other.text))
        return self.bm25(counts, sum(len(terms(other.text)) for other in nearby), mean + 24 + 12)

    def lines_until(self, line: Line, step: int, most_lines: int, least_terms: int) -> list[Line]:
        """Return the lines before or after a line that together have at least this many terms."""
        found = list[Line]()
        while len(found) < most_lines and sum(len(terms(other.text)) for other in found) < least_terms:
            if (other := self.neighbour(found[-1] if found else line, step)) is None:
                break
            found.append(other)
        return found

    def bm25_session(self, line: Line) -> float:
        together = [other for other in self.lines if other.session == line.session]
        session_terms = [term for other in together if not self.is_echo(other) for term in terms(other.text)]
        mean = sum(len(terms(each.text)) for each in self.lines) / self.sessions
        return self.bm25(Counter(session_terms), sum(len(terms(other.text)) for other in together), mean)

    def share(self, contains: Callable[[str], bool]) -> float:
        found = sum(self.idf(term) for term in self.query.terms if contains(term))
        return found / self.mass() if self.query.terms else 0.0

    def speaker(self, line: Line) -> float:
        if len({name.split()[0] for name in self.query.mentioned_speakers}) != 1:
            return 0.0
        return 1.0 if line.speaker in self.query.mentioned_speakers else -1.0

    def said_on(self, line: Line, day: bool) -> float:
        for date in self.query.times:
            if isinstance(date, Span):  # here a year, which is longer than a day
                if not day and date.first <= line.said_at.replace(tzinfo=None) < date.end:
                    return 1.0
                continue
            same = line.said_at.month == date.month and date.year in (None, line.said_at.year)
            if same and (not day or line.said_at.day == date.day):
                return 1.0
        return 0.0

    def said_near(self, line: Line) -> float:
        shifts = [timedelta(days=days) for days in (-2, -1, 0, 1, 2)]
        return max(self.said_on(replace(line, said_at=line.said_at + shift), day=True) for shift in shifts)


# ------------------------------------------------------------------ comparison


@st.composite
def banks(draw: st.DrawFn) -> list[NewLine]:
    """Draw the lines of a few consecutive sessions."""
    lines: list[NewLine] = []
    at = datetime(2024, 5, 6, 20, tzinfo=timezone(timedelta(hours=draw(st.sampled_from([-7, 0, 9])))))
    for session in range(draw(st.integers(1, 4))):
        at += timedelta(hours=draw(st.sampled_from([3, 24, 24 * 30])))
        for _ in range(draw(st.integers(1, 6))):
            words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
            text = " ".join(words * draw(st.sampled_from([1, 1, 1, 1, 12, 60])))
            speaker = draw(st.sampled_from(sorted(NAMES)))
            lines.append(NewLine(text, speaker, NAMES[speaker], at, f"s{session}"))  # type: ignore[arg-type]
            at += timedelta(minutes=1)
    return lines


@pytest.mark.slow
@examples(60)
@given(
    lines=banks(),
    asked=st.lists(st.sampled_from([*WORDS, "When", "unheard-of", "Bob"]), max_size=9).map(" ".join),
    date=st.sampled_from(DATES),
    retracted=st.sets(st.integers(1, 24), max_size=3),
    forgotten=st.sets(st.integers(1, 24), max_size=3),
)
def test_every_signal_matches_its_definition(
    lines: list[NewLine], asked: str, date: str, retracted: set[int], forgotten: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder, open_filled(folder, lines, Polyglot()) as memory:
        for seq in forgotten & set(range(1, len(lines) + 1)):
            memory.forget(seq=seq)
        for seq in (retracted - forgotten) & set(range(1, len(lines) + 1)):
            memory.retract(seq)
        first_seqs = {line.session: line.seq for line in reversed(list(memory.lines(include_retracted=True)))}
        query = f"{asked} {date}"
        found, signals = memory.reader.measure_candidates(Query(query))
        got = memory.reader.measure_best(found, signals, statements.SIGNALS).signals
        corpus = memory.store.corpus_stats("bank")
        parsed = parse_query(query, corpus.names, BEGUN)
        naive = Naive(list(memory.lines()), len(first_seqs), first_seqs, corpus.last_seq, parsed)
        assert [line.seq for line in naive.lines] == found.seqs.tolist()
        expected = [naive.signals(line) | {"standing": 0.0} for line in naive.lines]  # nothing is requested
        for name, values in got.items():
            # Vectors are stored in half precision, so that cosines are exact to three decimal places.
            np.testing.assert_allclose(values, [each[name] for each in expected], rtol=2e-4, atol=1e-3, err_msg=name)


def measured(memory: Memory, query: str) -> tuple[Candidates, dict[str, list[float]]]:
    found, signals = memory.reader.measure_candidates(Query(query))
    return found, {name: values.tolist() for name, values in signals.items()}


def test_compute_signals_returns_exactly_the_named_signals(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite.", "Well done!"]) as memory:
        assert tuple(memory.reader.measure_candidates(Query("kite"))[1]) == features.SIGNALS
        assert tuple(memory.reader.measure_candidates(Query(""))[1]) == features.SIGNALS


def test_an_empty_bank_has_empty_signals(tmp_path: Path) -> None:
    with open_filled(tmp_path, []) as memory:
        found, signals = memory.reader.measure_candidates(Query("kite"))
        assert len(found.seqs) == 0
        assert set(signals) == set(features.SIGNALS)
        assert all(values.shape == (0,) for values in signals.values())
        assert features.weighted_sum(signals, dict.fromkeys(signals, 1.0)).shape == (0,)


def test_a_line_without_a_vector_gets_a_neutral_cosine(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite.", "Well done!"]) as memory:
        found, _ = memory.reader.measure_candidates(Query("kite"))
        bare = replace(found, cosine=np.full(len(found.cosine), np.nan, np.float32))
        signals = features.compute_signals(found.parsed, bare)
        assert signals["cosine"] == pytest.approx([features.UNKNOWN_COSINE] * 2)
        assert all(np.isfinite(values).all() for values in signals.values())


def test_the_speaker_signal_is_zero_unless_one_speaker_is_named(tmp_path: Path) -> None:
    lines = [NewLine("I built a kite.", "Ann"), NewLine("I fed the hens.", "Bob")]
    with open_filled(tmp_path, lines) as memory:
        assert measured(memory, "What did Bob do?")[1]["speaker"] == [-1, 1]
        assert measured(memory, "What did Ann and Bob do?")[1]["speaker"] == [0, 0]
        assert measured(memory, "What happened?")[1]["speaker"] == [0, 0]


def test_the_day_signal_uses_the_time_zone_of_the_speaker(tmp_path: Path) -> None:
    after_midnight = datetime(2024, 5, 7, 1, tzinfo=timezone(timedelta(hours=9)))  # still the 6th in UTC
    lines = [NewLine("I built a kite.", said_at=after_midnight), NewLine("Hm.", said_at=after_midnight.astimezone(UTC))]
    with open_filled(tmp_path, lines) as memory:
        assert measured(memory, "What was on 7 May?")[1]["day"] == [1, 0]
        assert measured(memory, "What was in May?")[1]["month"] == [1, 1]


@pytest.mark.parametrize(
    ("when", "day", "month"),
    [
        ("yesterday", [0, 0, 0, 1], [0, 0, 1, 1]),
        ("last night", [0, 0, 0, 1], [0, 0, 1, 1]),
        ("last week", [0, 0, 1, 0], [0, 0, 1, 1]),
        ("in the last week", [0, 0, 1, 1], [0, 0, 1, 1]),
        ("last month", [0, 0, 0, 0], [0, 1, 0, 0]),
        ("last year", [0, 0, 0, 0], [1, 0, 0, 0]),
        ("a year ago", [0, 0, 0, 0], [1, 0, 0, 0]),
        ("in 2024", [0, 0, 0, 0], [0, 1, 1, 1]),
    ],
)
def test_short_relative_times_set_the_day_signal_and_longer_ones_the_month_signal(
    tmp_path: Path, when: str, day: list[int], month: list[int]
) -> None:
    now = datetime(2024, 5, 15, 9, tzinfo=UTC)  # a Wednesday
    ago = (400, 20, 6, 0.5)
    lines = [NewLine("I flew a kite.", said_at=now - timedelta(days=days), session=f"s{days}") for days in ago]
    with open_filled(tmp_path, lines) as memory:
        signals = memory.reader.measure_candidates(Query(f"Where did I fly the kite {when}?", as_of=now))[1]
        assert signals["day"].tolist() == day
        assert signals["month"].tolist() == month


@pytest.mark.parametrize(
    ("when", "near"),
    [("on 7 May 2024", [1, 1, 0]), ("on 5 May", [0, 1, 0]), ("on 12 May", [0, 0, 1]), ("yesterday", [0, 0, 1])],
)
def test_a_line_said_up_to_two_days_from_the_day_asked_about_is_near_it(
    tmp_path: Path, when: str, near: list[int]
) -> None:
    lines = [NewLine("I flew a kite.", said_at=datetime(2024, 5, day, 9, tzinfo=UTC)) for day in (9, 7, 14)]
    asked_at = datetime(2024, 5, 16, 9, tzinfo=UTC)
    with open_filled(tmp_path, lines) as memory:
        signals = memory.reader.measure_candidates(Query(f"Where did I fly the kite {when}?", as_of=asked_at))[1]
        assert signals["near_day"].tolist() == near


def test_the_first_line_of_a_session_opens_it_and_each_line_is_as_old_as_the_lines_after_it(tmp_path: Path) -> None:
    lines = [*(NewLine("I flew a kite.", session="s0") for _ in range(3)), NewLine("It broke.", session="s1")]
    with open_filled(tmp_path, lines) as memory:
        signals = measured(memory, "kite")[1]
        assert signals["opening"] == pytest.approx([1, 1 / 2, 1 / 3, 1])
        assert signals["age"] == pytest.approx([math.log(1 + since / features.AGE_LINES) for since in (3, 2, 1, 0)])


def test_a_line_is_as_old_as_the_lines_that_the_asker_knew(tmp_path: Path) -> None:
    said_at = [datetime(2024, 5, day, tzinfo=UTC) for day in (1, 2, 3)]
    with open_filled(tmp_path, [NewLine("I flew a kite.", said_at=at) for at in said_at]) as memory:
        signals = memory.reader.measure_candidates(Query("kite", as_of=said_at[1]))[1]
        assert signals["age"].tolist() == pytest.approx([math.log(1 + 1 / features.AGE_LINES), 0])


def test_a_line_opens_a_session_less_the_more_is_said_elsewhere_meanwhile(tmp_path: Path) -> None:
    lines = [NewLine("I flew a kite.", session=f"s{number % 2}") for number in range(4)]
    with open_filled(tmp_path, lines) as memory:
        assert measured(memory, "kite")[1]["opening"] == pytest.approx([1, 1, 1 / 3, 1 / 3])


def test_a_line_is_as_old_as_the_oldest_that_the_weights_know_at_most(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I flew a kite.", "It broke."]) as memory:
        found, _ = memory.reader.measure_candidates(Query("kite"))
        years = replace(found, corpus=replace(found.corpus, last_seq=100_000))
        oldest = math.log(1 + features.MAX_AGE_LINES / features.AGE_LINES)
        assert features.compute_signals(found.parsed, years)["age"] == pytest.approx([oldest, oldest])


def test_a_first_name_of_several_speakers_means_all_of_them_and_a_whole_name_one(tmp_path: Path) -> None:
    speakers = ("Anna Keller", "Anna Moreau", "Ben")
    with open_filled(tmp_path, [NewLine("I like the trip.", speaker, said_at=BEGUN) for speaker in speakers]) as memory:
        assert measured(memory, "What did Anna say about the trip?")[1]["speaker"] == [1, 1, -1]
        assert measured(memory, "What did Anna Moreau say about the trip?")[1]["speaker"] == [-1, 1, -1]
        assert measured(memory, "Did Anna and Ben like the trip?")[1]["speaker"] == [0, 0, 0]


def test_a_date_that_can_be_read_in_two_ways_finds_the_lines_of_both(tmp_path: Path) -> None:
    days = (datetime(2024, 1, 5, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 5, tzinfo=UTC))
    with open_filled(tmp_path, [NewLine("I flew a kite.", said_at=day) for day in days]) as memory:
        assert measured(memory, "Where did I fly the kite on 1/5/24?")[1]["day"] == [1, 1, 0]


@given(st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=2), st.floats(-5, 5))
def test_the_score_is_the_weighted_sum_of_the_weighted_signals(values: list[float], weight: float) -> None:
    signals = {name: np.array(values, np.float32) for name in ("cosine", "share", "asks")}
    scored = features.weighted_sum(signals, {"cosine": weight, "asks": 1.0, "unknown": 9.0})
    assert scored == pytest.approx([(weight + 1) * value for value in values], rel=1e-4, abs=1e-4)


def test_neighbours_in_another_session_do_not_affect_signals(tmp_path: Path) -> None:
    lines = [
        NewLine("Did the ferry leave?", "Ann", said_at=BEGUN, session="s0"),
        NewLine("At nine.", "Bob", said_at=BEGUN, session="s1"),
    ]
    with open_filled(tmp_path, lines) as memory:
        signals = measured(memory, "ferry")[1]
        assert signals["answers"] == [0, 0]
        assert signals["share_window"] == pytest.approx([1, 0])
        assert signals["bm25_session"][1] == 0
