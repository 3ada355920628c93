"""The bank of the demonstration, with the included model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everthread import Memory
from everthread.chat.character_library import open_character
from everthread.demo.bank import fill_bank, find_answer, find_sample
from everthread.demo.sample import LANGUAGES
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput
from everthread.testing import HashEmbedder


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    """Return the included model."""
    return OnnxEmbedder()


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Memory]:
    """Return an empty bank that knows spelling only."""
    with Memory.open("demo", store=tmp_path, embedder=HashEmbedder()) as memory:
        yield memory


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_question_finds_its_line_first_and_nothing_once_it_is_forgotten(
    language: str, minilm: OnnxEmbedder, tmp_path: Path
) -> None:
    with Memory.open("demo", store=tmp_path, embedder=minilm) as memory:
        sample = fill_bank(memory, language)
        for question in sample.questions:
            answer = find_answer(memory, question.text)
            assert answer is not None
            assert answer.seq == question.line == memory.recall(question.text, k=1)[0].seq
        texts = []
        for question in sample.questions:
            texts += [line.text for line in [memory.get(question.line)] if line is not None]
            assert memory.forget(seq=question.line).lines == 1
            assert find_answer(memory, question.text) is None
        assert len(texts) == 3
        found = {hit.line.text for question in sample.questions for hit in memory.recall(question.text, k=50)}
        assert found.isdisjoint(texts)
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert not any(text.encode() in stored for text in texts)


def test_a_bank_is_filled_once_and_again_when_lines_were_forgotten_or_another_language_is_asked(bank: Memory) -> None:
    sample = fill_bank(bank, "de")
    assert find_sample(bank) == sample
    assert [line.seq for line in bank.lines()] == list(range(1, sample.line_count + 1))
    assert all(session.ended_at == session.last_at for session in bank.sessions())
    first = list(bank.sessions())
    assert fill_bank(bank, "de") == sample
    assert bank.sessions() == first
    bank.forget(seq=38)
    fill_bank(bank, "de")
    assert bank.get(38) is not None
    assert fill_bank(bank, "zh").person == "林悦"
    assert open_character(None, bank.settings()).person == "林悦"


def test_messages_of_the_persons_own_are_never_deleted(bank: Memory) -> None:
    bank.observe("My sister Mia moved to Lisbon.")
    with pytest.raises(BadInput, match="bank 'demo' holds messages of its own"):
        fill_bank(bank, "de")
    bank.forget(everything=True)
    bank.store.create(bank.bank)
    sample = fill_bank(bank, "de")
    bank.observe("My brother Ben is here.")
    bank.forget(seq=1)
    with pytest.raises(BadInput, match="delete that bank first"):
        fill_bank(bank, "de")
    assert bank.stats().lines == sample.line_count


def test_an_empty_bank_has_no_sample(bank: Memory) -> None:
    assert find_sample(bank) is None
