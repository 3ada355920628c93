import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.embedders.base import Embedder
from everthread.errors import ConfigError, LLMUnavailable, ModelError
from everthread.llms.base import LLM
from everthread.llms.streaming import estimate_usage
from everthread.testing import HashEmbedder, ScriptedLLM, StreamCut, split_words
from everthread.types import Message, Usage

ASKED = [Message("system", "You are Nemo."), Message("user", "Where are we?")]

# ---------------------------------------------------------------------------------------------- HashEmbedder


def test_hash_embedder_is_an_embedder() -> None:
    embedder: Embedder = HashEmbedder()
    assert embedder.name == "hash-64"


@given(st.text())
def test_any_text_has_a_vector_of_unit_length(text: str) -> None:
    vector = HashEmbedder(8).embed_query(text)
    assert vector.shape == (8,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_a_lone_surrogate_can_be_embedded() -> None:
    assert np.isfinite(HashEmbedder().embed_query("half a \ud83d face")).all()


def test_a_text_without_words_has_the_first_unit_vector() -> None:
    assert HashEmbedder(4).embed(["", " … "]).tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]


def test_texts_that_share_words_are_nearer_than_those_that_share_none() -> None:
    near, far = HashEmbedder(256).embed(["the red boat sank", "nobody likes porridge"]) @ HashEmbedder(256).embed_query(
        "a red boat"
    )
    assert near > far


def test_capitals_and_word_order_make_no_difference() -> None:
    one, other = HashEmbedder().embed(["Red boat", "BOAT, red!"])
    assert one.tolist() == other.tolist()


def test_no_texts_give_no_rows() -> None:
    assert HashEmbedder(16).embed([]).shape == (0, 16)


def test_vectors_are_the_same_in_another_process() -> None:
    code = "from everthread.testing import HashEmbedder; print(HashEmbedder(8).embed_query('sea salt').tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(HashEmbedder(8).embed_query("sea salt").tolist())


def test_a_dimension_of_zero_is_rejected() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        HashEmbedder(0)


# ---------------------------------------------------------------------------------------------- ScriptedLLM


def test_replies_come_in_the_order_of_the_script() -> None:
    llm: LLM = ScriptedLLM(["Under the sea.", "Still there."])
    stream = llm.stream(ASKED)
    assert list(stream) == ["Under", " the", " sea."]
    assert (stream.finish, list(stream)) == ("stop", [])
    assert llm.complete(ASKED) == "Still there."


@given(st.text())
def test_the_pieces_of_a_text_join_to_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text
    assert list(ScriptedLLM([text]).stream(ASKED)) == split_words(text)


def test_prompts_are_recorded() -> None:
    llm = ScriptedLLM(["One.", "Two."])
    llm.stream(ASKED)
    llm.complete(ASKED[1:])
    assert llm.prompts == [tuple(ASKED), tuple(ASKED[1:])]


def test_a_reply_can_depend_on_the_messages() -> None:
    llm = ScriptedLLM([lambda messages: messages[-1].content.upper()])
    assert llm.complete(ASKED) == "WHERE ARE WE?"


def test_an_error_can_be_scripted_in_place_of_a_reply() -> None:
    llm = ScriptedLLM([LLMUnavailable("asleep"), LLMUnavailable("still asleep"), "Awake."])
    with pytest.raises(LLMUnavailable, match=r"^asleep"):
        llm.stream(ASKED)
    with pytest.raises(LLMUnavailable, match="still asleep"):
        llm.complete(ASKED)
    assert llm.usage == Usage()
    assert llm.complete(ASKED) == "Awake."


def test_a_reply_can_be_cut() -> None:
    llm = ScriptedLLM(
        [StreamCut("Under the", LLMUnavailable("gone")), StreamCut("Under", LLMUnavailable("gone again"))]
    )
    stream = llm.stream(ASKED)
    assert [next(stream), next(stream)] == ["Under", " the"]
    with pytest.raises(LLMUnavailable, match="gone"):
        next(stream)
    assert (list(stream), stream.finish, llm.usage) == ([], None, estimate_usage(ASKED, "Under the"))
    with pytest.raises(LLMUnavailable, match="gone again"):
        llm.complete(ASKED)


def test_a_stream_that_is_closed_has_ended() -> None:
    llm = ScriptedLLM(["Under the sea."])
    stream = llm.stream(ASKED)
    assert next(stream) == "Under"
    stream.close()
    stream.close()
    assert (list(stream), stream.finish) == ([], None)
    assert llm.usage == stream.usage == estimate_usage(ASKED, "Under")


def test_pieces_are_split_as_configured_and_never_empty() -> None:
    llm = ScriptedLLM(itertools.repeat("sea"), pieces=lambda text: ["", *text, ""])
    assert list(llm.stream(ASKED)) == ["s", "e", "a"]


def test_a_call_after_the_last_reply_raises_a_model_error() -> None:
    llm = ScriptedLLM(["One.", "Two."])
    llm.complete(ASKED)
    llm.stream(ASKED)
    for _ in range(2):
        with pytest.raises(ModelError, match="no more replies: 2 were scripted"):
            llm.stream(ASKED)


def test_threads_share_a_script() -> None:
    llm = ScriptedLLM([str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: "".join(llm.stream(ASKED)), range(200)))
    assert sorted(replies, key=int) == [str(number) for number in range(200)]
    assert llm.usage.prompt == 200 * estimate_usage(ASKED, "").prompt
