"""The client with a real server. It returns the same results as `Memory`."""

from __future__ import annotations

import inspect
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hardship import PATIENCE, llm, web
from hardship.loopback import Quiet, serve_app, serve_handler
from transfer.services.chatgpt_export import START, conversation, node, save_zip

from everthread import (
    AmbiguousDate,
    AnyOf,
    BadBankId,
    BadFile,
    BadInput,
    BadLine,
    BadQuery,
    Character,
    Client,
    Comparison,
    ConfigError,
    EverthreadError,
    FileConversation,
    FileSpeaker,
    Filter,
    ImportResult,
    Line,
    LLMRejected,
    Memory,
    NewLine,
    NewUnit,
    Not,
    NotFound,
    Sampling,
    StoreUnavailable,
)
from everthread.chat.character import DEFAULT_CHARACTER
from everthread.client import connection, decode
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

LATE_S = 2.0  # delay of a late response
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
    opened = SQLiteStore(tmp_path / "served")
    yield opened
    opened.close()


@pytest.fixture
def url(store: SQLiteStore) -> Iterator[str]:
    with serve_app(create_app(Services(store, HashEmbedder(64), None, Default()))) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, BANK) as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Memory]:
    """Open a memory in this process, in another folder."""
    with Memory.open(BANK, store=tmp_path / "local", embedder=HashEmbedder(64)) as memory:
        yield memory


# ------------------------------------------------------------- comparison with Memory

CLIENT_ONLY = {"reply", "end", "banks", "export", "import_file", "preview_import", "character", "set_character"}
CLIENT_ONLY |= {"recipes", "recipe", "set_recipe", "set_options"}


def public_methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_client_methods_have_the_signatures_of_memory() -> None:
    for name in public_methods(Client) - CLIENT_ONLY:
        method = getattr(Client, name)
        memory_parameters = inspect.signature(getattr(Memory, name)).parameters
        for parameter in inspect.signature(method).parameters.values():
            expected = memory_parameters[parameter.name]
            assert (parameter.kind, parameter.default) == (expected.kind, expected.default), f"{name}({parameter.name})"


def test_client_lacks_only_methods_that_need_a_local_store() -> None:
    local_only = {"add_unit", "dequeue", "enqueue", "jobs", "open", "reindex", "replace_lines", "save_recipe"}
    local_only |= {"read_facts", "read_known"}
    assert public_methods(Memory) - public_methods(Client) == local_only
    docs = Path("docs/server.md").read_text("utf-8")
    assert {name for name in local_only if f"`{name}`" not in docs} == set()


def test_before_the_first_line_whatever_reads_a_bank_says_that_it_does_not_exist(client: Client) -> None:
    reads: list[Callable[[], object]] = [
        lambda: client.context("Where does Mia live?"),
        lambda: client.recall("Where does Mia live?"),
        lambda: list(client.lines()),
        client.stats,
    ]
    for read in reads:
        with pytest.raises(NotFound):
            read()
    client.observe("Mia lives in Lisbon.")
    assert client.context("Where does Mia live?")


Results = dict[str, Any]


