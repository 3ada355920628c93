from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput, EmbedderUnavailable
from everthread.memory import Memory
from everthread.recall.types import Query
from everthread.recipes.default import Default
from everthread.recipes.membot import (
    BARE_RULES,
    CALIBRATION_LINES,
    FULL_THRESHOLD,
    MIN_THRESHOLD,
    THRESHOLD_STEP,
    Membot,
    MembotResult,
    calibrate_threshold,
)
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.text.tokens import estimate_tokens
from everthread.types import Context, Filter, NewLine, NewUnit, Vector, Vectors
from recipes.twenty import BOT, PERSON, SESSIONS, TWENTY

LATER = datetime(2026, 11, 20, 12, tzinfo=UTC)
JONAS = Character(BOT, "{{char}} keeps a lighthouse.", person=PERSON, examples="{{user}}: Ahoy!\n{{char}}: Ahoy, ahoy.")
GREYHOUND, COAT, MILK = "Is Biscuit a greyhound?", "Which coat did you say: the green one?", "Who is allergic to milk?"


@pytest.fixture(scope="module", params=["folder", "database"])
def place(request: pytest.FixtureRequest) -> Iterator[object]:
    if request.param == "folder":
        with tempfile.TemporaryDirectory() as folder:
            yield folder
        return
    store = PostgresStore(request.getfixturevalue("database"))
    yield store
    store.close()


@pytest.fixture(scope="module")
def twenty(place: str | PostgresStore) -> Iterator[Memory]:
    """Yield the twenty lines in each kind of store, for tests that write only buffers, each of its own session."""
    with Memory.open("mara", store=place, embedder="minilm", recipe="membot") as memory:
        memory.observe_many(TWENTY)
        yield memory


@pytest.fixture
def talked(tmp_path: Path) -> Iterator[Memory]:
    """Yield the twenty lines in a bank for one test."""
    with Memory.open("mara", store=tmp_path, embedder="minilm", recipe="membot") as memory:
        memory.observe_many(TWENTY)
        yield memory


def seqs(context: Context) -> list[int]:
    return [line.seq for line in context.lines]


def found(context: Context) -> list[int]:
    return [hit.line.seq for hit in context.hits]


# ------------------------------------------------------------------------- twenty lines


@pytest.mark.parametrize(
    ("query", "hits", "shown"),
    [
        ("Where did Olga move to?", [5, 19, 20], [*range(16, 21), *range(2, 9)]),
        (GREYHOUND, [16, 3, 4], [*range(1, 8), *range(13, 20)]),
        (COAT, [10], [7, 8, 9, 10]),
        (MILK, [17, 18], range(14, 21)),
        ("When do I begin at the library?", [13, 14, 9], [*range(6, 11), *range(11, 18)]),
        ("How do I change a bicycle tyre?", [], []),
        ("thanks", [], []),
        ("", [], []),
    ],
)
def test_the_nearest_three_lines_are_shown_with_their_neighbours_best_last(
    twenty: Memory, query: str, hits: list[int], shown: Sequence[int]
) -> None:
    context = twenty.context(query, 5000)
    assert found(context) == hits
    assert seqs(context) == list(shown)
    assert context.tokens == estimate_tokens(context.text) if context else context.text == ""


def test_blocks_stay_in_view_first_in_at_the_top_whatever_their_scores(twenty: Memory) -> None:
    assert seqs(twenty.context(MILK, 5000, session="fifo")) == [*range(14, 21)]
    both = twenty.context(COAT, 5000, session="fifo")
    assert (found(both), seqs(both)) == ([10], [*range(14, 21), 7, 8, 9, 10])
    assert both.text.index("allergic to milk") < both.text.index("green coat")
    assert [row for row in both.text.splitlines() if row.startswith("[")] == [
        "[Saturday, 20 June 2026, 20:03]",
        "[Monday, 2 March 2026, 18:06]",
    ]
    assert twenty.context("How do I change a bicycle tyre?", 5000, session="fifo").text == both.text
    assert twenty.context("", 5000, session="fifo").text == both.text
    assert seqs(twenty.context("", 5000, session="another")) == []
    assert seqs(twenty.context(MILK, 5000, session="fifo")) == [7, 8, 9, 10, *range(14, 21)]  # recalled again: the last


