import asyncio
from pathlib import Path

from everthread.compat.mem0 import AsyncMemory
from everthread.testing import HashEmbedder

NORA = {"user_id": "nora"}


def test_every_method_can_be_awaited(tmp_path: Path) -> None:
    async def use() -> None:
        async with AsyncMemory(store=tmp_path, embedder=HashEmbedder()) as memory:
            number = (await memory.add("I play tennis", user_id="nora", metadata={"year": 2024}))["results"][0]["id"]
            assert (await memory.search("tennis", filters=NORA, threshold=0))["results"][0]["id"] == number
            await memory.update(number, "I play padel", metadata={"year": 2025})
            record = await memory.get(number)
            assert record is not None
            assert (record["memory"], record["metadata"]) == ("I play padel", {"year": 2025})
            assert len(await memory.history(number)) == 2
            await memory.delete(number)
            await memory.add("I play chess", user_id="nora")
            assert len((await memory.get_all(filters=NORA))["results"]) == 1
            await memory.delete_all(user_id="nora")
            await memory.reset()
            assert (await memory.get_all(filters=NORA))["results"] == []

    asyncio.run(use())
