"""Conversations over HTTP, with a local model server that answers well or badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hardship import PATIENCE, llm
from hardship.llm import Behaviour, Cut, Raw, Reply, ServerBehaviour, Stall, Status

from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.languages.wording import load_wording
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.keys import KeyStore
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Filter, NewLine

QUESTION = load_wording()("chat.remember")
NOTED = load_wording()("chat.will_remember")

HERE = "http://127.0.0.1"
CHAT = "/api/v1/banks/alice/chat/current"
Event = tuple[str, dict[str, Any]]


class Site:
    """A server over a store in a folder, and its client."""

    def __init__(self, client: TestClient, store: SQLiteStore, model: llm.Server | None) -> None:
        self.client, self.store, self.model = client, store, model

    def ask(self, path: str, body: object = None, **headers: str) -> list[Event]:
        """Return the events of a reply, read to the end."""
        answer = self.client.post(f"{CHAT}/{path}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        return events(answer.text)

    def say(self, text: str, **options: object) -> list[Event]:
        return self.ask("reply", {"text": text, "options": options})

    def post(self, path: str, body: object = None) -> dict[str, Any]:
        answer = self.client.post(f"{CHAT}/{path}", json=body)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def state(self, path: str = CHAT) -> dict[str, Any]:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()
        return state

    def stored_texts(self, retracted: bool = False) -> list[str]:
        return [line.text for line in self.store.lines("alice", Filter(), include_retracted=retracted)]

    def start_saying(self, text: str) -> threading.Thread:
        """Send a message in another thread. Return the thread once the reply is in progress."""
        thread = threading.Thread(target=self.say, args=(text,))
        thread.start()
        wait_until(lambda: bool(self.stored_texts()) and self.state()["replying"])
        return thread


def running_texts(site: Site) -> list[str]:
    """Return the text that has arrived of each reply in progress."""
    registry: ConversationRegistry = site.client.app.state.conversations  # type: ignore[attr-defined]
    streams = [conversation.stream for conversation in registry.open_conversations.list_all()]
    return [stream.reply.text for stream in streams if stream and stream.reply]


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.01)


def events(text: str) -> list[Event]:
    parsed = []
    for block in text.split("\n\n"):
        rows = [row for row in block.split("\n") if row and not row.startswith(":")]
        if rows:
            assert [row.partition(": ")[0] for row in rows] == ["event", "data"]
            parsed.append((rows[0][7:], json.loads(rows[1][6:])))
    return parsed


def names(received: list[Event]) -> list[str]:
    """Return the names of the events, with consecutive pieces as one."""
    return [name for name, _ in groupby(name for name, _ in received)]


def text(received: list[Event]) -> str:
    return "".join(data["text"] for name, data in received if name == "piece")


Begin = Callable[..., Site]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with ExitStack() as stack:

        def open_site(
            *behaviours: llm.ServerBehaviour, multi_process: bool = False, max_replies: int = 8, retries: int = 0
        ) -> Site:
            store = SQLiteStore(tmp_path)
            stack.callback(store.close)
            server = stack.enter_context(llm.llm_server(*behaviours)) if behaviours else None
            model = OpenAICompatible(server.url, "m", timeout=PATIENCE, retries=retries) if server else None
            services = Services(store, HashEmbedder(64), model, Default(), multi_process=multi_process)
            client = stack.enter_context(TestClient(create_app(services, Settings(max_replies=max_replies)), HERE))
            store.create("alice")
            return Site(client, store, server)

        yield open_site


def test_a_reply_emits_its_line_context_pieces_and_end(begin: Begin) -> None:
    site = begin("Lisbon, then.", "It is Mia who moved there.")
    site.say("My sister Mia moved to Lisbon in May.")
    received = site.ask("reply", {"text": "Who moved to Lisbon?"})
    assert names(received) == ["line", "context", "piece", "done"]
    assert received[0][1]["line"]["text"] == "Who moved to Lisbon?"
    parts = {
        "text",
        "tokens",
        "relevance",
        "hits",
        "lines",
        "units",
        "corrects",
        "bank",
        "others",
        "offer",
        "notes",
        "prompt",
    }
    assert set(received[1][1]) == parts
    done = received[-1][1]
    assert text(received) == done["text"] == done["line"]["text"] == "It is Mia who moved there."
    assert done["kind"] == "reply"
    assert (done["partial"], done["refused"], done["model"]) == (False, False, "m")
    assert done["usage"] == {"prompt": 11, "completion": 7, "cost": None, "estimated": False}
    state = site.state()
    assert [line["text"] for line in state["lines"]][-1] == "It is Mia who moved there."
    assert state["usage"]["prompt"] == 22
    assert (state["replying"], state["unanswered"], state["model"]) == (False, False, "m")


def test_a_recalled_line_is_shown_with_its_signals_and_passage(begin: Begin) -> None:
    site = begin("Noted.", "Mia.")
    site.client.post(f"{CHAT.replace('current', 'spring')}/reply", json={"text": "Mia moved to Lisbon in May."})
    site.client.post(f"{CHAT.replace('current', 'spring')}/end", json={"remember": True})
    received = dict(site.ask("reply", {"text": "Where did Mia move, to Lisbon?"}))
    hit = received["context"]["hits"][0]
    assert hit["line"]["text"] == "Mia moved to Lisbon in May."
    assert hit["line"]["session"] == "spring"
    assert hit["signals"]
    assert 0 < hit["relevance"] <= 1


def test_the_evidence_of_a_reply_is_stored_and_returned_as_it_was(begin: Begin) -> None:
    site = begin("Noted.", "To Lisbon.")
    site.client.post(f"{CHAT.replace('current', 'spring')}/reply", json={"text": "Mia moved to Lisbon in May."})
    site.client.post(f"{CHAT.replace('current', 'spring')}/end", json={"remember": True})
    shown = dict(site.say("Where did Mia move, to Lisbon?"))
    reply = shown["done"]["line"]
    hits = shown["context"]["hits"]
    assert (reply["memories"], len(hits)) == (1, 3)  # of one passage
    assert "everthread.recalled" not in reply["metadata"]
    seq, path = hits[0]["line"]["seq"], f"/api/v1/banks/alice/lines/{reply['seq']}/evidence"
    site.client.patch(f"/api/v1/banks/alice/lines/{seq}", json={"text": "Mia moved to Porto in May."})
    evidence = site.client.get(path).json()
    assert evidence["hits"][0]["line"]["text"] == "Mia moved to Lisbon in May."
    assert [hit["relevance"] for hit in evidence["hits"]] == pytest.approx([hit["relevance"] for hit in hits], abs=1e-4)
    assert evidence["corrections"][str(seq)]["text"] == "Mia moved to Porto in May."
    site.client.delete(f"/api/v1/banks/alice/lines/{seq}")
    evidence = site.client.get(path).json()
    assert [hit["line"]["seq"] for hit in evidence["hits"]] == [hit["line"]["seq"] for hit in hits[1:]]
    assert (evidence["forgotten"], evidence["corrections"]) == (1, {})
    assert site.state()["lines"][-1]["memories"] == 1  # as it was
    assert site.client.get(f"/api/v1/banks/alice/lines/{reply['seq'] - 1}/evidence").status_code == 404


def test_without_a_model_the_line_that_answers_is_quoted_and_stays_in_the_state(begin: Begin) -> None:
    site = begin()
    received = site.say("Mia moved to Lisbon in May.")
    done = received[-1][1]
    assert (done["kind"], done["text"], done["line"]) == ("recall_only", NOTED, None)
    site.post("end", {"remember": True})
    received = site.say("Where did Mia move, to Lisbon?")
    assert "you told me: “Mia moved to Lisbon in May.”" in text(received)
    assert site.stored_texts() == ["Mia moved to Lisbon in May.", "Where did Mia move, to Lisbon?"]
    state = site.state()
    assert state["model"] is None
    answer = state["lines"][-1]["answer"]
    assert dict(received)["done"]["answer"] == answer
    assert (answer["kind"], answer["line"]["text"]) == ("quote", "Mia moved to Lisbon in May.")
    assert (answer["speech"], answer["sure"], answer["corrected"]) == ("you_said", True, False)
    site.client.patch("/api/v1/banks/alice/lines/1", json={"text": "Mia moved to Porto in May."})
    answer = site.state()["lines"][-1]["answer"]
    assert (answer["line"]["text"], answer["corrected"]) == ("Mia moved to Porto in May.", True)
    site.client.delete("/api/v1/banks/alice/lines/1")
    assert site.state()["lines"][-1]["answer"] == {**answer, "line": None, "speech": None, "corrected": False}


def test_the_lines_of_a_conversation_are_listed_with_the_answers_that_were_given_without_a_model(begin: Begin) -> None:
    site = begin()
    site.say("Mia moved to Lisbon in May.")
    site.say("Where did Mia move, to Lisbon?")
    for query in ("limit=5", "around=1"):
        told, asked = site.client.get(f"/api/v1/banks/alice/lines?{query}").json()["items"]
        assert (told["answer"]["kind"], told["answer"]["line"]) == ("remembered", None)
        assert asked["answer"]["line"]["text"] == "Mia moved to Lisbon in May."


@pytest.mark.parametrize(("status", "name"), [(429, "llm-unavailable"), (500, "llm-unavailable"), (401, "llm-denied")])
def test_a_model_failure_is_an_error_event_and_the_message_stays_stored(begin: Begin, status: int, name: str) -> None:
    site = begin(Status(status), "Here I am.")
    received = site.say("Are you there?")
    assert names(received) == ["line", "context", "error"]
    assert received[-1][1]["type"] == f"urn:everthread:{name}"
    assert "Are you there?" not in received[-1][1]["detail"]
    assert site.state()["unanswered"]
    assert text(site.ask("answer")) == "Here I am."
    assert site.stored_texts()[-2:] == ["Are you there?", "Here I am."]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("", "reply-empty"),
        (Cut("Once"), "reply-cut"),
        (Status(500), "llm-failed"),
        (Status(429), "llm-overloaded"),
        (Raw(b'data: {"error": {"code": 502}}\n\n'), "llm-failed"),
    ],
)
def test_a_failed_reply_has_the_reason(begin: Begin, behaviour: ServerBehaviour, reason: str) -> None:
    _, document = begin(behaviour).say("Are you there?")[-1]
    assert (document["type"], document["reason"]) == ("urn:everthread:llm-unavailable", reason)


@pytest.mark.parametrize("behaviour", [Status(401), Status(404), Status(400), Status(500), Cut("Once")])
def test_the_models_address_is_logged_and_never_shown_to_clients(
    begin: Begin, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    site = begin(behaviour)
    assert site.model is not None
    received = site.say("Are you there?")
    assert received[-1][0] == "error"
    assert "127.0.0.1" not in json.dumps(received)
    assert site.model.url in caplog.text


def test_the_received_part_of_a_cut_reply_is_stored(begin: Begin) -> None:
    site = begin(Cut("Once upon a"))
    received = site.say("Tell me a story.")
    assert received[-1][0] == "error"
    assert received[-1][1]["line"]["text"] == "Once upon a"
    assert site.state()["lines"][-1]["metadata"]["partial"] is True


def test_a_reply_continues_without_a_reader_and_can_be_read_again_from_its_beginning(begin: Begin) -> None:
    site = begin(Reply("One two three four five six.", delay=0.1))
    thread = site.start_saying("Count.")
    read: list[list[Event]] = []
    readers = [
        threading.Thread(target=lambda: read.append(events(site.client.get(f"{CHAT}/stream").text))) for _ in range(2)
    ]
    for reader in readers:
        reader.start()
    for running in (*readers, thread):
        running.join()
    assert [names(received) for received in read] == [["line", "context", "piece", "done"]] * 2
    assert [text(received) for received in read] == ["One two three four five six."] * 2
    missing = site.client.get(f"{CHAT}/stream")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:everthread:no-reply")


def test_following_a_reply_that_uses_another_bank_needs_a_key_for_that_bank(begin: Begin) -> None:
    site = begin("Noted.", Reply("It is Mia who moved there.", delay=0.2))
    site.client.post("/api/v1/banks/bob/lines", json={"text": "My sister Mia moved to Lisbon in May."})
    site.say("Hello.")
    keys = KeyStore(server_db.get_path(site.store))
    narrow, wide = (
        {"Authorization": f"Bearer {keys.create(name, banks)}"}
        for name, banks in (("narrow", ["alice"]), ("wide", ["alice", "bob"]))
    )
    keys.close()
    received: list[Event] = []
    thread = threading.Thread(target=lambda: received.extend(site.say("Who moved to Lisbon in May?", banks=["bob"])))
    thread.start()
    wait_until(lambda: bool(site.state()["replying"]))
    refused = site.client.get(f"{CHAT}/stream", headers=narrow)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:everthread:forbidden")
    assert events(site.client.get(f"{CHAT}/stream", headers=wide).text)[1][0] == "context"
    thread.join()
    assert [other["bank"] for other in received[1][1]["others"]] == ["bob"]


def test_no_other_change_starts_while_the_conversation_replies(begin: Begin) -> None:
    site = begin(Reply("One two three.", delay=0.2))
    thread = site.start_saying("Count.")
    for path, body in (("reply", {"text": "And?"}), ("undo", None), ("end", None), ("branch", {"seq": 1})):
        refused = site.client.post(f"{CHAT}/{path}", json=body)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:replying")
    thread.join()
    assert site.stored_texts()[-2:] == ["Count.", "One two three."]


def test_a_stopped_reply_is_stored_as_partial_even_if_the_model_is_silent(begin: Begin) -> None:
    site = begin(Stall("Well, I"))
    thread = site.start_saying("Tell me.")
    wait_until(lambda: "Well, I" in running_texts(site))
    state = site.post("stop")
    thread.join()
    assert state["replying"] is False
    assert state["lines"][-1]["text"] == "Well, I"
    assert state["lines"][-1]["metadata"]["partial"] is True
    assert site.post("stop")["lines"] == state["lines"]


def test_regenerating_turns_the_first_reply_into_a_selectable_swipe(begin: Begin) -> None:
    site = begin("First.", "Second.", "Third.")
    site.say("Say something.")
    assert text(site.ask("regenerate")) == "Second."
    assert names(site.ask("regenerate", {"options": {"temperature": 1.5}}))[0] == "context"
    state = site.state()
    assert [swipe["text"] for swipe in state["swipes"]] == ["First.", "Second.", "Third."]
    assert state["repeats"] == {}
    first = state["swipes"][0]["seq"]
    state = site.post("branch", {"seq": first})
    assert state["lines"][-1]["text"] == "First."
    assert state["repeats"] == {str(state["lines"][-1]["seq"]): first}
    assert [swipe["text"] for swipe in state["swipes"]] == ["First.", "Second.", "Third."]
    assert state["swipes"][0]["seq"] == state["lines"][-1]["seq"]
    state = site.post("branch", {"seq": state["swipes"][1]["seq"]})
    state = site.post("branch", {"seq": state["swipes"][0]["seq"]})
    assert [swipe["text"] for swipe in state["swipes"]] == ["First.", "Second.", "Third."]
    assert site.stored_texts()[-1] == "First."


def test_an_edited_line_of_the_person_gets_a_new_reply_and_one_of_the_character_none(begin: Begin) -> None:
    site = begin("Hello Tom.", "Hello Tim.")
    received = site.say("I am Tom.")
    edited = site.ask("edit", {"seq": received[0][1]["line"]["seq"], "text": "I am Tim."})
    assert names(edited) == ["line", "context", "piece", "done"]
    assert edited[0][1]["line"]["text"] == "I am Tim."
    assert site.stored_texts()[-2:] == ["I am Tim.", "Hello Tim."]
    own = site.ask("edit", {"seq": edited[-1][1]["line"]["seq"], "text": "Good day, Tim."})
    assert names(own) == ["done"]
    assert own[0][1]["line"]["text"] == "Good day, Tim."
    assert site.stored_texts()[-2:] == ["I am Tim.", "Good day, Tim."]
    missing = site.client.post(f"{CHAT}/edit", json={"seq": 4711, "text": "?"})
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_undo_discards_the_last_message(begin: Begin) -> None:
    site = begin("One.", "Two.")
    site.say("First thing.")
    site.say("Second thing.")
    state = site.post("undo")
    assert [line["text"] for line in state["lines"]][-2:] == ["First thing.", "One."]
    assert "Second thing." not in site.stored_texts()
    assert "Second thing." in site.stored_texts(retracted=True)


def test_the_last_lines_of_a_long_conversation_come_with_the_number_of_earlier_ones(begin: Begin) -> None:
    site = begin()
    for number in range(4):
        site.client.post("/api/v1/banks/alice/lines", json={"text": f"Thing {number}."}).raise_for_status()
    assert (len(site.state()["lines"]), site.state()["earlier"]) == (4, 0)
    latest = site.state(f"{CHAT}?last=3")
    assert ([line["seq"] for line in latest["lines"]], latest["earlier"]) == ([2, 3, 4], 1)
    assert site.state(f"{CHAT}?last=9")["earlier"] == 0
    assert site.client.get(f"{CHAT}?last=0").status_code == 422


def test_a_conversation_continues_from_an_earlier_line(begin: Begin) -> None:
    site = begin("One.", "Two.", "Three.")
    first = site.say("First thing.")
    site.say("Second thing.")
    state = site.post("branch", {"seq": first[-1][1]["line"]["seq"]})
    assert [line["text"] for line in state["lines"]][-2:] == ["First thing.", "One."]


def test_ending_asks_and_then_remembers_or_forgets(begin: Begin) -> None:
    site = begin("Ahoy.", "And ahoy.", "A summary.")
    before = site.state()["session"]
    site.say("Keep this.")
    asked = site.post("end")
    assert (asked["remembered"], asked["session"]) == (None, before)
    assert asked["question"]
    assert site.post("end", {"remember": True})["remembered"] is True
    assert site.state()["session"] != before
    assert site.state()["lines"] == []
    site.say("Keep nothing of this.")
    forgotten = site.post("end", {"remember": False})
    assert forgotten["remembered"] is False
    assert forgotten["receipt"]["lines"] == 2
    assert "Keep nothing of this." not in site.stored_texts(retracted=True)
    assert "Keep this." in site.stored_texts()


def test_incognito_writes_no_byte(begin: Begin, tmp_path: Path) -> None:
    site = begin("Nobody will know.")
    assert site.post("incognito", {"on": True})["incognito"] is True
    received = site.say("My secret is a periwinkle submarine.")
    assert received[-1][1]["line"]["seq"] < 0
    assert [line["text"] for line in site.state()["lines"]][-1] == "Nobody will know."
    assert all(b"periwinkle" not in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    state = site.post("incognito", {"on": False})
    assert (state["lines"], state["incognito"]) == ([], False)
    assert site.stored_texts(retracted=True) == []


def test_incognito_is_rejected_if_several_processes_serve_a_store(begin: Begin) -> None:
    site = begin("Hello.", multi_process=True)
    assert site.client.get("/api/v1/about").json()["incognito"] is False
    refused = site.client.post(f"{CHAT}/incognito", json={"on": True})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:one-process")
    site.store.set_setting("alice", "remember", "never")
    refused = site.client.post(f"{CHAT}/reply", json={"text": "Hello"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:one-process")


def test_a_repeated_request_gets_the_same_reply_and_is_stored_once(begin: Begin) -> None:
    site = begin("Only once.", "Twice?")
    body = {"text": "Say it once."}
    first = site.ask("reply", body, **{"Idempotency-Key": "k1"})
    assert site.ask("reply", body, **{"Idempotency-Key": "k1"}) == first
    assert site.stored_texts().count("Say it once.") == 1
    other = site.client.post(f"{CHAT}/reply", json={"text": "Other."}, headers={"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["type"]) == (422, "urn:everthread:idempotency-conflict")
    site.say("Something else.")
    again = site.ask("reply", body, **{"Idempotency-Key": "k1"})
    assert names(again) == ["line", "done"]
    assert (again[0], again[1][1]["line"]) == (first[0], first[-1][1]["line"])
    other = site.client.post(f"{CHAT}/reply", json={"text": "Other."}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 422


def test_a_request_repeated_after_a_model_failure_gets_a_reply_and_is_stored_once(begin: Begin) -> None:
    site = begin(Status(500), "Now.", "And then.")
    body = {"text": "Try."}
    assert site.ask("reply", body, **{"Idempotency-Key": "k"})[-1][0] == "error"
    with TestClient(create_app(Services(site.store, HashEmbedder(64), site_model(site), Default())), HERE) as restarted:
        received = events(restarted.post(f"{CHAT}/reply", json=body, headers={"Idempotency-Key": "k"}).text)
    assert text(received) == "Now."
    assert site.stored_texts().count("Try.") == 1


def site_model(site: Site) -> OpenAICompatible:
    assert site.model is not None
    return OpenAICompatible(site.model.url, "m", timeout=PATIENCE, retries=0)


def test_a_request_without_a_free_slot_stores_nothing(begin: Begin) -> None:
    site = begin(Reply("One two three.", delay=0.2), max_replies=1)
    thread = site.start_saying("Count.")
    busy = site.client.post("/api/v1/banks/bob/chat/current/reply", json={"text": "Hello"})
    assert (busy.status_code, busy.json()["type"], busy.headers["retry-after"]) == (503, "urn:everthread:busy", "2")
    assert next(iter(site.store.lines("bob")), None) is None
    thread.join()
    assert site.client.post("/api/v1/banks/bob/chat/current/reply", json={"text": "Hello"}).status_code == 200


def test_replies_that_wait_for_their_conversation_do_not_block_others(begin: Begin) -> None:
    site = begin("Yes.", "Yes.")
    conversations = site.client.app.state.conversations  # type: ignore[attr-defined]
    body = {"text": "Hello"}
    threads = [threading.Thread(target=lambda: site.client.post(f"{CHAT}/reply", json=body)) for _ in range(80)]
    with conversations.use(conversations.services.get_memory("alice"), "current"):
        for thread in threads:
            thread.start()
        wait_until(lambda: conversations.start_limiter.threads.borrowed_tokens == 1)
        assert site.client.get("/api/v1/banks/alice").status_code == 200
        assert site.client.post(f"{CHAT.replace('alice', 'bob')}/reply", json=body).status_code == 200
    for thread in threads:
        thread.join(PATIENCE)


def test_the_model_the_recipe_and_the_budget_are_chosen_for_a_reply(begin: Begin) -> None:
    site = begin("One.", "Two.")
    site.model.models = ("m", "large")  # type: ignore[union-attr]
    received = site.say("Hello.", model="large", recipe="membot", temperature=0.25, max_tokens=99, budget=50)
    assert received[-1][1]["model"] == "large"
    body = site.model.bodies[-1]  # type: ignore[union-attr]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("large", 0.25, 99)
    assert site.state()["recipe"] == "membot"
    for options in ({"model": "huge"}, {"recipe": "none"}, {"max_tokens": 100_000}, {"temperature": 3}, {"colour": 1}):
        refused = site.client.post(f"{CHAT}/reply", json={"text": "Hello", "options": options})
        assert refused.status_code == 422, options
        assert refused.headers["content-type"] == "application/problem+json"
    assert len(site.model.asked) == 1  # type: ignore[union-attr]


def test_an_invalid_message_is_rejected_before_any_event(begin: Begin) -> None:
    site = begin("Hello.")
    for body in ({"text": ""}, {}, {"text": "x", "seq": 1}):
        refused = site.client.post(f"{CHAT}/reply", json=body)
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert site.client.post(f"{CHAT}/regenerate").status_code == 422
    assert site.client.get("/api/v1/banks/nobody/chat/current").status_code == 404
    assert site.stored_texts(retracted=True) == []


def test_a_session_is_addressed_by_its_name_and_current_is_the_latest(begin: Begin) -> None:
    site = begin("Yes.")
    site.client.post("/api/v1/banks/alice/chat/a%2Fb/reply", json={"text": "In a named one."})
    state = site.state("/api/v1/banks/alice/chat/a%2Fb")
    assert state["session"] == "a/b"
    assert site.state()["session"] == "a/b"


def test_a_changed_character_takes_effect_in_the_open_conversation(begin: Begin) -> None:
    site = begin("Yes.")
    before = site.state()["character"]
    site.store.set_setting("alice", "character", {**before, "name": "Nemo"})
    site.say("Who are you?")
    assert site.state()["lines"][-1]["speaker"] == "Nemo"


@pytest.mark.parametrize("what", ["line", "session", "bank"])
def test_a_message_forgotten_while_it_is_answered_is_removed_completely(
    begin: Begin, what: str, tmp_path: Path
) -> None:
    site = begin(Reply("You said periwinkle, and so on and on.", delay=0.1), "What?")
    key = {"Idempotency-Key": "k"}
    thread = threading.Thread(target=lambda: site.ask("reply", {"text": "My word is periwinkle."}, **key))
    thread.start()
    wait_until(lambda: bool(site.stored_texts()) and site.state()["replying"])
    state = site.state()
    seq = next(line["seq"] for line in state["lines"] if line["role"] == "user")
    bank = "/api/v1/banks/alice"
    place = {"line": f"{bank}/lines/{seq}", "session": f"{bank}/sessions/{state['session']}", "bank": bank}[what]
    assert site.client.delete(place).status_code == 200
    received = site.client.get(CHAT)
    assert b"My word" not in received.content
    thread.join()
    assert site.store.exists("alice") is (what != "bank")
    assert all(b"My word" not in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    if what != "bank":
        assert site.client.get(f"{CHAT}/stream").status_code == 404
        assert text(site.say("Hello?")) == "What?"


def test_a_reply_that_recalled_a_forgotten_line_is_stopped_and_not_repeated(begin: Begin) -> None:
    site = begin("Noted.", Reply("To Lisbon, as you said, in May.", delay=0.1))
    site.client.post(f"{CHAT.replace('current', 'spring')}/reply", json={"text": "Mia moved to Lisbon in May."})
    site.post("end", {"remember": True})
    body, key = {"text": "Where did Mia move, to Lisbon?"}, {"Idempotency-Key": "k"}
    thread = threading.Thread(target=lambda: site.ask("reply", body, **key))
    thread.start()
    wait_until(lambda: site.state()["replying"])
    site.client.delete("/api/v1/banks/alice/sessions/spring").raise_for_status()
    thread.join()
    again = site.client.post(f"{CHAT}/reply", json=body, headers=key)
    assert "Mia moved to Lisbon in May." not in again.text


@pytest.mark.parametrize("path", ["undo", "regenerate"])
def test_a_change_of_a_conversation_that_has_gone_on_is_refused(begin: Begin, path: str) -> None:
    site = begin("One.", "Two.", "Three.")
    site.say("First.")
    last = site.state()["lines"][-1]["seq"]
    site.say("Second.")
    before = site.state()["lines"]
    refused = site.client.post(f"{CHAT}/{path}", json={"last": last})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:out-of-date")
    assert site.state()["lines"] == before
    assert site.client.post(f"{CHAT}/{path}", json={"last": before[-1]["seq"]}).status_code == 200
    assert site.state()["lines"] != before


@pytest.mark.parametrize("path", ["regenerate", "answer", "edit"])
def test_a_reply_is_regenerated_once_per_key(begin: Begin, path: str) -> None:
    site = begin("One.", "Two.", "Three.")
    seq = site.say("Count.")[0][1]["line"]["seq"]
    body = {"seq": seq, "text": "Count on."} if path == "edit" else {}
    first = site.ask(path, body, **{"Idempotency-Key": "k"})
    assert text(first) == "Two."
    assert site.ask(path, body, **{"Idempotency-Key": "k"}) == first
    other = site.client.post(f"{CHAT}/answer", json={"options": {"budget": 5}}, headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["type"]) == (422, "urn:everthread:idempotency-conflict")
    with TestClient(create_app(Services(site.store, HashEmbedder(64), site_model(site), Default())), HERE) as restarted:
        received = events(restarted.post(f"{CHAT}/{path}", json=body, headers={"Idempotency-Key": "k"}).text)
    assert [received[-1][1]["line"], len(received)] == [first[-1][1]["line"], 1]
    assert len(site.model.asked) == 2  # type: ignore[union-attr]


def test_a_repeated_request_is_not_answered_from_a_bank_that_another_process_has_deleted(begin: Begin) -> None:
    site = begin("One.", "Zelda keeps ferrets.")
    session = site.say("My sister Zelda keeps ferrets.")[0][1]["line"]["session"]
    assert text(site.ask("regenerate", **{"Idempotency-Key": "k"})) == "Zelda keeps ferrets."
    lines = [NewLine(said, "user", "user", session=session) for said in ("Hello.", "I am back.", "Are you there?")]
    with Memory.open("alice", store=site.store.folder, embedder=HashEmbedder(64)) as other:
        other.forget(everything=True)
        other.observe_many([*lines, NewLine("Here I am.", "Ever", "assistant", session=session)])
    (done,) = site.ask("regenerate", **{"Idempotency-Key": "k"})
    assert done[1]["text"] == "Here I am."


def test_a_conversation_is_changed_once_per_key(begin: Begin, tmp_path: Path) -> None:
    site = begin("One.", "Two.", "Three.")

    def twice(path: str, body: object = None) -> Any:
        answers = [site.client.post(f"{CHAT}/{path}", json=body, headers={"Idempotency-Key": path}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        excluded = {"session"} if path == "end" else set()  # no record contains the name of a forgotten session
        received = [
            {name: value for name, value in answer.json().items() if name not in excluded} for answer in answers
        ]
        assert received[0] == received[1]
        other = site.client.post(f"{CHAT}/{path}", json={"other": 1}, headers={"Idempotency-Key": path})
        assert other.status_code == 422
        return answers[0].json()

    said = [site.say(f"Line {number}.")[0][1]["line"]["seq"] for number in range(3)]
    assert len(twice("stop")["lines"]) == 7
    assert [line["text"] for line in twice("undo")["lines"]][-2:] == ["Line 1.", "Two."]
    assert twice("branch", {"seq": said[0]})["lines"][-1]["text"] == "Line 0."
    assert twice("incognito", {"on": True})["incognito"]
    site.post("incognito", {"on": False})
    assert twice("end", {"remember": False})["receipt"]["lines"] > 0
    assert site.stored_texts(retracted=True) == []


def test_a_repeated_ending_returns_the_same_session(begin: Begin) -> None:
    site = begin("One.")
    site.say("Hello.")
    session, key = site.state()["session"], {"Idempotency-Key": "k"}
    received = [site.client.post(f"{CHAT}/end", json={"remember": True}, headers=key).json() for _ in range(2)]
    assert received[0] == received[1]
    assert received[0]["session"] == session


def test_a_request_that_expects_incognito_is_rejected_if_it_has_ended(begin: Begin, tmp_path: Path) -> None:
    site = begin("Psst.")
    site.post("incognito", {"on": True})
    body = {"text": "A periwinkle.", "incognito": True}
    assert site.ask("reply", body)[0][1]["line"]["seq"] < 0
    with TestClient(create_app(Services(site.store, HashEmbedder(64), site_model(site), Default())), HERE) as restarted:
        for path, more in (("reply", body), ("answer", {"incognito": True}), ("edit", {**body, "seq": -1})):
            refused = restarted.post(f"{CHAT}/{path}", json=more)
            assert (refused.status_code, refused.json()["type"]) == (409, "urn:everthread:not-incognito")
    assert all(b"periwinkle" not in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("lines", {"text": " "}),
        ("lines", {"words": "?"}),
        ("lines/batch", {"lines": [{"text": "Good."}, {"text": ""}]}),
        ("import?name=a.jsonl", {"words": "?"}),
        ("chat/current/reply", {"text": ""}),
        ("chat/current/reply", {"words": "?"}),
        ("chat/current/reply", {"text": "Hello", "options": {"model": "huge"}}),
        ("chat/current/reply", {"text": "Hello", "options": {"recipe": "none"}}),
        ("chat/" + "x" * 201 + "/reply", {"text": "Hello"}),
        ("chat/" + "x" * 201 + "/incognito", {"on": True}),
    ],
)
def test_a_rejected_request_creates_no_bank(begin: Begin, path: str, body: object) -> None:
    site = begin("Hello.")
    answer = site.client.post(f"/api/v1/banks/nobody/{path}", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert site.store.banks() == ["alice"]


# --------------------------------------------------------------------- goodbyes

MOVED = "My sister Mia moved to Lisbon."


def test_the_default_character_greets_in_the_language_of_the_request(begin: Begin) -> None:
    site = begin("Ahoi.")
    greeting = load_wording("de")("chat.greeting", name="Ever")
    assert site.state()["greeting"] == "Hello, I'm Ever. What would you like to talk about?"
    german = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.8"}
    assert site.client.get(CHAT, headers=german).json()["greeting"] == greeting
    site.ask("reply", {"text": "Ahoi."}, **german)
    assert site.stored_texts() == [greeting, "Ahoi.", "Ahoi."]


def site_after_goodbye(begin: Begin) -> Site:
    """Return a conversation after a goodbye, with a recipe that asks whether to remember."""
    site = begin("Aye.")
    site.say(MOVED, recipe="packabby")
    received = site.say("ok bye then!", recipe="packabby")
    assert names(received) == ["line", "question", "done"]
    assert received[0][1]["line"]["text"] == "ok bye then!"
    assert received[1][1] == {"question": QUESTION}
    assert received[2][1]["text"] == f"Goodbye! {QUESTION}"
    assert received[2][1]["kind"] == "ending"
    return site


def test_a_goodbye_is_answered_with_the_question_and_a_yes_ends_the_conversation(begin: Begin) -> None:
    site = site_after_goodbye(begin)
    before = site.state()
    assert (before["question"], before["unanswered"]) == (QUESTION, False)
    received = site.say("yes please", recipe="packabby")
    assert names(received) == ["ended", "done"]
    assert (received[0][1]["remembered"], received[0][1]["session"]) == (True, before["session"])
    assert site.stored_texts()[1:] == [MOVED, "Aye.", "ok bye then!"]
    after = site.state()
    assert (after["question"], after["lines"]) == ("", [])
    assert after["session"] != before["session"]


def test_a_confirmed_no_forgets_the_conversation_and_a_repeated_request_nothing_else(begin: Begin) -> None:
    site = site_after_goodbye(begin)
    for _ in range(2):
        received = site.ask("reply", {"text": "no"}, **{"Idempotency-Key": "k0"})
        assert names(received) == ["question", "done"]
        assert received[0][1] == {"question": load_wording()("chat.forget")}
        assert site.state()["question"] == load_wording()("chat.forget")
    assert site.stored_texts()[-1] == "ok bye then!"
    body = {"text": "yes", "options": {"recipe": "packabby"}}
    received = site.ask("reply", body, **{"Idempotency-Key": "k1"})
    assert received[0][1]["receipt"]["lines"] == 4
    assert site.stored_texts(retracted=True) == []
    assert site.ask("reply", body, **{"Idempotency-Key": "k1"}) == received
    assert site.stored_texts() == []
    other = site.client.post(f"{CHAT}/reply", json={**body, "text": "no"}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 422


def test_an_answer_under_the_key_of_one_in_another_bank_ends_its_own_conversation(begin: Begin) -> None:
    site, key = begin("Aye."), {"Idempotency-Key": "57"}
    paths = [f"/api/v1/banks/{bank}/chat/current" for bank in ("alice", "bob")]
    for path in paths:
        for text in (MOVED, "bye"):
            site.client.post(f"{path}/reply", json={"text": text, "options": {"recipe": "packabby"}})
    answer = {"text": "yes", "options": {"recipe": "packabby"}}
    sessions = [site.client.get(path).json()["session"] for path in paths]
    received = [site.client.post(f"{path}/reply", json=answer, headers=key).text for path in paths]
    assert [session in events for session, events in zip(sessions, received, strict=True)] == [True, True]
    assert [site.client.get(path).json()["question"] for path in paths] == ["", ""]


@pytest.mark.parametrize("earlier", [(), ("no",)])  # by a client that leaves the second question to the server
def test_a_client_that_confirms_a_no_itself_is_asked_only_the_first_question(
    begin: Begin, earlier: tuple[str, ...]
) -> None:
    site = site_after_goodbye(begin)
    for text in earlier:
        site.say(text, recipe="packabby")
    received = site.ask("reply", {"text": "no", "confirm_forget": True})
    assert [name for name, _ in received] == ["question", "done"]
    assert received[0][1] == {"question": QUESTION, "confirm_forget": True}
    assert (site.state()["question"], site.stored_texts()[-1]) == (QUESTION, "ok bye then!")
    assert site.post("end", {"remember": False})["receipt"]["lines"] == 4


def test_an_unclear_answer_repeats_the_question_and_another_subject_continues_the_chat(begin: Begin) -> None:
    site = site_after_goodbye(begin)
    assert names(site.say("Not now", recipe="packabby")) == ["question", "done"]
    assert site.stored_texts()[-1] == "ok bye then!"
    assert names(site.say("One more thing: she has a dog.", recipe="packabby"))[-1] == "done"
    assert site.state()["question"] == ""
    assert site.stored_texts()[-2:] == ["One more thing: she has a dog.", "Aye."]


def test_a_repeated_goodbye_repeats_the_question_and_is_stored_once(begin: Begin) -> None:
    site = begin("Aye.")
    site.say(MOVED, recipe="packabby")
    body = {"text": "bye", "options": {"recipe": "packabby"}}
    for _ in range(2):
        received = site.ask("reply", body, **{"Idempotency-Key": "k2"})
        assert names(received) == ["line", "question", "done"]
    assert site.stored_texts()[1:] == [MOVED, "Aye.", "bye"]


def test_the_end_route_also_answers_the_question(begin: Begin) -> None:
    site = site_after_goodbye(begin)
    assert site.post("end", {"remember": True})["remembered"] is True
    assert site.state()["question"] == ""


def test_a_no_with_a_key_without_forget_forgets_no_named_conversation(begin: Begin) -> None:
    site = begin("Aye.")
    keys = KeyStore(server_db.get_path(site.store))
    guest = {"Authorization": f"Bearer {keys.create('guest', ['alice'], ['chat', 'write'])}"}
    keys.close()
    path = "/api/v1/banks/alice/chat/one/reply"
    for text in (MOVED, "bye"):
        site.client.post(path, json={"text": text, "options": {"recipe": "packabby"}}, headers=guest)
    answer = site.client.post(path, json={"text": "no", "options": {"recipe": "packabby"}}, headers=guest)
    assert answer.status_code == 403
    assert site.stored_texts()[1:] == [MOVED, "Aye.", "bye"]


def test_a_banks_notes_and_summaries_are_written_by_its_scribe_model(begin: Begin) -> None:
    site = begin("Ahoy.")
    assert site.model is not None
    site.model.models = ("m", "small")
    settings = "/api/v1/banks/alice/settings"
    assert site.client.patch(settings, json={"scribe": "huge"}).status_code == 422
    assert site.client.patch(settings, json={"scribe": "none"}).json() == {"remember": "ask", "scribe": "none"}
    site.say("My sister Mia moved to Lisbon in May.")
    site.post("end", {"remember": True})
    wait_until(lambda: not site.store.jobs("alice"))
    assert [each["model"] for each in site.model.bodies] == ["m"]
    site.client.patch(settings, json={"scribe": "small"})
    site.say("Mia has a dog.")
    site.post("end", {"remember": True})
    wait_until(lambda: site.model is not None and site.model.bodies[-1]["model"] == "small")
    assert site.client.patch(settings, json={"scribe": None}).json() == {"remember": "ask"}


def test_a_recipe_named_in_a_reply_is_saved_except_in_incognito(begin: Begin) -> None:
    site = begin("Ahoy.")
    site.say("Hello.", recipe="membot")
    site.say("Hello again.")
    assert site.state()["recipe"] == "membot"
    assert site.client.get("/api/v1/banks/alice/recipe").json()["name"] == "membot"
    site.client.patch("/api/v1/banks/alice/recipe", json={"options": {"window": 2}})
    site.post("incognito", {"on": True})
    site.ask("reply", {"text": "Hush.", "options": {"recipe": "emi"}, "incognito": True})
    assert site.client.get("/api/v1/banks/alice/recipe").json()["name"] == "membot"


@pytest.mark.parametrize("value", ["x", [1], {"n": 1}, True, None, 1.5])
def test_a_conversation_opens_despite_invalid_reserved_metadata(begin: Begin, value: object) -> None:
    site = begin()
    line = {"text": "hello", "speaker": "Al", "session": "s9", "metadata": {META_REPEATS: value, META_CORRECTS: value}}
    assert site.client.post("/api/v1/banks/alice/lines", json=line).status_code == 201
    state = site.state("/api/v1/banks/alice/chat/s9")
    assert [each["text"] for each in state["lines"]] == ["hello"]
    assert state["repeats"] == {}


def test_a_group_of_characters_is_led_by_a_program(begin: Begin) -> None:
    site = begin(Reply("Soup.\nNora: More!"), Reply("Soup.\nCaptain: In the chest!"))
    banks = {"Cook": "/api/v1/banks/nora%2Fcook", "Captain": "/api/v1/banks/nora%2Fcaptain"}
    for name, bank in banks.items():
        site.client.put(bank)
        site.client.put(f"{bank}/character", json={"name": name, "person": "Nora"})

    def say(name: str, **body: object) -> list[tuple[str, str]]:
        answer = site.client.post(f"{banks[name]}/chat/current/say", json=body)
        assert answer.status_code == 200, answer.text
        return [(line["speaker"], line["text"]) for line in answer.json()["lines"]]

    for name in banks:
        assert say(name, text="What is for dinner?")[-1] == ("Nora", "What is for dinner?")
    asked = {"options": {"participants": ["Captain"]}}
    for act in ("answer", "regenerate"):
        reply = events(site.client.post(f"{banks['Cook']}/chat/current/{act}", json=asked).text)
        assert reply[-1][1]["line"]["text"] == "Soup."
    heard = say("Captain", text="Soup.", speaker="Cook")
    assert heard[-2:] == [("Nora", "What is for dinner?"), ("Cook", "Soup.")]
    last = site.client.get(f"{banks['Captain']}/lines").json()["items"][-1]
    assert (last["role"], last["metadata"]["everthread.heard"]) == ("assistant", True)
    refusals = [({"text": "Sh.", "incognito": True}, 409), ({"text": " "}, 422), ({}, 422)]
    for body, status in refusals:
        assert site.client.post(f"{banks['Cook']}/chat/current/say", json=body).status_code == status
    assert site.client.post("/api/v1/banks/bob/chat/current/say", json={"text": "Hello."}).status_code == 404


def test_a_reply_in_a_group_is_stored_in_the_bank_of_each_character(begin: Begin) -> None:
    site = begin("Soup.")
    group = ["nora/cook", "nora/mate"]
    for bank in group:
        path = f"/api/v1/banks/{bank.replace('/', '%2F')}"
        site.client.put(path)
        site.client.put(f"{path}/character", json={"name": bank[5:].title()}).raise_for_status()
    cook, mate = (f"/api/v1/banks/nora%2F{name}/chat/deck" for name in ("cook", "mate"))
    asked = {"text": "What is for dinner?", "options": {"group": group}}
    for _ in range(2):  # a repeated request is answered with the same reply
        reply = events(site.client.post(f"{cook}/reply", json=asked, headers={"Idempotency-Key": "k1"}).text)
        assert reply[-1][1]["line"]["text"] == "Soup."
    again = events(site.client.post(f"{mate}/answer", json={"options": {"group": group}}).text)
    assert again[-1][1]["line"]["speaker"] == "Mate"
    members = [{"bank": "nora/cook", "name": "Cook"}, {"bank": "nora/mate", "name": "Mate"}]
    for path in (cook, mate):
        state = site.state(path)
        assert [line["speaker"] for line in state["lines"]] == ["user", "Cook", "Mate"]
        assert state["group"] == members
    assert site.state()["group"] == []
    site.client.patch("/api/v1/banks/nora%2Fmate/sessions/deck", json={"metadata": {"group": "x"}}).raise_for_status()
    assert site.state(mate)["group"] == []
    refusals = [(["nora/cook", "nora/cook"], 422), (["nora/nobody"], 404), (["x"] * 21, 422)]
    for banks, status in refusals:
        answer = site.client.post(f"{mate}/reply", json={"text": "Hello.", "options": {"group": banks}})
        assert answer.status_code == status, answer.text
    keys = KeyStore(server_db.get_path(site.store))
    mates = {"Authorization": f"Bearer {keys.create('mates', ['nora/mate'])}"}
    for path, body in (
        ("reply", {"text": "Hello.", "options": {"group": group}}),
        ("answer", {"options": {"group": group}}),
        ("regenerate", {"options": {"group": group}}),
        ("edit", {"seq": 1, "text": "Hello.", "options": {"group": group}}),
        ("undo", {"group": group}),
        ("branch", {"seq": 1, "group": group}),
    ):
        assert site.client.post(f"{mate}/{path}", json=body, headers=mates).status_code == 403
    assert len(site.state(cook)["lines"]) == 3
    cooks = {"Authorization": f"Bearer {keys.create('cooks', ['nora/cook'])}"}
    keys.close()
    path = "/api/v1/banks/nora%2Fcook/lines/2/copies"
    both = [("nora/cook", "Cook", 2), ("nora/mate", "Mate", 2)]
    for headers, found in (({}, both), (cooks, both[:1])):
        copies = site.client.get(path, headers=headers).json()["items"]
        assert [(copy["bank"], copy["name"], copy["line"]["seq"]) for copy in copies] == found
    assert site.client.get(path.replace("2/c", "99/c"), headers=cooks).status_code == 404


def test_a_change_in_a_group_is_made_in_the_bank_of_each_character(begin: Begin) -> None:
    site = begin("Soup.", "Stew.", "Pie.")
    group = ["nora/cook", "nora/mate"]
    cook, mate = (f"/api/v1/banks/nora%2F{name}/chat/deck" for name in ("cook", "mate"))
    for bank in group:
        path = f"/api/v1/banks/{bank.replace('/', '%2F')}"
        site.client.put(path)
        site.client.put(f"{path}/character", json={"name": bank[5:].title()}).raise_for_status()
    options = {"options": {"group": group}}

    def post(path: str, body: object) -> list[list[str]]:
        site.client.post(path, json=body).raise_for_status()
        return [[line["text"] for line in site.state(bank)["lines"]] for bank in (cook, mate)]

    assert post(f"{cook}/reply", {"text": "What is for dinner?", **options}) == [["What is for dinner?", "Soup."]] * 2
    assert post(f"{cook}/regenerate", options) == [["What is for dinner?", "Stew."]] * 2
    versions = site.state(mate)["swipes"]  # the mate has heard both
    assert [version["text"] for version in versions] == ["Soup.", "Stew."]
    first = {"seq": versions[0]["seq"], "group": group}
    assert post(f"{mate}/branch", first) == [["What is for dinner?", "Soup."]] * 2
    edit = {"seq": site.state(mate)["lines"][0]["seq"], "text": "And for supper?", "answer": False, **options}
    assert post(f"{mate}/edit", edit) == [["And for supper?"]] * 2
    assert post(f"{cook}/answer", options) == [["And for supper?", "Pie."]] * 2
    assert post(f"{mate}/undo", {"group": group}) == [[], []]