def scenario(bank: Any) -> Results:
    """Return the results of a bank's methods over its whole life."""
    results: Results = {"stored": bank.observe_many(LINES)}
    results["again"] = bank.observe_many(LINES[:2])
    results["one"] = bank.observe(
        "Mia has a dog.", speaker="Alice", said_at=DAY + timedelta(hours=5), session="session 1", key="k9"
    )
    undated = bank.observe("Mia had a bird.", session="session 1", undated=True)
    results["undated"] = replace(undated, said_at=DAY, key=None)
    bank.forget(seq=undated.seq)
    results["lines"] = list(bank.lines())
    results["after"] = list(bank.lines(after=2, limit=2))
    results["none"] = list(bank.lines(limit=0))
    results["alices"] = list(bank.lines(Filter(speaker="Alice", since=DAY + timedelta(minutes=1))))
    results["found"] = [list(bank.search("mia", limit=2)), list(bank.search("a", Filter(speaker="Alice"), before=4))]
    results["sessions"] = bank.sessions()
    results["titled"] = bank.set_session("session 1", title="Mia", metadata={"n": [1, {"ü": None}]})
    results["sessions with a title"] = bank.sessions()
    results["recall"] = bank.recall("Where does Mia live?", 3, as_of=DAY + timedelta(days=2))
    results["filtered"] = bank.recall("Mia", where=Filter(session=("session 1",), metadata={"n": 2}), exclude={1})
    results["context"] = bank.context("Where does my sister Mia live?", 200, as_of=DAY + timedelta(days=2), gate=False)
    results["in time"] = bank.context("Where does my sister Mia live?", 200, gate=False, deadline_s=60)
    results["too late"] = bank.context("Where does my sister Mia live?", 200, gate=False, deadline_s=0)
    results["nothing"] = bank.context("", 50)
    results["corrected"] = replace(bank.correct(5, "Mia has a cat."), metadata={}, key=None)
    results["retracted"] = replace(bank.retract(4), retracted_at=None)
    results["all"] = [
        replace(line, retracted_at=None, metadata={}, key=None) for line in bank.lines(include_retracted=True)
    ]
    said = {"speaker": "Alice", "said_at": DAY + timedelta(hours=6), "session": "session 1", "key": "k2"}
    results["replaced"] = [
        bank.observe(text, **said, replace=True) for text in ("I keep two bees.", *["I keep one."] * 2)
    ]
    again = NewLine("I keep three.", "Alice", said_at=DAY + timedelta(hours=6), session="session 1", key="k2")
    results["all replaced"] = bank.observe_many([again], replace=True)
    recorded = {
        "everthread.recalled": {"tokens": 9, "hits": [{"seq": 1, "passage": [1, 2], "signals": {"cosine": 0.5}}]}
    }
    reply = bank.observe("In Lisbon.", role="assistant", session="session 1", key="reply", metadata=recorded)
    results["evidence"] = bank.evidence(reply.seq)
    bank.forget(seq=reply.seq)
    results["restored"] = [bank.restore(bank.get(key="k2").seq), bank.retract(7).seq, bank.restore(7), bank.restore(7)]
    results["got"] = [bank.get(1), bank.get(4), bank.get(99), bank.get(0), bank.get(key="k2"), bank.get(key="unknown")]
    bank.set_setting("remember", "always")
    results["settings"] = bank.settings()
    results["forgot"] = [
        replace(bank.forget(seq=2), forgotten_at=DAY),
        replace(bank.forget(session="session 1"), forgotten_at=DAY),
    ]
    results["stats"] = replace(bank.stats(), bytes=0)
    results["forgot everything"] = replace(bank.forget(everything=True), forgotten_at=DAY)
    return results


def test_client_and_memory_return_the_same_results(client: Client, local: Memory) -> None:
    client_results, memory_results = scenario(client), scenario(local)
    for name, result in memory_results.items():
        assert client_results[name] == result, name


def invalid_calls(bank: Any) -> Iterator[Callable[[], object]]:
    """Yield calls with invalid arguments."""
    yield lambda: bank.observe(" ")
    yield lambda: bank.observe("x", said_at=datetime(2024, 1, 1))
    yield lambda: bank.observe("x", role="bystander")
    yield lambda: bank.observe("x", parent=99)
    yield lambda: bank.observe("x", metadata={"n": object()})
    yield lambda: bank.observe("x", metadata={"n": float("nan")})
    yield lambda: bank.observe("x", metadata="abc")
    yield lambda: bank.observe(b"x")
    yield lambda: bank.recall("x", where=Filter(metadata={"n": object()}))  # type: ignore[dict-item]
    yield lambda: bank.recall("x", where=Filter(since="2024"))  # type: ignore[arg-type]
    yield lambda: bank.observe_many([NewLine("fine"), "not a line"])
    yield lambda: bank.observe("x", replace=True)
    yield lambda: bank.observe(" ", key="k", replace=True)
    yield lambda: bank.observe_many([NewLine("x", key="k"), NewLine("y")], replace=True)
    yield lambda: bank.get()
    yield lambda: bank.get(1, key="k")
    yield lambda: bank.get("1")
    yield lambda: bank.get(key=" " * 201)
    yield lambda: bank.recall("x", 0)
    yield lambda: bank.recall("x", banks=["nobody's"])
    yield lambda: bank.context("x", -1)
    yield lambda: bank.context("x", min_relevance=2.0)
    yield lambda: bank.context("x", deadline_s=-1)
    yield lambda: bank.context("x", deadline_s=float("nan"))
    yield lambda: bank.lines(limit=-1)
    yield lambda: bank.lines(after="1")
    yield lambda: bank.retract(99)
    yield lambda: bank.retract("1")
    yield lambda: bank.restore(99)
    yield lambda: bank.evidence(99)
    yield lambda: bank.evidence("1")
    yield lambda: bank.restore("1")
    yield lambda: bank.correct(99, "x")
    yield lambda: bank.correct(1, " ")
    yield lambda: bank.forget()
    yield lambda: bank.forget(seq=1, everything=True)
    yield lambda: bank.forget(session="nobody's")
    yield lambda: bank.set_session("nobody's", title="x")
    yield lambda: bank.set_session(3, title="x")
    yield lambda: bank.set_session("session 1", title="x" * 1001)
    yield lambda: bank.set_session("session 1", metadata={"n": float("nan")})
    yield lambda: bank.edit_unit("note", 9, "x")
    yield lambda: bank.forget_unit("note", 9)
    yield lambda: bank.set_notes(" ")
    yield lambda: bank.set_notes(9)
    yield lambda: bank.facts(attribute="shoe size")
    yield lambda: bank.facts(as_of=datetime(2024, 1, 1))
    yield lambda: bank.profile("nobody")
    yield lambda: bank.get_fact(99)
    yield lambda: bank.confirm_fact(99)
    yield lambda: bank.correct_fact(99, "x")
    yield lambda: bank.end_fact(99, "2024")
    yield lambda: bank.resume_fact(99)
    yield lambda: bank.list_fact_lines(99)
    yield lambda: bank.forget_fact(99)
    yield lambda: bank.merge_entities("nobody", "no one")
    yield lambda: bank.split_entity("nobody", [1])


