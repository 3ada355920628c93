"""The recipe goodai, worked by hand on twenty lines, with filters, matchers and weights."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hardship.embedders import Moody

from everthread import Filter, Hit, Memory, NewLine
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.errors import BadInput, ConfigError, ModelError
from everthread.recall.recency_importance import ScoreWeights
from everthread.recipes.goodai import recipe
from everthread.recipes.goodai.expansion import LINE, NO_EXPANSION, PARAGRAPH, SECTION
from everthread.recipes.goodai.recipe import GoodAI
from everthread.recipes.goodai.token_stream import CHUNK
from everthread.recipes.goodai.tokenizers import words
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import JSONValue
from recipes.twenty import APART, BOT, PERSON, SESSIONS, TWENTY

# The chunks that are there once a line was kept, beside those before: their ids, and the lines that they hold some of.
# A line's tokens are its words and marks, its speaker's name and a colon. In spring they begin at 0, 10, 24, 35, 49,
# 64, 79, 92, 109 and 123, and end at 139; those of summer at 0, 10, 26, 41, 57, 73, 86, 97, 112 and 122, up to 134.
# A chunk begins each 12 tokens and is written when it has 24; spring's last two, of 19 and 7, when summer begins.
AFTER: dict[int, dict[int, tuple[int, int]]] = {
    1: {},
    2: {1: (1, 2)},
    3: {},
    4: {2: (2, 4), 3: (3, 4)},
    5: {4: (4, 5)},
    6: {5: (4, 6)},
    7: {6: (5, 7)},
    8: {7: (6, 8), 8: (7, 8)},
    9: {9: (8, 9)},
    10: {10: (8, 10)},
    11: {11: (9, 10), 12: (10, 10)},
    12: {13: (11, 12)},
    13: {14: (12, 13)},
    14: {15: (12, 14)},
    15: {16: (13, 15), 17: (14, 15)},
    16: {18: (15, 16)},
    17: {19: (15, 17)},
    18: {20: (16, 18)},
    19: {21: (17, 19)},
    20: {22: (18, 20)},
}
QUESTION = "What is Biscuit allergic to?"
MILK = (
    "Mara: Biscuit ate a whole wheel of cheese and had to see the vet.\n"
    "Jonas: Poor Biscuit, cheese is too rich for a greyhound.\n"
    "Mara: The vet said he is allergic to milk."
)


def goodai(**options: Any) -> GoodAI:
    return GoodAI(**{"tokenizer": words, "boundary": "none", **options})


def opened(folder: Path | str, recipe: GoodAI | None = None, **options: Any) -> Memory:
    return Memory.open("bank", store=folder, recipe=recipe or goodai(), **options)


@pytest.fixture(scope="module")
def bank_of_twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a bank with the twenty lines, embedded by the shipped model."""
    folder = tmp_path_factory.mktemp("twenty")
    with opened(folder) as made:
        made.observe_many(TWENTY)
    return folder


@pytest.fixture
def memory(tmp_path: Path, bank_of_twenty: Path) -> Iterator[Memory]:
    """Yield a copy of the bank with the twenty lines."""
    shutil.copytree(bank_of_twenty, tmp_path, dirs_exist_ok=True)
    with opened(tmp_path) as made:
        yield made


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def lines_of(hit: Hit) -> range:
    """Return the range of the lines that a passage contains parts of."""
    first, last = cast("list[int]", hit.unit.metadata["lines"])
    return range(first, last + 1)


def spans(memory: Memory) -> dict[int, tuple[int, int]]:
    return {unit.id: (unit.first_seq, unit.last_seq) for unit in memory.units(CHUNK)}


# -------------------------------------------------------------- worked by hand


def test_each_line_is_in_the_expected_chunks(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=HashEmbedder()) as memory:
        there: dict[int, tuple[int, int]] = {}
        for seq, line in enumerate(TWENTY, 1):
            memory.observe_many([line])
            there |= AFTER[seq]
            assert spans(memory) == there, seq


def test_a_chunk_is_the_text_between_its_tokens(memory: Memory) -> None:
    first, second, *_ = memory.units(CHUNK)
    assert first.text == "Mara: Hello Jonas, how are you today?\nJonas: Hello Mara, the sea is calm and so am I.\n"
    assert second.text == (
        "Hello Mara, the sea is calm and so am I.\nMara: I adopted a greyhound named Biscuit on Saturday.\nJonas"
    )
    assert (first.said_at, second.said_at) == (TWENTY[1].said_at, TWENTY[3].said_at)


