"""Reads what lines state about people and things by rules. Pure; it knows no language (`grammar`).

A line is read sentence by sentence (`sentence_reader`). The names that lines give, and the sentences before one, say
who is meant by a pronoun or an unsaid subject.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from everthread.facts.attributes import POSSESSIVE
from everthread.facts.borrowed_text import cut_pasted_rows, find_own_part, is_tale
from everthread.facts.consequences import find_consequences, settle
from everthread.facts.grammar import Grammar, find_grammar, load_grammar
from everthread.facts.history import statement_order
from everthread.facts.mentions import Mentions
from everthread.facts.quotations import mask_quotations
from everthread.facts.referents import Names
from everthread.facts.sentence_reader import SentenceReader
from everthread.facts.types import Statement
from everthread.facts.written_out import write_out
from everthread.text.analyzer import detect_language, is_unspaced_script, remove_quotes
from everthread.text.sentences import split_sentences
from everthread.types import Line

MAX_CHARS = 2000  # of a line that are read; a longer text is a document more often than talk
MAX_RECENT = 12  # sentences in which a pronoun's meaning is looked for
MAX_ANSWER_CHARS = 300  # of a line by a chatbot that are read for names
_SHOUTING = re.compile(r"\b[A-ZÀ-ÖØ-Þ]+(?:['’][A-ZÀ-ÖØ-Þ]+)? [A-ZÀ-ÖØ-Þ]+\b")  # two words in capital letters
# Spaces between Chinese and Latin letters or digits, as in 我在 IBM 上班.
_BETWEEN_SCRIPTS = re.compile(r"(?<=[\u3400-\u9fff]) +(?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) +(?=[\u3400-\u9fff])")
_SENTENCES = re.compile(r"([^.!?\n]*[.!?\n]*)")
DEFAULT_LANGUAGE = "en"  # which `detect_language` names for a text that shows no other


def read_statements(lines: Iterable[Line], known: Iterable[Statement] = ()) -> list[Statement]:
    """Read what lines state.

    Args:
        lines: consecutive lines of a bank. Only those of role `user` state anything.
        known: what the lines before them state, for names ("my sister" is Mia).

    Returns:
        The statements, in the order of their lines.
    """
    reader = _Reader(known)
    return [statement for line in lines for statement in reader.read(line)]


class _Reader:
    """Reads consecutive lines, and keeps the names and the last sentences."""

    def __init__(self, known: Iterable[Statement]) -> None:
        self.names = Names()
        self.recent: deque[Mentions] = deque(maxlen=MAX_RECENT)
        self.language = DEFAULT_LANGUAGE  # of the last line whose words show it
        for statement in sorted(known, key=statement_order):  # a corrected one is stored later than it was said
            self.names.add(statement)
            settle(self.names, (statement,))

    def read(self, line: Line) -> list[Statement]:
        """Return what a line states."""
        text = _lower_shouting(mask_quotations(remove_quotes(line.text[:MAX_CHARS], line.metadata)))
        language = detect_language(text)
        if load_grammar(language) is None:  # not read, or one word of a short line taken for it: Italian "mia"
            language = self.language
        self.names.speakers.add(line.speaker)
        recent = self.recent.copy()
        found = self._read_in(language, line, text)
        before = self.language
        if language != DEFAULT_LANGUAGE:
            self.language = language
        if line.role == "user" and not found and before != language:  # a short line shows none, or a wrong one: "im 20"
            read, self.recent = self.recent, recent
            found = self._read_in(before, line, text)
            self.language, self.recent = (before, self.recent) if found else (self.language, read)
        return found

    def _read_in(self, language: str, line: Line, text: str) -> list[Statement]:
        """Return what a line states, read as one in a language."""
        grammar = find_grammar(language, text)
        if grammar is None:
            return []
        if grammar.is_unspaced:
            text = _BETWEEN_SCRIPTS.sub("", text)
        if line.role != "user":
            before = tuple(self.recent) if grammar.is_unspaced else ()
            self.recent.append(Mentions(f" {text[:MAX_ANSWER_CHARS]}", line, grammar, self.names, before))
            return []
        written = find_own_part(cut_pasted_rows(text, line.speaker, self.names), grammar)
        own = write_out(written, line.speaker, grammar, self.names)
        asked = Mentions("", line, grammar, self.names, tuple(self.recent)).find_own_question()
        patterns = grammar.find_patterns(own.lower(), is_answer=bool(asked))
        is_about_strangers = bool(patterns) and is_tale(own, grammar, self.names)  # before pronouns make names known
        found: dict[tuple[str, str, str, bool], Statement] = {}
        for sentence in split_sentences(own):
            stated = _find_stated(sentence, grammar)
            mentions = Mentions(f" {stated}", line, grammar, self.names, tuple(self.recent))
            for statement in SentenceReader(mentions, patterns).read():
                if not found and grammar.line_block.search(text) is not None:
                    return []
                if is_about_strangers and statement.subject.split(POSSESSIVE)[0] in own:
                    continue
                key = (statement.subject, statement.attribute, statement.value.lower(), statement.ends)
                found.setdefault(key, statement)
                self.names.add(statement)
            self.recent.append(mentions)
        made = list(self.names.resolve(found.values()))
        made = [*find_consequences(made, self.names), *made]
        settle(self.names, made)
        return made


def _lower_shouting(text: str) -> str:
    """Return a text in which sentences in capital letters are in small ones, so that no word in them seems a name."""
    if not _SHOUTING.search(text) or is_unspaced_script(text):
        return text
    return "".join(_lower_shouted(part) for part in _SENTENCES.split(text))


def _lower_shouted(sentence: str) -> str:
    return sentence.lower() if sentence.upper() == sentence and _SHOUTING.search(sentence) else sentence


def _find_stated(sentence: str, grammar: Grammar) -> str:
    """Return what a sentence states: all, or what is before or in a question."""
    if not sentence.rstrip().endswith(("?", "？")):
        return sentence
    found = grammar.telling.match(sentence) or grammar.asking.match(sentence)
    return sentence if found is None else found["stated"]
