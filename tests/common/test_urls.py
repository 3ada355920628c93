from __future__ import annotations

import pytest

from everthread.common.urls import append_path, is_http_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434/v1/models"),
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/models"),
        ("https://host", "https://host/models"),
        (
            "https://nemo:p%40ss@[::1]:80/a/v1/?api-version=2&key=x",
            "https://nemo:p%40ss@[::1]:80/a/v1/models?api-version=2&key=x",
        ),
    ],
)
def test_a_path_is_appended_to_that_of_the_base_url(url: str, address: str) -> None:
    assert append_path(url, "/models") == address


@pytest.mark.parametrize("url", ["http://localhost:11434/v1", "https://nemo:p%40ss@[::1]:80/a"])
def test_an_address_of_a_web_server_is_one(url: str) -> None:
    assert is_http_url(url)


@pytest.mark.parametrize(
    "url", ["", "host", "host:80", "ftp://host", "http://", "http://[", "http://host:0", "http://host:a"]
)
def test_other_texts_are_no_address_of_a_web_server(url: str) -> None:
    assert not is_http_url(url)
