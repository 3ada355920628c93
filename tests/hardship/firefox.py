#!/usr/bin/env python3
"""Runs Firefox for Playwright, which expects commands of WebDriver BiDi that the long-term release doesn't have yet.

Playwright starts this file as if it were Firefox. It passes messages on between the two, and reports an emulation
command that Firefox doesn't know, such as of the colour scheme, as done.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

FIREFOX = ("firefox-esr", "firefox")
ADDRESS = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


def find_firefox() -> str | None:
    """Return the path of the system's Firefox."""
    return next(filter(None, map(shutil.which, FIREFOX)), None)


def accept_unknown(message: str | bytes) -> str | bytes:
    """Return an answer, or a successful one in place of the error that the command is unknown."""
    answer = json.loads(message)
    unknown = answer.get("error") == "unknown command" and "emulation." in answer["message"]
    return json.dumps({"type": "success", "id": answer["id"], "result": {}}) if unknown else message


async def relay(playwright: ServerConnection, address: str) -> None:
    """Pass messages on in both directions until one side closes the connection."""
    async with connect(address, max_size=None, compression=None) as firefox:

        async def pass_commands() -> None:
            async for command in playwright:
                await firefox.send(command)
            await firefox.close()

        commands = asyncio.create_task(pass_commands())
        async for answer in firefox:
            await playwright.send(accept_unknown(answer))
        commands.cancel()


async def run(path: str, *arguments: str) -> int:
    """Run Firefox to its end, and serve the address that Playwright connects to. Return the exit status."""
    process = await asyncio.create_subprocess_exec(path, *arguments, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    async for row in process.stderr:
        if found := ADDRESS.search(row):
            break
    else:
        return await process.wait()
    address = found[1].decode() + "/session"
    async with serve(
        lambda playwright: relay(playwright, address), "127.0.0.1", 0, max_size=None, compression=None
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
        await process.stderr.read()
        return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(run(find_firefox() or "firefox", *sys.argv[1:])))
