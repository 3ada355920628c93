"""The client against a real server, and beside `Memory`: the same scenario gives the same with either."""

from __future__ import annotations

import inspect
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from hardship import PATIENCE, llm
from hardship.loopback import Quiet, answering, serving

from everthread import (
    BadBankId,
    BadFile,
    BadInput,
    BadLine,
    BadQuery,
    Character,
    Client,
    ConfigError,
    EverthreadError,
    Filter,
    ImportResult,
    Line,
    LLMRejected,
    Memory,
    NewLine,
    NewUnit,
    NotFound,
    Sampling,
    StoreUnavailable,
)
from everthread.chat.character import DEFAULT_CHARACTER
from everthread.client import connection
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

LATE = 2.0  # seconds until an answer that is late
BANK = "alice/captain nemo"
DAY = datetime(2024, 5, 17, 12, tzinfo=timezone(timedelta(hours=2)))
SAID = [
    ("Alice", "My sister Mia moved to Lisbon in May."),
    ("Nemo", "How does she like Lisbon?"),
    ("Alice", "She loves the light. I keep bees, 你好."),
    ("Nemo", "Bees are good company."),
]
LINES = [
    NewLine(
        text,
        speaker,
        "user" if speaker == "Alice" else "assistant",
        DAY + timedelta(hours=n),
        f"session {n // 2}",
        {"n": n},
        key=f"k{n}",
    )
    for n, (speaker, text) in enumerate(SAID)
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    held = SQLiteStore(tmp_path / "served")
    yield held
    held.close()


@pytest.fixture
def url(store: SQLiteStore) -> Iterator[str]:
    with serving(create_app(Services(store, HashEmbedder(64), None, Default()))) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, BANK) as each:
        yield each


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Memory]:
    """A memory in this process, of another folder."""
    with Memory.open(BANK, store=tmp_path / "beside", embedder=HashEmbedder(64)) as each:
        yield each


# ------------------------------------------------------------------ the same as Memory

OWN = {"reply", "end", "banks", "export", "import_file", "character", "set_character"}  # what only a server has
OWN |= {"recipes", "recipe", "set_recipe", "set_options"}


def test_its_methods_are_those_of_memory_and_take_the_same() -> None:
    ours = {name: each for name, each in vars(Client).items() if inspect.isfunction(each) and not name.startswith("_")}
    for name, method in ours.items():
        if name in OWN:
            continue
        theirs = inspect.signature(getattr(Memory, name)).parameters
        for parameter in inspect.signature(method).parameters.values():
            same = theirs[parameter.name]
            assert (parameter.kind, parameter.default) == (same.kind, same.default), f"{name}({parameter.name})"


def test_what_memory_has_and_it_has_not_is_what_only_a_store_beside_it_can_do() -> None:
    public = {name for name in vars(Memory) if not name.startswith("_") and callable(getattr(Memory, name))}
    inner = {"add_unit", "dequeue", "enqueue", "jobs", "open", "reindex", "replace_lines", "save_recipe"}
    assert public - set(vars(Client)) == inner


Told = dict[str, Any]


