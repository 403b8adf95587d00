"""Asks `traceloom mcp` with the SDK's client, in the form without a handshake and in the one with it."""

import asyncio
import json
import subprocess
import sys

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

binary, folder = sys.argv[1:]


def printed(*args):
    run = subprocess.run([binary, *args], cwd=folder, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


async def answer(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return [json.loads(line) for line in result.content[0].text.splitlines()]


async def ask(mode, version):
    server = StdioServerParameters(command=binary, args=["mcp", "--folder", folder])
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["call", "calls", "diff", "info", "top"], tools
        for tool in tools.values():
            assert "256 KiB" in tool.description, tool
        assert await answer(client, "info", path="shop") == printed("info", "--json", "shop")
        assert await answer(client, "top", path="shop", rows=5) == printed("top", "--json", "-n", "5", "shop")
        calls = await answer(client, "calls", path="shop", sort="-duration", rows=3)
        assert calls == printed("calls", "--json", "--page", "--sort=-duration", "-n", "3", "shop")
        slowest = calls[0]["id"]
        call = await answer(client, "call", path="shop", id=slowest)
        assert call == printed("call", "--json", "--spans=200", "--depth=64", "shop", slowest)
        diff = await answer(client, "diff", before="shop", after="shop", rows=2)
        assert diff == printed("diff", "--json", "-n", "2", "shop", "shop")
        wrong = await client.call_tool("top", {"path": "no-such-file"})
        assert wrong.is_error and "no-such-file" in wrong.content[0].text, wrong
        try:
            await client.call_tool("sql", {})
            raise AssertionError("there is no such tool")
        except MCPError as error:
            assert error.code == -32602, error
        print(mode, client.protocol_version)


asyncio.run(ask("auto", "2026-07-28"))
asyncio.run(ask("legacy", "2025-11-25"))
