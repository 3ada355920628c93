from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given
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
    """Returns two vectors for each text or query, of its first and its second half."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([np.stack([super(Halves, self).embed([half])[0] for half in halves(text)]) for text in texts])

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed([text])[0], np.float32)  # (2, D)


def halves(text: str) -> tuple[str, str]:
    found = text.split()
    return " ".join(found[: len(found) // 2]), " ".join(found[len(found) // 2 :])


class Longest:
    """A matcher that prefers long passages, and records its input."""

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
    """Return a memory of these facts, each separate, with the keys 1, 2, 3 …"""
    memory = make(embedder, **options)
    for fact in facts:
        memory.add_text(fact)
        memory.add_separator()
    return memory


def test_a_text_is_found_by_its_content() -> None:
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


def test_the_distance_is_computed_from_the_vectors() -> None:
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


def test_fewer_passages_than_k_may_be_found() -> None:
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


def test_a_hit_has_the_keys_of_all_texts_and_metadata_of_the_main_one() -> None:
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


def test_a_replaced_text_keeps_its_key_metadata_and_time() -> None:
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


def test_neighbours_of_a_deleted_text_are_found() -> None:
    memory = make()
    first, short, last = (memory.add_text(text) for text in ("walnut tree. ", "oh. ", "red kite. "))
    memory.retrieve("walnut")
    memory.delete_text(short)
    assert memory.retrieve("walnut kite")[0].keys == (first, last)
    assert memory.retrieve("oh")[0].passage == "walnut tree. red kite."
    with pytest.raises(NotFound, match=f"text with key {short} not found"):
        memory.get_text(short)
    with pytest.raises(NotFound):
        memory.replace_text(short, "x")
    with pytest.raises(NotFound):
        memory.delete_text(short)


def test_an_evicted_text_is_not_found() -> None:
    memory = filled(queue_capacity=2)
    assert {found.keys for found in memory.retrieve("walnut", 9)} == {(2,), (3,)}
    memory.add_text("A ferry.")
    assert {found.keys for found in memory.retrieve("kite", 9)} == {(3,), (4,)}


def test_clearing_deletes_all_texts_and_reuses_no_key() -> None:
    memory = filled()
    memory.retrieve("walnut")
    memory.clear()
    assert memory.is_empty()
    assert memory.retrieve("walnut") == []
    assert memory.add_text("walnut") == 4
    assert memory.retrieve("walnut")[0].keys == (4,)


def test_the_dump_shows_each_chunk() -> None:
    memory = make(boundary="none")
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


def test_the_matcher_chooses_between_redundant_passages() -> None:
    memory = make(chunk_capacity=4, matcher=Longest())
    memory.add_text("walnut tree it is and extraordinarily magnificent.")
    (found,) = memory.retrieve("walnut tree")
    assert found.passage == "walnut tree it is and extraordinarily magnificent."
    assert found.confidence == len("and extraordinarily magnificent.") / 1000


@pytest.mark.parametrize("scores", [[], [float("nan")] * 3])
def test_a_matcher_with_missing_scores_raises_an_error(scores: list[float]) -> None:
    class Odd:
        def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return scores

    with pytest.raises(ModelError, match="matcher returned"):
        filled(matcher=Odd()).retrieve("walnut")


def test_recency_and_importance_can_outweigh_relevance() -> None:
    def first(weighing: ScoreWeights | None) -> tuple[int, ...]:
        memory = make(weighing=weighing)
        for text, days, importance in (("walnut", 9, 1), ("walnut new", 1, 1), ("walnut grave matter", 5, 10)):
            memory.add_text(text, timestamp=NOON - days * DAY, importance=importance)
            memory.add_separator()
        return memory.retrieve("walnut")[0].keys

    assert first(None) == first(ScoreWeights()) == (1,)
    assert first(ScoreWeights(recency=2)) == (2,)
    assert first(ScoreWeights(importance=2)) == (3,)


def test_the_scribe_rates_importance_if_it_has_weight() -> None:
    memory = make(weighing=ScoreWeights(relevance=0, importance=1), scribe=ExtractiveScribe())
    for text in ("Hello there!", "My daughter was born last night.", "I like tea."):
        memory.add_text(text)
        memory.add_separator()
    assert memory.retrieve("tea")[0].passage == "My daughter was born last night."
    memory.replace_text(1, "My grandmother died.")
    memory.replace_text(2, "Hello!")
    assert memory.retrieve("tea")[0].passage == "My grandmother died."


def test_the_scribe_rewrites_queries_and_texts_with_their_context() -> None:
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
    with pytest.raises(ConfigError, match="context was given, but the memory has no scribe"):
        make().add_text("He does.", context=[])
    with pytest.raises(ConfigError, match="context was given, but the memory has no scribe"):
        filled().retrieve("He does.", context=[])
    with pytest.raises(ConfigError, match="rewrite was given, but the memory has no scribe"):
        filled().retrieve("He does.", rewrite=True)


def test_a_memory_restored_from_text_keeps_keys_and_vectors() -> None:
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


def test_a_text_changed_before_to_text_is_embedded_after_from_text() -> None:
    memory = filled()
    memory.retrieve("walnut")
    memory.replace_text(2, "A lighthouse stands there.")
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(256), tokenizer=words)
    assert back.retrieve("lighthouse stands")[0].keys == (2,)


def test_another_embedder_embeds_everything_again() -> None:
    memory = filled()
    memory.retrieve("walnut")
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(128), tokenizer=words)
    assert back.retrieve("boiler Tom")[0].keys == (3,)


def test_vectors_of_missing_chunks_are_ignored() -> None:
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
def test_text_not_from_to_text_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        TextMemory.from_text(text, HashEmbedder())


@pytest.mark.parametrize("change", [{"data": "walnut!"}, {"shape": [3, 1, 7]}, {"ids": None}, {"ids": [1, 2]}])
def test_damaged_vectors_are_rejected(change: dict[str, Any]) -> None:
    memory = filled()
    memory.retrieve("walnut")
    state = json.loads(memory.to_text())
    state["vectors"].update(change)
    with pytest.raises(BadInput, match="vectors of this memory are damaged"):
        TextMemory.from_text(json.dumps(state), HashEmbedder(256))


def test_passages_found_by_words_are_marked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = filled(embedder=Failing(256))
    best, *others = memory.retrieve("Who planted the walnut in the hall?", 3)
    assert (best.passage, best.by_words, best.distance, best.confidence) == (FACTS[0], True, None, None)
    assert 0 < best.relevance < 1
    assert [each.passage for each in others] == [FACTS[1]]  # the boiler shares no word
    assert "found by their words because the embedder failed: down" in caplog.text
    back = TextMemory.from_text(memory.to_text(), HashEmbedder(256), tokenizer=words)
    assert back.retrieve("walnut")[0].keys == (1,)


def test_an_embedder_with_missing_vectors_raises_an_error() -> None:
    class Odd(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return super().embed(texts[1:])

    with pytest.raises(ModelError, match=r"hash-64 returned vectors of shape \(2, 64\) for 3 texts"):
        filled(embedder=Odd()).retrieve("walnut")


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_an_invalid_k_is_rejected(k: Any) -> None:
    with pytest.raises(BadQuery, match="invalid number of passages"):
        filled().retrieve("walnut", k)


def test_without_an_embedder_chunks_are_found_by_their_current_words() -> None:
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


def test_passages_found_by_words_are_matched_and_expanded() -> None:
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


def test_an_unknown_matching_model_is_rejected() -> None:
    with pytest.raises(ConfigError, match="unknown matching model 'minilm'"):
        TextMemory.create(HashEmbedder(), matching_model="minilm")


def test_a_device_is_passed_to_the_models_on_torch() -> None:
    both = TextMemory.create("st:some/model", matching_model="em:st:other/model", device="cuda:0")
    matching = TextMemory.create("minilm", matching_model="st:some/model", device="cuda:0")
    finding = TextMemory.create("st:some/model", matching_model="em:minilm", device="cuda:0")
    devices = [vars(each).get("_device") for each in (both._embedder, matching._matcher, finding._embedder)]
    assert devices == ["cuda:0"] * 3
    for matcher in (None, "em:minilm"):
        with pytest.raises(ConfigError, match="invalid device cuda:0"):
            TextMemory.create("minilm", matching_model=matcher, device="cuda:0")


def test_the_embedder_can_be_given_under_its_former_name() -> None:
    assert TextMemory.create(embedder="hash").embedder_name == "hash-64"
    with pytest.raises(BadInput, match="emb_model and embedder are the same argument"):
        TextMemory.create("minilm", embedder="hash")


def test_a_separate_text_shares_no_chunk() -> None:
    memory = make()
    texts = "walnut tree ", "red kite ", "old boiler ", "long ferry "
    for text, separate in zip(texts, (False, True, False, False), strict=True):
        memory.add_text(text, separate=separate)
    assert {found.keys for found in memory.retrieve("walnut kite boiler", 9)} == {(1,), (2,), (3, 4)}


def test_a_time_can_be_given_in_seconds() -> None:
    memory = make()
    memory.add_text("walnut", timestamp=NOON.timestamp())
    memory.replace_text(1, "walnut tree", timestamp=NOON.timestamp() + 0.5)
    assert memory.retrieve("walnut")[0].timestamp == NOON + timedelta(seconds=0.5)


@pytest.mark.parametrize("timestamp", [float("nan"), float("inf"), 1e300, True, "noon"])
def test_an_invalid_time_is_rejected_and_nothing_is_stored(timestamp: Any) -> None:
    memory = make()
    with pytest.raises(BadInput, match=r"invalid timestamp .*: expected a datetime, or seconds since 1970"):
        memory.add_text("walnut", timestamp=timestamp)
    assert memory.is_empty()


def test_the_context_can_be_a_text_whose_last_turn_is_the_query() -> None:
    llm = ScriptedLLM([json.dumps({"text": "Does John like walnut ice cream?"})] * 3)
    memory = make(scribe=LLMScribe(llm))
    memory.add_text("John eats walnut ice cream daily.", separate=True)
    memory.add_text("Do you like it?", separate=True)
    text = "John: Not everyone is fond of walnut ice cream. Mary: Do you like it?"
    assert memory.retrieve(text, rewrite=True)[0].keys == (1,)
    before = text.split(" Mary")[0]
    assert memory.retrieve("Do you like it?", context=before)[0].keys == (1,)
    for prompt in llm.prompts:
        material = prompt[-1].content
        assert "John: Not everyone is fond of walnut ice cream." in material
        assert material.index("Not everyone") < material.index("Do you like it?")
    memory.add_text("He does.", context=f"{before}\nMary: Do you, John?", separate=True)
    assert "Mary: Do you, John?" in llm.prompts[-1][-1].content
    assert memory.get_text(3) == "Does John like walnut ice cream?"


def test_a_text_of_another_type_is_rejected() -> None:
    with pytest.raises(BadInput, match="must be a str, got int: 5"):
        make().add_text(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="the text is empty"):
        make().add_text("")
    with pytest.raises(BadQuery, match="queries must be a list"):
        make().retrieve_multiple("walnut")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [({"redundancy": 0}, "invalid redundancy 0"), ({"reranking_k_factor": 0.5}, "invalid reranking_k_factor 0.5")],
)
def test_invalid_options_are_rejected(option: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make(**option)


def test_half_a_surrogate_pair_is_replaced() -> None:
    memory = TextMemory.create(HashEmbedder())
    key = memory.add_text("a \ud83d b")
    assert memory.get_text(key) == "a \ufffd b"
    assert memory.retrieve("a \ud83d")[0].passage == "a \ufffd b"


def test_the_shipped_model_finds_meaning() -> None:
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


@examples(100)
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
    state["vectors"]["embedder"] = "none"  # so that every text is embedded again
    fresh = TextMemory.from_text(json.dumps(state), HashEmbedder(256), tokenizer=words, clock=lambda: NOON)
    for query in ("walnut", "kite ferry"):
        found, expected = memory.retrieve(query, 5), fresh.retrieve(query, 5)
        assert [told(each) for each in found] == [told(each) for each in expected]
        assert memory.is_empty() == (not found)


def told(found: Retrieved) -> tuple[str, float, tuple[int, ...]]:
    return found.passage, round(found.distance or 0.0, 4), found.keys


def test_the_sentence_that_asks_is_embedded_beside_the_whole_query() -> None:
    talk = "Max: the parrot and the saxophone and the ferry\nRuth: Who planted the walnut tree?\nMax:"
    (beside,) = filled(FACTS[:1]).retrieve(talk)
    (alone,) = filled(FACTS[:1]).retrieve("Who planted the walnut tree?")
    (whole,) = filled(FACTS[:1], question_vector=False).retrieve(talk)
    assert beside.distance == alone.distance
    assert whole.distance is not None
    assert beside.distance is not None
    assert whole.distance > beside.distance


def test_no_chunk_of_a_memory_crosses_the_end_of_a_line_unless_it_may() -> None:
    for boundary, passages in (("line", 2), ("none", 1)):
        memory = make(boundary=boundary)
        memory.add_text("The walnut tree\n")
        memory.add_text("The kite\n")
        assert memory.dump().count("\n") - 2 == passages
