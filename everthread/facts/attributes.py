"""The attributes of facts: which of them have one value at a time, and which of them relate people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

SINGLE = frozenset(
    (
        "name",
        "home",
        "origin",
        "employer",
        "industry",
        "occupation",
        "religion",
        "school",
        "field",
        "age",
        "birthday",
        "diet",
        "partner",
        "status",
        "mother",
        "father",
        "mother-in-law",
        "father-in-law",
        "stepmother",
        "stepfather",
        "boss",
        "kind",
        "colour",
        "breed",
    )
)
KIN = frozenset(
    (
        "mother",
        "father",
        "sister",
        "brother",
        "son",
        "daughter",
        "child",
        "grandmother",
        "grandfather",
        "grandson",
        "granddaughter",
        "aunt",
        "uncle",
        "cousin",
        "niece",
        "nephew",
        "mother-in-law",
        "father-in-law",
        "sister-in-law",
        "brother-in-law",
        "son-in-law",
        "daughter-in-law",
        "stepmother",
        "stepfather",
        "stepsister",
        "stepbrother",
        "stepson",
        "stepdaughter",
    )
)
GODPARENTS = frozenset(("godmother", "godfather", "godson", "goddaughter"))  # may be relatives or friends as well
RELATIONS = KIN | GODPARENTS | {"partner", "boss", "friend", "flatmate", "neighbour", "colleague", "ex", "pet"}
MANY = frozenset(
    ("likes", "dislikes", "allergy", "language", "plays", "hobby", "owns", "health", "takes", "member")
) | (RELATIONS - SINGLE)
ATTRIBUTES = SINGLE | MANY
DESCRIBED = frozenset(  # values in which a thing may be named in more words or fewer: "red bike", "bike"
    ("likes", "dislikes", "allergy", "plays", "hobby", "owns", "health", "takes", "pet")
)
ENDABLE = frozenset(  # what people give up, lose, leave or swap, whatever it is
    (
        *("home", "employer", "industry", "occupation", "school", "field", "diet", "pet", "health"),
        *("takes", "member", "hobby", "plays", "owns", "flatmate"),
    )
)
POSSESSIVE = "'s "  # between an owner and what is the owner's: "Nora's sister"
PARTNERS = frozenset(("husband", "wife", "boyfriend", "girlfriend", "fiancé", "fiancée"))  # words for a partner
STATUSES = frozenset(
    ("married", "single", "divorced", "engaged", "widowed", "retired", "unemployed", "pregnant", "dead")
)
# Statuses of work, and of one who expects a child: beside them, someone is also married or single.
WORK_STATUSES = frozenset(
    (
        *("retired", "unemployed", "arbeitslos", "arbeitssuchend", "arbeitsuchend", "rentner", "rentnerin", "in rente"),
        *("fruhrentner", "fruhrentnerin", "in fruhrente", "berentet", "pensionar", "pensionarin", "in pension"),
        *("pensioniert", "en paro", "desempleado", "desempleada", "jubilado", "jubilada", "retirado", "retirada"),
        *("pensionado", "pensionada", "失业", "失業", "退休"),
    )
)
PREGNANT = frozenset(("pregnant", "schwanger", "embarazada", "怀孕", "懷孕"))
RESTRICTIONS = ("no ", "kein ", "keine ")  # what a diet begins with that may stand beside others: "no pork"
FAVOURITE = "favourite "  # and the kind of thing
KINDS = frozenset(  # kinds that rules name in English in any language, and in answers to a question
    (
        *"actor actress animal anime artist author band book cake city colour composer dessert director dish".split(),
        *"drink film flower food fruit game genre holiday movie music novel number painter place poet season".split(),
        *"series show singer snack song sport subject tea team".split(),
        "ice cream",
    )
)
TOPICS = (  # the attributes in the order in which a list of all facts about someone has them
    *("name", "kind", "breed", "colour", "age", "birthday", "home", "origin"),
    *("occupation", "employer", "industry", "school", "field", "member", "language", "religion", "status", "partner"),
    *("mother", "father", "sister", "brother", "son", "daughter", "child", "grandmother", "grandfather", "grandson"),
    *("granddaughter", "aunt", "uncle", "cousin", "niece", "nephew", "mother-in-law", "father-in-law", "sister-in-law"),
    *("brother-in-law", "son-in-law", "daughter-in-law", "stepmother", "stepfather", "stepsister", "stepbrother"),
    *("stepson", "stepdaughter", "godmother", "godfather", "godson", "goddaughter"),
    *("friend", "flatmate", "neighbour", "colleague"),
    *(
        "boss",
        "ex",
        "pet",
        "allergy",
        "diet",
        "health",
        "takes",
        "likes",
        FAVOURITE,
        "dislikes",
        "hobby",
        "plays",
        "owns",
    ),
)


def is_known(attribute: str) -> bool:
    """Return whether there is such an attribute."""
    return attribute in ATTRIBUTES or (attribute.startswith(FAVOURITE) and len(attribute) > len(FAVOURITE))


def is_single(attribute: str) -> bool:
    """Return whether an attribute has one value at a time, so that a newer value takes the older one's place."""
    return attribute in SINGLE or attribute.startswith(FAVOURITE)


def takes_the_place(attribute: str, value: str, former: str) -> bool:
    """Return whether a newer value takes a former one's place, both in the form of `history.value_key`.

    "vegan" takes that of "keto", but "no pork" that of nothing; "divorced" that of "married", but not of "retired".
    """
    if attribute == "diet" and (value.startswith(RESTRICTIONS) or former.startswith(RESTRICTIONS)):
        return False
    if attribute == "status" and value != "dead":
        return all((value in kind) == (former in kind) for kind in (WORK_STATUSES, PREGNANT))
    return is_single(attribute)


def exclude_each_other(relation: str, other: str) -> bool:
    """Return whether two relations to the same person can only be those of two people.

    A sister of someone's is not the same one's daughter, friend or cat, while a friend may be a colleague as well, and
    a son is a child. A stepson is called a son, too, and an aunt may be a godmother.
    """
    both = {relation.removeprefix("step"), other.removeprefix("step")}
    if both & GODPARENTS or both in ({"child", "son"}, {"child", "daughter"}):
        return "pet" in both
    return len(both) > 1 and bool(both & (KIN | {"pet"}))


def are_several(relations: Iterable[tuple[str, str]]) -> bool:
    """Return whether these relations, each with its owner, can't all be those of one person or pet."""
    by_owner: dict[str, set[str]] = defaultdict(set)
    for owner, word in relations:
        by_owner[owner].add(word)
    return any(exclude_each_other(*pair) for words in by_owner.values() for pair in combinations(words, 2))


def topic_order(attribute: str) -> int:
    """Return the place of an attribute in `TOPICS`; the last one for an unknown attribute."""
    name = FAVOURITE if attribute.startswith(FAVOURITE) else attribute
    return TOPICS.index(name) if name in TOPICS else len(TOPICS)
