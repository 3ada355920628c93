"""Loads what the rules know of a language: `patterns/LANGUAGE.toml`, whose templates become regular expressions.

The readers of lines (`rules`) and of sentences (`sentence_reader`) know no language. In a template

- `{name}` is the macro of that name: a regular expression, or a list of them of which any one matches;
- `{attribute:name}` is a slot: what the macro matches is a value of the attribute;
- `{attribute:name*}` is a slot for several values, with the macro `separator` between them and `last_separator`
  before the last; with `+`, any of the two may be before each;
- a space is any white space, `'` an apostrophe that people leave out, and `’` one that they don't.

All else is a regular expression, case-insensitive, whose repetitions must be bounded. `word_orders` writes forms from
the clauses of a pattern.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from everthread.common.once import once
from everthread.facts.character_variants import add_variants
from everthread.facts.required_words import Choice, find_required_words
from everthread.facts.templates import NEVER, SLOT, Template, Templates, relax
from everthread.facts.word_orders import derive_orders
from everthread.text.word_lists import alternation

FOLDER = Path(__file__).parent / "patterns"
CUE_LETTERS = 3  # by which cues are looked up; there are 1,600 in English, of which a line has about twenty
HEADS = ("subject", "owner", "possessor")
CLAUSES = (
    "starts",
    "openers",
    "joined_speaker",
    "joined_other",
    "joined_block",
    "lowercase",
    "asking",
    "telling",
    "asks",
    "asks_name",
    "named",
    "named_several",
    "nameless",
    "past",
    "present",
    "passing",
    "happened",
    "going_on",
    "dropped",
    "acting",
    "follows_subject",
    "attached",
    "introduction",
    "subjectless",
    "led_in",
    "elided",
    "boundary",
    "about_other",
    "of_other",
    "stranger",
    "aged",
    "contracted",
    "small_word",
    "no_capital",
    "greeting",
    "own_name_end",
)
BLOCKS = ("heading", "borrowed", "line", "story", "sentence", "clause", "frame", "before", "after")

Gender = Literal["f", "m", "n", ""]


@dataclass(frozen=True, slots=True)
class Relation:
    """A word for what one person or pet is to another.

    Attributes:
        attribute: the attribute that it means: "sister", "pet".
        noun: the word for one of them by which an unnamed one is called: "sister", "wife", "dog".
        gender: "f", "m", "n" (of animals, where these have their own pronoun), or empty if the word doesn't say.
        described_by: the attribute of pets that the word is a value of: "kind" ("dog") or "breed" ("beagle").
        is_plural: whether it means several.
    """

    attribute: str
    noun: str
    gender: Gender
    described_by: str
    is_plural: bool


@dataclass(frozen=True, slots=True)
class Form:
    """One way of stating something.

    Attributes:
        head: whether it follows a subject ("I"), an owner ("my", "my sister's") or a possessor ("my"), or has none
            before it; or whether its subject is unsaid ("Nurse at King's"), or its verb too ("single" in "is 38, single
            and a nurse").
        source: the regular expression of what follows the head.
        relaxed: one without conditions, which matches wherever that one does. It is compiled and tried before it.
        lists: the slots that hold several values.
        required: words that every match contains, one of each choice.
    """

    head: Literal["subject", "owner", "possessor", "unsaid", "elided", ""]
    source: str
    relaxed: str
    lists: frozenset[str]
    required: tuple[Choice, ...] = ()

    def may_match(self, text: str) -> bool:
        """Return whether a text, in small letters, has the words without which the form doesn't match."""
        for choice in self.required:
            for word in choice:  # loops take half the time of any() and all()
                if word in text:
                    break
            else:
                return False
        return True

    def match(self, text: str, at: int) -> re.Match[str] | None:
        """Match the form at a place of a text. Its expressions are compiled when they are first tried."""
        if _compile_once(self.relaxed).match(text, at) is None:
            return None
        return _compile_once(self.source).match(text, at)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the places of a text that the form matches."""
        if _compile_once(self.relaxed).search(text) is not None:
            yield from _compile_once(self.source).finditer(text)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Ways of stating the same things.

    Attributes:
        cues: a line without any of these words (in small letters) has none of the forms.
        forms: the ways.
        anywhere: whether they are looked for everywhere in a sentence, not only where a clause begins.
        ends: whether they state that something no longer holds.
        is_event: whether they state a change, so that "last week" is when it began or ended.
        bare: where the subject may be left out, so that it is the speaker: "sentence" (at its beginning), "clause" or
            "never"; "verb" where the form of the verb shows it; "fragment" at the beginning of a sentence, about the
            subject of the sentence before.
        prefix: a word that the value needs before it: "no " in "no meat".
        about: the only ones that they are about; "related" are others with a known relation, "unrelated" those without.
        joins: whether they may go on with the subject of the clause before: "and love hiking".
        reported: whether what is around them in the sentence takes nothing away: "she says it's asthma".
        of_known: whether they only end what is known to hold.
        among: the attributes of the known value that they end or replace, in the group `known`; if empty, any that
            people give up (`attributes.ENDABLE`).
        presupposed: whether they hold in questions and conditions too: "if my sister Mia comes".
        answers: what the question must have that the line answers; such a pattern needs no subject.
        replaces: whether they only state a new value of an attribute that has one: "switched to geology".
        context: what must be somewhere in the line, if not nothing.
        attribute: an attribute any value of which ends, whatever it is: "we broke up".
        value: the value of `attribute` that they state or end: "divorced" in "the divorce came through".
        is_gone: whether the subject is a pet or a partner that is no longer there.
        confidence: how sure such a statement is.
    """

    cues: tuple[str, ...]
    forms: tuple[Form, ...]
    anywhere: bool = False
    ends: bool = False
    is_event: bool = False
    bare: Literal["sentence", "clause", "verb", "fragment", "never"] = "never"
    prefix: str = ""
    about: Literal["speaker", "others", "related", "unrelated", "pets", "anyone"] = "anyone"
    joins: bool = True
    reported: bool = False
    of_known: bool = False
    among: tuple[str, ...] = ()
    presupposed: bool = False
    answers: re.Pattern[str] | None = None
    replaces: bool = False
    context: re.Pattern[str] | None = None
    attribute: str = ""
    value: str = ""
    is_gone: bool = False
    confidence: float = 0.9

    def is_cued(self, text: str) -> bool:
        """Return whether a text in small letters has a cue."""
        for cue in self.cues:  # noqa: SIM110 - a loop takes half the time of any()
            if cue in text:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Grammar:
    """All that the rules know of a language. The expressions match in the text of a sentence.

    Attributes:
        starts: where a clause begins; its group `joined` if the clause may go on with the subject of the one before.
        has_capital_nouns: whether not only names have capital letters.
        joined_speaker: what a clause begins with that goes on about the speaker: "and work".
        joined_other: what one begins with that goes on about another person: "and works".
        joined_block: with it before, a clause goes on with something else: "I want to go and study".
        asking: a sentence that ends in a question, with what it states before in the group `stated`.
        telling: a question that states what is in the group `stated`: "did I tell you that we've moved?".
        asks: what a question has that may have no question mark.
        asks_name: what asks for the name of someone who was mentioned; `named` is a sentence that answers it, or that
            names the one mentioned before it, and `named_several` one with the names of several. No name follows where
            that has `nameless`: "Walt, my old boss".
        past: what makes what a clause states a thing of the past: "formerly". It goes on in the next clauses
            without a subject, up to one that begins with `present`: "now".
        passing: what follows a value that is so only for a while: "today", or in its group `spell` "for a week". Yet
            what has that in `happened` is a change, and lasts, "I moved to Leeds today", and what has that in
            `going_on` was so up to now: "I've been vegan for a week".
        dropped: what a sentence begins with that leaves out its subject, which is not the speaker: "Works at Bosch."
        acting: what follows an unknown name that is someone's, such as a verb: "Marcus is".
        follows_subject: what follows a first name that begins a sentence, if it is its subject.
        attached: what may be between a mention and a relative clause about it: "my aunt in Leeds, who".
        introduction: what a sentence begins with that introduces the speaker: "shay, 27, sous chef".
        subjectless: what a sentence by the speaker about the speaker begins with: "been married for years".
        led_in: what may be before a clause without a subject that is about the speaker, in a language that leaves
            subjects out: nothing that names another person.
        elided: what is before a clause that leaves out its subject and its verb: "she is 38, single and a nurse".
        boundary: where a clause with a subject leaves what governs the clause before it.
        about_other: what a sentence has that is about another than the one who is spoken to: "she was born in 1980".
        of_other: what a line begins with that goes on about another person, after a line that isn't about the one who
            is spoken to: "is a singer".
        stranger: a mention of someone who isn't known, by a noun: "a girl". Its group `f`, `m` or `child` shows which.
        aged: a name with an age in a list of relatives, in its groups `name` and `age`: "Tom (5)".
        contracted: a name, in the group `name`, with an "s" after it that should have an apostrophe before it.
        small_word: a word in small letters that may be a name; in a group `person` or `person_before`, if it has them,
            where no other word is likely.
        no_capital: words that have a capital letter, or would have one, and are no names: "april".
        first_names: first names in small letters that are hardly ever other words, or, in a language whose words are
            listed (`text.english_words`), may be other words.
        word_names: first names that are other words too: "grace".
        famous: names in small letters of famous people, characters and brands; their relatives are unknown.
        word_employer: an employer in small letters that consists of words ("bakery", "google"), in a language whose
            words are listed (`text.english_words`); None in others.
        i_am: the words for "I am", in a language in which people leave them out before their name: "Sam here, 27".
        greeting: what may precede such a name, and `own_name_end` what must follow it.
        parties: words for who speaks and who is spoken to: "my", "you". A language without any has them in each line.
        lowercase: what is in a line by someone who writes without capital letters.
        addressed: what a question has that is about the one who is asked. If a subject may be left out, the answer to
            any other isn't about who gives it.
        keeps_subject: whether a subject that is left out is that of the sentence before in the line, if it had one.
        is_unspaced: whether words have no spaces between them, and names no capital letters.
        openers: words that may precede a clause's subject and say nothing.
        heads: the expressions of subjects and owners. Their groups say which one they mean: `speaker`, `relation` (with
            `relation_name`), `name`, `pronoun`, `relative` ("who").
            A possessor is looked for anywhere in a sentence. `introduced` may follow a subject; its group `relation`
            is who or what the next clauses are about: "we adopted a dog, it's called …". `asked` is the one that a
            question is about, by the asked one's `relation` or a `pronoun`. `several` are relatives without a name.
        persons: mentions of people, with the same groups.
        heading_block: what introduces text that isn't the speaker's, to the end of a line, by a colon, a dash or a line
            break: "Translate this:".
        borrowed_block: what introduces such a text or what is made up without these: "Let's pretend".
        line_block: with it in a line, the line states nothing.
        story_block: with it in a sentence, the sentence is about what is made up, and states nothing.
        sentence_block: with it in a sentence, the sentence states nothing but what it presupposes.
        clause_block: with it up to the end of a clause, the clause states nothing.
        frame_block: with it in a sentence before a clause, the clause states nothing.
        before_block: the same, but from the last `boundary` before the last subject on, if there is one.
        after_block: with it in a sentence after a value, the clause states nothing.
        leading: what is cut off before a value: articles and possessives.
        separators: what is between the values of a list.
        never: what is never a value.
        relations: the words for relations, in small letters.
        couples: the words for both relatives that one word means: "mother" and "father" for "parents".
        favourites: the English word for each kind of thing that may be a favourite.
        doers: the word for someone who does each thing for a living: "bartender" for "bartending".
        statuses: the status of someone who did each thing: "verheiratet" for "geheiratet".
        pronouns: the gender of each pronoun and possessive.
        oblique: after it, a word names only where something happens or with what, and "it" means another: "in the car".
        between: with it between something and "it", the pronoun may mean another thing.
        mentioned: where a line mentions a place, in its group `place`, that "there" may mean; `mentioned_here`, "here".
        patterns: the patterns.
        cues: by their first CUE_LETTERS letters, or fewer, the cues with the numbers of their patterns.
        since: the moments since which a state holds.
        at: the moments of an event.
        months: the number of each name of a month.
        counts: the number that each word for a number means.
        units: the unit ("day", "week", "month", "year") that each word for one means.
        days_ago: how many days ago each word ("yesterday") means.
    """

    starts: re.Pattern[str]
    openers: re.Pattern[str]
    asking: re.Pattern[str]
    telling: re.Pattern[str]
    asks: re.Pattern[str]
    asks_name: re.Pattern[str]
    named: re.Pattern[str]
    named_several: re.Pattern[str]
    nameless: re.Pattern[str]
    past: re.Pattern[str]
    present: re.Pattern[str]
    passing: re.Pattern[str]
    happened: re.Pattern[str]
    going_on: re.Pattern[str]
    dropped: re.Pattern[str]
    acting: re.Pattern[str]
    follows_subject: re.Pattern[str]
    attached: re.Pattern[str]
    introduction: re.Pattern[str]
    subjectless: re.Pattern[str]
    led_in: re.Pattern[str]
    elided: re.Pattern[str]
    boundary: re.Pattern[str]
    about_other: re.Pattern[str]
    of_other: re.Pattern[str]
    stranger: re.Pattern[str]
    aged: re.Pattern[str]
    contracted: re.Pattern[str]
    small_word: re.Pattern[str]
    no_capital: re.Pattern[str]
    first_names: frozenset[str]
    word_names: frozenset[str]
    famous: frozenset[str]
    word_employer: re.Pattern[str] | None
    i_am: str
    greeting: re.Pattern[str]
    own_name_end: re.Pattern[str]
    parties: re.Pattern[str]
    lowercase: re.Pattern[str]
    addressed: re.Pattern[str]
    keeps_subject: bool
    is_unspaced: bool
    has_capital_nouns: bool
    joined_speaker: re.Pattern[str]
    joined_other: re.Pattern[str]
    joined_block: re.Pattern[str]
    heads: Mapping[str, re.Pattern[str]]
    persons: re.Pattern[str]
    heading_block: re.Pattern[str]
    borrowed_block: re.Pattern[str]
    line_block: re.Pattern[str]
    story_block: re.Pattern[str]
    sentence_block: re.Pattern[str]
    clause_block: re.Pattern[str]
    frame_block: re.Pattern[str]
    before_block: re.Pattern[str]
    after_block: re.Pattern[str]
    leading: re.Pattern[str]
    separators: re.Pattern[str]
    never: re.Pattern[str]
    relations: Mapping[str, Relation]
    couples: Mapping[str, tuple[str, str]]
    favourites: Mapping[str, str]
    doers: Mapping[str, str]
    statuses: Mapping[str, str]
    pronouns: Mapping[str, Gender]
    oblique: re.Pattern[str]
    between: re.Pattern[str]
    mentioned: re.Pattern[str]
    mentioned_here: re.Pattern[str]
    patterns: tuple[Pattern, ...]
    cues: Mapping[str, Sequence[tuple[str, Sequence[int]]]]
    since: tuple[re.Pattern[str], ...]
    at: tuple[re.Pattern[str], ...]
    months: Mapping[str, int]
    counts: Mapping[str, int]
    units: Mapping[str, str]
    days_ago: Mapping[str, int]

    def find_patterns(self, text: str, *, is_answer: bool = True) -> list[Pattern]:
        """Return the patterns whose cues a text has, each with the forms that may match.

        Args:
            text: the text in small letters.
            is_answer: whether it may answer a question.
        """
        begins = {text[at : at + size] for size in range(1, CUE_LETTERS + 1) for at in range(len(text))}
        cued = (pair for begin in begins & self.cues.keys() for pair in self.cues[begin])
        numbers = {number for cue, numbers in cued if cue in text for number in numbers}
        patterns = []
        for pattern in (self.patterns[number] for number in sorted(numbers)):
            if pattern.answers is not None and not is_answer:
                continue
            if pattern.context is None or pattern.context.search(text) is not None:
                forms = tuple(form for form in pattern.forms if form.may_match(text))
                if forms:
                    patterns.append(pattern if len(forms) == len(pattern.forms) else replace(pattern, forms=forms))
        return patterns


@once
def load_grammar(language: str, *, lowercase: bool = False) -> Grammar | None:
    """Load the grammar of a language; None if there is no file for it.

    Args:
        language: its code.
        lowercase: whether it is for a line without capital letters. Macros of the table `lowercase` then take the
            place of others.
    """
    path = FOLDER / f"{language}.toml"
    return _Builder(_read_table(path), lowercase).build() if path.is_file() else None


def _read_table(path: Path) -> Mapping[str, Any]:
    """Read the file of a language, with the forms that follow from what it says of characters and of orders."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    if "variants" in table:
        table = add_variants(table, dict(table["variants"].split()))
    if "orders" in table:
        table = derive_orders(table)
    return table


def find_grammar(language: str, text: str) -> Grammar | None:
    """Load the grammar for a text, which may have no capital letters; None if the language has no patterns."""
    grammar = load_grammar(language)  # called as elsewhere, so that it is loaded once
    return load_grammar(language, lowercase=True) if grammar and grammar.lowercase.search(text) else grammar


class _Builder:
    """Builds a grammar from its file."""

    def __init__(self, table: Mapping[str, Any], lowercase: bool) -> None:
        self.table = table
        moments: Mapping[str, Any] = table["moments"]
        self.relations = dict(_list_relations(table["relations"]))
        self.months = {name: number for number, names in enumerate(moments["months"], 1) for name in names}
        self.units = {word: unit for unit, words in moments["units"].items() for word in words}
        no_relative = "(?!{no_relative})" if "no_relative" in table["macros"] else ""
        self.macros: dict[str, Any] = {
            **table["macros"],
            **(table.get("lowercase", {}) if lowercase else {}),
            # atomic, so that it never matches only the "mother" of "mother in law"
            "relative_one": f"(?>{'|'.join(self._list_kin(is_plural=False))}){no_relative}",
            "relative_many": f"(?:{'|'.join(self._list_kin(is_plural=True)) or NEVER}){no_relative}",
            "pet_one": [w for w, each in self.relations.items() if each.attribute == "pet" and not each.is_plural],
            "pet_many": [w for w, each in self.relations.items() if each.attribute == "pet" and each.is_plural],
            "couple": list(table.get("couples", {})),
            **{name: list(doers) for name, doers in table.get("doers", {}).items()},
            "year": r"(?P<year>(?:19|20)\d\d)(?![\da-z])",
            "month": f"(?P<month>{alternation(self.months)})",
            "day": r"(?P<day>[0-3]?\d)",
            "count": rf"(?P<count>\d{{1,2}}|{'|'.join(_longest_first(moments['counts']))})",
            "unit": f"(?P<unit>{alternation(_longest_first(self.units))})",
            "step": f"(?P<step>{alternation(_longest_first(self.units))})",
            "days_ago": f"(?P<days_ago>{alternation(_longest_first(moments['days_ago']))})",
        }
        self.templates = Templates(self.macros)
        self.relaxed = Templates({name: relax(macro) for name, macro in self.macros.items()})
        self.choices: dict[str, Sequence[Choice]] = {}

    def _list_kin(self, *, is_plural: bool) -> Iterator[str]:
        """Yield the words for one relative or pet, or for several."""
        return (word for word, each in self.relations.items() if each.is_plural == is_plural)

    def build(self) -> Grammar:
        table, moments = self.table, self.table["moments"]
        is_unspaced = bool(table["clauses"].get("is_unspaced", False))
        edge = "" if is_unspaced else r"\b"
        heads = {name: self._compile((edge if name == "possessor" else "") + self.macros[name]) for name in HEADS}
        heads |= {name: self._compile(self.macros.get(name, NEVER)) for name in ("introduced", "asked", "several")}
        return Grammar(
            **{name: self._compile(table["clauses"].get(name, NEVER)) for name in CLAUSES},
            parties=self._compile(table["clauses"].get("parties", "")),
            addressed=self._compile(table["clauses"].get("addressed", NEVER)),
            first_names=frozenset(table.get("names", {}).get("first", "").split()),
            word_names=frozenset(table.get("names", {}).get("words", "").split()),
            famous=frozenset(map(str.strip, table.get("names", {}).get("famous", "").split(","))) - {""},
            word_employer=self._compile(self.macros["word_employer"]) if "word_employer" in self.macros else None,
            i_am=table["clauses"].get("i_am", ""),
            keeps_subject=bool(table["clauses"].get("keeps_subject", False)),
            is_unspaced=is_unspaced,
            has_capital_nouns=bool(table["clauses"].get("has_capital_nouns", False)),
            heads=heads,
            persons=self._compile(self.macros["person"]),
            **{f"{name}_block": self._compile(table["blocks"].get(name, NEVER)) for name in BLOCKS},
            **{name: self._compile(self.macros[name]) for name in ("leading", "never")},
            separators=self._compile(["{last_separator}", "{separator}"]),
            relations=self.relations,
            couples={word: (both[0], both[1]) for word, both in table.get("couples", {}).items()},  # variants follow
            favourites=table.get("favourites", {}),
            doers={what: who for doers in table.get("doers", {}).values() for what, who in doers.items()},
            statuses=table.get("statuses", {}),
            pronouns=table["pronouns"],
            oblique=self._compile(self.macros.get("oblique", NEVER)),
            between=self._compile(self.macros.get("between", NEVER)),
            mentioned=self._compile(self.macros.get("mentioned", NEVER)),
            mentioned_here=self._compile(self.macros.get("mentioned_here", NEVER)),
            patterns=tuple(map(self._read_pattern, table["patterns"])),
            cues=_index_cues(table["patterns"]),
            since=tuple(map(self._compile, moments["since"])),
            at=tuple(map(self._compile, moments["at"])),
            months=self.months,
            counts=moments["counts"],
            units=self.units,
            days_ago=moments["days_ago"],
        )

    def _read_pattern(self, table: Mapping[str, Any]) -> Pattern:
        fields = {**table, "cues": tuple(table["cues"]), "forms": tuple(map(self._read_form, table["forms"]))}
        fields |= {name: self._compile(table[name]) for name in ("answers", "context") if name in table}
        return Pattern(**fields)

    def _read_form(self, template: str) -> Form:
        head = next((head for head in (*HEADS, "unsaid", "elided") if template.startswith(f"{{{head}}}")), "")
        rest = template.removeprefix(f"{{{head}}}")
        lists = frozenset(group for group, _, star in SLOT.findall(rest) if star)
        required = find_required_words(rest, self._choices_of)
        source, relaxed = self.templates.expand(rest), self.relaxed.expand(relax(rest))
        return Form(head, source, relaxed, lists, required)  # type: ignore[arg-type]

    def _choices_of(self, name: str) -> Sequence[Choice]:
        """Return the choices of words that a macro requires."""
        if name not in self.choices:
            self.choices[name] = find_required_words(self.macros[name], self._choices_of)
        return self.choices[name]

    def _compile(self, template: Template) -> re.Pattern[str]:
        return re.compile(self.templates.expand(template), re.IGNORECASE)


def _index_cues(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Sequence[tuple[str, Sequence[int]]]]:
    """Return the cues by their first letters, each with the numbers of its patterns."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        for cue in table["cues"]:
            numbers[cue].append(number)
    found: dict[str, list[tuple[str, Sequence[int]]]] = defaultdict(list)
    for cue, of_cue in numbers.items():
        found[cue[:CUE_LETTERS]].append((cue, of_cue))
    return dict(found)


@once
def _compile_once(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


def _longest_first(words: Mapping[str, object]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _list_relations(tables: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Relation]]:
    """Yield the words for relations, the longest first. A hyphen may also be written as a space."""
    found: list[tuple[str, Relation]] = []
    for table in tables:
        attribute, gender, by = table["attribute"], table.get("gender", ""), table.get("described_by", "kind")
        for words in table["words"]:
            noun = words[0] if attribute == "pet" else table.get("noun", attribute)
            for number, word in enumerate(words):
                relation = Relation(attribute, noun, gender, by, is_plural=number > 0)
                spellings = dict.fromkeys((word.lower(), word.lower().replace("-", " ")))
                found += [(each, relation) for each in spellings if each]  # some have words for several alone
    yield from sorted(found, key=lambda each: len(each[0]), reverse=True)
