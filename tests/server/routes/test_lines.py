"""Lines over HTTP."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.problem import kind

LINES = "banks/alice%2Fnemo/lines"


def texts(page: dict[str, Any]) -> list[str]:
    return [line["text"] for line in page["items"]]


def test_a_line_is_stored_and_read(api: TestClient) -> None:
    stored = api.post(LINES, json={"text": "My sister Mia moved to Lisbon."})
    assert stored.status_code == 201, stored.text
    assert api.get(f"{LINES}/1").json() == stored.json()
    assert kind(api.get("banks/bob/lines/1"), 404) == "not-found"
    assert kind(api.get("banks/alice/nemo/lines/1"), 404) == "http"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "invalid-request"),
        ({"text": " "}, "bad-line"),
        ({"text": "a", "txt": "b"}, "invalid-request"),
        ({"text": "a", "said_at": "2024-05-01T10:00:00"}, "bad-line"),
        ({"text": "a", "role": "boss"}, "invalid-request"),
        ({"text": "a", "parent": 7}, "bad-line"),
        ({"text": "a", "session": "s" * 201}, "bad-line"),
    ],
)
def test_an_invalid_line_is_rejected(api: TestClient, body: dict[str, Any], problem: str) -> None:
    api.put("banks/alice%2Fnemo")
    assert kind(api.post(LINES, json=body), 422) == problem
    assert api.get(LINES).json() == {"items": [], "next": None}


@pytest.mark.parametrize("parent", [1, 7, "k"])
def test_a_first_line_with_an_unknown_parent_creates_no_bank(api: TestClient, parent: int | str) -> None:
    assert kind(api.post(LINES, json={"text": "a", "parent": parent}), 422) == "bad-line"
    batch = [{"text": "a"}, {"text": "b", "parent": parent, "key": "k"}]
    assert api.post(f"{LINES}/batch", json={"lines": batch}).status_code == (201 if parent == 1 else 422)
    assert len(api.get("banks").json()["items"]) == (parent == 1)


def test_the_first_lines_of_a_bank_can_have_each_other_as_parents(api: TestClient) -> None:
    batch = [{"text": "a", "key": "k"}, {"text": "b", "parent": "k"}, {"text": "c", "parent": 2}]
    stored = api.post(f"{LINES}/batch", json={"lines": batch}).json()["items"]
    assert [line["parent"] for line in stored] == [None, 1, 2]


def test_a_body_that_is_not_json_is_rejected(api: TestClient) -> None:
    answer = api.post(LINES, content=b'{"text": Hi}', headers={"content-type": "application/json"})
    assert kind(answer, 422) == "invalid-request"
    assert answer.json()["detail"] == "the body is not JSON: Expecting value, at character 9"


def test_a_batch_is_stored_in_order_or_not_at_all(api_with_lines: TestClient) -> None:
    lines: list[dict[str, Any]] = [{"text": "One."}, {"text": "Two."}]
    answer = api_with_lines.post(f"{LINES}/batch", json={"lines": lines})
    assert [line["seq"] for line in answer.json()["items"]] == [5, 6]
    assert (
        kind(api_with_lines.post(f"{LINES}/batch", json={"lines": [{"text": "Three."}, {"text": ""}]}), 422)
        == "bad-line"
    )
    assert kind(api_with_lines.post(f"{LINES}/batch", json={"lines": []}), 422) == "invalid-request"
    assert len(api_with_lines.get(LINES).json()["items"]) == 6


def test_a_line_replaces_the_line_with_its_key_once(api_with_lines: TestClient) -> None:
    body = {"text": "Mia lives in Porto.", "key": "k", "replace": True}
    first = api_with_lines.post(LINES, json=body).json()
    assert api_with_lines.post(LINES, json=body).json() == first
    moved = {**body, "text": "Mia lives in Lisbon."}
    header = {"Idempotency-Key": "put"}
    second = api_with_lines.post(LINES, json=moved, headers=header)
    assert second.status_code == 201
    api_with_lines.post(LINES, json=body)
    assert api_with_lines.post(LINES, json=moved, headers=header).json()["seq"] == second.json()["seq"]
    (line,) = api_with_lines.get(LINES, params={"key": "k"}).json()["items"]
    assert (line["text"], line["key"]) == ("Mia lives in Porto.", "k")
    assert api_with_lines.get(LINES, params={"key": "unknown"}).json() == {"items": [], "next": None}


def test_a_session_is_continued_from_a_line_once(api: TestClient) -> None:
    api.post(f"{LINES}/batch", json={"lines": [{"text": text, "session": "s"} for text in ("One.", "Two.", "Three.")]})
    assert api.post(f"{LINES}/1/restore").json() == {"items": []}
    assert texts(api.get(LINES).json()) == ["One."]
    header = {"Idempotency-Key": "back"}
    answers = [api.post(f"{LINES}/2/restore", headers=header).json() for _ in range(2)]
    assert answers[0] == answers[1]
    (copy,) = answers[0]["items"]
    assert (copy["seq"], copy["text"], copy["parent"]) == (4, "Two.", 1)
    assert kind(api.post(f"{LINES}/99/restore"), 404) == "not-found"


@pytest.mark.parametrize("body", [{"text": "a"}, {"text": "a", "key": "idem:1"}, {"text": " ", "key": "k"}])
def test_an_invalid_replacement_is_rejected_and_creates_no_bank(api: TestClient, body: dict[str, Any]) -> None:
    assert kind(api.post(LINES, json={**body, "replace": True}), 422) == "bad-line"
    assert api.get("banks").json()["items"] == []
    batch = {"lines": [{"text": "a", "key": "k", "replace": True}]}
    assert kind(api.post(f"{LINES}/batch", json=batch), 422) == "invalid-request"


def test_a_batch_replaces_the_lines_with_its_keys_once(api_with_lines: TestClient) -> None:
    def put(*texts: str, request: str) -> list[int]:
        body = {"lines": [{"text": text, "key": f"k{n}"} for n, text in enumerate(texts)], "replace": True}
        stored = api_with_lines.post(f"{LINES}/batch", json=body, headers={"Idempotency-Key": request})
        return [line["seq"] for line in stored.json()["items"]]

    assert put("Mia lives in Porto.", "So does Ben.", request="a") == [5, 6]
    assert put("Mia lives in Lisbon.", "So does Ben.", request="b") == [7, 6]
    assert put("Mia lives in Porto.", "So does Ben.", request="a") == [5, 6]  # the same request as before
    assert [line["seq"] for line in api_with_lines.get(LINES).json()["items"]] == [1, 2, 3, 4, 6, 7]


def test_lines_are_listed_a_page_at_a_time(api_with_lines: TestClient) -> None:
    first = api_with_lines.get(LINES, params={"limit": 3}).json()
    rest = api_with_lines.get(LINES, params={"limit": 3, "after": first["next"]}).json()
    assert [line["seq"] for line in first["items"] + rest["items"]] == [1, 2, 3, 4]
    assert rest["next"] is None
    assert kind(api_with_lines.get(LINES, params={"after": "nonsense"}), 422) == "bad-query"
    assert kind(api_with_lines.get(LINES, params={"limit": 501}), 422) == "invalid-request"


def test_lines_after_a_number_are_listed_in_pages(api_with_lines: TestClient) -> None:
    first = api_with_lines.get(LINES, params={"after_seq": 1, "limit": 2}).json()
    assert [line["seq"] for line in first["items"]] == [2, 3]
    rest = api_with_lines.get(LINES, params={"after_seq": 1, "limit": 2, "after": first["next"]}).json()
    assert ([line["seq"] for line in rest["items"]], rest["next"]) == ([4], None)
    assert api_with_lines.get(LINES, params={"after_seq": 4}).json() == {"items": [], "next": None}
    for wrong in (-1, 2**63, "x"):
        assert kind(api_with_lines.get(LINES, params={"after_seq": wrong}), 422) == "invalid-request"


def test_lines_are_listed_by_filters(api_with_lines: TestClient) -> None:
    assert texts(api_with_lines.get(LINES, params={"session": "two"}).json()) == ["I planted ferns today."]
    assert texts(api_with_lines.get(LINES, params={"role": "assistant"}).json()) == ["How exciting!"]
    assert len(texts(api_with_lines.get(LINES, params={"speaker": ["user", "assistant"]}).json())) == 4
    assert len(texts(api_with_lines.get(LINES, params={"until": "2024-06-01T00:00:00Z"}).json())) == 3
    assert len(texts(api_with_lines.get(LINES, params={"since": "2024-06-01T00:00:00Z"}).json())) == 1
    assert kind(api_with_lines.get(LINES, params={"since": "2024-06-01T00:00:00"}), 422) == "bad-query"
    two = json.dumps({"field": "session", "op": "in", "value": ["two", "three"]})
    assert texts(api_with_lines.get(LINES, params={"condition": two}).json()) == ["I planted ferns today."]
    assert texts(api_with_lines.get(LINES, params={"key_prefix": "none"}).json()) == []
    assert kind(api_with_lines.get(LINES, params={"condition": "{"}), 422) == "bad-query"
    assert kind(api_with_lines.get(LINES, params={"key_prefix": ""}), 422) == "bad-query"


def test_lines_around_a_line_are_of_its_session(api_with_lines: TestClient) -> None:
    assert texts(api_with_lines.get(LINES, params={"around": 3, "limit": 2}).json()) == [
        "How exciting!",
        "She has a dog called Rex.",
    ]
    assert len(api_with_lines.get(LINES, params={"around": 1}).json()["items"]) == 3
    api_with_lines.post(f"{LINES}/2/retract")
    assert "How exciting!" in texts(api_with_lines.get(LINES, params={"around": 2}).json())
    assert kind(api_with_lines.get(LINES, params={"around": 9}), 404) == "not-found"


def test_a_corrected_line_is_a_new_line_in_the_same_position(api_with_lines: TestClient) -> None:
    line = api_with_lines.patch(f"{LINES}/1", json={"text": "My sister Mia moved to Porto."}).json()
    old = api_with_lines.get(LINES, params={"retracted": True}).json()["items"][0]
    assert {**line, "seq": 1, "text": old["text"], "metadata": {}} == {**old, "retracted_at": None}
    assert texts(api_with_lines.get(LINES, params={"around": 3}).json())[0] == "My sister Mia moved to Porto."
    assert kind(api_with_lines.patch(f"{LINES}/1", json={"text": "Again."}), 404) == "not-found"
    assert kind(api_with_lines.patch(f"{LINES}/2", json={"text": " "}), 422) == "bad-line"
    assert kind(api_with_lines.patch(f"{LINES}/2", json={}), 422) == "invalid-request"


def test_a_retracted_line_stays_in_the_record_and_a_forgotten_one_does_not(api_with_lines: TestClient) -> None:
    assert api_with_lines.post(f"{LINES}/1/retract").json()["retracted_at"]
    assert kind(api_with_lines.get(f"{LINES}/1"), 404) == "not-found"
    receipt = api_with_lines.delete(f"{LINES}/1").json()
    assert (receipt["scope"], receipt["seqs"], receipt["lines"]) == ("line", [[1, 1]], 1)
    assert len(api_with_lines.get(LINES, params={"retracted": True}).json()["items"]) == 3
    for answer in (api_with_lines.delete(f"{LINES}/1"), api_with_lines.post(f"{LINES}/1/retract")):
        assert kind(answer, 404) == "not-found"


@pytest.mark.parametrize("seq", ["0", "-1", "x", "9223372036854775808", "1.5"])
def test_an_invalid_line_number_is_rejected(api_with_lines: TestClient, seq: str) -> None:
    assert kind(api_with_lines.get(f"{LINES}/{seq}"), 422) == "invalid-request"


def test_metadata_that_is_nested_too_deeply_is_rejected(api_with_lines: TestClient) -> None:
    deep = b'{"a":' * 300 + b"1" + b"}" * 300
    answer = api_with_lines.post(
        LINES, content=b'{"text":"a","metadata":' + deep + b"}", headers={"Content-Type": "application/json"}
    )
    assert kind(answer, 422) == "bad-line"
    assert api_with_lines.get(LINES).status_code == 200


def test_a_path_with_an_extra_slash_is_not_found(api_with_lines: TestClient) -> None:
    answer = api_with_lines.get("banks/alice%2Fnemo/", follow_redirects=False)
    assert kind(answer, 404) == "http"


def test_a_corrected_line_keeps_its_key_and_a_retracted_one_releases_it(api: TestClient) -> None:
    line = {"text": "Mia lives in Porto.", "key": "k"}
    api.post(LINES, json=line)
    corrected = api.patch(f"{LINES}/1", json={"text": "Mia lives in Lisbon."}).json()
    assert corrected["key"] == "k"
    assert api.post(LINES, json=line).json() == corrected
    api.post(f"{LINES}/2/retract")
    again = api.post(LINES, json=line).json()
    assert (again["seq"], again["key"], again["text"]) == (3, "k", "Mia lives in Porto.")


def test_a_line_without_words_is_stored_and_corrected_once_by_a_repeated_request(api: TestClient) -> None:
    picture = {"text": "", "metadata": {"image": "cat.png"}}

    def send_twice(method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        header = {"Idempotency-Key": f"{method}-{path}"}
        first, again = (api.request(method, path, json=body, headers=header).json() for _ in range(2))
        assert first == again
        return dict(first)

    assert send_twice("POST", LINES, picture)["seq"] == 1
    batch = send_twice("POST", f"{LINES}/batch", {"lines": [{"text": "How sweet!"}, picture]})
    assert [line["seq"] for line in batch["items"]] == [2, 3]
    for seq, text in enumerate(("My cat", ""), 3):
        line = send_twice("PATCH", f"{LINES}/{seq}", {"text": text})
        assert (line["seq"], line["text"], line["metadata"]["image"]) == (seq + 1, text, "cat.png")


def test_several_lines_are_forgotten_at_once_and_missing_ones_skipped(api: TestClient) -> None:
    api.post(f"{LINES}/batch", json={"lines": [{"text": f"I saw {n} gulls."} for n in range(6)]})
    receipt = api.post(f"{LINES}/forget", json={"seqs": [[1, 3], [5, 5], [90, 99]]}).json()
    assert (receipt["scope"], receipt["lines"], receipt["seqs"]) == ("line", 4, [[1, 3], [5, 5]])
    assert texts(api.get(LINES).json()) == ["I saw 3 gulls.", "I saw 5 gulls."]
    for seqs in ([], [[5, 4]], [[5, 5]]):
        assert kind(api.post(f"{LINES}/forget", json={"seqs": seqs}), 404) == "not-found"


def test_the_lines_of_a_speaker_are_forgotten_at_once(api: TestClient) -> None:
    lines = [{"text": f"I saw {n} gulls.", "speaker": "Ann" if n % 2 else "Ben/😀"} for n in range(4)]
    api.post(f"{LINES}/batch", json={"lines": lines})
    header = {"Idempotency-Key": "once"}
    receipts = [api.post(f"{LINES}/forget", json={"speaker": "Ben/😀"}, headers=header).json() for _ in range(2)]
    assert receipts[0] == receipts[1]
    assert (receipts[0]["scope"], receipts[0]["lines"], receipts[0]["seqs"]) == ("speaker", 2, [[1, 1], [3, 3]])
    assert texts(api.get(LINES).json()) == ["I saw 1 gulls.", "I saw 3 gulls."]
    assert kind(api.post(f"{LINES}/forget", json={"speaker": "Ben/😀"}), 404) == "not-found"


@pytest.mark.parametrize("body", [{}, {"seqs": [[1, 1]], "speaker": "Ann"}, {"speaker": 5}])
def test_lines_to_forget_that_are_missing_or_given_twice_are_rejected(api: TestClient, body: object) -> None:
    api.post(LINES, json={"text": "I saw a gull."})
    assert api.post(f"{LINES}/forget", json=body).status_code == 422
    assert len(api.get(LINES).json()["items"]) == 1


@pytest.mark.parametrize("seqs", [[[1]], [1], [[0, 2]], [[1, 2, 3]], [["a", "b"]], "all", [[1, 2**63]]])
def test_numbers_of_lines_to_forget_that_are_no_ranges_are_rejected(api: TestClient, seqs: object) -> None:
    api.post(LINES, json={"text": "I saw a gull."})
    assert kind(api.post(f"{LINES}/forget", json={"seqs": seqs}), 422) == "invalid-request"
    assert len(api.get(LINES).json()["items"]) == 1


def test_a_range_of_too_many_lines_is_rejected_with_the_number_that_is_allowed(api: TestClient) -> None:
    api.post(LINES, json={"text": "I saw a gull."})
    answer = api.post(f"{LINES}/forget", json={"seqs": [[1, 2_000_001]]})
    assert kind(answer, 422) == "bad-input"
    assert "2,000,001" in answer.text
    assert "2,000,000" in answer.text
    assert api.post(f"{LINES}/forget", json={"seqs": [[1, 2_000_000]]}).json()["lines"] == 1
