from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.errors import BadInput, BadQuery, ConfigError, EmbedderUnavailable, ModelError, NotFound
from everthread.recall.recency_importance import ScoreWeights
from everthread.recipes.goodai.expansion import NO_EXPANSION
from everthread.recipes.goodai.text_memory import Retrieved, TextMemory
from everthread.recipes.goodai.tokenizers import words
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Line, Vector, Vectors

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FACTS = ("The walnut tree was planted by Ida.", "A red kite hangs in the hall.", "Tom repaired the old boiler.")


class Counting(HashEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self, dim: int = 256) -> None:
        super().__init__(dim)
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return super().embed(texts)


class Halves(HashEmbedder):
    """Two vectors a text, of its first and its second half; two a query, likewise."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([np.stack([super(Halves, self).embed([half])[0] for half in halves(text)]) for text in texts])

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed([text])[0], np.float32)  # (2, D)


def halves(text: str) -> tuple[str, str]:
    found = text.split()
    return " ".join(found[: len(found) // 2]), " ".join(found[len(found) // 2 :])


class Longest:
    """A matcher that likes long passages, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked.append((pairs[0][0], tuple(passage for _, passage in pairs)))
        return [len(passage) / 1000 for _, passage in pairs]


class Failing(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable("down")


def make(embedder: Any = None, **options: Any) -> TextMemory:
    return TextMemory.create(embedder or HashEmbedder(256), **{"tokenizer": words, "clock": lambda: NOON, **options})


def filled(facts: Sequence[str] = FACTS, embedder: Any = None, **options: Any) -> TextMemory:
    """A memory of these facts, with the keys 1, 2, 3 …, each by itself."""
    memory = make(embedder, **options)
    for fact in facts:
        memory.add_text(fact)
        memory.add_separator()
    return memory


def test_a_text_is_found_by_what_it_says() -> None:
    memory = make()
    key = memory.add_text(FACTS[0], {"page": 3}, NOON - DAY)
    memory.add_separator()
    memory.add_text(FACTS[1])
    (found,) = memory.retrieve("Who planted the walnut tree?")
    assert (found.passage, found.metadata, found.timestamp) == (FACTS[0], {"page": 3}, NOON - DAY)
    assert (found.keys, found.confidence) == ((key,), None)
    assert found.distance is not None
    assert 0 < found.distance < 2
    assert found.relevance == 1 - found.distance / 4


def test_the_distance_is_that_of_the_vectors() -> None:
    embedder = HashEmbedder(256)
    (found,) = filled(FACTS[:1]).retrieve("walnut Ida")
    apart = embedder.embed([FACTS[0]])[0] - embedder.embed_query("walnut Ida")
    assert found.distance == pytest.approx(float(apart @ apart), abs=1e-5)


def test_an_empty_memory_finds_nothing() -> None:
    memory = make()
    assert memory.is_empty()
    assert (memory.retrieve("walnut"), memory.retrieve_multiple(["a", "b"], 3)) == ([], [[], []])
    memory.delete_text(memory.add_text("walnut"))
    assert memory.is_empty()
    assert memory.retrieve("walnut") == []


def test_fewer_are_found_where_there_are_fewer() -> None:
    assert len(filled().retrieve("walnut", 50)) == 3


def test_several_queries_are_answered_in_order() -> None:
    found = filled().retrieve_multiple(["walnut Ida", "boiler Tom", "kite hall"])
    assert [each[0].keys for each in found] == [(1,), (3,), (2,)]


def test_a_hit_grows_to_its_sentence_and_neighbours_are_not_repeated() -> None:
    memory = make(chunk_capacity=4)
    memory.add_text("Ida has planted a walnut tree in the garden. Tom repaired the boiler in the cellar today.")
    passages = [found.passage for found in memory.retrieve("walnut tree garden", 9)]
    first, second = "Ida has planted a walnut tree in the garden.", "Tom repaired the boiler in the cellar today."
    assert passages == [first, f"{first} {second}"]


def test_keys_are_of_all_texts_of_the_chunk_and_metadata_of_the_main_one() -> None:
    memory = make()
    small = memory.add_text("Ida said: ", {"from": "small"})
    large = memory.add_text("the walnut tree is mine.", {"from": "large"}, NOON - DAY)
    (found,) = memory.retrieve("walnut")
    assert found.keys == (small, large)
    assert (found.metadata, found.timestamp) == ({"from": "large"}, NOON - DAY)


def test_texts_are_embedded_once_however_they_were_added() -> None:
    embedder = Counting()
    memory = make(embedder)
    for word in ("a", "b", "c"):
        memory.add_text(f"{word} ")
    assert embedder.texts == 0
    memory.retrieve("a")
    assert embedder.texts == 1 + 1  # a chunk and a query
    memory.retrieve("a")
    assert embedder.texts == 1 + 2
    memory.add_text("d ")
    memory.retrieve("a")
    assert embedder.texts == 2 + 3


def test_a_replaced_text_keeps_its_key_metadata_and_time_and_is_found_anew() -> None:
    memory = make()
    memory.add_text("One. ")
    key = memory.add_text("The walnut tree was planted by Ida. ", {"page": 3}, NOON - DAY)
    last = memory.add_text("Two.")
    memory.retrieve("walnut")
    memory.replace_text(key, "The kite was built by Ida. ")
    assert (memory.get_text(key), memory.get_text(last)) == ("The kite was built by Ida. ", "Two.")
    (found,) = memory.retrieve("kite")
    assert found.keys == (1, key, last)
    assert (found.metadata, found.timestamp) == ({"page": 3}, NOON - DAY)
    memory.replace_text(key, "A kite.", {"page": 4}, NOON)
    memory.delete_text(1)
    (found,) = memory.retrieve("kite")
    assert (found.passage, found.metadata, found.timestamp) == ("A kite.Two.", {"page": 4}, NOON)


def test_deleting_a_short_text_leaves_its_neighbours_to_be_found() -> None:
    memory = make()
    first, short, last = (memory.add_text(text) for text in ("walnut tree. ", "oh. ", "red kite. "))
    memory.retrieve("walnut")
    memory.delete_text(short)
    assert memory.retrieve("walnut kite")[0].keys == (first, last)
    assert memory.retrieve("oh")[0].passage == "walnut tree. red kite."
    with pytest.raises(NotFound, match=f"no text with the key {short}"):
        memory.get_text(short)
    with pytest.raises(NotFound):
        memory.replace_text(short, "x")
    with pytest.raises(NotFound):
        memory.delete_text(short)


def test_the_oldest_makes_room_and_is_found_no_more() -> None:
    memory = filled(queue_capacity=2)
    assert {found.keys for found in memory.retrieve("walnut", 9)} == {(2,), (3,)}
    memory.add_text("A ferry.")
    assert {found.keys for found in memory.retrieve("kite", 9)} == {(3,), (4,)}


def test_clearing_forgets_all_and_no_key_comes_twice() -> None:
    memory = filled()
    memory.retrieve("walnut")
    memory.clear()
    assert memory.is_empty()
    assert memory.retrieve("walnut") == []
    assert memory.add_text("walnut") == 4
    assert memory.retrieve("walnut")[0].keys == (4,)


def test_the_dump_shows_each_chunk() -> None:
    memory = make()
    memory.add_text("a | b\n", {"x": "ä"}, NOON)
    memory.add_text("c")
    row = '| 1 | 1, 2 | 2024-05-06 12:00+00:00 | {"x": "ä"} | "a \\| b\\nc" |'
    assert memory.dump().splitlines()[1:] == ["| -- | ----- | ---- | -------- | ------- |", row]


def test_the_nearest_of_several_vectors_counts() -> None:
    facts = ("boiler cellar walnut tree", "ferry lighthouse kite hall")
    memory = filled(facts, Halves(256))
    (found,) = memory.retrieve("walnut tree lighthouse harbour")
    assert found.keys == (1,)
    assert found.distance == pytest.approx(0, abs=1e-5)
    back = TextMemory.from_text(memory.to_text(), Halves(256), tokenizer=words)
    assert back.retrieve("walnut tree lighthouse harbour") == [found]


def test_the_matcher_scores_ten_times_as_many_chunks_and_orders_them() -> None:
    matcher = Longest()
    facts = [f"walnut {'very ' * n}old" for n in range(15)]
    memory = filled(facts, matcher=matcher, expansion=NO_EXPANSION)
    found = memory.retrieve("walnut old")
    (query, passages), *_ = matcher.asked
    assert (query, len(passages)) == ("walnut old", 10)
    assert found[0].passage == max(passages, key=len)
    assert found[0].confidence == found[0].relevance == len(found[0].passage) / 1000
    filled(facts, matcher=matcher, expansion=NO_EXPANSION, reranking_k_factor=2).retrieve("walnut old", 3)
    assert len(matcher.asked[-1][1]) == 6


def test_of_two_passages_alike_the_matcher_chooses_the_better_chunk() -> None:
    memory = make(chunk_capacity=4, matcher=Longest())
    memory.add_text("walnut tree it is and extraordinarily magnificent.")
    (found,) = memory.retrieve("walnut tree")
    assert found.passage == "walnut tree it is and extraordinarily magnificent."
    assert found.confidence == len("and extraordinarily magnificent.") / 1000


@pytest.mark.parametrize("scores", [[], [float("nan")] * 3])
def test_a_matcher_that_gives_no_number_for_each_passage_is_named(scores: list[float]) -> None:
    class Odd:
        def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return scores

    with pytest.raises(ModelError, match="matcher gave"):
        filled(matcher=Odd()).retrieve("walnut")


def test_recency_and_importance_outweigh_relevance_where_they_are_told_to() -> None:
    def first(weighing: ScoreWeights | None) -> tuple[int, ...]:
        memory = make(weighing=weighing)
        for text, days, importance in (("walnut", 9, 1), ("walnut new", 1, 1), ("walnut grave matter", 5, 10)):
            memory.add_text(text, timestamp=NOON - days * DAY, importance=importance)
            memory.add_separator()
        return memory.retrieve("walnut")[0].keys

    assert first(None) == first(ScoreWeights()) == (1,)
    assert first(ScoreWeights(recency=2)) == (2,)
    assert first(ScoreWeights(importance=2)) == (3,)


def test_the_scribe_rates_importance_where_it_counts() -> None:
    memory = make(weighing=ScoreWeights(relevance=0, importance=1), scribe=ExtractiveScribe())
    for text in ("Hello there!", "My daughter was born last night.", "I like tea."):
        memory.add_text(text)
        memory.add_separator()
    assert memory.retrieve("tea")[0].passage == "My daughter was born last night."
    memory.replace_text(1, "My grandmother died.")
    memory.replace_text(2, "Hello!")
    assert memory.retrieve("tea")[0].passage == "My grandmother died."


def test_the_scribe_rewrites_queries_and_texts_with_what_was_said_before() -> None:
    said = [Line(1, "s", "user", "Ida", "Does John like walnut ice cream?", NOON)]
    memory = make(scribe=ExtractiveScribe())
    key = memory.add_text("He does.", context=said)
    assert memory.get_text(key) == "On 6 May 2024 Ida said: He does."
    memory.add_separator()
    memory.add_text("John eats walnut ice cream daily.")
    memory.add_separator()
    memory.add_text("And it is out there.")
    assert memory.retrieve("And it?")[0].keys == (3,)
    assert memory.retrieve("And it?", context=said)[0].keys == (2,)


def test_rewriting_needs_a_scribe() -> None:
    with pytest.raises(ConfigError, match="no scribe to rewrite with"):
        make().add_text("He does.", context=[])
    with pytest.raises(ConfigError, match="no scribe to rewrite with"):
        filled().retrieve("He does.", context=[])
    with pytest.raises(ConfigError, match="rewrite was given, but there is no scribe"):
        filled().retrieve("He does.", rewrite=True)


def test_it_comes_back_from_text_with_its_keys_and_without_embedding_again() -> None:
    memory = filled()
    before = memory.retrieve_multiple(["walnut", "kite Tom"], 3)
    memory.add_text("A ferry.")
    embedder = Counting()
    back = TextMemory.from_text(memory.to_text(), embedder, tokenizer=words, clock=lambda: NOON)
    assert back.dump() == memory.dump()
    assert [back.get_text(key) for key in (1, 2, 3, 4)] == [*FACTS, "A ferry."]
    assert back.to_text() == memory.to_text()
    back.delete_text(4)
    assert back.retrieve_multiple(["walnut", "kite Tom"], 3) == before
    assert embedder.texts == 2  # the queries
    assert back.add_text("Next.") == 5


def test_a_text_that_was_changed_before_writing_is_embedded_after_reading() -> None:
    memory = filled()
    memory.retrieve("walnut")
    memory.replace_text(2, "A lighthouse stands there.")
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(256), tokenizer=words)
    assert back.retrieve("lighthouse stands")[0].keys == (2,)


