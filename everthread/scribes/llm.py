"""LLMScribe: asks a language model to write about a conversation.

The model is asked for JSON of a schema. Its answer is repaired, checked and cut to its limit here, so that a small
local model is enough. The conversation is quoted between marks, as material.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeVar

from everthread.errors import ScribeFailed
from everthread.facts.attributes import ATTRIBUTES
from everthread.llms.base import LLM
from everthread.scribes import prompts
from everthread.scribes.base import CATEGORIES, NOTES_TOKENS, SUMMARY_TOKENS, CosinesToTarget, ListedFact
from everthread.scribes.extractive import check_limit, format_dated, is_repeated, join_row, term_set
from everthread.scribes.prompts import (
    Span,
    find_name,
    find_spans,
    group_rows,
    join_spans,
    parse_day,
    quote_parts,
    select_newest,
    split_lines,
)
from everthread.scribes.responses import (
    CopiedSentences,
    Facts,
    Importance,
    Notes,
    Points,
    Rewritten,
    SourcedFact,
    Title,
    Unusable,
    Verdict,
    Wanted,
    category_answer,
    parse_answer,
)
from everthread.scribes.titles import clean_title
from everthread.text import redaction
from everthread.text.dates import format_date
from everthread.text.formatting import day_of, format_lines
from everthread.text.sentences import split_by_tokens, split_sentences, truncate
from everthread.text.tokens import estimate_tokens
from everthread.types import FoundUnit, Line, Message, Sampling

Result = TypeVar("Result")

MAX_ATTEMPTS = 2  # an unusable answer is requested once more
ANSWER_TOKENS = 2_000  # tokens of an answer beyond its limit, for reasoning; they also bound an answer that never ends
PROMPT_TOKENS = 500  # tokens of a prompt's instruction and marks
MIN_MATERIAL_TOKENS = 200  # tokens of the conversation that are sent even to a model with a tiny context
WORDS_PER_TOKEN = 0.6  # words requested for each token of a limit; models write more than requested
MAX_ADDED_TOKENS = 60  # tokens by which rewording may lengthen a text
MAX_VALUE_CHARS = 200  # of a fact's value
MAX_COPIED_TOKENS = 1_500  # tokens that a model is asked to copy at once; small models omit parts of longer texts
TITLED_TOKENS = 300  # tokens of each line that a title is written from
TITLE_ANSWER_TOKENS = 1_000  # tokens of an answer with a title, most of them for reasoning
TITLE_WORDS = 6  # words requested; a few more are accepted
MAX_FACTS = 30  # facts that are requested at once
MAX_FACT_TOKENS = 60  # tokens of a fact; a longer one is cut
MAX_NAME_CHARS = 60  # characters of the person's name in a prompt
MIN_COMPARED_TERMS = 10  # notes with fewer terms may change entirely
MIN_KEPT_SHARE = 0.1  # share of the old notes' terms in new notes; with a smaller one, the old notes are lost


class LLMScribe:
    """A scribe that asks a language model. Thread-safe if the model is.

    Errors of the model are passed on. ScribeFailed is raised after two unusable answers; its message names the request
    and the fault, and contains no word of the conversation or the answer.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.name = f"llm:{llm.name}"

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        """Return the key points, one per row: "- 6 May 2024: Nora moved to Lisbon."

        A day on which nothing was said is replaced by the session's first day, or left out if lines are undated.
        A session longer than the model's context is summarised in parts, which are then merged.
        """
        check_limit(limit)
        if not any(line.speaker == person for line in lines):
            return ""
        lines = sorted(lines, key=lambda line: (line.said_at, line.seq))
        days = list(dict.fromkeys(day_of(line)[1] for line in lines))
        parts = list(split_lines(lines, self._material_limit(limit)))
        rows: list[str] = []
        for part in parts:
            rows += self._ask_for_points(
                prompts.SUMMARIZE, quote_parts(CONVERSATION=format_lines(part)), person, days, limit
            )
        if len(parts) > 1:
            rows = self._merge_points(_remove_duplicates(rows), person, days, limit)
        return truncate("\n".join(rows), limit)

    def list_facts(self, lines: Sequence[Line], known: Sequence[str] = ()) -> list[ListedFact]:
        """Return the facts about the people, in the order of the conversation, each with the lines that say it.

        The model is asked once; about a session longer than its context, once for each part.
        """
        lines = sorted(lines, key=lambda line: (line.said_at, line.seq))
        room = self._material_limit(MAX_FACTS * MAX_FACT_TOKENS)
        background = truncate("\n".join(known), room // 4)
        parts = split_lines([_number(line) for line in lines], room - room // 4)
        return [fact for part in parts for fact in self._ask_for_facts(part, background)]

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        """Return the notes, one per row. Rows that copy a recalled text are dropped.

        Raises:
            ScribeFailed: also for an answer that lost the old notes, which then remain.
        """
        check_limit(limit)
        room = self._material_limit(limit)
        background = select_newest(recalled, room // 4)
        for part in split_lines(leaving, room // 2):
            old = self._ask_for_notes(truncate(old, room // 4), background, part, limit)
        return truncate(old, limit)

    def write_title(self, lines: Sequence[Line]) -> str:
        """Return a title of a few words for a conversation that begins with these lines, in its language."""
        room = min(TITLED_TOKENS, self._material_limit(0) // (len(lines) + 1))
        cut = [replace(line, text=truncate(line.text, room)) for line in lines]
        instruction = prompts.TITLE.format(words=TITLE_WORDS)
        data = quote_parts(CONVERSATION=format_lines(cut))
        tokens = min(self._answer_limit(0), TITLE_ANSWER_TOKENS)
        return ask_for_json(
            self.llm, "a title", instruction, data, Title, lambda answer: clean_title(answer.title), tokens
        )

    def categorize(self, text: str, categories: Sequence[str] = CATEGORIES) -> str:
        """Return one of the categories; "other" if the model names none of them."""
        names = tuple(dict.fromkeys((*categories, "other")))
        instruction = prompts.CATEGORIZE.format(categories=", ".join(names))
        data = quote_parts(TEXT=self._cut_beginning(text))
        return self._ask(
            "a category", instruction, data, category_answer(names), lambda answer: find_name(answer.category, names)
        )

    def redact(self, text: str) -> str | None:
        """Return the text without secrets, removed by ExtractiveScribe's rules first, then by the model.

        The model sees no secret that the rules find. It can only remove: a sentence of its answer that is not in the
        text, word for word, is dropped.
        """
        return self._copy_sentences(redaction.redact_rows(text) or "", "what may be kept", prompts.STRIP)

    def narrow(self, text: str, target: str, compute_cosines: CosinesToTarget | None = None) -> str | None:
        """Return the parts of a text that are about the target.

        The model can only remove: a sentence of its answer that is not in the text, word for word, is dropped. Cosines
        are not needed.
        """
        return self._copy_sentences(
            text, "what is about the target", prompts.NARROW, SUBJECT=self._cut_beginning(target)
        )

    def is_relevant(self, query: str, text: str) -> bool:
        """Return the model's verdict."""
        data = quote_parts(QUESTION=self._cut_beginning(query), REMEMBERED=self._cut_beginning(text))
        return self._ask("a verdict", prompts.RELEVANT, data, Verdict, lambda answer: answer.relevant)

    def rate_importance(self, text: str) -> int:
        """Return the model's rating, from 1 to 10."""
        data = quote_parts(TEXT=self._cut_beginning(text))
        return self._ask("a rating", prompts.IMPORTANCE, data, Importance, lambda answer: answer.importance)

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        """Return the reworded query, at most MAX_ADDED_TOKENS tokens longer; unchanged without lines."""
        return self._reword(prompts.REWRITE_QUERY, "QUESTION", query, lines)

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        """Return the reworded text, at most MAX_ADDED_TOKENS tokens longer; unchanged without lines."""
        return self._reword(prompts.REWRITE_MEMORY, "TEXT", text, lines)

    def _ask_for_facts(self, part: Sequence[Line], background: str) -> list[ListedFact]:
        given = {line.seq for line in part}

        def usable(answer: Facts) -> list[ListedFact]:
            facts = [fact for each in answer.facts[:MAX_FACTS] if (fact := _read_fact(each, given)).text]
            if facts and not any(fact.seqs for fact in facts):
                raise Unusable("none of its facts named a line of the conversation; give the numbers of the lines")
            return facts

        attributes = ", ".join(sorted(ATTRIBUTES))
        instruction = prompts.FACTS.format(count=MAX_FACTS, number=part[0].seq, attributes=attributes)
        known = {"KNOWN": background} if background else {}
        data = quote_parts(**known, CONVERSATION=format_lines(part))
        return self._ask("the facts", instruction, data, Facts, usable, MAX_FACTS * MAX_FACT_TOKENS)

    def _ask_for_points(
        self, instruction: str, data: str, person: str, days: Sequence[date | None], limit: int
    ) -> list[str]:
        example = next((format_date(day) for day in days if day), "unknown")
        instruction = instruction.format(
            person=join_row(person)[:MAX_NAME_CHARS], words=_word_limit(limit), day=example
        )
        points = self._ask("a summary", instruction, data, Points, lambda answer: answer.points, limit)
        rows = [format_dated(parse_day(point.date, days), text) for point in points if (text := join_row(point.point))]
        return _remove_duplicates(rows)

    def _merge_points(self, rows: list[str], person: str, days: Sequence[date | None], limit: int) -> list[str]:
        """Merge the rows of all parts to at most `limit` tokens, in groups that fit the model's context."""
        while estimate_tokens("\n".join(rows)) > limit:
            groups = list(group_rows(rows, self._material_limit(limit)))
            fewer: list[str] = []
            for group in groups:
                fewer += self._ask_for_points(prompts.MERGE, quote_parts(FACTS="\n".join(group)), person, days, limit)
            fewer = _remove_duplicates(fewer)
            if len(groups) == 1 or estimate_tokens("\n".join(fewer)) >= estimate_tokens("\n".join(rows)):
                return fewer or rows
            rows = fewer
        return rows

    def _ask_for_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int
    ) -> str:
        new_terms = _sentence_terms([old, *(line.text for line in leaving)])
        recalled_terms = _sentence_terms([line.text for line in recalled])
        forbidden = [row for row in recalled_terms if not is_repeated(row, new_terms)]

        def usable(answer: Notes) -> str:
            rows = dict.fromkeys(text for row in answer.notes if (text := join_row(row)))
            text = truncate("\n".join(row for row in rows if not is_repeated(term_set(row), forbidden)), limit)
            if old.strip() and not text:
                raise Unusable("it contained no notes; keep what is still true of the old ones")
            if not keeps_old_notes(text, old):
                raise Unusable("it contained nothing of the old notes; keep what is still true of them")
            return text

        data = quote_parts(OLD_NOTES=old, BACKGROUND=format_lines(recalled), NEW_LINES=format_lines(leaving))
        return self._ask("notes", prompts.NOTE.format(words=_word_limit(limit)), data, Notes, usable, limit)

    def _copy_sentences(self, text: str, what: str, instruction: str, **materials: str) -> str | None:
        """Return the sentences of a text that the model copies, word for word; None if it copies none."""
        spans: list[Span] = []
        start = 0
        for piece in split_by_tokens(text, min(self._material_limit(0) // 2, MAX_COPIED_TOKENS)):
            if piece.strip():
                spans += [
                    (start + first, start + end)
                    for first, end in self._ask_for_spans(piece, what, instruction, materials)
                ]
            start += len(piece)
        return join_spans(text, spans) or None

    def _ask_for_spans(self, piece: str, what: str, instruction: str, materials: Mapping[str, str]) -> list[Span]:
        """Return the spans of the sentences in a piece of text that the model copies."""

        def usable(answer: CopiedSentences) -> list[Span]:
            spans = find_spans(piece, answer.keep)
            if answer.keep and not spans:
                raise Unusable("none of its rows occurs in the text; copy word for word")
            return spans

        return self._ask(
            what, instruction, quote_parts(**materials, TEXT=piece), CopiedSentences, usable, estimate_tokens(piece)
        )

    def _reword(self, instruction: str, name: str, text: str, lines: Sequence[Line]) -> str:
        limit = estimate_tokens(text) + MAX_ADDED_TOKENS
        room = self._material_limit(limit) - estimate_tokens(text)
        if not lines or not text.strip() or room < MIN_MATERIAL_TOKENS:
            return text  # too long to be reworded within the model's context

        def usable(answer: Rewritten) -> str:
            if not answer.text.strip():
                raise Unusable("its text was empty")
            return truncate(answer.text, limit)

        data = quote_parts(**{"LINES": format_lines(select_newest(lines, room)), name: text})
        return self._ask("a rewritten text", instruction, data, Rewritten, usable, limit)

    def _material_limit(self, limit: int) -> int:
        """Return the tokens that a prompt's material may have if the answer has about `limit`."""
        return max(self.llm.context - self._answer_limit(limit) - PROMPT_TOKENS, MIN_MATERIAL_TOKENS)

    def _answer_limit(self, limit: int) -> int:
        return max(min(self.llm.context // 2, ANSWER_TOKENS + 4 * limit), 1)

    def _cut_beginning(self, text: str) -> str:
        """Return the beginning of a text, by which it is judged."""
        return truncate(text, self._material_limit(0) // 2)

    def _ask(
        self,
        what: str,
        instruction: str,
        data: str,
        form: type[Wanted],
        use: Callable[[Wanted], Result],
        limit: int = 0,
    ) -> Result:
        """Return the result of `use` for the model's answer; if it raises Unusable, ask again with the reason."""
        return ask_for_json(self.llm, what, instruction, data, form, use, self._answer_limit(limit))


def ask_for_json(
    llm: LLM,
    what: str,
    instruction: str,
    data: str,
    form: type[Wanted],
    use: Callable[[Wanted], Result],
    tokens: int,
) -> Result:
    """Ask a model for JSON, and once more with the reason if its answer can't be used.

    Args:
        llm: the model.
        what: the requested result, as named in errors.
        instruction: the model's task.
        data: the material, between marks.
        form: the form of the answer.
        use: converts the answer to the result, or raises Unusable.
        tokens: maximum tokens of the answer.

    Raises:
        ScribeFailed: no answer could be used.
        ModelError: the model fails.
    """
    material = data
    for _ in range(MAX_ATTEMPTS):
        messages = [Message("system", f"{instruction}\n\n{prompts.MATERIAL}"), Message("user", material)]
        answer = llm.complete(messages, form.model_json_schema(), Sampling(temperature=0.0, max_tokens=tokens))
        try:
            return use(parse_answer(answer, form))
        except Unusable as error:
            problem = str(error)
            material = f"{data}\n\nYour last answer could not be used: {problem}. Answer with the JSON alone."
    raise ScribeFailed(
        f"{llm.name} was asked for {what} {MAX_ATTEMPTS} times, but its answer could not be used: {problem}; "
        "try again, or choose a model that follows JSON schemas better"
    )


def _read_fact(answer: SourcedFact, given: Collection[int]) -> ListedFact:
    """Return a fact of an answer, with the lines that it names among those that were given."""
    return ListedFact(
        truncate(join_row(answer.fact), MAX_FACT_TOKENS),
        tuple(sorted(set(given).intersection(answer.lines))),
        join_row(answer.subject)[:MAX_NAME_CHARS],
        join_row(answer.attribute).lower(),
        join_row(answer.value)[:MAX_VALUE_CHARS],
        answer.ended,
        join_row(answer.since) or None,
    )


def _number(line: Line) -> Line:
    """Return the line with its number before its speaker."""
    return replace(line, speaker=f"{line.seq} {line.speaker}")


def _word_limit(limit: int) -> int:
    return max(int(limit * WORDS_PER_TOKEN), 1)


def _remove_duplicates(rows: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(rows))


def _sentence_terms(texts: Sequence[str]) -> list[frozenset[str]]:
    return [term_set(sentence) for text in texts for sentence in split_sentences(text)]


def keeps_old_notes(text: str, old: str) -> bool:
    """Return whether notes have at least MIN_KEPT_SHARE of the old notes' terms. Very short old notes may be lost."""
    old_terms = term_set(old)
    kept_terms = old_terms & term_set(text)
    return len(old_terms) < MIN_COMPARED_TERMS or len(kept_terms) >= MIN_KEPT_SHARE * len(old_terms)
