"""Which words a reply without a model quotes a memory with."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.offline_reply import MAX_NEAR_MISSES, STATED_RELEVANCE, choose_near_misses, drop_unrelated, render
from everthread.common.keys import META_RECALLED, SETTING_DEMO
from everthread.embedders.onnx import OnnxEmbedder
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.stores.evidence import SURE_RELEVANCE, is_answer_sure
from everthread.types import Context, Hit, JSONValue, Line

WORDS = load_wording("en")
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
QUOTE = "On 23 November 2026 you told me: “I like tea.”"


def line(seq: int, text: str) -> Line:
    return Line(seq, "s", "user", "Nora", text, NOON)


def context(relevance: float, of_message: float = 0.9) -> Context:
    tea = line(1, "I like tea.")
    return Context("", 0, (tea,), (Hit(tea, 1.0, relevance, {}, (tea,)),), (), of_message)


def said_later(text: str, days: int = 1) -> Line:
    return replace(line(2, text), said_at=NOON + timedelta(days=days))


@pytest.mark.parametrize(
    ("relevance", "reply"),
    [(SURE_RELEVANCE, QUOTE), (SURE_RELEVANCE - 0.01, f"I'm not sure, but this may be related. {QUOTE}")],
)
def test_a_memory_is_stated_from_a_bound_of_relevance_on_and_quoted_in_doubt_below_it(
    relevance: float, reply: str
) -> None:
    assert render(context(relevance), said_later("Do I have a dog?"), {"Nora"}, False, WORDS) == reply
    record: dict[str, JSONValue] = {"answer": 1, "hits": [{"seq": 1, "relevance": relevance, "passage": [1]}]}
    assert is_answer_sure({META_RECALLED: record}) == (reply == QUOTE)


def test_a_memory_of_the_same_day_is_quoted_without_its_date() -> None:
    assert (
        render(context(0.9), said_later("Do I like tea?", 0), {"Nora"}, False, WORDS)
        == "Today you told me: “I like tea.”"
    )
    assert render(context(0.9), said_later("Do I like tea?"), {"Nora"}, False, WORDS) == QUOTE


def test_lines_of_an_earlier_name_are_the_users_also_in_incognito_and_with_another_character(memory: Memory) -> None:
    memory.observe("I like green tea.", speaker="Nora", said_at=NOON, session="old")
    with Chat(memory, Character("Ines", person="Nora"), llm=None) as chat:
        chat.edit_character(person="Eleonora")
    with Chat(memory, Character("Ondine", person="Elly"), llm=None, incognito=True) as chat:
        chat.edit_character(person="El")
        assert chat.person_names == {"El", "Eleonora", "Nora", "user"}
        assert "On 23 November 2026 you told me: “I like green tea.”" in "".join(chat.reply("I like green tea?"))
    assert "Elly" not in str(memory.settings())


@pytest.mark.parametrize(
    ("message", "relevance", "is_quoted"),
    [
        ("My sister moved to Lisbon.", STATED_RELEVANCE - 0.01, False),
        ("I drank tea again.", STATED_RELEVANCE, True),
        ("Do I like tea?", 0.3, True),
    ],
)
def test_nothing_is_quoted_to_a_statement_that_hardly_concerns_it(
    message: str, relevance: float, is_quoted: bool
) -> None:
    kept = drop_unrelated(context(0.5, relevance), message)
    assert bool(kept.hits) == is_quoted
    assert kept.relevance == relevance


def test_the_first_statements_of_a_new_bank_are_not_answered_by_one_another(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        replies = [
            "".join(chat.reply(text)) for text in ("I have a cat called Momo.", "My sister Mia moved to Lisbon.")
        ]
        assert replies == ["I'll remember that."] * 2
        assert "".join(chat.reply("What is my cat called?")) == "Today you told me: “I have a cat called Momo.”"


def test_near_misses_are_listed_under_a_label_and_leave_out_questions_and_the_newest_line() -> None:
    lines = [line(9, "Newest."), line(8, "Is it?"), *(line(seq, f"Line {seq}.") for seq in range(1, 6))]
    near = choose_near_misses([Hit(each, 0.0, 0.01, {}, (each,)) for each in lines], lines[0])
    assert [hit.seq for hit in near] == [1, 2, 3][:MAX_NEAR_MISSES]
    empty = Context("", 0, (), (), (), 0.0)
    shown = render(empty, said_later("Do I have a dog?"), {"Nora"}, False, WORDS, near[:1])
    assert shown.split("\n") == [
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