def test_with_another_embedder_everything_is_embedded_anew() -> None:
    memory = filled()
    memory.retrieve("walnut")
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(128), tokenizer=words)
    assert back.retrieve("boiler Tom")[0].keys == (3,)


def test_vectors_whose_chunks_are_gone_are_passed_over() -> None:
    memory = filled()
    memory.retrieve("walnut")
    state = json.loads(memory.to_text())
    state["vectors"]["ids"][0] = 99
    back = TextMemory.from_text(json.dumps(state), HashEmbedder(256), tokenizer=words)
    assert {found.keys for found in back.retrieve("walnut Ida planted", 9)} == {(1,), (2,), (3,)}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("walnut", "invalid memory: not written by to_text"),
        ("[]", "invalid memory: got version None, expected 1"),
        ('{"everthread": "TextMemory", "version": 9}', "invalid memory: got version 9, expected 1"),
        ('{"everthread": "TextMemory", "version": 1}', "invalid state: got version None, expected 1"),
    ],
)
def test_a_text_of_something_else_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        TextMemory.from_text(text, HashEmbedder())


@pytest.mark.parametrize("change", [{"data": "walnut!"}, {"shape": [3, 1, 7]}, {"ids": None}, {"ids": [1, 2]}])
def test_damaged_vectors_are_refused(change: dict[str, Any]) -> None:
    memory = filled()
    memory.retrieve("walnut")
    state = json.loads(memory.to_text())
    state["vectors"].update(change)
    with pytest.raises(BadInput, match="vectors of this memory are damaged"):
        TextMemory.from_text(json.dumps(state), HashEmbedder(256))


