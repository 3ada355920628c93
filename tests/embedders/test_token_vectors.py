import numpy as np
import pytest

from everthread.embedders.encoder import Encoder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.token_vectors import (
    DIMENSIONS,
    MAX_TOKENS,
    TokenEmbedder,
    encode_signs,
    find_content_tokens,
    fit_projection,
    match_tokens,
    project,
    token_scheme_of,
)
from everthread.testing import HashEmbedder

LINES = ["I adopted a greyhound.", "The train to the coast was late.", "Of the"]


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_the_shipped_model_gives_token_vectors_and_a_fake_does_not(minilm: OnnxEmbedder) -> None:
    assert isinstance(minilm, TokenEmbedder)
    assert (token_scheme_of(minilm), token_scheme_of(HashEmbedder())) == ("signs-128", "")


def test_token_codes_come_with_the_same_vectors(minilm: OnnxEmbedder) -> None:
    vectors, codes = minilm.embed_with_tokens(LINES)
    np.testing.assert_array_equal(vectors, OnnxEmbedder().embed(LINES))
    assert [each.shape for each in codes] == [(2, 16), (3, 16), (0, 16)]


def test_a_question_has_a_unit_vector_for_each_part_of_a_content_word(minilm: OnnxEmbedder) -> None:
    vector, tokens = minilm.embed_query_with_tokens("Which greyhounds did Zoë adopt?")
    np.testing.assert_array_equal(vector, OnnxEmbedder().embed_query("Which greyhounds did Zoë adopt?"))
    assert list(dict.fromkeys(tokens.words)) == ["greyhounds", "Zoë", "adopt"]
    assert tokens.vectors.shape == (len(tokens.words), DIMENSIONS)
    np.testing.assert_allclose(np.linalg.norm(tokens.vectors, axis=1), 1.0, atol=1e-5)


def test_a_pet_is_nearest_to_the_greyhound(minilm: OnnxEmbedder) -> None:
    codes = minilm.embed_with_tokens(LINES)[1]
    question = minilm.embed_query_with_tokens("pet")[1].vectors
    assert match_tokens(question, codes[0]).max() > match_tokens(question, codes[1]).max() + 0.2


def test_a_line_has_codes_of_its_first_words_only(minilm: OnnxEmbedder) -> None:
    tokens = Encoder(minilm).embed(["lemon marble " * 400])[0].tokens
    assert tokens is not None
    assert (tokens.scheme, tokens.codes.shape) == ("signs-128", (MAX_TOKENS, DIMENSIONS // 8))


def test_an_embedder_without_token_vectors_gives_no_codes() -> None:
    encoder = Encoder(HashEmbedder())
    question = encoder.try_embed_question("greyhound")
    assert question is not None
    assert question.tokens is None
    assert encoder.embed(LINES)[0].tokens is None


def test_function_words_punctuation_and_special_tokens_have_no_meaning_of_their_own() -> None:
    assert find_content_tokens(["[CLS]", "the", "grey", "##hound", "?", "[SEP]", "7"]) == [2, 3, 6]


def test_codes_estimate_the_cosines_of_the_vectors() -> None:
    rng = np.random.default_rng(1)
    hidden = rng.standard_normal((400, 300)).astype(np.float32)
    vectors = project(hidden, fit_projection(hidden))
    near = vectors[0] + 0.4 * vectors[1]
    near /= np.linalg.norm(near)
    estimated = match_tokens(near[None], encode_signs(vectors))[0]
    np.testing.assert_allclose(estimated, vectors @ near, atol=0.4)
    assert estimated.argmax() == 0
    assert np.corrcoef(estimated, vectors @ near)[0, 1] > 0.7
