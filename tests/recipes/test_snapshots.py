from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hardship.embedders import Moody
from hypothesis import given
from hypothesis import strategies as st

from everthread import Filter, Memory, factory
from everthread.chat.chat import Chat
from everthread.errors import BadInput, BadQuery, ScribeFailed
from everthread.recall.types import Query
from everthread.recipes.prompt_parts import count_evicted_lines
from everthread.recipes.snapshots import Snapshots
from everthread.scribes.base import NOTES_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.text.tokens import estimate_tokens
from everthread.types import Context, FoundUnit, Hit, Line, NewUnit, Unit
from recipes.talking import JONAS, Clock, talk
from recipes.twenty import SESSIONS, TWENTY

SMALL = Snapshots(window_max=6, evict=3)
NUMBERS = count()
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

Opened = Callable[..., Memory]


class Failing(ExtractiveScribe):
    """Fails to write notes a number of times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        self.times -= 1
        if self.times >= 0:
            raise ScribeFailed("the model wrote nothing")
        return super().update_notes(old, recalled, leaving, limit)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens a bank in a folder or elsewhere."""
    opened: list[Memory] = []

    def open_(recipe: Snapshots = SMALL, name: str = "mara", place: str | None = None, **options: object) -> Memory:
        options.setdefault("embedder", HashEmbedder(512))
        opened.append(Memory.open(name, store=place or tmp_path, recipe=recipe, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


def spans(memory: Memory) -> list[tuple[int, int]]:
    return [(unit.first_seq, unit.last_seq) for unit in memory.units("note")]


def current(memory: Memory) -> Unit:
    (unit,) = memory.units("note", only_current=True)
    return unit


def key(hit: Hit) -> str:
    """Return the kind and the id of the unit that was found."""
    return f"{hit.kind}:{hit.unit.id}"


def ids(memory: Memory, query: str, **options: object) -> list[str | None]:
    return [key(hit) for hit in memory.recall(query, **options)]  # type: ignore[arg-type]


def noted(memory: Memory, *texts: str) -> list[Unit]:
    """Write one note per line, each superseding the one before."""
    before: Unit | None = None
    notes = []
    for text in texts:
        line = memory.observe(f"About number {next(NUMBERS)}.", session="s", said_at=NOON)
        at = NOON + timedelta(days=line.seq)
        before = memory.add_unit(
            NewUnit("note", text, 1, line.seq, at, sources=(line.seq,)), supersedes=before.id if before else None
        )
        notes.append(before)
    return notes


# ---------------------------------------------------------------------- what is written


@pytest.mark.parametrize("place", ["folder", "database"])
def test_the_twenty_lines_give_the_expected_notes(bank: Opened, place: str, request: pytest.FixtureRequest) -> None:
    memory = bank(place=request.getfixturevalue("database") if place == "database" else None)
    calls: list[tuple[int, tuple[int, int] | None, int]] = []

    def after(seq: int) -> None:
        found = spans(memory)
        calls.append((seq, found[-1] if found else None, len(found)))
        assert len(memory.units("note", only_current=True)) == bool(found)

    talk(memory, after=after)
    assert calls == [
        (2, None, 0),
        (4, None, 0),
        (6, (1, 3), 1),  # six lines in the window: three go, and two of these stay in view
        (8, (1, 4), 2),  # which are noted again with the next; the eighth line is a refusal, and does not stand
        (10, (1, 5), 3),
        (0, (1, 10), 4),
        (12, (1, 10), 4),
        (14, (1, 10), 4),
        (16, (1, 13), 5),
        (18, (1, 14), 6),
        (20, (1, 15), 7),
        (0, (1, 20), 8),
    ]
    assert memory.units() == memory.units("note")
    assert memory.units("note")[1].text.splitlines() == [
        "Jonas: Hello Mara, the sea is calm and so am I.",
        "Mara: I adopted a greyhound named Biscuit on Saturday.",
        "Jonas: A greyhound named Biscuit will need long walks along the pier.",
    ]
    assert "allergic to milk" in current(memory).text
    assert "adopted" not in current(memory).text  # no room for it any more: it is in the earlier ones
    assert memory.jobs() == []


def test_a_short_conversation_is_noted_at_its_end_by_default(bank: Opened) -> None:
    memory = bank(Snapshots())
    counts: list[int] = []
    talk(memory, after=lambda _: counts.append(len(spans(memory))))
    assert counts == [0] * 5 + [1] * 6 + [2]
    assert spans(memory) == [(1, 10), (1, 20)]


def test_the_oldest_eight_of_sixteen_lines_are_noted_and_two_of_these_stay(bank: Opened) -> None:
    memory = bank(Snapshots())
    clock = Clock()
    model = ScriptedLLM(f"Then let us look at island number {n} together." for n in range(99))
    with Chat(memory, JONAS, model, scribe=ExtractiveScribe(), clock=clock) as chat:
        windows = []
        for n in range(1, 14):
            "".join(chat.reply(f"My ship number {n} sails to the harbour of Oslo."))
            assert chat.wait(60)
            windows.append((2 * n, sum(text.count("My ship") for text in shown(model)), spans(memory)[-1:]))
    assert windows == [
        *((2 * n, n, []) for n in range(1, 8)),
        (16, 8, [(1, 8)]),
        (18, 6, [(1, 8)]),  # 7 to 16 of the lines before, and the newest
        (20, 7, [(1, 8)]),
        (22, 8, [(1, 14)]),  # with the two that were left there are sixteen again
        (24, 6, [(1, 14)]),
        (26, 7, [(1, 14)]),
    ]


def shown(model: ScriptedLLM) -> list[str]:
    """Return the conversation in the last prompt, without the other parts."""
    messages = model.prompts[-1][1:]
    return [*(message.content for message in messages[:-1]), messages[-1].content.split("\n\n")[-1]]


@given(costs=st.lists(st.integers(1, 400), max_size=40), limit=st.integers(1, 4000), overlap=st.integers(0, 4))
def test_lines_that_leave_the_window_include_one_not_noted_yet(costs: list[int], limit: int, overlap: int) -> None:
    evicted = Snapshots(overlap=overlap).count_evicted_lines(costs, limit)
    assert evicted == 0 or overlap < evicted < len(costs)
    assert evicted or len(costs) < 16
    if evicted and len(costs) < 16:
        assert sum(costs) > limit
        assert evicted == max(count_evicted_lines(costs, limit), overlap + 1)


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ({"window_max": 8}, "overlap=2, evict=8, window_max=8; expected 0 <= overlap < evict < window_max"),
        ({"evict": 2}, "overlap=2, evict=2, window_max=16; expected 0 <= overlap < evict < window_max"),
        ({"overlap": -1}, "overlap must be a whole number from 0, got -1"),
        ({"balance": 1.5}, "balance must be a number from 0 to 1, got 1.5"),
    ],
)
def test_invalid_numbers_are_rejected(numbers: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        Snapshots(**numbers)


def test_eight_of_sixteen_lines_leave_and_none_of_fifteen() -> None:
    assert Snapshots().count_evicted_lines([9] * 15, 8000) == 0
    assert Snapshots().count_evicted_lines([9] * 16, 8000) == 8
    assert Snapshots().count_evicted_lines([9] * 16, 30) == count_evicted_lines([9] * 16, 30) > 8


@pytest.mark.parametrize("times", [1, 3, 99])
def test_lines_stay_in_the_window_if_noting_fails(bank: Opened, times: int) -> None:
    memory = bank()
    waiting: list[int] = []
    prompts = talk(memory, scribe=Failing(times), after=lambda _: waiting.append(memory.stats().queued))
    assert 1 in waiting
    for prompt, line in zip(prompts[3:5], (6, 8), strict=True):  # before it is tried again, half a minute later
        assert all(f"{each.speaker}: {each.text}" in prompt for each in TWENTY[:line] if "sorry" not in each.text)
    assert [line.text for line in memory.lines(include_retracted=True)] == [line.text for line in TWENTY]
    jobs = [work for work in memory.jobs() if work.kind == "notes"]
    assert all((work.tries, work.error) == (1, "ScribeFailed") for work in jobs)
    covered = {seq for first, last in spans(memory) for seq in range(first, last + 1)}
    assert covered | {seq for work in jobs for seq in range(work.first_seq, work.last_seq + 1)} == set(range(1, 21))


def test_pending_notes_are_written_when_the_bank_is_opened_again(bank: Opened) -> None:
    memory = bank(Snapshots())
    talk(memory, scribe=Failing(99))
    assert (spans(memory), memory.stats().queued) == ([], 2)
    with Chat(memory, JONAS, None, scribe=ExtractiveScribe()) as chat:
        assert chat.wait(60)
    assert (spans(memory), memory.jobs()) == ([(1, 10), (1, 20)], [])
    assert "greyhound" in memory.context("Who is Biscuit?").text


# ------------------------------------------------------------------------ what is found


def test_relevant_but_different_states_are_found(bank: Opened) -> None:
    memory = bank()
    same = "The ferry to Oslo leaves on Friday at nine from the"
    noted(
        memory,
        f"{same} north pier.",
        f"{same} south pier.",
        f"{same} old pier.",
        "There is a ferry from Oslo to Kiel.",
        "Tea.",
    )
    nearest = [
        key(hit) for hit in memory.reader.search_units(Query("When does the ferry to Oslo leave?"), ("note",), 3).hits
    ]
    assert sorted(map(str, nearest)) == ["note:1", "note:2", "note:3"]
    found = ids(memory, "When does the ferry to Oslo leave?", k=2)
    assert found == [nearest[0], "note:4"]
    plain = Snapshots(window_max=6, evict=3, balance=1.0)
    assert ids(bank(plain), "When does the ferry to Oslo leave?", k=3) == nearest


def test_each_question_finds_the_expected_states(bank: Opened) -> None:
    memory = bank()
    talk(memory)
    assert ids(memory, "What did the vet say about Biscuit?", k=3) == ["note:7", "note:1", "note:8"]
    assert ids(memory, "Where did Olga move?", k=3) == ["note:4", "note:8", "note:7"]
    assert ids(memory, "Where did Olga move?", k=1) == ["note:4"]
    (hit, *_) = memory.recall("Where did Olga move?")
    assert hit.score == hit.relevance == hit.signals["cosine"]
    assert (hit.kind, hit.source.session, hit.said_at) == ("note", "spring", TWENTY[9].said_at)


def test_a_repeated_question_finds_the_same_hits_in_the_same_order(bank: Opened) -> None:
    memory = bank()
    talk(memory)
    wanted = memory.recall("Tell me of Biscuit and Olga.")
    text = memory.context("Tell me of Biscuit and Olga.").text
    assert all(memory.recall("Tell me of Biscuit and Olga.") == wanted for _ in range(5))
    again = bank(name="again")
    talk(again)
    assert again.context("Tell me of Biscuit and Olga.").text == text


def test_the_latest_of_states_with_the_same_text_is_found(bank: Opened) -> None:
    memory = bank()
    noted(memory, "Oslo has an opera.", "Tea is green.", "Oslo has an opera.")
    assert ids(memory, "opera in Oslo") == ["note:3", "note:2"]
    assert ids(memory, "opera in Oslo", k=1) == ["note:3"]


def test_there_is_no_gate(bank: Opened) -> None:
    memory = bank()
    noted(memory, "Oslo has an opera.", "Tea is green.")
    context = memory.context("Good morning!")
    assert [key(hit) for hit in context.hits] == ["note:2", "note:1"]
    assert context.relevance < 0.2
    assert memory.context("opera", min_relevance=0.5).hits[0].unit.id == 2


def test_states_that_derive_from_excluded_lines_are_not_found(bank: Opened) -> None:
    memory = bank()
    talk(memory)
    query = "Biscuit, Olga and the library"
    whole = {f"note:{n}" for n in range(1, 9)}
    spring = {f"note:{n}" for n in range(1, 5)}
    assert set(ids(memory, query)) == whole
    assert set(ids(memory, query, where=Filter(session="spring"))) == spring
    assert ids(memory, query, where=Filter(session="summer")) == []  # they tell of spring as well
    assert set(ids(memory, query, where=Filter(session=("spring", "summer")))) == whole
    assert set(ids(memory, query, as_of=SESSIONS["summer"])) == spring
    assert set(ids(memory, query, where=Filter(until=TWENTY[4].said_at))) == {"note:1", "note:2"}
    assert ids(memory, query, where=Filter(since=SESSIONS["summer"])) == []
    assert set(ids(memory, query, where=Filter(since=SESSIONS["spring"]))) == whole
    assert set(ids(memory, query, exclude={14})) == spring | {"note:5"}
    for none in (Filter(speaker="Mara"), Filter(role="user"), Filter(metadata={"a": 1})):
        assert ids(memory, query, where=none) == []
        assert memory.context(query, where=none).text == ""
    assert "hired" not in memory.context(query, where=Filter(session="spring")).text
    assert "hired" not in memory.context(query, exclude={13}).text
    assert ids(memory, query, where=Filter(kind="note"))
    with pytest.raises(BadQuery, match="applies to lines only"):
        memory.recall(query, where=Filter(kind="note", speaker="Mara"))


def test_states_are_found_by_words_without_an_embedder(bank: Opened) -> None:
    memory = bank()
    talk(memory)
    memory.reader.encoder.embedder = moody = Moody()
    moody.down = True
    assert "allergic" in memory.context("What did the vet say about Biscuit?").text
    assert ids(memory, "What did the vet say about Biscuit?", k=1) == ["note:8"]


# ------------------------------------------------------------------------- what is shown


def test_the_notes_come_first_and_earlier_states_by_date(bank: Opened) -> None:
    memory = bank()
    noted(memory, *(f"On day {n} Mara sails to island number {n} with boat {n % 3}." for n in range(9)))
    context = memory.context("Where does Mara sail with boat 1?")
    assert key(context.hits[0]) == "note:9"
    assert context.text.startswith("[Wednesday, 11 March 2026, 12:00]\nnote: On day 8 Mara sails to island number 8")
    dates = [line.said_at for line in context.units]
    assert dates == sorted(dates)
    rest = [found for found in context.units if found.unit.id != 9]
    assert [context.text.index(line.text) for line in rest] == sorted(context.text.index(line.text) for line in rest)
    assert len(rest) >= 2
    assert context.text.count("[") == len(context.units)  # each under its own date
    assert context.tokens == estimate_tokens(context.text)


@pytest.mark.slow
@given(budget=st.integers(1, 700))
def test_contexts_fit_the_budget_and_include_the_notes_first(twenty_noted: Memory, budget: int) -> None:
    context = twenty_noted.context("What did the vet say about Biscuit?", budget)
    assert context.tokens == (estimate_tokens(context.text) if context.text else 0) <= budget
    if context:
        assert key(context.hits[0]) == "note:8"
    assert {key(hit) for hit in (*context.hits, *context.cut)} == {"note:8", "note:1", "note:7"}


@pytest.fixture(scope="module")
def twenty_noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("noted")
    with Memory.open("mara", store=folder, embedder=HashEmbedder(512), recipe=SMALL) as memory:
        talk(memory)
        yield memory


def test_a_prompt_has_the_notes_once_the_earlier_states_and_the_window(bank: Opened) -> None:
    memory = bank()
    prompt = talk(memory)[-1]
    notes = memory.units("note")[5]
    parts = prompt.split("[Jonas's notes]\n")
    assert len(parts) == 2
    assert parts[1].startswith(notes.text + "\n\n[Older notes of Jonas's, the oldest first;")
    assert prompt.count(notes.text) == 1
    older, newest = parts[1].split("\n\n(It is Saturday, 20 June 2026, 20:08.)\n\n")
    assert newest == "Mara: Olga is visiting from Lisbon in August."
    dates = [row for row in older.splitlines() if row.startswith("[Monday")]
    assert dates == [
        "[Monday, 2 March 2026, 18:02, 3 months ago]",
        "[Monday, 2 March 2026, 18:04, 3 months ago]",
        "[Monday, 2 March 2026, 18:09, 3 months ago]",
    ]
    window = [line.text for line in TWENTY[12:18]]  # 13 and 14 are in the notes already
    assert [parts[0].index(text) for text in window] == sorted(parts[0].index(text) for text in window)
    assert "Jonas: " + TWENTY[11].text not in parts[0]


def test_without_a_model_the_notes_are_shown(bank: Opened) -> None:
    memory = bank(Snapshots())
    talk(memory)
    with Chat(memory, JONAS, None) as chat:
        assert "allergic to milk" in "".join(chat.reply("What did the vet say?"))


def test_notes_in_the_prompt_are_not_recalled_again(bank: Opened) -> None:
    memory = bank()
    noted(memory, "Oslo has an opera.", "Tea is green.", "Oslo has an opera and a fjord.", "Oslo has a fjord.")
    stands = current(memory)
    context = memory.context("Oslo", notes=stands)
    assert stands.text not in [found.text for found in context.units]
    assert len(context.hits) == 3
    assert [found.unit.id for found in context.units] == [1, 2, 3]


def test_a_regenerated_reply_sees_no_notes_of_the_replaced_one(bank: Opened) -> None:
    memory = bank(Snapshots(window_max=4, evict=3, overlap=0))
    clock, scribe = Clock(), ExtractiveScribe()
    model = ScriptedLLM(["My brother Tom works in Oslo.", "My sister Mia moved to Lisbon.", "That is a long story."])
    with Chat(memory, JONAS, model, scribe=scribe, clock=clock) as chat:
        for text in ("Do you have any brothers?", "And where does your sister live?"):
            "".join(chat.reply(text))
            assert chat.wait(60)
        session = chat.end(remember=True).session
        assert chat.wait(60)
    with Chat(memory, JONAS, model, scribe=scribe, clock=clock, session=session) as chat:
        assert "Lisbon" in chat.notes
        "".join(chat.regenerate())
    asked = "\n".join(message.content for message in model.prompts[-1])
    assert "Oslo" in asked
    assert "Lisbon" not in asked


# ------------------------------------------------------------------------- what is gone


@pytest.mark.parametrize("how", ["retract", "forget"])
def test_retracted_and_forgotten_lines_disappear_from_notes(bank: Opened, how: str) -> None:
    memory = bank()
    talk(memory)
    if how == "retract":
        memory.retract(13)
    else:
        memory.forget(seq=13)
    assert spans(memory) == [(1, 3), (1, 4), (1, 5), (1, 10)]
    assert current(memory).id == 4
    for query in ("Who hired Mara on the first of July?", "library"):
        assert not any("hired" in hit.text for hit in memory.recall(query))
        assert "hired" not in memory.context(query).text
    assert "greyhound" in memory.context("Biscuit").text
    memory.forget(session="spring")
    assert memory.units() == []
    assert memory.context("Biscuit").text == ""


def test_notes_of_two_banks_are_separate(bank: Opened) -> None:
    memory, other = bank(), bank(name="nora")
    talk(memory)
    said = [replace(line, text=line.text.replace("Biscuit", "Pretzel").replace("Olga", "Wanda")) for line in TWENTY]
    talk(other, lines=said)
    query = "Where did Olga and Wanda move, and what of Biscuit and Pretzel?"
    conversations: list[tuple[Memory, tuple[str, str]]] = [(memory, ("Pretzel", "Wanda")), (other, ("Biscuit", "Olga"))]
    for each, strange in conversations:
        context: Context = each.context(query)
        texts = [context.text, *(unit.text for unit in each.units()), *(hit.text for hit in each.recall(query))]
        assert context.text
        assert not any(word in text for text in texts for word in strange)


def test_lines_outside_a_smaller_window_are_noted(tmp_path: Path) -> None:
    recipe = Snapshots(window_max=6, evict=3, overlap=0, window=2)
    with Memory.open("mara", store=tmp_path, embedder=HashEmbedder(), recipe=recipe) as memory:
        model = ScriptedLLM([f"Reply {n}, and the sea is calm." for n in range(8)])
        with Chat(memory, JONAS, model, scribe=ExtractiveScribe()) as chat:
            for n in range(8):
                "".join(chat.reply(f"I saw {n} ships near Lisbon today."))
                assert chat.wait(60)
        assert memory.units("note")
        prompt = "".join(message.content for message in model.prompts[-1])
        assert "I saw 6 ships" in prompt
        assert "I saw 5 ships" not in prompt.partition("notes")[0]


# ----------------------------------------------------------------------- the past unasked


def offered(memory: Memory, said: str, at: datetime) -> str:
    """Return the event in the prompt that the character could bring up, after the greeting of a new conversation."""
    with Chat(memory, JONAS, ScriptedLLM(["Aye."]), scribe=ExtractiveScribe(), clock=lambda: at) as chat:
        "".join(chat.reply(said))
        assert isinstance(chat.llm, ScriptedLLM)
        last = chat.llm.prompts[-1][-1].content
        chat.end(remember=False)
    return last.partition("could bring up, if the moment is right]\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize("offers", [False, True])
def test_announced_events_are_brought_up_only_with_the_option(bank: Opened, offers: bool) -> None:
    memory = bank(Snapshots(offers=offers))
    memory.observe_many(TWENTY[:10])
    after = SESSIONS["spring"] + timedelta(days=6)
    assert ("My interview at the library is on Friday" in offered(memory, "Hello, I am back.", after)) is offers


def test_offers_can_be_set_by_name() -> None:
    assert Snapshots().offers is False
    assert factory.open_recipe("character", None, {"offers": "true"}).offers is True