def test_while_the_embedder_is_down_passages_are_found_by_their_words_and_say_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = filled(embedder=Failing(256))
    best, *others = memory.retrieve("Who planted the walnut in the hall?", 3)
    assert (best.passage, best.by_words, best.distance, best.confidence) == (FACTS[0], True, None, None)
    assert 0 < best.relevance < 1
    assert [each.passage for each in others] == [FACTS[1]]  # the boiler shares no word
    assert "found by their words, without an embedder: down" in caplog.text
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(256), tokenizer=words)
    assert back.retrieve("walnut")[0].keys == (1,)


def test_an_embedder_that_gives_too_few_vectors_is_named() -> None:
    class Odd(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return super().embed(texts[1:])

    with pytest.raises(ModelError, match=r"hash-64 gave vectors of the shape \(2, 64\) for 3 texts"):
        filled(embedder=Odd()).retrieve("walnut")


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_an_impossible_k_is_refused(k: Any) -> None:
    with pytest.raises(BadQuery, match="can't retrieve"):
        filled().retrieve("walnut", k)


def test_without_an_embedder_chunks_are_found_by_the_words_that_they_hold_now() -> None:
    memory = filled(embedder="none")
    assert memory.retrieve("boiler")[0].keys == (3,)
    memory.replace_text(3, "Tom sold the ferry.")
    memory.delete_text(1)
    assert memory.retrieve_multiple(["boiler", "walnut"], 3) == [[], []]
    (found,) = memory.retrieve("the ferry of Tom", 3)
    assert (found.keys, found.relevance, found.by_words) == ((3,), 1.0, True)
    back = TextMemory.from_text(memory.to_text(), "none", tokenizer=words)
    assert back.retrieve("ferry Tom", 3) == [found]
    back.clear()
    assert back.retrieve("ferry") == []


def test_what_was_found_by_words_is_matched_and_grows_like_the_rest() -> None:
    memory = filled([f"walnut {'very ' * n}old" for n in range(5)], "none", matcher=Longest(), expansion=NO_EXPANSION)
    best = memory.retrieve("walnut")[0]
    assert (best.passage, best.confidence) == ("walnut very very very very old", 0.03)


def test_models_are_named_as_in_goodai_ltm() -> None:
    memory = TextMemory.create(emb_model="minilm", matching_model="em:minilm", reranking_k_factor=4)
    for fact in FACTS:
        memory.add_text(fact, separate=True)
    best = memory.retrieve("Who mended the heating?")[0]
    assert best.passage == FACTS[2]
    assert best.confidence == best.relevance
    assert 0 < best.relevance < 1


def test_an_unknown_matching_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="invalid matching model 'minilm'"):
        TextMemory.create(HashEmbedder(), matching_model="minilm")


