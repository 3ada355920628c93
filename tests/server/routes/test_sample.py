"""The sample life over HTTP."""

from fastapi.testclient import TestClient

from everthread.demo.sample import Sample
from server.problem import kind


def test_a_bank_is_filled_with_a_sample_and_again_after_lines_were_forgotten(api: TestClient) -> None:
    sample = Sample.load("de")
    filled = api.post("banks/demo/sample", json={"language": "de"})
    assert filled.status_code == 200
    assert filled.json() == {
        "language": "de",
        "person": "Jonas",
        "lines": sample.line_count,
        "first_said_at": "2024-02-04T17:10:00Z",
        "last_said_at": api.get("banks/demo").json()["last_said_at"],
        "questions": [{"text": question.text, "line": question.line} for question in sample.questions],
    }
    assert api.get("banks/demo/sample").json() == filled.json()
    assert api.get("banks/demo/chat/current").json()["lines"] == []
    assert api.get("banks/demo/character").json()["person"] == "Jonas"
    line = sample.questions[0].line
    assert api.delete(f"banks/demo/lines/{line}").json()["lines"] == 1
    assert api.get("banks/demo/sample").json()["lines"] == sample.line_count - 1
    assert api.post("banks/demo/sample", json={"language": "zh"}).json()["person"] == "林悦"


def test_a_bank_with_other_lines_is_refused_and_one_without_a_sample_has_none(api_with_lines: TestClient) -> None:
    refused = api_with_lines.post("banks/alice%2Fnemo/sample", json={})
    assert kind(refused, 422) == "bank-not-empty"
    assert "holds messages of its own" in refused.json()["detail"]
    assert api_with_lines.get("banks/alice%2Fnemo").json()["lines"] == 4
    assert kind(api_with_lines.get("banks/alice%2Fnemo/sample"), 404) == "not-found"
    assert kind(api_with_lines.get("banks/demo/sample"), 404) == "not-found"


def test_an_unknown_language_is_refused_and_makes_no_bank(api: TestClient) -> None:
    assert kind(api.post("banks/demo/sample", json={"language": "eo"}), 422) == "invalid-request"
    assert api.get("banks").json()["items"] == []
