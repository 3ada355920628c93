from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.common.installation import extra_command
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput, ConfigError, EmbedderUnavailable, LLMUnavailable, ModelError, ModelNotFound
from everthread.recall.rerank.base import Reranker
from everthread.recall.rerank.models import MMR, UNJUDGED, CrossEncoder, EmbedderMatch, LLMVerdict
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Vector, Vectors
from recall.builders import assert_only_moved, hit, hits, line, rerank_scores, seqs

TEXT = st.text("ab cat Dog's 我的猫，鱼?\n", max_size=30)


class Table:
    """An embedder that knows a few texts."""

    name = "table"
    multilingual = True

    def __init__(self, **vectors: npt.ArrayLike) -> None:
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.vectors[text] for text in texts], np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.array(self.vectors[text], np.float32)


class Down(HashEmbedder):
    """An embedder that always fails."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable("no answer")


class SharedCharacters:
    """A cross-encoder that counts the characters that the two texts of a pair share."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, str]]] = []

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> npt.ArrayLike:
        self.asked.append(pairs)
        return np.array([[len(set(one) & set(other))] for one, other in pairs], np.float32)  # (N, 1)


class FixedModel:
    """A cross-encoder that returns fixed predictions."""

    def __init__(self, numbers: npt.ArrayLike) -> None:
        self.numbers = numbers

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> npt.ArrayLike:
        return self.numbers


# ----------------------------------------------------------------------------------------------- EmbedderMatch


def test_embedder_match_ranks_by_the_cosine_of_another_model() -> None:
    reranker = EmbedderMatch(Table(猫=(1, 0), 面包=(-0.6, 0.8), 小猫睡了=(0.8, 0.6)))
    found = reranker.rerank("猫", hits("面包", "小猫睡了"))
    assert reranker.name == "match:table"
    assert seqs(found) == [2, 1]
    assert rerank_scores(reranker, found) == [0.8, -0.6]


def test_texts_of_equal_cosine_keep_their_order() -> None:
    reranker = EmbedderMatch(HashEmbedder(512))
    found = reranker.rerank("钥匙", hits("面包，香", "丢了，钥匙", "钥匙，丢了", "The keys"))
    assert seqs(found) == [2, 3, 1, 4]
    assert rerank_scores(reranker, found) == pytest.approx([math.sqrt(0.5)] * 2 + [0, 0], abs=1e-6)


def test_a_line_that_only_quotes_scores_like_an_empty_one() -> None:
    quoting = replace(line(1, "red boat"), metadata={"everthread.echo": [[0, 8]]})
    reranker = EmbedderMatch(HashEmbedder(512))
    assert rerank_scores(reranker, reranker.rerank("red boat", [hit(quoting)])) == [0]


@pytest.mark.parametrize("reranker", [EmbedderMatch, MMR])
def test_an_unavailable_embedder_raises_its_error(reranker: Any) -> None:
    with pytest.raises(EmbedderUnavailable, match="no answer"):
        reranker(Down()).rerank("猫", hits("小猫"))


