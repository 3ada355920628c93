"""Runs the official checks of MCP against a server of a bank: `python conformance.py FOLDER`, with npm's .bin folder.

They are the conformance suite's scenarios that need no tools of its own example server, and tools/list and tools/call
by the Inspector, over HTTP and stdio, in both generations of the protocol. Exits with 1 if one fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everthread import Memory
from everthread.mcp.tools import TOOLS

BANK = "nora"
SAID = "My sister Mia moved to Lisbon."
QUERY = "Where did my sister Mia move?"
PATIENCE_S = 60
SHARED = (
    "dns-rebinding-protection",
    "prompts-list",
    "resources-list",
    "server-sse-multiple-streams",
    "tools-call-error",
    "tools-list",
)
SCENARIOS = {
    "2025-11-25": ("server-initialize", "server-session-lifecycle", "ping", *SHARED),
    "2026-07-28": (
        "server-stateless",
        "caching",
        "http-header-validation",
        "input-required-result-ignore-extra-params",
        "input-required-result-unsupported-methods",
        "sep-2164-resource-not-found",
        *SHARED,
    ),
}
FIXTURE_CHECKS = {  # of `server-stateless`; they call a tool of the example server
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
}
ERAS = ("legacy", "modern")  # the Inspector's names of the generations


@contextmanager
def serve(store: Path) -> Iterator[str]:
    """Run `everthread serve`, and yield the URL of its MCP server."""
    command = [sys.executable, "-m", "everthread", "--store", str(store), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        try:
            address = re.search(r"http://\S+", greeting)
            assert address is not None, greeting
            yield f"{address[0]}/mcp"
        finally:
            process.terminate()


def run_scenario(url: str, version: str, scenario: str, results: Path) -> list[str]:
    """Run a scenario of the suite, print its result, and return the checks that failed."""
    command = ("conformance", "server", "--url", url, "--spec-version", version, "--scenario", scenario)
    folder = results / f"{version}-{scenario}"
    done = subprocess.run(
        [*command, "-o", str(folder)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    files = list(folder.glob("*/checks.json"))
    if not files:
        print(done.stdout, done.stderr)
        return [f"{scenario} did not run"]
    checks = [check for check in json.loads(files[0].read_text()) if check["id"] not in FIXTURE_CHECKS]
    counts = Counter(check["status"] for check in checks)
    print(f"{version}  {scenario:44} {', '.join(f'{count} {status.lower()}' for status, count in counts.items())}")
    failed = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    return [f"{check['id']}: {check.get('errorMessage', check['description'])}" for check in failed]


def inspect(target: list[str], era: str, *arguments: str) -> Any:
    """Return the result of a request that the Inspector sends; an empty one if it failed."""
    command = ["mcp-inspector", "--cli", *target, "--protocol-era", era, "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        print(done.stdout, done.stderr)
        return {}
    return json.loads(done.stdout)


def run_inspector(target: list[str], era: str) -> list[str]:
    """List the tools and call two with the Inspector; return what was wrong."""
    name = f"{era:10}  Inspector, {'HTTP' if len(target) == 1 else 'stdio'}"
    tools = [tool["name"] for tool in inspect(target, era, "--method", "tools/list", "--strict").get("tools", ())]
    call = ("--method", "tools/call", "--tool-args-json")
    kept = inspect(target, era, *call, json.dumps({"text": SAID}), "--tool-name", "remember")
    recalled = inspect(target, era, *call, json.dumps({"query": QUERY}), "--tool-name", "recall")
    hits = recalled.get("structuredContent", {}).get("hits", ())
    steps = {
        "tools/list": tools == list(TOOLS),
        "remember": kept.get("isError") is False,
        "recall": SAID in [hit["text"] for hit in hits],
    }
    failed = [step for step, is_right in steps.items() if not is_right]
    print(f"{name:56} {', '.join(f'{step} failed' for step in failed) or ', '.join(steps)}")
    return [f"{name}: {step}" for step in failed]


def main() -> None:
    """Run everything, and exit with 1 if something failed."""
    os.environ["PATH"] = f"{Path(sys.argv[1]).absolute()}{os.pathsep}{os.environ['PATH']}"
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder  # the Inspector stores settings there
        store = Path(folder, "banks")
        with Memory.open(BANK, store=store) as memory:
            memory.observe("I planted ferns on the balcony.")
        with serve(store) as url:
            for version, scenarios in SCENARIOS.items():
                for scenario in scenarios:
                    failures += run_scenario(url, version, scenario, Path(folder))
            for era in ERAS:
                failures += run_inspector([url], era)
        stdio = [sys.executable, "-m", "everthread", "mcp", "--store", str(store), "--bank", BANK]
        for era in ERAS:
            failures += run_inspector(stdio, era)
    print(*failures, sep="\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
