"""The recipe packabby over the twenty lines: writing, recall, prompts, and failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hardship import PATIENCE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.cli.repl import ChatRepl
from everthread.cli.screen import Screen
from everthread.embedders.base import Embedder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput, BadQuery, EmbedderUnavailable, ScribeFailed
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.recipes.general_knowledge import add_knowledge
from everthread.recipes.packabby import (
    DECOYS,
    KNOWLEDGE_HEADING,
    MEMORIES_HEADING,
    ONLY_KNOWLEDGE_HEADING,
    Packabby,
)
from everthread.scribes.base import SUMMARY_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.text.tokens import estimate_tokens
from everthread.types import Filter, Line, NewUnit, Vector, Vectors
from recipes.talking import JONAS
from recipes.twenty import BOT, PERSON, SESSIONS, TWENTY

QUESTION = load_wording()("chat.remember")

SPRING = """\
- 2 March 2026: I adopted a greyhound named Biscuit on Saturday.
- 2 March 2026: My sister Olga moved to Lisbon for a job at the aquarium.
- 2 March 2026: My interview at the library is on Friday."""
SUMMER = """\
- 20 June 2026: Good evening Jonas, I am back.
- 20 June 2026: The library hired me, I start on the first of July.
- 20 June 2026: Biscuit ate a whole wheel of cheese and had to see the vet.
- 20 June 2026: The vet said he is allergic to milk.
- 20 June 2026: Olga is visiting from Lisbon in August."""
CHEESE = "What happened with the wheel of cheese?"
AQUARIUM = "Who has a job at the aquarium?"
REFUSED = 8  # the line with which Jonas refuses: it is kept as retracted


class Clock:
    """Returns the time that it is set to."""

    def __init__(self, now: datetime = SESSIONS["spring"]) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Down(HashEmbedder):
    """An embedder that can be switched off."""

    down = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise EmbedderUnavailable("it is down")
        return super().embed(texts)


class Counting(HashEmbedder):
    """Counts the texts that it embeds, and can be set to fail for the decoys."""

    def __init__(self) -> None:
        super().__init__(512)
        self.given: list[str] = []
        self.fails = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails and list(texts) == list(DECOYS):
            raise EmbedderUnavailable("it is down")
        self.given += texts
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = super().embed([text])[0]
        return vector


class Judge(ExtractiveScribe):
    """Judges texts by whether they contain a word; fails without one."""

    def __init__(self, word: str = "") -> None:
        self.word, self.asked = word, 0

    def is_relevant(self, query: str, text: str) -> bool:
        self.asked += 1
        if not self.word:
            raise ScribeFailed("it answered with a poem")
        return self.word in text


class Failing(ExtractiveScribe):
    """Fails while it is set to."""

    fails = True

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        if self.fails:
            raise ScribeFailed("it answered with a poem")
        return super().summarize(lines, person, limit)


class Indiscreet(ExtractiveScribe):
    """Writes nothing but a secret."""

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        return "- My PIN is 1234."


@pytest.fixture(params=["folder", "database"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Yield a bank in each store."""
    store = str(tmp_path) if request.param == "folder" else request.getfixturevalue("database")
    with Memory.open(f"mara {uuid4()}", store=store, embedder=HashEmbedder(512), recipe="packabby") as opened:
        yield opened


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Memory]:
    """Yield a bank in a folder."""
    with Memory.open("mara", store=tmp_path, embedder=HashEmbedder(512), recipe="packabby") as opened:
        yield opened


def talk(memory: Memory, session: str, *, remember: bool | None = None, **options: Any) -> Chat:
    """Say the lines of a session, and end it if `remember` is given."""
    lines = [line for line in TWENTY if line.session == session]
    clock = Clock(SESSIONS[session])
    model = ScriptedLLM([line.text for line in lines if line.speaker == BOT])
    chat = begun(memory, model, clock, session=session, **options)
    written = memory.units()
    for line in lines:
        if line.speaker == PERSON:
            assert line.said_at
            clock.now = line.said_at
            assert "".join(chat.reply(line.text))
            assert chat.wait(120)
            assert (memory.units(), memory.jobs()) == (written, []), f"after {line.text!r}"
    if remember is not None:
        assert chat.end(remember).remembered is remember
        assert chat.wait(120)
    return chat


