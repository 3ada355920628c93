"""Two workers of one server: each forwards requests to the one that holds the bank."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hardship import PATIENCE, llm, web
from hardship.llm import Reply, Stall
from hardship.served import wait_until
from hardship.workers import Reading, Workers, alive, two_workers

BANK = "/banks/alice%2Fnemo"
CHAT = f"{BANK}/chat/current"
SAID = "Tell me of the periwinkle submarine."


class Pair:
    """Two workers, with a client of each."""

    def __init__(
        self, workers: Workers, one: httpx.Client, other: httpx.Client, model: llm.Server, store: Path
    ) -> None:
        self.workers, self.one, self.other, self.model, self.store = workers, one, other, model, store

    def start_reply(self, **headers: str) -> Reading:
        """Send a message to the first worker. Return once its reply has begun."""
        reading = Reading(self.one, "POST", f"{CHAT}/reply", {"text": SAID}, **headers)
        reading.shows("event: piece")
        return reading


@contextmanager
def pair(store: Path, *behaviours: llm.ServerBehaviour) -> Iterator[Pair]:
    with ExitStack() as stack:
        model = stack.enter_context(llm.llm_server(*behaviours))
        workers = stack.enter_context(two_workers(store, model.url))
        one, other = (stack.enter_context(workers.at(path)) for path in workers.sockets())
        one.put(BANK).raise_for_status()
        yield Pair(workers, one, other, model, store)


@pytest.fixture(scope="module")
def shared_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    store = tmp_path_factory.mktemp("banks")
    with pair(store, "Yes.") as two:
        yield two
    assert is_nowhere_on_disk(store, b"periwinkle"), "all banks were deleted"


@pytest.fixture
def two(shared_pair: Pair) -> Iterator[Pair]:
    """Return the workers that several tests share, with a new bank. At the end, deleting it stops a reply."""
    shared_pair.one.put(BANK).raise_for_status()
    yield shared_pair
    shared_pair.one.delete(BANK).raise_for_status()
    wait_until(lambda: not shared_pair.workers.claims())


def join_pieces(events: str) -> str:
    """Join the pieces of a reply."""
    pieces = re.findall(r"event: piece\ndata: (.*)\n", events)
    return "".join(json.loads(piece)["text"] for piece in pieces)


def stored_texts(client: httpx.Client) -> list[str]:
    return [line["text"] for line in client.get(f"{BANK}/lines", params={"retracted": True}).json()["items"]]


def is_nowhere_on_disk(store: Path, word: bytes) -> bool:
    return all(word not in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_a_reply_is_stopped_through_the_other_worker(tmp_path: Path) -> None:
    with pair(tmp_path, Stall("Well, I")) as two:
        reading = two.start_reply()
        assert two.other.get(CHAT).json()["replying"] is True
        state = two.other.post(f"{CHAT}/stop").json()
        assert (state["replying"], state["lines"][-1]["text"]) == (False, "Well, I")
        assert "event: done" in reading.whole()
        assert stored_texts(two.one)[-2:] == [SAID, "Well, I"]
        wait_until(lambda: not two.workers.claims())
        assert two.workers.served.stop() == 0
    routes = [row["route"] for row in two.workers.served.log if "route" in row]
    assert routes.count("/api/v1/banks/{bank}/chat/{session}/stop") == 1, "only the worker that answers logs it"


def test_a_reply_is_streamed_from_its_beginning_through_the_other_worker(two: Pair) -> None:
    two.model.behaviours[:] = [Reply("One two three four five six seven eight.", delay=0.3)]
    first = two.start_reply()
    second = Reading(two.other, "GET", f"{CHAT}/stream")
    second.shows("One")
    assert "eight." not in second.text, "the reply is forwarded piece by piece"
    assert second.whole() == first.whole()
    assert join_pieces(second.text) == "One two three four five six seven eight."
    missing = two.other.get(f"{CHAT}/stream")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:everthread:no-reply")


def test_one_of_two_concurrent_messages_is_answered(two: Pair) -> None:
    two.model.behaviours[:] = [Reply("One two three four five six seven.", delay=0.3)]
    for number in range(3):
        path, body = f"{BANK}/chat/s{number}/reply", {"text": f"Number {number}."}
        readings = [Reading(client, "POST", path, body) for client in (two.one, two.other)]
        answers = [reading.whole() for reading in readings]
        assert sorted(reading.status or 0 for reading in readings) == [200, 409]
        assert "urn:everthread:replying" in next(reading.text for reading in readings if reading.status == 409)
        assert join_pieces(max(answers, key=len)) == "One two three four five six seven."
        assert stored_texts(two.other).count(f"Number {number}.") == 1


def test_a_repeated_request_at_the_other_worker_gets_the_same_or_the_stored_reply(two: Pair) -> None:
    two.model.behaviours[:] = [Reply("One two three four.", delay=0.2)]
    key = {"Idempotency-Key": "k1"}
    first = two.start_reply(**key)
    again = Reading(two.other, "POST", f"{CHAT}/reply", {"text": SAID}, **key)
    assert again.whole() == first.whole()
    for client in (two.one, two.other):
        later = Reading(client, "POST", f"{CHAT}/reply", {"text": SAID}, **key).whole()
        assert re.findall("event: (.*)", later) == ["line", "done"]
    assert stored_texts(two.one).count(SAID) == 1


def test_forgetting_through_the_other_worker_stops_the_reply_and_removes_everything(tmp_path: Path) -> None:
    with pair(tmp_path, Stall("The periwinkle submarine")) as two:
        for scope in ("session", "line", "bank"):
            forget_reply(two, tmp_path, scope)
        assert two.workers.served.stop() == 0
    assert is_nowhere_on_disk(tmp_path, b"periwinkle")


def forget_reply(two: Pair, store: Path, scope: str) -> None:
    """Start a reply, and forget it through the other worker, with this part of its bank."""
    reading = two.start_reply(**{"Idempotency-Key": scope})
    line = json.loads(re.findall(r"event: line\ndata: (.*)\n", reading.text)[0])["line"]
    path = {"bank": BANK, "line": f"{BANK}/lines/{line['seq']}", "session": f"{BANK}/sessions/{line['session']}"}
    answer = two.other.delete(path[scope])
    assert answer.status_code == 200, (scope, answer.text)
    reading.whole()
    if scope == "line":  # the reply is another line
        two.other.delete(f"{BANK}/lines/{line['seq'] + 1}").raise_for_status()
    wait_until(lambda: not two.workers.claims())
    assert is_nowhere_on_disk(store, b"periwinkle")
    ids = [bank["id"] for bank in two.one.get("/banks").json()["items"]]
    assert ids == ([] if scope == "bank" else ["alice/nemo"])


def test_incognito_writes_nothing_and_each_worker_shows_its_lines(two: Pair) -> None:
    two.model.behaviours[:] = ["Nobody will know.", "Nor of this."]
    assert two.one.get("/about").json()["incognito"] is True
    two.one.post(f"{CHAT}/incognito", json={"on": True}).raise_for_status()
    for client, text in ((two.other, "A periwinkle submarine."), (two.one, "And a periwinkle whale.")):
        answer = client.post(f"{CHAT}/reply", json={"text": text, "incognito": True})
        assert answer.status_code == 200, answer.text
    for client in (two.one, two.other, two.one):
        lines = [line["text"] for line in client.get(CHAT).json()["lines"]]
        talk = ["A periwinkle submarine.", "Nobody will know.", "And a periwinkle whale.", "Nor of this."]
        assert [line for line in lines if line in talk] == talk
    assert is_nowhere_on_disk(two.store, b"periwinkle")
    assert len(two.workers.claims()) == 1
    state = two.other.post(f"{CHAT}/incognito", json={"on": False}).json()
    assert (state["lines"], state["incognito"]) == ([], False)
    assert not two.workers.claims()
    assert is_nowhere_on_disk(two.store, b"periwinkle")


def test_a_bank_that_never_remembers_belongs_to_the_worker_with_its_lines(two: Pair) -> None:
    two.model.behaviours[:] = ["Nobody will know."]
    two.one.patch(f"{BANK}/settings", json={"remember": "never"}).raise_for_status()
    two.other.get(CHAT).raise_for_status()
    assert not two.workers.claims(), "reading a conversation takes no lease"
    two.one.post(f"{CHAT}/reply", json={"text": SAID}).raise_for_status()
    assert SAID in [line["text"] for line in two.other.get(CHAT).json()["lines"]]
    assert is_nowhere_on_disk(two.store, b"periwinkle")


def test_another_worker_answers_for_a_killed_one_and_all_end_with_their_supervisor(
    tmp_path: Path,
) -> None:
    with pair(tmp_path, Stall("Well, I"), "Here again.") as two:
        first, second = two.start_reply(), Reading(two.other, "GET", f"{CHAT}/stream")
        second.shows("Well")
        (owner,) = set(two.workers.claims())
        assert owner == two.workers.sockets()[0].name
        killed = two.workers.sockets()[0]
        two.workers.kill(killed)
        for reading in (first, second):
            reading.whole()
            assert reading.broken, "the client notices that the response is incomplete"
        wait_until(lambda: not alive(killed))  # the system closes its connections one after another
        state = two.other.get(CHAT)
        assert state.status_code == 200, state.text
        assert (state.json()["replying"], state.json()["unanswered"]) == (False, True)
        assert join_pieces(two.other.post(f"{CHAT}/answer").text) == "Here again."
        assert stored_texts(two.other)[-2:] == [SAID, "Here again."]
        wait_until(lambda: not two.workers.claims())
        wait_until(lambda: sum(map(alive, two.workers.sockets())) == 2, 60)
        supervisor = two.workers.served.process
        supervisor.kill()
        wait_until(lambda: not any(map(alive, two.workers.sockets())), 60)
        assert supervisor.stderr is not None
        assert f"worker {killed.name} has ended with -9" in supervisor.stderr.read()


def test_a_reader_that_disconnects_from_one_worker_is_gone_for_both(two: Pair) -> None:
    two.model.behaviours[:] = [Stall("Well, I")]
    two.start_reply()

    def streams() -> float:
        metrics = web.get(f"{two.workers.served.url}/metrics").text
        return sum(map(float, re.findall(r"^everthread_streams\S* (\S+)$", metrics, re.MULTILINE)))

    assert streams() == 1
    with two.other.stream("GET", f"{CHAT}/stream") as answer:
        pieces = answer.iter_text()
        next(pieces)
        assert streams() == 2, "the worker that forwards the request does not count it"
    wait_until(lambda: streams() == 1)
    assert two.other.get(CHAT).json()["replying"] is True, "the reply continues without readers"


def test_the_forwarding_header_is_trusted_only_from_another_worker(two: Pair) -> None:
    forwarded: dict[str, Any] = {"client": ["192.0.2.7", 1], "server": ["192.0.2.1", 80], "scheme": "http"}
    spoofed = {"Host": "192.0.2.1", "everthread-for": json.dumps(forwarded)}
    two.model.behaviours[:] = [Stall("Well, I")]
    assert two.one.get(CHAT, headers=spoofed).status_code == 200, "at the socket for workers it is trusted"
    two.start_reply()
    outside = f"{two.workers.served.url}/api/v1"
    for _ in range(12):  # each request is a new connection, which either worker may accept
        assert httpx.get(f"{outside}{CHAT}", headers=spoofed, timeout=PATIENCE).status_code == 421
        assert httpx.get(f"{outside}/about", headers=spoofed, timeout=PATIENCE).status_code == 421
        assert httpx.get(f"{outside}{CHAT}", timeout=PATIENCE).json()["replying"] is True


def test_a_client_behind_a_proxy_needs_a_key_at_every_worker(two: Pair) -> None:
    two.model.behaviours[:] = [Stall("Well, I")]
    two.start_reply()
    for client in (two.one, two.other):
        assert client.get(CHAT, headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 401


def test_a_slow_or_large_body_is_forwarded_as_it_arrives(two: Pair) -> None:
    lines = "".join(json.dumps({"text": f"line {number} " + "x" * 1000}) + "\n" for number in range(2000)).encode()
    chunks = [lines[start : start + 50_000] for start in range(0, len(lines), 50_000)]
    two.model.behaviours[:] = [Stall("Well, I")]
    two.start_reply()
    headers = {"Content-Type": "application/octet-stream"}
    answer = two.other.post(f"{BANK}/import?format=jsonl", content=iter(chunks), headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["added"] == 2000
    assert two.one.get(BANK).json()["lines"] >= 2000
    large = two.other.post(
        f"{BANK}/lines", content=iter([b"x" * 100_000] * 50), headers={"Content-Type": "application/json"}
    )
    assert (large.status_code, large.json()["type"]) == (413, "urn:everthread:too-large")


def test_a_body_with_two_lengths_is_not_forwarded(two: Pair) -> None:
    two.model.behaviours[:] = [Stall("Well, I")]
    two.start_reply()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(PATIENCE)
        raw.connect(str(two.workers.sockets()[1]))
        raw.sendall(
            f"POST /api/v1{BANK}/lines HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode()
        )
        received = b"".join(iter(lambda: raw.recv(65_536), b""))  # until the connection is closed
    assert received.startswith(b"HTTP/1.1 400 ")
