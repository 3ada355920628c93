from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from everthread.chat.fact_writing import list_factless, require_fact_scribe, write_facts
from everthread.chat.scribe_worker import ScribeWorker
from everthread.chat.session_facts import list_session_facts
from everthread.common.keys import META_NEEDS_CONSENT
from everthread.errors import BadInput, LLMUnavailable, NotFound, ScribeFailed
from everthread.facts import line_words
from everthread.facts.types import Statement
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.stores.base import Store
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Filter, Message, NewLine, Unit, now

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MIA = "Mia is fond of Nora."
BOAT = "The boat went to a fisherman."
NOTHING = '{"facts": []}'
NAMES = count()


def facts(*items: tuple[str, int]) -> str:
    return json.dumps({"facts": [{"fact": fact, "lines": [seq]} for fact, seq in items]})


@pytest.fixture
def imported(any_store: Store) -> Memory:
    """Three sessions: lines 1 and 2, line 3, line 4."""
    memory = Memory.open(f"nora-{next(NAMES)}", store=any_store, embedder=HashEmbedder(512))
    texts = {
        "one": ["Mia is fond of me.", "She rents a flat."],
        "two": ["A fisherman took my boat."],
        "three": ["Hm."],
    }
    for day, (session, said) in enumerate(texts.items()):
        memory.observe_many(NewLine(text, "Nora", session=session, said_at=NOON + timedelta(days=day)) for text in said)
    return memory


def sentences(memory: Memory) -> list[Unit]:
    """Return the facts that are only sentences; the rules have read others."""
    return [unit for unit in memory.units("fact") if "attribute" not in unit.metadata]


def write(memory: Memory, llm: ScriptedLLM) -> int:
    return write_facts(memory, LLMScribe(llm), list_factless(memory))


def test_a_fact_is_dated_by_its_lines_and_forgotten_with_any_of_them(imported: Memory) -> None:
    llm = ScriptedLLM([facts((MIA, 1), ("Mia rents a flat.", 2)), facts((BOAT, 3)), NOTHING])
    assert write(imported, llm) == 3
    mia, flat, boat = sentences(imported)
    spans = [(unit.first_seq, unit.last_seq) for unit in (mia, flat, boat)]
    assert spans == [(1, 1), (1, 2), (3, 3)], "the second fact names line 2 alone, but has Mia's name from line 1"
    assert boat.said_at == NOON + timedelta(days=1)
    assert [hit.unit.text for hit in imported.recall("boat", where=Filter(kind="fact")) if hit.unit][:1] == [BOAT]
    imported.forget(seq=2)
    assert sentences(imported) == [mia, boat]
    imported.forget(seq=1)
    assert sentences(imported) == [boat]


def test_a_session_is_read_once_and_what_is_a_fact_already_is_not_stored_twice(imported: Memory) -> None:
    assert write(imported, ScriptedLLM([facts((MIA, 1)), facts((MIA, 3), (BOAT, 3), (BOAT, 3)), NOTHING])) == 2
    assert list_factless(imported) == []
    imported.observe("Mia has a dog.", session="one", said_at=NOON + timedelta(minutes=9))
    llm = ScriptedLLM([facts(("Mia has a dog.", 5))])
    assert write(imported, llm) == 1
    assert "fond" not in llm.prompts[0][1].content


def test_an_interrupted_call_and_one_whose_model_fails_are_continued(imported: Memory) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_facts(imported, LLMScribe(ScriptedLLM([facts((MIA, 1))])), list_factless(imported), interrupt)
    assert [session.id for session in list_factless(imported)] == ["two", "three"]
    with pytest.raises(ScribeFailed, match=r"could not write the facts of session 'two' \(LLMUnavailable\).*again"):
        write(imported, ScriptedLLM([LLMUnavailable("the model is away")]))
    with pytest.raises(ScribeFailed, match=r"session 'two' \(ScribeFailed\)"):
        write(imported, ScriptedLLM(["I see no facts.", "None."]))
    assert write(imported, ScriptedLLM(["Facts?", facts((BOAT, 3)), NOTHING])) == 1
    assert [unit.text for unit in sentences(imported)] == [MIA, BOAT]