def test_over_budget_the_oldest_blocks_are_dropped_and_the_newest_is_cut(twenty: Memory) -> None:
    twenty.context(MILK, 5000, session="budget")
    both = twenty.context(COAT, 5000, session="budget")
    newest = twenty.context(COAT, both.tokens - 1, session="budget")
    assert seqs(newest) == [7, 8, 9, 10]
    crumbs = twenty.context(COAT, newest.tokens - 1, session="budget")
    assert set(seqs(crumbs)) < {7, 8, 9, 10}
    assert found(crumbs) == [10]
    assert crumbs.tokens == estimate_tokens(crumbs.text) < newest.tokens
    nothing = twenty.context(COAT, 1, session="budget")
    assert (nothing.text, nothing.lines, [hit.line.seq for hit in nothing.cut]) == ("", (), [10])


def test_a_cut_block_of_an_earlier_turn_shows_the_lines_that_fit(twenty: Memory) -> None:
    uncut = twenty.context(MILK, 5000, session="earlier")
    cut = twenty.context("", uncut.tokens - 1, session="earlier")
    assert 0 < cut.tokens < uncut.tokens
    assert set(seqs(cut)) < set(seqs(uncut))
    assert cut.hits == cut.cut == ()


def test_blocks_obey_filters_and_leave_out_lines_in_the_prompt(twenty: Memory) -> None:
    twenty.context(MILK, 5000, session="filters")
    spring = Filter(session="spring")
    assert set(seqs(twenty.context(COAT, 5000, session="filters", where=spring))) == {7, 8, 9, 10}
    then = TWENTY[8].said_at
    assert seqs(twenty.context(COAT, 5000, session="filters", as_of=then)) == [7, 8, 9]
    kept = twenty.context(COAT, 5000, session="filters", exclude={9, 10, 18})
    assert not {9, 10, 18} & {*seqs(kept), *found(kept)}
    assert {14, 17} < set(seqs(kept))
    assert 10 not in [hit.line.seq for hit in twenty.recall(COAT, 20, exclude={10})]


def test_recall_returns_the_nearest_lines_even_below_the_threshold(twenty: Memory) -> None:
    hits = twenty.recall("How do I change a bicycle tyre?", 20)
    assert len(hits) == 20
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.relevance < calibrate_threshold(20) for hit in hits)
    assert twenty.context("How do I change a bicycle tyre?", gate=False).text


def test_nothing_but_the_lines_is_written(talked: Memory) -> None:
    with Chat(talked, JONAS, ScriptedLLM(["Aye, in August."]), clock=lambda: LATER) as chat:
        "".join(chat.reply("When does Olga visit?"))
        chat.end(remember=True)
        assert chat.wait(120)
    assert talked.units() == []
    assert talked.jobs() == []
    assert talked.stats().lines == 22


# --------------------------------------------------------------------------------- chat


class Clock:
    def __init__(self) -> None:
        self.now = LATER

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def prompt_of(chat: Chat) -> str:
    """Return the last message of the latest prompt, which changes every turn."""
    assert isinstance(chat.llm, ScriptedLLM)
    return chat.llm.prompts[-1][-1].content


def test_a_prompt_has_the_blocks_in_order_with_their_age(talked: Memory) -> None:
    with Chat(talked, JONAS, ScriptedLLM(["Aye."] * 3), clock=Clock()) as chat:
        "".join(chat.reply(MILK))
        first = prompt_of(chat)
        assert first.startswith(
            "[From earlier conversations with Jonas]\n[Saturday, 20 June 2026, 20:03, 5 months ago]"
        )
        assert first.endswith(f"\n\n{PERSON}: {MILK}")
        "".join(chat.reply(COAT))
        second = prompt_of(chat)
        places = [second.index(each) for each in ("20 June 2026", "allergic to milk", "2 March 2026", "green coat for")]
        assert places == sorted(places)
        "".join(chat.reply("Thanks."))
        assert "allergic to milk" in prompt_of(chat)
        assert "green coat for" in prompt_of(chat)


def test_the_window_is_ten_lines_and_none_of_them_is_recalled(talked: Memory) -> None:
    replies = [f"Reply number {n} about lamps and boats." for n in range(12)]
    with Chat(talked, JONAS, ScriptedLLM(replies), clock=Clock()) as chat:
        for n in range(12):
            "".join(chat.reply(f"Tell me something about lamps and boats, number {n}."))
        assert isinstance(chat.llm, ScriptedLLM)
        messages = [message.content for message in chat.llm.prompts[-1]]
        window, tail = messages[1:-1], messages[-1]
        verbatim = [line.text for line in chat.lines[-12:-2]]  # without the newest and its answer
        assert [any(each in message for message in [*window, tail]) for each in verbatim] == [True] * 10
        assert sum(message.count(" about lamps and boats") for message in window) == 10 - window[0].count("begins")
        remembered = tail.partition("(It is")[0]
        assert not any(each in remembered for each in verbatim)
        assert "number 3" in remembered  # of this conversation, from outside the window


