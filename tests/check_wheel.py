"""Checks a built wheel in a clean environment: `python check_wheel.py WHEEL`. `make wheel` and the release run it.

It has every file of the package and no other, and is smaller than PyPI allows. Installed without an extra, the command
works, and what needs an extra names it. Exits with 1 if a check fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "everthread"
MAX_BYTES = 100_000_000  # of a file on PyPI
SAID = "My sister Mia moved to Lisbon."
QUERY = "Where does my sister Mia live?"
WITHOUT_EXTRA = {  # arguments -> the extra that they need
    ("serve",): "server",
    ("mcp",): "mcp",
    ("chat", "--model", "http://127.0.0.1:9/v1#m"): "llm",
    ("train", "out", "--model", "base", "--pairs", "pairs.jsonl"): "train",
    ("--store", "postgresql://127.0.0.1:9/memories", "banks"): "postgres",
}


def check_files(wheel: Path) -> list[str]:
    """Return the faults of a wheel's files."""
    faults = []
    if wheel.stat().st_size >= MAX_BYTES:
        faults.append(f"it has {wheel.stat().st_size:,} bytes; PyPI takes less than {MAX_BYTES:,}")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    information = next(name.split("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
    found = {name for name in names if not name.startswith(f"{information}/")}
    files = (path for path in (ROOT / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to(ROOT).as_posix() for path in files}
    faults += [f"it lacks {name}" for name in sorted(expected - found)]
    faults += [f"it has {name}, which is no file of the package" for name in sorted(found - expected)]
    if f"{PACKAGE}/py.typed" not in found:
        faults.append("it has no py.typed")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licences = {path.relative_to(ROOT) for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    faults += [
        f"it lacks the licence {path}"
        for path in sorted(licences)
        if f"{information}/licenses/{path.as_posix()}" not in names
    ]
    return faults


def check_command(wheel: Path, folder: Path) -> list[str]:
    """Install a wheel without an extra into a folder, and return the faults of its command."""
    version = wheel.name.split("-")[1]
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    own = {"EVERTHREAD_STORE": str(folder / "banks"), "HOME": str(folder), "OLLAMA_HOST": "127.0.0.1:9"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "PYTHON"))}
    environment = {**kept, **own}

    def run(*arguments: str, said: str = "") -> tuple[int, str]:
        command = [str(binaries / PACKAGE), *arguments]
        done = subprocess.run(
            command,
            input=said,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        print(f"{PACKAGE} {' '.join(arguments)} -> {done.returncode}\n{done.stdout}")
        return done.returncode, done.stdout

    checks: list[tuple[tuple[str, ...], str, int, str]] = [
        (("--version",), "", 0, version),
        (("doctor",), "", 0, version),
        (("chat", "--bank", "nora"), SAID, 0, "everything is saved"),
        (("chat", "--bank", "nora"), QUERY, 0, SAID),
        (("recall", QUERY, "--bank", "nora"), "", 0, SAID),
        *((arguments, "", 2, f"[{extra}]") for arguments, extra in WITHOUT_EXTRA.items()),
    ]
    faults = []
    for arguments, said, status, expected in checks:
        got, output = run(*arguments, said=said)
        if got != status or expected not in output:
            faults.append(f"{' '.join(arguments)}: exit status {got}, expected {status} and {expected!r} in the output")
    return faults


def main(wheel: Path) -> int:
    """Check a wheel, print its faults, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        faults = check_files(wheel) + check_command(wheel.resolve(), Path(folder))
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB: {'; '.join(faults) or 'sound'}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