def begun(memory: Memory, model: ScriptedLLM, clock: Clock, **options: Any) -> Chat:
    options.setdefault("scribe", ExtractiveScribe())
    return Chat(memory, Character(BOT, person=PERSON), model, clock=clock, **options)


def remembered(memory: Memory) -> Memory:
    """Return the bank after both sessions."""
    for session in SESSIONS:
        talk(memory, session, remember=True).close()
    return memory


def with_recipe(memory: Memory, recipe: Recipe, embedder: Embedder | None = None) -> Memory:
    return Memory(memory.bank, memory.store, embedder or memory.embedder, recipe)


def found(memory: Memory, query: str, k: int = 10, **options: Any) -> list[str]:
    return [hit.text for hit in memory.recall(query, k, **options)]


def last_message(chat: Chat) -> str:
    assert isinstance(chat.llm, ScriptedLLM)
    return chat.llm.prompts[-1][-1].content


# ------------------------------------------------------------------ what is written


def test_no_summary_is_written_until_the_person_agrees(bank: Memory) -> None:
    for session, seqs, expected in (("spring", (1, 10), SPRING), ("summer", (11, 20), SUMMER)):
        chat = talk(bank, session)  # and nothing after each of its lines
        before = bank.units()
        ending = chat.end()
        assert (ending.remembered, ending.question) == (None, QUESTION)
        assert (bank.units(), bank.jobs()) == (before, [])
        assert chat.end(remember=True).remembered
        assert chat.wait(120)
        *old, new = bank.units()
        assert old == before
        assert (new.kind, new.text, (new.first_seq, new.last_seq)) == ("summary", expected, seqs)
        assert new.metadata["session"] == session
        assert new.category == {"spring": "work", "summer": "food"}[session]
        assert estimate_tokens(new.text) <= SUMMARY_TOKENS == 300
        chat.close()
    assert [line.seq for line in bank.lines()] == [seq for seq in range(1, 21) if seq != REFUSED]


def test_a_refusal_leaves_neither_line_nor_summary(bank: Memory) -> None:
    talk(bank, "spring", remember=True).close()
    kept = list(bank.lines(include_retracted=True))
    chat = talk(bank, "summer")
    receipt = chat.end(remember=False).receipt
    assert receipt
    assert receipt.lines == 10
    assert chat.wait(120)
    assert [unit.text for unit in bank.units()] == [SPRING]
    assert (list(bank.lines(include_retracted=True)), bank.jobs()) == (kept, [])
    chat.close()


def test_a_conversation_without_asking_for_consent_is_not_summarised(alone: Memory) -> None:
    talk(alone, "spring").close()
    chat = talk(alone, "summer", remember=True)  # months later: the other one was left open
    assert [unit.text for unit in alone.units()] == [SUMMER]
    assert [session.ended_at is not None for session in alone.sessions()] == [True, True]
    assert len(list(alone.lines(Filter(session="spring")))) == 9
    chat.close()
    with begun(alone, ScriptedLLM([]), Clock(), session="spring") as again:  # and can be agreed to still
        again.end(remember=True)
        assert again.wait(120)
    assert SPRING in [unit.text for unit in alone.units()]


def test_an_open_conversation_is_summarised_if_the_bank_is_set_to(alone: Memory) -> None:
    alone.set_setting("remember", "always")
    talk(alone, "spring").close()
    with begun(alone, ScriptedLLM([]), Clock(SESSIONS["summer"])) as later:
        assert later.wait(120)
    assert [unit.text for unit in alone.units()] == [SPRING]


def test_a_fully_redacted_summary_is_not_stored(alone: Memory) -> None:
    chat = talk(alone, "spring", remember=True, scribe=Indiscreet())
    assert (alone.units(), alone.jobs()) == ([], [])
    chat.close()