def test_nothing_is_brought_up_unasked_where_the_default_recipe_does(talked: Memory) -> None:
    offering = Memory(talked.bank, talked.store, talked.embedder, Default())
    for memory, brought_up in ((offering, True), (talked, False)):
        clock = Clock()
        clock.now = SESSIONS["summer"] + timedelta(days=10)
        with Chat(memory, JONAS, ScriptedLLM(["Aye."]), scribe=ExtractiveScribe(), clock=clock) as chat:
            "".join(chat.reply("Hello, I am back."))
            assert ("could bring up" in prompt_of(chat)) is brought_up
            chat.end(remember=False)


def test_retracted_and_incognito_lines_are_in_no_block(talked: Memory) -> None:
    with Chat(talked, JONAS, ScriptedLLM(["Aye."] * 9), clock=Clock()) as chat:
        "".join(chat.reply(MILK))
        chat.forget(17)
        talked.retract(18)
        "".join(chat.reply("And?"))
        assert "allergic" not in prompt_of(chat).partition("(It is")[0]
        assert "high shelf" not in prompt_of(chat)
        assert "greyhound" in prompt_of(chat)  # the rest of the block
        held = talked.store.buffer("mara", chat.session)
        chat.incognito = True
        "".join(chat.reply(COAT))
        assert "green coat for" in prompt_of(chat)
        assert talked.store.buffer("mara", chat.session) == held


# ------------------------------------------------------------------------- second mode


def test_with_canon_nothing_is_recalled(tmp_path: Path) -> None:
    with Memory.open("mara", store=tmp_path, embedder="minilm", recipe=Membot(canon=True)) as memory:
        memory.observe_many(TWENTY)
        assert memory.recall(MILK) == []
        assert not memory.context(MILK, session="s", gate=False)
        with Chat(memory, JONAS, ScriptedLLM(["Ahoy."]), clock=Clock()) as chat:
            "".join(chat.reply(MILK))
            assert isinstance(chat.llm, ScriptedLLM)
            system = chat.llm.prompts[-1][0].content
        assert "Mara: Ahoy!\nJonas: Ahoy, ahoy." in system
        assert "milk" not in prompt_of(chat).replace(MILK, "")
        assert memory.stats().lines == 22


# --------------------------------------------------------------------- any bank, any day


class Failing(HashEmbedder):
    """An embedder that can be switched off."""

    down = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise EmbedderUnavailable("switched off")
        return super().embed(texts)


def test_blocks_stay_in_view_while_the_embedder_is_down(tmp_path: Path) -> None:
    model = Failing(512)
    with Memory.open("mara", store=tmp_path, embedder=model, recipe="membot") as memory:
        memory.observe_many(TWENTY[:10])
        before = memory.context(COAT, 5000, session="s")
        assert 10 in seqs(before)
        model.down = True
        memory.observe_many(TWENTY[10:])
        assert memory.stats().lines == 20
        assert memory.recall(MILK) == []
        assert memory.context(MILK, 5000, session="s").text == before.text
        model.down = False
        assert memory.reindex() == 10
        assert 17 in seqs(memory.context("The vet said he is allergic to milk.", 5000, session="s"))


def test_an_empty_bank_finds_nothing_for_any_question(memory: Memory) -> None:
    bare = Memory(memory.bank, memory.store, memory.embedder, Membot())
    for query in ("", "  ", "Hello?", "你好", "\ud800", "x" * 20_000, ":" * 9):
        assert bare.recall(query) == []
        assert not bare.context(query, session="s")


def test_units_of_another_recipe_are_found_by_kind(memory: Memory) -> None:
    line = memory.observe("The library hired me.", session="s")
    memory.add_unit(NewUnit("note", "Mara works at the library.", line.seq, line.seq, line.said_at))
    other = Memory(memory.bank, memory.store, memory.embedder, Membot(threshold=0.9))
    context = other.context("works at the library", session="s", where=Filter(kind="note"))
    assert [unit.text for unit in context.units] == ["Mara works at the library."]


