"""Streams of server-sent events are split into the same events wherever they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy import event_stream
from everthread.server.proxy.event_stream import EventSplitter

STREAM = (
    b': a comment\n\ndata: {"a": 1}\n\nevent: x\r\ndata: first\r\ndata:second\r\n\r\nid: 4\rdata: third \xc3\xa9\r\r'
    b"data\n\nretry: 5\n\ndata: [DONE]\n\n"
)
EVENTS = [b'{"a": 1}', b"first\nsecond", "third é".encode(), b"", b"[DONE]"]
LINES = st.sampled_from([b"data: a", b"data:b", b"data", b"", b": c", b"event: d", b"x", b"\xc3\xa9"])


def split(*pieces: bytes) -> list[bytes]:
    splitter = EventSplitter()
    return [data for piece in pieces for data in splitter.feed(piece)] + list(splitter.end())


def test_a_stream_is_split_the_same_when_it_is_cut_at_every_byte() -> None:
    assert split(STREAM) == EVENTS
    for at in range(len(STREAM) + 1):
        assert split(STREAM[:at], STREAM[at:]) == EVENTS
    assert split(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


@given(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))), st.data())
def test_any_stream_is_split_the_same_wherever_it_is_cut(lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert split(*pieces) == split(stream)


def test_an_event_without_its_blank_line_is_read_at_the_end() -> None:
    assert split(b"data: a\n\ndata: b") == [b"a", b"b"]
    assert split(b"data: a\r\n\r\ndata: b\r") == [b"a", b"b"]


def test_a_byte_order_mark_before_the_first_event_is_left_out() -> None:
    assert split(b"\xef\xbb", b"\xbfdata: a\n\ndata: b\n\n") == [b"a", b"b"]


def test_a_byte_order_mark_later_in_the_stream_belongs_to_its_line() -> None:
    assert split(b"data: a\n\n\xef\xbb\xbfdata: b\n\ndata: \xef\xbb\xbfc\n\n") == [b"a", b"\xef\xbb\xbfc"]


def test_a_line_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_LINE_BYTES", 100)
    with pytest.raises(ValueError, match="100 bytes"):
        split(*[b"data: 12345"] * 20)