def test_recalled_memories_are_in_no_later_summary(alone: Memory) -> None:
    talk(alone, "spring", remember=True).close()
    row = SPRING.splitlines()[1].removeprefix("- 2 March 2026: ")
    model = ScriptedLLM([f"You told me: {row} How is she?"])
    with begun(alone, model, Clock(SESSIONS["summer"]), scribe=Everything()) as chat:
        "".join(chat.reply("Do you remember my sister Olga with the job at the aquarium in Lisbon?"))
        assert row in model.prompts[0][-1].content
        chat.end(remember=True)
        assert chat.wait(120)
    assert "moved to Lisbon" in list(alone.lines())[-1].text  # kept as it was said
    (_, new) = alone.units()
    assert new.text == "Do you remember my sister Olga with the job at the aquarium in Lisbon?|How is she?"


class Everything(ExtractiveScribe):
    """Summarises by repeating its input."""

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        return "|".join(line.text.removeprefix("You told me:").strip() for line in lines)


def test_a_failed_summary_is_retried(bank: Memory) -> None:
    scribe = Failing()
    chat = talk(bank, "spring", remember=True, scribe=scribe)
    assert [(work.kind, work.session, work.tries) for work in bank.jobs()] == [("summary", "spring", 1)]
    assert bank.units() == []
    assert len(list(bank.lines())) == 9
    chat.close()
    scribe.fails = False
    with begun(
        bank, ScriptedLLM([]), Clock(SESSIONS["summer"]), scribe=scribe
    ) as later:  # when the bank is opened again
        assert later.wait(120)
    assert [unit.text for unit in bank.units()] == [SPRING]
    assert bank.jobs() == []


# ------------------------------------------------- what of a summary is kept, and its category


def summarized(memory: Memory, embedder: Embedder | None = None, **options: Any) -> list[str | None]:
    """Return text and category of the summaries of the summer's session, with these options."""
    talk(with_recipe(memory, Packabby(**options), embedder), "summer", remember=True).close()
    assert memory.jobs() == []
    return [told for unit in memory.units("summary") for told in (unit.text, unit.category)]


def test_summaries_keep_only_rows_about_the_target(bank: Memory) -> None:
    vet, cheese = SUMMER.splitlines()[3], SUMMER.splitlines()[2]
    assert summarized(bank, OnnxEmbedder(), target="food and health") == [f"{cheese}\n{vet}", "food"]


def test_a_row_is_about_the_target_if_its_meaning_is_near(tmp_path: Path) -> None:
    with Memory.open("mara", store=tmp_path) as memory:
        summary = "- 2 March 2026: I adopted a greyhound named Biscuit.\n- 2 March 2026: I love spicy noodles."
        kept = Packabby(target="pets").narrow_summary(memory.reader, ExtractiveScribe(), summary)
        assert kept == "- 2 March 2026: I adopted a greyhound named Biscuit."


def test_a_target_without_matching_rows_stores_nothing(alone: Memory) -> None:
    assert summarized(alone, target="astronomy") == []


@pytest.mark.parametrize("target", ["", " ", "work", "Lisbon", "food", "狗", "(", "a" * 300])
def test_a_target_never_adds_rows(alone: Memory, target: str) -> None:
    kept = Packabby(target=target).narrow_summary(alone.reader, ExtractiveScribe(), SUMMER)
    assert set((kept or "").splitlines()) <= set(SUMMER.splitlines())
    assert kept == SUMMER if not target.strip() else True


class Careless(ExtractiveScribe):
    """Fails to narrow a summary to a target."""

    def narrow(self, text: str, target: str, near: object = None) -> str | None:
        raise ScribeFailed("it answered with a poem")


