from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadBankId, BadQuery, EmbedderUnavailable, NotFound
from everthread.memory import Memory
from everthread.recipes.membot import Membot
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.text.tokens import estimate_tokens
from everthread.types import Filter, NewLine, Vector

AT = datetime(2026, 3, 2, 18, tzinfo=UTC)
SAID = {
    "ann": ("The ferry to the island leaves at noon.", "I bake bread on Sundays.", "My brother sails."),
    "bob": ("I missed the ferry to the island.", "The lamp is broken."),
    "cleo": ("Kites need wind.", "A ferry is a ship.", "The island has two beaches.", "I like bread."),
}


class CountingEmbedder(HashEmbedder):
    """Counts the queries that it embeds, and fails while it is switched off."""

    embedded_queries = 0
    is_down = False

    def embed_query(self, text: str) -> Vector:
        self.embedded_queries += 1
        if self.is_down:
            raise EmbedderUnavailable("switched off")
        return super().embed_query(text)


def fill_bank(name: str, store: Store, lines: Sequence[str], embedder: HashEmbedder | None = None) -> Memory:
    memory = Memory.open(name, store=store, embedder=embedder or HashEmbedder(512), recipe="default")
    memory.observe_many(
        [NewLine(text, name.title(), said_at=AT + n * timedelta(days=1)) for n, text in enumerate(lines)]
    )
    return memory


