from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from everthread.common.keys import META_CHUNK, META_ECHO
from everthread.recipes.goodai.cutting import BOUNDARIES, Cutting
from everthread.recipes.goodai.token_stream import ChunkPosition, TokenStream, get_position, tokenize_line
from everthread.recipes.goodai.tokenizers import word_pieces, words
from everthread.types import Line, NewUnit

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
TEXTS = st.text(alphabet="ab ,.\n水é", min_size=1, max_size=20).filter(lambda text: bool(text.strip()))


def line(seq: int, text: str) -> Line:
    return Line(seq, "a", "user", "Ann", text, NOON)


def stream(texts: list[str], at: int = 0) -> TokenStream:
    return TokenStream.from_lines(
        [(each, tokenize_line(each, words)) for each in (line(n, text) for n, text in enumerate(texts, 1))], at
    )


@given(TEXTS)
def test_the_tokens_of_a_line_include_its_speaker_and_a_line_break(text: str) -> None:
    for tokenizer in (words, word_pieces):
        found = tokenize_line(line(1, text), tokenizer)
        assert "".join(found) == f"Ann: {text.strip()}\n"
        assert all(found)


def test_a_line_that_only_quotes_memories_has_no_tokens() -> None:
    echo = replace(line(1, "The fern."), metadata={META_ECHO: [[0, 9]]})
    assert tokenize_line(echo, words) == []
    assert TokenStream.from_lines([(echo, [])], 7).cut(7, Cutting(4, 2)) == []


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, 30), st.integers(1, 8))
def test_a_chunk_has_its_position(texts: list[str], at: int, capacity: int) -> None:
    full = stream(texts, at)
    counts = [len(tokenize_line(each, words)) for each in full.lines]
    for chunk in full.cut(at, Cutting(capacity, max(1, capacity // 2))):
        position = get_position(chunk)
        assert position is not None
        assert "".join(full.pieces(0, position.start, position.end)) == chunk.text
        first, last = chunk.first_seq - 1, chunk.last_seq - 1
        assert position.start == at + sum(counts[:first]) + position.before
        assert position.end == at + sum(counts[: last + 1]) - position.after
        assert 0 <= position.before < counts[first]
        assert 0 <= position.after < counts[last]
        assert chunk.sources == tuple(range(chunk.first_seq, chunk.last_seq + 1))


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(1, 8), st.sampled_from(BOUNDARIES), st.data())
def test_a_stream_that_begins_later_gives_the_same_chunks(
    texts: list[str], capacity: int, boundary: str, data: st.DataObject
) -> None:
    cutting = Cutting(capacity, max(1, capacity // 2), boundary)
    whole = stream(texts).cut(0, cutting)
    from_there = data.draw(st.sampled_from(whole))
    here = get_position(from_there)
    assert here is not None
    rest = [(each, tokenize_line(each, words)) for each in stream(texts).lines[from_there.first_seq - 1 :]]
    assert (
        TokenStream.from_lines(rest, here.start - here.before).cut(here.start, cutting)
        == whole[whole.index(from_there) :]
    )


def test_a_unit_of_another_origin_has_no_position() -> None:
    unit = NewUnit("chunk", "Number one.", 1, 1, NOON)
    assert get_position(unit) is None
    assert get_position(replace(unit, metadata={META_CHUNK: [1, 2, 3]})) is None
    assert get_position(replace(unit, metadata={META_CHUNK: ["1", 2, 3, 4]})) is None
    assert get_position(replace(unit, metadata={META_CHUNK: [1, 2, 3, 4]})) == ChunkPosition(1, 2, 3, 4)
