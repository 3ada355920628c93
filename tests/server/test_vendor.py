"""The libraries that the page ships with: which versions, which files, and that they are the published ones."""

import base64
import io
import re
import tarfile
from hashlib import sha256, sha512
from typing import Any

import pytest

from everthread.server import vendor

LIBRARIES = vendor.read_manifest()


def build_archive(files: dict[str, bytes]) -> bytes:
    """Return an archive as npm publishes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, body in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return buffer.getvalue()


def describe(archive: bytes, **hashes: str) -> dict[str, Any]:
    integrity = f"sha512-{base64.b64encode(sha512(archive).digest()).decode()}"
    return {"integrity": integrity, "files": {f"lib/{name}.js": [f"{name}.js", hashes[name]] for name in hashes}}


def test_every_file_is_the_one_that_is_listed() -> None:
    listed = {path: expected for library in LIBRARIES.values() for path, (_, expected) in library["files"].items()}
    files = {path for path in vendor.FOLDER.rglob("*") if path.is_file() and path != vendor.MANIFEST}
    assert {path.relative_to(vendor.FOLDER).as_posix() for path in files} == set(listed)
    wrong = [
        path for path, expected in listed.items() if sha256((vendor.FOLDER / path).read_bytes()).hexdigest() != expected
    ]
    assert wrong == []


def test_every_library_names_its_version_and_license_and_brings_its_text() -> None:
    for name, library in LIBRARIES.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", library["version"]), name
        assert library["license"], name
        assert any(path.endswith("/LICENSE") for path in library["files"]), name


def test_only_the_listed_files_of_an_archive_are_taken() -> None:
    archive = build_archive({"a.js": b"1", "b.js": b"2"})
    assert vendor.unpack(archive, describe(archive, a=sha256(b"1").hexdigest())) == {"lib/a.js": b"1"}


def test_an_archive_or_a_file_with_another_hash_is_refused() -> None:
    archive = build_archive({"a.js": b"1"})
    with pytest.raises(vendor.WrongHash, match=r"lib/a\.js: got 6b86b2.*expected 0000"):
        vendor.unpack(archive, describe(archive, a="0000"))
    library = describe(archive, a=sha256(b"1").hexdigest())
    with pytest.raises(vendor.WrongHash, match=r"archive: got sha512-.*expected sha512-"):
        vendor.unpack(build_archive({"a.js": b"3"}), library)