def test_a_scribe_that_fails_to_narrow_stores_nothing(alone: Memory) -> None:
    before = summarized(alone, target="food")
    assert len(before) == 2
    chat = begun(with_recipe(alone, Packabby(target="food")), ScriptedLLM(["Oh."]), Clock(), scribe=Careless())
    "".join(chat.reply("I had cake for breakfast, and I was born in Aalst."))
    chat.end(True)
    assert chat.wait(PATIENCE)
    chat.close()
    assert [told for unit in alone.units("summary") for told in (unit.text, unit.category)] == before
    assert [(work.kind, work.tries) for work in alone.jobs()] == [("summary", 1)]


def test_a_summary_gets_one_of_the_categories_of_the_recipe(bank: Memory) -> None:
    assert summarized(bank, categories=("libraries", "vets and doctors"))[1] == "libraries"


def test_a_summary_without_a_matching_category_is_other(alone: Memory) -> None:
    assert summarized(alone, categories=("volcanoes",))[1] == "other"


# -------------------------------------------------------------------- what is found


@pytest.mark.parametrize(("query", "expected"), [(CHEESE, SUMMER), (AQUARIUM, SPRING)])
def test_the_nearest_summary_is_recalled_and_no_other(bank: Memory, query: str, expected: str) -> None:
    remembered(bank)
    context = bank.context(query)
    assert [hit.text for hit in context.hits] == [expected]
    assert (context.hits[0].kind, context.cut) == ("summary", ())
    assert sorted(found(bank, query)) == sorted([SPRING, SUMMER])  # more by choice
    assert found(bank, query, 1) == [expected]


def test_max_hits_recalls_more_summaries(alone: Memory) -> None:
    memory = with_recipe(remembered(alone), Packabby(max_hits=2))
    assert [found.text for found in memory.context(CHEESE).units] == [SPRING, SUMMER]


FERNS = "Ferns like shade and moist soil."


def test_general_knowledge_is_recalled_under_its_own_heading(bank: Memory) -> None:
    (unit,) = add_knowledge(bank, [FERNS], SESSIONS["spring"])
    assert add_knowledge(bank, [FERNS]) == []  # it is there already
    remembered(bank)
    question = "Which soil do ferns like?"
    model = ScriptedLLM(["Moist soil."])
    with begun(bank, model, Clock(SESSIONS["summer"] + timedelta(days=9))) as chat:
        "".join(chat.reply(question))
        assert last_message(chat).endswith(f"\n\n{ONLY_KNOWLEDGE_HEADING}\n{KNOWLEDGE_HEADING}\n  {FERNS}")
        assert "you were told" not in last_message(chat)
        chat.end(True)
        assert chat.wait(PATIENCE)
    assert all(FERNS not in line.text for line in bank.lines())
    assert all(FERNS not in summary.text for summary in bank.units("summary"))
    assert [hit.kind for hit in bank.recall(question, 1)] == ["general"]
    assert FERNS not in found(bank, question, where=Filter(speaker=PERSON))
    assert found(bank, question, where=Filter(kind="general")) == [FERNS]
    bank.forget(session="spring")
    assert bank.units("general") == [unit]
    assert bank.forget_unit("general", unit.id) == [unit.id]
    assert FERNS not in found(bank, question)


def test_general_knowledge_is_found_by_words_without_an_embedder(alone: Memory) -> None:
    embedder = Down(512)
    memory = with_recipe(alone, Packabby(), embedder)
    add_knowledge(memory, [FERNS, "The tide turns twice a day."])
    embedder.down = True
    assert found(with_recipe(alone, Packabby(), embedder), "What do ferns like?", 1) == [FERNS]
    with pytest.raises(BadInput, match="not blank"):
        add_knowledge(memory, [" "])


def test_a_filter_by_category_finds_the_summaries_of_that_category(bank: Memory) -> None:
    remembered(bank)  # work in spring, food in summer
    for where in (Filter(category="food"), Filter(kind="summary", category=("food", "money"))):
        assert found(bank, AQUARIUM, where=where) == [SUMMER]
    assert found(bank, CHEESE, where=Filter(category="astronomy")) == []
    assert [found.text for found in bank.context(CHEESE, where=Filter(category="work")).units] == [SPRING]
    assert found(bank, CHEESE, where=Filter(category="food", speaker=PERSON)) == [SUMMER]
    assert found(bank, CHEESE, where=Filter(category="food", speaker=BOT)) == []
    assert [unit.text for unit in bank.units(category="work")] == [SPRING]
    assert list(bank.lines(Filter(category="food"))) == []


