"""How a chat without a model answers "What do you know about me?"."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.known_facts import MAX_FACTS
from everthread.chat.offline_answer import read_answers
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer import exporting, importing
from everthread.types import NewLine

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
FIRST = datetime(2026, 1, 5, 12, tzinfo=UTC)
TALK = ("I live in Leeds.", "My sister Mia is a nurse.", "We moved to York!", "I sold my old bike.")
ALL = [
    "This is what I know:",
    "- You live in York (since March 2026; before: Leeds). On 6 March 2026 you told me: “We moved to York!”",
    "- Mia is your sister. On 4 February 2026 you told me: “My sister Mia is a nurse.”",
]
GONE = "This answer quoted a message that is no longer remembered."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder()) as opened:
        opened.observe_many(
            NewLine(text, "Nora", said_at=FIRST + timedelta(days=30 * number), session="told")
            for number, text in enumerate(TALK)
        )
        yield opened


@pytest.fixture
def chat(memory: Memory) -> Iterator[Chat]:
    times = (NOON + timedelta(seconds=second) for second in count())
    with Chat(memory, Character("Ines", person="Nora"), llm=None, clock=lambda: next(times)) as opened:
        yield opened


def ask(chat: Chat, question: str) -> list[str]:
    return "".join(chat.reply(question)).split("\n")


def read_again(chat: Chat) -> list[str]:
    """Return the facts of the answer to the first question, as a chat that is opened later has them."""
    answers = read_answers(chat.memory, list(chat.memory.lines()))
    return [fact.text for fact in answers[len(TALK) + 1].known.facts]


def test_what_is_known_of_the_person_is_listed_with_its_lines(chat: Chat) -> None:
    assert ask(chat, "What do you know about me?") == ALL
    assert ask(chat, "What do you remember about my sister?")[1].startswith("- Mia is a nurse. On 4 February 2026")


def test_what_has_changed_is_listed_with_what_ended(chat: Chat) -> None:
    title, ended, home = ask(chat, "What has changed since March?")
    assert title == "This is new since 1 March 2026, or no longer true:"
    assert ended.startswith("- No longer true: you own a bike (until April 2026). On 5 April 2026")
    assert home.startswith("- You live in York")


def test_facts_are_sentences_in_the_language_of_the_question(chat: Chat) -> None:
    assert ask(chat, "Was weißt du über mich?")[1].startswith("- Du wohnst in York (seit März 2026; davor: Leeds).")
    assert ask(chat, "你对我了解多少？")[1].startswith("- 你住在York")


def test_the_lines_of_the_facts_are_the_evidence(chat: Chat) -> None:
    reply = chat.reply("What do you know about me?")
    "".join(reply)
    assert [hit.seq for hit in reply.context.hits] == [3, 2]
    asked = chat.lines[-1]
    assert [hit.line.text for hit in chat.memory.evidence(asked.seq).hits] == [TALK[2], TALK[1]]


def test_each_person_is_answered_with_their_own_facts(chat: Chat, memory: Memory) -> None:
    ask(chat, "Hello!")
    with Chat(memory, Character("Ines", person="Zoe"), llm=None, clock=lambda: NOON) as other:
        ask(other, "I live in Bath.")
        own = "You live in Bath."
        assert ask(other, "What do you know about me?") == [ALL[0], f"- {own} Today you told me: “I live in Bath.”"]
        answer = read_answers(memory, other.lines)[other.lines[-1].seq]
        assert [fact.text for fact in answer.known.facts] == [own]
    assert ask(chat, "What do you know about me?") == ALL


def test_after_a_change_of_name_the_person_is_answered_with_what_was_said_before(chat: Chat) -> None:
    ask(chat, "I'm allergic to kiwis.")
    chat.character = chat.character.with_changes(person="Johanna")
    ask(chat, "I'm allergic to figs.")
    answer = "\n".join(ask(chat, "What do you know about me?"))
    assert all(known in answer for known in ("You live in York", "Mia is your sister", "kiwis", "figs"))


def test_a_fact_is_quoted_by_the_line_that_states_it_not_by_a_later_question(chat: Chat) -> None:
    ask(chat, "Where does my sister Mia live?")
    assert ask(chat, "What do you know about me?") == ALL
    asked = chat.lines[-1]
    assert [hit.seq for hit in chat.memory.evidence(asked.seq).hits] == [3, 2]
    assert read_answers(chat.memory, chat.lines)[asked.seq].known.facts[-1].line.text == TALK[1]


def test_without_facts_the_answer_quotes_a_line(chat: Chat, memory: Memory) -> None:
    memory.observe("Tom waved at the lake.", speaker="Nora", said_at=FIRST, session="told")
    plain = ask(chat, "Tom waved at the lake?")
    assert plain == ["On 5 January 2026 you told me: “Tom waved at the lake.”"]
    assert "This is what I know" not in ask(chat, "What do you know about Tom?")[0]


def test_a_bank_that_never_remembers_lists_lines_and_no_facts(chat: Chat, memory: Memory) -> None:
    memory.set_setting("remember", "never")
    assert ask(chat, "What do you know about me?")[1] == "- On 5 January 2026 you told me: “I live in Leeds.”"


@pytest.mark.parametrize(
    "question", ["What do you remember?", "Qu'est-ce que je t'ai dit ?", "What did I say in 2026?"]
)
def test_a_question_for_all_that_was_said_is_answered_with_several_lines(chat: Chat, question: str) -> None:
    title, *rows = ask(chat, question)
    assert title == ALL[0]
    assert [row.partition(": “")[2] for row in rows] == [f"{text}”" for text in TALK]


def test_listed_lines_are_read_again_without_those_that_were_forgotten_or_corrected_since(chat: Chat) -> None:
    ask(chat, "What do you remember?")
    chat.memory.forget(seq=1)
    chat.memory.correct(3, "We moved to Bath!")
    known = read_answers(chat.memory, list(chat.memory.lines()))[len(TALK) + 1].known
    assert [(fact.text, fact.line.text) for fact in known.facts] == [("", TALK[1]), ("", TALK[3])]


def test_a_bank_without_facts_lists_the_lines_of_the_person(tmp_path: Path) -> None:
    with Memory.open("zoe", store=tmp_path, embedder=HashEmbedder()) as memory, Chat(memory, llm=None) as chat:
        for text in ("Bonjour !", "Mon chat s'appelle Mimi.", "Raconte-moi une blague"):
            ask(chat, text)
        assert ask(chat, "Que sais-tu de moi ?") == [ALL[0], "- Today you told me: “Mon chat s'appelle Mimi.”"]


def test_a_line_discarded_in_incognito_states_nothing(chat: Chat) -> None:
    ask(chat, "I love jazz.")
    chat.incognito = True
    chat.undo()
    assert ask(chat, "What do you know about me?") == ALL
    chat.incognito = False
    assert "jazz" in ask(chat, "What do you know about me?")[-1]


def test_an_answer_is_read_again_as_it_was(chat: Chat) -> None:
    ask(chat, "What do you know about me?")
    ask(chat, "I live in Porto.")
    assert read_again(chat) == ["You live in York (since March 2026; before: Leeds).", "Mia is your sister."]


def test_what_was_forgotten_or_corrected_since_is_not_in_an_answer(chat: Chat) -> None:
    ask(chat, "What do you know about me?")
    chat.memory.correct(3, "We moved to Bath!")
    assert read_again(chat) == ["Mia is your sister."]
    (mia,) = chat.memory.facts(attribute="sister")
    chat.memory.forget_fact(mia.id)
    assert read_again(chat) == []
    assert "York" not in str(chat.memory.store.settings(chat.memory.bank))


def test_an_answer_without_remaining_facts_says_so(chat: Chat) -> None:
    ask(chat, "What do you know about me?")
    for seq in (1, 2, 3):
        chat.memory.forget(seq=seq)
    assert read_again(chat) == []


def test_an_answer_survives_an_export_and_an_import(chat: Chat, tmp_path: Path) -> None:
    ask(chat, "What do you know about me?")
    before = read_again(chat)
    path = tmp_path / "bank.jsonl"
    path.write_text("".join(exporting.export(chat.memory)), encoding="utf-8")
    with Memory.open("other", store=chat.memory.store, embedder=HashEmbedder()) as other:
        importing.import_lines(other, importing.check_file(path, "jsonl"))
        answer = read_answers(other, list(other.lines()))[len(TALK) + 1]
    assert [fact.text for fact in answer.known.facts] == before


def test_a_reply_has_room_for_some_facts(chat: Chat, memory: Memory, tmp_path: Path) -> None:
    foods = ("tea", "figs", "cheese", "soup", "rice", "bread", "honey", "plums", "pears", "beans", "corn", "nuts")
    for food in foods:
        memory.observe_many(NewLine(f"I love {kind}{food}.", "Nora", said_at=FIRST) for kind in ("", "green "))
    rows = ask(chat, "What do you know about me?")
    assert len(rows) == MAX_FACTS + 2
    assert rows[-1] == "I know more than this; the list of facts has all of it."
    shown = [row.removeprefix("- ").partition(" On ")[0] for row in rows[1:-1]]
    memory.observe("I'm allergic to walnuts.", speaker="Nora", said_at=FIRST, session="told")
    memory.read_facts()
    answer = read_answers(memory, chat.lines)[chat.lines[-1].seq]
    assert ([fact.text for fact in answer.known.facts], answer.known.has_more) == (shown, True)
    path = tmp_path / "bank.jsonl"
    path.write_text("".join(exporting.export(memory)), encoding="utf-8")
    with Memory.open("other", store=memory.store, embedder=HashEmbedder()) as other:
        importing.import_lines(other, importing.check_file(path, "jsonl"))
        (copied,) = read_answers(other, list(other.lines())).values()
    assert copied.known.has_more


def test_facts_that_are_hidden_take_no_room(chat: Chat, memory: Memory) -> None:
    for number in range(MAX_FACTS):
        ask(chat, f"I'm allergic to nut{number}.")
    chat.incognito = True
    for _ in range(MAX_FACTS):
        chat.undo()
    assert ask(chat, "What do you know about me?") == ALL
