"""membot's option `replies`: only the bot's replies are embedded and searched, in both stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from everthread.bank.embedding_backlog import MAX_BACKFILL_LINES
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.cli.main import main
from everthread.errors import EmbedderUnavailable
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.recipes.membot import Membot
from everthread.recipes.packabby import Packabby
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.transfer.copy_bank import copy_bank
from everthread.types import NewLine, Vector, Vectors
from recipes.twenty import BOT, PERSON, TWENTY

REPLIES, BOTH = Membot(replies=True, threshold=0.3), Membot(threshold=0.3)
EVEN = [*range(2, 21, 2)]  # the replies among the twenty lines
BANKS = count()


class Embedder(HashEmbedder):
    """Records the texts of lines that it embeds; can be switched off."""

    def __init__(self, name: str = "hash-512") -> None:
        super().__init__(512)
        self.name = name
        self.texts: list[str] = []
        self.down = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise EmbedderUnavailable("switched off")
        self.texts += texts
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        if self.down:
            raise EmbedderUnavailable("switched off")
        return HashEmbedder(512).embed_query(text)


@pytest.fixture(params=["folder", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    folder = request.param == "folder"
    store = SQLiteStore(tmp_path) if folder else PostgresStore(request.getfixturevalue("database"))
    yield store
    store.close()


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


@pytest.fixture
def replies(store: Store, embedder: Embedder) -> Memory:
    """Yield the twenty lines, stored with the option."""
    memory = Memory(f"mara {next(BANKS)}", store, embedder, REPLIES)
    memory.observe_many(TWENTY)
    return memory


def under(recipe: Recipe, memory: Memory) -> Memory:
    return Memory(memory.bank, memory.store, memory.embedder, recipe)


def embedded(memory: Memory) -> list[int]:
    """Return the numbers of the lines that have a vector of the memory's embedder."""
    seqs = np.array([line.seq for line in memory.lines()])
    cosines = memory.store.cosines(memory.bank, memory.embedder.name, HashEmbedder(512).embed_query("x"), seqs)
    return [int(seq) for seq in seqs[~np.isnan(cosines)]]


# ------------------------------------------------------------------------------ written


def test_only_replies_have_vectors_and_nothing_is_pending(replies: Memory, embedder: Embedder) -> None:
    assert embedder.texts == [line.text for line in TWENTY if line.role == "assistant"]
    assert embedded(replies) == EVEN
    assert (replies.stats().pending, replies.stats().vectors) == (0, {"hash-512": 10})
    assert replies.store.check(replies.bank) == []


def test_reindex_leaves_the_persons_lines_alone(replies: Memory, embedder: Embedder) -> None:
    embedder.texts.clear()
    assert replies.reindex() == 0
    assert (embedder.texts, embedded(replies)) == ([], EVEN)


def test_by_another_embedder_only_replies_are_pending_and_reindexed(replies: Memory) -> None:
    other = Memory(replies.bank, replies.store, Embedder("another"), REPLIES)
    assert other.stats().pending == 10
    assert other.reindex() == 10
    assert embedded(other) == EVEN
    assert (other.stats().pending, other.stats().vectors) == (0, {"another": 10})


def test_a_corrected_reply_is_embedded_and_a_corrected_message_is_not(replies: Memory) -> None:
    message = replies.correct(3, "I adopted a greyhound named Pretzel on Saturday.")
    reply = replies.correct(4, "A greyhound named Pretzel will need long walks along the pier.")
    assert embedded(replies) == [*(seq for seq in EVEN if seq != 4), reply.seq]
    assert message.seq < reply.seq
    assert replies.stats().pending == 0


def test_replies_written_while_no_embedder_answered_are_pending_and_nothing_else(
    replies: Memory, embedder: Embedder
) -> None:
    embedder.down = True
    replies.observe_many([NewLine("Who was it?", PERSON), NewLine("It was Olga.", BOT, "assistant")])
    assert replies.stats().pending == 1
    embedder.down = False
    assert under(REPLIES, replies).reindex() == 1
    assert embedded(replies) == [*EVEN, 22]


# --------------------------------------------------------------------------------- late


def test_in_a_chat_only_the_replies_wait_for_their_vectors(replies: Memory, embedder: Embedder) -> None:
    with Chat(replies, Character(BOT, person=PERSON), ScriptedLLM(["In Lisbon.", "Aye."])) as chat:
        "".join(chat.reply("Where does Olga live?"))
        "".join(chat.reply("Is it warm there?"))
        assert chat.wait(120)
    assert [replies.store.get(replies.bank, [seq])[0].text for seq in embedded(replies)[10:]] == ["In Lisbon.", "Aye."]
    assert "Where does Olga live?" not in embedder.texts
    assert (replies.stats().pending, bool(replies.backlog)) == (0, False)