@pytest.mark.parametrize("reranker", [EmbedderMatch, MMR])
@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (
            {"q": (1, 0), "a": (1, math.nan)},
            r"table returned vectors of shape \(1, 2\) for 1 texts, or not finite ones",
        ),
        ({"q": (1, 0), "a": ()}, r"table returned a vector of shape \(2,\) for a query"),
        (
            {"q": (1, math.inf), "a": (1, 0)},
            r"table returned a vector of shape \(2,\) for a query, or one that is not fin",
        ),
    ],
)
def test_invalid_vectors_raise_a_model_error(reranker: Any, vectors: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        reranker(Table(**vectors)).rerank("q", hits("a"))


def test_the_nearest_pair_of_several_vectors_determines_the_score() -> None:
    several = Table(问=((1, 0), (0, 1)), 早=((0.6, 0.8), (0, 0)), 晚=((0.5, -(0.75**0.5)), (-0.8, -0.6)))
    assert EmbedderMatch(several).score("问", ["早", "晚"]) == pytest.approx([0.8, 0.5])
    assert seqs(MMR(several).rerank("问", hits("晚", "早"))) == [2, 1]


def test_a_prediction_is_a_probability_that_rises_with_the_cosine() -> None:
    match = EmbedderMatch(OnnxEmbedder())
    pairs = [
        ("Mike: What is your favourite colour?", "Steve: My favourite colour is purple."),
        ("Name the inner planets.", "It was a wet spring in the valley, and the hay was late."),
        ("Mike: What is your favourite colour?", "Steve: I would rather paint the door."),
    ]
    answer, unrelated, similar = match.predict(pairs)
    assert 0 < unrelated < similar < 0.5 < answer < 1
    assert match.predict(pairs[::-1]) == [similar, unrelated, answer]
    assert match.predict([]) == []


def test_cosines_of_a_model_are_calibrated_to_the_shipped_one() -> None:
    """Unrelated texts with a cosine of 0.55 do not match if the model gives all unrelated texts such cosines."""

    class Narrow(OnnxEmbedder):
        name = "narrow"

        def embed(self, texts: Sequence[str]) -> Vectors:
            found = np.hstack([super().embed(texts), np.ones((len(texts), 1), np.float32)])
            return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

        def embed_query(self, text: str) -> Vector:
            return np.asarray(self.embed([text])[0])

    pairs = [("What is my name?", "My name is Ida."), ("What is my name?", "The ferry was late.")]
    narrow = EmbedderMatch(Narrow())
    assert min(narrow.score(pairs[0][0], [text for _, text in pairs])) > 0.45
    assert narrow.predict(pairs) == pytest.approx(EmbedderMatch(OnnxEmbedder()).predict(pairs), abs=0.1)


# --------------------------------------------------------------------------------------------------------- MMR

# Cosines to the query: 0.8, 0.8 and 0.6. The first two vectors are equal, and the third is orthogonal to them.
APART = Table(问=(1, 0), 早=(0.8, 0.6), 早上=(0.8, 0.6), 晚=(0.6, -0.8))


def test_mmr_ranks_a_repetition_after_new_content() -> None:
    reranker = MMR(APART, balance=0.5)
    found = reranker.rerank("问", hits("早", "早上", "晚"))
    assert seqs(found) == [1, 3, 2]
    assert rerank_scores(reranker, found) == pytest.approx([0.4, 0.3, -0.1], abs=1e-6)


def test_mmr_with_balance_1_keeps_repetitions() -> None:
    reranker = MMR(APART, balance=1)
    found = reranker.rerank("问", hits("晚", "早", "早上"))
    assert seqs(found) == [2, 3, 1]
    assert rerank_scores(reranker, found) == pytest.approx([0.8, 0.8, 0.6], abs=1e-6)


def test_mmr_with_balance_0_keeps_the_first_hit_first() -> None:
    assert seqs(MMR(APART, balance=0).rerank("问", hits("早", "早上", "晚"))) == [1, 3, 2]


def test_mmr_keeps_at_most_k_hits() -> None:
    assert seqs(MMR(APART, balance=0.5, k=2).rerank("问", hits("早", "早上", "晚"))) == [1, 3]
    assert seqs(MMR(APART, k=9).rerank("问", hits("早", "早上", "晚"))) == [1, 3, 2]
    assert seqs(MMR(APART, k=1).rerank(" ", hits("晚", "早"))) == [1]


@pytest.mark.parametrize("balance", [-0.1, 1.1, math.nan])
def test_a_balance_outside_0_to_1_is_rejected(balance: float) -> None:
    with pytest.raises(BadInput, match=f"invalid balance {balance}; expected a number from 0"):
        MMR(APART, balance)


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_mmr_rejects_k_below_1(k: Any) -> None:
    with pytest.raises(BadInput, match=f"k must be a whole number of at least 1, got {k}"):
        MMR(APART, k=k)


UNIT = st.integers(-8, 8).map(lambda eighths: (math.cos(eighths * math.pi / 8), math.sin(eighths * math.pi / 8)))


@given(st.lists(UNIT, min_size=1, max_size=7), UNIT, st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]))
def test_mmr_matches_the_definition_of_carbonell_and_goldstein(rows: list[Any], query: Any, balance: float) -> None:
    table = Table(q=query, **{f"t{place}": row for place, row in enumerate(rows)})
    reranker = MMR(table, balance)
    found = reranker.rerank("q", hits(*(f"t{place}" for place in range(len(rows)))))
    chosen: list[int] = []
    for seq, number in zip(seqs(found), rerank_scores(reranker, found), strict=True):
        marginal = {
            place: balance * np.dot(row, query)
            - (1 - balance) * max([0.0, *(np.dot(row, rows[before]) for before in chosen)])
            for place, row in enumerate(rows)
            if place not in chosen
        }
        assert number == pytest.approx(marginal[seq - 1], abs=1e-5)
        assert number == pytest.approx(max(marginal.values()), abs=1e-5)
        chosen.append(seq - 1)


# ------------------------------------------------------------------------------------------------ CrossEncoder


def test_a_cross_encoder_reads_query_and_text_together() -> None:
    model = SharedCharacters()
    reranker = CrossEncoder("shared", model)
    found = reranker.rerank("小猫", hits("面包", "猫", "小猫睡了", "一只猫"))
    assert reranker.name == "cross-encoder:shared"
    assert seqs(found) == [3, 2, 4, 1]
    assert rerank_scores(reranker, found) == [2, 1, 1, 0]
    assert model.asked == [[("小猫", "面包"), ("小猫", "猫"), ("小猫", "小猫睡了"), ("小猫", "一只猫")]]