def test_client_and_memory_reject_the_same_arguments(client: Client, local: Memory) -> None:
    for bank in (client, local):
        bank.observe("Hello.")
    for call_client, call_memory in zip(invalid_calls(client), invalid_calls(local), strict=True):
        with pytest.raises(EverthreadError) as error:
            call_memory()
        with pytest.raises((type(error.value), BadInput)):
            call_client()
    assert [line.text for line in client.lines()] == ["Hello."]


def test_client_and_memory_return_and_change_the_same_facts(client: Client, store: SQLiteStore) -> None:
    client.observe_many(LINES)
    memory = Memory(BANK, store, HashEmbedder(64), Default())
    home = next(fact for fact in client.facts() if fact.attribute == "home")
    assert (home.subject, home.value, home.seqs) == ("Mia", "Lisbon", (1,))
    assert client.facts() == memory.facts() != []
    assert client.entities() == memory.entities()
    assert client.profile("Alice's sister") == memory.profile("Mia")
    assert client.correct_fact(home.id, "Porto") == memory.get_fact(home.id)
    assert client.confirm_fact(home.id).is_confirmed
    assert client.end_fact(home.id, "2024-09").until_stated == "2024-09"
    assert client.resume_fact(home.id).holds
    assert client.end_fact(home.id, "2024-09").until_stated == "2024-09"
    assert client.facts(as_of=DAY) == memory.facts(as_of=DAY)
    assert client.facts("Mia", "home", include_ended=True) == memory.facts("Mia", "home", include_ended=True)
    apart = client.split_entity("Mia", home.statements)
    assert client.merge_entities("Alice's sister", apart.name).name == "Mia"
    assert client.get_fact(client.facts()[0].id) == memory.facts()[0]
    assert client.list_fact_lines(home.id) == memory.list_fact_lines(home.id) == [1]
    assert client.forget_fact(home.id, with_lines=True) == [1]
    assert memory.get(1) is None


def test_client_and_memory_return_the_same_units(client: Client, store: SQLiteStore) -> None:
    client.observe_many(LINES)
    memory = Memory(BANK, store, HashEmbedder(64), Default())
    memory.add_unit(NewUnit("fact", "Mia lives in Lisbon.", 1, 1, DAY, 5.0, "family", {"by": "hand"}))
    edited = client.edit_unit("fact", 1, "Mia lives in Porto.")
    assert edited == memory.units("fact")[1]
    assert client.units() == memory.units()
    assert client.units("fact", only_current=True) == [edited]
    assert (client.units(category="family"), client.units(category="food")) == (memory.units("fact"), [])
    family = Filter(kind="fact", category="family")
    assert [hit.text for hit in client.recall("Where is Mia?", where=family)] == ["Mia lives in Porto."]
    assert client.recall("Where is Mia?", where=Filter(kind="fact", category="food")) == []
    context = memory.context("Where is Mia?", where=family, gate=False)
    assert client.context("Where is Mia?", where=family, gate=False) == context
    assert client.set_notes("She likes bees.") == memory.units("note")[0]
    assert client.forget_unit("fact", edited.id) == [2, 1]
    assert client.units("fact") == []


def test_long_lists_are_fetched_page_by_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everthread.client.connection.PAGE_ITEMS", 7)
    monkeypatch.setattr("everthread.client.client.BATCH_LINES", 10)
    progress: list[int] = []
    client.observe_many([NewLine(f"Line {n}", session=f"s{n % 20}") for n in range(40)], progress.append)
    assert progress == [10, 20, 30, 40]
    assert [line.seq for line in client.lines()] == list(range(1, 41))
    assert [line.seq for line in client.lines(after=30, limit=9)] == list(range(31, 40))
    assert [session.id for session in client.sessions()] == [f"s{n}" for n in range(20)]


def test_other_banks_are_listed_and_recalled_and_lines_are_exported(url: str, client: Client) -> None:
    client.observe_many(LINES)
    with Client(url, "bob") as other:
        other.observe("Hello.")
        assert other.banks() == [BANK, "bob"]
        assert [hit.bank for hit in other.recall("Where did Mia move?", 1, banks=[BANK, "bob"])] == [BANK]
        context = other.context("Where did Mia move?", banks=[BANK, "bob"], gate=False, min_relevance=0.0)
        assert [(part.bank, part.hits[0].bank) for part in context.others] == [(BANK, BANK)]
        assert context.lines[0].text == "Hello."
    head, *rows = [json.loads(row) for row in client.export()]
    assert (head["bank"], [row["text"] for row in rows]) == (BANK, [text for _, text in SAID])
    messages = json.loads("\n".join(client.export("openai", session="session 0")))
    assert [message["content"] for message in messages] == [line.text for line in LINES if line.session == "session 0"]
    with pytest.raises(BadQuery, match="unknown format 'pdf' of an export"):
        list(client.export("pdf"))


