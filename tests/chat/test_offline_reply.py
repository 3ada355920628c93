"""Which words a reply without a model quotes a memory with."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.offline_answer import OfflineAnswer
from everthread.chat.offline_reply import MAX_NEAR_MISSES, choose_near_misses, render
from everthread.common.keys import SETTING_DEMO
from everthread.embedders.onnx import OnnxEmbedder
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.types import Hit, Line

WORDS = load_wording("en")
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
NAMES = {"Nora", "user"}
TODAY, TOMORROW = NOON.date(), NOON.date() + timedelta(days=1)
QUOTE = "On 23 November 2026 you told me: “I like tea.”"


def line(seq: int, text: str) -> Line:
    return Line(seq, "s", "user", "Nora", text, NOON)


def quote(text: str = "I like tea.", is_sure: bool = True) -> OfflineAnswer:
    return OfflineAnswer("quote", line(1, text), is_sure)


def test_a_memory_is_quoted_with_its_date_and_in_doubt_if_it_may_not_be_relevant() -> None:
    assert render(quote(), NAMES, WORDS, TOMORROW) == QUOTE
    doubt = f"I'm not sure, but this may be related. {QUOTE}"
    assert render(quote(is_sure=False), NAMES, WORDS, TOMORROW) == doubt


def test_a_memory_of_the_same_day_is_quoted_without_its_date() -> None:
    assert render(quote(), NAMES, WORDS, TODAY) == "Today you told me: “I like tea.”"


def test_only_a_line_without_a_statement_is_quoted_as_a_question() -> None:
    assert render(quote("Where is the tea?"), NAMES, WORDS, TODAY).startswith("Today you asked me:")
    assert render(quote("I like tea. Do you?"), NAMES, WORDS, TODAY).startswith("Today you told me:")


def test_lines_of_an_earlier_name_are_the_users_also_in_incognito_and_with_another_character(memory: Memory) -> None:
    with Chat(memory, Character("Ines", person="Nora"), llm=None, clock=lambda: NOON) as chat:
        chat.hear("I like green tea.")
        chat.edit_character(person="Eleonora")
    with Chat(memory, Character("Ondine", person="Elly"), llm=None, incognito=True) as chat:
        chat.edit_character(person="El")
        assert chat.person_names == {"El", "Eleonora", "Nora", "user"}
        assert "On 23 November 2026 you told me: “I like green tea.”" in "".join(chat.reply("I like green tea?"))
    assert "Elly" not in str(memory.settings())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (OfflineAnswer("quote"), "This answer quoted a message that is no longer remembered."),
        (OfflineAnswer("nothing"), "I remember nothing about that yet."),
        (OfflineAnswer("remembered"), "I'll remember that."),
        (OfflineAnswer("unsaved"), "I won't remember that."),
        (OfflineAnswer("listening"), "I'm listening."),
        (OfflineAnswer("remembered", line(1, "I like tea.")), f"I'll remember that. {QUOTE}"),
        (OfflineAnswer("command"), WORDS("chat.deletion_hint")),
    ],
)
def test_an_answer_without_a_memory_has_a_text_of_its_own(answer: OfflineAnswer, text: str) -> None:
    assert render(answer, NAMES, WORDS) == text


def test_the_first_messages_of_a_new_bank_are_not_answered_by_one_another(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        said = ("Hello!", "I have a cat called Momo.", "My sister Mia moved to Lisbon.", "thanks")
        replies = ["".join(chat.reply(text)) for text in said]
        assert replies == ["I'm listening.", "I'll remember that.", "I'll remember that.", "I'm listening."]
        for question in ("What is my cat called?", "what is my cat called"):
            assert "".join(chat.reply(question)) == "Today you told me: “I have a cat called Momo.”"


def test_questions_typed_as_in_chats_are_answered_and_not_quoted(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        unknown = ["".join(chat.reply("whats my shoe size")) for _ in range(2)]
        assert unknown == ["I remember nothing about that yet."] * 2
        for text in ("my shoe size is 44", "my dogs name is biscuit"):
            "".join(chat.reply(text))
        assert "".join(chat.reply("whats my shoe size")) == "Today you told me: “my shoe size is 44”"
        for question in ("do u know my dogs name", "wats my dogs name"):
            assert "".join(chat.reply(question)) == "Today you told me: “my dogs name is biscuit”"
        shown = memory.context("whats my dogs name").hits
        assert [hit.source.text for hit in shown][:1] == ["my dogs name is biscuit"]


def test_near_misses_are_listed_under_a_label_and_leave_out_questions_and_the_newest_line() -> None:
    lines = [line(9, "Newest."), line(8, "Is it?"), *(line(seq, f"Line {seq}.") for seq in range(1, 6))]
    near = choose_near_misses([Hit(each, 0.0, 0.01, {}, (each,)) for each in lines], lines[0])
    assert [hit.seq for hit in near] == [1, 2, 3][:MAX_NEAR_MISSES]
    assert render(OfflineAnswer("nothing"), NAMES, WORDS, TOMORROW, near[:1]).split("\n") == [
        "Nothing answers that. Closest to it:",
        "On 23 November 2026 you told me: “Line 1.”",
    ]


@pytest.mark.parametrize("is_demo", [True, False])
def test_only_the_bank_of_the_demo_lists_near_misses(memory: Memory, is_demo: bool) -> None:
    memory.observe("I like tea.", speaker="Nora", said_at=NOON, session="old")
    if is_demo:
        memory.set_setting(SETTING_DEMO, "en")
    with Chat(memory, llm=None) as chat:
        reply = "".join(chat.reply("zzz qqq xxx?"))
    assert ("I remember nothing about that yet." in reply) != is_demo
    assert (reply.startswith("Nothing answers that. Closest to it:\n") and "“I like tea.”" in reply) == is_demo
