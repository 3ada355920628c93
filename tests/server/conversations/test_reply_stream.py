"""Reply streams: every reader gets all events, and only one caller ends a stream."""

from __future__ import annotations

import asyncio
import threading

from hardship import PATIENCE

from everthread.server.conversations.reply_stream import COMMENT, ReplyStream


def test_a_reader_gets_comments_while_there_is_no_event() -> None:
    stream = ReplyStream()

    async def read() -> list[bytes]:
        received = []
        async for part in stream.read_events(keep_alive=0.02):
            received.append(part)
            if received == [COMMENT, COMMENT]:
                stream.finish("done", {"text": "ünï\n"})
        return received

    received = asyncio.run(read())
    assert received[:2] == [COMMENT, COMMENT]
    assert received[-1] == 'event: done\ndata: {"text": "ünï\\n"}\n\n'.encode()


def test_a_cancelled_reader_is_not_woken() -> None:
    stream = ReplyStream()

    async def read_and_cancel() -> None:
        reading = asyncio.ensure_future(anext(stream.read_events()))
        await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(read_and_cancel())
    assert stream._waiting == []
    stream.emit("piece", {"text": "unread"})
    stream.finish("done", {})


def test_only_one_caller_ends_a_stream_and_no_event_follows_the_end() -> None:
    stream = ReplyStream()
    assert (stream.try_claim_end(), stream.try_claim_end()) == (True, False)
    stream.finish("done", {})
    stream.emit("piece", {"text": "late"})

    async def read() -> bytes:
        return b"".join([part async for part in stream.read_events()])

    assert asyncio.run(read()) == b"event: done\ndata: {}\n\n"


def test_readers_of_many_replies_get_every_event_of_concurrent_writers() -> None:
    streams = [ReplyStream() for _ in range(20)]

    def write(stream: ReplyStream) -> None:
        for number in range(50):
            stream.emit("piece", {"text": f"word {number}"})
        stream.finish("done", {})

    async def read(stream: ReplyStream) -> bytes:
        return b"".join([part async for part in stream.read_events(keep_alive=10 * PATIENCE)])

    async def read_all() -> list[bytes]:
        reading = asyncio.gather(*map(read, streams))
        await asyncio.sleep(0.01)  # until the readers wait
        writers = [threading.Thread(target=write, args=(stream,)) for stream in streams]
        for writer in writers:
            writer.start()
        async with asyncio.timeout(PATIENCE):  # a reader that is not woken would wait for a comment
            return await reading

    for events in asyncio.run(read_all()):
        assert events.count(b"event: piece\n") == 50
        assert b'{"text": "word 49"}' in events