def test_a_conversation_is_remembered_or_forgotten_as_the_user_answers(client: Client) -> None:
    client.observe_many(LINES)
    pending = client.end("session 1")
    assert (pending.remembered, pending.question) == (None, "Shall I remember this conversation?")
    assert client.end("session 1", remember=True).remembered
    receipt = client.end("session 0", remember=False).receipt
    assert receipt is not None
    assert receipt.lines == 2


def test_a_goodbye_is_answered_with_the_question_and_a_confirmed_no_with_a_receipt(client: Client) -> None:
    "".join(client.reply("I planted ferns.", recipe="packabby"))
    goodbye = client.reply("bye", recipe="packabby")
    assert "".join(goodbye) == "Goodbye! Shall I remember this conversation?"
    assert goodbye.ending is not None
    assert (goodbye.ending.remembered, goodbye.ending.question) == (None, "Shall I remember this conversation?")
    assert goodbye.user_line is not None
    no = client.reply("no", recipe="packabby")
    assert "".join(no).startswith("Shall I forget this whole conversation, for good?")
    assert no.ending is not None
    assert no.ending.remembered is None
    refusal = client.reply("yes", recipe="packabby")
    assert "".join(refusal) == "It is forgotten."
    assert refusal.ending is not None
    assert refusal.ending.receipt is not None
    assert refusal.ending.session == goodbye.user_line.session
    assert list(client.lines()) == []


def test_the_id_of_a_bank_in_place_of_a_list_is_rejected(client: Client) -> None:
    client.observe("Hello.")
    for search in (client.recall, client.context, client.reply):
        with pytest.raises(BadQuery, match=f"banks must be a list of banks' ids, got '{client.bank}'"):
            search("Hello?", banks=client.bank)


def test_a_name_that_is_a_relative_path_is_rejected(client: Client) -> None:
    client.observe("Hello.", session="one")
    for session in ("..", "."):
        with pytest.raises(BadQuery, match="can't be part of a URL"):
            client.forget(session=session)
        with pytest.raises(BadQuery, match="can't be part of a URL"):
            client.end(session)
    with pytest.raises(BadQuery, match="half a surrogate pair"):
        client.edit_unit("\ud800", 1, "x")
    assert [line.text for line in client.lines()] == ["Hello."]


# ------------------------------------------------------------------------ files

TALK = b"Ann: My sister Mia moved to Lisbon.\nNora: How exciting!\n"


def test_a_file_is_imported_once_and_its_counts_are_returned(client: Client) -> None:
    result = client.import_file(TALK, name="talk.txt", assistant=["Nora"], tz="Europe/Berlin")
    assert result == ImportResult(read=2, added=2, skipped={}, lines=2, seqs=(1, 2))
    assert client.import_file(TALK, name="talk.txt", assistant="Nora") == replace(result, added=0, seqs=())
    assert [(line.speaker, line.role) for line in client.lines()] == [("Ann", "user"), ("Nora", "assistant")]
    assert client.sessions()[0].id.startswith("talk-")


def test_a_text_in_another_encoding_is_imported_with_its_name(client: Client) -> None:
    content = "Аня: Привет!\n".encode("cp1251")
    with pytest.raises(BadFile, match=r"may be cp1251 \(Аня: Привет!\)"):
        client.import_file(content, name="chat.txt")
    assert client.import_file(content, name="chat.txt", encoding="cp1251").added == 1
    assert [line.text for line in client.lines()] == ["Привет!"]


def test_an_empty_file_is_refused_as_such(client: Client) -> None:
    with pytest.raises(BadFile, match="the file is empty"):
        client.import_file(b"")


def test_an_export_of_a_service_is_listed_and_then_imported(client: Client, tmp_path: Path) -> None:
    talks = [conversation(name, [node("a", None), node("b", "a", "assistant")], "b") for name in ("cats", "dogs")]
    file = save_zip(tmp_path / "export.zip", {"conversations-000.json": [*talks, None]}).read_bytes()
    contents = client.preview_import(file, name="export.zip", me="Nora", only="Cats")
    at = datetime.fromtimestamp(START, UTC)
    assert contents.conversations == (FileConversation("cats", "Cats", 2, at, at, "a"),)
    assert contents.speakers == (FileSpeaker("Nora", "user", 1), FileSpeaker("ChatGPT", "assistant", 1))
    assert (contents.services, contents.me, contents.assistant) == (("ChatGPT",), "Nora", "ChatGPT")
    assert client.banks() == []
    result = client.import_file(file, name="export.zip", me="Nora", only=["Cats"])
    assert (result.added, list(result.broken)) == (2, ["conversation 3 of conversations-000.json"])
    assert client.sessions()[0].title == "Cats"
    with pytest.raises(ConfigError, match=r"no conversation is called 'Hens'"):
        client.preview_import(file, name="export.zip", only="Hens")


