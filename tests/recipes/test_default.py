from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hardship.embedders import Moody

from everthread.bench.everyday import LANGUAGES, load_everyday
from everthread.bench.questions import AnnotatedConversation
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recall import statements
from everthread.recall.features import SIGNALS
from everthread.recall.query_parsing import MESSAGE_TERMS, QUESTION_TERMS, parse_query
from everthread.recall.relevance import QUERY_FEATURES
from everthread.recall.types import Query
from everthread.recipes.default import Default, ScoringProfile
from everthread.testing import HashEmbedder
from everthread.transfer import importing
from everthread.types import Role

PROFILES = {
    "friends": Default().friends,
    "assistant": Default().assistant,
    "words": Default().words,
    "characters": Default().characters,
    "glosses": Default().glosses,
}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_profile_has_finite_weights_of_known_signals_and_features(profile: ScoringProfile) -> None:
    assert set(profile.weights) <= {*SIGNALS, *statements.SIGNALS, "token_match"}
    assert set(profile.query_model.weights) <= set(QUERY_FEATURES)
    numbers = [
        *profile.weights.values(),
        *profile.message_weights.values(),
        *profile.query_model.weights.values(),
        *profile.hit_model.weights.values(),
    ]
    assert all(map(math.isfinite, [*numbers, profile.query_model.bias, profile.hit_model.bias]))
    assert 0 < profile.threshold < 1


@pytest.mark.parametrize("profile", [Default().friends, Default().assistant], ids=["friends", "assistant"])
def test_meaning_and_words_both_raise_a_score(profile: ScoringProfile) -> None:
    assert profile.weights["cosine"] > 0
    assert profile.weights["bm25_window"] > 0
    assert profile.query_model.weights["cosine"] > 0
    assert profile.query_model.weights["best_score"] > 0


def test_a_question_and_a_long_message_are_weighed_differently_and_what_is_between_in_proportion() -> None:
    profile = replace(
        Default().assistant, weights={"cosine": 2.0, "day": 1.0}, message_weights={"cosine": 3.0, "age": -1.0}
    )

    def weigh(words: int) -> Mapping[str, float]:
        text = " ".join(f"thing{number}" for number in range(words))
        return profile.weigh(parse_query(text, (), datetime(2024, 5, 1, tzinfo=UTC)))

    assert weigh(1) == weigh(QUESTION_TERMS) == {"cosine": 2.0, "day": 1.0}
    assert weigh(MESSAGE_TERMS) == weigh(2 * MESSAGE_TERMS) == {"cosine": 5.0, "day": 1.0, "age": -1.0}
    between = [weigh(words)["cosine"] for words in range(QUESTION_TERMS, MESSAGE_TERMS + 1)]
    assert between == sorted(set(between))


def test_only_with_an_assistant_are_messages_weighed_differently() -> None:
    assert set(Default().assistant.message_weights) <= {*SIGNALS, *statements.SIGNALS, "token_match"}
    assert [bool(profile.message_weights) for profile in PROFILES.values()] == [False, True, False, False, False]


def test_what_was_said_lately_and_what_opened_a_session_counts_for_messages_alone() -> None:
    profile = Default().assistant
    assert profile.message_weights["opening"] > 0 > profile.message_weights["age"]
    assert profile.weights.keys().isdisjoint(("opening", "age"))


def test_a_context_considers_more_hits_than_stay_in_view() -> None:
    assert Default().name == "default"
    assert Default().max_hits >= Default().buffer_hits >= 1
    assert Default().neighbours >= 0


@pytest.mark.parametrize(("role", "expected"), [("user", "friends"), ("assistant", "assistant"), ("tool", "friends")])
def test_the_profile_depends_on_whether_a_bot_has_spoken(tmp_path: Path, role: Role, expected: str) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("Good morning.", speaker="Ann")
        memory.observe("Good morning!", speaker="Someone", role=role)
        assert chosen(memory, "How are you?") is getattr(Default(), expected)
        assert chosen(memory, "你好吗？") is Default().glosses
        assert chosen(memory, "お元気ですか？") is Default().characters
        assert chosen(memory, "잘 지내요?") is Default().words
        assert chosen(memory, "Wie geht es dir?") is Default().words


@pytest.mark.parametrize(("role", "spread"), [("user", True), ("assistant", False)])
def test_a_broad_question_among_friends_finds_lines_of_more_sessions(tmp_path: Path, role: Role, spread: bool) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        for session in ("a", "b", "c"):
            for title in ("Emma", "Dracula", "Ulysses", "Middlemarch"):
                reading = "I read books, books and books" if session == "a" else "I read books"
                memory.observe(f"{reading}, {title} this time.", speaker="Ann", session=session)
                memory.observe("Really, is it a good one, tell me?", speaker="Ben", role=role, session=session)
        best = [hit.line.session for hit in memory.recall("What books did Ann read?", 4)]
        assert (len(set(best)) > 1) is spread