def test_a_device_is_for_the_models_on_torch_whichever_they_are() -> None:
    both = TextMemory.create("st:some/model", matching_model="em:st:other/model", device="cuda:0")
    matching = TextMemory.create("minilm", matching_model="st:some/model", device="cuda:0")
    finding = TextMemory.create("st:some/model", matching_model="em:minilm", device="cuda:0")
    devices = [vars(each).get("_device") for each in (both._embedder, matching._matcher, finding._embedder)]
    assert devices == ["cuda:0"] * 3
    for matcher in (None, "em:minilm"):
        with pytest.raises(ConfigError, match="invalid device cuda:0"):
            TextMemory.create("minilm", matching_model=matcher, device="cuda:0")


def test_the_embedder_may_be_given_under_its_earlier_name() -> None:
    assert TextMemory.create(embedder="hash").embedder_name == "hash-64"
    with pytest.raises(BadInput, match="emb_model and embedder name the same thing"):
        TextMemory.create("minilm", embedder="hash")


def test_a_text_may_be_kept_from_joining_others() -> None:
    memory = make()
    texts = "walnut tree ", "red kite ", "old boiler ", "long ferry "
    for text, separate in zip(texts, (False, True, False, False), strict=True):
        memory.add_text(text, separate=separate)
    assert {found.keys for found in memory.retrieve("walnut kite boiler", 9)} == {(1,), (2,), (3, 4)}