def test_the_end_of_a_session_is_chunked_at_the_first_query(memory: Memory) -> None:
    before = spans(memory)
    memory.recall("lighthouse")
    assert {id: span for id, span in spans(memory).items() if id not in before} == {23: (19, 20), 24: (20, 20)}


def test_a_question_finds_the_passages_around_the_nearest_chunks(memory: Memory) -> None:
    best, second, third = memory.recall(QUESTION, 3)
    assert (best.kind, best.unit.id, best.seq, best.source.session) == (CHUNK, 19, 17, "summer")
    assert best.text == MILK
    assert best.unit.metadata == {"lines": [15, 17], "speaker": PERSON}
    assert best.said_at == SESSIONS["summer"] + 6 * APART
    assert best.passage == ()
    assert [hit.unit.metadata["lines"] for hit in (second, third)] == [[16, 18], [3, 4]]
    assert best.score == best.relevance == pytest.approx(1 - best.signals["distance"] / 4)


def test_a_prompt_labels_each_passage_with_its_first_speaker(memory: Memory) -> None:
    memory.recipe = goodai(max_hits=3)
    llm = ScriptedLLM(["Milk."])
    clock = datetime(2026, 7, 1, 9, tzinfo=UTC)
    with Chat(memory, Character(name=BOT, person=PERSON), llm, clock=lambda: clock) as chat:
        "".join(chat.reply(QUESTION))
        assert chat.wait(120)
    assert llm.prompts[0][-1].content == (
        "[What Jonas remembers that may be relevant]\n"
        "[Monday, 2 March 2026, 18:03, 3 months ago]\n"
        "Mara: I adopted a greyhound named Biscuit on Saturday.\n"
        "  Jonas: A greyhound named Biscuit will need long walks along the pier.\n\n"
        "[Saturday, 20 June 2026, 20:06, 11 days ago]\n"
        "Mara: Biscuit ate a whole wheel of cheese and had to see the vet.\n"
        "  Jonas: Poor Biscuit, cheese is too rich for a greyhound.\n"
        "  Mara: The vet said he is allergic to milk.\n"
        "Jonas: Poor Biscuit, cheese is too rich for a greyhound.\n"
        "  Mara: The vet said he is allergic to milk.\n"
        "  Jonas: Then milk and cheese stay on the high shelf from now on.\n\n"
        "(It is Wednesday, 1 July 2026, 09:00.)\n\n"
        "Mara: What is Biscuit allergic to?"
    )
    assert memory.jobs() == []
    assert set(memory.stats().units) == {CHUNK}


def test_a_passage_that_begins_inside_a_line_is_labelled_with_its_speaker(memory: Memory) -> None:
    memory.recipe = goodai(expansion=NO_EXPANSION, max_hits=1)
    assert memory.context("adopted greyhound on Saturday, long walks").text == (
        "[Monday, 2 March 2026, 18:03]\n"
        "Mara: I adopted a greyhound named Biscuit on Saturday.\n"
        "  Jonas: A greyhound named Biscuit will need long walks along the pier"
    )
    assert memory.context("the sea is calm").text.startswith("[Monday, 2 March 2026, 18:")
    memory.recipe = goodai(expansion=NO_EXPANSION, max_hits=1, chunk_capacity=4)
    assert memory.context("named Biscuit").text == "[Monday, 2 March 2026, 18:02]\nMara: named Biscuit on Saturday"


def test_both_stores_find_the_same_passages(tmp_path: Path, database: str) -> None:
    states: list[object] = []
    for store in (str(tmp_path), database):
        with opened(store, embedder=HashEmbedder(512)) as memory:
            for line in TWENTY:
                memory.observe_many([line])
            hits = memory.recall(QUESTION, 4)
            memory.retract(3)
            memory.forget(seq=13)
            memory.observe(
                "And he likes apples.", speaker=PERSON, session="summer", said_at=SESSIONS["summer"] + 21 * APART
            )
            hits += memory.recall(QUESTION, 4, where=Filter(session="summer"), exclude={20})
            assert memory.store.check("bank") == []
            found = [replace(hit.unit, valid_from=SESSIONS["spring"]) for hit in hits]
            shown = [(unit, pytest.approx(hit.score, abs=1e-3)) for unit, hit in zip(found, hits, strict=True)]
            states += [shown, [replace(unit, valid_from=SESSIONS["spring"]) for unit in memory.units()]]
            states.append({**memory.settings(), "context": memory.context(QUESTION).text})
    assert states[:3] == states[3:]