@pytest.fixture(scope="module", params=["folder", "database"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """Open a store with three banks, of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        database = request.param == "database"
        opened: Store = PostgresStore(request.getfixturevalue("database")) if database else SQLiteStore(folder)
        for name, lines in SAID.items():
            fill_bank(name, opened, lines)
        yield opened
        opened.close()


@pytest.fixture
def ann(store: Store) -> Memory:
    return Memory("ann", store, CountingEmbedder(512), Memory.open("ann", store=store, embedder="hash").recipe)


def test_hits_of_several_banks_are_ordered_by_relevance_and_name_their_bank(ann: Memory) -> None:
    hits = ann.recall("the ferry to the island", 6, banks=["ann", "bob", "cleo"])
    assert len(hits) == 6
    assert {hit.bank for hit in hits[:3]} == {"ann", "bob", "cleo"}
    assert all(hit.line.text in SAID[hit.bank] and hit.line.speaker == hit.bank.title() for hit in hits)
    assert all({line.text for line in hit.passage} <= set(SAID[hit.bank]) for hit in hits)
    order = [(hit.relevance, hit.score) for hit in hits]
    assert order == sorted(order, reverse=True)


def test_the_memorys_own_bank_is_searched_only_if_listed_or_without_a_list(ann: Memory) -> None:
    assert {hit.bank for hit in ann.recall("ferry", banks=("bob", "cleo"))} == {"bob", "cleo"}
    assert {hit.bank for hit in ann.recall("ferry")} == {""}
    assert ann.bank == "ann"
    assert [replace(hit, bank="") for hit in ann.recall("ferry", banks={"ann"})] == ann.recall("ferry")


def test_a_bank_named_twice_is_searched_once(ann: Memory) -> None:
    assert len(ann.recall("ferry", 50, banks=["bob", "bob"])) == 2


def test_a_missing_bank_is_rejected_and_not_created(ann: Memory) -> None:
    before = ann.store.banks()
    with pytest.raises(NotFound, match="no bank 'bobb'"):
        ann.recall("ferry", banks=["bob", "bobb"])
    with pytest.raises(NotFound):
        ann.recall("", banks=["bobb"])
    assert ann.store.banks() == before


@pytest.mark.parametrize(
    ("banks", "why"), [("bob", "list of banks' ids.*'bob'"), ([], "names no bank"), ([3], "list.*3"), (7, "list.*7")]
)
def test_an_invalid_list_of_banks_is_rejected(ann: Memory, banks: object, why: str) -> None:
    with pytest.raises(BadQuery, match=why):
        ann.recall("ferry", banks=banks)  # type: ignore[arg-type]


def test_an_invalid_query_or_bank_id_is_rejected_for_several_banks(ann: Memory) -> None:
    with pytest.raises(BadQuery, match="query must be a str"):
        ann.recall(None, banks=["bob"])  # type: ignore[arg-type]
    with pytest.raises(BadBankId):
        ann.recall("ferry", banks=[""])


def test_excluded_lines_are_those_of_the_memorys_own_bank(ann: Memory) -> None:
    hits = ann.recall("ferry", 50, banks=["ann", "bob", "cleo"], exclude=[1, 2])
    assert {hit.line.seq for hit in hits if hit.bank == "ann"} == {3}
    assert {hit.line.seq for hit in hits if hit.bank == "bob"} == {1, 2}


def test_filters_apply_to_every_bank(ann: Memory) -> None:
    all_banks = {"banks": list(SAID), "k": 50}
    said_first = ann.recall("ferry", where=Filter(until=AT + timedelta(hours=1)), **all_banks)  # type: ignore[arg-type]
    assert {(hit.bank, hit.line.seq) for hit in said_first} == {(name, 1) for name in SAID}
    hits = ann.recall("ferry", as_of=AT + timedelta(days=1), **all_banks)  # type: ignore[arg-type]
    assert {hit.line.seq for hit in hits} == {1, 2}
    assert {hit.bank for hit in ann.recall("ferry", where=Filter(speaker="Bob"), **all_banks)} == {"bob"}  # type: ignore[arg-type]


def test_a_blank_query_finds_nothing_in_several_banks(ann: Memory) -> None:
    assert ann.recall("  ", banks=list(SAID)) == []


def test_a_query_is_embedded_once_for_several_banks(ann: Memory) -> None:
    assert isinstance(ann.embedder, CountingEmbedder)
    assert ann.recall("Who missed the ferry to the island?", banks=list(SAID))
    assert ann.embedder.embedded_queries == 1  # only the words that are searched for, not the whole question


def test_a_query_is_embedded_again_only_if_speaker_names_change_it(ann: Memory) -> None:
    assert isinstance(ann.embedder, CountingEmbedder)
    assert ann.recall("Did Bob miss the ferry to the island?", banks=list(SAID))
    assert ann.embedder.embedded_queries == 2  # with the name, and without it in the bank in which Bob speaks


def test_recalling_from_other_banks_does_not_change_the_own_bank(ann: Memory) -> None:
    seqs = [line.seq for line in ann.replace_lines([], [NewLine("The ferry was late.")], defer_embedding=True)]
    assert ann.recall("ferry", banks=["bob"])
    assert (ann.stats().pending, bool(ann.backlog)) == (1, True)
    assert ann.recall("ferry", banks=["bob", "ann"])
    assert (ann.stats().pending, bool(ann.backlog)) == (0, False)
    ann.forget(seq=seqs[0])


def test_pending_lines_of_other_banks_stay_pending(ann: Memory) -> None:
    bob = Memory("bob", ann.store, ann.embedder, ann.recipe)
    seqs = [line.seq for line in bob.replace_lines([], [NewLine("The ferry was late.")], defer_embedding=True)]
    assert {hit.line.seq for hit in ann.recall("late ferry", banks=["bob"])} >= set(seqs)
    assert bob.stats().pending == 1
    bob.forget(seq=seqs[0])


def test_an_unavailable_embedder_is_tried_once_and_keywords_are_searched(ann: Memory) -> None:
    assert isinstance(ann.embedder, CountingEmbedder)
    ann.embedder.is_down = True
    hits = ann.recall("island ferry", banks=list(SAID))
    assert {hit.bank for hit in hits[:3]} == set(SAID)
    assert ann.embedder.embedded_queries == 1


def test_any_recipe_recalls_across_banks(ann: Memory) -> None:
    membot = Memory("ann", ann.store, ann.embedder, Membot())
    hits = membot.recall("the ferry to the island", 3, banks=["bob", "cleo"])
    assert (hits[0].bank, hits[0].line.seq) == ("bob", 1)
    assert hits[0].relevance == pytest.approx(hits[0].signals["cosine"])


def test_a_context_of_several_banks_has_a_part_for_each_under_its_id(ann: Memory) -> None:
    context = ann.context("the ferry to the island", 300, banks=["bob", "cleo", "ann"], gate=False, min_relevance=0.0)
    assert context.text.startswith("[Bank ann]\n")
    assert context.text.index("Ann: The ferry to the island") < context.text.index("[Bank bob]\n")
    offsets = [context.text.index(text) for text in ("[Bank bob]\n", "Bob: I missed the ferry", "[Bank cleo]\n")]
    assert offsets == sorted(offsets)
    assert context.tokens == estimate_tokens(context.text) <= 300
    assert {line.text for line in context.lines} <= set(SAID["ann"])
    assert [(other.bank, {hit.bank for hit in other.hits}) for other in context.others] == [
        ("bob", {"bob"}),
        ("cleo", {"cleo"}),
    ]
    assert all({line.text for line in other.lines} <= set(SAID[other.bank]) for other in context.others)
    assert context.relevance == max(
        other.relevance for other in (ann.context("the ferry to the island"), *context.others)
    )


def test_the_memorys_own_bank_is_in_a_context_only_if_listed(ann: Memory) -> None:
    context = ann.context("the ferry to the island", banks=["bob"], gate=False, min_relevance=0.0)
    assert (context.lines, context.hits, [other.bank for other in context.others]) == ((), (), ["bob"])
    assert context.text == context.others[0].text
    assert context.text.startswith("[Bank bob]\n")
    single = ann.context("the ferry to the island", banks=["ann"])
    assert single == ann.context("the ferry to the island")


def test_excluded_and_buffered_lines_are_those_of_the_memorys_own_bank(ann: Memory) -> None:
    banks = ["ann", "bob"]
    context = ann.context("ferry", banks=banks, exclude=[1, 2, 3], session="s", gate=False, min_relevance=0.0)
    assert context.lines == ()
    assert {hit.line.seq for hit in context.others[0].hits} & {1, 2, 3}
    assert ann.store.buffer("ann", "s") == ann.store.buffer("bob", "s") == []
    ann.context("ferry", banks=banks, session="s", gate=False, min_relevance=0.0)
    assert ann.store.buffer("ann", "s") != []
    assert ann.store.buffer("bob", "s") == []
    ann.store.set_buffer("ann", "s", [])


@pytest.mark.parametrize("budget", [1, 20, 40, 60, 90])
def test_a_context_of_several_banks_does_not_exceed_its_budget(ann: Memory, budget: int) -> None:
    context = ann.context("ferry", budget, banks=list(SAID), gate=False, min_relevance=0.0)
    assert estimate_tokens(context.text) <= budget


def test_a_context_of_a_missing_bank_is_rejected(ann: Memory) -> None:
    with pytest.raises(NotFound, match="no bank 'bobb'"):
        ann.context("ferry", banks=["ann", "bobb"])


FillBanks = Callable[[list[list[str]]], tuple[Memory, list[str]]]
TEXTS = st.lists(st.sampled_from("fern lamp ferry kite pier otter".split()), min_size=1, max_size=4).map(" ".join)


@pytest.fixture(scope="module")
def fill_banks() -> Iterator[FillBanks]:
    """Return a function that fills banks."""
    with tempfile.TemporaryDirectory() as folder, Memory.open("0", store=folder, embedder=HashEmbedder(64)) as first:
        names = map(str, range(1, 10_000))

        def fill(talks: list[list[str]]) -> tuple[Memory, list[str]]:
            banks = [next(names) for _ in talks]
            for name, lines in zip(banks, talks, strict=True):
                fill_bank(name, first.store, lines, HashEmbedder(64))
            return first, banks

        yield fill


@examples(25)
@given(talks=st.lists(st.lists(TEXTS, max_size=8), min_size=1, max_size=4), query=TEXTS, k=st.integers(1, 20))
def test_the_hits_of_each_bank_are_the_first_of_its_own_recall(
    fill_banks: FillBanks, talks: list[list[str]], query: str, k: int
) -> None:
    memory, banks = fill_banks(talks)
    single = {name: Memory(name, memory.store, memory.embedder, memory.recipe).recall(query, k) for name in banks}
    hits = memory.recall(query, k, banks=banks)
    assert len(hits) == min(k, sum(map(len, single.values())))
    for name in banks:
        bank_hits = [replace(hit, bank="") for hit in hits if hit.bank == name]
        assert {hit.line.seq for hit in bank_hits} <= {hit.line.seq for hit in single[name]}
        assert all(hit in single[name] for hit in bank_hits)
    dropped = [hit for name in banks for hit in single[name] if replace(hit, bank=name) not in hits]
    assert all(hit.relevance <= min(returned.relevance for returned in hits) for hit in dropped)
