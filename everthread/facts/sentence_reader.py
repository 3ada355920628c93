"""Reads what one sentence states. Pure; it knows no language (`grammar`).

A sentence is read clause by clause. A clause has a subject that can only be one person or pet: the speaker, "my
sister", a name, or a pronoun where the sentence names no other one that it could mean. After the subject, only the
forms of the grammar are read. So what is negated, wished for or planned needs no rule: no form has "don't" or "want to"
in it. The sentence around a clause has rules: questions, conditions, quotes, reported speech and stories state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from everthread.facts import clauses, frames
from everthread.facts.attributes import KIN, POSSESSIVE
from everthread.facts.grammar import Form, Gender, Grammar, Pattern
from everthread.facts.moments import read_clause_moment
from everthread.facts.referents import Names, Referent
from everthread.facts.types import Statement
from everthread.facts.values import ValueReader
from everthread.text.questions import is_question, is_question_only
from everthread.types import Line

MAX_FOCUS_LINES = 2  # after which a pronoun no longer means the one that was mentioned last
MAX_TOPIC_LINES = 4  # after which a question that names no one is no longer about what the speaker said last
MIN_CONFIDENCE = 0.7  # a less certain statement is not made

# Attributes of a stage of life, which go on in a clause after one about the past.
STAGES = frozenset(("home", "employer", "occupation", "school", "field"))

# Relations of those whose own relatives need no owner: "my brother lives in Leeds, wife is a nurse".
OWNERS = frozenset(("son", "daughter", "sister", "brother", "cousin", "friend", "colleague", "flatmate", "neighbour"))

HUMANS = ("human", "titled", "human_called", "human_subject")  # groups of a mention that show a person


@dataclass(slots=True)
class SentenceReader:
    """A sentence of a line, with a space before it."""

    text: str
    line: Line
    grammar: Grammar
    patterns: Sequence[Pattern]
    names: Names
    before: Sequence[SentenceReader]  # the sentences before it
    referents: list[Referent] | None = None
    is_blocked: bool | None = None  # whether the sentence states nothing, as a question
    is_story: bool = False  # whether it is about what is made up
    current: Referent | None = None  # what a clause without a subject is about
    is_lost: bool = False  # whether such a clause is about one that isn't known
    scope: int = 0  # from where on words govern a clause, such as "she thinks that"
    was_past: bool = False  # whether a clause without a subject is about the past, as the one before was
    last_subject: Referent | None = None  # of its last clause that has one

    def read(self) -> Iterator[Statement]:
        """Yield what the sentence states."""
        small = self.text.lower()
        patterns = [pattern for pattern in self.patterns if pattern.is_cued(small)]
        if any(pattern.answers for pattern in patterns):
            question = self._question()
            patterns = [each for each in patterns if each.answers is None or each.answers.search(question)]
        if self.grammar.keeps_subject and self._goes_on_in_line():
            self.current, self.is_lost = self.before[-1].current, self.before[-1].is_lost
        if patterns or self.grammar.keeps_subject:
            yield from self._search([pattern for pattern in patterns if pattern.anywhere])
            yield from self._read_clauses([pattern for pattern in patterns if not pattern.anywhere])
        if self.before and self.before[-1].line is not self.line:
            yield from self._read_answer(self.before[-1].text)

    def _read_answer(self, asked: str) -> Iterator[Statement]:
        """Yield whose name a sentence is that answers a question for it: "A dog!" "What's his name?" "Argo." """
        if self.grammar.asks_name.search(asked) is None or (match := self.grammar.named.fullmatch(self.text)) is None:
            return
        prefix = f"{self.line.speaker}{POSSESSIVE}"
        unnamed = {each.name: each for each in self._find_focus() if each.relation and each.name.startswith(prefix)}
        if len(unnamed) == 1:
            for name, attribute, value in self._values().name(next(iter(unnamed.values())), match["name"]):
                yield self._make(name, attribute, value, 0.9)

    def find_referents(self) -> list[Referent]:
        """Return those that the sentence mentions by a relation or a name, except speakers."""
        if self.referents is None:
            self.referents = []
            for match in self.grammar.persons.finditer(self.text):
                referent = self._identify_mention(match)
                if referent is not None and not referent.is_speaker and not self.names.is_speaker(referent.name):
                    self.referents.append(referent)
            if self.grammar.is_unspaced:
                self.referents += self._find_names()
        return self.referents

    def _find_names(self) -> Iterator[Referent]:
        """Yield those that a text without spaces mentions by a known name only."""
        at = 0
        while at < len(self.text):
            end = self.names.find_at(self.text, at)
            if end and not self.names.is_speaker(self.text[at:end]):
                yield self._find_named(self.text[at:end], end)
            at = end or at + 1

    def _find_focus(self, gender: Gender = "") -> list[Referent]:
        """Return those who were mentioned last and may have this gender, in this line or shortly before it."""
        for each in reversed(self.before):
            if each.line.session != self.line.session or self.line.seq - each.line.seq > MAX_FOCUS_LINES:
                break
            referents = [*each.find_referents(), *self._find_addressed(each)]
            if fitting := [known for known in referents if not gender or known.gender in (gender, "")]:
                return fitting
        return []

    def _find_addressed(self, said: SentenceReader) -> Iterator[Referent]:
        """Yield the speaker's relatives that another one has mentioned: "your son"."""
        if said.line.speaker != self.line.speaker:
            for match in self.grammar.heads["asked"].finditer(said.text):
                if match["yours"] and (found := self._identify_relative(match, match.groupdict(), self._speaker())):
                    yield found

    def _identify_mention(self, match: re.Match[str]) -> Referent | None:
        groups = match.groupdict()
        if human := next(filter(None, map(groups.get, HUMANS)), None):
            return self._find_named(human, match.end())
        if groups.get("betrothed"):
            owner = groups["betrothed_name"]
            found = self._speaker() if owner is None else self._find_named(owner, match.end())
            return self._identify_relative(match, {"relation": "partner"}, found)
        name = match["other"] or match["name"]
        if match["relation"] or (name and self.names.is_known(name)):
            return self._identify(match)
        if name and match["name"] and self.grammar.is_unspaced:
            return replace(self._find_named(name, match.end()), is_certain=False)
        is_alone = self.text.strip(" .!") == name  # "Martin. He's a surveyor.", but not "Eggs. He's allergic to eggs."
        is_alone = is_alone and re.search(rf"\b{re.escape(name.lower())}\b", self.line.text) is None
        is_first = match.start() == 1 and not is_alone  # such a word has a capital letter in any case
        is_name = name and name[0].isupper() and not is_first and not self.grammar.has_capital_nouns
        if not name or not (match["other"] or is_name):
            return None
        return Referent(name, is_certain=is_alone, end=match.end())

    # -------------------------------------------------------------- clauses

    def _search(self, patterns: Sequence[Pattern]) -> Iterator[Statement]:
        """Yield what is stated by patterns that may match anywhere."""
        possessors = list(self.grammar.heads["possessor"].finditer(self.text)) if patterns else []
        for pattern in patterns:
            for form in pattern.forms:
                if form.head == "possessor":
                    found = ((each, form.regex.match(self.text, each.end())) for each in possessors)
                else:
                    found = ((each, each) for each in form.regex.finditer(self.text))
                for head, match in found:
                    if match is not None and not self._is_blocked(pattern, head.start(), match.end()):
                        referent = self._identify_in(head, match)
                        if referent is not None and referent.fits(pattern.about):
                            yield from self._state(pattern, form, match, referent, head.start())

    def _read_clauses(self, patterns: Sequence[Pattern]) -> Iterator[Statement]:
        self.last_subject, ends = self._find_dropped() or self._find_introduced(), set[int]()
        if self.grammar.keeps_subject and not self._goes_on_in_line():
            self.current = self.last_subject
        for start, is_joined in clauses.find_starts(self.grammar, self.text):
            heads = self._find_heads(start)
            if "subject" in heads and heads["subject"][1] in ends:
                continue  # in apposition to the subject before: "our son Callum, Isla's father, works …"
            ends |= {heads["subject"][1]} if "subject" in heads else set()
            was_lost = self.is_lost
            spoken_of = self.last_subject
            self._follow(heads, start)
            self.was_past = (
                self.was_past and "subject" not in heads and not self.grammar.present.match(self.text, start)
            )
            if "subject" in heads:
                self.last_subject = heads["subject"][0]
                self.scope = frames.find_scope(self.grammar, self.text, start)
            current = self.current if self.grammar.keeps_subject else self.last_subject
            is_joined = is_joined or (current is not None and clauses.is_first(self.grammar, self.text, start))
            goes_on = current if is_joined and "subject" not in heads and self._continues(current, start) else None
            if "subject" in heads and self._may_be_noun(heads["subject"][0]):
                current = spoken_of
            elif "subject" in heads:
                current = None
            if current and self.grammar.elided.search(self.text, 0, start):
                heads["elided"] = current, start
            for pattern in patterns:
                for form in pattern.forms:
                    found = heads.get(form.head)
                    match = self._match(form, pattern, *found) if found else None
                    if match is None and form.head in ("subject", "unsaid"):
                        referent = (goes_on if pattern.joins else None) or self._find_unsaid(pattern, heads, start)
                        found = (referent, self._space_before(start)) if referent else None
                        match = self._match(form, pattern, *found) if found else None
                    if found and match and not self._is_blocked(pattern, start, match.end()):
                        if self.grammar.keeps_subject:
                            self.current = self.current or found[0]
                        if form.head in ("subject", "unsaid"):
                            self.last_subject = found[0]
                        yield from self._state(pattern, form, match, found[0], start)
            self.was_past = self.was_past or frames.is_past(
                self.grammar, self.text, start, clauses.find_clause_end(self.text, start)
            )
            if not was_lost:
                self._introduce(start, goes_on, *heads.get("subject", (None, start)))

    def _find_heads(self, start: int) -> dict[str, tuple[Referent, int]]:
        """Return who is the subject or owner where a clause begins, and where the words for it end."""
        found = {"": (self._speaker(), start)}
        for name in ("subject", "owner"):
            match = self.grammar.heads[name].match(self.text, start)
            referent = None if match is None else self._identify(match)
            if match is not None and referent is not None:
                found[name] = referent, match.end()
            elif name == "subject" and self.grammar.is_unspaced and (end := self.names.find_at(self.text, start)):
                found[name] = self._find_named(self.text[start:end], end), end
        return found

    def _follow(self, heads: Mapping[str, tuple[Referent, int]], start: int) -> None:
        """Keep the subject of a clause for the clauses after it."""
        if "subject" in heads:
            self.current, self.is_lost = heads["subject"][0], False
        elif self.grammar.keeps_subject and self.grammar.heads["subject"].match(self.text, start) is not None:
            self.current, self.is_lost = None, True
        elif self._is_about_other(start):
            asked = self._find_asked()
            self.current, self.is_lost = (None, False) if asked and asked.is_speaker else (asked, asked is None)

    def _may_be_noun(self, subject: Referent) -> bool:
        """Return whether what seems to be a name may be another noun: "44, Tischler aus Kiel"."""
        is_name = subject.relation is None and not subject.is_speaker
        return self.grammar.has_capital_nouns and is_name and not self.names.is_known(subject.name)

    def _find_named(self, name: str, end: int) -> Referent:
        """Return the one of a name."""
        if name in self.names.speakers:
            return Referent(name, is_speaker=name == self.line.speaker, end=end)
        known = self.names.spelling.get(name.lower(), name)
        return Referent(known, self.names.genders.get(known, ""), self.names.find_owner(known), end=end)

    def _introduce(self, start: int, current: Referent | None, subject: Referent | None, at: int) -> None:
        """Make what a clause introduces the subject of the clauses after it: "we adopted a dog, called …"."""
        match = self.grammar.heads["introduced"].match(self.text, at)
        if match is not None and match.groupdict().get("name") and subject is not None and subject.is_speaker:
            return
        if match is None:
            return
        if called := match.groupdict().get("called"):  # "I met someone, he's called Jonas"
            if not (current or subject):
                self.current = self.last_subject = self._find_named(called, match.end())
            return
        if match["relation"] is None:
            self.current = self._identify(match) if match["name"] else None
            self.is_lost = self.current is None
            return
        owner = subject or current or (self._speaker() if clauses.is_first(self.grammar, self.text, start) else None)
        attribute = self.grammar.relations[match["relation"].lower()].attribute
        if owner is not None and not (owner is current and current.relation and current.relation[1] == attribute):
            self.current, self.is_lost = self._identify_relative(match, match.groupdict(), owner), False

    def _match(self, form: Form, pattern: Pattern, referent: Referent, at: int) -> re.Match[str] | None:
        if not referent.fits(pattern.about):
            return None
        past = None if pattern.ends or not form.head else self.grammar.past.match(self.text, at)
        return form.regex.match(self.text, at if past is None else past.end())

    def _may_begin(self, pattern: Pattern, heads: Mapping[str, tuple[Referent, int]], start: int) -> bool:
        """Return whether a clause may have no subject, so that it is about the speaker: "Sold the car"."""
        if pattern.bare == "verb":
            return True
        if self.is_lost or ("subject" in heads and self.names.is_known(heads["subject"][0].name)):
            return False
        if self.grammar.keeps_subject and self.current is None and self._goes_on_in_line():
            return False
        if self.grammar.keeps_subject and self.current is not None and not self.current.is_speaker:
            return False
        if self.current is None and self.grammar.about_other.search(self.text, 0, start):
            return False
        return pattern.bare == "clause" or (
            pattern.bare in ("sentence", "fragment") and clauses.is_first(self.grammar, self.text, start)
        )

    def _find_unsaid(self, pattern: Pattern, heads: Mapping[str, tuple[Referent, int]], start: int) -> Referent | None:
        """Return the subject of a clause without one, if it may have none: "Sold the car", "Nurse at King's"."""
        if pattern.answers is not None and self.grammar.keeps_subject:
            return self._find_answering(start)
        if not self._may_begin(pattern, heads, start):
            return None
        return self._find_spoken_of() if pattern.bare == "fragment" else self._speaker()

    def _find_spoken_of(self) -> Referent | None:
        """Return the one that a sentence without a subject is about: that of the sentence before in the line."""
        if not self._goes_on_in_line():
            return self._speaker()
        before = self.before[-1]
        return before.last_subject or (None if before.find_referents() else self._speaker())

    def _find_introduced(self) -> Referent | None:
        """Return the one that a sentence without a verb introduces: "27, from Leeds"."""
        return self._find_spoken_of() if self.grammar.introduction.match(self.text) else None

    def _find_answering(self, start: int) -> Referent | None:
        """Return the one that the answer to a question is about, if it begins there."""
        if not clauses.is_first(self.grammar, self.text, start) or self._goes_on_in_line():
            return None
        return self._find_asked() if self._is_about_other(start) else self._speaker()

    def _find_dropped(self) -> Referent | None:
        """Return the one that a sentence is about that begins with a verb about another: "Works at Bosch." """
        if self.grammar.dropped.match(self.text) is None:
            return None
        for each in reversed(self.before):
            subject = each.last_subject
            if each.line.session != self.line.session or self.line.seq - each.line.seq > MAX_FOCUS_LINES:
                break
            if subject and not subject.is_speaker and (subject.relation or self.names.is_known(subject.name)):
                return replace(subject, name=self.names.aliases.get(subject.name, subject.name))
            if each.find_referents():
                break
        found = {each.name: each for each in self._find_focus()}
        return next(iter(found.values())) if len(found) == 1 else None

    def _goes_on_in_line(self) -> bool:
        """Return whether the line has a sentence before this one."""
        return bool(self.before) and self.before[-1].line.seq == self.line.seq

    def _question(self) -> str:
        """Return what the line answers, if the one before it asks something; else an empty text."""
        last = next((each for each in reversed(self.before) if each.line.seq != self.line.seq), None)
        if last is None or last.line.session != self.line.session:
            return ""
        return last.text if is_question(last.text) or self.grammar.asks.search(last.text) else ""

    def _find_asked(self) -> Referent | None:
        """Return the only one that the question which the line answers is about: "What does your brother do?"."""
        topic = self._find_topic()
        asked: list[Referent | None] = []
        question = self._question()
        for match in self.grammar.heads["asked"].finditer(question or self.before[-1].text):
            if pronoun := match["pronoun"]:
                gender = self.grammar.pronouns[pronoun]
                is_topic = topic is not None and not topic.is_speaker and topic.gender in (gender, "")
                asked.append(topic if is_topic else self._find_antecedent(gender, 0))
            elif question:
                asked.append(self._identify_relative(match, match.groupdict(), self._speaker()))
        if not asked:
            return topic
        found = {each.name: each for each in asked if each is not None}
        return next(iter(found.values())) if len(found) == 1 and None not in asked else None

    def _find_topic(self) -> Referent | None:
        """Return what the speaker's last words were about; the speaker if no one was mentioned since."""
        said = next((each for each in reversed(self.before) if each.line.speaker == self.line.speaker), None)
        if said is not None and (
            said.line.session != self.line.session or self.line.seq - said.line.seq > MAX_TOPIC_LINES
        ):
            return None
        if said is not None and said.current is not None:
            return said.current
        return None if (said is not None and said.is_lost) or self._find_focus() else self._speaker()

    def _is_about_other(self, start: int) -> bool:
        """Return whether a clause without a subject answers what isn't about the speaker."""
        if (
            not (self.grammar.keeps_subject and clauses.is_first(self.grammar, self.text, start))
            or self._goes_on_in_line()
        ):
            return False
        question = self._question()
        if question:
            return self.grammar.addressed.search(question) is None
        said = self.before[-1] if self.before else None
        is_near = said is not None and said.line.session == self.line.session and said.line.speaker != self.line.speaker
        return said is not None and is_near and self.grammar.about_other.search(said.text) is not None

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

    # --------------------------------------------------------------- referents

    def _speaker(self) -> Referent:
        return Referent(self.line.speaker, is_speaker=True)

    def _identify(self, match: re.Match[str]) -> Referent | None:
        """Return the one that a match means; None if that isn't certain."""
        groups = match.groupdict()
        if groups.get("speaker"):
            return self._speaker()
        if groups.get("relation"):
            return self._identify_relative(match, groups)
        if pronoun := groups.get("pronoun") or groups.get("pronoun_too"):
            return self._find_antecedent(self.grammar.pronouns[pronoun.lower()], match.start())
        if groups.get("relative"):
            adjacent = self._find_adjacent(match.start())
            return adjacent if adjacent and (adjacent.relation or adjacent.name != adjacent.name.lower()) else None
        if name := groups.get("acquaintance"):  # "our lodger Pim", "my brother's wife Lena"
            known = self.names.spelling.get(name.lower(), name)
            return Referent(known, self.names.genders.get(known, ""), end=match.end())
        if name := groups.get("named"):  # with an article, as nouns have: "der Günther"
            return self._find_named(name, match.end()) if self.names.is_known(name) else None
        if name := groups.get("name"):
            if not (self.grammar.is_unspaced or name[:1].isupper() or self.names.is_known(name)):
                return None
            return self._find_named(name, match.end())
        if groups.get("nobody"):
            return None
        return self._identify_owner(match, groups)

    def _identify_owner(self, match: re.Match[str], groups: Mapping[str, str | None]) -> Referent | None:
        """Return who "my", "Mia's" or "her" means."""
        if pronoun := groups.get("possessor_pronoun"):
            return self._find_antecedent(self.grammar.pronouns[pronoun.lower()], match.start())
        if name := groups.get("possessor_name"):
            if self.grammar.is_unspaced and not self.names.is_known(name):
                return None
            return Referent(self.names.spelling.get(name.lower(), name), end=match.end())
        if self.grammar.keeps_subject and not groups.get("possessor_speaker") and groups.get("relation"):
            return self._find_unsaid_owner()
        if groups.get("relation") and not groups.get("possessor_speaker") and self._goes_on_about_other(groups):
            return None
        return self._speaker()

    def _goes_on_about_other(self, groups: Mapping[str, str | None]) -> bool:
        """Return whether a relative without an owner may be that of another: "My friend Joe is 30. Wife's a nurse." """
        subject = self.before[-1].last_subject if self._goes_on_in_line() else None
        if subject is None or subject.is_speaker or subject.relation is None or "possessor_speaker" not in groups:
            return False
        attribute = self.grammar.relations[" ".join((groups["relation"] or "").lower().split())].attribute
        return not (attribute in KIN and subject.relation[1] in KIN)

    def _find_unsaid_owner(self) -> Referent | None:
        """Return whose relative one is that has no owner: the subject's, or the speaker's if it is no other."""
        current = self.current
        if current is None or current.is_speaker:
            return self._speaker()
        return current if current.relation is None or current.relation[1] in OWNERS else None

    def _identify_in(self, head: re.Match[str], match: re.Match[str]) -> Referent | None:
        """Return the one that a match after a possessor is about: the relative that it names, else the possessor."""
        groups = head.groupdict() | match.groupdict()
        return self._identify_relative(match, groups) if groups.get("relation") else self._identify(head)

    def _identify_relative(
        self, match: re.Match[str], groups: Mapping[str, str | None], owner: Referent | None = None
    ) -> Referent | None:
        owner = owner or self._identify_owner(match, groups)
        if owner is None:
            return None
        relation = self.grammar.relations[" ".join((groups["relation"] or "").lower().split())]
        given = groups.get("relation_name") or groups.get("relation_small")
        name = given or self.names.find_relative(owner.name, relation) or f"{owner.name}{POSSESSIVE}{relation.noun}"
        self.names.genders.setdefault(name, relation.gender)
        return Referent(name, relation.gender, (owner.name, relation.attribute), end=match.end())

    def _find_antecedent(self, gender: Gender, start: int) -> Referent | None:
        """Return the only one that a pronoun can mean, in the sentence up to it or else in the one before."""
        if (adjacent := self._find_adjacent(start)) is not None and adjacent.gender in (gender, ""):
            return adjacent
        here = [referent for referent in self.find_referents() if referent.end <= start]
        found = {
            referent.name: referent
            for referent in (here or self._find_focus(gender))
            if referent.gender in (gender, "") or not gender
        }
        if len(found) != 1:
            return None if here else self._find_last_subject(found)
        referent = next(iter(found.values()))
        if not (referent.is_certain or self.names.is_known(referent.name)):
            return None
        return replace(referent, name=self.names.aliases.get(referent.name, referent.name))

    def _find_last_subject(self, found: Mapping[str, Referent]) -> Referent | None:
        """Return the subject of the sentence before in the line, if it is one of those found."""
        has_strangers = any(not (each.is_certain or self.names.is_known(each.name)) for each in found.values())
        subject = self.before[-1].last_subject if self._goes_on_in_line() and not has_strangers else None
        return found.get(subject.name) if subject is not None else None

    def _find_adjacent(self, start: int) -> Referent | None:
        """Return the one whose mention ends where a relative clause begins."""
        return next((referent for referent in self.find_referents() if 0 <= start - referent.end <= 2), None)

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
        for name, attribute, value in self._values().list_values(pattern, form, match, subject):
            if pattern.of_known and not self.names.holds(name, attribute, value):
                continue
            if pattern.replaces and not self.names.values.get((name, attribute)):
                continue
            has_ended = pattern.ends or is_past or (self.was_past and attribute in STAGES and bool(form.head))
            made = self._make(name, attribute, value, pattern.confidence, ends=has_ended)
            yield replace(made, moment=moment, is_event=is_event)

    def _make(self, subject: str, attribute: str, value: str, confidence: float, *, ends: bool = False) -> Statement:
        made = Statement(subject, attribute, value, (self.line.seq,), self.line.said_at, ends)
        return replace(made, confidence=confidence, is_undated=self.line.is_undated)

    def _values(self) -> ValueReader:
        return ValueReader(self.grammar, self.names, self.line.speaker)

    def _find_moment(self, pattern: Pattern, match: re.Match[str], start: int) -> tuple[str | None, bool]:
        """Return the moment that a clause names, and whether it is that of an event."""
        later = (
            at
            for at, _ in clauses.find_starts(self.grammar, self.text)
            if at >= match.end() and "subject" in self._find_heads(at)
        )
        clause = self.text[: next(later, len(self.text))]
        return read_clause_moment(clause, start, match, pattern, self.grammar, self.line.said_at)
