"""Which questions ask for all that is known of someone or for what has changed, and the facts that answer them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from everthread.facts import overview
from everthread.facts.asker import find_asker
from everthread.facts.attributes import ATTRIBUTES, FAVOURITE, TOPICS
from everthread.facts.overview import LATELY, parse_overview, select_overview
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import NewLine

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
FIRST = datetime(2026, 1, 5, 12, tzinfo=UTC)
SPRING = datetime(2026, 3, 1, tzinfo=UTC)
TALK = (
    "I love jazz.",
    "I live in Leeds.",
    "My sister Mia is a nurse.",
    "We moved to York!",
    "I sold my old bike.",
    "Mia moved to Porto.",
    "The weather is awful today.",
)
DATA = tomllib.loads(Path(overview.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder()) as opened:
        opened.observe_many(
            NewLine(text, "Nora", said_at=FIRST + timedelta(days=30 * number)) for number, text in enumerate(TALK)
        )
        yield opened


def ask(memory: Memory, question: str, moment: datetime = NOW) -> list[str]:
    """Return the facts that answer a question, as "subject attribute value"."""
    asked, known = parse_overview(question, moment), memory.read_known()
    assert asked is not None
    found = select_overview(asked, known, partial(find_asker, memory.store, memory.bank, known), moment, is_past=True)
    return [f"{fact.subject} {fact.attribute} {fact.value}" for fact in found]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What do you know about me?", ("me",)),
        ("Kit, what do you know about me?", ("me",)),
        ("What do you know about me, Kit?", ("me",)),
        ("@Kit what do you know about Mia, Tom and Ben?", ("Mia", "Tom", "Ben")),
        ("キット、私について何を知っていますか？", ("私",)),
        ("And what do you still remember about my sister", ("my sister",)),
        ("what do you know about Mia and Tom?", ("Mia", "Tom")),
        ("Tell me everything you know about me.", ("me",)),
        ("wat do u kno about me", ("me",)),
        ("tell me what u know about me", ("me",)),
        ("what do u know about me so far", ("me",)),
        ("was weißt du bisher über mich", ("mich",)),
        ("q sabes de mi", ("mi",)),
        ("Was weißt du über mich?", ("mich",)),
        ("Que sais-tu de moi ?", ("moi",)),
        ("Qu’est-ce que tu as retenu sur Mia et Tom ?", ("Mia", "Tom")),
        ("Dis-moi tout ce que tu sais de Mia", ("Mia",)),
        ("私のこと、何を覚えてる？", ("私",)),
        ("私について何を知っていますか？", ("私",)),
        ("ミアとトムについて知っていることを全部教えて", ("ミア", "トム")),
        ("was weisst du ueber mich", ("mich",)),
        ("Erzähl mir alles, was du noch über Mia weißt.", ("Mia",)),
        ("¿Qué sabes de mí?", ("mí",)),
        ("Dime todo lo que recuerdas sobre Mia", ("Mia",)),
        ("你知道关于我的什么事？", ("我",)),
        ("你对小美了解多少？", ("小美",)),
    ],
)
def test_a_question_for_all_that_is_known_names_people(question: str, names: tuple[str, ...]) -> None:
    asked = parse_overview(question, NOW)
    assert asked is not None
    assert (asked.names, asked.since) == (names, None)


@pytest.mark.parametrize(
    ("question", "since", "names"),
    [
        ("What has changed since spring?", SPRING, ()),
        ("whats changed since spring", SPRING, ()),
        ("What's new about Mia since last month?", datetime(2026, 10, 1, tzinfo=UTC), ("Mia",)),
        ("What have you learned about me since March 2026?", SPRING, ("me",)),
        ("What has changed lately?", NOW - LATELY, ()),
        ("What has changed since winter?", datetime(2025, 12, 1, tzinfo=UTC), ()),
        ("What has changed since last spring?", SPRING, ()),
        ("What has changed this year?", datetime(2026, 1, 1, tzinfo=UTC), ()),
        ("Has anything changed in the last two months?", datetime(2026, 9, 1, tzinfo=UTC), ()),
        ("Qu'est-ce qui a changé depuis le printemps ?", SPRING, ()),
        ("Quoi de neuf pour Mia dernièrement ?", NOW - LATELY, ("Mia",)),
        ("春から何が変わった？", SPRING, ()),
        ("去年の冬から何が変わった？", datetime(2025, 12, 1, tzinfo=UTC), ()),
        ("最近ミアについて何が変わりましたか？", NOW - LATELY, ("ミア",)),
        ("Was hat sich seit letztem Jahr geändert?", datetime(2025, 1, 1, tzinfo=UTC), ()),
        ("Was hat sich seit letztem März bei Mia geändert?", SPRING, ("Mia",)),
        ("Was hat sich in den letzten drei Monaten getan?", datetime(2026, 8, 1, tzinfo=UTC), ()),
        ("¿Qué ha cambiado este año?", datetime(2026, 1, 1, tzinfo=UTC), ()),
        ("¿Qué ha cambiado en los últimos tres meses?", datetime(2026, 8, 1, tzinfo=UTC), ()),
        ("今年有什么变化？", datetime(2026, 1, 1, tzinfo=UTC), ()),
        ("最近三个月有什么变化？", datetime(2026, 8, 1, tzinfo=UTC), ()),
        ("Was hat sich seit dem Frühling bei Mia geändert?", SPRING, ("Mia",)),
        ("Was hat sich seit drei Tagen getan?", datetime(2026, 11, 25, tzinfo=UTC), ()),
        ("¿Qué ha cambiado desde la primavera?", SPRING, ()),
        ("¿Qué hay de nuevo desde marzo?", SPRING, ()),
        ("春天以来有什么变化？", SPRING, ()),
        ("今年春天以来有什么变化？", SPRING, ()),
        ("去年春天以来有什么变化？", datetime(2025, 3, 1, tzinfo=UTC), ()),
        ("去年冬天以来有什么变化？", datetime(2025, 12, 1, tzinfo=UTC), ()),
        ("从三月以来我有什么变化？", SPRING, ("我",)),
    ],
)
def test_a_question_for_changes_names_a_time(question: str, since: datetime, names: tuple[str, ...]) -> None:
    asked = parse_overview(question, NOW)
    assert asked is not None
    assert (asked.since, asked.names) == (since, names)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "I know about Mia.",
        "Tell me something.",
        "Tell me about Mia.",
        "Do you remember what I told you about Mia?",
        "What has changed since the wedding?",
        "What has changed?",
        "You know me.",
        "Weißt du was?",
        "Tu sais quoi ?",
        "Qu'est-ce qui a changé depuis le mariage ?",
        "ミアのことを知っています。",
        "結婚式から何が変わった？",
        "我知道小美。",
        "What do you know about me? " * 20,
    ],
)
def test_other_messages_ask_for_no_overview(question: str) -> None:
    assert parse_overview(question, NOW) is None


@pytest.mark.parametrize("question", ["What has changed since spring?", "What's new lately?", "What's new this year?"])
def test_no_change_is_asked_for_at_the_ends_of_the_calendar(question: str) -> None:
    assert parse_overview(question, NOW) is not None
    for moment in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        assert parse_overview(question, moment) is None


def test_what_is_known_of_a_person_is_what_holds_by_topic(memory: Memory) -> None:
    about_nora = ["Nora home York", "Nora sister Mia", "Nora likes jazz"]
    assert ask(memory, "What do you know about me?") == about_nora
    assert ask(memory, "Was weißt du über Nora?") == about_nora
    assert ask(memory, "What do you know about Mia?") == ["Mia home Porto", "Mia occupation nurse", "Nora sister Mia"]
    assert ask(memory, "What do you know about me and Mia?")[-1] == "Mia occupation nurse"


def test_a_relative_is_found_with_the_fact_that_makes_them_one(memory: Memory) -> None:
    found = ask(memory, "What do you know about my sister?")
    assert found == ["Mia home Porto", "Mia occupation nurse", "Nora sister Mia"]


@pytest.mark.parametrize("about", ["black holes", "Tom", "my brother", "Mia's job", "me and jazz", "Mia and Tom"])
def test_what_is_not_a_known_person_alone_has_no_facts(memory: Memory, about: str) -> None:
    assert ask(memory, f"What do you know about {about}?") == []


def test_what_has_changed_was_learnt_or_ended_in_that_time(memory: Memory) -> None:
    learnt = ["Mia home Porto", "Nora owns bike", "Nora home York", "Nora sister Mia", "Mia occupation nurse"]
    assert ask(memory, "What has changed since spring?") == learnt
    assert ask(memory, "What has changed for Mia since June?") == ["Mia home Porto"]
    assert ask(memory, "What has changed lately?") == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [("I moved to Bonn in 2010.", "Nora home Bonn"), ("I sold my boat in 2019.", "Nora owns boat")],
)
def test_a_memory_was_learnt_when_it_was_said(memory: Memory, text: str, fact: str) -> None:
    memory.observe(text, speaker="Nora", said_at=NOW - timedelta(days=1))
    assert ask(memory, "What have you learned lately?") == [fact]
    assert ask(memory, "What has changed lately?", NOW + timedelta(days=60)) == []


def test_what_was_said_after_the_moment_of_the_question_is_not_known(memory: Memory) -> None:
    before = FIRST + timedelta(days=40)
    assert ask(memory, "What do you know about me?", before) == ["Nora home Leeds", "Nora likes jazz"]
    assert ask(memory, "What has changed lately?", before)[0] == "Nora home Leeds"


def test_a_line_without_a_date_was_learnt_at_an_unknown_time(memory: Memory) -> None:
    memory.observe("I play the cello.", speaker="Nora", undated=True)
    moment = datetime.now(UTC) + timedelta(minutes=1)
    assert "Nora plays cello" in ask(memory, "What do you know about me?", moment)
    assert "Nora plays cello" not in ask(memory, "What has changed lately?", moment)


def test_what_ended_at_an_unknown_time_is_no_change(memory: Memory) -> None:
    memory.observe("I don't like jazz anymore.", speaker="Nora", undated=True)
    moment = datetime.now(UTC) + timedelta(minutes=1)
    assert "Nora likes jazz" not in ask(memory, "What do you know about me?", moment)
    assert "Nora likes jazz" not in ask(memory, "What has changed lately?", moment)


def test_every_attribute_has_a_topic() -> None:
    assert set(TOPICS) == ATTRIBUTES | {FAVOURITE}


@pytest.mark.parametrize("language", sorted(DATA))
def test_every_language_has_the_same_lists(language: str) -> None:
    assert DATA[language].keys() == DATA["en"].keys()
    assert set(DATA[language]["seasons"].values()) >= {3, 6, 9, 12}
