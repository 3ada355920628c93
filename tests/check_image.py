"""Builds the image and checks a container of it: `make packaging [TOOL=buildah] [BASE=IMAGE]` runs it.

The first start creates a key and requires it, a line is found again after a restart, and the server stops on a signal.
With Podman or Docker the container has a read-only root, no capability and no network; buildah, which needs neither a
daemon nor control groups, isolates it by chroot only. Exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAME = "everthread:check"
MAX_BYTES = 350_000_000
REQUEST = """
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen
headers = {"X-Api-Key": sys.argv[1]} if sys.argv[1] else {}
try:
    print(urlopen(Request("http://127.0.0.1:7391/api/v1/banks", headers=headers)).status)
except HTTPError as error:
    print(error.status)
"""
SCRIPT = """
set -eu
serve() {{
    {server} > /tmp/log 2>&1 & server=$!
    for _ in $(seq 120); do {health} 2> /dev/null && return; sleep 1; done
    cat /tmp/log; exit 1
}}
stop() {{ kill -TERM $server; wait $server; }}
ask() {{ python3 -c {request} "$1"; }}

test "$(id -u)" = 10001
serve
cat /tmp/log
test "$(stat -c %a /data/first-key)" = 600
everthread observe 'My sister Mia moved to Lisbon.' --bank nora
test "$(ask '')" = 401
test "$(ask "$(cat /data/first-key)")" = 200
stop
serve
everthread recall 'Where does Mia live?' --bank nora | grep Lisbon
stop
"""


def run(*command: str) -> str:
    """Run a command, and return what it writes to its standard output. Raises CalledProcessError if it fails."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(tool: str, base: str | None) -> None:
    """Build the image with podman, docker or buildah."""
    # Podman's and buildah's own format has no health check.
    ways = {
        "buildah": ("bud", "--isolation", "chroot", "--format", "docker"),
        "podman": ("build", "--format", "docker"),
    }
    arguments = ("--build-arg", f"BASE={base}") if base else ()
    run(tool, *ways.get(tool, ("build",)), "--tag", NAME, "--file", "Containerfile", *arguments, ".")


def inspect(tool: str) -> tuple[dict[str, Any], int]:
    """Return the configuration of the image and its size in bytes."""
    if tool == "buildah":
        (image,) = json.loads(run(tool, "images", "--json", NAME))
        units = {"KB": 1e3, "MB": 1e6, "GB": 1e9}
        number, unit = image["size"].split()
        size = int(float(number) * units[unit])
        return json.loads(run(tool, "inspect", "--type", "image", NAME))["Docker"]["config"], size
    (image,) = json.loads(run(tool, "image", "inspect", NAME))
    return image["Config"] | {"Healthcheck": image.get("HealthCheck") or image["Config"].get("Healthcheck")}, image[
        "Size"
    ]


def run_in_container(tool: str, script: str) -> None:
    """Run a shell script in a container of the image, in place of the server, and print what it prints."""
    if tool == "buildah":
        container = run(tool, "from", "--pull-never", NAME).strip()
        try:
            print(run(tool, "run", "--isolation", "chroot", container, "--", "sh", "-c", script))
        finally:
            run(tool, "rm", container)
        return
    limits = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--network", "none")
    print(run(tool, "run", "--rm", *limits, "--entrypoint", "sh", NAME, "-c", script))


def main(tool: str | None, base: str | None) -> int:
    """Build and check the image, by default with the first tool that is installed, and return the exit status."""
    tool = tool or next((name for name in ("podman", "docker", "buildah") if shutil.which(name)), None)
    if tool is None:
        print("The image needs podman, docker or buildah: apt install buildah")
        return 1
    build(tool, base)
    config, size = inspect(tool)
    script = SCRIPT.format(
        server=shlex.join(config["Entrypoint"] + config["Cmd"]),
        health=shlex.join(config["Healthcheck"]["Test"][1:]),
        request=shlex.quote(REQUEST),
    )
    run_in_container(tool, script)
    print(
        f"The image, built with {tool}, is sound and has {size / 1e6:.0f} MB; at most {MAX_BYTES / 1e6:.0f} are wanted"
    )
    return size > MAX_BYTES


if __name__ == "__main__":
    sys.exit(main(os.environ.get("TOOL"), os.environ.get("BASE")))
