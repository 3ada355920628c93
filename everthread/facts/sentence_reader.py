"""Reads what one sentence states. Pure; it knows no language (`grammar`).

A sentence is read clause by clause. A clause has a subject that can only be one person or pet: the speaker, "my
sister", a name, or a pronoun where the sentence names no other one that it could mean. After the subject, only the
forms of the grammar are read. So what is negated, wished for or planned needs no rule: no form has "don't" or "want to"
in it. The sentence around a clause has rules: questions, conditions, quotes, reported speech and stories state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from everthread.facts import clauses, frames
from everthread.facts.attributes import POSSESSIVE, RELATIONS
from everthread.facts.grammar import Form, Gender, Grammar, Pattern
from everthread.facts.mentions import Mentions
from everthread.facts.moments import read_clause_moment
from everthread.facts.name_words import is_likely_name
from everthread.facts.referents import Names, Referent
from everthread.facts.types import Statement
from everthread.facts.values import ValueReader
from everthread.text.questions import is_question_only
from everthread.types import Line

MIN_CONFIDENCE = 0.7  # a less certain statement is not made

Heads = Mapping[str, tuple[Referent, int]]  # who a clause is about, and where the words for it end, by kind
SUBJECTS = ("subject", "unsaid")  # the kinds of heads that say who a clause is about

# Attributes of a stage of life, which go on in a clause after one about the past.
STAGES = frozenset(("home", "employer", "industry", "occupation", "school", "field"))

# Attributes of which a value for a day or a month is no fact: "I'm vegan today".
LASTING = STAGES - {"school"} | {"diet", "dislikes", "hobby", "language", "likes", "member", "owns", "plays", "takes"}


@dataclass(slots=True)
class SentenceReader:
    """A sentence and the patterns that may match in it."""

    mentions: Mentions
    patterns: Sequence[Pattern]
    text: str = field(init=False)
    line: Line = field(init=False)
    grammar: Grammar = field(init=False)
    names: Names = field(init=False)
    is_blocked: bool | None = None  # whether the sentence states nothing, as a question
    is_story: bool = False  # whether it is about what is made up
    scope: int = 0  # from where on words govern a clause, such as "she thinks that"
    was_past: bool = False  # whether a clause without a subject is about the past, as the one before was
    pasts: dict[int, int] = field(default_factory=dict)  # where words for the past end, by where a clause begins
    firsts: dict[int, bool] = field(default_factory=dict)  # whether a clause is the first one, by where it begins
    led: dict[int, bool] = field(default_factory=dict)  # whether all before is about the speaker, likewise
    spoken_of: list[Referent | None] = field(default_factory=list)  # the one, once it has been looked for
    question: str = ""  # what the line answers, if a pattern reads answers

    def __post_init__(self) -> None:
        """Name what the mentions are found with."""
        self.text, self.line = self.mentions.text, self.mentions.line
        self.grammar, self.names = self.mentions.grammar, self.mentions.names

    def read(self) -> Iterator[Statement]:
        """Yield what the sentence states."""
        small = self.text.lower()
        patterns = [pattern for pattern in self.patterns if pattern.is_cued(small)]
        if any(pattern.answers for pattern in patterns):
            self.question = self.mentions.find_own_question()
            patterns = [each for each in patterns if each.answers is None or each.answers.search(self.question)]
        self.mentions.carry_subject()
        if patterns or self.grammar.keeps_subject:
            yield from self._search([pattern for pattern in patterns if pattern.anywhere])
            yield from self._read_clauses([pattern for pattern in patterns if not pattern.anywhere])
        if self.mentions.before:
            yield from self._read_name()
            yield from self._read_names()

    def _read_name(self) -> Iterator[Statement]:
        """Yield whose name a sentence is: "I've a budgie. Winston."; "A dog!" "What's his name?" "Argo." """
        match = self.grammar.named.fullmatch(self.text)
        if match is None:
            return
        before = self.mentions.before[-1]
        if self.mentions.goes_on_in_line():
            may_name = self._is_naming(match) and self.grammar.nameless.search(before.text) is None
            mentioned = before.find_referents() if may_name else []
        else:
            mentioned = self.mentions.find_focus(self._find_asked_gender()) if self._answers_for_name() else []
        prefix = f"{self.line.speaker}{POSSESSIVE}"
        unnamed = {each.name: each for each in mentioned if each.relation and each.name.startswith(prefix)}
        are_others = len({each.name for each in mentioned}) > 1
        if len(unnamed) == 1 and not are_others:
            for name, attribute, value in self._values().name(next(iter(unnamed.values())), match["name"]):
                yield self._make(name, attribute, value, 0.9)

    def _read_names(self) -> Iterator[Statement]:
        """Yield whose names a sentence is: "I've two kids. Ruby and Max."; "The dogs' names?" "Fly and Moss." """
        match = self.grammar.named_several.fullmatch(self.text)
        if match is None or not (self.mentions.goes_on_in_line() or self._answers_for_name()):
            return
        found = {each["kin"].lower() for each in self.grammar.heads["several"].finditer(self.mentions.before[-1].text)}
        if len(found) == 1:
            speaker = self.mentions.speaker()
            for name, attribute, value in self._values().list_relatives(found.pop(), match["names"], speaker):
                yield self._make(name, attribute, value, 0.9)

    def _answers_for_name(self) -> bool:
        return self.grammar.asks_name.search(self.mentions.before[-1].text) is not None

    def _find_asked_gender(self) -> Gender:
        """Return the gender of the one whose name the question before asks for: "What's her name?"."""
        asked = self.grammar.heads["asked"].finditer(self.mentions.before[-1].text)
        genders = {self.grammar.pronouns[match["pronoun"].lower()] for match in asked if match["pronoun"]}
        return genders.pop() if len(genders) == 1 else ""

    def _is_naming(self, match: re.Match[str]) -> bool:
        """Return whether a sentence calls someone by a name, or is one that can hardly be another word."""
        return bool(match.groupdict().get("called")) or is_likely_name(match["name"])

    # -------------------------------------------------------------- clauses

    def _search(self, patterns: Sequence[Pattern]) -> Iterator[Statement]:
        """Yield what is stated by patterns that may match anywhere."""
        possessors = list(self.grammar.heads["possessor"].finditer(self.text)) if patterns else []
        for pattern in patterns:
            for form in pattern.forms:
                if form.head == "possessor":
                    found = ((each, form.match(self.text, each.end())) for each in possessors)
                else:
                    found = ((each, each) for each in form.find(self.text))
                for head, match in found:
                    if match is not None and not self._is_blocked(pattern, head.start(), match.end()):
                        referent = self.mentions.identify_in(head, match)
                        if referent is not None and referent.fits(pattern.about):
                            yield from self._state(pattern, form, match, referent, head.start())

    def _read_clauses(self, patterns: Sequence[Pattern]) -> Iterator[Statement]:
        self.mentions.last_subject, ends = self.mentions.find_dropped() or self.mentions.find_introduced(), set[int]()
        if self.grammar.keeps_subject and not self.mentions.goes_on_in_line():
            self.mentions.current = self.mentions.last_subject
        for start, is_joined in clauses.find_starts(self.grammar, self.text):
            heads = self._find_heads(start)
            if "subject" in heads and heads["subject"][1] in ends:
                continue  # in apposition to the subject before: "our son Callum, Isla's father, works …"
            ends |= {heads["subject"][1]} if "subject" in heads else set()
            was_lost = self.mentions.is_lost
            spoken_of = self.mentions.last_subject
            self._follow(heads, start)
            self.was_past = (
                self.was_past and "subject" not in heads and not self.grammar.present.match(self.text, start)
            )
            if "subject" in heads:
                self.mentions.last_subject, self.mentions.subject_at = heads["subject"][0], start
                self.scope = frames.find_scope(self.grammar, self.text, start)
            current = self.mentions.current if self.grammar.keeps_subject else self.mentions.last_subject
            is_joined = is_joined or (current is not None and self._is_first(start))
            goes_on = current if is_joined and "subject" not in heads and self._continues(current, start) else None
            if "subject" in heads and self._may_be_noun(heads["subject"][0]):
                current = spoken_of
            elif "subject" in heads:
                current = None
            if current and self.grammar.elided.search(self.text, 0, start):
                heads["elided"] = current, start
            for pattern in patterns:
                for form in pattern.forms:
                    referent, match = self._match_clause(form, pattern, heads, goes_on, start)
                    if referent and match and not self._is_blocked(pattern, start, match.end()):
                        if self.grammar.keeps_subject:
                            self.mentions.current = self.mentions.current or referent
                        if form.head in SUBJECTS:
                            self.mentions.last_subject = referent
                        yield from self._state(pattern, form, match, referent, start)
            self.was_past = self.was_past or frames.is_past(
                self.grammar, self.text, start, clauses.find_clause_end(self.text, start)
            )
            if not was_lost and not self._is_opened(start):
                self._introduce(start, goes_on, *heads.get("subject", (None, start)))

    def _is_opened(self, start: int) -> bool:
        """Return whether a clause begins with an opener, so that it is read again from where that ends."""
        return self.grammar.keeps_subject and self.grammar.openers.match(self.text, start) is not None

    def _match_clause(
        self, form: Form, pattern: Pattern, heads: Heads, goes_on: Referent | None, start: int
    ) -> tuple[Referent | None, re.Match[str] | None]:
        """Return the person that a form is about in a clause, and its match there.

        Args:
            form: the form.
            pattern: its pattern.
            heads: of the clause.
            goes_on: the subject of the clause before, if this one may go on with it.
            start: of the clause.
        """
        found = heads.get(form.head)
        match = self._match(form, pattern, *found) if found else None
        if match and not form.head and match.groupdict().get("kin") and self._is_relative_of_other(heads):
            return None, None  # "my friend is Jia, husband is called Lei"
        if match is None and form.head in SUBJECTS:
            referent = (goes_on if pattern.joins else None) or self._find_unsaid(pattern, heads, start)
            found = (referent, self._space_before(start)) if referent else None
            match = self._match(form, pattern, *found) if found else None
        return (found[0] if found else None), match

    def _is_relative_of_other(self, heads: Heads) -> bool:
        """Return whether the subject of a clause is a relative of another than the speaker, or may be."""
        subject = heads["subject"][0] if "subject" in heads else None
        if subject is None or subject.relation is None:
            return False
        return self.grammar.keeps_subject and subject.relation[0] != self.line.speaker

    def _find_heads(self, start: int) -> dict[str, tuple[Referent, int]]:
        """Return who is the subject or owner where a clause begins, and where the words for it end."""
        found = {"": (self.mentions.speaker(), start)}
        is_dropped = start <= 1 and self.grammar.dropped.match(self.text, start) is not None  # "Works" is no name
        for name in ("owner",) if is_dropped and not self.grammar.keeps_subject else ("subject", "owner"):
            match = self.grammar.heads[name].match(self.text, start)
            referent = None if match is None else self.mentions.identify(match)
            if match is not None and referent is not None:
                found[name] = referent, match.end()
            elif name == "subject" and self.grammar.is_unspaced and (end := self.names.find_at(self.text, start)):
                found[name] = self.mentions.find_named(self.text[start:end], end), end
        return found

    def _follow(self, heads: Heads, start: int) -> None:
        """Keep the subject of a clause for the clauses after it."""
        if "subject" in heads:
            self.mentions.current, self.mentions.is_lost = heads["subject"][0], False
        elif self.grammar.keeps_subject and self.grammar.heads["subject"].match(self.text, start) is not None:
            self.mentions.current, self.mentions.is_lost = None, True
        elif (unknown := self.grammar.heads["subject"].match(self.text, start)) and unknown.groupdict().get("pronoun"):
            self.mentions.last_subject = None  # it may mean another: "Ana looks after a girl, she's 3 and allergic …"
        elif self.mentions.is_about_other(start):
            asked = None if self.mentions.find_referents() else self.mentions.find_asked()
            self.mentions.current = None if asked and asked.is_speaker else asked
            self.mentions.is_lost = asked is None or (asked.is_speaker and not self.mentions.find_question())

    def _may_be_noun(self, subject: Referent) -> bool:
        """Return whether what seems to be a name may be another noun: "44, Tischler aus Kiel"."""
        is_name = subject.relation is None and not subject.is_speaker
        return self.grammar.has_capital_nouns and is_name and not self.names.is_known(subject.name)

    def _introduce(self, start: int, current: Referent | None, subject: Referent | None, at: int) -> None:
        """Make what a clause introduces the subject of the clauses after it: "we adopted a dog, called …"."""
        match = self.grammar.heads["introduced"].match(self.text, at)
        one = subject or current
        if match is not None and match.groupdict().get("name") and one is not None and one.is_speaker:
            return
        if match is None or (subject is not None and subject.relation and match.groupdict().get("surnamed")):
            return
        if called := match.groupdict().get("called"):  # "I met someone, he's called Jonas"
            if not (current or subject):
                self.mentions.current = self.mentions.last_subject = self.mentions.find_named(called, match.end())
            return
        if match["relation"] is None:
            self.mentions.current = self.mentions.identify(match) if match["name"] else None
            self.mentions.is_lost = self.mentions.current is None
            return
        owner = subject or current or (self.mentions.speaker() if self._is_first(start) else None)
        attribute = self.grammar.relations[match["relation"].lower()].attribute
        if owner is not None and owner is current and owner.relation is None and match[0] == match["relation"]:
            return  # "the younger one, Ning, is five, a boy"
        if owner is not None and not (owner is current and owner.relation and owner.relation[1] == attribute):
            self.mentions.current = self.mentions.identify_relative(match, match.groupdict(), owner)
            self.mentions.is_lost = False

    def _match(self, form: Form, pattern: Pattern, referent: Referent, at: int) -> re.Match[str] | None:
        if not referent.fits(pattern.about):
            return None
        return form.match(self.text, at if pattern.ends or not form.head else self._skip_past(at))

    def _skip_past(self, at: int) -> int:
        """Return where the words for the past end that begin at a place."""
        if at not in self.pasts:
            past = self.grammar.past.match(self.text, at)
            self.pasts[at] = at if past is None else past.end()
        return self.pasts[at]

    def _is_first(self, start: int) -> bool:
        if start not in self.firsts:
            self.firsts[start] = clauses.is_first(self.grammar, self.text, start)
        return self.firsts[start]

    def _may_begin(self, pattern: Pattern, heads: Heads, start: int) -> bool:
        """Return whether a clause may have no subject, so that it is about the speaker: "Sold the car"."""
        if pattern.bare == "verb":
            return True
        if pattern.bare != "clause" and not self._is_first(start):
            return False
        if self.mentions.is_lost or ("subject" in heads and self.names.is_known(heads["subject"][0].name)):
            return False
        if self.grammar.keeps_subject and self.mentions.current is None and self.mentions.goes_on_in_line():
            return False
        if self.grammar.keeps_subject and self.mentions.current is not None and not self.mentions.current.is_speaker:
            return False
        if self.grammar.keeps_subject and self.mentions.current is None and not self._is_led_in(start):
            return False
        if pattern.bare == "clause":
            return True
        return pattern.bare in ("sentence", "fragment") or self.grammar.subjectless.match(self.text, start) is not None

    def _is_led_in(self, start: int) -> bool:
        """Return whether nothing before a clause without a subject is about another than the speaker."""
        if start not in self.led:
            led_in = self._is_first(start) or self.grammar.led_in.fullmatch(self.text, 1, start) is not None
            self.led[start] = led_in and not self.mentions.may_be_of_other()
        return self.led[start]

    def _find_unsaid(self, pattern: Pattern, heads: Heads, start: int) -> Referent | None:
        """Return the subject of a clause without one, if it may have none: "Sold the car", "Nurse at King's"."""
        if pattern.answers is not None and self.grammar.keeps_subject:
            return self.mentions.find_answering(start)
        if self.grammar.dropped.match(self.text, start) or not self._may_begin(pattern, heads, start):
            return None
        if pattern.answers is not None and (asked := pattern.answers.search(self.question)):
            groups = asked.groupdict()
            if groups.get("relation"):  # "How old is your son?"
                return self.mentions.identify_relative(asked, groups, self.mentions.speaker())
        if pattern.bare == "fragment":
            return self._find_spoken_of()
        is_answer = pattern.answers is not None
        if self.grammar.keeps_subject or not (is_answer or pattern.bare == "sentence"):
            return self.mentions.speaker()
        one = self._find_spoken_of()
        if one is None and not self.mentions.goes_on_in_line():
            return None  # "Is she still at the school?" "Retired in July."
        if one is not None and self._is_other(one):
            return one if is_answer and one.relation else None
        return self.mentions.speaker()

    def _is_other(self, one: Referent) -> bool:
        """Return whether the one that a sentence without a subject is about is known to be another person."""
        if one.is_speaker:
            return False
        is_name = one.name.lower() in self.grammar.first_names
        return one.relation is not None or is_name or self.names.is_known(one.name)

    def _find_spoken_of(self) -> Referent | None:
        """Return the one that a sentence without a subject is about, which is the same for all of its clauses."""
        if not self.spoken_of:
            self.spoken_of.append(self.mentions.find_spoken_of())
        return self.spoken_of[0]

    def _space_before(self, start: int) -> int:
        return start - 1 if self.text[start - 1].isspace() and not self.grammar.is_unspaced else start

    def _continues(self, current: Referent | None, start: int) -> bool:
        if current is None or self.grammar.joined_block.search(self.text, 0, start) is not None:
            return False
        form = self.grammar.joined_speaker if current.is_speaker else self.grammar.joined_other
        return form.match(self.text, start) is not None

    def _is_blocked(self, pattern: Pattern, start: int, end: int) -> bool:
        if self.is_blocked is None:
            self.is_story = self.grammar.story_block.search(self.text) is not None
            is_question = self.grammar.sentence_block.search(self.text) is not None or is_question_only(self.text)
            self.is_blocked = self.is_story or is_question
        if pattern.presupposed:
            return self.is_story
        if (
            self.is_blocked
            or self.grammar.clause_block.search(self.text, 0, clauses.find_clause_end(self.text, end)) is not None
        ):
            return True
        if pattern.reported:
            return False
        if frames.is_framed(self.grammar, self.text, self.scope, start):
            return True
        return not pattern.ends and self.grammar.after_block.search(self.text[end:]) is not None

    # ----------------------------------------------------------- statements

    def _state(
        self, pattern: Pattern, form: Form, match: re.Match[str], subject: Referent, start: int
    ) -> Iterator[Statement]:
        """Yield the statements that a match of a form makes."""
        if pattern.confidence < MIN_CONFIDENCE:
            return
        is_past = bool(form.head) and frames.is_past(self.grammar, self.text, start, match.start())
        is_timeless = pattern.anywhere and not pattern.is_event
        moment, is_event = (None, False) if is_timeless else self._find_moment(pattern, match, start)
        is_passing = not pattern.ends and frames.is_passing(self.grammar, self.text, *match.span())
        for name, attribute, value in self._values(match.start()).list_values(pattern, form, match, subject):
            if pattern.of_known and not self.names.holds(name, attribute, value):
                continue
            if pattern.replaces and not self.names.values.get((name, attribute)):
                continue
            if is_passing and attribute in LASTING:
                continue
            if self._is_about_famous(name, attribute, value):
                continue
            has_ended = pattern.ends or is_past or (self.was_past and attribute in STAGES and bool(form.head))
            made = self._make(name, attribute, value, pattern.confidence, ends=has_ended)
            yield replace(made, moment=moment, is_event=is_event)

    def _is_about_famous(self, subject: str, attribute: str, value: str) -> bool:
        """Return whether the subject is famous, or a relative or the speaker is called so. Pets often are."""
        famous = self.grammar.famous
        if subject.lower() in famous and self.names.find_owner(subject) is None:
            return True
        is_person = attribute == "name" or (attribute in RELATIONS and attribute != "pet")
        name = value.lower()
        return is_person and name in famous and name not in self.grammar.first_names

    def _make(self, subject: str, attribute: str, value: str, confidence: float, *, ends: bool = False) -> Statement:
        subject, value = self.names.as_written(subject), self.names.as_written(value)
        made = Statement(subject, attribute, value, (self.line.seq,), self.line.said_at, ends)
        return replace(made, confidence=confidence, is_undated=self.line.is_undated)

    def _values(self, at: int = 0) -> ValueReader:
        """Return the reader of the values that are stated at a place of the sentence."""
        earlier = "".join(each.text for each in self.mentions.before if each.line is self.line)
        return ValueReader(self.grammar, self.names, self.line.speaker, earlier + self.text[:at], self.question)

    def _find_moment(self, pattern: Pattern, match: re.Match[str], start: int) -> tuple[str | None, bool]:
        """Return the moment that a clause names, and whether it is that of an event."""
        later = (
            at
            for at, _ in clauses.find_starts(self.grammar, self.text)
            if at >= match.end() and "subject" in self._find_heads(at)
        )
        clause = self.text[: next(later, len(self.text))]
        return read_clause_moment(clause, start, match, pattern, self.grammar, self.line)
