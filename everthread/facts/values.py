"""Lists the values that a match of a pattern gives to its subject and to those it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from everthread.facts.attributes import ATTRIBUTES, ENDABLE, FAVOURITE, POSSESSIVE
from everthread.facts.grammar import Form, Grammar, Pattern
from everthread.facts.name_words import is_chinese_word, is_name_only
from everthread.facts.referents import Names, Referent
from everthread.text.analyzer import fold
from everthread.text.english_words import is_common, is_listed_name, is_word

_POSSESSIVE_END = re.compile("['’]s$")

# Attributes of people, not of pets: "he's a German Shepherd" states no occupation.
HUMAN = frozenset(
    ("employer", "industry", "occupation", "school", "field", "status", "language", "religion", "member", "plays")
)

# Attributes whose values are no people: "I work with Tom" states no employer.
IMPERSONAL = frozenset(("employer", "likes", "dislikes"))

# Attributes whose values are no one who is known: "Dad's home" states none, nor does "where I take Rex".
NO_ONE = frozenset(("home", "origin", "takes"))

# After these, any word may be a name, in a language without spaces.
NAMING = ("叫", "叫做", "叫作", "名字", "名", "为", "為")

MAX_SHORT_NAME_CHARS = 4  # of names that are more often names than the rare words that they are too: "tam"


@dataclass(frozen=True, slots=True)
class ValueReader:
    """Lists subjects, attributes and values.

    Attributes:
        grammar: the grammar of the language.
        names: the names that were stated so far. It learns those that are found.
        speaker: who says it.
        earlier: the line up to what states the values, for "it" and "there".
        question: what the line answers, which may name the kind of a favourite.
    """

    grammar: Grammar
    names: Names
    speaker: str
    earlier: str = ""
    question: str = ""

    def list_values(
        self, pattern: Pattern, form: Form, match: re.Match[str], subject: Referent
    ) -> Iterator[tuple[str, str, str]]:
        """Yield subjects, attributes and values."""
        groups = match.groupdict()
        if pattern.answers is not None and (asked := pattern.answers.search(self.question)):
            groups = asked.groupdict() | groups
        if pattern.attribute:
            yield subject.name, pattern.attribute, pattern.value
        if pattern.is_gone and subject.relation is not None:
            owner, attribute = subject.relation
            value = subject.name.removeprefix(f"{owner}{POSSESSIVE}")
            if attribute == "pet" or (attribute == "partner" and value == subject.name):
                yield owner, attribute, value
        if names := groups.get("names") or groups.get("names_too"):
            if groups.get("names") is None or _is_called(match) or self._may_name(groups["kin"] or "", names):
                yield from self.list_relatives(groups["kin"] or "", names, subject)
            yield from self._list_ages(names, groups.get("ages") or "")
        if aged := groups.get("aged"):
            yield from self._list_aged(groups["kin"] or "", aged, subject)
        if (role := groups.get("role")) and not subject.is_speaker and subject.relation is None:
            attribute = self.grammar.relations[" ".join(role.lower().split())].attribute
            yield self.speaker, attribute, subject.name
        if known := groups.get("known"):
            yield from self._replace_known(subject.name, known, groups.get("instead"), pattern.among or ENDABLE)
        if groups.get("it"):
            yield from self._find_meant(subject.name, pattern.among or ENDABLE)
        for name, mentioned in (("home_there", self.grammar.mentioned), ("home_here", self.grammar.mentioned_here)):
            places = (
                [each["place"] for each in mentioned.finditer(self.earlier)] if groups.get(name) is not None else []
            )
            yield from ((subject.name, "home", place) for place in places[-1:])
        yield from self._choose_known(subject.name, groups)
        if groups.get("favourite"):
            for value in self._split(groups["favourite"], "favourite" in form.lists):
                yield subject.name, self._favourite(groups["favourite_kind"]), value
        if (listed := groups.get("listed_name")) and is_listed_name(listed.lower()):
            groups["name"] = listed
        if (likely := groups.get("likely_name")) and not self._has_only_words(likely.lower()):
            groups["name"] = likely
        if (first := groups.get("first_name")) and self._is_first_name(first):
            groups["name"] = first
        if groups.get("name") and not subject.is_speaker:
            yield from self.name(subject, groups.pop("name") or "")
        couple = groups.get("couple")
        subjects = [subject.name] if couple is None else list(self._name_couple(subject, couple))
        for attribute in sorted(ATTRIBUTES.intersection(groups)):
            if text := groups[attribute]:
                for value in self._split(text, attribute in form.lists):
                    if attribute == "occupation":
                        value = self.grammar.doers.get(value.lower(), value)
                    if attribute == "status":
                        value = self.grammar.statuses.get(value.lower(), value)
                    if not self._is_unfit(subject, attribute, value):
                        yield from ((name, attribute, pattern.prefix + value) for name in subjects)

    def _may_name(self, kin: str, names: str) -> bool:
        """Return whether words after one for a person may be names: not the "obsession" of "my mother obsession"."""
        is_pet = self.grammar.relations[" ".join(kin.lower().split())].attribute == "pet"
        if self.grammar.is_unspaced:
            return not is_chinese_word(names)
        return is_pet or not self._has_only_words(names)

    def _is_first_name(self, word: str) -> bool:
        """Return whether a word is a first name. In small letters, it must be no other word: "frank"."""
        key, first_names, word_names = word.lower(), self.grammar.first_names, self.grammar.word_names
        return key in first_names - word_names if word == key else key in first_names | word_names

    def _has_only_words(self, text: str) -> bool:
        """Return whether a text in small letters consists of words that are no first names."""
        if text != text.lower() or self.grammar.word_employer is None:
            return False
        return all(map(self._is_word_only, text.split()))

    def _is_word_only(self, word: str) -> bool:
        if word in self.grammar.word_names or word in self.grammar.first_names:
            return False
        return is_common(word) or (len(word) > MAX_SHORT_NAME_CHARS and is_word(word))

    def _is_unfit(self, subject: Referent, attribute: str, value: str) -> bool:
        """Return whether a value can't be one of the subject, such as its own name, or the work of a pet."""
        if attribute == "name":
            return value.lower() in subject.name.lower()
        if attribute in NO_ONE and self._is_someone(value):
            return True
        if attribute in IMPERSONAL and self._is_person(value):
            known = self.grammar.word_employer
            return attribute != "employer" or known is None or known.fullmatch(value) is None
        return attribute in HUMAN and (subject.fits("pets") or (attribute == "employer" and self._has_no_name(value)))

    def _is_someone(self, value: str) -> bool:
        """Return whether a value is a word for a relative, a pronoun, or the name of a relative, a friend or a pet."""
        key = value.lower()
        is_word = key in self.grammar.relations or key in self.grammar.pronouns
        return is_word or self.names.find_owner(value) is not None

    def _is_person(self, value: str) -> bool:
        """Return whether a value is a first name, or what belongs to someone: "Tom", "Tom's car"."""
        word, _, rest = value.partition(" ")
        name = _POSSESSIVE_END.sub("", word)
        if rest and name == word:
            return False
        is_name = name[:1].isupper() or is_name_only(name)
        return is_name and name.lower() in self.grammar.first_names

    def _has_no_name(self, employer: str) -> bool:
        """Return whether an employer in small letters has only words that name none: "work with idiots"."""
        known = self.grammar.word_employer
        if known is None or employer != employer.lower() or known.fullmatch(employer):
            return False
        return all(map(is_word, employer.split()))

    def _favourite(self, kind: str) -> str:
        """Return the attribute for what is a favourite of its kind."""
        return FAVOURITE + self.grammar.favourites.get(kind.lower(), kind.lower())

    def name(self, referent: Referent, name: str) -> Iterator[tuple[str, str, str]]:
        """Yield the statements that give a name to someone known by a relation so far."""
        owner, attribute = referent.relation or ("", "")
        noun = referent.name.removeprefix(f"{owner}{POSSESSIVE}")
        if noun == referent.name:
            return
        self.names.aliases[referent.name] = self.names.as_written(name)
        self.names.learn_gender(name, referent.gender)
        yield owner, attribute, name
        if attribute == "pet":
            yield name, self.grammar.relations[noun.lower()].described_by, noun

    def list_relatives(self, kin: str, names: str, owner: Referent) -> Iterator[tuple[str, str, str]]:
        """Yield relatives by name, and of pets their kind or breed."""
        relation = self.grammar.relations[" ".join(kin.lower().split())]
        for name in self._split(names, True):
            is_pet = (self.names.find_owner(name) or ("", ""))[1] == "pet"  # "Rex is my best friend"
            if name.lower() != self.speaker.lower() and not (is_pet and relation.attribute == "friend"):
                self.names.learn_gender(name, relation.gender)
                yield owner.name, relation.attribute, name
                if relation.attribute == "pet":
                    yield name, relation.described_by, relation.noun

    def _name_couple(self, owner: Referent, couple: str) -> Iterator[str]:
        """Yield both relatives that one word means: "my parents"."""
        for word in self.grammar.couples[" ".join(couple.lower().split())]:
            relation = self.grammar.relations[word]
            yield self.names.find_relative(owner.name, relation) or f"{owner.name}{POSSESSIVE}{relation.noun}"

    def _list_aged(self, kin: str, aged: str, owner: Referent) -> Iterator[tuple[str, str, str]]:
        """Yield relatives with their ages: "Tom, 5, and Ella, 3"."""
        for match in self.grammar.aged.finditer(aged):
            yield from self.list_relatives(kin, match["name"], owner)
            if age := match["age"]:
                yield match["name"], "age", age

    def _replace_known(
        self, subject: str, known: str, instead: str | None, among: Iterable[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield the attributes of which the subject is known to have a value, each with it or with the one instead."""
        for attribute in sorted(among):
            if self.names.holds(subject, attribute, known):
                yield subject, attribute, instead or known

    def _find_meant(self, subject: str, among: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield the known value of the subject that the line mentioned last: "the van died so I scrapped it"."""
        earlier = fold(self.earlier)
        mentioned = [
            (match.end(), attribute, value)
            for attribute in among
            for value in self.names.values.get((subject, attribute), ())
            if (noun := value.rpartition(" ")[2]) in earlier
            for match in re.finditer(rf"\b(?:{re.escape(value)}|{re.escape(noun)})\b", earlier)
            if self.grammar.oblique.search(earlier[: match.start()]) is None
        ]
        end, attribute, value = max(mentioned, default=(0, "", ""))
        if end and self.grammar.between.search(earlier, end) is None:
            yield subject, attribute, value

    def _choose_known(self, subject: str, groups: Mapping[str, str | None]) -> Iterator[tuple[str, str, str]]:
        """Yield a new value of the only attribute that has one, of those in a group such as `employer_or_school`."""
        for name, value in groups.items():
            if value and "_or_" in name:
                known = [each for each in name.split("_or_") if self.names.values.get((subject, each))]
                if len(known) == 1:
                    yield subject, known[0], value

    def _list_ages(self, names: str, ages: str) -> Iterator[tuple[str, str, str]]:
        """Yield the ages that stand in the order of the names: "Theo and Max, 6 and 3"."""
        named, aged = list(self._split(names, True)), list(self._split(ages, True))
        if len(named) == len(aged):
            yield from ((name, "age", age) for name, age in zip(named, aged, strict=True))

    def _split(self, text: str, is_list: bool) -> Iterator[str]:
        """Yield the values in the words of a slot, without articles."""
        for part in self.grammar.separators.split(text) if is_list else (text,):
            value = self.grammar.leading.sub("", part.strip(), count=1).strip(" ,;:.-–，。、；：")
            if value and not self.grammar.never.fullmatch(value):
                yield value


def _is_called(match: re.Match[str]) -> bool:
    """Return whether the names of a match follow a word after which any word may be a name: "叫"."""
    return "names" in match.re.groupindex and match.string[: match.start("names")].endswith(NAMING)