def test_what_is_said_every_day_leaves_room_for_what_was_said_once(tmp_path: Path) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        for _ in range(6):
            memory.observe("Good morning, I am tired today.", speaker="user")
        memory.observe("My doctor says why I am tired: too little iron.", speaker="user")
        memory.observe("Good morning, I am tired today.", speaker="Ben")
        found = memory.recall("Why am I tired?", 8)
        assert {7, 8} < {hit.seq for hit in found[:3]}
        assert len(found) == 8  # the others are found as well
        lost = found[0].score - found[-1].score
        assert lost == pytest.approx(0.5 * math.log2(6), abs=0.2)  # other signals depend on the place in the session


@pytest.mark.parametrize(("question", "month"), [("When did I last see Anna?", 9), ("When did I first see Anna?", 1)])
def test_a_question_for_the_first_or_the_last_time_finds_that_line_first(
    tmp_path: Path, question: str, month: int
) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        for said_in in (5, 1, 9, 3):
            memory.observe("I saw Anna at the market.", speaker="user", said_at=datetime(2025, said_in, 1, tzinfo=UTC))
        assert memory.recall(question)[0].line.said_at.month == month


def test_a_question_with_one_answer_gets_few_lines_of_a_small_bank(tmp_path: Path) -> None:
    talk = importing.check_file(Path(__file__).parents[2] / "examples" / "talk.txt", None)
    with Memory.open("nora", store=tmp_path, embedder=OnnxEmbedder(), recipe="default") as memory:
        importing.import_lines(memory, talk)
        assert memory.stats().lines == 21
        cat = memory.context("What is the cat called?")
        assert (len(cat.lines), cat.tokens) == (5, 118)
        assert "Azulejo" in cat.hits[0].line.text
        work = memory.context("Where does Mia work?")
        assert len(work.lines) in (10, 11)  # the kernels of onnxruntime's versions differ in the last digits
        assert any("museum" in line.text for line in work.lines[:3])


def chosen(memory: Memory, question: str) -> ScoringProfile:
    candidates, _ = memory.reader.measure_candidates(Query(question))
    return Default().choose_profile(candidates, memory.embedder.multilingual)


def test_vectors_count_if_the_embedder_reads_chinese(tmp_path: Path) -> None:
    with Memory.open("bank", store=tmp_path, embedder=Moody(), recipe="default") as memory:
        memory.observe("早上好。")
        assert chosen(memory, "你好吗？") is Default().friends


def test_an_embedder_that_is_down_leaves_the_characters_of_a_chinese_question(tmp_path: Path) -> None:
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("早上好。")
        memory.reader.encoder.state.retry_at = math.inf
        assert chosen(memory, "你好吗？") is Default().characters


def test_a_chinese_question_finds_a_line_without_a_common_character(tmp_path: Path) -> None:
    with Memory.open("bank", store=tmp_path, recipe="default") as memory:
        for text in ("我妹妹在上海上大学。", "昨天刚买了一台笔记本电脑。", "每个星期天早上都去游泳。"):
            memory.observe(text, speaker="小明")
        assert memory.recall("喜欢哪种运动？")[0].line.seq == 3


@pytest.mark.parametrize("words", [Default().words, Default().characters], ids=["words", "characters"])
def test_vectors_do_not_count_in_the_profiles_for_words(words: ScoringProfile) -> None:
    assert not any("cosine" in name for name in [*words.weights, *words.query_model.weights])
    assert min(words.weights["bm25_window"], words.weights["share"], words.query_model.weights["best_score"]) > 0


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_chinese_question_is_answered_and_small_talk_is_not(tmp_path: Path, role: Role) -> None:
    with Memory.open("bank", store=tmp_path, recipe="default") as memory:
        for text in ("我养了一只小狗，叫豆豆。", "我妹妹在上海上大学。", "每个星期天我去游泳。"):
            memory.observe(text, speaker="小明")
            memory.observe("哦，原来如此！", speaker="小雪", role=role)
        assert "豆豆" in memory.context("我的狗叫什么名字？").text
        assert "上海" in memory.context("妹妹在哪里上大学？").text
        assert not memory.context("早上好！")
        assert not memory.context("鸡蛋怎么煮？")


@pytest.mark.parametrize(
    "bank", [bank for language in LANGUAGES for bank in load_everyday(language)[:1]], ids=LANGUAGES
)
def test_the_name_of_a_cat_is_recalled_in_every_language(tmp_path: Path, bank: AnnotatedConversation) -> None:
    with Memory.open("bank", store=tmp_path, recipe="default") as memory:
        memory.observe_many(bank.lines)
        assert memory.context(bank.questions[0].text).lines[0].text == bank.lines[0].text
        assert not memory.context(bank.unrelated[3])


@pytest.mark.parametrize(
    "wrong",
    [{"max_hits": 0}, {"max_hits": 2.5}, {"min_relevance": 3}, {"window": -1}, {"neighbours": -1}, {"buffer_hits": -1}],
)
def test_impossible_numbers_raise_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"{next(iter(wrong))} must be .*, got {next(iter(wrong.values()))}"):
        Default(**wrong)