def scenario(bank: Any) -> Told:
    """What a bank tells, from its first line to its last."""
    told: Told = {"kept": bank.observe_many(LINES)}
    told["again"] = bank.observe_many(LINES[:2])
    told["one"] = bank.observe(
        "Mia has a dog.", speaker="Alice", said_at=DAY + timedelta(hours=5), session="session 1", key="k9"
    )
    told["lines"] = list(bank.lines())
    told["behind"] = list(bank.lines(after=2, limit=2))
    told["none"] = list(bank.lines(limit=0))
    told["alices"] = list(bank.lines(Filter(speaker="Alice", since=DAY + timedelta(minutes=1))))
    told["sessions"] = bank.sessions()
    told["recall"] = bank.recall("Where does Mia live?", 3, as_of=DAY + timedelta(days=2))
    told["filtered"] = bank.recall("Mia", where=Filter(session=("session 1",), metadata={"n": 2}), exclude={1})
    told["context"] = bank.context("Where does my sister Mia live?", 200, as_of=DAY + timedelta(days=2), gate=False)
    told["nothing"] = bank.context("", 50)
    told["corrected"] = replace(bank.correct(5, "Mia has a cat."), metadata={}, key=None)
    told["retracted"] = replace(bank.retract(4), retracted_at=None)
    told["all"] = [replace(line, retracted_at=None, metadata={}, key=None) for line in bank.lines(retracted=True)]
    bank.set_setting("remember", "always")
    told["settings"] = bank.settings()
    told["forgot"] = [
        replace(bank.forget(seq=2), forgotten_at=DAY),
        replace(bank.forget(session="session 1"), forgotten_at=DAY),
    ]
    told["stats"] = replace(bank.stats(), bytes=0)
    told["gone"] = replace(bank.forget(everything=True), forgotten_at=DAY)
    return told


def test_the_same_scenario_gives_the_same(client: Client, local: Memory) -> None:
    remote, here = scenario(client), scenario(local)
    for name, each in here.items():
        assert remote[name] == each, name


def wrong(bank: Any) -> Iterator[Callable[[], object]]:
    """What can't be done."""
    yield lambda: bank.observe(" ")
    yield lambda: bank.observe("x", said_at=datetime(2024, 1, 1))
    yield lambda: bank.observe("x", role="bystander")
    yield lambda: bank.observe("x", parent=99)
    yield lambda: bank.observe_many([NewLine("fine"), "not a line"])
    yield lambda: bank.recall("x", 0)
    yield lambda: bank.recall("x", banks=["nobody's"])
    yield lambda: bank.context("x", -1)
    yield lambda: bank.context("x", min_relevance=2.0)
    yield lambda: bank.lines(limit=-1)
    yield lambda: bank.lines(after="1")
    yield lambda: bank.retract(99)
    yield lambda: bank.retract("1")
    yield lambda: bank.correct(99, "x")
    yield lambda: bank.correct(1, " ")
    yield lambda: bank.forget()
    yield lambda: bank.forget(seq=1, everything=True)
    yield lambda: bank.forget(session="nobody's")
    yield lambda: bank.edit_unit("note", 9, "x")
    yield lambda: bank.forget_unit("note", 9)
    yield lambda: bank.set_notes(" ")
    yield lambda: bank.set_notes(9)


def test_what_is_wrong_raises_the_same(client: Client, local: Memory) -> None:
    for bank in (client, local):
        bank.observe("Hello.")
    for there, here in zip(wrong(client), wrong(local), strict=True):
        with pytest.raises(EverthreadError) as error:
            here()
        with pytest.raises((type(error.value), BadInput)):
            there()
    assert [line.text for line in client.lines()] == ["Hello."]


def test_units_are_those_of_the_bank(client: Client, store: SQLiteStore) -> None:
    client.observe_many(LINES)
    memory = Memory(BANK, store, HashEmbedder(64), Default())
    memory.add_unit(NewUnit("fact", "Mia lives in Lisbon.", 1, 1, DAY, 5.0, "family", {"by": "hand"}))
    edited = client.edit_unit("fact", 1, "Mia lives in Porto.")
    assert edited == memory.units("fact")[1]
    assert client.units() == memory.units()
    assert client.units("fact", current=True) == [edited]
    assert (client.units(category="family"), client.units(category="food")) == (memory.units("fact"), [])
    kin = Filter(kind="fact", category="family")
    assert [hit.text for hit in client.recall("Where is Mia?", where=kin)] == ["Mia lives in Porto."]
    assert client.recall("Where is Mia?", where=Filter(kind="fact", category="food")) == []
    assert client.context("Where is Mia?", where=kin, gate=False) == memory.context(
        "Where is Mia?", where=kin, gate=False
    )
    assert client.set_notes("She likes bees.") == memory.units("note")[0]
    assert client.forget_unit("fact", edited.id) == [2, 1]
    assert client.units("fact") == []