def test_a_time_may_be_given_in_seconds() -> None:
    memory = make()
    memory.add_text("walnut", timestamp=NOON.timestamp())
    memory.replace_text(1, "walnut tree", timestamp=NOON.timestamp() + 0.5)
    assert memory.retrieve("walnut")[0].timestamp == NOON + timedelta(seconds=0.5)


@pytest.mark.parametrize("timestamp", [float("nan"), float("inf"), 1e300, True, "noon"])
def test_an_impossible_time_is_refused_and_nothing_is_kept(timestamp: Any) -> None:
    memory = make()
    with pytest.raises(BadInput, match=r"invalid timestamp .*: expected a datetime, or seconds since 1970"):
        memory.add_text("walnut", timestamp=timestamp)
    assert memory.is_empty()


def test_the_context_may_be_one_text_and_the_query_its_last_turn() -> None:
    llm = ScriptedLLM([json.dumps({"text": "Does John like walnut ice cream?"})] * 3)
    memory = make(scribe=LLMScribe(llm))
    memory.add_text("John eats walnut ice cream daily.", separate=True)
    memory.add_text("Do you like it?", separate=True)
    text = "John: Not everyone is fond of walnut ice cream. Mary: Do you like it?"
    assert memory.retrieve(text, rewrite=True)[0].keys == (1,)
    before = text.split(" Mary")[0]
    assert memory.retrieve("Do you like it?", context=before)[0].keys == (1,)
    for prompt in llm.prompts:
        told = prompt[-1].content
        assert "John: Not everyone is fond of walnut ice cream." in told
        assert told.index("Not everyone") < told.index("Do you like it?")
    memory.add_text("He does.", context=f"{before}\nMary: Do you, John?", separate=True)
    assert "Mary: Do you, John?" in llm.prompts[-1][-1].content
    assert memory.get_text(3) == "Does John like walnut ice cream?"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput, match="must be a str, got int: 5"):
        make().add_text(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="an empty text"):
        make().add_text("")
    with pytest.raises(BadQuery, match="queries must be a list"):
        make().retrieve_multiple("walnut")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [({"redundancy": 0}, "redundancy can't be 0"), ({"reranking_k_factor": 0.5}, "can't be 0.5")],
)
def test_impossible_options_are_refused(option: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make(**option)


def test_half_a_surrogate_pair_is_replaced() -> None:
    memory = TextMemory.create(HashEmbedder())
    key = memory.add_text("a \ud83d b")
    assert memory.get_text(key) == "a \ufffd b"
    assert memory.retrieve("a \ud83d")[0].passage == "a \ufffd b"


def test_with_the_shipped_model_meaning_is_found() -> None:
    memory = TextMemory.create()
    for fact in FACTS:
        memory.add_text(fact + "\n")
    found = memory.retrieve("Who mended the heating?", 2)
    assert FACTS[2] in found[0].passage


OPERATION = st.tuples(
    st.sampled_from(["add", "add", "separate", "replace", "delete", "retrieve", "reload"]),
    st.integers(0, 99),
    st.lists(st.sampled_from("walnut kite. boiler ferry\n".split(" ")), min_size=1, max_size=9).map(" ".join),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(OPERATION, max_size=20))
def test_after_any_sequence_retrieval_finds_what_a_fresh_memory_would(operations: list[tuple[str, int, str]]) -> None:
    memory = make(chunk_capacity=4, queue_capacity=6)
    for name, pick, text in operations:
        keys = [each.key for each in memory._queue.texts()]
        if name == "add":
            memory.add_text(text)
        elif name == "separate":
            memory.add_separator()
        elif name == "retrieve":
            memory.retrieve(text, 3)
        elif name == "reload":
            memory = TextMemory.from_text(memory.to_text(), HashEmbedder(256), tokenizer=words, clock=lambda: NOON)
        elif keys and name == "replace":
            memory.replace_text(keys[pick % len(keys)], text)
        elif keys:
            memory.delete_text(keys[pick % len(keys)])
    state = json.loads(memory.to_text())
    state["vectors"]["embedder"] = "none"  # so that every vector is made anew
    fresh = TextMemory.from_text(json.dumps(state), HashEmbedder(256), tokenizer=words, clock=lambda: NOON)
    for query in ("walnut", "kite ferry"):
        found, expected = memory.retrieve(query, 5), fresh.retrieve(query, 5)
        assert [told(each) for each in found] == [told(each) for each in expected]
        assert memory.is_empty() == (not found)


def told(found: Retrieved) -> tuple[str, float, tuple[int, ...]]:
    return found.passage, round(found.distance or 0.0, 4), found.keys
