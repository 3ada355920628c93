"""Identifies who is meant by the words of a sentence: relations, names, pronouns, and omitted subjects. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from everthread.facts import clauses
from everthread.facts.attributes import KIN, POSSESSIVE
from everthread.facts.grammar import Gender, Grammar
from everthread.facts.name_words import is_chinese_word, is_other_name
from everthread.facts.referents import Names, Referent
from everthread.text.address import is_addressed
from everthread.text.english_words import is_common, is_listed_name, is_word
from everthread.text.questions import is_question
from everthread.text.sentences import split_sentences
from everthread.types import Line

MAX_FOCUS_LINES = 2  # after which a pronoun no longer means the one that was mentioned last
MAX_TOPIC_LINES = 4  # after which a question that names no one is no longer about what the speaker said last
MAX_GAP_CHARS = 2  # between a mention and a relative clause about it

# Relatives that people list as those of the same person: "my son is five, daughter is three".
PEERS = (
    frozenset(("son", "daughter", "child", "son-in-law", "daughter-in-law", "grandson", "granddaughter")),
    frozenset(("sister", "brother")),
    frozenset(("mother", "father")),
    frozenset(("grandmother", "grandfather")),
)
# Relations of those whose own relatives need no owner: "my brother lives in Leeds, wife is a nurse".
OWNERS = frozenset(
    (
        *("son", "daughter", "child", "sister", "brother", "stepson", "stepdaughter", "stepsister", "stepbrother"),
        *("cousin", "friend", "colleague", "flatmate", "neighbour"),
    )
)

_WORD = re.compile(r"\w+")

HUMANS = ("human", "titled", "human_called", "human_subject")  # groups of a mention that show a person


@dataclass(slots=True)
class Mentions:
    """The mentions of people and pets in a sentence of a line, which has a space before it."""

    text: str
    line: Line
    grammar: Grammar
    names: Names
    before: Sequence[Mentions]  # of the sentences before it
    referents: list[Referent] | None = None
    current: Referent | None = None  # what a clause without a subject is about
    is_lost: bool = False  # whether such a clause is about one that isn't known
    last_subject: Referent | None = None  # of its last clause that has one
    subject_at: int = 0  # where that clause begins

    def carry_subject(self) -> None:
        """Begin with the subject of the sentence before in the line, in a language that leaves it out."""
        if self.grammar.keeps_subject and self.goes_on_in_line():
            self.current, self.is_lost = self.before[-1].current, self.before[-1].is_lost

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
                yield self.find_named(self.text[at:end], end)
            at = end or at + 1

    def find_focus(self, gender: Gender = "") -> list[Referent]:
        """Return those who were mentioned last and may have this gender, in this line or shortly before it."""
        for each in reversed(self.before):
            if each.line.session != self.line.session or self.line.seq - each.line.seq > MAX_FOCUS_LINES:
                break
            referents = [*each.find_referents(), *self._find_addressed(each), *each._list_current()]
            if fitting := [known for known in referents if self._may_be(known, gender)]:
                named = [known for known in fitting if known.is_named()] or fitting
                return (self.grammar.keeps_subject and [known for known in named if not known.is_pet()]) or named
        return []

    def _list_current(self) -> list[Referent]:
        """Return the relative that the sentence has introduced last, in a language that leaves out subjects."""
        current = self.current if self.grammar.keeps_subject else None
        return [current] if current is not None and current.relation is not None else []

    def _find_addressed(self, said: Mentions, start: int = 0) -> Iterator[Referent]:
        """Yield the speaker's relatives that another one has mentioned from a place on: "your son"."""
        if said.line.speaker != self.line.speaker:
            for match in self.grammar.heads["asked"].finditer(said.text, start):
                if (
                    match["yours"]
                    and match["relation"]
                    and (found := self.identify_relative(match, match.groupdict(), self.speaker()))
                ):
                    yield found

    def _identify_mention(self, match: re.Match[str]) -> Referent | None:
        groups = match.groupdict()
        if human := next(filter(None, map(groups.get, HUMANS)), None):
            found = self.find_named(human, match.end())
            return None if groups.get("human_subject") and not self._may_be_someone(found) else found
        if groups.get("betrothed"):
            owner = groups["betrothed_name"]
            found = self.speaker() if owner is None else self.find_named(owner, match.end())
            return self.identify_relative(match, {"relation": "partner"}, found)
        if stranger := groups.get("other") or groups.get("other_kin"):
            return self._identify_stranger(stranger, match.end())
        name = match["name"]
        if match["relation"] or (name and self.names.is_known(name)):
            return self.identify(match)
        if name and match["name"] and self.grammar.is_unspaced:
            return replace(self.find_named(name, match.end()), is_certain=False)
        is_alone = self.text.strip(" .!") == name  # "Martin. He's a surveyor.", but not "Eggs. He's allergic to eggs."
        is_alone = is_alone and self._may_be_first_name(name)  # nor "Antwerp. He's from Glasgow."
        is_first = match.start() == 1 and not is_alone  # such a word has a capital letter in any case
        opens = is_first and self._opens_sentence(name or "", match.end())
        is_name = name and name[0].isupper() and (opens or not is_first) and not self.grammar.has_capital_nouns
        if not name or not is_name:
            return None
        return Referent(name, is_certain=is_alone or opens, end=match.end())

    def _identify_stranger(self, words: str, end: int) -> Referent:
        """Return one that only a noun mentions: "a new girlfriend", "my colleague's daughter"."""
        noun = words.lower().rpartition(" ")[2]
        relation = self.grammar.relations.get(noun)
        return Referent(words.lower(), relation.gender if relation else "", is_certain=False, end=end)

    def _opens_sentence(self, name: str, end: int) -> bool:
        """Return whether the first word of a sentence is a first name, and its subject: "Tyler broke his arm." """
        return self._is_first_name(name) and self.grammar.follows_subject.match(self.text, end) is not None

    def _may_be_first_name(self, name: str) -> bool:
        """Return whether a name is a first name, or a word in no list: places are listed."""
        return self._is_first_name(name) or not (is_word(name.lower()) or is_listed_name(name.lower()))

    def _may_be_someone(self, referent: Referent) -> bool:
        """Return whether a pronoun may mean one that a name mentions: not "GCSEs" or "Yorkshires"."""
        if self.grammar.word_employer is None:  # there is no list of words
            return True
        known = referent.relation is not None or self.names.is_known(referent.name)
        if known or self._is_first_name(referent.name):
            return True
        return not is_other_name(referent.name)

    def _is_first_name(self, name: str) -> bool:
        return name.lower().partition(" ")[0] in self.grammar.first_names

    def find_named(self, name: str, end: int) -> Referent:
        """Return the one of a name."""
        if name in self.names.speakers:
            return Referent(name, is_speaker=name == self.line.speaker, end=end)
        known = self.names.spelling.get(name.lower(), name)
        return Referent(known, self.names.find_gender(known), self.names.find_owner(known), end=end)

    def speaker(self) -> Referent:
        """Return who says it."""
        return Referent(self.line.speaker, is_speaker=True)

    def identify(self, match: re.Match[str]) -> Referent | None:
        """Return the one that a match means; None if that isn't certain."""
        groups = match.groupdict()
        if groups.get("speaker"):
            return self.speaker()
        if groups.get("relation"):
            return self.identify_relative(match, groups)
        if pronoun := groups.get("pronoun") or groups.get("pronoun_too"):
            return self._find_antecedent(self.grammar.pronouns[pronoun.lower()], match.start())
        if groups.get("relative"):
            adjacent = self._find_adjacent(match.start())
            return adjacent if adjacent and adjacent.is_proper() else None
        if name := groups.get("acquaintance"):  # "our lodger Pim", "my brother's wife Lena"
            known = self.names.acquaint(name)
            return Referent(known, self.names.find_gender(known), end=match.end())
        if name := groups.get("named"):  # with an article, as nouns have: "der Günther"
            return self.find_named(name, match.end()) if self.names.is_known(name) else None
        if name := groups.get("name"):
            if not (self.grammar.is_unspaced or name[:1].isupper() or self.names.is_known(name)):
                return None
            return self.find_named(name, match.end())
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
            return self._find_unsaid_owner(groups["relation"] or "")
        if groups.get("relation") and not groups.get("possessor_speaker") and self._goes_on_about_other(groups):
            return None
        return self.speaker()

    def _goes_on_about_other(self, groups: Mapping[str, str | None]) -> bool:
        """Return whether a relative without an owner may be that of another: "My friend Joe is 30. Wife's a nurse." """
        subject = self.before[-1].last_subject if self.goes_on_in_line() else None
        if subject is None or subject.is_speaker or subject.relation is None or "possessor_speaker" not in groups:
            return False
        attribute = self.grammar.relations[" ".join((groups["relation"] or "").lower().split())].attribute
        return not (attribute in KIN and subject.relation[1] in KIN)

    def _find_unsaid_owner(self, relation: str) -> Referent | None:
        """Return whose relative one is that has no owner: the subject's, or the speaker's if it is no other."""
        if self.grammar.is_unspaced and self.line.role != "user":
            return self._find_addressed_owner(relation)
        current = self.current
        if current is None or current.is_speaker:
            return self.speaker()
        owner, attribute = current.relation or ("", "")
        if owner == self.line.speaker and _are_peers(attribute, self.grammar.relations[relation.lower()].attribute):
            return self.speaker()  # the subject is that relative, or "my son is five, daughter is three"
        return current if current.relation is None or current.relation[1] in OWNERS else None

    def _find_addressed_owner(self, relation: str) -> Referent | None:
        """Return whose relative a chatbot means by "mum worries about you": the person's, who has mentioned her."""
        said = next((each for each in reversed(self.before) if each.line.role == "user"), None)
        if said is None:
            return None
        meant = said.line.speaker, self.grammar.relations[relation.lower()].attribute
        is_mentioned = any(each.relation == meant for known in self.before for each in known.find_referents())
        return Referent(said.line.speaker) if is_mentioned else None

    def identify_in(self, head: re.Match[str], match: re.Match[str]) -> Referent | None:
        """Return the one that a match after a possessor is about: the relative that it names, else the possessor."""
        groups = head.groupdict() | match.groupdict()
        return self.identify_relative(match, groups) if groups.get("relation") else self.identify(head)

    def identify_relative(
        self, match: re.Match[str], groups: Mapping[str, str | None], owner: Referent | None = None
    ) -> Referent | None:
        """Return the relative that the groups of a match name; None if it isn't certain whose it is."""
        owner = owner or self._identify_owner(match, groups)
        if owner is None:
            return None
        relation = self.grammar.relations[" ".join((groups["relation"] or "").lower().split())]
        given = groups.get("relation_name") or groups.get("relation_small")
        if given and self.grammar.is_unspaced and is_chinese_word(given):
            given = None
        name = given or self.names.find_relative(owner.name, relation) or f"{owner.name}{POSSESSIVE}{relation.noun}"
        self.names.learn_gender(name, relation.gender)
        return Referent(name, relation.gender, (owner.name, relation.attribute), end=match.end())

    def _find_antecedent(self, gender: Gender, start: int) -> Referent | None:
        """Return the only one that a pronoun can mean, in the sentence up to it or else in those before."""
        found = self._find_adjacent(start)
        if found is None or not found.is_proper() or not self._may_be(found, gender) or not self._may_be_someone(found):
            found = self._find_meant(gender, start)
            if found is None or not (self._is_certain(found) or self._is_only(found, gender)):
                return None
            if self._follows_stranger(found, gender, start):
                return None
        name = self.names.aliases.get(found.name, found.name)
        if gender and not found.gender:
            self.names.genders[name.lower()] = gender
        self.names.acquaint(name)
        return replace(found, name=name)

    def _follows_stranger(self, found: Referent, gender: Gender, start: int) -> bool:
        """Return whether a pronoun may mean someone unknown that the sentence has mentioned since: "a girl"."""
        strangers = [
            match.end()
            for match in self.grammar.stranger.finditer(self.text, 0, start)
            if any(self._may_be(Referent("", sex), gender) for sex in ("f", "m") if match[sex]) or match["child"]
        ]
        named = [each.end for each in self.find_referents() if each.name == found.name and each.end <= start]
        return bool(strangers) and strangers[-1] > max(named, default=0)

    def _is_certain(self, referent: Referent) -> bool:
        return referent.is_certain or self.names.is_known(referent.name)

    def _is_only(self, stranger: Referent, gender: Gender) -> bool:
        """Return whether a name in the sentence is the only one that a pronoun can mean, with none known before it."""
        if not stranger.is_proper() or not self._may_be_someone(stranger):
            return False
        if not any(each is stranger for each in self.find_referents()):
            return False
        before = [each for said in self.before if said.line is self.line for each in said.find_referents()]
        return not any(self._is_certain(each) and self._may_be(each, gender) for each in before)

    def _find_meant(self, gender: Gender, start: int) -> Referent | None:
        if (centre := self._find_centre(gender, start)) is not None:
            return centre
        if here := self._list_candidates(gender, 0, start):
            return _find_only(here)
        if self.grammar.keeps_subject and (self._names_relation(gender, start) or self._asks_about_stranger()):
            return None
        for before in reversed(self.before):
            if before.line is not self.line:
                break
            end = len(before.text)
            if (centre := before._find_centre(gender, end)) is not None:
                return centre
            if before._list_candidates(gender, 0, end):
                break
        return _find_only(self.find_focus(gender))

    def _names_relation(self, gender: Gender, end: int) -> bool:
        """Return whether the sentence has, before a place, a word for a relative that a pronoun may mean."""
        words = (match for match in self.grammar.heads["asked"].finditer(self.text, 0, end) if match["relation"])
        called = (each for each in words if each.start() > 1 or self.text[each.end()] not in ",，")  # "dad, he's 30"
        return any(self.grammar.relations[each["relation"].lower()].gender in (gender, "") for each in called)

    def _asks_about_stranger(self) -> bool:
        """Return whether the question that the line answers is about one without a known relation: "the in-laws"."""
        asked = self.grammar.heads["asked"].finditer(self.find_question())
        return any(match["relation"] is None and match["pronoun"] is None for match in asked)

    def _find_centre(self, gender: Gender, start: int) -> Referent | None:
        """Return the subject of the last clause before a place, unless the sentence has mentioned another since."""
        centre = self.last_subject
        if centre is None or centre.is_speaker or not self._may_be(centre, gender) or not self._is_someone(centre):
            return None
        since = self._list_candidates(gender, self.subject_at, start)
        others = [*since, *self._list_joined(gender)]
        if any(each.name != centre.name for each in others) or self._is_unlikely(centre, gender):
            return None
        return centre

    def _list_joined(self, gender: Gender) -> Iterator[Referent]:
        """Yield those who share a clause with its subject: "my son and my nephew came"."""
        for each in self._list_candidates(gender, 0, self.subject_at):
            between = self.grammar.separators.match(self.text, each.end)
            if between is not None and between.end() == self.subject_at:
                yield each

    def _is_unlikely(self, referent: Referent, gender: Gender) -> bool:
        """Return whether a pronoun hardly means one of unknown gender, as the line has mentioned another before."""
        if not gender or self._find_gender(referent):
            return False
        earlier = [each for said in self.before if said.line is self.line for each in said.find_referents()]
        return any(self._find_gender(each) == gender and each.name != referent.name for each in earlier)

    def _find_gender(self, referent: Referent) -> Gender:
        return referent.gender or self.names.find_gender(referent.name)

    def _list_candidates(self, gender: Gender, start: int, end: int) -> list[Referent]:
        """Return those mentioned in a part of the sentence that a pronoun may mean; no "somebody" if it has others."""
        found = [each for each in self.find_referents() if start < each.end <= end and self._may_be(each, gender)]
        return [each for each in found if each.is_named()] or found

    def _may_be(self, referent: Referent, gender: Gender) -> bool:
        """Return whether a pronoun of a gender may mean someone, by the pronouns for the one before."""
        return not gender or self._find_gender(referent) in (gender, "")

    def _is_someone(self, subject: Referent) -> bool:
        """Return whether a subject is known, or a name of which the sentence says what only people do."""
        if subject.relation is not None or self.names.is_known(subject.name):
            return True
        return self.grammar.acting.match(self.text, subject.end) is not None

    def _find_adjacent(self, start: int) -> Referent | None:
        """Return the one whose mention, with what is attached to it, ends where a relative clause begins."""
        before = [each for each in self.find_referents() if each.end <= start]
        return before[-1] if before and self._is_adjacent(before[-1].end, start) else None

    def _is_adjacent(self, end: int, start: int) -> bool:
        return start - end <= MAX_GAP_CHARS or self.grammar.attached.fullmatch(self.text, end, start) is not None

    # -------------------------------------------------- subjects that are left out

    def find_spoken_of(self) -> Referent | None:
        """Return the one that a sentence without a subject is about: that of the last sentence of the line with one.

        At the beginning of a line, it is the one that the question before the line is about.
        """
        for before in reversed(self.before):
            if before.line is not self.line:
                break
            if _is_common(before.text.strip(" .!")):
                continue  # "Nights." is no one
            if (subject := before.last_subject) is not None:
                is_someone = before._is_someone(subject) and not self._may_mean_other(subject, before)
                return subject if subject.is_speaker or is_someone else None
            if before.find_referents():
                return None
        return self._find_asked_about()

    def _may_mean_other(self, subject: Referent, said: Mentions) -> bool:
        """Return whether the sentence of a subject has a pronoun that may mean another one in the line.

        So it may be the cat that is fifteen: "We lost Pickle today. Jonas held her paw. Fifteen years old."
        """
        if not self.grammar.pronouns.keys() & set(_WORD.findall(said.text.lower())):
            return False
        earlier = [each for each in self.before if each.line is self.line and each is not said]
        return any(known.name != subject.name for each in earlier for known in each.find_referents())

    def _find_asked_about(self) -> Referent | None:
        """Return the one that the question before the line is about; the speaker if it names no other."""
        if self.answers_for_another():
            return None
        if not self.find_question() or self.grammar.keeps_subject:
            return self.speaker()
        line = next(each for each in reversed(self.before) if each.line is not self.line)
        start = len(line.text) - len(split_sentences(line.text)[-1])
        asked = list(self.grammar.heads["asked"].finditer(line.text, start))
        genders = {self.grammar.pronouns[match["pronoun"].lower()] for match in asked if match["pronoun"]}
        named = [each for each in line.find_referents() if each.end > start] + list(self._find_addressed(line, start))
        if len(genders) == 1 and not named:
            named = self.find_focus(next(iter(genders)))
        if not (named or genders):
            return self.speaker()
        one = _find_only(named)
        return one if one is not None and self._is_certain(one) else None

    def find_introduced(self) -> Referent | None:
        """Return the one that a sentence without a verb introduces: "27, from Leeds"."""
        return self.find_spoken_of() if self.grammar.introduction.match(self.text) else None

    def find_answering(self, start: int) -> Referent | None:
        """Return the one that the answer to a question is about, if it begins there."""
        if not clauses.is_first(self.grammar, self.text, start) or self.goes_on_in_line():
            return None
        if self.answers_for_another():
            return None
        return self.find_asked() if self.is_about_other(start) else self.speaker()

    def find_dropped(self) -> Referent | None:
        """Return the one that a sentence is about that begins with a verb about another: "Works at Bosch." """
        if self.grammar.dropped.match(self.text, self.find_start()) is None:
            return None
        for each in reversed(self.before):
            subject = each.last_subject
            if each.line.session != self.line.session or self.line.seq - each.line.seq > MAX_FOCUS_LINES:
                break
            if subject and not subject.is_speaker and (subject.relation or self.names.is_known(subject.name)):
                return replace(subject, name=self.names.aliases.get(subject.name, subject.name))
            if each.line is self.line and subject is None and " " in each.text.strip():
                return None  # "Stuart's eldest. Studies marine biology."
            if each.find_referents():
                break
        found = {each.name: each for each in self.find_focus()}
        return next(iter(found.values())) if len(found) == 1 else None

    def find_start(self) -> int:
        """Return where the words of the sentence begin."""
        return len(self.text) - len(self.text.lstrip())

    def goes_on_in_line(self) -> bool:
        """Return whether the line has a sentence before this one."""
        return bool(self.before) and self.before[-1].line.seq == self.line.seq

    def find_question(self) -> str:
        """Return what the line answers, if the one before it asks something; else an empty text."""
        last = self._find_line_before()
        if last is None or last.line.session != self.line.session:
            return ""
        return last.text if is_question(last.text) or self.grammar.asks.search(last.text) else ""

    def find_own_question(self) -> str:
        """Return what the line answers, if another person asks its speaker; else an empty text."""
        last = self._find_line_before()
        if last is None or (last.line.role, last.line.speaker) == (self.line.role, self.line.speaker):
            return ""
        return "" if self.answers_for_another() else self.find_question()

    def answers_for_another(self) -> bool:
        """Return whether the line before asks another person of a group something: "@Anna what's your job?".

        A bot that names no one asks the person who spoke before.
        """
        last = self._find_line_before()
        if last is None or not self.find_question():
            return False
        others = self.names.speakers - {self.line.speaker, last.line.speaker}
        is_own = is_addressed(last.line.text, self.line.speaker, others)
        if is_own is None and last.line.role != "user":
            people = (each.line for each in reversed(self.before) if each.line.role == "user")
            person = next((line for line in people if line.seq < last.line.seq), self.line)
            is_own = person.session != self.line.session or person.speaker == self.line.speaker
        return is_own is False

    def _find_line_before(self) -> Mentions | None:
        """Return the last sentence of the line before."""
        return next((each for each in reversed(self.before) if each.line.seq != self.line.seq), None)

    def find_asked(self) -> Referent | None:
        """Return the only one that the question which the line answers is about: "What does your brother do?"."""
        topic = self._find_topic()
        asked: list[Referent | None] = []
        question = self.find_question()
        for match in self.grammar.heads["asked"].finditer(question or self.before[-1].text):
            if pronoun := match["pronoun"]:
                gender = self.grammar.pronouns[pronoun]
                is_topic = topic is not None and not topic.is_speaker and topic.gender in (gender, "")
                asked.append(topic if is_topic else self._find_antecedent(gender, 0))
            elif question and match["relation"] is None:
                asked.append(None)
            elif question:
                one = self.identify_relative(match, match.groupdict(), self.speaker())
                asked.append(one if match["yours"] or self._was_mentioned(one) else None)
        if not asked:
            return topic
        found = {each.name: each for each in asked if each is not None}
        return next(iter(found.values())) if len(found) == 1 and None not in asked else None

    def _was_mentioned(self, referent: Referent | None) -> bool:
        """Return whether the last sentences mention the one, or its name is known: "the brother" may be anyone's."""
        if referent is None:
            return False
        return self.names.is_known(referent.name) or any(
            each.name == referent.name for said in self.before for each in said.find_referents()
        )

    def _find_topic(self) -> Referent | None:
        """Return what the speaker's last words were about; the speaker if no one was mentioned since."""
        said = next((each for each in reversed(self.before) if each.line.speaker == self.line.speaker), None)
        if said is not None and (
            said.line.session != self.line.session or self.line.seq - said.line.seq > MAX_TOPIC_LINES
        ):
            return None
        if said is not None and said.current is not None:
            return said.current
        return None if (said is not None and said.is_lost) or self.find_focus() else self.speaker()

    def may_be_of_other(self) -> bool:
        """Return whether a sentence without a subject may be about another person than the speaker.

        The line has a pronoun for someone that it doesn't mention ("is from Leeds, and he sings"), or goes on about
        what the line before it says.
        """
        if self.grammar.about_other.search(self.line.text) is not None and not self.find_referents():
            return True
        said = next((each for each in reversed(self.before) if each.line is not self.line), None)
        if said is None or said.line.session != self.line.session or said.line.speaker == self.line.speaker:
            return False
        return self.grammar.addressed.search(said.text) is None and self.grammar.of_other.match(self.text) is not None

    def is_about_other(self, start: int) -> bool:
        """Return whether a clause without a subject answers what isn't about the speaker."""
        if (
            not (self.grammar.keeps_subject and clauses.is_first(self.grammar, self.text, start))
            or self.goes_on_in_line()
        ):
            return False
        question = self.find_question()
        if question:
            return self.grammar.addressed.search(question) is None
        said = self.before[-1] if self.before else None
        is_near = said is not None and said.line.session == self.line.session and said.line.speaker != self.line.speaker
        return said is not None and is_near and self.grammar.about_other.search(said.text) is not None


def _are_peers(attribute: str, other: str) -> bool:
    """Return whether two relatives of these attributes are commonly listed as relatives of the same person."""
    return attribute == other or any({attribute, other} <= group for group in PEERS)


def _find_only(referents: Sequence[Referent]) -> Referent | None:
    """Return the one entity that all of these mentions mean; None if they mean several."""
    found = {each.name: each for each in referents}
    return next(iter(found.values())) if len(found) == 1 else None


def _is_common(word: str) -> bool:
    """Return whether a word is one of the commonest English ones, or the plural of one: "nights"."""
    return is_common(word.lower()) or is_common(word.lower().removesuffix("s"))