def test_a_filter_by_category_is_rejected_by_recipes_without_categories(alone: Memory) -> None:
    memory = with_recipe(remembered(alone), Default())
    with pytest.raises(BadQuery, match=re.escape("Filter(kind='summary', category='food')")):
        memory.recall(CHEESE, where=Filter(category="food"))
    with pytest.raises(BadQuery, match=r"where\.category must be a str"):
        memory.recall(CHEESE, where=Filter(category=7))  # type: ignore[arg-type]
    assert found(memory, CHEESE, where=Filter(kind="summary", category="food")) == [SUMMER]


def test_the_score_is_the_cosine_of_the_unchanged_message(alone: Memory) -> None:
    hits = remembered(alone).recall(CHEESE)
    for hit in hits:
        wanted = float(alone.embedder.embed([hit.text])[0] @ alone.embedder.embed_query(CHEESE))
        assert hit.score == pytest.approx(
            float(alone.reader.encoder.calibrate(np.array([wanted], np.float32))[0]), abs=2e-3
        )
        assert hit.signals == {"cosine": hit.score}


def test_any_message_recalls_the_nearest_summary(alone: Memory) -> None:
    talk(alone, "spring", remember=True).close()
    for query in ("Hello", "zzz", "\ud800", "?", "a" * 100_000):
        assert found(alone, query) == [SPRING]
        assert alone.context(query)


def test_a_blank_message_and_an_empty_bank_recall_nothing(alone: Memory) -> None:
    assert found(alone, CHEESE) == []
    remembered(alone)
    assert found(alone, " ") == []
    assert not alone.context(" ")


def test_a_threshold_drops_less_similar_summaries(alone: Memory) -> None:
    near, far = remembered(alone).recall(CHEESE)
    between = (near.score + far.score) / 2
    assert found(with_recipe(alone, Packabby(threshold=between)), CHEESE) == [SUMMER]
    assert found(with_recipe(alone, Packabby(threshold=near.score + 0.01)), CHEESE) == []
    assert not with_recipe(alone, Packabby(threshold=near.score + 0.01)).context(CHEESE)


def test_a_message_nearer_to_a_decoy_recalls_nothing(alone: Memory) -> None:
    memory = with_recipe(remembered(alone), Packabby(decoys=DECOYS))
    assert found(memory, "The wheel of cheese, the vet, and milk!") == [SUMMER]
    assert not memory.context("They said hello and asked how the other one was today.")
    assert alone.context("They said hello and asked how the other one was today.")
    assert [unit.kind for unit in alone.units()] == ["summary", "summary"]  # none of the texts is in the bank


def test_small_talk_is_nearer_to_the_decoys_with_the_shipped_model(tmp_path: Path) -> None:
    with Memory.open("mara", store=tmp_path, recipe=Packabby(decoys=DECOYS)) as memory:
        talk(memory, "spring", remember=True).close()
        assert found(memory, "Where did my sister move, was it Lisbon?") == [SPRING]
        for small in ("Hello! How are you?", "What is the weather like?", "Thank you, goodbye!"):
            assert found(memory, small) == []


def test_decoys_are_embedded_once(tmp_path: Path) -> None:
    model = Counting()
    with Memory.open("mara", store=tmp_path, embedder=model, recipe=Packabby()) as memory:
        talk(memory, "spring", remember=True).close()
        found(memory, CHEESE)
        assert not set(model.given) & set(DECOYS)
        primed = with_recipe(memory, Packabby(decoys=DECOYS))
        for _ in range(3):
            found(primed, CHEESE)
        assert [model.given.count(text) for text in DECOYS] == [1] * len(DECOYS)


