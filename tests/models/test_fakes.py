import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import ConfigError
from everthread.models.embed import Embedder
from everthread.models.fakes import HashEmbedder


def test_the_fake_is_an_embedder() -> None:
    embedder: Embedder = HashEmbedder()
    assert embedder.name == "hash-64"


@given(st.text())
def test_any_text_has_a_vector_of_unit_length(text: str) -> None:
    vector = HashEmbedder(8).embed_query(text)
    assert vector.shape == (8,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_a_lone_surrogate_does_no_harm() -> None:
    assert np.isfinite(HashEmbedder().embed_query("half a \ud83d face")).all()


def test_a_text_without_words_has_the_first_axis() -> None:
    assert HashEmbedder(4).embed(["", " … "]).tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]


def test_texts_that_share_words_are_nearer_than_those_that_share_none() -> None:
    near, far = HashEmbedder(256).embed(["the red boat sank", "nobody likes porridge"]) @ HashEmbedder(256).embed_query(
        "a red boat"
    )
    assert near > far


def test_capitals_and_order_make_no_difference() -> None:
    one, other = HashEmbedder().embed(["Red boat", "BOAT, red!"])
    assert one.tolist() == other.tolist()


def test_no_texts_give_no_rows() -> None:
    assert HashEmbedder(16).embed([]).shape == (0, 16)


def test_another_process_gives_the_same_vector() -> None:
    code = "from everthread.models.fakes import HashEmbedder; print(HashEmbedder(8).embed_query('sea salt').tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(HashEmbedder(8).embed_query("sea salt").tolist())


def test_a_dimension_of_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        HashEmbedder(0)