def test_dates_that_can_be_read_in_two_ways_are_returned(client: Client) -> None:
    chat = b"04/05/24, 10:00 - Ann: Good morning!\n"
    noted = AmbiguousDate("04/05/24", "dmy", date(2024, 5, 4), "mdy", date(2024, 4, 5))
    assert client.preview_import(chat, name="chat.txt").ambiguous_dates == {"chat": noted}
    assert client.import_file(chat, name="chat.txt").ambiguous_dates == {"chat": noted}
    contents = client.preview_import(chat, name="chat.txt", date_order="mdy")
    assert (contents.ambiguous_dates, contents.first_at) == ({}, datetime(2024, 4, 5, 10, tzinfo=UTC))


@pytest.mark.parametrize("options", [{"name": "talk.jsonl"}, {"format": "jsonl"}])
def test_exported_lines_are_imported_into_another_bank(url: str, client: Client, options: dict[str, Any]) -> None:
    client.observe_many(LINES)
    rows = "".join(f"{row}\n" for row in client.export()).encode()
    with Client(url, "bob") as other:
        assert other.import_file(rows, **options).added == 4
        assert [line.text for line in other.lines()] == [text for _, text in SAID]
    assert client.import_file(rows, **options).added == 0


def test_the_format_of_a_file_is_found_by_its_name(client: Client) -> None:
    messages = [{"role": "user", "content": "I keep bees."}, {"role": "assistant", "content": "How many?"}]
    assert client.import_file(json.dumps(messages).encode(), name="talk.JSON").added == 2


@pytest.mark.parametrize(
    ("content", "options", "kind", "message"),
    [
        (b'{"text": ""}', {"name": "talk.jsonl"}, BadFile, "talk.jsonl, line 1"),
        (
            b"{}",
            {"name": "talk.txt"},
            ConfigError,
            r"talk\.txt: this looks like JSON; give its format with format= \(jsonl, messages, ",
        ),
        (
            b'{"text": "a"}',
            {"name": "a.jsonl", "assistant": ["Nora"]},
            ConfigError,
            r"a\.jsonl: format jsonl has no option 'assistant' .*; leave out assistant=",
        ),
        (TALK, {"tz": "Europe"}, ConfigError, "Europe"),
        (TALK, {"name": ""}, BadInput, "name"),
        (TALK, {"assistant": ["\ud800"]}, BadQuery, "assistant .* half a surrogate pair"),
        (TALK, {"tz": UTC}, BadQuery, "tz must be a str"),
        ("talk.txt", {}, BadInput, r"invalid file: got str, expected bytes; read them with Path\(...\).read_bytes"),
    ],
)
def test_an_invalid_file_is_rejected_and_nothing_is_imported(
    client: Client, content: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    client.observe("Hello.")
    with pytest.raises(kind, match=message):
        client.import_file(content, **options)
    assert len(list(client.lines())) == 1


def test_an_unknown_option_of_an_import_is_rejected(client: Client) -> None:
    options: dict[str, Any] = {"assistants": ["Nora"]}
    with pytest.raises(TypeError, match="'assistants', expected one of format, assistant, "):
        client.import_file(TALK, **options)


# -------------------------------------------------------------------- the character


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
def open_client(store: SQLiteStore, *behaviours: llm.ServerBehaviour) -> Iterator[Client]:
    """Open a client of a server whose language model behaves as scripted."""
    with llm.llm_server(*behaviours) as server:
        services = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default())
        with serve_app(create_app(services)) as url, Client(url, BANK) as client:
            yield client


def test_a_reply_is_streamed_and_saved(store: SQLiteStore) -> None:
    with open_client(store, llm.Reply("She lives in Lisbon.", usage=(50, 5))) as client:
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


def test_a_url_with_a_wrong_path_is_reported(store: SQLiteStore) -> None:
    app = create_app(Services(store, HashEmbedder(64), None, Default()))
    with serve_app(app) as url, Client(f"{url}/nope", bank="alice") as client, pytest.raises(NotFound) as raised:
        client.stats()
    assert str(raised.value).startswith("unknown address; the API is below /api/v1")


def test_a_stopped_reply_is_saved_as_far_as_it_arrived(store: SQLiteStore) -> None:
    with open_client(store, llm.Stall("One two three")) as client:
        reply = client.reply("Count to a million.")
        assert next(reply).strip() == "One"
        reply.stop()
        assert reply.partial
        assert reply.line is not None
        assert list(client.lines())[-1].text == reply.line.text
        assert list(reply) == []
        reply.stop()