def test_decoys_that_can_not_be_embedded_drop_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = Counting()
    with Memory.open("mara", store=tmp_path, embedder=model, recipe=Packabby(decoys=DECOYS)) as memory:
        model.fails = True
        talk(memory, "spring", remember=True).close()
        assert found(memory, DECOYS[0]) == [SPRING]
        assert "without comparing it with the decoys" in caplog.text
        model.fails = False
        assert found(memory, DECOYS[0]) == []


def test_irrelevant_summaries_are_dropped_unless_judging_fails(alone: Memory) -> None:
    remembered(alone)
    judge = Judge("aquarium")
    assert found(with_recipe(alone, Packabby(scribe=judge)), CHEESE, 2) == [SPRING]
    assert judge.asked == 2  # each by itself
    assert not with_recipe(alone, Packabby(scribe=judge)).context(CHEESE)
    assert found(with_recipe(alone, Packabby(scribe=Judge())), CHEESE, 2) == [SUMMER, SPRING]


def test_without_vectors_the_summary_with_most_shared_words_is_found(tmp_path: Path) -> None:
    model = Down(512)
    model.down = True
    with Memory.open("mara", store=tmp_path, embedder=model, recipe=Packabby(decoys=DECOYS, threshold=0.9)) as memory:
        remembered(memory)
        assert found(memory, CHEESE) == [SUMMER]
        assert found(memory, "aquarium") == [SPRING]
        assert found(memory, "zzz") == []
        assert found(memory, "狗叫什么名字") == []


def test_summaries_survive_an_embedder_outage(tmp_path: Path) -> None:
    model = Down(512)
    with Memory.open("mara", store=tmp_path, embedder=model, recipe="packabby") as memory:
        model.down = True
        talk(memory, "spring", remember=True).close()
        model.down = False
        memory.reindex()
        talk(memory, "summer", remember=True).close()
        assert found(memory, AQUARIUM) == [SPRING, SUMMER]


# ------------------------------------------------------------------------- filters


def test_a_filter_of_lines_applies_to_their_summaries(alone: Memory) -> None:
    remembered(alone)
    begun_at = SESSIONS["summer"]
    assert found(alone, CHEESE, where=Filter(session="spring")) == [SPRING]
    assert sorted(found(alone, CHEESE, where=Filter(speaker=PERSON))) == sorted([SPRING, SUMMER])
    assert found(alone, CHEESE, where=Filter(speaker=BOT)) == []
    assert found(alone, CHEESE, where=Filter(since=begun_at)) == [SUMMER]
    assert (
        found(alone, CHEESE, where=Filter(since=begun_at + timedelta(minutes=5))) == []
    )  # it derives from earlier ones
    assert {hit.kind for hit in alone.recall(CHEESE, where=Filter(kind="line"))} == {"line"}
    assert found(alone, CHEESE, 1, where=Filter(kind="summary")) == [SUMMER]
    assert found(alone, CHEESE, as_of=begun_at) == [SPRING]
    with pytest.raises(BadQuery):
        alone.recall(CHEESE, where=Filter(kind="line", since=datetime(2026, 1, 1)))


def test_summaries_of_lines_in_the_prompt_are_not_recalled(alone: Memory) -> None:
    remembered(alone)
    assert found(alone, CHEESE, exclude=[15]) == [SPRING]
    assert found(alone, CHEESE, 1, exclude=[16]) == [SUMMER]  # what Jonas said is not in it


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(gone=st.sets(st.integers(1, 25)), session=st.sampled_from([None, *SESSIONS]), k=st.integers(1, 3))
def test_summaries_of_hidden_lines_are_not_recalled(whole: Memory, gone: set[int], session: str | None, k: int) -> None:
    hits = whole.recall(CHEESE, k, where=Filter(session=session), exclude=gone)
    assert len(hits) <= k
    said = {"spring": {1, 3, 5, 7, 9}, "summer": {11, 13, 15, 17, 19}}
    expected = {name for name, seqs in said.items() if not seqs & gone and session in (None, name)}
    assert {hit.source.session for hit in hits} == (expected if k >= len(expected) else expected & {"summer"})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("whole")
    with Memory.open("mara", store=folder, embedder=HashEmbedder(512), recipe="packabby") as opened:
        yield remembered(opened)


