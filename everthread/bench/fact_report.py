"""Counts and lists what `facts` has judged: precision and recall by part, language and attribute, and the errors.

Precision is the share of statements that are right; recall is the share of facts of marks + and - that a statement
agrees with. A trap is a person's line without facts; it is sprung if any statement names it as its last line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from everthread.bench.fact_sets import PARTS, GoldFact, Part
from everthread.bench.facts import JudgedConversation
from everthread.bench.report import to_percent
from everthread.facts.attributes import FAVOURITE
from everthread.facts.types import Statement


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts over conversations, of all attributes or of one.

    Attributes:
        lines: lines of talk.
        facts: facts of marks + and -.
        found: those that a statement agrees with.
        statements: statements read.
        right: those that agree with a fact.
        traps: people's lines without facts.
        sprung: those from which something was read.
        dated: found facts with a moment.
        dates_right: those whose statement has the same moment.
        dates_invented: found facts without a moment whose statement has one.
    """

    lines: int = 0
    facts: int = 0
    found: int = 0
    statements: int = 0
    right: int = 0
    traps: int = 0
    sprung: int = 0
    dated: int = 0
    dates_right: int = 0
    dates_invented: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Counts)))

    @property
    def precision(self) -> float | None:
        """The share of statements that are right, 0..1; None without statements."""
        return self.right / self.statements if self.statements else None

    @property
    def recall(self) -> float | None:
        """The share of facts that were found, 0..1; None without facts."""
        return self.found / self.facts if self.facts else None

    def json(self) -> dict[str, Any]:
        shares = {"precision": self.precision, "recall": self.recall}
        return asdict(self) | {name: None if share is None else to_percent(share) for name, share in shares.items()}


def group_attribute(attribute: str) -> str:
    """Return the attribute under which results are counted: all favourites are one."""
    return FAVOURITE.strip() if attribute.startswith(FAVOURITE) else attribute


def count(judged: Iterable[JudgedConversation], attribute: str | None = None) -> Counts:
    """Count the results of conversations, of one attribute if it is given."""
    return sum((_count_one(each, attribute) for each in judged), Counts())


def _count_one(judged: JudgedConversation, attribute: str | None) -> Counts:
    facts = [each for each in judged.facts if attribute in (None, group_attribute(each.fact.attribute))]
    read = [each for each in judged.statements if attribute in (None, group_attribute(each.statement.attribute))]
    found = [(each.fact, each.statement) for each in facts if each.statement is not None]
    lines = judged.conversation.lines
    traps = {gold.number for gold in lines if not gold.facts and gold.line.role == "user"}
    return Counts(
        lines=len(lines),
        facts=len(facts),
        found=len(found),
        statements=len(read),
        right=sum(each.fact is not None for each in read),
        traps=len(traps),
        sprung=len(traps.intersection(each.line.number for each in read)),
        dated=sum(fact.moment is not None for fact, _ in found),
        dates_right=sum(fact.moment is not None and fact.moment == statement.moment for fact, statement in found),
        dates_invented=sum(fact.moment is None and statement.moment is not None for fact, statement in found),
    )


def count_languages(judged: Sequence[JudgedConversation]) -> list[tuple[Part, str, Counts]]:
    """Count by part and language, with the sum of each part's languages as `all`."""
    rows: list[tuple[Part, str, Counts]] = []
    for part in PARTS:
        of_part = [each for each in judged if each.conversation.part == part]
        languages = dict.fromkeys(each.conversation.language for each in of_part)
        rows += [
            (part, language, count(each for each in of_part if each.conversation.language == language))
            for language in languages
        ]
        rows += [(part, "all", count(of_part))] if len(languages) > 1 else []
    return rows


def count_attributes(judged: Sequence[JudgedConversation]) -> dict[str, dict[Part, Counts]]:
    """Count by attribute and part, the commonest attributes first."""
    names = {group_attribute(fact.fact.attribute) for each in judged for fact in each.facts}
    names |= {group_attribute(read.statement.attribute) for each in judged for read in each.statements}
    parts = [part for part in PARTS if any(each.conversation.part == part for each in judged)]
    rows = {
        name: {part: count((each for each in judged if each.conversation.part == part), name) for part in parts}
        for name in names
    }
    return dict(sorted(rows.items(), key=lambda row: (-sum(counts.facts for counts in row[1].values()), row[0])))


def as_json(judged: Sequence[JudgedConversation]) -> dict[str, Any]:
    """Return the counts, and shares in percent."""
    return {
        "languages": [
            {"part": part, "language": language, **counts.json()} for part, language, counts in count_languages(judged)
        ],
        "attributes": [
            {"attribute": name, "part": part, **counts.json()}
            for name, by_part in count_attributes(judged).items()
            for part, counts in by_part.items()
        ],
    }


def table(judged: Sequence[JudgedConversation]) -> str:
    """Return the counts as text: by part and language, then by attribute."""
    return "\n".join([*_language_rows(judged), "", *_attribute_rows(count_attributes(judged))])


def _language_rows(judged: Sequence[JudgedConversation]) -> Iterator[str]:
    yield (
        f"{'part':<10}{'language':<10}{'lines':>7}{'facts':>7}{'found':>7}{'recall':>8}"
        f"{'read':>7}{'right':>7}{'precision':>11}{'traps':>7}{'sprung':>8}{'dates':>10}"
    )
    for part, language, counts in count_languages(judged):
        yield (
            f"{part:<10}{language:<10}{counts.lines:>7}{counts.facts:>7}{counts.found:>7}{_format_percent(counts.recall):>8}"
            f"{counts.statements:>7}{counts.right:>7}{_format_percent(counts.precision):>11}{counts.traps:>7}"
            f"{counts.sprung:>8}{f'{counts.dates_right}/{counts.dated}':>10}"
        )


def _attribute_rows(rows: Mapping[str, Mapping[Part, Counts]]) -> Iterator[str]:
    parts = list(next(iter(rows.values()), {}))
    yield f"{'':<16}" + "".join(f"{part:>36}" for part in parts)
    yield f"{'attribute':<16}" + f"{'facts':>9}{'recall':>8}{'read':>8}{'precision':>11}" * len(parts)
    for name, by_part in rows.items():
        yield f"{name:<16}" + "".join(
            f"{each.facts:>9}{_format_percent(each.recall):>8}{each.statements:>8}{_format_percent(each.precision):>11}"
            for each in by_part.values()
        )


def _format_percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def list_errors(judged: Iterable[JudgedConversation]) -> list[str]:
    """Return the facts missed and the statements that are not right, with their lines; of the open part only, so that
    no reader is fitted to the other one."""
    rows = []
    for each in judged:
        if each.conversation.part != "open":
            continue
        for gold in each.conversation.lines:
            missed = [str(fact.fact) for fact in each.facts if fact.line is gold and fact.statement is None]
            false = [_write(read.statement) for read in each.statements if read.line is gold and read.fact is None]
            if missed or false:
                rows.append(f"{each.conversation.id}.txt:{gold.number}  {gold.line.speaker}: {gold.line.text}")
                rows += [f"    missed  {text}" for text in missed] + [f"    false   {text}" for text in false]
    return rows


def _write(statement: Statement) -> str:
    return str(
        GoldFact(
            "-" if statement.ends else "+",
            statement.subject,
            statement.attribute,
            (statement.value,),
            statement.moment,
        )
    )