def test_an_unread_reply_is_saved_by_the_server(store: SQLiteStore) -> None:
    with open_client(store, llm.Reply("Here I am.", delay=0.02)) as client:
        next(client.reply("Hello"))
        end = time.monotonic() + PATIENCE
        while list(client.lines())[-1].text != "Here I am.":
            assert time.monotonic() < end
            time.sleep(0.02)


def test_without_a_model_memories_are_shown_and_not_saved(client: Client) -> None:
    client.observe("My sister Mia moved to Lisbon.", session="before", said_at=DAY)
    reply = client.reply("Where does my sister Mia live?")
    assert "Lisbon" in "".join(reply)
    assert reply.line is None


def test_a_failing_model_raises_its_error_and_the_users_line_is_saved(store: SQLiteStore) -> None:
    with open_client(store, llm.Status(400)) as client:
        reply = client.reply("Hello")
        with pytest.raises(LLMRejected):
            list(reply)
        assert list(client.lines())[-1].text == "Hello"


def test_a_blank_line_is_rejected_and_not_saved(store: SQLiteStore) -> None:
    with open_client(store) as client:
        client.observe("Hello.")
        with pytest.raises(BadLine):
            client.reply("  ")
        assert len(list(client.lines())) == 1


# ------------------------------------------------------------------ a bad connection


@dataclass
class FaultyProxy:
    """A proxy that injects faults into the first requests and forwards the others."""

    url: str
    target: str
    faults: list[str] = field(default_factory=list)
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # methods and idempotency keys


@contextmanager
def faulty_proxy(target: str, *faults: str) -> Iterator[FaultyProxy]:
    """Run a proxy with these faults.

    Args:
        target: the URL of the server.
        *faults: of the first requests: "lose" forwards the request and drops the response, "refuse" responds with 503,
            "half" cuts the response in the middle, "late" delays the response by LATE_S.
    """

    class Handler(Quiet):
        def do_any(self) -> None:
            fault = proxy.faults.pop(0) if proxy.faults else ""
            proxy.requests.append((self.command, self.headers.get("Idempotency-Key")))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if fault == "refuse":
                problem = {"type": "urn:everthread:busy", "title": "", "status": 503, "detail": "server busy"}
                self.answer(503, json.dumps(problem).encode(), {"Retry-After": "0"})
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            answer = web.request(self.command, target + self.path, content=body, headers=headers)
            if fault == "late":
                time.sleep(LATE_S)
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

    with serve_handler(Handler) as url:
        proxy = FaultyProxy(url, target, list(faults))
        yield proxy


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_DELAYS_S", (0.01, 0.01, 0.01))


@pytest.mark.parametrize("fault", ["lose", "half", "refuse"])
def test_a_write_is_performed_once_if_its_response_is_lost(url: str, quick: None, fault: str) -> None:
    with faulty_proxy(url, fault, fault) as proxy, Client(proxy.url, BANK) as client:
        line = client.observe("Hello.")
        assert (line.seq, line.text) == (1, "Hello.")
        assert [line.text for line in client.lines()] == ["Hello."]
        keys = [key for method, key in proxy.requests if method == "POST"]
        assert len(keys) == 3
        assert len(set(keys)) == 1


@pytest.mark.parametrize("fault", ["lose", "half", "refuse"])
def test_a_file_is_imported_once_if_the_response_is_lost(url: str, quick: None, fault: str) -> None:
    with faulty_proxy(url, fault, fault) as proxy, Client(proxy.url, BANK) as client:
        assert client.import_file(TALK, name="talk.txt").added == 2
    assert len(proxy.requests) == 3