def test_long_lists_come_page_by_page_and_whole(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.client.connection.PAGE_ITEMS", 7)
    monkeypatch.setattr("everthread.client.client.BATCH_LINES", 10)
    done: list[int] = []
    client.observe_many([NewLine(f"Line {n}", session=f"s{n % 20}") for n in range(40)], done.append)
    assert done == [10, 20, 30, 40]
    assert [line.seq for line in client.lines()] == list(range(1, 41))
    assert [line.seq for line in client.lines(after=30, limit=9)] == list(range(31, 40))
    assert [session.id for session in client.sessions()] == [f"s{n}" for n in range(20)]


def test_banks_and_rows_to_keep(url: str, client: Client) -> None:
    client.observe_many(LINES)
    with Client(url, "bob") as other:
        other.observe("Hello.")
        assert other.banks() == [BANK, "bob"]
        assert [hit.bank for hit in other.recall("Where did Mia move?", 1, banks=[BANK, "bob"])] == [BANK]
        found = other.context("Where did Mia move?", banks=[BANK, "bob"], gate=False, min_relevance=0.0)
        assert [(each.bank, each.hits[0].bank) for each in found.others] == [(BANK, BANK)]
        assert found.lines[0].text == "Hello."
    rows = [json.loads(row) for row in client.export()]
    assert [row["text"] for row in rows] == [text for _, text in SAID]


def test_a_conversation_is_ended_as_the_person_wants(client: Client) -> None:
    client.observe_many(LINES)
    asked = client.end("session 1")
    assert (asked.remembered, asked.question) == (None, "Shall I remember this conversation?")
    assert client.end("session 1", remember=True).remembered
    gone = client.end("session 0", remember=False)
    assert gone.receipt is not None
    assert gone.receipt.lines == 2


def test_a_goodbye_is_answered_with_the_question_and_a_no_with_a_receipt(client: Client) -> None:
    "".join(client.reply("I planted ferns.", recipe="packabby"))
    asked = client.reply("bye", recipe="packabby")
    assert "".join(asked) == "Goodbye! Shall I remember this conversation?"
    assert asked.ending is not None
    assert (asked.ending.remembered, asked.ending.question) == (None, "Shall I remember this conversation?")
    assert asked.user_line is not None
    answered = client.reply("no", recipe="packabby")
    assert "".join(answered) == "Nothing of it is left."
    assert answered.ending is not None
    assert answered.ending.receipt is not None
    assert answered.ending.session == asked.user_line.session
    assert list(client.lines()) == []


def test_a_name_that_would_lead_elsewhere_costs_no_more_than_is_named(client: Client) -> None:
    client.observe("Hello.", session="one")
    for session in ("..", "."):
        with pytest.raises(BadQuery, match="can't be part of a url"):
            client.forget(session=session)
        with pytest.raises(BadQuery, match="can't be part of a url"):
            client.end(session)
    with pytest.raises(BadQuery, match="half a surrogate pair"):
        client.edit_unit("\ud800", 1, "x")
    assert [line.text for line in client.lines()] == ["Hello."]


# ------------------------------------------------------------------------ files

TALK = b"Ann: My sister Mia moved to Lisbon.\nNora: How exciting!\n"


def test_a_file_is_imported_once_and_told_of(client: Client) -> None:
    done = client.import_file(TALK, name="talk.txt", assistant=["Nora"], tz="Europe/Berlin")
    assert done == ImportResult(read=2, added=2, skipped={}, lines=2)
    assert client.import_file(TALK, name="talk.txt", assistant="Nora") == replace(done, added=0)
    assert [(line.speaker, line.role) for line in client.lines()] == [("Ann", "user"), ("Nora", "assistant")]
    assert client.sessions()[0].id.startswith("talk-")


@pytest.mark.parametrize("given", [{"name": "talk.jsonl"}, {"format": "jsonl"}])
def test_what_was_exported_is_imported_into_another_bank(url: str, client: Client, given: dict[str, str]) -> None:
    client.observe_many(LINES)
    rows = "".join(f"{row}\n" for row in client.export()).encode()
    with Client(url, "bob") as other:
        assert other.import_file(rows, **given).added == 4
        assert [line.text for line in other.lines()] == [text for _, text in SAID]
    assert client.import_file(rows, **given).added == 0


def test_files_are_taken_as_what_they_are_called(client: Client) -> None:
    messages = [{"role": "user", "content": "I keep bees."}, {"role": "assistant", "content": "How many?"}]
    assert client.import_file(json.dumps(messages).encode(), name="talk.JSON").added == 2


@pytest.mark.parametrize(
    ("content", "given", "kind", "told"),
    [
        (b'{"text": ""}', {"name": "talk.jsonl"}, BadFile, "talk.jsonl, line 1"),
        (
            b"{}",
            {"name": "talk.txt"},
            ConfigError,
            r"talk\.txt: this looks like JSON; name its format with format= \(jsonl, messages, ",
        ),
        (
            b'{"text": "a"}',
            {"name": "a.jsonl", "assistant": ["Nora"]},
            ConfigError,
            r"a\.jsonl: read as jsonl, which takes no 'assistant' .*; leave out assistant=",
        ),
        (TALK, {"tz": "Europe"}, ConfigError, "Europe"),
        (TALK, {"name": ""}, BadInput, "name"),
        (TALK, {"assistant": ["\ud800"]}, BadQuery, "assistant .* half a surrogate pair"),
        (TALK, {"tz": UTC}, BadQuery, "tz must be a str"),
        ("talk.txt", {}, BadInput, r"invalid file: got str, expected bytes; read them with Path\(...\).read_bytes"),
    ],
)
def test_a_file_that_cannot_be_imported_is_told(
    client: Client, content: Any, given: dict[str, Any], kind: type[Exception], told: str
) -> None:
    client.observe("Hello.")
    with pytest.raises(kind, match=told):
        client.import_file(content, **given)
    assert len(list(client.lines())) == 1


# -------------------------------------------------------------------- its character


def test_a_bank_has_a_character_of_its_own(client: Client) -> None:
    with pytest.raises(NotFound):
        client.set_character(Character("Nora"))
    client.observe("Hello.")
    assert client.character() == DEFAULT_CHARACTER
    nora = Character("Nora", "A sailor, 你好.", person="Ann", card={"data": {"tags": ["sea"], "n": [1, 2.5, None]}})
    client.set_character(nora)
    assert client.character() == nora


# ---------------------------------------------------------------------- replies


@contextmanager
def talking(store: SQLiteStore, *told: llm.Told) -> Iterator[Client]:
    with llm.llm_server(*told) as server:
        engine = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default())
        with serving(create_app(engine)) as url, Client(url, BANK) as client:
            yield client