# ----------------------------------------------------------------- what is found


def test_redundant_passages_are_left_out(memory: Memory) -> None:
    every = memory.recall(QUESTION, 50)
    assert len(every) < len(memory.units(CHUNK))
    memory.recipe = goodai(redundancy=0.25)
    fewer = memory.recall(QUESTION, 50)
    assert len(fewer) < len(every)
    assert texts(fewer)[0] == texts(every)[0]


@pytest.mark.parametrize(
    ("expansion", "lines"), [(NO_EXPANSION, [15, 17]), (LINE, [14, 19]), (PARAGRAPH, [11, 20]), (SECTION, [11, 20])]
)
def test_a_chunk_grows_to_the_limit_and_never_into_another_session(
    memory: Memory, expansion: Any, lines: list[int]
) -> None:
    memory.recipe = goodai(expansion=expansion)
    best = memory.recall(QUESTION, 1)[0]
    assert best.unit.metadata["lines"] == lines


def test_passages_contain_no_excluded_line(memory: Memory) -> None:
    for hit in memory.recall(QUESTION, 50, exclude={16, 3}):
        assert not {16, 3} & set(lines_of(hit))
        assert "Poor Biscuit" not in hit.text
    assert any("allergic to milk" in text for text in texts(memory.recall(QUESTION, 50, exclude={16, 3})))


@pytest.mark.parametrize(
    ("where", "seqs"),
    [
        (Filter(session="spring"), range(1, 11)),
        (Filter(since=SESSIONS["spring"] + 2 * APART, until=SESSIONS["spring"] + 6 * APART), range(3, 7)),
        (Filter(session="autumn"), range(0)),
    ],
)
def test_a_filter_applies_to_whole_passages(memory: Memory, where: Filter, seqs: range) -> None:
    found = memory.recall(QUESTION, 50, where=where)
    assert bool(found) == bool(seqs)
    for hit in found:
        assert set(lines_of(hit)) <= set(seqs)


