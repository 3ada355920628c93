"""Which memory answers a message without a model, and what its record says later."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.bank.evidence import build_metadata
from everthread.chat.chat import Chat
from everthread.chat.offline_answer import (
    MIN_SHARE,
    STATED_RELEVANCE,
    SURE_SUBJECT,
    OfflineAnswer,
    choose_answer,
    find_source,
    order_by_speaker,
    read_answers,
    select_memories,
)
from everthread.common.keys import META_RECALLED
from everthread.embedders.onnx import OnnxEmbedder
from everthread.memory import Memory
from everthread.stores.recall_records import SURE_RELEVANCE, get_answer, is_answer_sure
from everthread.transfer import exporting, importing
from everthread.types import Context, Hit, JSONValue, Line

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def line(seq: int, text: str) -> Line:
    return Line(seq, "s", "user", "Nora", text, NOON)


def hit(seq: int, text: str, relevance: float, *neighbours: Line) -> Hit:
    found = line(seq, text)
    return Hit(found, 1.0, relevance, {}, (found, *neighbours))


def context(*hits: Hit, of_message: float = 0.9, others: tuple[Context, ...] = ()) -> Context:
    sources = tuple({each.seq: each for found in hits for each in found.passage}.values())
    return Context("text", 9, sources, hits, (), of_message, others=others)


TEA = hit(1, "I like tea.", 0.6)


# ------------------------------------------------------------------------------ choosing


def said_by(speaker: str, seq: int, text: str, relevance: float) -> Hit:
    found = replace(line(seq, text), speaker=speaker)
    return Hit(found, 1.0, relevance, {}, (found,))


def test_what_someone_said_is_answered_with_a_line_of_that_speaker() -> None:
    ben, anna = said_by("Ben", 1, "For the trip I want a camper.", 0.8), said_by("Anna K.", 2, "I have exams.", 0.4)
    speakers, question = ("Ben", "Anna K.", "Emma"), replace(line(9, "?"), text="What did Anna say about the trip?")
    found = context(ben, anna)
    answer = choose_answer(order_by_speaker(found, question.text, speakers), question, incognito=False)
    assert (answer.source, answer.is_sure) == (anna.line, True)
    without = order_by_speaker(context(ben), question.text, speakers)
    assert (choose_answer(without, question, incognito=False).source, without.hits[0].relevance) == (ben.line, 0.25)
    assert not choose_answer(without, question, incognito=False).is_sure
    for other in ("What about the trip?", "What did Anna do on the trip?", "What did I tell Anna about the trip?"):
        assert order_by_speaker(found, other, speakers) == found


@pytest.mark.parametrize(
    ("message", "relevance", "is_quoted"),
    [
        ("My sister moved to Lisbon.", STATED_RELEVANCE - 0.01, False),
        ("I drank tea again.", STATED_RELEVANCE, True),
        ("Do I like tea?", 0.3, True),
        ("do i like tea", 0.3, True),
    ],
)
def test_a_statement_that_hardly_concerns_the_memories_is_given_none(
    message: str, relevance: float, is_quoted: bool
) -> None:
    kept = select_memories(context(TEA, of_message=relevance), message)
    assert bool(kept.hits) == is_quoted
    assert kept.relevance == relevance


@pytest.mark.parametrize(("relevance", "is_quoted"), [(SURE_SUBJECT - 0.01, False), (SURE_SUBJECT, True)])
def test_a_statement_without_a_word_of_a_memory_must_be_surely_near_to_it(relevance: float, is_quoted: bool) -> None:
    without_words = replace(TEA, signals={"share": 0.0})
    kept = select_memories(context(without_words, of_message=relevance), "I had a cup of something.")
    assert bool(kept.hits) == is_quoted


def test_the_second_statement_in_a_new_bank_is_not_answered_by_the_first(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory:
        memory.observe("My name is Nora and I live by the sea.")
        for message in ("I have a cat called Miso.", "I feel a bit lonely these days."):
            assert not select_memories(memory.context(message), message).hits
        message = "The sea was wild this morning."
        assert select_memories(memory.context(message), message).hits


def test_memories_that_are_much_less_relevant_than_the_best_one_are_left_out_with_their_passages() -> None:
    shared, own = line(5, "Between."), line(6, "Beside.")
    best, weak = hit(4, "I like tea.", 0.6, shared), hit(7, "It rained.", 0.6 * MIN_SHARE - 0.01, shared, own)
    kept = select_memories(context(best, weak), "Do I like tea?")
    assert kept.hits == (best,)
    assert [each.seq for each in kept.lines] == [4, 5]
    assert (kept.text, kept.tokens) == ("", 0), "no prompt is made of it"


def test_a_line_that_only_asks_is_left_out_unless_there_is_nothing_else() -> None:
    asked = hit(2, "Where is the tea?", 0.9)
    assert select_memories(context(asked, TEA), "What do I drink?").hits == (TEA,)
    assert select_memories(context(asked), "What do I drink?").hits == (asked,)


def test_the_best_memory_of_all_banks_sets_what_is_left_out() -> None:
    other = context(hit(9, "Tea is at four.", 0.9))
    kept = select_memories(context(hit(1, "It rained.", 0.1), others=(other,)), "When is tea?")
    assert (kept.hits, kept.others[0].hits) == ((), other.hits)


@pytest.mark.parametrize("relevance", [SURE_RELEVANCE, SURE_RELEVANCE - 0.01])
def test_a_memory_is_stated_from_a_bound_of_relevance_on(relevance: float) -> None:
    found = hit(1, "I like tea.", relevance)
    answer = choose_answer(context(found), line(2, "Do I like tea?"), incognito=False)
    assert answer == OfflineAnswer("quote", found.source, relevance >= SURE_RELEVANCE)
    record: dict[str, JSONValue] = {"answer": 1, "hits": [{"seq": 1, "relevance": relevance, "passage": [1]}]}
    assert is_answer_sure({META_RECALLED: record}) == answer.is_sure


@pytest.mark.parametrize(("incognito", "kind"), [(False, "remembered"), (True, "unsaved")])
def test_a_statement_is_acknowledged_before_a_memory_is_quoted(incognito: bool, kind: str) -> None:
    answer = choose_answer(context(TEA), line(2, "I drank tea again."), incognito)
    assert (answer.kind, answer.source) == (kind, TEA.source)


@pytest.mark.parametrize("message", ["Thanks!", "forget what I said about tea"])
def test_thanks_and_requests_to_delete_are_answered_without_a_quote(message: str) -> None:
    assert choose_answer(context(TEA), line(2, message), incognito=False).source is None


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("What's your name?", "I remember nothing about that yet."),
        ("What day is it today?", "I remember nothing about that yet."),
        ("Write me a poem", "I remember nothing about that yet."),
        ("What's my name?", "Today you told me: “My name is Jonas, and my birthday is on 3 May.”"),
    ],
)
def test_what_a_person_says_of_themselves_answers_no_question_to_the_bot(
    tmp_path: Path, message: str, answer: str
) -> None:
    with Memory.open("jonas", store=tmp_path) as memory, Chat(memory, llm=None) as chat:
        "".join(chat.reply("My name is Jonas, and my birthday is on 3 May."))
        assert "".join(chat.reply(message)) == answer


def test_a_request_to_delete_is_not_quoted() -> None:
    request = hit(2, "forget what I said about tea", 0.9)
    assert select_memories(context(request, TEA), "What do I drink?").hits == (TEA,)
    assert find_source(context(request, TEA)) == TEA.source


def test_a_question_that_was_recalled_is_answered_by_what_was_said_next() -> None:
    asked = line(1, "Where is the tea?")
    reply = replace(asked, seq=2, role="assistant", text="In the tin.")
    assert find_source(context(Hit(asked, 1.0, 0.9, {}, (asked, reply)))) == reply


@pytest.mark.parametrize(
    ("message", "incognito", "kind"),
    [
        ("Do I have a car?", False, "nothing"),
        ("Do I have a car?", True, "nothing"),
        ("I bought a car.", False, "remembered"),
        ("I bought a car.", True, "unsaved"),
        ("Thanks!", False, "listening"),
        ("Guten Morgen!", False, "listening"),
        ("Ciao, see you tomorrow!", False, "listening"),
        ("Thanks!", True, "listening"),
        ("undo", False, "command"),
        ("Can you delete my last message?", False, "command"),
    ],
)
def test_what_is_said_where_nothing_is_remembered(message: str, incognito: bool, kind: str) -> None:
    assert choose_answer(context(of_message=0.0), line(1, message), incognito) == OfflineAnswer(kind)  # type: ignore[arg-type]


def test_a_line_of_another_bank_is_not_recorded_as_the_own_line_of_its_number() -> None:
    other = context(hit(1, "Tea is at four.", 0.9))
    both = context(hit(1, "Where is tea?", 0.1), others=(other,))
    quoted = choose_answer(both, line(9, "When is tea?"), incognito=False).source
    assert quoted == other.hits[0].source
    assert get_answer(build_metadata(both, quoted, kind="quote")) is None
    assert get_answer(build_metadata(other, quoted, kind="quote")) == 1


# --------------------------------------------------------------------------------- later


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """Return a chat in which line 3 was answered by line 1."""
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        for text in ("I have a cat called Momo.", "My sister Mia moved to Lisbon.", "What is my cat called?"):
            "".join(chat.reply(text))
        yield chat


def test_answers_are_read_from_the_records_of_the_lines(asked: Chat) -> None:
    answers = asked.offline_answers()
    assert [answers[seq].kind for seq in (1, 2, 3)] == ["remembered", "remembered", "quote"]
    assert answers[3].source == asked.lines[0]
    assert not answers[3].is_corrected


def test_an_answer_quotes_the_correction_of_its_line(asked: Chat) -> None:
    corrected = asked.memory.correct(1, "I have a cat called Minka.")
    again = asked.memory.correct(corrected.seq, "I have a cat called Mimi.")
    answer = asked.offline_answers()[3]
    assert (answer.source, answer.is_corrected, answer.is_sure) == (again, True, True)


def test_a_quote_says_what_of_it_is_no_longer_true(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory:
        for text, month in (("I live in Leeds.", 4), ("I play the cello.", 5), ("I moved to York.", 8)):
            memory.observe(text, speaker="user", session="other", said_at=datetime(2024, month, 1, tzinfo=UTC))
        with Chat(memory, llm=None) as chat:
            reply = "".join(chat.reply("Did I live in Leeds?"))
            assert "“I live in Leeds.” [until August 2024; then: York]" in reply
            assert "[" not in "".join(chat.reply("What instrument do I play?"))
            first, second = (chat.offline_answers()[line.seq] for line in chat.lines if line.role == "user")
            assert (first.outdated, second.outdated) == ("until August 2024; then: York", "")


def test_a_quote_says_which_of_its_facts_was_corrected(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory:
        memory.observe("I live in Leeds.", speaker="user", session="other")
        (home,) = memory.facts(attribute="home")
        memory.correct_fact(home.id, "York")
        with Chat(memory, llm=None) as chat:
            assert "“I live in Leeds.” [The user lives in York.]" in "".join(chat.reply("where do i live"))


def test_a_question_is_answered_with_what_is_known_of_the_one_it_names(tmp_path: Path) -> None:
    talk = (
        "I live in Leeds.",
        "My sister Lena is a nurse.",
        "I watched a film.",
        "We moved to York, boxes everywhere.",
    )
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory:
        for month, text in enumerate(talk, 1):
            memory.observe(text, speaker="user", session="other", said_at=datetime(2024, month, 1, tzinfo=UTC))
        with Chat(memory, llm=None) as chat:
            assert "“We moved to York, boxes everywhere.”" in "".join(chat.reply("where do i live"))
            assert "nurse" in "".join(chat.reply("What does Lena do for a living?"))
            assert "nurse" not in "".join(chat.reply("whats my job")).replace("I'm not sure, but", "")
            answers = [chat.offline_answers()[line.seq] for line in chat.lines if line.role == "user"]
            assert [answer.is_sure and answer.kind == "quote" for answer in answers] == [True, True, False]


def test_what_is_found_for_a_fact_that_is_not_known_is_in_doubt(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        for text in (
            "My wife is called Elin.",
            "I have a cat.",
            "What is my brother's name?",
            "What is my wife's name?",
        ):
            "".join(chat.reply(text))
        answers = [answer for answer in chat.offline_answers().values() if answer.kind == "quote"]
        assert [(answer.source.text, answer.is_sure) for answer in answers if answer.source] == [
            ("My wife is called Elin.", False),
            ("My wife is called Elin.", True),
        ]


def test_a_line_that_is_hidden_from_the_chat_answers_nothing(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        for text in ("I live in Leeds.", "Where do I live?"):
            "".join(chat.reply(text))
        chat.undo()
        chat.undo()
        assert "Leeds" not in "".join(chat.reply("Where do I live?"))


def test_a_quote_says_only_what_was_known_at_the_time_of_the_chat(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory:
        for text, month in (("I live in Leeds.", 4), ("I moved to York.", 8)):
            memory.observe(text, speaker="user", session="other", said_at=datetime(2024, month, 1, tzinfo=UTC))
        with Chat(memory, llm=None, clock=lambda: datetime(2024, 5, 1, tzinfo=UTC)) as chat:
            assert "".join(chat.reply("Which town, Leeds, do I live in?")).endswith("“I live in Leeds.”")


def test_a_question_that_is_answered_again_has_the_later_answer(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        "".join(chat.reply("Where does Mia live?"))
        assert chat.offline_answers()[1].kind == "nothing"
        source = memory.observe("Mia lives in Lisbon.", speaker="user", session="other", said_at=NOON)
        assert "Lisbon" in "".join(chat.answer())
        assert chat.offline_answers()[1].source == source


def test_an_unanswered_question_that_is_corrected_to_a_statement_keeps_what_was_said(tmp_path: Path) -> None:
    with Memory.open("new", store=tmp_path, embedder=OnnxEmbedder()) as memory, Chat(memory, llm=None) as chat:
        "".join(chat.reply("Where does Mia live?"))
        corrected = memory.correct(1, "Mia lives in Rome.")
        chat.refresh()
        assert chat.offline_answers() == {corrected.seq: OfflineAnswer("nothing")}


def test_a_corrected_line_keeps_its_answer(asked: Chat) -> None:
    told, question = asked.memory.correct(2, "Mia moved to Porto."), asked.memory.correct(3, "What's my cat called?")
    asked.refresh()
    answers = asked.offline_answers()
    assert (answers[told.seq].kind, answers[question.seq].source) == ("remembered", asked.lines[0])


def test_an_answer_whose_line_was_forgotten_remains_without_it(asked: Chat) -> None:
    asked.forget(1)
    assert asked.offline_answers()[3] == OfflineAnswer("quote", None)
    assert "Momo" not in str(asked.lines)


def test_an_answer_whose_line_was_discarded_remains_without_it(asked: Chat) -> None:
    asked.memory.retract(1)
    assert asked.offline_answers()[3].source is None


def test_an_acknowledgement_is_read_with_the_memory_and_remains_without_it(asked: Chat) -> None:
    text = "".join(asked.reply("My cat called Momo died this morning."))
    assert text == "I'll remember that. Today you told me: “I have a cat called Momo.”"
    assert asked.offline_answers()[4] == OfflineAnswer("remembered", asked.lines[0])
    asked.forget(1)
    assert asked.offline_answers()[4] == OfflineAnswer("remembered")


def test_answers_survive_an_export_and_an_import(asked: Chat, tmp_path: Path) -> None:
    with Memory.open("other", store=asked.memory.store, embedder=asked.memory.embedder) as other:
        for forgotten in (False, True):
            if forgotten:
                asked.forget(1)
                other.forget(everything=True)
                other.store.create(other.bank)
            path = tmp_path / f"{forgotten}.jsonl"
            path.write_text("".join(exporting.export(asked.memory)), encoding="utf-8")
            importing.import_lines(other, importing.check_file(path, "jsonl"))
            lines = list(other.lines())
            answer = read_answers(other, lines)[lines[-1].seq]
            assert (answer.kind, answer.source is None) == ("quote", forgotten)
