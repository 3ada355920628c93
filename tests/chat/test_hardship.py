"""Failures of a model server: each is reported on one line, and no line is lost or falsely saved."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hardship import PATIENCE, SOON, killed_talk
from hardship.llm import (
    HTML,
    LATIN,
    MALFORMED,
    Cut,
    Mute,
    Raw,
    Reply,
    Server,
    ServerBehaviour,
    Stall,
    Status,
    closed_port,
    llm_server,
)
from hardship.python import start_python

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.reply import MAX_REPLY_CHARS, Truncation
from everthread.chat.reply import Reply as ChatReply
from everthread.chat.reply_filter import ReplyFilter
from everthread.cli.repl import ChatRepl
from everthread.cli.screen import Screen
from everthread.errors import LLMDenied, LLMRejected, LLMUnavailable, ModelError, ModelNotFound
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import Context, Line

CAPTAIN = Character("Captain", person="Nora")


@contextmanager
def open_chat(memory: Memory, *behaviours: ServerBehaviour, timeout: float = PATIENCE) -> Iterator[tuple[Chat, Server]]:
    """Open a conversation with a model server of these behaviours."""
    with llm_server(*behaviours) as server:
        model = OpenAICompatible(server.url, "m", "sk-hush", timeout=timeout, retries=2, sleep=lambda _: None)
        with Chat(memory, CAPTAIN, model, scribe=ExtractiveScribe()) as chat:
            yield chat, server


def get_reply_text(chat: Chat, text: str) -> str:
    return "".join(chat.reply(text))


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


FAULTS: list[tuple[ServerBehaviour, type[ModelError]]] = [
    (Status(401), LLMDenied),
    (Status(403), LLMDenied),
    (Status(404), ModelNotFound),
    (Status(413), LLMRejected),
    (HTML, LLMUnavailable),
    (MALFORMED, LLMUnavailable),
    (LATIN, LLMUnavailable),
    (Reply(""), LLMUnavailable),
]


@pytest.mark.parametrize(("fault", "error"), FAULTS, ids=lambda each: str(each)[:24])
def test_the_users_line_is_saved_and_the_chat_continues_after_any_server_error(
    memory: Memory, fault: ServerBehaviour, error: type[ModelError]
) -> None:
    with open_chat(memory, fault, "Fair winds.") as (chat, _):
        with pytest.raises(error) as caught:
            get_reply_text(chat, "I sold the blue boat.")
        assert texts(memory) == ["I sold the blue boat."]
        assert "\n" not in str(caught.value)
        assert not any(word in str(caught.value) for word in ("blue", "sk-hush"))
        assert "".join(chat.regenerate()) == "Fair winds."
    assert texts(memory) == ["I sold the blue boat.", "Fair winds."]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(memory: Memory, status: int) -> None:
    with open_chat(memory, Status(status), Status(status), "Here I am.") as (chat, server):
        assert get_reply_text(chat, "Hello.") == "Here I am."
        assert len(server.asked) == 3


def test_a_server_that_stays_busy_is_given_up_after_a_few_attempts(memory: Memory) -> None:
    with open_chat(memory, Status(500)) as (chat, server):
        with pytest.raises(LLMUnavailable):
            get_reply_text(chat, "Hello.")
        assert len(server.asked) == 3
    assert texts(memory) == ["Hello."]


def test_an_unreachable_server_is_reported_in_one_line(memory: Memory) -> None:
    with closed_port() as port:
        model = OpenAICompatible(f"http://127.0.0.1:{port}/v1", "m", retries=1, sleep=lambda _: None)
        with Chat(memory, CAPTAIN, model) as chat, pytest.raises(LLMUnavailable):
            get_reply_text(chat, "Hello.")
    assert texts(memory) == ["Hello."]


def test_a_server_that_never_responds_times_out(memory: Memory) -> None:
    with open_chat(memory, Mute(), timeout=0.3) as (chat, _), pytest.raises(LLMUnavailable):
        get_reply_text(chat, "Hello.")
    assert texts(memory) == ["Hello."]


@pytest.mark.parametrize("how", ["chunk", "reset", "clean"])
def test_the_text_of_a_broken_http_stream_is_saved_as_partial(memory: Memory, how: str) -> None:
    with open_chat(memory, Cut("I saw a whale", how), "Aye.") as (chat, _):  # type: ignore[arg-type]
        with pytest.raises(LLMUnavailable):
            get_reply_text(chat, "What did you see?")
        line = list(memory.lines())[-1]
        assert "I saw a whale".startswith(line.text)
        assert (line.metadata["partial"], line.metadata["cut"]) == (True, "broken")
        assert get_reply_text(chat, "And then?") == "Aye."


def test_the_text_of_a_stalled_stream_is_saved(memory: Memory) -> None:
    with open_chat(memory, Stall("I saw a whale and "), timeout=1.0) as (chat, _), pytest.raises(LLMUnavailable):
        get_reply_text(chat, "What did you see?")
    assert texts(memory)[-1] == "I saw a whale and"


def test_a_reply_can_be_stopped_from_another_thread_while_the_server_is_silent(memory: Memory) -> None:
    with open_chat(memory, Stall("I saw "), timeout=PATIENCE) as (chat, server):
        reply = chat.reply("What did you see?")
        assert next(reply).strip() == "I"
        threading.Timer(0.1, reply.stop).start()
        begun = time.monotonic()
        list(reply)
        assert time.monotonic() - begun < SOON
        assert server.hung_up.wait(PATIENCE)
    assert reply.partial
    assert list(memory.lines())[-1].metadata["cut"] == "stopped"
    assert texts(memory)[-1] == "I saw"


def test_an_endless_reply_is_cut_and_marked(memory: Memory) -> None:
    with open_chat(memory, Reply(["words " * 1000] * 180)) as (chat, _):  # 1 MB
        reply = chat.reply("Tell me everything.")
        assert len("".join(reply)) <= MAX_REPLY_CHARS
        assert (reply.partial, reply.truncation) == (True, "length")
    assert MAX_REPLY_CHARS * 0.9 < len(texts(memory)[-1]) <= MAX_REPLY_CHARS


def test_a_reply_cut_by_the_server_for_its_length_is_partial(memory: Memory) -> None:
    with open_chat(memory, Reply("And so on and", finish="length")) as (chat, _):
        reply = chat.reply("Tell me.")
        assert "".join(reply) == "And so on and"
        assert reply.partial
        assert reply.line is not None
        assert reply.line.metadata["cut"] == "length"


def test_a_reply_that_speaks_for_the_user_is_cut_and_its_request_cancelled(memory: Memory) -> None:
    story = ["Captain: Aye.", "\n", "Us", "er", ": and", " then I jumped.\n", *["And so on. "] * 500]
    with open_chat(memory, Reply(story, delay=0.001)) as (chat, _):
        assert get_reply_text(chat, "Well?") == "Aye."
    assert texts(memory)[-1] == "Aye."


@pytest.mark.parametrize(
    "reply", [Reply("I can't talk about that.", refusal=True), Reply("No.", finish="content_filter")]
)
def test_a_refusal_is_not_recalled(memory: Memory, reply: Reply) -> None:
    with open_chat(memory, reply, "Aye.") as (chat, server):
        refused = chat.reply("Sing!")
        assert "".join(refused)
        assert refused.refused
        assert texts(memory) == ["Sing!"]
        get_reply_text(chat, "Please.")
        assert reply.text not in str(server.bodies[-1]["messages"])  # type: ignore[operator]


def test_each_reply_has_the_token_counts_of_the_server(memory: Memory) -> None:
    with open_chat(memory, Reply("Aye.", usage=(120, 3))) as (chat, _):
        reply = chat.reply("Hello.")
        assert "".join(reply)
        assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (120, 3, False)


def test_a_scribe_with_a_broken_model_leaves_its_jobs_queued_and_the_chat_continues(memory: Memory) -> None:
    broken: list[ServerBehaviour] = ["no JSON at all", '{"points": [', "", "I'm sorry, I can't.", Status(500), HTML]
    with llm_server("Aye.", *broken, HTML) as server:
        model = OpenAICompatible(server.url, "m", retries=0, sleep=lambda _: None)
        with Chat(memory, CAPTAIN, model) as chat:
            get_reply_text(chat, "I sold the blue boat.")
            assert chat.end(remember=True).remembered
            assert chat.wait(120)
            assert memory.stats().queued == 2
            assert memory.units("note") == memory.units("summary") == []
    assert all(work.tries == 1 and work.error for work in memory.jobs())
    assert texts(memory) == ["I sold the blue boat.", "Aye."]


def test_a_chat_in_the_terminal_survives_every_server_error(memory: Memory) -> None:
    behaviours: list[ServerBehaviour] = [*[fault for fault, _ in FAULTS], Cut("I saw", "reset"), "Fair winds."]
    waiting = iter([f"Line {n}." for n in range(len(behaviours))] + ["/quit"])
    screen: list[str] = []
    with open_chat(memory, *behaviours) as (chat, _):
        ChatRepl(chat, Screen(lambda _: next(waiting), screen.append)).run()
    shown = "".join(screen)
    saved = r"Your message (?:is|and the reply so far are) saved; /again asks for a reply"
    assert len(re.findall(saved, shown)) == len(behaviours) - 1
    assert "Captain: Fair winds.\n" in shown
    assert "Traceback" not in shown
    assert [text for text in texts(memory) if text.startswith("Line")] == [f"Line {n}." for n in range(len(behaviours))]


PROGRAM = """
import sys
from everthread import Chat, Memory
from everthread.testing import HashEmbedder
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.chat.character import Character