def test_an_import_has_a_longer_timeout(url: str, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_TIMEOUT_S", LATE_S / 2)
    with faulty_proxy(url, "late", "late") as proxy, Client(proxy.url, BANK) as client:
        assert client.import_file(TALK, name="talk.txt").added == 2
        assert len(proxy.requests) == 1
        assert client.stats().lines == 2
        assert len(proxy.requests) > 2


def test_an_import_is_undone_by_forgetting_its_lines(client: Client) -> None:
    client.observe("I have a kite.")
    added = client.import_file(TALK, name="talk.txt")
    assert added.seqs == (2, 3)
    receipt = client.forget(seq=added.seqs)
    assert (receipt.lines, receipt.seqs) == (2, ((2, 3),))
    assert [line.text for line in client.lines()] == ["I have a kite."]
    with pytest.raises(NotFound):
        client.forget(seq=[])


def test_all_lines_of_a_speaker_are_forgotten_once_if_the_response_is_lost(url: str, quick: None) -> None:
    with Client(url, BANK) as client:
        client.observe_many(LINES)
        with faulty_proxy(url, "lose") as proxy, Client(proxy.url, BANK) as lossy:
            receipt = lossy.forget(speaker="Nemo")
        assert (receipt.scope, receipt.lines, receipt.seqs) == ("speaker", 2, ((2, 2), (4, 4)))
        assert {line.speaker for line in client.lines()} == {"Alice"}
        with pytest.raises(NotFound, match="no speaker 'Nemo'"):
            client.forget(speaker="Nemo")
        with pytest.raises(BadQuery, match="exactly one of"):
            client.forget(speaker="Alice", session="session 0")


def test_forgetting_returns_the_receipt_if_the_first_response_is_lost(url: str, quick: None) -> None:
    with Client(url, BANK) as client:
        client.observe_many(LINES)
    with faulty_proxy(url, "lose") as proxy, Client(proxy.url, BANK) as client:
        assert client.forget(everything=True).lines == 4


def test_a_reply_continues_after_its_connection_breaks(store: SQLiteStore, quick: None) -> None:
    text = "She lives in Lisbon, by the river, and keeps a dog."
    with (
        open_client(store, text, "Never.") as target,
        faulty_proxy(target._connection.url, "half") as proxy,
        Client(proxy.url, BANK) as client,
    ):
        reply = client.reply("Where does Mia live?")
        assert "".join(reply) == text
        assert reply.line is not None
        assert [line.text for line in client.lines() if line.role == "assistant"][1:] == [text]  # after the greeting


def test_a_server_that_stays_busy_is_reported(url: str, quick: None) -> None:
    with faulty_proxy(url, *["refuse"] * 9) as proxy, Client(proxy.url) as client:
        with pytest.raises(StoreUnavailable, match="server busy"):
            client.observe("Hello.")
        assert len(proxy.requests) == 4


def test_a_server_that_closes_every_connection_is_reported(url: str, quick: None) -> None:
    with faulty_proxy(url, *["lose"] * 9) as proxy, Client(proxy.url) as client, pytest.raises(StoreUnavailable):
        client.stats()


def test_the_error_without_a_server_names_the_remedy() -> None:
    remedy = r"no server answers at .*start one with `everthread serve`"
    with (
        llm.closed_port() as port,
        Client(f"http://127.0.0.1:{port}") as client,
        pytest.raises(StoreUnavailable, match=remedy),
    ):
        client.stats()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_page_of_a_reverse_proxy_is_taken_for_a_server_that_is_down(quick: None, status: int) -> None:
    class Gateway(Quiet):
        def do_POST(self) -> None:
            requests.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><h1>Bad Gateway</h1></html>")

    requests = list[bytes]()
    with serve_handler(Gateway) as url, Client(url) as client:
        with pytest.raises(
            StoreUnavailable, match=f"^{url} responded with {status}, as a reverse proxy does"
        ) as caught:
            client.observe("Hello.")
        assert str(caught.value).endswith("start the server with `everthread serve`, or check the URL")
    assert len(requests) == 4


def test_a_silent_server_is_asked_once_more_and_named(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Quiet):
        def do_POST(self) -> None:
            requests.append(self.rfile.read(int(self.headers["Content-Length"])))
            over.wait(PATIENCE)
            self.close_connection = True

    requests, over = list[bytes](), threading.Event()
    monkeypatch.setattr(connection, "READ_TIMEOUT_S", 0.2)
    with serve_handler(Silent) as url, Client(url) as client:
        message = f"^{url} accepted a request and sent nothing for 0.2 s. It may have stored what it was sent"
        with pytest.raises(StoreUnavailable, match=message):
            client.observe("Hello.")
        over.set()
    assert len(requests) == 2


def test_a_server_that_is_not_everthread_is_reported() -> None:
    message = "is not an Everthread server"
    with llm.llm_server() as server, Client(server.host) as client, pytest.raises(ConfigError, match=message):
        client.stats()


def test_a_server_that_answers_other_json_than_everthread_is_reported() -> None:
    class Foreign(Quiet):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok"}')

        do_POST = do_GET

    message = "the response is not that of an Everthread server of this version: it lacks '.*'; check the URL"
    with serve_handler(Foreign) as url, Client(url) as client:
        for request in (client.stats, client.sessions, lambda: client.recall("x"), lambda: client.observe("Hello.")):
            with pytest.raises(ConfigError, match=message):
                request()


def test_a_part_of_a_response_that_lacks_something_is_reported_once() -> None:
    with pytest.raises(ConfigError) as raised:
        decode.hit({"line": {"seq": 1}})
    assert str(raised.value).count("the response") == 1


# --------------------------------------------------------------------------- keys


def test_a_key_permits_only_its_bank_and_operations(store: SQLiteStore) -> None:
    with closing(KeyStore(server_db.get_path(store))) as keys:
        secret = keys.create("alice's", [BANK], ["read", "write"])
    services = Services(store, HashEmbedder(64), None, Default())
    with serve_app(create_app(services, Settings(key_required=True))) as url:
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
        with Client(url, BANK, "et_wrong") as client, pytest.raises(ConfigError, match="unknown or revoked key"):
            client.stats()


# --------------------------------------------------------------------- bad input


def test_an_invalid_url_bank_or_key_is_rejected() -> None:
    with pytest.raises(ConfigError, match="invalid URL: got 'localhost:7391', expected a server's URL"):
        Client("localhost:7391")
    with pytest.raises(BadBankId):
        Client(bank=" ")
    with pytest.raises(ConfigError, match="invalid API key"):
        Client(key="et_ü")


def test_a_line_of_a_missing_bank_is_not_found(client: Client) -> None:
    for seq, key in ((1, None), (None, "k")):
        with pytest.raises(NotFound):
            client.get(seq, key=key)


def test_a_missing_bank_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="there is no bank"):
        client.stats()


