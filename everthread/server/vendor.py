"""Fetches the libraries that the page ships with, from npm: `make vendor`, or `python -m everthread.server.vendor`.

`vendor.json` lists them: version, license, the hash of the published archive, and each file with its own hash. To
update one, change its version, its `integrity` (`npm view NAME dist.integrity`) and the hashes of its files.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import tarfile
import tempfile
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "static" / "vendor"
MANIFEST = FOLDER / "vendor.json"
ARCHIVE_ROOT = "package/"  # in which npm puts all files of a package


class WrongHash(Exception):
    """An archive or a file is not the one that the manifest lists."""


def read_manifest() -> dict[str, dict[str, Any]]:
    """Return the libraries by name."""
    libraries: dict[str, dict[str, Any]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return libraries


def unpack(archive: bytes, library: dict[str, Any]) -> dict[str, bytes]:
    """Return the listed files of a published archive, by their paths in `FOLDER`.

    Args:
        archive: the .tgz file that npm publishes.
        library: its entry in the manifest.

    Raises:
        WrongHash: the archive or one of its files differs from what is listed.
    """
    if (found := f"sha512-{base64.b64encode(sha512(archive).digest()).decode()}") != library["integrity"]:
        raise WrongHash(f"wrong hash of the archive: got {found}, expected {library['integrity']}")
    files = dict[str, bytes]()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        for path, (source, expected) in library["files"].items():
            member = opened.extractfile(ARCHIVE_ROOT + source)
            body = member.read() if member is not None else b""
            if (found := sha256(body).hexdigest()) != expected:
                raise WrongHash(f"wrong hash of {path}: got {found}, expected {expected}")
            files[path] = body
    return files


def download(name: str, version: str) -> bytes:
    """Return the archive of a package's version, fetched by npm."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, capture_output=True)
        return next(Path(folder).glob("*.tgz")).read_bytes()


def main() -> None:
    """Write the files of all libraries, each checked first."""
    for name, library in read_manifest().items():
        for path, body in unpack(download(name, library["version"]), library).items():
            (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / path).write_bytes(body)
        print(f"{name} {library['version']} ({library['license']}): {len(library['files'])} files")


if __name__ == "__main__":
    main()