def test_summaries_of_another_recipe_are_found(tmp_path: Path) -> None:
    with Memory.open("mara", store=tmp_path, embedder=HashEmbedder(512), recipe="default") as memory:
        memory.observe_many(TWENTY)
        assert found(with_recipe(memory, Packabby()), CHEESE) == []
        memory.add_unit(NewUnit("summary", "A whole wheel of cheese.", 2, 4, SESSIONS["spring"]))  # by whomever
        ours = with_recipe(memory, Packabby())
        assert found(ours, CHEESE) == found(ours, CHEESE, exclude=[2]) == ["A whole wheel of cheese."]
        assert found(ours, CHEESE, exclude=[3]) == []


def test_a_superseded_summary_is_not_found(alone: Memory) -> None:
    talk(alone, "spring", remember=True).close()
    (old,) = alone.units()
    fields = (old.kind, "Olga has a job at the aquarium.", old.first_seq, old.last_seq, old.said_at)
    alone.add_unit(NewUnit(*fields, metadata=old.metadata), supersedes=old.id)
    assert found(alone, AQUARIUM) == ["Olga has a job at the aquarium."]


# ---------------------------------------------------------------------- the prompt


def test_the_summary_follows_the_newest_message_with_its_note(bank: Memory) -> None:
    talk(bank, "spring", remember=True).close()
    chat = talk(bank, "summer")
    rows = "\n".join(f"  {row}" for row in SPRING.splitlines())
    assert last_message(chat) == (
        "(It is Saturday, 20 June 2026, 20:08.)\n\n"
        "Mara: Olga is visiting from Lisbon in August.\n\n"
        f"{MEMORIES_HEADING}\n[Monday, 2 March 2026, 18:08, 3 months ago]\n{rows}"
    )
    assert isinstance(chat.llm, ScriptedLLM)
    window = "\n".join(message.content for message in chat.llm.prompts[-1][:-1])
    assert MEMORIES_HEADING not in window  # it is not sent again with the messages before
    assert "The vet said he is allergic to milk." in window
    chat.close()


def test_without_memories_the_prompt_ends_with_the_message(alone: Memory) -> None:
    chat = talk(alone, "spring")
    assert last_message(chat).endswith("Mara: Never mind. My interview at the library is on Friday.")
    assert MEMORIES_HEADING not in last_message(chat)
    chat.close()


def test_the_oldest_turns_leave_a_full_prompt_but_the_character_stays(alone: Memory) -> None:
    model = ScriptedLLM(["Aye, so it was, as you say. " * 8] * 40, context=2048)
    with begun(alone, model, Clock()) as chat:
        for n in range(40):
            "".join(chat.reply(f"On day {n} we sailed to island number {n} and found nothing but sand and gulls."))
        prompt = model.prompts[-1]
        assert prompt[0] == model.prompts[1][0]  # with the first reply for a sample
        assert "island number 0 " not in "".join(message.content for message in prompt)
        assert "island number 38 " in "".join(message.content for message in prompt)
        assert sum(estimate_tokens(message.content) for message in prompt) <= 2048 - 300  # which a reply may have
    assert (alone.units(), alone.jobs()) == ([], [])


def test_nothing_is_brought_up_unasked(alone: Memory) -> None:
    clock = Clock()
    with begun(alone, ScriptedLLM(["Good luck!"]), clock) as chat:
        "".join(chat.reply("My exam is tomorrow."))
        chat.end(remember=True)
        assert chat.wait(120)
    clock.now += timedelta(days=2)
    model = ScriptedLLM(["Hello."])
    with begun(with_recipe(alone, Default()), model, clock) as other:
        assert "exam" in other.reminder
    with begun(alone, model, clock) as chat:
        assert chat.reminder == ""
        reply = chat.reply("Good morning.")
        "".join(reply)
        assert reply.reminder == ""
        assert "could bring up" not in last_message(chat)


