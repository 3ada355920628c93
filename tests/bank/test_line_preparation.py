from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everthread.bank.line_preparation import prepare_lines
from everthread.embedders.embedded import EmbeddedText
from everthread.testing import HashEmbedder
from everthread.types import ROLES, LineTokens, NewLine, Role

REPLIES: tuple[Role, ...] = ("assistant",)
TOOLS: tuple[Role, ...] = ("tool",)
PEOPLE: tuple[Role, ...] = ("user",)
LINES = [NewLine("Where is Mia?", "Ann"), NewLine("In Lisbon.", "Jonas", "assistant"), NewLine("Thanks.", "Ann")]


def embedding(asked: list[Sequence[str]]) -> list[EmbeddedText]:
    tokens = LineTokens("scheme", np.zeros((1, 16), np.uint8))
    return [EmbeddedText(HashEmbedder(8).embed([text]), tokens) for text in asked[-1]]


def test_only_lines_of_the_given_roles_are_embedded() -> None:
    asked: list[Sequence[str]] = []

    def embed(texts: Sequence[str]) -> list[EmbeddedText]:
        asked.append(texts)
        return embedding(asked)

    some, every = prepare_lines(LINES, REPLIES, embed), prepare_lines(LINES, ROLES, embed)
    assert asked == [["In Lisbon."], ["Where is Mia?", "In Lisbon.", "Thanks."]]
    assert [entry.vectors is not None for entry in some] == [False, True, False]
    assert all(entry.vectors is not None for entry in every)
    assert (some[1].vectors == every[1].vectors).all()  # type: ignore[union-attr]
    assert [entry.line for entry in some] == LINES


def test_only_lines_of_the_given_roles_get_codes_of_words() -> None:
    entries = prepare_lines(LINES, ROLES, lambda texts: embedding([texts]), PEOPLE)
    assert [entry.tokens is not None for entry in entries] == [True, False, True]
    assert all(entry.vectors is not None for entry in entries)


def test_the_embedder_is_not_called_without_lines_to_embed() -> None:
    def embed(texts: Sequence[str]) -> list[EmbeddedText]:
        raise AssertionError(texts)

    assert [entry.vectors for entry in prepare_lines(LINES, TOOLS, embed)] == [None, None, None]
    assert [entry.vectors for entry in prepare_lines(LINES, (), embed)] == [None, None, None]
    assert prepare_lines([], ROLES, embed) == []


def test_without_an_embedder_all_lines_are_prepared_without_vectors() -> None:
    made = prepare_lines(LINES, ROLES, lambda texts: None)
    assert [entry.vectors for entry in made] == [None, None, None]
    assert [entry.terms.length > 0 for entry in made] == [True, True, True]
