from __future__ import annotations

import numpy as np

from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.embedders.token_vectors import TokenEmbedder, match_tokens
from everthread.testing import HashEmbedder


def test_bulk_vectors_are_of_unit_length_and_near_for_shared_words() -> None:
    bulk = BulkEmbedder(HashEmbedder())
    vectors = bulk.embed(["the red kite flew", "a red kite flew away", "seventeen old tractors", "…"])
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert np.array_equal(bulk.embed_query("the red kite flew"), vectors[0])


def test_content_words_have_token_vectors_like_those_of_the_default_model() -> None:
    bulk = BulkEmbedder(HashEmbedder())
    assert isinstance(bulk, TokenEmbedder)
    vectors, codes = bulk.embed_with_tokens(["the kite", "it was", "an old tractor"])
    assert np.array_equal(vectors, bulk.embed(["the kite", "it was", "an old tractor"]))
    assert [each.shape for each in codes] == [(1, 16), (0, 16), (2, 16)]
    tokens = bulk.embed_query_with_tokens("Where is the kite?")[1]
    nearest = match_tokens(tokens.vectors, codes[0]).max(axis=1)
    assert nearest[list(tokens.words).index("kite")] > 0.9
