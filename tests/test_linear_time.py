"""Patterns and functions that read text take time in proportion to its length."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hardship.pumps import BLANKS, NASTY, TALK, Found, Pump, grows, patterns, pumps

from everthread.bank import line_validation
from everthread.chat import consent, events, goodbye
from everthread.chat.character import Character
from everthread.chat.quote_detection import QuoteIndex
from everthread.chat.reply_filter import ReplyFilter
from everthread.errors import BadFile, BadLine
from everthread.facts.rules import read_statements
from everthread.hooks import transcript as hook_transcript
from everthread.recall import excerpt, query_parsing
from everthread.recipes import general_knowledge
from everthread.recipes.goodai import dialogue, tokenizers
from everthread.scribes import prompts
from everthread.scribes.extractive import ExtractiveScribe, join_row
from everthread.server.messaging import commands
from everthread.server.proxy import memory_block, message_text, question_template
from everthread.server.sms import segments
from everthread.server.sms.channel import SMS
from everthread.text import analyzer, keywords, line_features, redaction, refusal, salience, sentences, time_expressions
from everthread.text.address import is_addressed
from everthread.text.arithmetic import is_sum
from everthread.text.indentation import indent
from everthread.text.mention import find_mention
from everthread.text.tokens import estimate_tokens
from everthread.transfer import dates, transcript, transcript_styles, whatsapp, whatsapp_phrases
from everthread.types import Line, NewLine

pytestmark = pytest.mark.slow  # long texts, read several times
NOW = datetime(2024, 5, 7, 9, 12, tzinfo=UTC)
CHARS = 40_000  # of the longest text
PATTERN_CHARS = 10_000  # of a pattern, which has no part that is faster in short texts
SCRIBE = ExtractiveScribe()
MORE_PUMPS = (
    Pump("password for", " ", "x"),
    Pump("password is a", " ", "b"),
    Pump("in 2010", " ", "x"),
    Pump("a", "\n", "b"),
)


def line(text: str) -> Line:
    return Line(1, "s", "user", "Nora", text, NOW)


def find_echoes(text: str) -> None:
    echoes = QuoteIndex()
    echoes.add([text])
    echoes.find_spans(text)


def filter_reply(text: str) -> None:
    speech = ReplyFilter("Nora", ["Ann"])
    speech.feed(text)
    speech.end()


def filter_reply_by_letter(text: str) -> None:
    speech = ReplyFilter("Nora", ["Ann"])
    for letter in text:
        speech.feed(letter)
    speech.end()


def clean_line(text: str) -> None:
    try:
        line_validation.clean_line(NewLine(text, "Nora", "user", NOW), NOW)
    except BadLine:  # nothing but blanks
        return


def parse_moment(text: str) -> None:
    try:
        dates.parse_moment(text)
    except ValueError:
        return


FUNCTIONS: list[Callable[[str], object]] = [
    *(
        redaction.redact,
        redaction.redact_rows,
        consent.parse_consent,
        consent.parse_yes_no,
        consent.is_unclear,
        goodbye.is_goodbye,
        refusal.is_refusal,
        refusal.reply_score,
        clean_line,
    ),
    *(
        salience.informative_words,
        salience.is_question_only,
        salience.is_small_talk,
        salience.informativeness,
        salience.choose_category,
        salience.rate_importance,
    ),
    *(
        line_features.line_flags,
        line_features.split_for_embedding,
        sentences.split_sentences,
        find_echoes,
        filter_reply,
        is_sum,
    ),
    *(
        time_expressions.find_absolute_times,
        time_expressions.is_about_past,
        analyzer.terms,
        analyzer.count_terms,
        analyzer.normalize,
        analyzer.is_unspaced_script,
        estimate_tokens,
        indent,
    ),
    *(
        whatsapp_phrases.is_system_message,
        whatsapp_phrases.strip_edit_mark,
        whatsapp_phrases.strip_media_note,
        whatsapp_phrases.find_files,
        dates.looks_like_date,
        transcript_styles.rewrite_stamp_before,
        transcript_styles.rewrite_stamp_after,
        transcript_styles.rewrite_angle,
        lambda text: transcript_styles.find_style([text]),
        lambda text: transcript_styles.remove_furniture("Ann", text),
        parse_moment,
        SMS.find_command,
    ),
    hook_transcript.remove_inserted,
    *(message_text.remove_thoughts, memory_block.without_block, question_template.find_question),
    commands.find_forget_request,
    *(dialogue.split_last_turn, general_knowledge.split_paragraphs),
    *(SMS.split, segments.count_fitting, segments.count_segments, tokenizers.words, join_row),
]
# These take more than a text.
WRAPPED: dict[str, Callable[[str], object]] = {
    "shorten": lambda text: sentences.shorten(text, 100),
    "truncate": lambda text: sentences.truncate(text, 100),
    "split_by_tokens": lambda text: list(sentences.split_by_tokens(text, 200)),
    "parse_query": lambda text: query_parsing.parse_query(text, ["Nora", "Ann Lee"], NOW),
    "split_messages": lambda text: query_parsing.split_messages(text, ["Nora"]),
    "build_embedding_text": lambda text: query_parsing.build_embedding_text(text, ["Nora", "Ann Lee"]),
    "read_statements": lambda text: read_statements([line(text)]),
    "is_topicless": lambda text: query_parsing.is_topicless(text, ["Nora"]),
    "is_quoted": lambda text: query_parsing.is_quoted("Nora", text),
    "is_addressed": lambda text: is_addressed(text, "Nora", ["Ann Lee"]),
    "remove_mentions": lambda text: query_parsing.remove_mentions(text, ["Nora"]),
    "find_mentioned_speakers": lambda text: query_parsing.find_mentioned_speakers(text, ["Nora"]),
    "find_relative_times": lambda text: time_expressions.find_relative_times(text, NOW),
    "parse_event": lambda text: events.parse_event(line(text)),
    "choose_excerpt": lambda text: excerpt.choose_excerpt(text, {"a"}, 200, estimate_tokens),
    "keywords": lambda text: keywords.keywords(text, 20),
    "summarize": lambda text: SCRIBE.summarize([line(text)], "Nora"),
    "update_notes": lambda text: SCRIBE.update_notes(text, [line(text)], [line(text)]),
    "is_relevant": lambda text: SCRIBE.is_relevant(text, text),
    "rewrite_query": lambda text: SCRIBE.rewrite_query(text, [line(text)]),
    "quote_parts": lambda text: prompts.quote_parts(LINES=text),
    "parse_day": lambda text: prompts.parse_day(text, [date(2024, 5, 6)]),
    "split_lines": lambda text: list(prompts.split_lines([line(text)], 300)),
    "find_spans": lambda text: prompts.find_spans(text, ["a", text[:100]]),
    "prompts.find_name": lambda text: prompts.find_name(text, ["Nora", "Ann Lee"]),
    "is_about": lambda text: salience.is_about(text, "her dog"),
    "fill_names": Character("Nora", person="Ann").fill_names,
    "find_mention": lambda text: find_mention("Nora", text),
}
WORKS = {f"{work.__module__.rpartition('.')[2]}.{work.__qualname__}": work for work in FUNCTIONS} | WRAPPED


def find_slow_text(found: Found) -> Pump | None:
    """Return a text that a pattern does not match in linear time, as the package uses it; None if all are."""

    def search(text: str) -> None:
        for _ in found.pattern.finditer(text):
            pass

    def match(text: str) -> None:
        found.pattern.match(text)
        found.pattern.fullmatch(text)

    work = match if found.anchored else search
    return next((pump for pump in pumps(found.pattern) if grows(work, pump, PATTERN_CHARS)), None)


def test_every_pattern_of_the_package_matches_in_linear_time() -> None:
    all_patterns = patterns()
    assert len(all_patterns) > 150
    assert {pattern.where: pump for pattern in all_patterns if (pump := find_slow_text(pattern))} == {}


@pytest.mark.parametrize("name", WORKS)
def test_every_text_function_runs_in_linear_time(name: str) -> None:
    every = [*(Pump("", again) for again in NASTY), *MORE_PUMPS]
    assert [pump for pump in every if grows(WORKS[name], pump, CHARS)] == []


def test_a_reply_streamed_by_letters_is_filtered_in_linear_time() -> None:
    assert [again for again in (*BLANKS, *TALK) if grows(filter_reply_by_letter, Pump("x", again), CHARS)] == []


HEADS = {
    transcript: ["", "Nora: hello\nAnn: hi\nNora: "],
    whatsapp: ["", "07/05/2024, 09:12 - Nora: hi\n07/05/2024, 09:12 - Ann: "],
}


@pytest.mark.parametrize(("reader", "head"), [(reader, head) for reader, heads in HEADS.items() for head in heads])
def test_every_file_reader_runs_in_linear_time(reader: object, head: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"

    def read(text: str) -> None:
        path.write_text(head + text)
        try:
            list(reader.read(path))  # type: ignore[attr-defined]
        except BadFile:
            return

    assert [again for again in NASTY if grows(read, Pump("", again), CHARS)] == []


@pytest.mark.parametrize("pattern", [r"\s+$", r"\[[^]]*\]"])
def test_the_measurement_detects_quadratic_patterns(pattern: str) -> None:
    compiled = re.compile(pattern)
    assert any(grows(compiled.search, pump, PATTERN_CHARS) for pump in pumps(compiled))


def test_the_measurement_detects_a_part_that_is_quadratic_only_in_long_texts() -> None:
    def work(text: str) -> None:
        sum(map(ord, text))
        for place in range(len(text)):
            text[place:]

    assert any(grows(work, Pump("", "a"), CHARS) for _ in range(3))  # a busy machine may hide it once
