"""Text messages, from the signed request of Twilio to the answer."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hardship import PATIENCE, llm, twilio
from hardship.twilio import ACCOUNT, ALICE, BOT, TOKEN, URL, Phone

from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.common.keys import META_GREETING
from everthread.errors import ConfigError
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.messaging import message_store
from everthread.server.messaging.message import hash_id
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.server.sms import twilio as sms_twilio
from everthread.server.sms.channel import SMS
from everthread.server.sms.segments import MAX_MESSAGES, count_segments
from everthread.server.sms.webhook import SmsService
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Line, now

SETTINGS = Settings(sms_token=TOKEN, sms_url=URL)
REMEMBER = SMS.render_text("remember?", 0)
BYE = SMS.render_text("remember-this?", 0)


class GreetedPhone(Phone):
    """A phone that ignores the greeting."""

    def send(self, text: str, *, sid: str | None = None, **more: str) -> list[str]:
        messages = super().send(text, sid=sid, **more)
        greeting = DEFAULT_CHARACTER.fill_names(DEFAULT_CHARACTER.greeting)
        return messages[1:] if messages[:1] == [greeting] else messages


@dataclass
class Bot:
    """A bot that receives text messages, and its memory."""

    folder: Path
    app: TestClient
    sms: SmsService
    store: SQLiteStore
    clock: list[datetime] = field(default_factory=list)
    asked: list[llm.Request] = field(default_factory=list)  # of the model

    def phone(self, number: str = ALICE) -> Phone:
        return GreetedPhone(self.app, number)

    def wait(self, hours: float) -> None:
        """Advance the clock."""
        self.clock[0] += timedelta(hours=hours)

    @property
    def memory(self) -> Memory:
        """Return the memory of the only person."""
        (bank,) = self.store.banks()
        return Memory(bank, self.store, HashEmbedder(64), Default())

    @property
    def lines(self) -> list[Line]:
        """Return all lines except the greeting."""
        return [line for line in self.memory.lines() if not line.metadata.get(META_GREETING)]

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]


@contextmanager
def bot(
    folder: Path,
    *behaviours: llm.ServerBehaviour,
    model: bool = True,
    settings: Settings = SETTINGS,
    api: str = "",
    patience: float = PATIENCE,
) -> Iterator[Bot]:
    """Run a bot over the banks of a folder, which survive a restart."""
    with ExitStack() as stack:
        server = stack.enter_context(llm.llm_server(*behaviours))
        store = SQLiteStore(folder)
        stack.callback(store.close)
        services = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m") if model else None, Default())
        clock = [now()]
        app = create_app(services, settings)
        service: SmsService = app.state.sms
        service.close()
        app.state.sms = service = SmsService(
            app.state.conversations,
            settings,
            folder / "server.sqlite",
            api=api or sms_twilio.API_URL,
            timeout_s=patience,
            clock=lambda: clock[0],
        )
        stack.callback(service.close)
        yield Bot(
            folder,
            stack.enter_context(TestClient(app, base_url="http://127.0.0.1:7391")),
            service,
            store,
            clock,
            server.requests,
        )


@pytest.fixture
def nemo(tmp_path: Path) -> Iterator[Bot]:
    with bot(tmp_path, "Lisbon suits her.") as nemo:
        yield nemo


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.01)


# ----------------------------------------------------------------------- requests


def test_a_message_is_stored_and_answered(nemo: Bot) -> None:
    assert nemo.phone().send("My sister Mia moved to Lisbon.") == ["Lisbon suits her."]
    assert nemo.texts == ["My sister Mia moved to Lisbon.", "Lisbon suits her."]


def test_a_request_without_a_valid_signature_is_rejected_and_not_stored(nemo: Bot) -> None:
    fields = twilio.form("Hello", "SM1")
    signature = twilio.sign(URL, fields)
    wrong = [{}, {"X-Twilio-Signature": "x"}, {"X-Twilio-Signature": twilio.sign(URL, fields, "other token")}]
    wrong += [{"X-Twilio-Signature": twilio.sign("https://evil.example/sms", fields)}]
    for headers in wrong:
        answer = nemo.app.post("/sms", data=fields, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:everthread:bad-signature")
    tampered = {**fields, "From": "+15550000000"}
    assert nemo.app.post("/sms", data=tampered, headers={"X-Twilio-Signature": signature}).status_code == 403
    assert nemo.store.banks() == []


def test_signatures_are_checked_against_the_configured_url_behind_a_proxy(nemo: Bot) -> None:
    fields = twilio.form("Hello", "SM1")
    headers = {"X-Twilio-Signature": twilio.sign(URL, fields), "Host": "127.0.0.1:7391", "X-Forwarded-Proto": "http"}
    assert nemo.app.post("/sms", data=fields, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"\xff\xfe", 400), (b"Body=%ff", 400), (b"x" * 70_000, 413), (b"a=1&" * 300, 400), (b"a=1", 403)],
)
def test_a_body_that_is_not_a_form_is_rejected(nemo: Bot, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert nemo.app.post("/sms", content=body, headers=headers).status_code == status


@pytest.mark.parametrize("change", [{"From": ""}, {"From": "Mallory"}, {"MessageSid": "", "SmsSid": ""}])
def test_a_signed_request_without_a_message_is_rejected(nemo: Bot, change: dict[str, str]) -> None:
    fields = {**twilio.form("Hello", "SM1"), **change}
    answer = nemo.app.post("/sms", data=fields, headers={"X-Twilio-Signature": twilio.sign(URL, fields)})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:everthread:no-message")


def test_without_twilios_token_there_is_no_webhook(tmp_path: Path) -> None:
    services = Services(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())
    assert (
        TestClient(create_app(services), base_url="http://127.0.0.1:7391")
        .post("/sms", data=twilio.form("Hello", "SM1"))
        .status_code
        == 404
    )


@pytest.mark.parametrize("address", ["", "bot.example.com/sms", "https://[bad", "https://", "https://bot:x/sms"])
def test_a_webhook_without_a_url_is_a_configuration_error(tmp_path: Path, address: str) -> None:
    services = Services(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())
    with pytest.raises(ConfigError, match=r"invalid sms_url: got '.*', expected the URL that Twilio calls"):
        create_app(services, replace(SETTINGS, sms_url=address))


def test_twilio_is_accepted_at_the_configured_host_without_a_key(tmp_path: Path) -> None:
    settings = replace(SETTINGS, allowed_hosts=("bot.example.com",), key_required=True)
    with bot(tmp_path, "Hello.", settings=settings) as nemo:
        fields = twilio.form("Hello", "SM1")
        headers = {"X-Twilio-Signature": twilio.sign(URL, fields), "Host": "bot.example.com"}
        answer = nemo.app.post("/sms", data=fields, headers={**headers, "X-Forwarded-For": "3.80.20.154"})
        assert answer.status_code == 200
        assert nemo.app.get("/api/v1/banks", headers={"Host": "bot.example.com"}).status_code == 401


# ---------------------------------------------------------------------- privacy


def test_each_person_has_a_bank_and_telephone_numbers_are_not_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with bot(tmp_path, "Hello.") as nemo:
        nemo.phone(ALICE).send("I keep bees.")
        nemo.phone("+442071838750").send("I keep goats.")
        nemo.phone("+442071838750").send("STOP")
        alice, bob = sorted(nemo.store.banks(), key=lambda bank: bank != f"sms/{nemo.sms.hasher.hash(ALICE)}")
        assert alice.startswith("sms/")
        hits = Memory(bob, nemo.store, HashEmbedder(64), Default()).recall("What do I keep?")
        assert "goats" in hits[0].line.text
        assert not any("bees" in hit.line.text for hit in hits)
    for file in tmp_path.rglob("*"):
        assert b"4158675309" not in file.read_bytes()
        assert b"2071838750" not in file.read_bytes()
        assert "4158675309" not in file.name
    assert "4158675309" not in caplog.text
    assert "bees" not in caplog.text


# --------------------------------------------------------------- answered once


def test_a_repeated_message_gets_the_same_answer_and_is_stored_once(tmp_path: Path) -> None:
    with bot(tmp_path, "One.", "Two.") as nemo:
        assert nemo.phone().send("Hello", sid="SM1") == ["One."]
        assert nemo.phone().send("Hello", sid="SM1") == ["One."]
        assert nemo.texts == ["Hello", "One."]
    with bot(tmp_path, "Three.") as nemo:
        assert nemo.phone().send("Hello", sid="SM1") == ["One."]
        assert nemo.texts == ["Hello", "One."]


def test_a_message_repeated_while_it_is_answered_gets_the_same_answer(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("Slow.", first=0.4), "Two.") as nemo, ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(nemo.phone().send, "Hello", sid="SM1") for _ in range(6)]
        assert [answer.result() for answer in answers] == [["Slow."]] * 6
        assert nemo.texts == ["Hello", "Slow."]


def test_a_message_whose_process_ended_is_answered_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_store, "LEASE_S", 0.2)
    with bot(tmp_path, "One.") as nemo:
        nemo.phone().send("Hello.")
        nemo.sms.store.lease("SM2")  # the message is leased, its line is stored, and the process ends
        digest = hash_id("SM2")
        nemo.memory.observe("I am back.", session=nemo.lines[0].session, key=f"sms:{digest}", speaker="user")
    with bot(tmp_path, "Welcome.") as nemo:
        assert nemo.phone().send("I am back.", sid="SM2") == ["Welcome."]
        assert nemo.texts == ["Hello.", "One.", "I am back.", "Welcome."]


def test_a_repeated_keyword_gets_the_same_answer(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    nemo.phone().send("FORGET ME")
    assert nemo.phone().send("yes", sid="SM1") == [SMS.render_text("forgotten", 3)]
    assert nemo.phone().send("yes", sid="SM1") == [SMS.render_text("forgotten", 3)]
    assert nemo.store.banks() == []


def test_messages_of_one_person_are_answered_one_at_a_time(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("One.", first=0.3), "Two.") as nemo, ThreadPoolExecutor(2) as pool:
        first = pool.submit(nemo.phone().send, "First", sid="SM1")
        wait_until(lambda: bool(nemo.store.banks()) and len(nemo.lines) == 1)
        second = pool.submit(nemo.phone().send, "Second", sid="SM2")
        assert (first.result(), second.result()) == (["One."], ["Two."])
        assert nemo.texts == ["First", "One.", "Second", "Two."]


# ---------------------------------------------------------------------- replies


def test_a_long_reply_is_split_into_messages_within_the_limits(tmp_path: Path) -> None:
    reply = " ".join(f"Word{n} and so on." for n in range(200))
    with bot(tmp_path, reply) as nemo:
        messages = nemo.phone().send("Tell me everything.")
        assert 1 < len(messages) <= MAX_MESSAGES
        assert all(count_segments(message) <= 10 and len(message) <= 1600 for message in messages)
        assert " ".join(messages) == reply
        assert nemo.texts[1] == reply


def test_the_first_answer_begins_with_the_greeting(nemo: Bot) -> None:
    services = nemo.sms.conversation.services
    memory = services.get_memory(f"sms/{nemo.sms.hasher.hash(ALICE)}", create=True)
    memory.set_setting("character", Character("Nemo", greeting="Welcome aboard.").to_json())
    assert nemo.phone().send("Hello") == ["Welcome aboard.", "Lisbon suits her."]
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]


def test_without_a_model_the_answer_quotes_recalled_lines(tmp_path: Path) -> None:
    with bot(tmp_path, model=False) as nemo:
        nemo.phone().send("My sister Mia moved to Lisbon.")
        answer = nemo.phone().send("Where does my sister Mia live?", sid="SM1")
        assert "Lisbon" in answer[0]
        assert answer[0].endswith("you told me: “My sister Mia moved to Lisbon.”")
        assert nemo.phone().send("Where does my sister Mia live?", sid="SM1") == answer
        assert len(nemo.lines) == 2


def test_a_model_failure_is_reported_and_the_message_is_stored(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Status(400)) as nemo:
        assert nemo.phone().send("Hello") == [SMS.render_text("failed", 0)]
        assert nemo.texts == ["Hello"]


def test_the_received_part_of_an_interrupted_reply_is_sent(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Cut("It was a dark and stormy night.")) as nemo:
        assert nemo.phone().send("Tell me a story") == [nemo.texts[1]]
        assert nemo.texts[1].startswith("It was a dark")


def test_pictures_are_declined_but_their_text_is_answered(nemo: Bot) -> None:
    assert nemo.phone().send("", NumMedia="1") == [SMS.render_text("pictures", 0)]
    assert nemo.store.banks() == []
    assert nemo.phone().send("My dog.", NumMedia="2") == ["Lisbon suits her.", SMS.render_text("pictures", 0)]
    assert nemo.phone().send("  ") == [SMS.render_text("nothing", 0)]


# ------------------------------------------------------------------ stop and help


@pytest.mark.parametrize("word", ["STOP", "StopAll", "unsubscribe", "Cancel", "END", "quit."])
def test_between_stop_and_start_nothing_is_answered_or_stored(tmp_path: Path, word: str) -> None:
    with bot(tmp_path, "Hello.") as nemo:
        assert nemo.phone().send(word) == [SMS.render_text("stopped", 0)]
        assert nemo.phone().send(word) == []
    with bot(tmp_path, "Hello.") as nemo:
        assert [nemo.phone().send(text) for text in ("Are you there?", "HELP", "FORGET ME", word)] == [[]] * 4
        assert nemo.store.banks() == []
        assert nemo.phone("+15550001111").send("Hi") == ["Hello."]
        assert nemo.phone().send("START") == [SMS.render_text("started", 0)]
        assert nemo.phone().send("Hi") == ["Hello."]


@pytest.mark.parametrize("word", ["yes", "UNSTOP"])
def test_yes_and_unstop_also_opt_in_again(nemo: Bot, word: str) -> None:
    nemo.phone().send("STOP")
    assert nemo.phone().send(word) == [SMS.render_text("started", 0)]


def test_help_explains_the_keywords(nemo: Bot) -> None:
    (help_text,) = nemo.phone().send("help")
    assert nemo.phone().send("INFO") == [help_text]
    assert all(word in help_text for word in ("STOP", "START", "FORGET ME"))
    assert nemo.store.banks() == []


def test_a_keyword_that_twilio_has_answered_gets_no_second_answer(nemo: Bot) -> None:
    assert nemo.phone().send("STOP", OptOutType="STOP") == []
    assert nemo.phone().send("Hello") == []
    assert nemo.phone().send("START", OptOutType="START") == []
    assert nemo.phone().send("HELP", OptOutType="HELP") == []
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]


def test_stop_during_a_reply_takes_effect_and_the_reply_is_not_sent(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("One.", first=0.5)) as nemo, ThreadPoolExecutor(1) as pool:
        first = pool.submit(nemo.phone().send, "Hello", sid="SM1")
        wait_until(lambda: bool(nemo.store.banks()) and len(nemo.lines) == 1)
        assert nemo.phone().send("STOP", sid="SM2") == [SMS.render_text("stopped", 0)]
        assert not first.done()
        assert first.result() == []


# ------------------------------------------------------------------- forgetting


def test_forget_me_asks_for_confirmation_and_a_yes_removes_everything(nemo: Bot) -> None:
    nemo.phone().send("My sister Mia moved to Lisbon.")
    assert nemo.phone().send("Forget me, please!") == [SMS.render_text("forget?", 0)]
    assert nemo.phone().send("Yes.") == ["Forgotten, for good: 3 lines. I remember nothing about you now."]
    assert nemo.store.banks() == []
    assert not any(b"Lisbon" in file.read_bytes() for file in nemo.folder.rglob("*"))
    assert nemo.phone().send("FORGET ME") == [SMS.render_text("stranger", 0)]
    assert nemo.phone().send("Hello again") == ["Lisbon suits her."]
    assert nemo.texts == ["Hello again", "Lisbon suits her."]


@pytest.mark.parametrize("path", ["/lines/2", ""])
def test_forgetting_over_rest_stops_the_reply_in_progress(tmp_path: Path, path: str) -> None:
    with bot(tmp_path, llm.Reply("word " * 200, delay=0.05)) as nemo, ThreadPoolExecutor() as pool:
        sending = pool.submit(nemo.phone().send, "My sister Mia moved to Lisbon.")
        wait_until(lambda: any(request.path.endswith("/completions") for request in nemo.asked))
        time.sleep(1.0)  # until some pieces have arrived
        bank = nemo.memory.bank.replace("/", "%2F")
        assert nemo.app.delete(f"/api/v1/banks/{bank}{path}").status_code == 200
        (answer,) = sending.result(PATIENCE) or [""]  # the whole reply takes ten seconds
        assert "word " * 200 not in answer
        assert bool(answer) == bool(nemo.store.banks()) == bool(path)  # a forgotten bank is not created again


def test_the_bot_writes_in_the_language_that_is_set_until_the_person_chooses_another(tmp_path: Path) -> None:
    with bot(tmp_path, model=False, settings=replace(SETTINGS, sms_language="de")) as nemo:
        phone = nemo.phone()
        assert phone.send("Help")[0].startswith("Ich bin ein Chatbot")
        assert phone.send("Mia moved to Lisbon.") == ["Das merke ich mir."]
        assert phone.send("LANGUE FRANÇAIS") == ["Désormais, je t'écris en français."]
        nemo.wait(0.1)
        (answer,) = phone.send("Lisbon?")
        assert re.fullmatch(r"Aujourd'hui, tu m'as dit\s: «\sMia moved to Lisbon\.\s»", answer)
        assert [line.text for line in nemo.lines] == ["Mia moved to Lisbon.", "Lisbon?"]
        assert phone.send("Oublie-moi !") == [SMS.render_text("forget?", 0, "fr")]
        assert phone.send("oui", sid="SM9") == [SMS.render_text("forgotten", 2, "fr")]
        assert phone.send("oui", sid="SM9") == [SMS.render_text("forgotten", 2, "fr")]
        assert phone.send("Forget me") == [SMS.render_text("stranger", 0, "de")]


def test_a_no_forgets_nothing(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    nemo.phone().send("FORGET ME")
    assert nemo.phone().send("no") == [SMS.render_text("spared", 0)]
    assert len(nemo.lines) == 2


def test_confirmation_is_asked_once_and_only_a_yes_forgets(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    nemo.phone().send("FORGET ME")
    assert nemo.phone().send("Yesterday I said yes to the job") == ["Lisbon suits her."]
    assert nemo.phone().send("yes") == ["Lisbon suits her."]
    assert len(nemo.lines) == 6


# ---------------------------------------------------------------------- consent


def test_after_a_long_silence_the_next_reply_asks_whether_to_remember(nemo: Bot) -> None:
    nemo.phone().send("My sister Mia moved to Lisbon.")
    nemo.wait(0.9)
    assert nemo.phone().send("And I miss her.") == ["Lisbon suits her."]
    nemo.wait(1.1)
    assert nemo.phone().send("Good morning") == ["Lisbon suits her.", REMEMBER]
    assert nemo.phone().send("yes please") == [SMS.render_text("remembered", 0)]
    assert any(job.kind == "summary" for job in nemo.memory.jobs())
    assert nemo.phone().send("What a day") == ["Lisbon suits her."]
    assert len(nemo.lines) == 8


def test_a_no_to_remembering_forgets_only_that_conversation(nemo: Bot) -> None:
    nemo.phone().send("My password is swordfish.")
    nemo.wait(2)
    nemo.phone().send("Good morning")
    assert nemo.phone().send("No, thanks") == [SMS.render_text("drop?", 0)]
    assert nemo.phone().send("Yes") == [SMS.render_text("dropped", 3)]
    assert nemo.texts == ["Good morning", "Lisbon suits her."]


def test_a_no_to_remembering_stops_a_reply_in_progress_over_rest(tmp_path: Path) -> None:
    def is_question(request: llm.Request) -> bool:
        return b"What is it?" in request.data

    slow = llm.Reply("word " * 200, delay=0.05)
    with bot(tmp_path, lambda request: slow if is_question(request) else "Noted.") as nemo:
        nemo.phone().send("My password is swordfish.")
        nemo.wait(2)
        nemo.phone().send("Good morning")
        path = f"/api/v1/banks/{nemo.memory.bank.replace('/', '%2F')}/chat/web/reply"
        with ThreadPoolExecutor() as pool:
            reply = pool.submit(nemo.app.post, path, json={"text": "What is it?"})
            wait_until(lambda: any(map(is_question, nemo.asked)))
            nemo.phone().send("No, thanks")
            assert nemo.phone().send("Yes") == [SMS.render_text("dropped", 3)]
            assert "word " * 200 not in reply.result(PATIENCE).text  # the whole reply takes ten seconds


@pytest.mark.parametrize("unclear", ["Yes, but not the part about my job", "not now", "I know", "yesterday"])
def test_an_unclear_answer_gets_a_reply_and_the_question_is_repeated(nemo: Bot, unclear: str) -> None:
    nemo.phone().send("Hello")
    nemo.wait(2)
    nemo.phone().send("Good morning")
    assert nemo.phone().send(unclear) == ["Lisbon suits her.", REMEMBER]
    assert unclear in nemo.texts
    assert nemo.phone().send("yes") == [SMS.render_text("remembered", 0)]


def test_the_question_is_repeated_only_a_few_times(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    nemo.wait(2)
    is_asked = [REMEMBER in nemo.phone().send(f"Thing {n}") for n in range(6)]
    assert is_asked == [True, True, True, False, False, False]
    assert len(nemo.lines) == 14


def test_a_goodbye_is_answered_with_the_question(nemo: Bot) -> None:
    nemo.phone().send("My sister Mia moved to Lisbon.")
    assert nemo.phone().send("Good night!") == [BYE]
    assert nemo.phone().send("no") == [SMS.render_text("drop?", 0)]
    assert nemo.phone().send("yes") == [SMS.render_text("dropped", 4)]
    nemo.phone().send("My sister Mia moved to Lisbon.")
    assert nemo.phone().send("My bus is here, bye!") == [BYE]
    assert nemo.phone().send("no") == [SMS.render_text("drop?", 0)]
    assert nemo.phone().send("yes") == [SMS.render_text("dropped", 4)]
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]


def test_a_goodbye_ends_the_conversation_whatever_the_answer(nemo: Bot) -> None:
    nemo.phone().send("My sister Mia moved to Lisbon.")
    nemo.phone().send("bye")
    assert nemo.phone().send("One more thing: she has a dog.") == ["Lisbon suits her.", REMEMBER]
    assert len(nemo.memory.sessions()) == 2
    assert nemo.phone().send("yes") == [SMS.render_text("remembered", 0)]


def test_a_goodbye_at_the_beginning_is_an_ordinary_message(nemo: Bot) -> None:
    assert nemo.phone().send("Goodbye") == ["Lisbon suits her."]


def test_a_person_who_always_remembers_is_not_asked(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    nemo.memory.set_setting("remember", "always")
    assert nemo.phone().send("bye") == [SMS.render_text("goodbye", 0)]
    nemo.wait(2)
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]
    nemo.wait(2)
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]
    assert len(nemo.memory.sessions()) == 3


def test_a_person_who_never_remembers_has_nothing_stored(nemo: Bot) -> None:
    nemo.phone().send("Hello")
    for line in nemo.lines:
        nemo.memory.forget(seq=line.seq)
    nemo.memory.set_setting("remember", "never")
    assert nemo.phone().send("My password is swordfish.", sid="SM1") == ["Lisbon suits her."]
    assert nemo.phone().send("My password is swordfish.", sid="SM1") == ["Lisbon suits her."]
    nemo.phone().send("Do you know it now?")
    assert "swordfish" in str(nemo.asked[-1].body)  # until the conversation ends
    nemo.wait(2)
    assert nemo.phone().send("Hello") == ["Lisbon suits her."]
    assert "swordfish" not in str(nemo.asked[-1].body)
    assert nemo.phone().send("Bye!") == [SMS.render_text("goodbye", 0)]
    assert nemo.lines == []
    assert not any(b"swordfish" in file.read_bytes() for file in nemo.folder.rglob("*"))


# ------------------------------------------------------------------ late replies


def test_a_late_reply_is_sent_through_twilios_api(tmp_path: Path) -> None:
    settings = replace(SETTINGS, sms_account=ACCOUNT)
    with (
        twilio.api() as api,
        bot(tmp_path, llm.Reply("At last.", first=0.6), "Two.", settings=settings, api=api.url, patience=0.1) as nemo,
    ):
        assert nemo.phone().send("Hello", sid="SM1") == []
        assert nemo.phone().send("Hello", sid="SM1") == []
        wait_until(lambda: len(api.sent) == 2)
        assert api.sent[1] == {"To": ALICE, "From": BOT, "Body": "At last."}
        assert api.asked[0][0] == f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json"
        assert nemo.phone().send("Hello", sid="SM1") == []
        assert nemo.texts == ["Hello", "At last."]


def test_a_late_reply_that_twilio_rejected_precedes_the_next_answer(tmp_path: Path) -> None:
    settings = replace(SETTINGS, sms_account=ACCOUNT, sms_number="+15550009999")
    with (
        twilio.api() as api,
        bot(tmp_path, llm.Reply("At last.", first=0.6), "Two.", settings=settings, api=api.url, patience=0.3) as nemo,
    ):
        api.statuses = [(400, 30007)]
        assert nemo.phone().send("Hello") == []
        wait_until(lambda: bool(nemo.memory.settings().get("sms", {}).get("owed")))  # type: ignore[union-attr]
        nemo.sms._timeout_s = PATIENCE
        assert nemo.phone().send("Are you there?") == ["At last.", "Two."]
        assert nemo.phone().send("Good.") == ["Two."]


def test_without_an_account_a_late_reply_precedes_the_next_answer(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("At last.", first=0.6), "Two.", patience=0.3) as nemo:
        assert nemo.phone().send("Hello", sid="SM1") == [SMS.render_text("moment", 0)]
        wait_until(lambda: bool(nemo.memory.settings().get("sms", {}).get("owed")))  # type: ignore[union-attr]
        assert nemo.phone().send("Hello", sid="SM1") == [SMS.render_text("moment", 0)]
    with bot(tmp_path, "Two.") as nemo:
        assert nemo.phone().send("Are you there?") == ["At last.", "Two."]


def test_a_person_who_opted_out_at_twilio_gets_no_messages(tmp_path: Path) -> None:
    settings = replace(SETTINGS, sms_account=ACCOUNT)
    with (
        twilio.api() as api,
        bot(tmp_path, llm.Reply("At last.", first=0.4), settings=settings, api=api.url, patience=0.1) as nemo,
    ):
        api.statuses = [(400, 21610)]
        assert nemo.phone().send("Hello") == []
        wait_until(lambda: nemo.sms.store.has_opted_out(nemo.sms.hasher.hash(ALICE)))


def test_pending_messages_are_answered_before_shutdown(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("At last.", first=0.4), patience=0.05) as nemo:
        assert nemo.phone().send("Hello") == [SMS.render_text("moment", 0)]
    with bot(tmp_path, "Two.") as nemo:
        assert nemo.texts == ["Hello", "At last."]


def test_lines_have_the_times_of_the_clock(nemo: Bot) -> None:
    nemo.clock[0] = datetime(2024, 5, 1, 12, tzinfo=UTC)
    nemo.phone().send("Hello")
    assert nemo.lines[0].said_at == datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_many_messages_of_one_person_do_not_delay_others(tmp_path: Path) -> None:
    with bot(tmp_path, llm.Reply("Slow.", first=0.3)) as nemo, ThreadPoolExecutor(8) as pool:
        flood = [pool.submit(nemo.phone().send, f"Message {n}") for n in range(8)]
        wait_until(lambda: len(nemo.store.banks()) == 1)
        assert nemo.phone("+442071838750").send("Hello") == ["Slow."]
        assert not all(answer.done() for answer in flood)
        assert all(answer.result() == ["Slow."] for answer in flood)