def test_a_reply_comes_piece_by_piece_and_is_kept(store: SQLiteStore) -> None:
    with talking(store, llm.Reply("She lives in Lisbon.", usage=(50, 5))) as client:
        client.observe(
            "My sister Mia moved to Lisbon.", session="before", said_at=datetime.now(UTC) - timedelta(days=2)
        )
        reply = client.reply("Where does my sister Mia live?", sampling=Sampling(temperature=0.5))
        assert reply.user_line is not None
        assert "Lisbon" in reply.context.text
        pieces = list(reply)
        assert len(pieces) > 1
        assert "".join(pieces) == reply.text == "She lives in Lisbon."
        assert isinstance(reply.line, Line)
        assert list(client.lines())[-1] == reply.line
        assert reply.line.parent == reply.user_line.seq
        assert (reply.usage.prompt, reply.usage.completion, reply.partial, reply.refused) == (50, 5, False, False)
        assert list(reply) == []


def test_an_address_behind_which_there_is_nothing_is_told(store: SQLiteStore) -> None:
    app = create_app(Services(store, HashEmbedder(64), None, Default()))
    with serving(app) as url, Client(f"{url}/nope", bank="alice") as lost, pytest.raises(NotFound) as told:
        lost.stats()
    assert str(told.value).startswith("unknown address; the API is below /api/v1")