# --------------------------------------------------------------------- the consent


def said_at_the_end(memory: Memory, *answers: str, ending: str = "/end") -> list[str]:
    """Answer the question at the end of a conversation in a terminal, and return the text on the screen."""
    waiting = iter(["I moved to Lisbon with my sister Olga.", ending, *answers])
    screen: list[str] = []

    def read(prompt: str) -> str:
        if prompt.startswith(QUESTION):
            screen.append(prompt)
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    with begun(memory, ScriptedLLM(["Good for you."]), Clock()) as chat:
        ChatRepl(chat, Screen(read, screen.append)).run()
        assert chat.wait(120)
    return screen


@pytest.mark.parametrize("ending", ["/end", "/quit", "quit"])
def test_a_no_inside_another_word_is_not_an_answer(alone: Memory, ending: str) -> None:
    unclear = ["Not now", "Now", "notebook", "I know", "No way to tell", "Yesterday"]
    screen = said_at_the_end(alone, *unclear, "Yes, please.", ending=ending)
    assert sum(each.startswith(QUESTION) for each in screen) == len(unclear) + 1
    assert [unit.kind for unit in alone.units()] == ["summary"]
    assert "It is remembered." in "".join(screen)


@pytest.mark.parametrize("ending", ["/end", "/quit"])
def test_answering_no_leaves_nothing(alone: Memory, ending: str) -> None:
    screen = said_at_the_end(alone, "Not now", "No", "Yes", ending=ending)
    assert (alone.units(), list(alone.lines(include_retracted=True)), alone.jobs()) == ([], [], [])
    assert "It is forgotten." in "".join(screen)
    assert "all kept" not in screen[-1] or ending == "/end"


def test_leaving_without_an_answer_changes_nothing(alone: Memory) -> None:
    screen = said_at_the_end(alone, "maybe", ending="/quit")
    assert len(list(alone.lines())) == 2
    assert alone.units() == []
    assert [session.ended_at for session in alone.sessions()] == [None]
    assert screen[-1].endswith("everything is saved.\n")


def test_the_configured_scribe_judges_what_is_recalled(alone: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "none")
    memory = with_recipe(remembered(alone), Packabby(judge=True, max_hits=2))
    assert [found.text for found in memory.context(CHEESE).units] == [SUMMER]
    assert memory.context("Do giraffes yodel?").text == ""


def test_numbers_of_the_recipe_can_be_set_by_arguments() -> None:
    assert (Packabby().max_hits, Packabby().threshold, Packabby().decoys, Packabby().scribe) == (1, None, (), None)
    assert replace(Packabby(decoys=DECOYS), max_hits=3).decoys == DECOYS


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"threshold": 80}, "threshold must be a number from -1 to 1, or none, got 80"),
        ({"threshold": float("nan")}, "threshold must be a number from -1 to 1, or none, got nan"),
        ({"decoys": "They said hello."}, "decoys must be texts separated by commas, got 'They said hello.'"),
        ({"categories": "food"}, "categories must be texts separated by commas, got 'food'"),
    ],
)
def test_invalid_numbers_are_rejected(numbers: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=re.escape(told)):
        Packabby(**numbers)


def test_lines_without_consent_are_not_summarised_under_another_recipe(tmp_path: Path) -> None:
    clock = Clock(SESSIONS["spring"])
    with Memory.open("mara", store=tmp_path, embedder=HashEmbedder(), recipe=Packabby()) as memory:
        with Chat(memory, JONAS, None, clock=clock) as chat:
            "".join(chat.reply("My father Otto breeds ferrets in Aalst."))
        memory.recipe = Default()
        clock.now += timedelta(hours=3)
        with Chat(memory, JONAS, None, clock=clock) as chat:
            "".join(chat.reply("Good evening, I am back from the harbour."))
            assert chat.wait(60)
        assert memory.units() == []