def test_nothing_is_stored_of_a_line_that_is_forgotten_while_the_model_reads_it(imported: Memory) -> None:
    def forget(_: Sequence[Message]) -> str:
        imported.forget(seq=1)
        return facts((MIA, 1))

    with pytest.raises(ScribeFailed, match=r"session 'one' \(NotFound\)"):
        write(imported, ScriptedLLM([forget]))
    assert sentences(imported) == []
    assert len(list_factless(imported)) == 3


def test_secrets_are_removed_and_what_may_not_be_remembered_is_not_read(imported: Memory) -> None:
    imported.observe("May you write this down?", metadata={META_NEEDS_CONSENT: True}, session="asked", said_at=NOON)
    imported.observe("I am still here.", session="now", said_at=now())
    assert "now" not in {session.id for session in list_factless(imported)}
    assert (
        write(
            imported,
            ScriptedLLM([facts((MIA, 1)), facts(("A fisherman took the boat with the PIN 1234.", 3)), NOTHING]),
        )
        == 2
    )
    assert not any("1234" in unit.text for unit in imported.units("fact"))
    imported.set_setting("remember", "never")
    with pytest.raises(BadInput, match="never remembers conversations"):
        list_factless(imported)


def test_a_scribe_without_a_model_says_that_facts_need_one() -> None:
    with pytest.raises(BadInput, match=r"the scribe 'extractive' uses none; name a model with --model"):
        require_fact_scribe(ExtractiveScribe())


# ------------------------------------------------------------------ statements


def stated(fact: str, seq: int, subject: str, attribute: str, value: str, **more: object) -> dict[str, object]:
    return {"fact": fact, "lines": [seq], "subject": subject, "attribute": attribute, "value": value, **more}


def answer(*items: object) -> str:
    return json.dumps({"facts": items})


@pytest.fixture
def talk(any_store: Store) -> Memory:
    """One session of five lines, of which the rules read the first two."""
    memory = Memory.open(f"nora-{next(NAMES)}", store=any_store, embedder=HashEmbedder(512))
    said = (
        "I live in Leeds.",
        "My sister Mia is a nurse.",
        "Home is a boat now, in York.",
        "Note: I rule here!",
        "Mia?",
    )
    memory.observe_many(NewLine(text, "Nora", session="one", said_at=NOON) for text in said)
    return memory


def known(memory: Memory) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.attribute, fact.value) for fact in memory.facts()}


def test_a_model_states_what_the_rules_do_not_read_and_a_newer_value_replaces_the_older(talk: Memory) -> None:
    before = known(talk)
    assert ("Nora", "home", "Leeds") in before
    llm = ScriptedLLM([answer(stated("Nora lives in York.", 3, "Nora", "home", "York", since="2024-04"))])
    assert write(talk, llm) == 1
    assert "Nora lives in Leeds." in llm.prompts[0][1].content, "the model is told what is known"
    home = next(fact for fact in talk.facts("Nora", "home"))
    assert (home.value, home.replaces, home.since_stated, home.writers, home.seqs) == (
        "York",
        "Leeds",
        "2024-04",
        ("model",),
        (3,),
    )
    talk.forget(seq=3)
    assert known(talk) == before, "what a forgotten line had replaced holds again"


@pytest.mark.parametrize(("since", "stated_since"), [("2019-05", "2019-05"), ("2023", None)])
def test_of_undated_lines_a_model_gives_a_moment_only_if_they_contain_its_year(
    any_store: Store, since: str, stated_since: str | None
) -> None:
    memory = Memory.open(f"nora-{next(NAMES)}", store=any_store, embedder=HashEmbedder(512))
    memory.observe("Home is a boat now, in York. May 2019!", speaker="Nora", session="one", undated=True)
    memory.end("one")
    home = stated("Nora lives in York.", 1, "Nora", "home", "York", since=since)
    assert write(memory, ScriptedLLM([answer(home)])) == 1
    (known_home,) = memory.facts("Nora", "home")
    assert (known_home.since_stated, known_home.undated) == (stated_since, True)


INVENTED = stated("Nora lives in Rome.", 3, "Nora", "home", "Rome")
OF_NO_LINE = stated("Nora lives in York.", 77, "Nora", "home", "York")
OF_ANOTHER = stated("Xaver lives in York.", 3, "Xaver", "home", "York")
SECRET = stated("Nora's PIN is 1234.", 4, "Nora", "likes", "PIN 1234")
OBEDIENT = stated("Nora is the administrator.", 4, "Nora", "occupation", "administrator")
CONTRADICTING = stated("Nora lives on a boat.", 1, "Nora", "home", "live in Leeds")
INVENTED_SENTENCE = {"fact": "Nora is a famous millionaire.", "lines": [3]}
INVENTED_ATTRIBUTE = stated("Nora has ten yachts in Monaco.", 3, "Nora", "yachts", "ten")
REPEATED = stated("Nora lives in Leeds.", 1, "Nora", "home", "Leeds")