@pytest.mark.parametrize("options", [{}, {"where": Filter(session="spring")}, {"exclude": {17, 18}}])
def test_reading_distances_in_parts_changes_no_result(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    assert len(memory.units(CHUNK)) < recipe.FIRST_CHUNKS
    wanted = memory.recall(QUESTION, 50, **options)
    monkeypatch.setattr(recipe, "FIRST_CHUNKS", 2)
    for k in (1, 3, 50):
        assert memory.recall(QUESTION, k, **options) == wanted[:k]


def test_a_filter_by_speaker_finds_chunks_of_that_speaker_alone(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(chunk_capacity=4), embedder=HashEmbedder(512)) as memory:
        memory.observe_many(TWENTY)
        found = memory.recall("greyhound Biscuit pier", 50, where=Filter(speaker=BOT))
        assert "A greyhound named Biscuit will need long walks along the pier." in "\n".join(texts(found))
        for hit in found:
            assert {seq % 2 for seq in lines_of(hit)} == {0}


def test_a_query_as_of_a_time_finds_nothing_later(memory: Memory) -> None:
    at = SESSIONS["summer"] + 5 * APART
    found = memory.recall(QUESTION, 50, as_of=at)
    assert found
    assert all(hit.said_at <= at for hit in found)
    assert "allergic to milk" not in "\n".join(texts(found))


def test_removed_lines_are_not_found_but_their_neighbours_are(memory: Memory) -> None:
    memory.retract(17)
    memory.forget(seq=15)
    recalled = "\n".join(texts(memory.recall(QUESTION, 50)))
    assert "allergic" not in recalled
    assert "wheel" not in recalled
    assert "Poor Biscuit, cheese is too rich for a greyhound." in recalled
    assert "a library by the harbour is a fine place to work." in recalled


def test_without_a_gate_only_an_empty_bank_injects_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.recall(QUESTION) == []
        assert not memory.context(QUESTION)
        memory.observe("The lamp is lit.")
        assert memory.context("Quantum chromodynamics?", session="a").text
        assert memory.recall("  ") == []
        assert memory.store.buffer("bank", "a") == []


@pytest.mark.parametrize("query", ["\ud800", "\0", "?" * 100_000, "蕨类植物在哪里", "Biscuit"])
def test_no_question_is_an_error(memory: Memory, query: str) -> None:
    memory.recall(query)
    memory.context(query)


def test_without_an_embedder_lines_are_found_by_the_words_that_they_share(tmp_path: Path) -> None:
    embedder = Moody()
    embedder.down = True
    with opened(tmp_path, embedder=embedder) as memory:
        memory.observe_many(TWENTY)
        best, *others = memory.recall(QUESTION, 20)
        assert (best.kind, best.seq) == ("line", 17)
        assert best.score >= others[0].score
        assert 0 < best.relevance == best.signals["words"] < 1
        assert others
        assert all("Biscuit" in hit.text for hit in others)
        assert "Mara: The vet said he is allergic to milk." in memory.context(QUESTION).text
        assert all(hit.source.session == "spring" for hit in memory.recall(QUESTION, where=Filter(session="spring")))
        assert 17 not in [hit.seq for hit in memory.recall(QUESTION, exclude={17})]
        assert memory.recall("Quantum chromodynamics?") == []


def test_questions_that_the_embedder_can_not_read_search_words(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("うちの猫の名前はミミで、窓辺で寝るのが好きです。")
        memory.observe("今日はとてもいい天気です。")
        assert [hit.seq for hit in memory.recall("猫の名前は何ですか？", 1)] == [1]


def test_chunks_of_another_model_are_found_after_reindexing(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many(TWENTY)
        memory.recall(QUESTION)
    with opened(tmp_path, embedder=Moody()) as memory:
        assert memory.recall(QUESTION) == []
        memory.reindex()
        assert memory.recall(QUESTION)


def test_the_default_recipe_works_on_a_bank_of_this_one(memory: Memory, tmp_path: Path) -> None:
    with Memory.open("bank", store=tmp_path, recipe="default") as other:
        assert other.recall(QUESTION, 1)[0].seq == 17
        assert other.recall(QUESTION, 1, where=Filter(kind=CHUNK))[0].kind == CHUNK


# ------------------------------------------------------------ matched and weighed


class Likes:
    """A matcher that prefers texts with a word, and counts the texts that it rates."""

    def __init__(self, word: str, error: Exception | None = None) -> None:
        self.word, self.error = word, error
        self.asked: list[int] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked.append(len(pairs))
        if self.error:
            raise self.error
        return [0.9 if self.word in text else 0.1 for _, text in pairs]


def test_a_matcher_rates_ten_times_as_many_candidates(memory: Memory) -> None:
    matcher = Likes("otters")
    memory.recipe = goodai(matcher=matcher)
    best = memory.recall(QUESTION, 2)[0]
    assert "otters" in best.text
    assert (best.relevance, best.signals["confidence"]) == (0.9, 0.9)
    memory.recipe = goodai()
    assert "otters" not in texts(memory.recall(QUESTION, 1))[0]
    assert matcher.asked[0] >= 20
    memory.recipe = goodai(matcher=matcher, reranking_k_factor=1)
    assert "otters" not in memory.recall(QUESTION, 2)[0].text
    assert 2 <= matcher.asked[1] < 10


def test_a_matching_model_can_be_given_by_name(memory: Memory) -> None:
    plain = memory.recall(QUESTION, 1)[0]
    memory.recipe = goodai(matcher="em:minilm", reranking_k_factor=2)
    best = memory.recall(QUESTION, 1)[0]
    assert best.text == plain.text
    assert 0.5 < best.relevance == best.signals["confidence"] < 1
    assert goodai(matcher="em:minilm")._matching is goodai(matcher="em:minilm")._matching  # a model is loaded once
    with pytest.raises(ConfigError, match="unknown matching model 'minilm'"):
        goodai(matcher="minilm")


def test_distance_decides_if_the_matcher_fails(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    plain = texts(memory.recall(QUESTION, 3))
    memory.recipe = goodai(matcher=Likes("otters", ModelError("the matcher is down; start it")))
    assert texts(memory.recall(QUESTION, 3)) == plain
    assert "the matcher is down" in caplog.text


def test_expansion_and_weights_can_be_set_as_options(memory: Memory) -> None:
    at = SESSIONS["summer"] + 10 * APART
    memory.recipe = goodai(weighing=ScoreWeights(recency=10.0, half_life=timedelta(minutes=72)), expansion=LINE)
    wanted = memory.recall(QUESTION, 3, as_of=at)
    memory.recipe = goodai(recency=10.0, half_life_days=0.05, expansion="line")
    assert memory.recall(QUESTION, 3, as_of=at) == wanted
    memory.recipe = goodai()
    assert memory.recall(QUESTION, 3, as_of=at) != wanted


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"expansion": "chapter"}, "expansion must be one of sentence, line, paragraph, section, none, got 'chapter'"),
        ({"recency": -1}, "recency must be a number from 0"),
        ({"half_life_days": 0}, "half_life_days must be a number from 0.001"),
    ],
)
def test_invalid_expansion_and_weights_are_rejected(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        goodai(**options)


def test_recency_can_outweigh_relevance(memory: Memory) -> None:
    memory.recipe = goodai(weighing=ScoreWeights(recency=10.0, half_life=timedelta(minutes=5)))
    best = memory.recall(QUESTION, 1, as_of=SESSIONS["summer"] + 10 * APART)[0]
    assert best.seq == 20
    assert best.score > 1 > best.relevance


def test_importance_is_read_from_a_lines_metadata(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(weighing=ScoreWeights(importance=5.0)), embedder=HashEmbedder(512)) as memory:
        importances: dict[int, JSONValue] = {5: 9, 8: 99, 17: "high"}
        said = [
            replace(line, metadata={"importance": importances[n]} if n in importances else {})
            for n, line in enumerate(TWENTY, 1)
        ]
        memory.observe_many(said)
        assert 5 in lines_of(memory.recall(QUESTION, 1)[0])
        assert {unit.importance for unit in memory.units(CHUNK)} == {None, 9.0}


def test_by_default_a_chunk_ends_where_its_line_does(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(boundary="line"), embedder=HashEmbedder(512)) as memory:
        memory.observe_many(TWENTY)
        assert all(unit.first_seq == unit.last_seq for unit in memory.units(CHUNK))
    assert GoodAI().boundary == "line"


def test_the_sentence_that_asks_counts_beside_the_whole_message(tmp_path: Path) -> None:
    talk = "I walked along the river with my umbrella all day. " + QUESTION
    distances = []
    for asks in (True, False):
        recipe = goodai(question_vector=asks)
        with opened(tmp_path / str(asks), recipe, embedder=HashEmbedder(512)) as memory:
            memory.observe_many(TWENTY)
            distances.append(memory.recall(talk, 1)[0].signals["distance"])
            alone = memory.recall(QUESTION, 1)[0].signals["distance"]
    assert distances[0] == pytest.approx(alone)
    assert distances[1] > distances[0]


# --------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"chunk_capacity": 0}, "chunk_capacity must be a whole number from 1, got 0"),
        ({"chunk_overlap": 0.6}, "chunk_overlap must be a number from 0 to 0.5, got 0.6"),
        ({"capacity": 0}, "capacity must be a whole number from 1, got 0"),
        ({"redundancy": 0}, "redundancy must be a number from 0.01 to 1, got 0"),
        ({"reranking_k_factor": 0.5}, "reranking_k_factor must be a number from 1 to 1000, got 0.5"),
    ],
)
def test_impossible_numbers_are_rejected(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        GoodAI(**wrong)


def test_the_defaults_are_those_of_the_source() -> None:
    recipe = GoodAI()
    assert (recipe.chunk_capacity, recipe.chunk_overlap, recipe.capacity) == (24, 0.5, 50_000)
    assert (recipe.redundancy, recipe.reranking_k_factor, recipe.matcher) == (0.75, 10, "")
    assert (recipe.notes, recipe.summaries, recipe.offers) == (False, False, False)


def test_an_interrupted_session_continues_its_chunks(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=HashEmbedder(512)) as memory:
        for n in range(12):
            memory.observe_many([NewLine(f"The {'kite' if n % 2 else 'fern'} number {n}.", "Ann", session="ab"[n % 2])])
        found = memory.recall("kite number", 5, where=Filter(session="b"))
        assert found
        assert all("fern" not in text for text in texts(found))