def test_a_cross_encoder_is_not_called_without_query_or_hits() -> None:
    model = SharedCharacters()
    assert CrossEncoder("shared", model).rerank("猫", []) == []
    assert seqs(CrossEncoder("shared", model).rerank(" ", hits("面包", "猫"))) == [1, 2]
    assert model.asked == []


def test_a_cross_encoder_reads_no_lone_surrogates() -> None:
    model = SharedCharacters()
    CrossEncoder("shared", model).score("cat\ud83d", ["dog\ude00"])
    assert model.asked == [[("cat\ufffd", "dog\ufffd")]]


@pytest.mark.parametrize("given", [[0.5], [[0.1, 0.2], [0.3, 0.4]], 0.5, [[0.1, 0.2]]])
def test_predictions_of_the_wrong_shape_raise_a_model_error(given: Any) -> None:
    with pytest.raises(ModelError, match=r"cross-encoder:odd returned numbers of shape .* for 2 pairs"):
        CrossEncoder("odd", FixedModel(given)).rerank("猫", hits("面包", "猫"))


def test_a_prediction_of_nan_raises_a_model_error() -> None:
    with pytest.raises(ModelError, match="cross-encoder:odd returned a number that is not finite"):
        CrossEncoder("odd", FixedModel([0.5, math.nan])).rerank("猫", hits("面包", "猫"))


def test_predictions_of_a_given_model_must_be_probabilities() -> None:
    pairs = [("猫", "面包"), ("猫", "小猫")]
    assert CrossEncoder("sure", FixedModel([0.25, 1])).predict(pairs) == [0.25, 1]
    assert CrossEncoder("sure", FixedModel([0.25, 1])).predict([]) == []
    with pytest.raises(ModelError, match=r"not probabilities, such as -7.5; load it with activation_fn=torch.nn.Sigmo"):
        CrossEncoder("odd", FixedModel([0.5, -7.5])).predict(pairs)


if find_spec("sentence_transformers") is None:

    def test_without_the_extra_the_error_names_the_remedy() -> None:
        with pytest.raises(ConfigError, match=re.escape(extra_command("sentence-transformers"))):
            CrossEncoder("some/model").rerank("猫", hits("小猫"))

