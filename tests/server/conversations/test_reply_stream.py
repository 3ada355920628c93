"""Streams of a reply's events: many readers, each from the beginning, and one end."""

from __future__ import annotations

import asyncio
import threading

from hardship import PATIENCE

from everthread.server.conversations.reply_stream import COMMENT, ReplyStream


def test_a_reader_gets_comments_while_there_is_no_event() -> None:
    running = ReplyStream()

    async def read() -> list[bytes]:
        told = []
        async for part in running.read_events(keep_alive=0.02):
            told.append(part)
            if told == [COMMENT, COMMENT]:
                running.finish("done", {"text": "ünï\n"})
        return told

    told = asyncio.run(read())
    assert told[:2] == [COMMENT, COMMENT]
    assert told[-1] == 'event: done\ndata: {"text": "ünï\\n"}\n\n'.encode()


def test_a_reader_that_has_left_is_not_woken() -> None:
    running = ReplyStream()

    async def leave() -> None:
        reading = asyncio.ensure_future(anext(running.read_events()))
        await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(leave())
    assert running._waiting == []
    running.emit("piece", {"text": "to nobody"})
    running.finish("done", {})


def test_only_one_caller_ends_a_stream_and_no_event_follows_the_end() -> None:
    running = ReplyStream()
    assert (running.try_claim_end(), running.try_claim_end()) == (True, False)
    running.finish("done", {})
    running.emit("piece", {"text": "late"})

    async def read() -> bytes:
        return b"".join([part async for part in running.read_events()])

    assert asyncio.run(read()) == b"event: done\ndata: {}\n\n"


def test_readers_of_many_replies_get_every_event_of_concurrent_writers() -> None:
    told = [ReplyStream() for _ in range(20)]

    def write(running: ReplyStream) -> None:
        for number in range(50):
            running.emit("piece", {"text": f"word {number}"})
        running.finish("done", {})

    async def read(running: ReplyStream) -> bytes:
        return b"".join([part async for part in running.read_events(keep_alive=10 * PATIENCE)])

    async def all_of_them() -> list[bytes]:
        reading = asyncio.gather(*map(read, told))
        await asyncio.sleep(0.01)  # so that they wait
        writers = [threading.Thread(target=write, args=(running,)) for running in told]
        for each in writers:
            each.start()
        async with asyncio.timeout(PATIENCE):  # one that is not woken would wait for a comment
            return await reading

    for found in asyncio.run(all_of_them()):
        assert found.count(b"event: piece\n") == 50
        assert b'{"text": "word 49"}' in found
