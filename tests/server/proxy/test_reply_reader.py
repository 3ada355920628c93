"""The words of a reply are read from an answer, whole or in a stream, and nothing else."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy import reply_reader
from everthread.server.proxy.formats.chat_completions import ChatReply
from everthread.server.proxy.formats.ollama import OllamaReply
from everthread.server.proxy.reply import Reply
from everthread.server.proxy.reply_reader import open_reader

STREAM_TYPE = "text/event-stream; charset=utf-8"


def chunk(delta: dict[str, Any], reason: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"index": index, "delta": delta, "finish_reason": reason}]}


def events(*values: Any, done: bool = True) -> bytes:
    stream = b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)
    return stream + b"data: [DONE]\n\n" if done else stream


def completion(message: dict[str, Any], reason: str | None = "stop") -> bytes:
    return json.dumps({"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()


def read(*pieces: bytes, kind: str = STREAM_TYPE, encoding: str = "", reply: type[Reply] = ChatReply) -> Reply:
    reader = open_reader(kind, encoding, reply())
    assert reader is not None
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader.reply


def read_body(message: dict[str, Any], reason: str | None = "stop") -> Reply:
    return read(completion(message, reason), kind="application/json")


def test_a_stream_is_joined() -> None:
    reply = read(
        events(chunk({"role": "assistant"}), chunk({"content": "She moves "}), chunk({"content": "in May."}, "stop"))
    )
    assert (reply.text, reply.is_partial, reply.model) == ("She moves in May.", False, "m-1")


def test_of_a_piece_and_the_message_so_far_in_one_chunk_the_piece_is_read() -> None:
    def both(so_far: str, piece: str, reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "message": {"content": so_far}, "delta": {"role": "assistant", "content": piece}}
        return {"choices": [{**choice, "finish_reason": reason}]}

    pieces = [both("She moves", "She moves"), both("She moves in", " in"), both("She moves in", "", "stop")]
    assert read(events(*pieces)).text == "She moves in"
    assert read(json.dumps(both("She moves in", "", "stop")).encode(), kind="application/json").text == "She moves in"


@pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=utf-8", ""])
@pytest.mark.parametrize("beginning", [b"", b"\n", b": hello\n\n", b"event: x\n", b"\xef\xbb\xbf"])
def test_a_stream_under_another_type_is_read_as_one(kind: str, beginning: bytes) -> None:
    stream = beginning + events(chunk({"content": "She moves "}), chunk({"content": "in May."}, "stop"))
    for pieces in ([stream], [stream[:1], stream[1:]]):
        reader = open_reader(kind, "", ChatReply())
        assert reader is not None
        for piece in pieces:
            reader.feed(piece)
        assert (reader.is_stream, reader.reply.is_finished) == (True, True)
        assert reader.reply.text == "She moves in May."


def test_a_stream_of_ollama_under_another_type_is_read_as_one() -> None:
    lines = [{"message": {"content": "She moves "}, "done": False}, {"message": {"content": "in May."}, "done": True}]
    reader = open_reader("application/json", "", OllamaReply())
    assert reader is not None
    for line in lines:
        reader.feed(json.dumps(line).encode() + b"\n")
        assert reader.is_stream
    reader.end()
    assert (reader.reply.text, reader.reply.is_partial) == ("She moves in May.", False)


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_body_of_ollama_is_no_stream(size: int) -> None:
    said = "May" * size
    body = json.dumps({"message": {"content": said}, "done": True, "done_reason": "stop"}).encode()
    for ending in (b"", b"\n"):
        assert read(body, ending, kind="application/json", reply=OllamaReply).text == said


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_body_is_no_stream_whatever_its_type(kind: str) -> None:
    reader = open_reader(kind, "", ChatReply())
    assert reader is not None
    reader.feed(b"\n" + completion({"content": "data: May."}))
    assert not reader.is_stream
    reader.end()
    assert (reader.reply.text, reader.reply.is_partial) == ("data: May.", False)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_is_cut_off_is_partial(reason: str) -> None:
    assert read(events(chunk({"content": "She"}, reason))).is_partial
    assert read_body({"content": "She"}, reason).is_partial


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos_token", "COMPLETE"])
def test_a_reply_that_ends_by_itself_is_whole_whatever_its_server_calls_that(reason: str) -> None:
    assert not read(events(chunk({"content": "She moves."}, reason))).is_partial


def test_a_stream_that_breaks_off_is_partial_and_one_that_only_lacks_a_reason_is_not() -> None:
    assert read(events(chunk({"content": "She"}), done=False)).is_partial
    assert not read(events(chunk({"content": "She"}))).is_partial


def test_a_stream_in_which_the_upstream_fails_is_partial_even_if_it_has_an_end() -> None:
    reply = read(events(chunk({"content": "She"}), {"error": {"message": "out of memory", "code": 500}}))
    assert (reply.text, reply.is_partial) == ("She", True)


@pytest.mark.parametrize("event", [b"data:\n\n", b"data: ping\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
def test_events_that_are_not_json_are_skipped(event: bytes) -> None:
    said = events(chunk({"content": "She moves "}), done=False)
    reply = read(said + event + events(chunk({"content": "in May."}, "stop")))
    assert (reply.text, reply.is_partial) == ("She moves in May.", False)


def test_a_stream_that_ends_within_an_event_is_partial() -> None:
    reply = read(events(chunk({"content": "She moves"}), done=False) + b'data: {"choi')
    assert (reply.text, reply.is_partial) == ("She moves", True)
    line = json.dumps({"message": {"content": "She moves"}, "done": False}).encode()
    reply = read(line + b'\nping\n{"mess', kind="application/x-ndjson", reply=OllamaReply)
    assert (reply.text, reply.is_partial) == ("She moves", True)


def test_an_empty_reason_ends_no_reply() -> None:
    reply = read(events(chunk({"content": "She moves "}, ""), chunk({"content": "in May."}, "")))
    assert (reply.text, reply.is_partial) == ("She moves in May.", False)
    reader = open_reader(STREAM_TYPE, "", ChatReply())
    assert reader is not None
    reader.feed(events(chunk({"content": "She moves "}, ""), done=False))
    assert not reader.reply.is_finished
    assert not read_body({"content": "She moves."}, "").is_partial


def test_only_the_first_choice_is_read() -> None:
    reply = read(
        events(chunk({"content": "One"}), chunk({"content": "Two"}, "stop", 1), chunk({"content": "."}, "stop"))
    )
    assert (reply.text, reply.is_partial) == ("One.", False)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "May.", "reasoning_content": "Hm.", "reasoning": "Hm."},
        {"content": "<think>She said May.</think>\n\nMay."},
        {"content": "She said May.\n</think>\n\nMay."},
        {"content": "<think>May?</think><thinking>She said May.</thinking>May."},
        {"content": "<think>\n```\nmay()\n</think>\n<think>She said May.</think>\nMay."},
        {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "May."}]},
        {"content": None, "audio": {"id": "a", "transcript": "May."}},
    ],
)
def test_thoughts_are_not_part_of_a_reply_and_the_transcript_of_audio_is(message: dict[str, Any]) -> None:
    assert read_body(message).text == "May."
    assert read(events(chunk(message, "stop"))).text == "May."


@pytest.mark.parametrize(
    "text",
    [
        "It begins with `<think>`. Strip that before you store the text.",
        "What stands between <think> and </think> is hidden; the rest is shown.",
        "Such tags are:\n<thinking> and others.",
        "It writes:\n```\n<think>\nShe said May.\n</think>\nMay.\n```\nThat is all.",
        "It ends so:\n```\nShe said May.\n</think>\nMay.\n```\nThat is all.",
    ],
)
def test_a_reply_about_the_tags_of_thoughts_is_whole(text: str) -> None:
    assert read_body({"content": text}).text == text


def test_a_thought_that_is_cut_off_is_no_reply() -> None:
    assert read(events(chunk({"content": "<think>She sa"}), done=False)).text == ""


def test_calls_of_tools_have_no_words_and_words_before_them_are_partial() -> None:
    call = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}
    assert read(events(chunk(call), chunk({}, "tool_calls"))).text == ""
    reply = read(events(chunk({"content": "Let me see."}), chunk(call), chunk({}, "tool_calls")))
    assert (reply.text, reply.is_partial) == ("Let me see.", True)


@pytest.mark.parametrize("value", [None, [], {"choices": None}, {"choices": [None, {"delta": 3}]}, {"error": {}}, 3])
def test_other_events_have_no_words(value: Any) -> None:
    assert read(events(value)).text == ""


@pytest.mark.parametrize(("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_answer_is_read(encoding: str, compress: Any) -> None:
    data = compress(events(chunk({"content": "May."}, "stop")))
    assert read(*(data[at : at + 1] for at in range(len(data))), encoding=encoding).text == "May."
    assert read(compress(completion({"content": "May."})), kind="application/json", encoding=encoding).text == "May."
    with pytest.raises(ValueError):
        read(b"not compressed", encoding=encoding)


def test_a_stream_of_lines_is_read_wherever_it_is_cut() -> None:
    lines = [
        {"model": "m-1", "message": {"role": "assistant", "content": "She moves ", "thinking": "Hm."}, "done": False},
        {"model": "m-1", "message": {"role": "assistant", "content": "in May."}, "done": False},
        {"model": "m-1", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    for at in range(len(data)):
        reply = read(data[:at], data[at:], kind="application/x-ndjson", reply=OllamaReply)
        assert (reply.text, reply.is_partial, reply.model) == ("She moves in May.", False, "m-1")
    assert read(data.rpartition(b"\n")[0], kind="application/x-ndjson", reply=OllamaReply).is_partial
    assert read(data.replace(b'"stop"', b'"length"'), kind="application/x-ndjson", reply=OllamaReply).is_partial
    whole = {"message": {"content": "In May."}, "done": True}
    assert read(json.dumps(whole).encode(), kind="application/json", reply=OllamaReply).text == "In May."


def test_a_line_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_reader, "MAX_LINE_BYTES", 10)
    with pytest.raises(ValueError, match="10 bytes"):
        read(b'{"message": "', kind="application/x-ndjson")


def test_an_answer_in_an_unknown_compression_has_no_reader() -> None:
    assert open_reader(STREAM_TYPE, "zstd", ChatReply()) is None


@given(st.binary(max_size=60), st.sampled_from([STREAM_TYPE, "application/json"]))
def test_any_bytes_are_read_or_an_error(data: bytes, kind: str) -> None:
    try:
        reply = read(data, events(chunk({"content": "x"})), kind=kind)
    except ValueError:
        return
    assert reply.text in ("", "x")
