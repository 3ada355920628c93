"""The model that replies is tried, connected, changed and disconnected while the server runs."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fastapi.testclient import TestClient
from hardship import llm
from hardship.loopback import Quiet, serve_handler

from everthread.languages.wording import load_wording
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.models import probe
from everthread.server.services import Services
from everthread.testing import HashEmbedder
from server.problem import kind

NOTED = load_wording()("chat.will_remember")

KEY = "sk-very-secret"
MODELS = ("m", "large")


@pytest.fixture(scope="module")
def model_server() -> Iterator[llm.Server]:
    with llm.llm_server(models=MODELS) as server:
        yield server


@pytest.fixture
def model(model_server: llm.Server) -> llm.Server:
    """Return a server with two models, which has not been asked anything."""
    model_server.behaviours[:], model_server.models, model_server.download = ["Hello there."], MODELS, []
    model_server.requests.clear()
    model_server.hung_up.clear()
    return model_server


def another_process(services: Services) -> Services:
    """Return the services of another worker, or of the same server after a restart."""
    return Services(services.store, HashEmbedder(64), None, Default())


def model_file(services: Services) -> Path:
    return server_db.get_path(services.store).with_name("model.json")


def connect(api: TestClient, url: str, model: str = "m", key: str | None = KEY) -> Any:
    return api.put("model", json={"url": url, "model": model, "key": key})


def test_a_connected_model_replies_at_once_and_after_a_restart(
    api: TestClient, services: Services, model: llm.Server
) -> None:
    assert api.get("banks/a/chat/current").status_code == 404
    api.put("banks/a")
    assert api.get("banks/a/chat/current").json()["model"] is None
    worker = another_process(services)
    view = connect(api, model.url).json()
    assert (view["model"], view["url"], view["has_key"], view["set_by"]) == ("m", model.url, True, None)
    assert api.get("about").json()["model"]["name"] == "m"
    assert api.get("models").json() == {"items": ["m", "large"], "default": "m"}
    assert api.get("banks/a/chat/current").json()["model"] == "m"
    assert "Hello there." in api.post("banks/a/chat/current/reply", json={"text": "Hi."}).text
    assert model.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    for other in (worker, another_process(services)):
        assert isinstance(other.llm, OpenAICompatible)
        assert (other.llm.name, other.llm.base_url, other.llm.key) == ("m", model.url, KEY)
        assert other.get_scribe().name == "llm:m"


def test_a_disconnected_model_and_its_key_are_gone_also_after_a_restart(
    api: TestClient, services: Services, model: llm.Server
) -> None:
    found = Services(services.store, HashEmbedder(64), OpenAICompatible(model.url, "large"), Default())
    assert found.llms.list_names() == ["large", "m"]
    connect(api, model.url)
    api.put("banks/a")
    assert api.delete("model").json()["model"] is None
    assert api.get("banks/a/chat/current").json()["model"] is None
    assert services.get_scribe().name == "extractive"
    assert found.llms.list_names() == [], "the decision to have none outlives a restart"
    assert KEY not in model_file(services).read_text()
    assert NOTED in api.post("banks/a/chat/current/reply", json={"text": "I have a cat."}).text
    assert len(model.asked) == 1, "only the trial"


def test_the_proxy_follows_the_connected_model(api: TestClient, model: llm.Server) -> None:
    ask = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    completions = "http://127.0.0.1:7391/v1/chat/completions"
    assert api.post(completions, json=ask).status_code == 502
    connect(api, model.url)
    assert api.post(completions, json=ask).json()["choices"][0]["message"]["content"] == "Hello there."
    assert model.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    with llm.llm_server("Good morning.", models=["other"]) as other:
        connect(api, other.url, "other", "")
        assert api.post(completions, json=ask).json()["choices"][0]["message"]["content"] == "Good morning."
        assert "authorization" not in other.asked[-1].headers
    api.delete("model")
    assert api.post(completions, json=ask).status_code == 502


def test_the_key_is_stored_for_its_owner_only_and_shown_nowhere(
    api: TestClient, services: Services, model: llm.Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model.behaviours[:] = [llm.Status(401, f"wrong key {KEY}"), "Hello there."]
    answers = [connect(api, model.url), connect(api, model.url), api.get("model"), api.get("about")]
    answers += [connect(api, "nonsense"), connect(api, model.url, "m", KEY * 500), api.delete("model")]
    answers += [connect(api, model.url, "m", KEY + "é")]
    assert [answer.status_code for answer in answers] == [422, 200, 200, 200, 422, 422, 200, 422]
    assert not any(KEY in answer.text for answer in answers)
    assert KEY not in caplog.text
    connect(api, model.url)
    assert stat.S_IMODE(model_file(services).stat().st_mode) == 0o600
    assert [path.name for path in model_file(services).parent.glob("model.json*")] == ["model.json"]


def test_a_stored_key_is_used_again_for_its_own_server_only(api: TestClient, model: llm.Server) -> None:
    connect(api, model.url)
    assert connect(api, model.url, "large", None).json()["has_key"]
    assert model.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    with llm.llm_server(models=["other"]) as other:
        assert api.post("model/test", json={"url": other.url}).json() == {"items": ["other"]}
        assert not connect(api, other.url, "other", None).json()["has_key"]
        assert not any(KEY in str(request.headers) for request in other.requests)


def test_an_address_without_a_path_gets_v1(api: TestClient, model: llm.Server) -> None:
    assert api.post("model/test", json={"url": f" {model.host}/ "}).json() == {"items": ["m", "large"]}
    assert connect(api, model.host).json()["url"] == model.url


FAULTS: list[tuple[llm.Behaviour, str, str, str]] = [
    (llm.Status(401), KEY, "model-key", "refused the key"),
    (llm.Status(403), "", "model-key", "requires a key"),
    (llm.Status(404), KEY, "model-missing", "no model 'm'; it has m, large"),
    (llm.Status(500), KEY, "model-failed", "check the address"),
    (llm.Mute(), KEY, "model-slow", "0.3 seconds"),
    (llm.HTML, KEY, "model-failed", "invalid response"),
    (llm.MALFORMED, KEY, "model-failed", "invalid response"),
    (llm.Cut("Hel"), KEY, "model-failed", "disconnected"),
]


def test_a_model_that_does_not_reply_is_not_connected(
    api: TestClient, services: Services, model: llm.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "REPLY_TIMEOUT_S", 0.3)
    for behaviour, key, name, detail in FAULTS:
        model.behaviours[:] = [behaviour]
        answer = connect(api, model.url, "m", key)
        assert kind(answer, 422) == name, behaviour
        assert detail in answer.json()["detail"]
    assert not model_file(services).exists()


class Elsewhere(Quiet):
    """Redirects, answers slowly, fails, or is another kind of server, by the path."""

    seen: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        """Answer as the path says."""
        self.seen.append(self.headers.get("authorization") if self.path.startswith("/goal") else None)
        name = self.path.split("/")[1]
        status = {"moved": 307, "failed": 503, "key": 401, "unlisted": 404}.get(name, 200)
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/goal")
        body = b'{"data": [1]}' if name == "odd" else b"<html>" if name == "no-server" else b""
        self.send_header("Content-Length", str(len(body) + (9 if name == "slow" else 0)))
        self.end_headers()
        self.wfile.write(body)
        if name == "slow":
            self.rfile.read(1)  # until the client disconnects


def test_what_is_wrong_with_a_server_is_said_with_a_remedy(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LIST_TIMEOUT_S", 0.3)
    with serve_handler(Elsewhere) as url:
        for path, name, remedy in (
            ("moved", "model-moved", "enter that address"),
            ("failed", "model-failed", "try again later"),
            ("no-server", "model-no-server", "usually ends in /v1"),
            ("odd", "model-no-server", "usually ends in /v1"),
            ("slow", "model-slow", "check that it is running"),
            ("key", "model-key", "copy it again"),
        ):
            answer = api.post("model/test", json={"url": f"{url}/{path}", "key": KEY})
            assert kind(answer, 422) == name
            assert remedy in answer.json()["detail"]
        assert api.post("model/test", json={"url": f"{url}/unlisted"}).json() == {"items": None}
    assert Elsewhere.seen.count(None) == len(Elsewhere.seen), "the redirect was not followed"
    with llm.closed_port() as port:
        assert kind(connect(api, f"http://127.0.0.1:{port}/v1"), 422) == "model-unreachable"
    for invalid in ("localhost:11434", "ftp://host/v1", "http://", "http://[::1"):
        assert "expected one such as" in api.post("model/test", json={"url": invalid}).json()["detail"]


def test_a_model_that_a_setting_names_is_shown_and_not_changed(services: Services, model: llm.Server) -> None:
    configured = OpenAICompatible(model.url, "m")
    another_process(services).connection.connect(model.url, "large")
    fixed = Services(services.store, HashEmbedder(64), configured, Default(), model_setting="EVERTHREAD_LLM_URL")
    api = TestClient(create_app(fixed), base_url="http://127.0.0.1:7391/api/v1/")
    view = api.get("model").json()
    assert (view["model"], view["set_by"]) == ("m", "EVERTHREAD_LLM_URL")
    for answer in (connect(api, model.url, "large"), api.delete("model")):
        assert kind(answer, 409) == "model-configured"
        assert "EVERTHREAD_LLM_URL" in answer.json()["detail"]


def test_only_a_key_that_may_do_everything_manages_the_model(api: TestClient, services: Services) -> None:
    keys = KeyStore(server_db.get_path(services.store))
    headers = [
        {"Authorization": f"Bearer {keys.create(name, banks, verbs)}"}
        for name, banks, verbs in (
            ("one", ["a"], ["read", "write", "chat", "forget"]),
            ("all", ["*"], ["read", "write"]),
        )
    ]
    owner = {"Authorization": f"Bearer {keys.create('owner')}"}
    keys.close()
    body = {"url": "http://127.0.0.1:1/v1", "model": "m"}
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/pull")):
        for limited in headers:
            assert kind(api.request(method, f"model{path}", json=body, headers=limited), 403) == "forbidden"
    assert api.get("model", headers=owner).status_code == 200
    assert kind(api.get("model", headers={"X-Forwarded-For": "10.0.0.1"}), 401) == "unauthorized"


def test_a_damaged_file_leaves_the_server_without_a_model(
    services: Services, model: llm.Server, caplog: pytest.LogCaptureFixture
) -> None:
    model_file(services).write_text(f'{{"key": "{KEY}", "url": 1')
    assert services.llm is None
    assert "connect the model again" in caplog.text
    assert KEY not in caplog.text
    services.connection.connect(model.url, "m")
    assert services.llm is not None


# ------------------------------------------------------------------------------ Ollama

LAYERS: list[dict[str, Any] | None] = [
    {"status": "pulling manifest"},
    {"status": "pulling a", "digest": "a", "total": 100},
    {"status": "pulling a", "digest": "a", "total": 100, "completed": 100},
    {"status": "pulling b", "digest": "b", "total": 10, "completed": 5},
]


@pytest.fixture
def ollama(model: llm.Server, monkeypatch: pytest.MonkeyPatch) -> llm.Server:
    monkeypatch.setenv("OLLAMA_HOST", model.host)
    return model


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_ollamas_models_are_listed_pulled_with_progress_and_connected(api: TestClient, ollama: llm.Server) -> None:
    ollama.download = LAYERS
    found = api.get("model").json()["ollama"]
    assert found == {"url": ollama.url, "is_running": True, "models": ["m", "large"]}
    progress = events(api.post("model/pull", json={"model": "llama3.2"}).text)
    assert [(data["completed"], data["total"]) for name, data in progress if name == "progress"] == [
        *((0, 0), (0, 100), (100, 100), (105, 110)),
        (105, 110),
    ]
    assert progress[-1] == ("done", {})
    view = connect(api, found["url"], "llama3.2", "").json()
    assert (view["model"], view["has_key"], view["ollama"]["models"][-1]) == ("llama3.2", False, "llama3.2")


def test_a_failed_pull_says_why(api: TestClient, ollama: llm.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ollama.download = [{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}]
    name, problem = events(api.post("model/pull", json={"model": "nosuch"}).text)[-1]
    assert (name, problem["type"]) == ("error", "urn:everthread:pull-failed")
    assert "file does not exist" in problem["detail"]
    with llm.closed_port() as port:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{port}")
        assert kind(api.post("model/pull", json={"model": "m"}), 422) == "ollama-unreachable"
        assert not api.get("model").json()["ollama"]["is_running"]
