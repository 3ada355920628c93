"""Reads what lines state about people and things by rules. Pure; it knows no language (`grammar`).

A sentence is read clause by clause. A clause has a subject that can only be one person or pet: the speaker, "my sister",
a name, or a pronoun where the sentence says nothing of another one that it could mean. After the subject, only the
forms of the grammar are read. So what is negated, wished for or planned needs no rule: no form has "don't" or "want to"
in it. What a clause stands in has rules: questions, conditions, quotes, reported speech, stories.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from everthread.facts.attributes import ATTRIBUTES, FAVOURITE, RELATIONS
from everthread.facts.grammar import Form, Gender, Grammar, Pattern, Relation, load_grammar
from everthread.facts.moments import find_moment, read_told_moment
from everthread.facts.types import Statement
from everthread.text.analyzer import detect_language, remove_quotes
from everthread.text.questions import is_question_only
from everthread.text.sentences import split_sentences
from everthread.types import Line

MAX_CHARS = 2000  # of a line that are read; a longer text is a document more often than talk
MAX_CLAUSES = 40  # of a sentence
MAX_OPENERS = 4  # before a subject: "well, honestly, these days"
MIN_CONFIDENCE = 0.7  # a less certain statement is not made

_MASK = "\x00"  # stands for a quoted character: no value has it
_QUOTE = re.compile(
    r"\"[^\"\n]{1,500}(?:\"|$)|“[^”\n]{1,500}(?:”|$)|„[^“”\n]{1,500}(?:[“”]|$)|«[^»\n]{1,500}(?:»|$)"
    r"|「[^」\n]{1,500}(?:」|$)|『[^』\n]{1,500}(?:』|$)|(?<!\w)['‘](?=\w)[^'’\n]{1,500}(?:['’]\w[^'’\n]{1,500}){0,9}['’](?!\w)"
    r"|^\s*>[^\n]*|```.*?(?:```|\Z)",
    re.MULTILINE | re.DOTALL,
)


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


@dataclass(frozen=True, slots=True)
class _Being:
    """Who or what a clause is about.

    Attributes:
        name: the name, or the relation of one whose name isn't known: "Nora's sister".
        gender: "f", "m", or empty if unknown.
        relation: what it is to whom, by owner and attribute, if the clause says so.
        is_speaker: whether it is who says it.
        end: where in the sentence the words for it end.
    """

    name: str
    gender: Gender = ""
    relation: tuple[str, str] | None = None
    is_speaker: bool = False
    end: int = 0


@dataclass(slots=True)
class _Names:
    """The names that were stated so far."""

    relatives: dict[tuple[str, str], dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    kinds: dict[str, str] = field(default_factory=dict)  # of pets, by name
    spelling: dict[str, str] = field(default_factory=dict)  # by the name in small letters
    genders: dict[str, Gender] = field(default_factory=dict)

    def add(self, statement: Statement) -> None:
        """Learn the names in a statement."""
        if statement.attribute in RELATIONS:
            names = self.relatives[statement.subject, statement.attribute]
            if statement.ends:
                names.pop(statement.value, None)
            elif statement.value[:1].isupper() or statement.value == statement.value.lower() != "":
                names[statement.value] = None
                self.spelling.setdefault(statement.value.lower(), statement.value)
        elif statement.attribute == "kind":
            self.kinds[statement.subject] = statement.value.lower()
        self.spelling.setdefault(statement.subject.lower(), statement.subject)

    def find_relative(self, owner: str, relation: Relation) -> str | None:
        """Return the name of the only one of this relation to its owner; None if there is none, or another one."""
        names = [
            name
            for name in self.relatives.get((owner, relation.attribute), ())
            if relation.attribute != "pet" or self.kinds.get(name) == relation.noun
        ]
        return names[0] if len(names) == 1 else None

    def find_owner(self, name: str) -> tuple[str, str] | None:
        """Return the owner and the attribute of a relative by name."""
        return next((key for key, names in self.relatives.items() if name in names), None)


class _Reader:
    """Reads consecutive lines, and keeps the names and who was spoken of last."""

    def __init__(self, known: Iterable[Statement]) -> None:
        self.names = _Names()
        self.focus: list[_Being] = []
        for statement in known:
            self.names.add(statement)

    def read(self, line: Line) -> Iterator[Statement]:
        """Yield what a line states."""
        self.focus = []
        if line.role != "user" or not line.text:
            return
        text = _QUOTE.sub(lambda quote: _MASK * len(quote[0]), remove_quotes(line.text[:MAX_CHARS], line.metadata))
        small = text.lower()
        grammar = load_grammar(detect_language(text), lowercase=small == text)
        if grammar is None:
            return
        patterns = grammar.find_patterns(small)
        if not patterns or grammar.line_block.search(text):
            return
        seen = set()
        for sentence in split_sentences(text):
            reading = _Sentence(f" {sentence}", line, grammar, patterns, self.names, self.focus)
            for statement in reading.read():
                key = (statement.subject, statement.attribute, statement.value.lower(), statement.ends)
                if key not in seen:
                    seen.add(key)
                    self.names.add(statement)
                    yield statement
            self.focus = reading.find_beings() or self.focus


@dataclass(slots=True)
class _Sentence:
    """A sentence of a line, with a space before it."""

    text: str
    line: Line
    grammar: Grammar
    patterns: Sequence[Pattern]
    names: _Names
    focus: Sequence[_Being]
    beings: list[_Being] | None = None

    def read(self) -> Iterator[Statement]:
        """Yield what the sentence states."""
        if self.grammar.sentence_block.search(self.text):
            return
        small = self.text.lower()
        patterns = [pattern for pattern in self.patterns if any(cue in small for cue in pattern.cues)]
        if not patterns or is_question_only(self.text):
            return
        for pattern in patterns:
            if pattern.anywhere:
                yield from self._search(pattern)
        self.find_beings()
        yield from self._read_clauses([pattern for pattern in patterns if not pattern.anywhere])

    def find_beings(self) -> list[_Being]:
        """Return those that the sentence mentions by a relation or a known name, except speakers."""
        if self.beings is None:
            self.beings = []
            for match in self.grammar.persons.finditer(self.text):
                if (name := match["name"]) and name.lower() not in self.names.spelling:
                    continue
                being = self._identify(match)
                if being is not None and not being.is_speaker and being.name != self.line.speaker:
                    self.beings.append(being)
        return self.beings

    # -------------------------------------------------------------- clauses

    def _search(self, pattern: Pattern) -> Iterator[Statement]:
        for form in pattern.forms:
            for match in form.regex.finditer(self.text):
                subject = self._identify(match)
                if subject is not None and not self._is_blocked(match.start(), match.end()):
                    yield from self._state(pattern, form, match, subject, match.start())

    def _read_clauses(self, patterns: Sequence[Pattern]) -> Iterator[Statement]:
        current: _Being | None = None
        for start, is_joined in self._find_starts():
            heads = {name: head.match(self.text, start) for name, head in self.grammar.heads.items()}
            subject, owner = heads["subject"], heads["owner"]
            beings = {
                "subject": self._identify(subject) if subject else None,
                "owner": self._identify(owner) if owner else None,
                "": self._speaker(),
            }
            ends = {"subject": subject.end() if subject else start, "owner": owner.end() if owner else start, "": start}
            if subject is not None:
                current = beings["subject"]
            elif is_joined and current is not None and self._continues(current, start):
                beings["subject"], ends["subject"] = current, self._space_before(start)
            is_bare = beings["subject"] is None and subject is None
            for pattern in patterns:
                bare = is_bare and (pattern.bare == "clause" or (pattern.bare == "sentence" and self._is_first(start)))
                for form in pattern.forms:
                    being, at = beings[form.head], ends[form.head]
                    if form.head == "subject" and bare:
                        being, at = self._speaker(), self._space_before(start)
                    match = form.regex.match(self.text, at) if being is not None else None
                    if being is not None and match is not None and not self._is_blocked(start, match.end()):
                        yield from self._state(pattern, form, match, being, start)

    def _find_starts(self) -> Iterator[tuple[int, bool]]:
        """Yield where clauses begin, and whether each may go on with the subject of the one before."""
        found: dict[int, bool] = {}
        for match in self.grammar.starts.finditer(self.text):
            at = _skip_space(self.text, match.end())
            found[at] = found.get(at, False) or match["joined"] is not None
            for _ in range(MAX_OPENERS):
                opener = self.grammar.openers.match(self.text, at)
                if opener is None:
                    break
                at = _skip_space(self.text, opener.end())
                found.setdefault(at, match["joined"] is not None)
            if len(found) >= MAX_CLAUSES:
                break
        yield from sorted(found.items())

    def _is_first(self, start: int) -> bool:
        """Return whether nothing but openers precedes a clause."""
        at = 1
        for _ in range(MAX_OPENERS):
            opener = self.grammar.openers.match(self.text, at) if at < start else None
            if opener is None:
                break
            at = _skip_space(self.text, opener.end())
        return at >= start

    def _space_before(self, start: int) -> int:
        return start - 1 if self.text[start - 1].isspace() else start

    def _continues(self, current: _Being, start: int) -> bool:
        form = self.grammar.joined_speaker if current.is_speaker else self.grammar.joined_other
        return form.match(self.text, start) is not None

    def _is_blocked(self, start: int, end: int) -> bool:
        return (
            self.grammar.before_block.search(self.text, 0, start) is not None
            or self.grammar.after_block.search(self.text, end) is not None
        )

    # --------------------------------------------------------------- beings

    def _speaker(self) -> _Being:
        return _Being(self.line.speaker, is_speaker=True)

    def _identify(self, match: re.Match[str]) -> _Being | None:
        """Return whom a match means; None if that isn't certain."""
        groups = match.groupdict()
        if groups.get("speaker"):
            return self._speaker()
        if groups.get("relation"):
            return self._identify_relative(match, groups)
        if groups.get("pronoun"):
            return self._find_antecedent(self.grammar.pronouns[groups["pronoun"].lower()], match.start())
        if groups.get("relative"):
            return self._find_adjacent(match.start())
        if name := groups.get("name"):
            known = self.names.spelling.get(name.lower(), name)
            return _Being(known, self.names.genders.get(known, ""), self.names.find_owner(known), end=match.end())
        if groups.get("possessor_speaker"):
            return self._speaker()
        return self._identify_owner(match, groups)

    def _identify_owner(self, match: re.Match[str], groups: Mapping[str, str | None]) -> _Being | None:
        """Return who "my", "Mia's" or "her" means."""
        if groups.get("possessor_speaker"):
            return self._speaker()
        if pronoun := groups.get("possessor_pronoun"):
            return self._find_antecedent(self.grammar.pronouns[pronoun.lower()], match.start())
        if name := groups.get("possessor_name"):
            return _Being(self.names.spelling.get(name.lower(), name), end=match.end())
        return None

    def _identify_relative(self, match: re.Match[str], groups: Mapping[str, str | None]) -> _Being | None:
        owner = self._identify_owner(match, groups)
        if owner is None:
            return None
        relation = self.grammar.relations[" ".join((groups["relation"] or "").lower().split())]
        name = (
            groups.get("relation_name")
            or self.names.find_relative(owner.name, relation)
            or self.grammar.possessive.format(owner=owner.name, noun=relation.noun)
        )
        self.names.genders.setdefault(name, relation.gender)
        return _Being(name, relation.gender, (owner.name, relation.attribute), end=match.end())

    def _find_antecedent(self, gender: Gender, start: int) -> _Being | None:
        """Return the only one that a pronoun can mean, in the sentence up to it or else in the one before."""
        here = [being for being in self.beings or () if being.end <= start]
        found = {being.name: being for being in here or self.focus if being.gender in (gender, "") or not gender}
        return next(iter(found.values())) if len(found) == 1 else None

    def _find_adjacent(self, start: int) -> _Being | None:
        """Return the one whose mention ends where a relative clause begins."""
        return next((being for being in self.find_beings() if 0 <= start - being.end <= 2), None)

    # ----------------------------------------------------------- statements

    def _state(
        self, pattern: Pattern, form: Form, match: re.Match[str], subject: _Being, start: int
    ) -> Iterator[Statement]:
        """Yield the statements that a match of a form makes."""
        if pattern.confidence < MIN_CONFIDENCE:
            return
        moment = self._find_moment(pattern, match, start)
        for name, attribute, value in self._list_values(pattern, form, match, subject):
            yield Statement(
                name,
                attribute,
                value,
                (self.line.seq,),
                self.line.said_at,
                pattern.ends,
                moment,
                confidence=pattern.confidence,
                is_undated=self.line.is_undated,
            )

    def _list_values(
        self, pattern: Pattern, form: Form, match: re.Match[str], subject: _Being
    ) -> Iterator[tuple[str, str, str]]:
        """Yield subjects, attributes and values."""
        groups = match.groupdict()
        if pattern.attribute:
            yield subject.name, pattern.attribute, ""
        if pattern.is_gone and subject.relation is not None and subject.relation[1] == "pet":
            owner, attribute = subject.relation
            yield owner, attribute, subject.name.removeprefix(self.grammar.possessive.format(owner=owner, noun=""))
        if groups.get("names"):
            yield from self._list_relatives(groups, subject)
        if groups.get("favourite"):
            for value in self._split(groups["favourite"], "favourite" in form.lists):
                yield subject.name, FAVOURITE + groups["favourite_kind"].lower(), value
        for attribute in ATTRIBUTES.intersection(groups):
            if text := groups[attribute]:
                for value in self._split(text, attribute in form.lists):
                    if not (attribute == "name" and value.lower() in subject.name.lower()):
                        yield subject.name, attribute, pattern.prefix + value

    def _list_relatives(self, groups: Mapping[str, str | None], owner: _Being) -> Iterator[tuple[str, str, str]]:
        relation = self.grammar.relations[" ".join((groups["kin"] or "").lower().split())]
        for name in self._split(groups["names"] or "", True):
            if name.lower() != self.line.speaker.lower():
                self.names.genders.setdefault(name, relation.gender)
                yield owner.name, relation.attribute, name
                if relation.attribute == "pet":
                    yield name, "kind", relation.noun

    def _split(self, text: str, is_list: bool) -> Iterator[str]:
        """Yield the values in the words of a slot, without articles."""
        for part in self.grammar.separator.split(text) if is_list else (text,):
            value = self.grammar.leading.sub("", part.strip(), count=1).strip(" ,;:.-–")
            if value and not self.grammar.never.fullmatch(value):
                yield value

    def _find_moment(self, pattern: Pattern, match: re.Match[str], start: int) -> str | None:
        """Return the moment that a clause names after the values, or before the subject."""
        expressions = (*self.grammar.since, *(self.grammar.at if pattern.is_event else ()))
        subject = self.grammar.heads["subject"]
        later = (at for at, _ in self._find_starts() if at >= match.end() and subject.match(self.text, at))
        end = next(later, len(self.text))
        found = find_moment(expressions, lambda each: each.search(self.text, match.start(), end))
        if found is None:
            found = find_moment(expressions, lambda each: each.search(self.text, 0, start))
            if found is not None and self.text[found.end() : start].strip(" ,"):
                found = None
        return None if found is None else read_told_moment(found, self.line.said_at, self.grammar)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
