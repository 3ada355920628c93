from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everthread.chat import session_title
from everthread.chat.chat import Chat
from everthread.chat.scribe_worker import ScribeWorker
from everthread.common.keys import SETTING_REMEMBER
from everthread.errors import LLMUnavailable
from everthread.memory import Memory
from everthread.recipes.packabby import Packabby
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.testing import HashEmbedder, ScriptedLLM, ScriptedReply

TITLE = '{"title": "Mia in Lisbon"}'
MOVED = "My sister Mia moved to Lisbon."
Talk = Callable[..., tuple[Chat, ScriptedLLM]]


@pytest.fixture
def talk(memory: Memory) -> Iterator[Talk]:
    opened: list[tuple[Chat, ScribeWorker]] = []

    def begin(*titles: ScriptedReply, on: Memory = memory, incognito: bool = False) -> tuple[Chat, ScriptedLLM]:
        """Open a conversation whose replies come from one model, and its titles from another."""
        writer = ScriptedLLM(titles)
        worker = ScribeWorker(on, LLMScribe(writer), writes_titles=True)
        chat = Chat(on, None, ScriptedLLM(["How lovely!"] * 9), scribe_worker=worker, session="s", incognito=incognito)
        opened.append((chat, worker))
        return chat, writer

    yield begin
    for chat, worker in opened:
        chat.close()
        worker.close(5)


def say(chat: Chat, text: str) -> None:
    "".join(chat.reply(text))
    assert chat.wait(30)


def test_a_model_names_a_conversation_after_its_first_reply_and_never_again(memory: Memory, talk: Talk) -> None:
    chat, writer = talk(TITLE)
    say(chat, MOVED)
    assert session_title.read_titles(memory) == {"s": "Mia in Lisbon"}
    assert MOVED in writer.prompts[0][1].content
    assert "How lovely!" in writer.prompts[0][1].content
    say(chat, "She has a dog.")
    assert len(writer.prompts) == 1
    assert memory.sessions()[0].title is None


def test_a_title_is_written_again_for_another_first_message(memory: Memory, talk: Talk) -> None:
    chat, _ = talk(TITLE, '{"title": "Ana in Porto"}')
    say(chat, MOVED)
    "".join(chat.edit(chat.lines[-2].seq, "My sister Ana moved to Porto.") or ())
    assert chat.wait(30)
    assert session_title.read_titles(memory) == {"s": "Ana in Porto"}


@pytest.mark.parametrize("scope", ["message", "session"])
def test_a_forgotten_message_takes_the_title_with_it_to_the_last_byte(
    memory: Memory, talk: Talk, tmp_path: Path, scope: str
) -> None:
    chat, _ = talk('{"title": "Zanzibar"}')
    say(chat, MOVED)
    assert session_title.read_titles(memory) == {"s": "Zanzibar"}
    chat.forget(chat.lines[-2].seq) if scope == "message" else memory.forget(session="s")
    assert session_title.read_titles(memory) == {}
    assert not any(b"anzibar" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_conversation_forgotten_while_its_title_is_written_gets_none(memory: Memory, talk: Talk) -> None:
    def forget(_: object) -> str:
        memory.forget(session="s")
        return TITLE

    chat, _ = talk(forget)
    say(chat, MOVED)
    assert (memory.units(), memory.jobs()) == ([], [])


def test_a_conversation_with_a_persons_title_is_not_named(memory: Memory, talk: Talk) -> None:
    memory.observe("Hello.", session="s", role="user")
    memory.set_session("s", title="Mine")
    chat, writer = talk()
    say(chat, MOVED)
    assert (writer.prompts, memory.jobs()) == ([], [])


def test_no_model_is_asked_in_incognito_or_for_a_bank_that_remembers_never(memory: Memory, talk: Talk) -> None:
    chat, writer = talk(incognito=True)
    say(chat, MOVED)
    memory.set_setting(SETTING_REMEMBER, "never")
    never, other = talk()
    say(never, MOVED)
    assert (writer.prompts, other.prompts, memory.units(), memory.jobs()) == ([], [], [], [])


def test_no_model_is_asked_where_a_summary_needs_consent(tmp_path: Path, talk: Talk) -> None:
    with Memory.open("bob", store=tmp_path, embedder=HashEmbedder(), recipe=Packabby()) as memory:
        chat, writer = talk(on=memory)
        say(chat, MOVED)
        chat.close()
        assert (writer.prompts, memory.jobs()) == ([], [])


def test_without_a_model_for_notes_or_the_wish_for_titles_none_is_written(memory: Memory) -> None:
    for scribe, wanted in ((ExtractiveScribe(), True), (LLMScribe(ScriptedLLM([])), False)):
        worker = ScribeWorker(memory, scribe, writes_titles=wanted)
        with Chat(memory, None, ScriptedLLM(["How lovely!"]), scribe_worker=worker, session=scribe.name) as chat:
            say(chat, MOVED)
        assert (memory.units("title"), memory.jobs()) == ([], [])


@pytest.mark.parametrize("answer", ['{"title": "..."}', "I can't help with that.", '{"title": "PIN 4711 of the card"}'])
def test_a_silly_answer_or_a_secret_leaves_a_conversation_without_a_title(
    memory: Memory, talk: Talk, answer: str
) -> None:
    chat, writer = talk(answer, answer)
    say(chat, MOVED)
    assert (session_title.read_titles(memory), memory.jobs()) == ({}, [])
    assert len(writer.prompts) <= 2


def test_a_model_that_fails_is_asked_a_limited_number_of_times(
    memory: Memory, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everthread.chat.scribe_worker.RETRY_DELAY_S", 0.0)
    chat, writer = talk(*[LLMUnavailable("down")] * 9)
    say(chat, MOVED)
    assert (len(writer.prompts), memory.jobs()) == (session_title.MAX_TRIES, [])


def test_a_reply_that_was_cut_off_makes_no_first_exchange(memory: Memory) -> None:
    memory.observe(MOVED, speaker="Nora")
    memory.observe("Well, I", speaker="Ever", role="assistant", metadata={"partial": True, "cut": "stopped"})
    assert not session_title.is_first_exchange(list(memory.lines()))
    memory.observe("Lisbon!", speaker="Ever", role="assistant")
    assert session_title.is_first_exchange([next(iter(memory.lines())), list(memory.lines())[-1]])