@pytest.mark.parametrize(("name", "value"), [("character", {}), ("remember", "sometimes"), ("remember", 1)])
def test_other_settings_and_invalid_values_are_rejected(client: Client, name: str, value: Any) -> None:
    with pytest.raises(
        BadQuery, match=r"Settable: remember \(always, ask, never\), scribe \(a model's name\), recall_from .* and"
    ):
        client.set_setting(name, value)


def test_conditions_and_key_prefixes_filter_as_in_memory(client: Client) -> None:
    client.observe_many(
        [
            NewLine("The garden is green.", metadata={"year": 2020}, key="log:1", said_at=DAY),
            NewLine("The garden is brown.", metadata={"year": 2024}, key="mail:1", said_at=DAY + timedelta(days=2)),
        ]
    )
    late = AnyOf((Comparison("metadata.year", ">", 2022), Comparison("said_at", ">", DAY + timedelta(days=1))))
    assert [line.seq for line in client.lines(Filter(condition=late))] == [2]
    assert [line.seq for line in client.lines(Filter(key_prefix="log:"))] == [1]
    assert [hit.seq for hit in client.recall("garden", where=Filter(condition=Not(late), key_prefix="log:"))] == [1]
    for prefix in ("", 5, ("log:", "x"), "\ud800"):
        with pytest.raises(BadQuery, match=r"where.key_prefix"):
            client.lines(Filter(key_prefix=prefix))  # type: ignore[arg-type]
    with pytest.raises(BadQuery, match="invalid field of a condition: got 'mood'"):
        client.recall("garden", where=Filter(condition=Comparison("mood", "==", 1)))


def test_filters_by_metadata_and_retracted_lines_are_rejected(client: Client) -> None:
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
def test_problem_documents_become_the_librarys_errors(status: int, name: str, kind: type[Exception]) -> None:
    error = connection.build_error(status, {"type": f"urn:everthread:{name}", "detail": "what is wrong"}, "http://x")
    assert type(error) is kind
    assert str(error) == "what is wrong"


def test_texts_may_contain_line_breaks_of_unicode(store: SQLiteStore) -> None:
    user_text, answer = "One\u2028two\u0085three.", "Four\u2029five."
    with open_client(store, llm.Reply([answer])) as client:
        reply = client.reply(user_text)
        assert "".join(reply) == answer
        assert [json.loads(row).get("text") for row in client.export()][-2:] == [user_text, answer]


def test_the_recipe_of_a_bank_and_its_options_are_read_and_set(client: Client) -> None:
    client.observe("My sister Mia moved to Lisbon.")
    assert "packabby" in [recipe["name"] for recipe in client.recipes()]
    recipe = client.set_recipe("packabby", {"threshold": 0.3, "max_hits": 2})
    assert (recipe["name"], client.recipe(), client.stats().recipe) == ("packabby", recipe, "packabby")
    values = {option["name"]: option["value"] for option in client.set_options({"threshold": None})["options"]}
    assert (values["threshold"], values["max_hits"]) == (None, 2)
    with pytest.raises(BadInput, match="max_hits must be a whole number from 1 to 1000, got 0"):
        client.set_options({"max_hits": 0})
    with pytest.raises(ConfigError, match="unknown recipe 'elephant'"):
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


def test_the_banks_that_replies_draw_on_are_set(client: Client) -> None:
    client.observe("Hello.")
    client.set_setting("recall_from", [client.bank])
    assert client.settings()["recall_from"] == [client.bank]
    client.set_setting("recall_from", None)
    assert "recall_from" not in client.settings()


def test_client_and_memory_recall_the_same_facts_beside_lines(client: Client, store: SQLiteStore) -> None:
    client.observe_many(LINES)
    memory = Memory(BANK, store, HashEmbedder(64), Default())
    question = "Where does Mia live?"
    hits = client.recall(question, facts=True)
    assert hits == memory.recall(question, facts=True)
    assert hits[0].text == "Mia lives in Lisbon (since May 2024)."
    assert client.recall(question) == memory.recall(question)
    assert {hit.kind for hit in client.recall(question)} == {"line"}