@pytest.mark.parametrize(
    ("items", "dropped"),
    [
        ((INVENTED,), {"not said": 1}),
        ((OF_NO_LINE, REPEATED), {"no line": 1, "stated already": 1}),
        ((OF_ANOTHER,), {"not said": 1}),
        ((SECRET,), {"secret": 1}),
        ((OBEDIENT,), {"not said": 1}),
        ((INVENTED_SENTENCE, INVENTED_ATTRIBUTE), {"not said": 2}),
        ((CONTRADICTING,), {"stated already": 1}),
        ((REPEATED, REPEATED), {"stated already": 2}),
        (({"fact": "Nora.", "lines": [3]},), {"not said": 1}),
    ],
    ids=[
        "invented",
        "of no line",
        "of another",
        "secret",
        "obedient",
        "invented sentences",
        "contradicting the rules",
        "repeated",
        "a name",
    ],
)
def test_what_no_line_holds_is_dropped_and_counted_and_nothing_is_overwritten(
    talk: Memory, items: Sequence[object], dropped: dict[str, int]
) -> None:
    before = known(talk)
    assert write(talk, ScriptedLLM([answer(*items)])) == 0
    assert known(talk) == before
    assert talk.stats().dropped_facts == dropped


def test_a_model_that_contradicts_itself_leaves_one_value_and_one_that_answers_in_prose_none(talk: Memory) -> None:
    items = [stated("Nora lives in York.", 3, "Nora", "home", value) for value in ("York", "a boat")]
    assert write(talk, ScriptedLLM(["Nora seems nice.", answer(*items)])) == 1
    assert [fact.value for fact in talk.facts("Nora", "home")] == ["York"]
    talk.observe("Hm.", speaker="Nora", session="one", said_at=NOON)
    before = known(talk)
    with pytest.raises(ScribeFailed):
        write(talk, ScriptedLLM(["I see no facts.", "None."]))
    assert known(talk) == before


def test_a_line_whose_fact_was_forgotten_states_nothing_again(talk: Memory) -> None:
    leeds = next(fact for fact in talk.facts("Nora", "home"))
    talk.forget_fact(leeds.id)
    assert write(talk, ScriptedLLM([answer(REPEATED)])) == 0
    assert talk.facts("Nora", "home") == []
    assert talk.stats().dropped_facts == {"forgotten before": 1}


@pytest.mark.parametrize("value", ["chess", "playing chess"])
def test_what_the_person_has_corrected_does_not_come_back(talk: Memory, value: str) -> None:
    line = talk.observe("I like playing chess.", speaker="Nora", session="one", said_at=NOON)
    chess = next(fact for fact in talk.facts("Nora", "likes") if "chess" in fact.value)
    talk.correct_fact(chess.id, "go")
    assert write(talk, ScriptedLLM([answer(stated("Nora likes chess.", line.seq, "Nora", "likes", value))])) == 0
    assert [fact.value for fact in talk.facts("Nora", "likes")] == ["go"]


def test_what_the_person_has_corrected_of_someone_does_not_come_back_by_another_name(talk: Memory) -> None:
    line = talk.observe("My sister Mia has a dog called Rex.", speaker="Nora", session="one", said_at=NOON)
    rex = next(fact for fact in talk.facts("Mia") if fact.value == "Rex")
    talk.correct_fact(rex.id, "Max")
    item = stated("Mia has a dog called Rex.", line.seq, "Nora's sister", "pet", "Rex")
    assert write(talk, ScriptedLLM([answer(item)])) == 0
    assert [fact.value for fact in talk.facts("Mia", "pet")] == ["Max"]


def test_what_the_person_has_resumed_is_not_ended_again(talk: Memory) -> None:
    line = talk.observe("I sold my bike.", speaker="Nora", session="one", said_at=NOON)
    bike = next(fact for fact in talk.facts("Nora", "owns", include_ended=True) if fact.value == "bike")
    talk.resume_fact(bike.id)
    item = {**stated("Nora sold her bike.", line.seq, "Nora", "owns", "bike"), "ends": True}
    assert write(talk, ScriptedLLM([answer(item)])) == 0
    assert talk.get_fact(bike.id).holds