def test_queries_do_not_wait_for_pending_messages(replies: Memory) -> None:
    replies.replace_lines((), [NewLine("Is it warm there?", PERSON)], defer_embedding=True)
    assert not replies.backlog
    replies.backlog.embed_pending()
    assert embedded(replies) == EVEN


def test_replies_left_pending_by_a_process_are_embedded_with_the_next_one(
    replies: Memory,
) -> None:
    replies.replace_lines(
        (), [NewLine("It is.", BOT, "assistant"), NewLine("Good.", PERSON)], defer_embedding=True
    )  # the process ends
    next_one = under(REPLIES, replies)
    next_one.replace_lines((), [NewLine("See you.", BOT, "assistant")], defer_embedding=True)
    next_one.backlog.embed_pending()
    assert embedded(replies) == [*EVEN, 21, 23]


def test_another_recipe_embeds_the_persons_few_lines_with_the_next_pending_one(replies: Memory) -> None:
    other = under(Default(), replies)
    assert 0 < other.stats().pending <= MAX_BACKFILL_LINES
    other.replace_lines((), [NewLine("Is it warm there?", PERSON)], defer_embedding=True)
    other.backlog.embed_pending()
    assert embedded(replies) == [*range(1, 22)]
    assert other.stats().pending == 0


# ------------------------------------------------------------------------ other recipes


@pytest.mark.parametrize("recipe", [Default(), BOTH], ids=["default", "membot"])
def test_by_a_recipe_of_all_lines_the_persons_are_pending_until_reindex(replies: Memory, recipe: Recipe) -> None:
    other = under(recipe, replies)
    assert other.stats().pending == 10
    assert other.reindex() == 10
    assert (other.stats().pending, embedded(replies)) == (0, [*range(1, 21)])


def test_a_bank_with_vectors_of_both_sides_keeps_them_and_is_searched_for_replies_only(
    store: Store, embedder: Embedder
) -> None:
    both = Memory(f"both {next(BANKS)}", store, embedder, BOTH)
    both.observe_many(TWENTY)
    replies = under(REPLIES, both)
    assert (replies.stats().pending, replies.reindex()) == (0, 0)
    assert embedded(both) == [*range(1, 21)]
    assert {hit.line.role for hit in replies.recall("A greyhound named Biscuit", 20)} == {"assistant"}
    assert {hit.line.role for hit in both.recall("A greyhound named Biscuit", 20)} == {"assistant", "user"}


def test_reindex_by_a_recipe_that_finds_no_lines_embeds_none(store: Store, embedder: Embedder) -> None:
    memory = Memory(f"none {next(BANKS)}", store, embedder, Packabby())
    memory.observe_many(TWENTY)
    assert (memory.stats().pending, memory.reindex(), embedded(memory)) == (0, 0, [])
    assert under(Default(), memory).reindex() == 20


# -------------------------------------------------------------------------------- found


def test_a_reply_is_found_and_grows_by_lines_of_both_sides(replies: Memory) -> None:
    context = replies.context("Then milk and cheese stay on the high shelf", 5000)
    assert context.hits[0].line.seq == 18
    assert {hit.line.role for hit in context.hits} == {"assistant"}
    assert {15, 16, 17, 18, 19, 20} <= {line.seq for line in context.lines}
    assert "allergic to milk" in context.text


# --------------------------------------------------------------------------------- copies


def test_a_copy_has_vectors_of_replies_only(replies: Memory, tmp_path: Path) -> None:
    other = SQLiteStore(tmp_path / "copy")
    copy = Memory(replies.bank, other, Embedder(), REPLIES)
    assert copy_bank(replies, copy)[0] == 20
    assert (embedded(copy), copy.stats().pending) == (EVEN, 0)
    other.close()


def test_the_command_copies_a_bank_by_the_recipe_that_it_keeps(store: Store, database: str, tmp_path: Path) -> None:
    bank = f"kept {next(BANKS)}"
    hashed = HashEmbedder()
    place = database if isinstance(store, PostgresStore) else str(tmp_path)
    with Memory.open(bank, store=place, embedder=hashed, recipe="membot", options={"replies": True}) as memory:
        memory.observe_many(TWENTY)
    result = CliRunner().invoke(main, ["--embedder", "hash", "move", place, str(tmp_path / "copy"), "-b", bank])
    assert result.exit_code == 0, result.output
    with Memory.open(bank, store=tmp_path / "copy", embedder=hashed) as copy:
        assert copy.recipe == Membot(replies=True)
        assert (copy.stats().pending, copy.stats().vectors) == (0, {hashed.name: 10})
