import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hardship import loopback
from hardship.llm import closed_port, llm_server
from hardship.loopback import Quiet

from everthread.llms.discovery import find_ollama, list_models, parse_ollama_host


@contextmanager
def serve_body(body: bytes, status: int = 200) -> Iterator[str]:
    """Run a server that sends this reply to every request."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

    with loopback.serve_handler(Handler) as url:
        yield url


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("[::1]", "http://[::1]:11434"),
        ("box", "http://box:11434"),
        (" box:8080 ", "http://box:8080"),
        ("http://box", "http://box:80"),
        ("https://box/", "https://box:443"),
        ("https://box:8443/ollama", "https://box:8443"),
        ("box:port", "http://127.0.0.1:11434"),
    ],
)
def test_ollama_host_is_parsed_as_ollama_parses_it(value: str, host: str) -> None:
    assert parse_ollama_host(value) == host


def test_a_name_without_a_tag_means_the_latest() -> None:
    with llm_server(models=["llama3.2:1b", "llama3.2:latest"]) as server:
        environ = {"OLLAMA_HOST": server.host}
        assert find_ollama("llama3.2", environ) == (server.host, "llama3.2:latest")
        assert find_ollama("llama3.2:1b", environ) == (server.host, "llama3.2:1b")
        assert find_ollama("llama3", environ) == (server.host, "")


def test_the_first_chat_model_is_chosen_without_a_name() -> None:
    body = b"""{"models": [{"name": "mxbai-embed-large"}, {"name": "all-minilm", "details": {"family": "bert"}},
                {"name": "gemma3", "details": {"family": "gemma3"}}]}"""
    with serve_body(body) as host:
        assert find_ollama("", {"OLLAMA_HOST": host}) == (host, "gemma3")
        assert find_ollama("all-minilm", {"OLLAMA_HOST": host}) == (host, "all-minilm")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"models": 5, "data": 5}', b'{"models": [5], "data": [5]}']
)
def test_a_malformed_list_has_no_models(body: bytes) -> None:
    with serve_body(body) as host:
        assert find_ollama("", {"OLLAMA_HOST": host}) == (host, "")
        assert not list_models(host)


def test_an_unreachable_or_rejecting_server_has_no_models() -> None:
    with closed_port() as port:
        assert find_ollama("", {"OLLAMA_HOST": f"127.0.0.1:{port}"}) == (f"http://127.0.0.1:{port}", "")
        assert list_models(f"http://127.0.0.1:{port}/v1") is None
    with serve_body(b'{"data": [{"id": "m"}]}', 401) as host:
        assert list_models(host) is None
    assert list_models("http://[broken") is None


def test_a_silent_ollama_times_out_quickly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert find_ollama("", {"OLLAMA_HOST": host}) == (host, "")