else:
    WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the red boat sank at dawn nobody saw it".split()]

    def save_tiny_model(folder: Path) -> Path:
        """Save a cross-encoder with random weights."""
        import torch
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.pre_tokenizers import Whitespace
        from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=20, num_labels=1, initializer_range=0.5, **sizes
        )  # large weights, so that scores differ
        BertForSequenceClassification(config).save_pretrained(folder)
        tokenizer = Tokenizer(WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = Whitespace()
        special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
        return folder

    def test_a_model_folder_is_loaded_and_scores_each_text(tmp_path: Path) -> None:
        reranker = CrossEncoder(save_tiny_model(tmp_path / "model"))
        texts = ["the red boat", "nobody saw it", "the red boat", "", "小猫"]
        scores = reranker.score("who saw it", texts)
        assert scores[0] == scores[2] != scores[1]
        assert all(0 < score < 1 for score in scores)
        assert reranker.predict([("who saw it", text) for text in texts]) == scores
        assert rerank_scores(reranker, reranker.rerank("who saw it", hits(*texts[:3]))) == sorted(
            scores[:3], reverse=True
        )

    def test_an_unbounded_output_becomes_a_probability(tmp_path: Path) -> None:
        folder = save_tiny_model(tmp_path / "model")
        config = json.loads((folder / "config.json").read_text())
        config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
        (folder / "config.json").write_text(json.dumps(config))
        assert all(0 < number < 1 for number in CrossEncoder(folder).predict([("who saw it", "the red boat")]))

    def test_the_model_runs_on_the_given_device_and_an_unknown_one_is_rejected(tmp_path: Path) -> None:
        folder = save_tiny_model(tmp_path / "model")
        encoder = CrossEncoder(folder, device="cpu")
        encoder.predict([("who saw it", "nobody")])
        assert str(cast("Any", encoder._model).device) == "cpu"
        with pytest.raises(ModelNotFound, match="can't be loaded on walnut; check the name or folder, and the device"):
            CrossEncoder(folder, device="walnut").predict([("who saw it", "nobody")])

    @pytest.mark.parametrize("damage", ["config.json", "model.safetensors"])
    def test_a_damaged_model_raises_model_not_found(tmp_path: Path, damage: str) -> None:
        path = save_tiny_model(tmp_path / "model") / damage
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(ModelNotFound, match="can't be loaded; check the name or folder"):
            CrossEncoder(tmp_path / "model").score("who saw it", ["nobody"])

    def test_a_missing_model_raises_model_not_found(tmp_path: Path) -> None:
        with pytest.raises(ModelNotFound, match="can't be loaded; check the name or folder"):
            CrossEncoder(tmp_path / "none").score("who saw it", ["nobody"])


# -------------------------------------------------------------------------------------------------- LLMVerdict

YES, NO = '{"relevant": true}', '{"relevant": false}'


def test_relevant_hits_keep_their_order() -> None:
    reranker = LLMVerdict(ExtractiveScribe())
    found = reranker.rerank("Where is the ferry to the island?", hits("The island ferry!", "Bread.", "A ferry, there."))
    assert seqs(found) == [1, 3]
    assert rerank_scores(reranker, found) == [1, 1]
    assert seqs(reranker.rerank("图书馆的钥匙在哪里？", hits("她喜欢吃面包", "钥匙在图书馆"))) == [2]


def test_at_most_max_hits_are_judged_and_the_rest_is_dropped() -> None:
    model = ScriptedLLM([YES, NO])
    reranker = LLMVerdict(LLMScribe(model), max_hits=2)
    assert seqs(reranker.rerank("Where do I live?", hits("In Lisbon.", "Bread.", "In Porto."))) == [1]
    assert len(model.prompts) == 2


def test_five_hits_are_judged_by_default() -> None:
    model = ScriptedLLM([YES] * 6)
    assert len(LLMVerdict(LLMScribe(model)).rerank("Where do I live?", hits(*"abcdefgh"))) == len(model.prompts) == 5


def test_a_failing_scribe_drops_no_hits(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedLLM([NO, YES, LLMUnavailable("no answer")])
    reranker = LLMVerdict(LLMScribe(model), max_hits=4)
    with caplog.at_level(logging.WARNING, "everthread"):
        found = reranker.rerank("Where do I live?", hits("Bread.", "In Lisbon.", "In Porto.", "Perhaps.", "Unasked."))
    assert seqs(found) == [2, 3, 4]
    assert rerank_scores(reranker, found) == [1, UNJUDGED, UNJUDGED]
    assert len(model.prompts) == 3
    assert "no answer" in caplog.text
    assert "Lisbon" not in caplog.text


def test_an_invalid_answer_of_a_scribe_drops_no_hits() -> None:
    model = ScriptedLLM(["Perhaps.", "Perhaps."])
    assert seqs(LLMVerdict(LLMScribe(model)).rerank("Where do I live?", hits("In Lisbon.", "Bread."))) == [1, 2]


def test_a_blank_query_makes_no_model_call() -> None:
    model = ScriptedLLM([])
    assert LLMVerdict(LLMScribe(model)).rerank(" ", hits("In Lisbon.")) == []
    assert model.prompts == []


@pytest.mark.parametrize("max_hits", [0, -2, 1.5])
def test_max_hits_below_1_is_rejected(max_hits: Any) -> None:
    with pytest.raises(BadInput, match=f"max_hits must be a whole number of at least 1, got {max_hits}"):
        LLMVerdict(ExtractiveScribe(), max_hits)


# --------------------------------------------------------------------------------------------------------- all

ALL: list[Reranker] = [
    EmbedderMatch(HashEmbedder()),
    MMR(HashEmbedder()),
    CrossEncoder("shared", SharedCharacters()),
    LLMVerdict(ExtractiveScribe()),
]


@pytest.mark.parametrize("reranker", ALL, ids=["match", "mmr", "cross-encoder", "verdict"])
@given(query=TEXT, texts=st.lists(TEXT, max_size=6))
def test_reranking_changes_only_order_and_signal_of_hits(reranker: Reranker, query: str, texts: list[str]) -> None:
    given = [replace(each, signals={"cosine": 0.25, "mmr": -1.0}) for each in hits(*texts)]
    ranked = reranker.rerank(query, given)
    assert_only_moved(reranker, given, ranked)
    order = [-number for number in rerank_scores(reranker, ranked)]
    assert np.allclose(order, sorted(order), atol=1e-5)
    if not isinstance(reranker, LLMVerdict):
        assert len(ranked) == len(given)


@pytest.mark.parametrize("reranker", ALL, ids=["match", "mmr", "cross-encoder", "verdict"])
def test_reranking_keeps_a_single_hit_and_an_empty_list(reranker: Reranker) -> None:
    assert reranker.rerank("ferry", []) == []
    assert seqs(reranker.rerank("ferry", hits("The ferry was late."))) == [1]


@pytest.mark.parametrize("reranker", ALL[:3], ids=["match", "mmr", "cross-encoder"])
def test_a_blank_query_keeps_the_order(reranker: Reranker) -> None:
    found = reranker.rerank(" \n", hits("cat", "dog", "cat"))
    assert seqs(found) == [1, 2, 3]
    assert rerank_scores(reranker, found) == [0, 0, 0]
