"""The OpenAPI document, which every response matches."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from everthread.server.app import create_app
from everthread.server.path_segments import API_PREFIX
from everthread.server.services import Services


def test_every_operation_is_described_completely(api: TestClient) -> None:
    document = api.get("openapi.json").json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = Counter(operation["operationId"] for operation in operations)
    assert {name for name, count in names.items() if count > 1} == set()
    assert {"observe", "observe_many", "recall", "context", "correct", "retract", "forget", "stats"} <= names.keys()
    for operation in operations:
        assert operation["description"]
        assert operation["tags"]
        assert all(
            list(operation["responses"][status]["content"]) == ["application/problem+json"]
            for status in ("401", "403", "404", "422", "503")
        )
    assert "HTTPValidationError" not in str(document)


def test_the_document_is_valid_openapi(api: TestClient) -> None:
    schemathesis.openapi.from_dict(api.get("openapi.json").json()).validate()


def test_the_document_is_rendered_once_and_not_resent_to_a_client_that_has_it(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = api.get("openapi.json", headers={"Accept-Encoding": "identity"})
    monkeypatch.setattr(api.app, "openapi", lambda: pytest.fail("it is rendered again"))
    gzipped = api.get("openapi.json", headers={"Accept-Encoding": "gzip"})
    assert gzipped.headers["content-type"] == plain.headers["content-type"] == "application/json"
    assert gzipped.json() == plain.json()
    assert int(gzipped.headers["content-length"]) < int(plain.headers["content-length"]) / 5
    again = api.get("openapi.json", headers={"If-None-Match": gzipped.headers["etag"], "Accept-Encoding": "gzip"})
    assert (again.status_code, again.content) == (304, b"")


def test_a_wrong_method_is_answered_with_all_allowed_ones(api: TestClient) -> None:
    for path, methods in (
        ("banks/alice/lines", "GET, POST"),
        ("banks/alice/lines/1", "DELETE, GET, PATCH"),
        ("banks/alice", "DELETE, GET, PUT"),
        ("characters/Ever", "DELETE, GET, PUT"),
    ):
        answer = api.request("PURGE", path)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods), path
    assert api.delete("http://127.0.0.1:7391/healthz").headers["allow"] == "GET"


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
FEW = settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)


def test_every_response_matches_the_document(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    app = create_app(services)
    schema = schemathesis.openapi.from_asgi(f"{API_PREFIX}/openapi.json", app)
    checked = 0
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @FEW
        @given(case=operation.as_strategy(), known=st.booleans())
        def check(case: schemathesis.Case[Any], known: bool) -> None:
            if known and "bank" in case.path_parameters and services.store.exists("a"):
                case.path_parameters["bank"] = "a"  # otherwise hardly any request would name an existing bank
            case.call_and_validate(checks=CHECKS)

        services.get_memory("a", create=True).observe("My sister Mia moved to Lisbon.", session="0", key="k")
        check()
        checked += 1
    app.state.idempotency.close()
    assert checked == sum(map(len, app.openapi()["paths"].values()))