def test_a_reply_that_is_stopped_is_kept_as_far_as_it_came(store: SQLiteStore) -> None:
    with talking(store, llm.Stall("One two three")) as client:
        reply = client.reply("Count to a million.")
        assert next(reply).strip() == "One"
        reply.stop()
        assert reply.partial
        assert reply.line is not None
        assert list(client.lines())[-1].text == reply.line.text
        assert list(reply) == []
        reply.stop()


def test_a_reply_that_nobody_reads_is_kept_all_the_same(store: SQLiteStore) -> None:
    with talking(store, llm.Reply("Here I am.", delay=0.02)) as client:
        next(client.reply("Hello"))
        end = time.monotonic() + PATIENCE
        while list(client.lines())[-1].text != "Here I am.":
            assert time.monotonic() < end
            time.sleep(0.02)


def test_without_a_model_what_is_remembered_is_shown_and_not_kept(client: Client) -> None:
    client.observe("My sister Mia moved to Lisbon.", session="before", said_at=DAY)
    reply = client.reply("Where does my sister Mia live?")
    assert "Lisbon" in "".join(reply)
    assert reply.line is None


def test_a_model_that_fails_raises_as_it_does_here_and_what_was_said_is_kept(store: SQLiteStore) -> None:
    with talking(store, llm.Status(400)) as client:
        reply = client.reply("Hello")
        with pytest.raises(LLMRejected):
            list(reply)
        assert list(client.lines())[-1].text == "Hello"


def test_a_reply_to_nothing_is_refused_and_nothing_is_kept(store: SQLiteStore) -> None:
    with talking(store) as client:
        client.observe("Hello.")
        with pytest.raises(BadLine):
            client.reply("  ")
        assert len(list(client.lines())) == 1


# ------------------------------------------------------------------ a bad connection