# ------------------------------------------------------------------- faults of the source


def test_a_message_with_colons_is_embedded_whole(memory: Memory) -> None:
    memory.observe("walrus tusk ivory")
    memory.observe("noon")
    bare = Memory(memory.bank, memory.store, memory.embedder, Membot())
    query = "walrus tusk ivory: tomorrow at 12:30: noon"
    vector = memory.embedder.embed_query(query)
    mine = {line.seq: float(memory.embedder.embed([line.text])[0] @ vector) for line in memory.lines()}
    assert mine[1] > mine[2] > 0
    assert [hit.line.seq for hit in bare.recall(query)] == [1, 2]


def test_alternating_sessions_stay_in_separate_blocks(memory: Memory) -> None:
    texts = {
        "web": "lamp oil wick glass brass keeper stairs".split(),
        "sms": "kite wind string tail bow sand sea".split(),
    }
    pairs = zip(texts["web"], texts["sms"], strict=True)
    lines = [NewLine(text, session=name) for pair in pairs for name, text in zip(texts, pair, strict=True)]
    kept = memory.observe_many(lines)
    assert [line.seq for line in kept] == list(range(1, 15))  # one count for both, without a gap
    bare = Memory(memory.bank, memory.store, memory.embedder, Membot(threshold=0.9))
    for session in (None, "s"):
        only = bare.context("brass", session=session)
        assert {line.session for line in only.lines} == {"web"}
        assert "brass" in only.text
    both = bare.context("tail", session="s")
    assert {"brass", "tail"} <= {line.text for line in both.lines}


def test_a_block_ends_with_its_conversation(twenty: Memory) -> None:
    assert seqs(twenty.context(COAT, 5000)) == [7, 8, 9, 10]  # line 11 begins another


# ------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"threshold": 65}, "65"),
        ({"threshold": -0.1}, "-0.1"),
        ({"blocks": 0}, "0"),
        ({"neighbours": -1}, "-1"),
        ({"recency": 2}, "2"),
    ],
)
def test_impossible_numbers_are_an_error_that_names_them(numbers: dict[str, float], named: str) -> None:
    with pytest.raises(BadInput, match=rf"{next(iter(numbers))}.*got.*{named}"):
        Membot(**numbers)  # type: ignore[arg-type]


# ------------------------------------------------------------------ the worked example

DOUBTS = "I wonder if I'm spending my time on the right thing..."
INVENTION = [
    ("Noor", "assistant", "So what has been keeping you busy lately?"),
    ("Ines", "user", "I've been putting all my evenings into a project I'm working on."),
    ("Noor", "assistant", "Which project is that?"),
    ("Ines", "user", "I call it the crabkite."),
    ("Noor", "assistant", "And what is it for?"),
    ("Ines", "user", "It's a kite shaped like a crab; my cousins fly the first one on the beach by their house."),
]
STRANGERS = [
    "How do I change a bicycle tyre?",
    "What is the capital of Peru?",
    "Did the parcel of shoes arrive?",
    "Who won the hockey match last night?",
    "How much flour does this cake need?",
    "Was the bridge built by Romans?",
    "thanks",
]


@pytest.fixture(scope="module")
def inventor() -> Iterator[Memory]:
    """Yield a dialogue about a project, after an unrelated one of twenty lines."""
    with tempfile.TemporaryDirectory() as folder, Memory.open("ines", store=folder, recipe="membot") as memory:
        memory.observe_many(TWENTY)
        memory.observe_many([NewLine(text, name, role, session="kite") for name, role, text in INVENTION])  # type: ignore[arg-type]
        yield memory


def test_a_doubt_about_the_work_recalls_the_talk_about_the_project(inventor: Memory) -> None:
    context = inventor.context(DOUBTS, 5000, session="later")
    assert "crabkite" in context.text
    assert inventor.recall(DOUBTS, 1)[0].relevance < FULL_THRESHOLD  # which a large bank's threshold would refuse


@pytest.mark.parametrize("question", STRANGERS)
def test_a_strangers_question_finds_nothing(inventor: Memory, question: str) -> None:
    assert not inventor.context(question, 5000)


