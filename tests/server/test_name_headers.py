from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from everthread.server.name_headers import BANK_HEADER, read_name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (b"nora", "nora"),
        (b"a%2Fb%20c", "a/b c"),
        (b"100%25", "100%"),
        (b"%E7%8C%AB", "\u732b"),
        ("\u732b".encode(), "\u732b"),
        (b"caf\xe9", "caf\xe9"),
        (b"", ""),
    ],
)
def test_a_name_in_a_header_is_percent_encoded_or_utf8(value: bytes, name: str) -> None:
    assert read_name(Headers(raw=[(b"x-everthread-bank", value)]), BANK_HEADER) == name


def test_without_the_header_there_is_no_name() -> None:
    assert read_name(Headers(), BANK_HEADER) == ""
