from __future__ import annotations

import threading

import pytest
from hardship import PATIENCE, forked

from everthread.common.deadline import Deadline
from everthread.embedders import begun_questions
from everthread.embedders.encoder import Encoder
from everthread.errors import EmbedderUnavailable
from everthread.testing import HashEmbedder
from everthread.types import Vector

QUESTION = "Where does Mia live?"


class Recording(HashEmbedder):
    """Records what it embeds, and fails while it is down. `proceed` holds back every answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []  # each question, and the thread
        self.is_down = False
        self.proceed = threading.Event()
        self.proceed.set()

    def embed_query(self, text: str) -> Vector:
        self.asked.append((text, threading.get_ident()))
        self.proceed.wait(PATIENCE)
        if self.is_down:
            raise EmbedderUnavailable("switched off")
        return super().embed_query(text)


def is_embedded(vector: Vector | None) -> bool:
    return vector is not None and bool((vector == HashEmbedder().embed_query(QUESTION)).all())


def test_a_question_that_was_begun_is_embedded_once_and_in_another_thread() -> None:
    embedder = Recording()
    encoder = Encoder(embedder)
    embedder.proceed.clear()
    encoder.begin_query(QUESTION)
    threading.Timer(0.05, embedder.proceed.set).start()
    assert is_embedded(encoder.try_embed_query(QUESTION))
    assert [text for text, thread in embedder.asked if thread != threading.get_ident()] == [QUESTION]


def test_what_was_begun_is_used_once_by_any_encoder_of_the_same_model_and_by_no_other_question() -> None:
    embedder = Recording()
    encoder = Encoder(embedder)
    encoder.begin_query(QUESTION)
    encoder.try_embed_query("Who is Mia?")
    assert is_embedded(encoder.within(Deadline(PATIENCE)).try_embed_query(QUESTION))
    assert is_embedded(encoder.try_embed_query(QUESTION))
    assert sorted(text for text, _ in embedder.asked) == [QUESTION, QUESTION, "Who is Mia?"]


def test_a_deadline_applies_to_a_question_that_was_begun() -> None:
    embedder, deadline = Recording(), Deadline(0.02)
    encoder = Encoder(embedder)
    embedder.proceed.clear()
    encoder.begin_query(QUESTION)
    assert (encoder.within(deadline).try_embed_query(QUESTION), deadline.missed) == (None, True)
    embedder.proceed.set()


def test_a_question_that_could_not_be_embedded_has_no_vector_and_starts_the_pause() -> None:
    embedder = Recording()
    embedder.is_down = True
    encoder = Encoder(embedder)
    encoder.begin_query(QUESTION)
    assert encoder.try_embed_query(QUESTION) is None
    assert encoder.try_embed_query("Who is Mia?") is None
    assert len(embedder.asked) == 1


def test_questions_that_are_never_asked_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begun_questions, "MAX_BEGUN", 2)
    encoder = Encoder(HashEmbedder())
    for number in range(4):
        encoder.begin_query(f"{number}?")
    begun = encoder.state.questions
    assert [begun.take(f"{number}?") is not None for number in range(4)] == [False, False, True, True]


def test_a_forked_process_embeds_a_question_that_its_parent_began() -> None:
    embedder = Recording()
    encoder = Encoder(embedder)
    embedder.proceed.clear()
    encoder.begin_query(QUESTION)

    def work() -> None:
        embedder.proceed.set()
        assert is_embedded(encoder.try_embed_query(QUESTION))

    child = forked.fork_child(work)
    embedder.proceed.set()
    assert forked.exits_cleanly(child)