with Memory.open("alice", store=sys.argv[1], embedder=HashEmbedder(512)) as memory:
    chat = Chat(memory, Character("Captain", person="Nora"), OpenAICompatible(sys.argv[2], "m"))
    for piece in chat.reply("Is anybody there?"):
        print(piece, flush=True)
"""


def test_a_session_resumes_after_its_process_was_killed_during_a_reply(tmp_path: Path) -> None:
    with llm_server(Stall("I am "), "I am here.") as server:
        with start_python("-c", PROGRAM, tmp_path, server.url, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline().strip() == "I"
            child.send_signal(signal.SIGKILL)
        with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as memory:
            assert texts(memory) == ["Is anybody there?"]
            assert memory.store.check("alice") == []
            with Chat(memory, CAPTAIN, OpenAICompatible(server.url, "m"), scribe=ExtractiveScribe()) as chat:
                assert chat.is_unanswered
                assert "".join(chat.answer()) == "I am here."
            assert texts(memory) == ["Is anybody there?", "I am here."]


def test_a_killed_process_leaves_every_step_done_or_undone(tmp_path: Path) -> None:
    assert killed_talk.run(5, tmp_path) > 5


PIECE = b'data: {"choices": [{"index": 0, "delta": {"content": "word "}}]}\n\n'
NOTHING = Context("", 0, (), (), (), 0.0)


class SavedReplies:
    """Saves a reply slowly."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.texts: list[str] = []

    def __call__(self, text: str, *, truncation: Truncation, refused: bool) -> Line | None:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.texts.append(text)
        return None