@dataclass
class Bad:
    """A proxy that does what it is told to the first requests, and lets the others through."""

    url: str
    behind: str
    faults: list[str] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def bad(behind: str, *faults: str) -> Iterator[Bad]:
    """lose: the request is done, and the answer cut; refuse: 503; half: the answer breaks off in the middle; late: the
    answer comes after LATE seconds."""

    class Handler(Quiet):
        def do_any(self) -> None:
            fault = told.faults.pop(0) if told.faults else ""
            told.asked.append((self.command, self.headers.get("Idempotency-Key")))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if fault == "refuse":
                problem = {"type": "urn:everthread:busy", "title": "", "status": 503, "detail": "no place"}
                self.answer(503, json.dumps(problem).encode(), {"Retry-After": "0"})
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            answer = httpx.request(self.command, behind + self.path, content=body, headers=headers, timeout=PATIENCE)
            if fault == "late":
                time.sleep(LATE)
            if fault == "lose":
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                data = answer.content
                self.answer(answer.status_code, data[: len(data) // 2] if fault == "half" else data, size=len(data))
                if fault == "half":
                    self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = do_any

        def answer(self, status: int, data: bytes, more: dict[str, str] | None = None, size: int | None = None) -> None:
            self.send_response(status)
            kind = "application/problem+json" if status >= 400 else "application/json"
            headers = {"Content-Type": kind, "Content-Length": str(len(data) if size is None else size)}
            for name, value in {**headers, **(more or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    with answering(Handler) as url:
        told = Bad(url, behind, list(faults))
        yield told


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_DELAYS_S", (0.01, 0.01, 0.01))


@pytest.mark.parametrize("fault", ["lose", "half", "refuse"])
def test_a_write_whose_answer_was_lost_is_done_once(url: str, quick: None, fault: str) -> None:
    with bad(url, fault, fault) as between, Client(between.url, BANK) as client:
        line = client.observe("Hello.")
        assert (line.seq, line.text) == (1, "Hello.")
        assert [each.text for each in client.lines()] == ["Hello."]
        names = [name for method, name in between.asked if method == "POST"]
        assert len(names) == 3
        assert len(set(names)) == 1


@pytest.mark.parametrize("fault", ["lose", "half", "refuse"])
def test_a_file_whose_answer_was_lost_is_imported_once(url: str, quick: None, fault: str) -> None:
    with bad(url, fault, fault) as between, Client(between.url, BANK) as client:
        assert client.import_file(TALK, name="talk.txt").added == 2
    assert len(between.asked) == 3


def test_the_answer_to_a_file_is_waited_for_longer(url: str, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_TIMEOUT_S", LATE / 2)
    with bad(url, "late", "late") as between, Client(between.url, BANK) as client:
        assert client.import_file(TALK, name="talk.txt").added == 2
        assert len(between.asked) == 1
        assert client.stats().lines == 2
        assert len(between.asked) > 2


def test_forgetting_whose_answer_was_lost_gives_the_receipt(url: str, quick: None) -> None:
    with Client(url, BANK) as client:
        client.observe_many(LINES)
    with bad(url, "lose") as between, Client(between.url, BANK) as client:
        assert client.forget(everything=True).lines == 4


def test_a_reply_whose_line_breaks_is_taken_up_again(store: SQLiteStore, quick: None) -> None:
    said = "She lives in Lisbon, by the river, and keeps a dog."
    with (
        talking(store, said, "Never.") as behind,
        bad(behind._connection.url, "half") as between,
        Client(between.url, BANK) as client,
    ):
        reply = client.reply("Where does Mia live?")
        assert "".join(reply) == said
        assert reply.line is not None
        assert [line.text for line in client.lines() if line.role == "assistant"][1:] == [said]  # behind the greeting


def test_a_server_that_never_has_room_is_told(url: str, quick: None) -> None:
    with bad(url, *["refuse"] * 9) as between, Client(between.url) as client:
        with pytest.raises(StoreUnavailable, match="no place"):
            client.observe("Hello.")
        assert len(between.asked) == 4


def test_a_server_that_only_hangs_up_is_told(url: str, quick: None) -> None:
    with bad(url, *["lose"] * 9) as between, Client(between.url) as client, pytest.raises(StoreUnavailable):
        client.stats()


def test_where_no_server_is_the_remedy_is_told() -> None:
    remedy = r"no server answers at .*start one with `everthread serve`"
    with (
        llm.closed_port() as port,
        Client(f"http://127.0.0.1:{port}") as client,
        pytest.raises(StoreUnavailable, match=remedy),
    ):
        client.stats()


def test_a_server_of_somebody_else_is_told() -> None:
    told = "is not an Everthread server"
    with llm.llm_server() as server, Client(server.host) as client, pytest.raises(ConfigError, match=told):
        client.stats()


# --------------------------------------------------------------------------- keys


def test_with_a_key_it_has_what_the_key_is_for_and_nothing_else(store: SQLiteStore) -> None:
    with closing(KeyStore(server_db.get_path(store))) as keys:
        secret = keys.create("alice's", [BANK], ["read", "write"])
    engine = Services(store, HashEmbedder(64), None, Default())
    with serving(create_app(engine, Settings(key_required=True))) as url:
        with Client(url, BANK, secret) as client:
            client.observe("Hello.")
            assert client.banks() == [BANK]
            with pytest.raises(ConfigError, match="this key does not permit the request"):
                client.forget(everything=True)
        with (
            Client(url, "bob", secret) as client,
            pytest.raises(ConfigError, match="this key does not permit the request"),
        ):
            client.stats()
        with Client(url, BANK) as client, pytest.raises(ConfigError, match="a key is required"):
            client.stats()
        with Client(url, BANK, "et_wrong") as client, pytest.raises(ConfigError, match="the key is unknown"):
            client.stats()


# --------------------------------------------------------------------- bad input


def test_what_is_no_address_no_bank_and_no_key_is_told() -> None:
    with pytest.raises(ConfigError, match="invalid url: got 'localhost:7391', expected that of a server"):
        Client("localhost:7391")
    with pytest.raises(BadBankId):
        Client(bank=" ")
    with pytest.raises(ConfigError, match="invalid API key"):
        Client(key="et_ü")


def test_a_bank_that_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="there is no bank"):
        client.stats()


@pytest.mark.parametrize(("name", "value"), [("character", {}), ("remember", "sometimes"), ("remember", 1)])
def test_only_whether_it_remembers_is_set_here(client: Client, name: str, value: Any) -> None:
    with pytest.raises(BadQuery, match="remember can, to always, ask, never"):
        client.set_setting(name, value)


def test_lists_know_no_metadata_and_retracted_lines_are_not_sent(client: Client) -> None:
    with pytest.raises(BadQuery, match="kind, category and metadata are for recall"):
        client.lines(Filter(metadata={"n": 1}))
    with pytest.raises(BadLine, match="store it, then retract it"):
        client.observe_many([NewLine("x", retracted_at=DAY)])


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (401, "unauthorized", ConfigError),
        (403, "forbidden", ConfigError),
        (409, "replying", BadQuery),
        (422, "bad-line", BadLine),
        (422, "invalid-request", BadInput),
        (429, "too-many-requests", StoreUnavailable),
        (502, "llm-rejected", LLMRejected),
        (404, "not-found", NotFound),
    ],
)
def test_problems_are_our_own_errors(status: int, name: str, kind: type[Exception]) -> None:
    error = connection.build_error(status, {"type": f"urn:everthread:{name}", "detail": "what is wrong"}, "http://x")
    assert type(error) is kind
    assert str(error) == "what is wrong"


def test_what_was_said_holds_what_unicode_takes_for_the_end_of_a_line(store: SQLiteStore) -> None:
    said, told = "One\u2028two\u0085three.", "Four\u2029five."
    with talking(store, llm.Reply([told])) as client:
        reply = client.reply(said)
        assert "".join(reply) == told
        assert [json.loads(row)["text"] for row in client.export()][-2:] == [said, told]


def test_the_recipe_of_a_bank_and_its_options_are_read_and_set(client: Client) -> None:
    client.observe("My sister Mia moved to Lisbon.")
    assert "packabby" in [each["name"] for each in client.recipes()]
    told = client.set_recipe("packabby", {"threshold": 0.3, "max_hits": 2})
    assert (told["name"], client.recipe(), client.stats().recipe) == ("packabby", told, "packabby")
    changed = {each["name"]: each["value"] for each in client.set_options({"threshold": None})["options"]}
    assert (changed["threshold"], changed["max_hits"]) == (None, 2)
    with pytest.raises(BadInput, match="max_hits must be a whole number from 1 to 1000, got 0"):
        client.set_options({"max_hits": 0})
    with pytest.raises(ConfigError, match="recipe 'elephant' is unknown"):
        client.set_recipe("elephant")
    assert not client.set_recipe()["kept"]


def test_the_scribe_of_a_bank_is_set_to_a_model_that_the_server_has(client: Client) -> None:
    client.observe("My sister Mia moved to Lisbon.")
    client.set_setting("scribe", "none")
    assert client.settings()["scribe"] == "none"
    with pytest.raises(ConfigError, match="'huge'"):
        client.set_setting("scribe", "huge")
    client.set_setting("scribe", None)
    assert "scribe" not in client.settings()
