"""Two servers of one database, without and with a proxy in front of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path

import httpx
import psycopg
import pytest
from hardship import llm, postgres, servers
from hardship.llm import Reply, Stall
from hardship.served import Served, wait_until
from hardship.workers import Reading

from everthread.server.data_location import find_location
from everthread.server.keys import KeyStore
from everthread.stores.postgres.store import PostgresStore

SAID = "Tell me of the periwinkle submarine."
BANKS = (f"bank{number}" for number in count())
PROXIES = [
    pytest.param(name, marks=pytest.mark.skipif(not servers.find_program(name), reason=f"{name} is not installed"))
    for name in servers.PROXIES
]


class Pair:
    """Two servers, with a client of each, and a bank."""

    def __init__(self, url: str, running: tuple[Served, Served], model: llm.Server) -> None:
        self.database, self.running, self.model = url, running, model
        self.one, self.other = (servers.client(each.url) for each in running)
        self.bank = f"/banks/{next(BANKS)}"
        with closing(PostgresStore(url)) as store, closing(KeyStore(find_location(store))) as keys:
            self.key = keys.create(self.bank)

    def texts(self, client: httpx.Client) -> list[str]:
        texts = [line["text"] for line in client.get(f"{self.bank}/lines").json()["items"]]
        return [text for text in texts if not text.startswith("Hello, I'm Ever")]  # the greeting

    def count_claims(self) -> int:
        with psycopg.connect(self.database) as db:
            row = db.execute("SELECT count(*) FROM everthread_server.claim").fetchone()
        assert row is not None
        return int(row[0])

    def start_reply(self, client: httpx.Client, **headers: str) -> Reading:
        """Send a message; return once its reply has begun."""
        reading = Reading(client, "POST", f"{self.bank}/chat/current/reply", {"text": SAID}, **headers)
        reading.shows("event: piece")
        return reading


@contextmanager
def start(server: str) -> Iterator[Pair]:
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database(server))
        model = stack.enter_context(llm.llm_server("Yes."))
        pair = Pair(url, stack.enter_context(servers.two_servers(url, model.url)), model)
        for client in (pair.one, pair.other):
            stack.callback(client.close)
        yield pair


@pytest.fixture(scope="module")
def shared_pair(postgres_server: str) -> Iterator[Pair]:
    with start(postgres_server) as pair:
        yield pair


@pytest.fixture
def two(shared_pair: Pair) -> Pair:
    """Return the servers with a new bank."""
    shared_pair.bank = f"/banks/{next(BANKS)}"
    shared_pair.one.put(shared_pair.bank).raise_for_status()
    return shared_pair


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest, shared_pair: Pair, tmp_path: Path) -> Iterator[str]:
    """Return the URL of a proxy of each kind in front of the servers."""
    with servers.run_proxy(request.param, tmp_path, shared_pair.running) as url:
        yield url


def count_requests(server: httpx.Client, route: str) -> float:
    """Return how many requests a server has answered whose route contains a text."""
    answer = server.get(server.base_url.copy_with(path="/metrics")).raise_for_status()
    rows = re.findall(r'^everthread_requests_total\{.*route="([^"]*)".*\} (\S+)$', answer.text, re.MULTILINE)
    return sum(float(number) for name, number in rows if route in name)


# ---------------------------------------------------------------- without a proxy


def test_only_the_server_that_replies_shows_the_conversation(two: Pair) -> None:
    two.model.behaviours[:] = [Stall("Well, I")]
    two.start_reply(two.one)
    chat = f"{two.bank}/chat/current"
    for answer in (
        two.other.get(chat),
        two.other.get(f"{chat}/stream"),
        two.other.post(f"{chat}/stop"),
        two.other.post(f"{chat}/reply", json={"text": "And of the whale."}),
        two.other.delete(two.bank),
    ):
        assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1"), answer.text
    assert two.texts(two.other) == [SAID], "lines are read at every server"
    two.one.post(f"{chat}/stop").raise_for_status()
    assert two.other.get(chat).json()["replying"] is False
    assert two.other.delete(two.bank).status_code == 200


def test_of_two_messages_at_different_servers_one_is_answered(two: Pair) -> None:
    two.model.behaviours[:] = [Reply("One two three four five six seven.", delay=0.3)]
    path = f"{two.bank}/chat/current/reply"
    readings = [Reading(client, "POST", path, {"text": SAID}) for client in (two.one, two.other)]
    for reading in readings:
        reading.whole()
    assert sorted(reading.status or 0 for reading in readings) == [200, 409]
    assert two.texts(two.one) == [SAID, "One two three four five six seven."]


def test_a_repeated_request_at_the_other_server_has_the_same_outcome(two: Pair) -> None:
    two.model.behaviours[:] = ["One two three."]
    key = {"Idempotency-Key": "k1"}
    path = f"{two.bank}/chat/current/reply"
    assert "event: done" in Reading(two.one, "POST", path, {"text": SAID}, **key).whole()
    wait_until(lambda: not two.count_claims())
    again = Reading(two.other, "POST", path, {"text": SAID}, **key).whole()
    assert re.findall("event: (.*)", again) == ["line", "done"]
    assert two.texts(two.other) == [SAID, "One two three."]
    body = {"text": "She has a dog."}
    answers = [client.post(f"{two.bank}/lines", json=body, headers={"Idempotency-Key": "k2"}) for client in
               (two.one, two.other)]  # fmt: skip
    assert answers[0].json() == answers[1].json()
    assert two.texts(two.one).count("She has a dog.") == 1


def test_incognito_belongs_to_its_server(two: Pair) -> None:
    two.model.behaviours[:] = ["Nobody will know."]
    chat = f"{two.bank}/chat/current"
    two.one.post(f"{chat}/incognito", json={"on": True}).raise_for_status()
    refused = two.other.post(f"{chat}/reply", json={"text": SAID, "incognito": True})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:elsewhere")
    assert two.one.post(f"{chat}/reply", json={"text": SAID, "incognito": True}).status_code == 200
    two.one.post(f"{chat}/incognito", json={"on": False}).raise_for_status()
    assert two.other.get(chat).json()["lines"] == []


# ------------------------------------------------------------------- with a proxy


def test_all_requests_of_a_bank_reach_one_server(two: Pair, proxy: str) -> None:
    reached = set[int]()
    for _ in range(12):
        name, before = next(BANKS), [count_requests(client, "{bank}") for client in (two.one, two.other)]
        with servers.client(proxy, two.key) as client:
            bank = f"/banks/alice%2F{name}"
            client.put(bank).raise_for_status()
            client.post(f"{bank}/lines", json={"text": "Hello."}).raise_for_status()
            client.get(f"{bank}/lines?limit=3").raise_for_status()
            client.get(f"{bank}/chat/current", headers={"X-Everthread-Bank": "other"}).raise_for_status()
        after = [count_requests(client, "{bank}") for client in (two.one, two.other)]
        change = [new - old for new, old in zip(after, before, strict=True)]
        assert sorted(change) == [0, 4]
        reached.add(change.index(4))
    assert reached == {0, 1}, "banks are spread over the servers"


def test_a_reply_streams_through_the_proxy_and_is_stopped_there(two: Pair, proxy: str) -> None:
    two.model.behaviours[:] = [Stall("Well, I")]
    chat = f"{two.bank}/chat/current"
    with servers.client(proxy, two.key) as client:
        reading = Reading(client, "POST", f"{chat}/reply", {"text": SAID})
        reading.shows("Well")
        with client.stream("GET", f"{chat}/stream") as answer:
            assert "Well" in servers.read_until(answer, "Well")
        assert client.get(chat).json()["replying"] is True
        assert client.post(f"{chat}/stop").json()["replying"] is False
        assert "event: done" in reading.whole()
    assert two.texts(two.one) == [SAID, "Well, I"]


def test_the_model_api_reaches_the_server_of_the_bank_it_names(two: Pair, proxy: str) -> None:
    two.model.behaviours[:] = ["Hello there."]
    body = {"model": "m", "messages": [{"role": "user", "content": SAID}]}
    root, name, change = proxy, two.bank.removeprefix("/banks/"), list[list[bool]]()
    requests: tuple[tuple[str, dict[str, str]], ...] = (
        (f"{root}/v1/chat/completions", {"X-Everthread-Bank": name}),
        (f"{root}/bank/{name}/v1/chat/completions", {}),
        (f"{root}/v1/chat/completions", {"X-Everthread-Bank": name, "X-OpenWebUI-User-Id": "nora"}),
    )
    for url, headers in requests:
        before = [count_requests(client, "completions") for client in (two.one, two.other)]
        authorization = {"Authorization": f"Bearer {two.key}"}
        httpx.post(url, json=body, headers=headers | authorization, timeout=60).raise_for_status()
        after = [count_requests(client, "completions") for client in (two.one, two.other)]
        change.append([new > old for new, old in zip(after, before, strict=True)])
    assert change in ([[True, False]] * 3, [[False, True]] * 3)


@pytest.mark.parametrize("name", PROXIES)
def test_after_a_server_is_killed_the_other_takes_over_and_no_line_is_lost_or_doubled(
    postgres_server: str, tmp_path: Path, name: str
) -> None:
    with (
        start(postgres_server) as two,
        servers.run_proxy(name, tmp_path, two.running) as url,
        servers.client(url, two.key) as client,
    ):
        client.put(two.bank).raise_for_status()
        kept = [f"Line {number} of the log." for number in range(20)]
        for number, text in enumerate(kept):
            (two.one, two.other)[number % 2].post(f"{two.bank}/lines", json={"text": text}).raise_for_status()
        two.model.behaviours[:] = [Stall("Well, I"), "Here again."]
        key = {"Idempotency-Key": "k1"}
        reading = two.start_reply(client, **key)
        owner = int(two.one.get(f"{two.bank}/chat/current").status_code != 200)
        two.running[owner].process.kill()
        reading.whole()
        path, statuses = f"{two.bank}/chat/current/reply", list[int]()

        def is_answered() -> bool:
            again = Reading(client, "POST", path, {"text": SAID}, **key)
            again.whole()
            statuses.append(again.status or 0)
            return again.status == 200

        wait_until(is_answered)
        refusals = set(statuses[:-1]) - {502}  # nginx's own, for a request that had reached the server that was killed
        assert refusals == {409}, "as long as the first one may be alive, its bank is left to it"
        survivor = (two.other, two.one)[owner]
        wait_until(lambda: two.texts(survivor)[-1] == "Here again.")
        assert two.texts(client) == [*kept, SAID, "Here again."]
