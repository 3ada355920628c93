from __future__ import annotations

import pytest

from everthread.common.urls import append_path


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