class Interrupted(ChatReply):
    """Reply whose `stop` pauses until pieces have been pushed."""

    pushed = threading.Event()

    def _finish(self, truncation: Truncation = "") -> bool:
        self.pushed.wait(PATIENCE)
        return super()._finish(truncation)


def test_stopping_a_reply_at_its_first_pieces_blocks_no_other_reply() -> None:
    saved = SavedReplies()
    saved.go.set()
    with llm_server(Raw(PIECE * 3000, unfinished=True), "Hello.") as server:
        llm = OpenAICompatible(server.url, "m")
        one = Interrupted(NOTHING, None, lambda: llm.stream([]), ReplyFilter("Captain", ()), saved)
        stopping = threading.Thread(target=one.stop, daemon=True)
        stopping.start()
        one.listen(lambda piece: one.pushed.set(), lambda: None)
        stopping.join(PATIENCE)
        assert not stopping.is_alive()
        assert llm.complete([]) == "Hello."
    assert saved.texts == [one.text.strip()] != [""]


def test_the_reader_of_a_stopped_reply_continues_once_it_is_saved() -> None:
    saved = SavedReplies()
    with llm_server(Stall("One two")) as server:
        llm = OpenAICompatible(server.url, "m")
        one = ChatReply(NOTHING, None, lambda: llm.stream([]), ReplyFilter("Captain", ()), saved)
        assert next(one) == "One"
        stopping = threading.Thread(target=one.stop)
        stopping.start()
        assert saved.begun.wait(PATIENCE)
        reading = threading.Thread(target=lambda: next(one, None))
        reading.start()
        reading.join(0.2)
        assert reading.is_alive()
        saved.go.set()
        reading.join(PATIENCE)
        assert not reading.is_alive()
        stopping.join(PATIENCE)
    assert saved.texts == ["One"]
