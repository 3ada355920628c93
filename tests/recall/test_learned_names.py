"""Which names are learnt from the lines of a bank, and when they are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread import Memory
from everthread.recall.learned_names import find_owner, learn_names
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.types import Line

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
TWO = ["kayaker42", "Helen"]


def owner_of(name: str, *said: tuple[str, str], speakers: Sequence[str] = TWO) -> str | None:
    lines = [Line(seq, "s", "user", speaker, text, NOON) for seq, (speaker, text) in enumerate(said, 1)]
    uses = [
        (line, before) for line, before in zip(lines, [None, *lines], strict=False) if name.lower() in line.text.lower()
    ]
    return find_owner(name, uses, speakers)


@pytest.mark.parametrize(
    "texts",
    [
        ["Thanks, Sam!", "Hey Sam, how was the river?", "Good night, Sam."],
        ["Sam, are you there?", "Sam! Look at this.", "See you tomorrow, Sam 😊"],
        ["Oh, that is so good of you, Sam!", "I'll be there at nine, Sam.", "Really, Sam?"],
        ["Danke Sam!", "Guten Morgen, Sam.", "Merci, Sam !"],
    ],
)
def test_who_is_addressed_by_a_name_again_and_again_is_called_so(texts: list[str]) -> None:
    assert owner_of("Sam", *(("Helen", text) for text in texts)) == "kayaker42"
    assert owner_of("Sam", *(("Helen", text) for text in texts[:2])) is None


@pytest.mark.parametrize(
    "text", ["Call me Sam.", "My name is Sam, by the way.", "Everyone calls me Sam", "Ich heiße Sam."]
)
def test_one_introduction_is_enough(text: str) -> None:
    assert owner_of("Sam", ("kayaker42", text)) == "kayaker42"


@pytest.mark.parametrize(
    "said",
    [
        [("Helen", "Thanks, Sam!"), *[("Helen", f"Sam was here on day {day}.") for day in range(5)]],
        [("Helen", "Hi Sam!"), ("kayaker42", "Hi Sam!")] * 3,
        [("Helen", "I met Ana, Sam, and Tom."), ("Helen", "Sam's boat sank."), ("Helen", "Say hi to Sam for me.")] * 2,
        [("Helen", "His name is Sam.")] * 3,
        [("Helen", "We flew to Georgia, Sam.")] * 3,
        [("Helen", "I do yoga, swimming, Sam.")] * 3,
        [("Helen", "Call me sam, but I like it.")],
        [("Helen", "Will you come? I will."), ("Helen", "Hey Will!"), ("Helen", "It will rain, will it?")] * 3,
    ],
)
def test_the_name_of_another_or_of_both_is_not_learnt(said: list[tuple[str, str]]) -> None:
    name = "Will" if "Will" in said[0][1] else "Sam"
    assert owner_of(name, *said) is None


def test_among_several_speakers_who_spoke_before_is_addressed() -> None:
    said = [("kayaker42", "I'm off."), ("Helen", "Bye, Sam!"), ("Ida", "Good luck, Sam!")] * 3
    assert owner_of("Sam", *said, speakers=[*TWO, "Ida"]) is None  # Ida speaks after Helen
    said = [
        ("kayaker42", "I'm off."),
        ("Helen", "Bye, Sam!"),
        ("kayaker42", "See you."),
        ("Ida", "Good luck, Sam!"),
    ] * 2
    assert owner_of("Sam", *said, speakers=[*TWO, "Ida"]) == "kayaker42"


def test_a_question_that_uses_a_learnt_name_asks_about_its_owner_until_the_lines_are_forgotten(store: Store) -> None:
    with Memory.open("names", store=store, embedder=HashEmbedder()) as memory:
        memory.forget(everything=True)
        for text in ("Thanks, Sam!", "Hey Sam, are you up?", "Sleep well, Sam."):
            memory.observe(text, speaker="Helen")
        memory.observe("I paddle on Sundays.", speaker="kayaker42")
        assert learn_names(store, "names", "When does Sam paddle?", TWO) == {"sam": "kayaker42"}
        assert learn_names(store, "names", "When does Helen paddle in Lisbon?", TWO) == {}
        hit = next(hit for hit in memory.recall("When does Sam paddle?") if "paddle" in hit.line.text)
        assert hit.signals["speaker"] == 1
        memory.retract(1)
        assert learn_names(store, "names", "When does Sam paddle?", TWO) == {}
        memory.restore(1)
        memory.forget(seq=2)
        assert learn_names(store, "names", "When does Sam paddle?", TWO) == {}


def test_a_relative_is_known_by_a_word_without_a_capital(tmp_path: Path) -> None:
    with Memory.open("kin", store=tmp_path, embedder=HashEmbedder()) as memory:
        for text in ("Thanks, Mum!", "Mum, where are you?", "Good night, mum."):
            memory.observe(text, speaker="kayaker42")
        memory.observe("I am in the garden.", speaker="Helen")
        assert learn_names(memory.store, "kin", "where was mum?", TWO) == {"mum": "Helen"}


def test_a_line_said_later_than_the_moment_of_asking_teaches_no_name(tmp_path: Path) -> None:
    with Memory.open("later", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("I paddle on Sundays.", speaker="kayaker42", said_at=NOON.replace(year=2024))
        for text in ("Thanks, Sam!", "Hey Sam, are you up?", "Sleep well, Sam."):
            memory.observe(text, speaker="Helen", said_at=NOON)
        for year, expected in ((2025, False), (2027, True)):
            hits = memory.recall("When does Sam paddle?", as_of=NOON.replace(year=year))
            assert any(hit.signals.get("speaker") == 1 for hit in hits if hit.line.seq == 1) == expected


def test_of_a_text_with_many_names_only_a_few_are_looked_up(tmp_path: Path) -> None:
    names = ["Aa", "Bb", "Cc", "Dd", "Ee"]
    with Memory.open("many", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("I am here.", speaker="Helen")
        for name in names:
            memory.observe(f"Call me {name}.", speaker="kayaker42")
        question = f"Who are {', '.join(names)}?"
        assert list(learn_names(memory.store, "many", question, TWO)) == ["aa", "bb", "cc", "dd"]


@pytest.mark.parametrize(
    ("account", "name", "use"),
    [("kate.oslo", "Oslo", "I flew to Oslo."), ("William", "Bill", "My neighbour Bill planted beans.")],
)
def test_an_account_or_its_short_form_names_the_speaker_unless_the_lines_use_the_word(
    store: Store, account: str, name: str, use: str
) -> None:
    with Memory.open("a", store=store, embedder=HashEmbedder(16)) as memory:
        memory.observe("I planted leeks.", speaker=account)
        memory.observe("Lovely!", speaker="Ana")
        question = f"What did {name} plant?"
        assert learn_names(store, memory.bank, question, [account, "Ana"]) == {name.lower(): account}
        memory.observe(use, speaker="Ana")
        assert learn_names(store, memory.bank, question, [account, "Ana"]) == {}