def test_the_calibrated_threshold_drops_with_each_halving_of_the_lines_down_to_its_least() -> None:
    assert calibrate_threshold(CALIBRATION_LINES) == calibrate_threshold(100 * CALIBRATION_LINES) == FULL_THRESHOLD
    assert calibrate_threshold(CALIBRATION_LINES // 2) == pytest.approx(FULL_THRESHOLD - THRESHOLD_STEP)
    assert calibrate_threshold(0) == calibrate_threshold(1) == MIN_THRESHOLD
    assert [calibrate_threshold(n) for n in range(1, CALIBRATION_LINES)] == sorted(
        calibrate_threshold(n) for n in range(1, CALIBRATION_LINES)
    )


def test_a_filter_to_few_lines_lowers_the_calibrated_threshold(memory: Memory) -> None:
    memory.observe_many([NewLine(f"word{n}", session="much") for n in range(2 * CALIBRATION_LINES)])
    memory.observe("walrus tusk ivory noon", session="little")
    bare = Memory(memory.bank, memory.store, memory.embedder, Membot())
    everywhere = bare.recipe.recall(bare.reader, Query("walrus"), 3)
    little = bare.recipe.recall(bare.reader, Query("walrus", Filter(session="little")), 3)
    assert isinstance(everywhere, MembotResult)
    assert isinstance(little, MembotResult)
    assert (everywhere.threshold, little.threshold) == (FULL_THRESHOLD, MIN_THRESHOLD)


# ----------------------------------------------------------------------------- options


def test_with_replies_the_persons_lines_are_only_neighbours(inventor: Memory) -> None:
    replies = Memory(inventor.bank, inventor.store, inventor.embedder, Membot(replies=True))
    context = replies.context("Tell me about the project that I am working on.", 5000)
    assert {hit.line.role for hit in replies.recall(DOUBTS, 20)} == {"assistant"}
    assert context.hits[0].line.text == "Which project is that?"
    assert "crabkite" in context.text


def test_with_replies_every_line_is_searched_in_a_bank_without_a_bot(memory: Memory) -> None:
    memory.observe_many([NewLine("walrus tusk ivory", "Ann"), NewLine("kite wind", "Bob")])
    replies = Memory(memory.bank, memory.store, memory.embedder, Membot(replies=True))
    assert replies.recall("walrus tusk ivory", 1)[0].line.speaker == "Ann"


def test_recency_prefers_the_newer_of_two_equal_lines(memory: Memory) -> None:
    texts = ["walrus tusk ivory", *(f"word{n}" for n in range(20)), "walrus tusk ivory beach"]
    memory.observe_many([NewLine(text, session=str(n)) for n, text in enumerate(texts)])
    plain = Memory(memory.bank, memory.store, memory.embedder, Membot(neighbours=0, threshold=0.5))
    recent = Memory(memory.bank, memory.store, memory.embedder, Membot(neighbours=0, threshold=0.5, recency=0.9))
    assert [hit.line.seq for hit in plain.recall("walrus tusk ivory", 2)] == [1, 22]
    assert [hit.line.seq for hit in recent.recall("walrus tusk ivory", 2)] == [22, 1]
    assert set(seqs(recent.context("walrus tusk ivory", 5000))) == {1, 22}


def test_a_bare_prompt_opens_with_one_line_of_instruction(talked: Memory) -> None:
    bare = Memory(talked.bank, talked.store, talked.embedder, Membot(bare=True))
    with Chat(bare, JONAS, ScriptedLLM(["Aye."]), clock=Clock()) as chat:
        "".join(chat.reply(MILK))
        assert isinstance(chat.llm, ScriptedLLM)
        first = chat.llm.prompts[-1][0].content.splitlines()[0]
    assert first == JONAS.fill_names(BARE_RULES)


def test_a_characters_own_instructions_hold_in_a_bare_prompt(talked: Memory) -> None:
    strict = replace(JONAS, instructions="Speak in rhymes. {{original}}")
    bare = Memory(talked.bank, talked.store, talked.embedder, Membot(bare=True))
    with Chat(bare, strict, ScriptedLLM(["Aye."]), clock=Clock()) as chat:
        "".join(chat.reply(MILK))
        assert isinstance(chat.llm, ScriptedLLM)
        assert chat.llm.prompts[-1][0].content.startswith(f"Speak in rhymes. {JONAS.fill_names(BARE_RULES)}")


@pytest.mark.parametrize(("threshold", "passes"), [(0.4, True), (0.65, True), (0.8, False)])
def test_the_sources_thresholds_can_be_set(twenty: Memory, threshold: float, passes: bool) -> None:
    other = Memory(twenty.bank, twenty.store, twenty.embedder, Membot(threshold=threshold))
    assert bool(other.context("Where did Olga move to?")) is passes


def test_eight_blocks_can_be_set(memory: Memory) -> None:
    words = [f"word{n}" for n in range(12)]
    memory.observe_many([NewLine(word, session=f"s{n}") for n, word in enumerate(words)])
    for blocks in (10, 8):
        bare = Memory(memory.bank, memory.store, memory.embedder, Membot(threshold=0.9, blocks=blocks))
        for word in words:
            shown = bare.context(word, 5000, session=f"view {blocks}")
        assert [line.text for line in shown.lines] == words[-blocks:]


# --------------------------------------------------------------------------- properties

WORDS = "fern lamp ferry kite pier otter".split()
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
TALKS = st.lists(st.tuples(st.sampled_from("ab"), TEXTS), min_size=1, max_size=30)
TURNS = st.lists(st.tuples(TEXTS, st.sets(st.integers(1, 30), max_size=6)), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def bank() -> Iterator[Callable[[list[tuple[str, str]], Membot], Memory]]:
    """Create a bank of these lines."""
    with tempfile.TemporaryDirectory() as folder, Memory.open("0", store=folder, embedder=HashEmbedder(64)) as first:
        names = iter(range(1, 10_000))

        def make(talk: list[tuple[str, str]], recipe: Membot) -> Memory:
            memory = Memory(str(next(names)), first.store, first.embedder, recipe)
            memory.observe_many([NewLine(text, session=session) for session, text in talk])
            return memory

        yield make


Make = Callable[[list[tuple[str, str]], Membot], Memory]


@examples(40)
@given(talk=TALKS, turns=TURNS, blocks=st.integers(1, 10), threshold=st.sampled_from([0.0, 0.3, 0.6]))
def test_no_line_is_shown_twice_in_any_sequence_of_turns(
    bank: Make, talk: list[tuple[str, str]], turns: list[tuple[str, set[int]]], blocks: int, threshold: float
) -> None:
    memory = bank(talk, Membot(blocks=blocks, threshold=threshold))
    for query, without in turns:
        context = memory.context(query, 10_000, session="s", exclude=without)
        hits = memory.recall(query, 30, exclude=without)
        shown = seqs(context)
        assert len(shown) == len(set(shown))
        assert not without & {*shown, *found(context), *(line.seq for hit in hits for line in hit.passage)}
        held = memory.store.buffer(memory.bank, "s")
        assert len(held) <= blocks
        order = [seq for first, last in held for seq in range(first, last + 1)]
        assert len(order) == len(set(order))
        assert shown == [seq for seq in order if seq in set(shown)]
        assert set(found(context)) <= set(shown)
        assert {hit.line.seq for hit in context.cut}.isdisjoint(shown)


@examples(40)
@given(talk=TALKS, query=TEXTS, thresholds=st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_a_higher_threshold_never_finds_more(
    bank: Make, talk: list[tuple[str, str]], query: str, thresholds: list[float]
) -> None:
    memory = bank(talk, Membot(threshold=thresholds[0]))
    stricter = Memory(memory.bank, memory.store, memory.embedder, Membot(threshold=thresholds[1]))
    many, few = memory.context(query, 10_000), stricter.context(query, 10_000)
    assert set(found(few)) <= set(found(many))
    assert set(seqs(few)) <= set(seqs(many))


@examples(40)
@given(talk=TALKS, turns=TURNS, budget=st.integers(1, 200))
def test_contexts_fit_the_budget_and_their_figures_are_correct(
    bank: Make, talk: list[tuple[str, str]], turns: list[tuple[str, set[int]]], budget: int
) -> None:
    memory = bank(talk, Membot(threshold=0.3))
    for query, _ in turns:
        context = memory.context(query, budget, session="s")
        assert context.tokens == (estimate_tokens(context.text) if context.text else 0) <= budget
        assert bool(context.text) is bool(context.lines)
        assert all(line.text in context.text for line in context.lines)


def test_the_shipped_models_ranking_is_that_of_an_exact_scan(twenty: Memory) -> None:
    model = OnnxEmbedder()
    vectors = model.embed([line.text for line in TWENTY])
    for query in (GREYHOUND, COAT, MILK):
        vector: Vector = model.embed_query(query)
        nearest = np.argsort(-(vectors @ vector))[:10] + 1
        assert [hit.line.seq for hit in twenty.recall(query, 10)] == nearest.tolist()