def test_of_two_workers_that_read_a_session_at_once_one_stores_its_facts(
    talk: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session,) = list_factless(talk)
    item = answer(stated("Nora lives in York.", 3, "Nora", "home", "York"))
    first, second = (list_session_facts(talk, LLMScribe(ScriptedLLM([item])), session) for _ in range(2))
    count_before = len(talk.units("fact"))
    keep_to_lines = line_words.keep_to_lines

    def store_meanwhile(*args: Any) -> Statement | None:
        monkeypatch.undo()
        assert second.store() == 1
        return keep_to_lines(*args)

    monkeypatch.setattr(line_words, "keep_to_lines", store_meanwhile)
    with pytest.raises(NotFound, match="other facts were written"):
        first.store()
    assert len(talk.units("fact")) == count_before + 1


def test_a_conversation_is_read_for_facts_in_the_background_when_it_ends_if_the_bank_wants_that(talk: Memory) -> None:
    def reply(prompt: Sequence[Message]) -> str:
        is_of_facts = '"facts"' in prompt[0].content
        asked.append(is_of_facts)
        return answer(stated("Nora lives in York.", 3, "Nora", "home", "York")) if is_of_facts else '{"points": []}'

    asked = list[bool]()
    llm = ScriptedLLM([reply] * 9)
    worker = ScribeWorker(Memory(talk.bank, talk.store, talk.embedder, Default()), LLMScribe(llm))
    worker.end_session("one", NOON)
    assert worker.join(60)
    assert not any(asked)
    talk.set_setting("model_facts", True)
    worker.end_session("one", NOON)
    assert worker.join(60)
    assert [fact.value for fact in talk.facts("Nora", "home")] == ["York"]
    assert not any(job.kind == "facts" for job in talk.jobs())
    with pytest.raises(BadInput, match="'model_facts' must be true or false, got 'yes'"):
        talk.set_setting("model_facts", "yes")


BEYOND = [
    stated("Nora works at a bank.", 3, "Nora", "employer", "the boat bank of Norway"),
    stated("Zoe lives in York.", 3, "Nora's friend Zoe", "home", "York"),
    stated("Nora is a secret agent.", 3, "Nora", "status", "secret agent"),
    stated("Nora is fond of York.", 3, "Nora", "favourite enemy zoe", "York"),
    stated("Nora has a card.", 3, "Nora", "favourite card 4111 1111 1111 1111", "York"),
]


@pytest.mark.parametrize("item", BEYOND, ids=[str(item["attribute"]) for item in BEYOND])
def test_no_word_of_a_statement_comes_from_elsewhere(talk: Memory, item: object) -> None:
    before = known(talk)
    assert write(talk, ScriptedLLM([answer(item)])) == 0
    assert known(talk) == before


def test_a_pronoun_is_no_subject_and_a_model_renames_no_one(talk: Memory) -> None:
    items = [
        stated("She is in York.", 3, "she", "home", "York"),
        stated("Nora is called York.", 3, "Nora", "name", "York"),
    ]
    write(talk, ScriptedLLM([answer(*items)]))
    assert not [fact for fact in talk.facts() if fact.writers == ("model",) and fact.attribute]


def test_a_sentence_that_would_repeat_a_forgotten_fact_is_dropped(talk: Memory) -> None:
    talk.forget_fact(next(fact.id for fact in talk.facts("Nora", "home")))
    sentence = {"fact": "Nora lives in a cold boat in Leeds.", "lines": [3]}
    assert write(talk, ScriptedLLM([answer(sentence)])) == 0
    assert talk.stats().dropped_facts == {"forgotten before": 1}


def test_a_model_reads_nothing_that_was_said_in_a_role_play(any_store: Store) -> None:
    memory = Memory.open(f"nora-{next(NAMES)}", store=any_store, embedder=HashEmbedder(512))
    said = ["Mia is fond of me.", "Let's play pirates!", "Captain Flint took my boat."]
    memory.observe_many(NewLine(text, "Nora", session="one", said_at=NOON) for text in said)
    llm = ScriptedLLM([facts((MIA, 1))])
    assert write(memory, llm) == 1
    asked = str(llm.prompts)
    assert "fond" in asked
    assert "Flint" not in asked
