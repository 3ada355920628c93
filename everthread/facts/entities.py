"""Finds out who and what statements are about: names, aliases, relations, and which mentions are of one entity. Pure.

A mention is a subject or a value of a statement. Mentions of one name are of one entity, unless their relations exclude
that: a sister of Nora's and a friend of Nora's who are both called Mia are two, and so are the sisters of two speakers
who are not known to be related. "Nora's sister" is the one that a statement names, if there is one. All names under
which the person has spoken are of one entity; any other speaker is one, also if another says "I'm Nora". The person's
merges and splits, as lists of mentions, count more. Since all of this is computed from the statements that remain, a
name that is forgotten is forgotten here.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from typing import Literal

from everthread.facts.attributes import KIN, PARTNERS, POSSESSIVE, RELATIONS, exclude_each_other, is_single
from everthread.facts.history import resolve_ended, statement_order, value_key
from everthread.facts.person_names import UNNAMED
from everthread.facts.types import Entity, EntityKind, Statement

SUBJECT, VALUE = 0, 1
TellingKey = tuple[datetime, int, int]  # see `history.statement_order`
Mention = tuple[int, int]  # the id of a statement, and SUBJECT or VALUE
PLACES = frozenset(("home", "origin"))
ORGANISATIONS = frozenset(("employer", "school", "member"))
MAX_DEPTH = 3  # relations in a subject: "Nora's sister's friend's cat"
PET_ATTRIBUTES = frozenset(("kind", "breed", "colour"))

FindSpeaker = Callable[[int], str | None]
"""Returns the speaker of the line with a number; None if it has none."""


@dataclass(frozen=True, slots=True)
class EntityEdit:
    """A decision of the person about mentions: they are of the same entity, or of one apart from others."""

    kind: Literal["same", "apart"]
    mentions: tuple[Mention, ...]


@dataclass(slots=True, eq=False)
class _Cluster:
    """The mentions that are taken to be of one entity."""

    kind: EntityKind
    names: dict[str, str] = field(default_factory=dict)  # key -> name as first written
    own_name: str | None = None  # where a statement says what a speaker is called
    owner: tuple[_Cluster, str] | None = None  # of one without a name: the other one, and what it is of that: "sister"
    relations: dict[tuple[_Cluster, str], None] = field(default_factory=dict)  # in the order of their statements
    mentions: dict[Mention, Statement] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)  # what statements say that it is: "cat"
    seqs: set[int] = field(default_factory=set)  # the lines that mention it
    last_mention: tuple[object, ...] = ()  # the key of the last statement that mentions it

    def add(self, mention: Mention, statement: Statement) -> None:
        self.mentions[mention] = statement
        if mention[1] == SUBJECT and statement.attribute == "kind":
            self.kinds.add(value_key(statement.value))
        self.seqs.update(statement.seqs)
        self.last_mention = max(self.last_mention, statement_order(statement))

    def remove(self, mentions: Collection[Mention]) -> None:
        """Remove mentions, and what only they say."""
        kept = {mention: statement for mention, statement in self.mentions.items() if mention not in mentions}
        self.mentions, self.kinds, self.seqs, self.last_mention = {}, set(), set(), ()
        for mention, statement in kept.items():
            self.add(mention, statement)

    def add_name(self, name: str) -> None:
        self.names.setdefault(value_key(name), name)

    def absorb(self, other: _Cluster) -> None:
        """Take over all that belongs to another cluster."""
        self.names |= {key: name for key, name in other.names.items() if key not in self.names}
        self.own_name = self.own_name or other.own_name
        owners = [owner for owner in (self.owner, other.owner) if owner is not None and owner[0] not in (self, other)]
        self.owner = owners[0] if owners else None
        self.relations |= other.relations
        for mention, statement in other.mentions.items():
            self.add(mention, statement)


@dataclass(slots=True, eq=False)
class _Relatives:
    """The relatives of one kind that statements name, such as an owner's sisters."""

    clusters: set[_Cluster] = field(default_factory=set)
    named: list[tuple[TellingKey, _Cluster]] = field(default_factory=list)  # once for each statement, in their order
    by_seq: dict[int, list[tuple[TellingKey, _Cluster]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, cluster: _Cluster, statement: Statement) -> None:
        entry = statement_order(statement), cluster
        self.clusters.add(cluster)
        insort(self.named, entry, key=itemgetter(0))
        for seq in statement.seqs:
            self.by_seq[seq].append(entry)


class Entities:
    """The entities of a bank, and its statements with their names as subjects."""

    def __init__(
        self,
        statements: Iterable[Statement],
        edits: Sequence[EntityEdit] = (),
        person_names: Sequence[str] = (),
        speakers: Sequence[str] = (),
        find_speaker: FindSpeaker = lambda seq: None,
    ) -> None:
        """Find the entities of statements.

        Args:
            statements: with their ids.
            edits: the person's edits, applied in their order.
            person_names: of the person who talks with the bank's character, the present one first.
            speakers: the names of the people who have spoken in the bank.
            find_speaker: finds the speaker of a line, of whose relatives a name is more likely one.
        """
        ordered = sorted(statements, key=_reading_key)
        clusters = _Clusters(find_speaker)
        clusters.add_person(person_names)
        clusters.add_speakers(speakers)
        clusters.relate_speakers(ordered)
        clusters.add_names([each for each in ordered if each.attribute == "name"])
        plain = [each for each in ordered if _depth(each.subject) == 0]
        clusters.read(plain)
        clusters.apply(edits)
        for depth in range(1, 1 + max((_depth(each.subject) for each in ordered), default=0)):
            clusters.read([each for each in ordered if _depth(each.subject) == depth])
        clusters.apply(edits)
        self._clusters = [cluster for cluster in clusters.all() if cluster.mentions]
        self._names = _name_clusters(self._clusters, clusters.speakers)
        by_mention = {mention: cluster for cluster in self._clusters for mention in cluster.mentions}
        named = (
            self._resolve(each, by_mention) if each.attribute else each for each in sorted(ordered, key=statement_order)
        )
        self.statements = resolve_ended(named)
        self._aliases = self._find_aliases()

    def _resolve(self, statement: Statement, by_mention: Mapping[Mention, _Cluster]) -> Statement:
        """Return a statement with the names of its subject and of a pet that it calls by its kind."""
        pet = by_mention.get((statement.id, VALUE)) if statement.attribute == "pet" else None
        named = pet is not None and value_key(statement.value) in pet.kinds
        value = next(iter(pet.names.values()), statement.value) if pet is not None and named else statement.value
        return replace(statement, subject=self._names[by_mention[statement.id, SUBJECT]], value=value)

    def all(self) -> list[Entity]:
        """Return the entities, in the order in which they were first mentioned."""
        return [self._build(cluster) for cluster in sorted(self._clusters, key=_first_mention)]

    def find(self, name: str) -> list[Entity]:
        """Return the entities that have a name or an alias, whatever its case; those with the name first, if any."""
        return [self._build(cluster) for cluster in self._find(name)]

    def mentions(self, name: str) -> list[Mention]:
        """Return the mentions of the one entity that is listed under a name; empty for none."""
        return [mention for cluster in self._find(name)[:1] for mention in sorted(cluster.mentions)]

    def _find(self, name: str) -> list[_Cluster]:
        key = value_key(name)
        named = [cluster for cluster, own in self._names.items() if value_key(own) == key]
        return named or [cluster for cluster in self._clusters if key in map(value_key, self._aliases[cluster])]

    def _build(self, cluster: _Cluster) -> Entity:
        times = [each.said_at for each in cluster.mentions.values() if not each.is_undated]
        return Entity(
            name=self._names[cluster],
            kind=cluster.kind,
            aliases=self._aliases[cluster],
            relations=tuple(
                dict.fromkeys((self._names[owner], word) for owner, word in _relations(cluster, self._names))
            ),
            statements=tuple(sorted({number for number, _ in cluster.mentions})),
            first_at=min(times, default=None),
            last_at=max(times, default=None),
        )

    def _find_aliases(self) -> dict[_Cluster, tuple[str, ...]]:
        """Return what each entity is called, except for its name: other names, and relations that are its alone."""
        holders: dict[tuple[_Cluster, str], set[_Cluster]] = defaultdict(set)
        for cluster in self._clusters:
            for owner, word in _relations(cluster, self._names):
                holders[owner, word].add(cluster)
        aliases = {}
        for cluster in self._clusters:
            relations = [
                f"{self._names[owner]}{POSSESSIVE}{word}"
                for owner, word in _relations(cluster, self._names)
                if len(holders[owner, word]) == 1
            ]
            names = dict.fromkeys([*cluster.names.values(), *relations])
            aliases[cluster] = tuple(name for name in names if value_key(name) != value_key(self._names[cluster]))
        return aliases


class _Clusters:
    """Assigns mentions to clusters."""

    def __init__(self, find_speaker: FindSpeaker) -> None:
        self._find_speaker = find_speaker
        self.speakers: set[_Cluster] = set()  # those of the people who have spoken
        self._accounts: dict[str, _Cluster] = {}  # the same by key
        self._families: set[tuple[_Cluster, _Cluster]] = set()  # pairs of speakers who are relatives or partners
        self._by_name: dict[tuple[bool, str], list[_Cluster]] = defaultdict(
            list
        )  # (whether it is a person or a pet, key)
        self._relatives: dict[tuple[_Cluster, str], _Relatives] = defaultdict(_Relatives)  # by owner and relation
        self._owners: dict[_Cluster, set[_Cluster]] = defaultdict(set)  # of pets
        self._pets: dict[tuple[_Cluster, str], set[_Cluster]] = defaultdict(set)  # by owner and kind
        self._owned: dict[tuple[_Cluster, str], _Cluster] = {}  # by its owner and what it is: "sister", "bike"
        self._merged: dict[_Cluster, _Cluster] = {}
        self._of: dict[Mention, _Cluster] = {}
        self._applied: dict[int, set[Mention]] = defaultdict(set)  # mentions of each edit that were moved, by its place
        self._apart: dict[int, _Cluster] = {}  # the cluster of each split, by its place

    def all(self) -> Iterator[_Cluster]:
        """Yield all clusters once."""
        yield from dict.fromkeys(self._current(cluster) for cluster in self._of.values())

    def add_person(self, names: Sequence[str]) -> None:
        """Let one cluster have all names of the person; it is called by the first."""
        person = _Cluster("person", own_name=next((name for name in names if name != UNNAMED), None))
        for name in names:
            self._remember(person, name, is_living=True)

    def add_speakers(self, names: Sequence[str]) -> None:
        """Let each speaker have a cluster, unless the person has the name.

        One who has no name yet may be any of the others.
        """
        for name in names:
            if value_key(name) == UNNAMED:
                continue
            known = self._by_name[True, value_key(name)]
            if not known:
                self._remember(_Cluster("person"), name, is_living=True)
            self._accounts[value_key(name)] = known[0]
            self.speakers.add(known[0])

    def relate_speakers(self, statements: Iterable[Statement]) -> None:
        """Note which speakers are a family, whenever that is said."""
        for statement in statements:
            one, other = map(self._find_account, (statement.subject, statement.value))
            if one is not None and other is not None and statement.attribute in KIN | {"partner"}:
                self._families |= {(one, other), (other, one)}

    def add_names(self, statements: Sequence[Statement]) -> None:
        """Read what speakers are called, before anybody is looked for by that name.

        A speaker isn't called like another one: "Farid: I'm Nora" may be a joke. One without a name is that one.
        """
        for statement in statements:
            cluster = self._find_or_add(statement.subject, statement, is_living=True)
            account = self._find_account(statement.value)
            if account is not None and account is not cluster:
                if cluster in self.speakers:
                    continue
                self._merge((account, cluster))
                cluster = account
            cluster.own_name = statement.value
            cluster.add_name(statement.value)
            self._remember(cluster, statement.value, is_living=True)

    def read(self, statements: Sequence[Statement]) -> None:
        """Assign the mentions of statements, those of the names of relatives first."""
        for statement in statements:
            if not statement.attribute:
                continue
            subject = self._find_subject(statement)
            self._assign((statement.id, SUBJECT), subject, statement)
            if statement.attribute in PET_ATTRIBUTES and subject.kind == "person":
                subject.kind = "pet"
            if statement.value and (found := self._find_value(subject, statement)) is not None:
                self._assign((statement.id, VALUE), found, statement)

    def _assign(self, mention: Mention, cluster: _Cluster, statement: Statement) -> None:
        cluster.add(mention, statement)
        self._of[mention] = cluster
        self._note_relation(mention, cluster, statement)

    def _note_relation(self, mention: Mention, cluster: _Cluster, statement: Statement) -> None:
        """Note whose relative a mention says that a cluster is, or what kind of pet."""
        if mention[1] == VALUE and statement.attribute in RELATIONS and not statement.ends:
            owner = self._current(self._of[statement.id, SUBJECT])
            self._relatives[owner, statement.attribute].add(cluster, statement)
            if statement.attribute == "pet" and owner not in self._owners[cluster]:
                self._owners[cluster].add(owner)
                for kind in cluster.kinds:
                    self._pets[owner, kind].add(cluster)
        elif mention[1] == SUBJECT and statement.attribute == "kind":
            for owner in self._owners.get(cluster, ()):
                self._pets[owner, value_key(statement.value)].add(cluster)

    def _current(self, cluster: _Cluster) -> _Cluster:
        while cluster in self._merged:
            cluster = self._merged[cluster]
        return cluster

    def _find_subject(self, statement: Statement) -> _Cluster:
        return self._find_named(statement.subject, statement)

    def _find_named(self, name: str, statement: Statement) -> _Cluster:
        """Return the cluster of a name, or of a relative or a possession, as "Nora's sister"."""
        owner_name, separator, word = name.rpartition(POSSESSIVE)
        if not separator or not _depth(name):
            return self._find_or_add(name, statement, is_living=True)
        owner = self._find_named(owner_name, statement)
        return self._find_relative(owner, word, statement) or self._find_or_add_owned(owner, word)

    def _find_relative(self, owner: _Cluster, word: str, statement: Statement) -> _Cluster | None:
        """Return who is the sister of an owner, if a statement names one; of several, the one of the same line.

        An owner's cat is the pet whose kind that is.
        """
        relation = "partner" if word in PARTNERS else word
        is_relation = relation in RELATIONS
        relatives = self._relatives.get((owner, relation if is_relation else "pet"))
        if relatives is None:
            return None
        clusters = relatives.clusters if is_relation else self._pets.get((owner, value_key(word)), set())
        if len(clusters) <= 1:
            return next(iter(clusters), None)
        in_line = [each for seq in statement.seqs for each in relatives.by_seq.get(seq, ()) if each[1] in clusters]
        if in_line:
            return min(in_line, key=itemgetter(0))[1]
        if not (is_relation and is_single(relation)):
            return None
        earlier = bisect_right(relatives.named, statement_order(statement), key=itemgetter(0))
        return relatives.named[max(earlier - 1, 0)][1]

    def _find_value(self, subject: _Cluster, statement: Statement) -> _Cluster | None:
        """Return the cluster of a statement's value, if that is an entity."""
        attribute, value = statement.attribute, statement.value
        if attribute == "pet":
            is_name = bool(self._by_name.get((True, value_key(value))))  # else a kind: German "Katze" has a capital too
            if not is_name and (named := self._find_relative(subject, value, statement)) is not None:
                return named
        if attribute == "owns" or (attribute == "pet" and value == value.lower() and value != value.upper()):
            owned = self._find_or_add_owned(subject, value)
            owned.kind = "pet" if attribute == "pet" else "thing"
            return owned
        if attribute in PLACES or attribute in ORGANISATIONS:
            kind: EntityKind = "place" if attribute in PLACES else "organisation"
            return self._find_or_add(value, statement, is_living=False, kind=kind)
        if attribute not in RELATIONS:
            return None
        cluster = self._find_or_add(value, statement, is_living=True, relation=(subject, attribute))
        cluster.kind = "pet" if attribute == "pet" else cluster.kind
        if not statement.ends:
            cluster.relations[subject, attribute] = None
        return cluster

    def _find_or_add_owned(self, owner: _Cluster, word: str) -> _Cluster:
        key = owner, value_key(word)
        if key not in self._owned:
            self._owned[key] = _Cluster("person" if word in RELATIONS - {"pet"} else "thing", owner=(owner, word))
        return self._current(self._owned[key])

    def _find_or_add(
        self,
        name: str,
        statement: Statement,
        *,
        is_living: bool,
        kind: EntityKind = "person",
        relation: tuple[_Cluster, str] | None = None,
    ) -> _Cluster:
        """Return the cluster of a name; a new one if no cluster has it.

        Of several, it is the one in the same line, else that of the speaker or one of the speaker's relatives, else the
        one that was mentioned last.
        """
        known = [self._current(each) for each in self._by_name[is_living, value_key(name)]]
        fitting = [each for each in known if relation is None or not self._conflicts(each, relation)]
        if relation is not None and (same := [each for each in fitting if relation in each.relations]):
            fitting = same
        if not fitting:
            new = _Cluster(kind)
            self._remember(new, name, is_living=is_living)
            fitting = [new]
        if len(fitting) > 1:
            together = [each for each in fitting if not each.seqs.isdisjoint(statement.seqs)]
            nearest = together or self._choose_own(fitting, statement) or fitting
            fitting = [max(nearest, key=lambda each: each.last_mention)]
        cluster = fitting[0]
        cluster.add_name(name)
        return cluster

    def _choose_own(self, clusters: Sequence[_Cluster], statement: Statement) -> list[_Cluster]:
        """Return which of the clusters are the speaker of a statement, or have a relation to the speaker."""
        name = self._find_speaker(statement.seqs[-1]) if self.speakers and statement.seqs else None
        own = None if name is None else self._find_account(name)
        return [each for each in clusters if each is own or any(owner is own for owner, _ in each.relations)]

    def _find_account(self, name: str) -> _Cluster | None:
        """Return the cluster of the speaker with a name."""
        cluster = self._accounts.get(value_key(name))
        return None if cluster is None else self._current(cluster)

    def _conflicts(self, cluster: _Cluster, relation: tuple[_Cluster, str]) -> bool:
        """Return whether one with the relations of a cluster can't have another, or hardly.

        A sister is no daughter and no friend, one who speaks is no pet, and speakers who are not known to be related
        hardly have the same relatives.
        """
        owner, word = relation
        others = {other for other in RELATIONS - {word} if (owner, other) in cluster.relations}
        if cluster is owner or (word == "pet" and cluster in self.speakers):
            return True
        if any(exclude_each_other(word, other) for other in others):
            return True
        if owner not in self.speakers:
            return False
        owners = self.speakers.intersection(other for other, _ in cluster.relations)
        return bool(owners) and not any(owner is other or (owner, other) in self._families for other in owners)

    def _remember(self, cluster: _Cluster, name: str, *, is_living: bool) -> None:
        known = self._by_name[is_living, value_key(name)]
        if cluster not in known:
            known.append(cluster)

    def apply(self, edits: Sequence[EntityEdit]) -> None:
        """Merge and split clusters. Mentions of statements that are gone, or are not read yet, are left out.

        After more statements were read, apply the same edits again: only the mentions in these are then moved, since
        what was moved before may have been moved again by a later edit, or have got mentions without being named.
        """
        for number, edit in enumerate(edits):
            new = [each for each in edit.mentions if each in self._of and each not in self._applied[number]]
            if not new:
                continue
            if edit.kind == "same":
                split_later = {
                    each for later in edits[number + 1 :] if later.kind == "apart" for each in later.mentions
                }
                same = [each for each in edit.mentions if each in new or (each in self._of and each not in split_later)]
                self._merge([self._of[mention] for mention in same])
            else:
                self._apart[number] = self._separate(new, self._apart.get(number))
            self._applied[number].update(new)
        if edits:
            self._note_all_relations()

    def _note_all_relations(self) -> None:
        """Note all relations again, as those that they are of have changed."""
        for index in (self._relatives, self._owners, self._pets):
            index.clear()
        for cluster in self.all():
            for mention, statement in cluster.mentions.items():
                self._note_relation(mention, cluster, statement)

    def _merge(self, clusters: Sequence[_Cluster]) -> None:
        """Merge clusters, then those that are the same of the merged one: its bike, its sister without a name."""
        distinct = list(dict.fromkeys(self._current(cluster) for cluster in clusters))
        if len(distinct) < 2:
            return
        first = distinct[0]
        for other in distinct[1:]:
            first.absorb(other)
            self._merged[other] = first
            self.speakers |= {first} if other in self.speakers else set()
            self._of |= dict.fromkeys(other.mentions, first)
        for cluster in self.all():
            cluster.relations = {(self._current(owner), word): None for owner, word in cluster.relations}
            cluster.owner = cluster.owner and (self._current(cluster.owner[0]), cluster.owner[1])
        owned: dict[tuple[_Cluster, str], list[_Cluster]] = defaultdict(list)
        for (owner, word), cluster in self._owned.items():
            owned[self._current(owner), word].append(cluster)
        self._owned = {key: same[0] for key, same in owned.items()}
        for same in owned.values():
            self._merge(same)

    def _separate(self, mentions: Sequence[Mention], known: _Cluster | None) -> _Cluster:
        """Move mentions to a cluster of their own, with the names and the relations in their statements.

        Args:
            mentions: the mentions.
            known: the cluster to which others were moved in the same split, if any; None: a new one.

        Returns:
            The cluster.
        """
        first = self._current(self._of[mentions[0]])
        new = _Cluster(first.kind) if known is None else self._current(known)
        statements = {mention: self._current(self._of[mention]).mentions[mention] for mention in mentions}
        for old in dict.fromkeys(self._current(self._of[mention]) for mention in mentions):
            old.remove(statements)
        for mention, statement in statements.items():
            new.add_name(statement.value if mention[1] == VALUE else statement.subject)
            if mention[1] == VALUE and statement.attribute in RELATIONS:
                owner = self._current(self._of[statement.id, SUBJECT])
                new.relations[owner, statement.attribute] = None
            self._assign(mention, new, statement)
        first.relations = {
            (self._current(self._of[number, SUBJECT]), statement.attribute): None
            for (number, part), statement in first.mentions.items()
            if part == VALUE and statement.attribute in RELATIONS and not statement.ends
        }
        return new


def _depth(subject: str) -> int:
    """Return how many relations a subject names; 0 for one with too many, which is taken for a name."""
    depth = subject.count(POSSESSIVE)
    return depth if depth <= MAX_DEPTH else 0


def _reading_key(statement: Statement) -> tuple[object, ...]:
    """Return the key by which statements are read: those of one line together, and among them relations first."""
    return statement.said_at, statement.position, statement.attribute not in RELATIONS, statement.id


def _first_mention(cluster: _Cluster) -> tuple[datetime, int]:
    """Return the key by which entities are sorted into the order in which they were first mentioned."""
    return min(each.said_at for each in cluster.mentions.values()), min(number for number, _ in cluster.mentions)


def _relations(cluster: _Cluster, names: Mapping[_Cluster, str]) -> list[tuple[_Cluster, str]]:
    """Return the relations of an entity, each with the one to which it has it, among the entities that have names."""
    own = [] if cluster.owner is None or cluster.names else [cluster.owner]
    return [(owner, word) for owner, word in (*own, *cluster.relations) if owner in names and word in RELATIONS]


def _name_clusters(clusters: Sequence[_Cluster], speakers: Collection[_Cluster]) -> dict[_Cluster, str]:
    """Return a name for each cluster; those that share one get a relation as well, else a number.

    Speakers have the name alone.
    """
    names: dict[_Cluster, str] = {}
    for cluster in clusters:
        _add_name(cluster, names)
    by_key: dict[str, list[_Cluster]] = defaultdict(list)
    for cluster, name in names.items():
        by_key[value_key(name)].append(cluster)
    result = dict(names)
    for same in by_key.values():
        for cluster in same if len(same) > 1 else ():
            relations = [] if cluster in speakers else _relations(cluster, names)
            if relations:
                owner, word = relations[0]
                result[cluster] = f"{names[cluster]} ({names[owner]}{POSSESSIVE}{word})"
    return _number(result)


def _add_name(cluster: _Cluster, names: dict[_Cluster, str]) -> str:
    if cluster not in names:
        if cluster.own_name or cluster.names:
            names[cluster] = cluster.own_name or next(iter(cluster.names.values()))
        elif cluster.owner is not None:
            owner, word = cluster.owner
            names[cluster] = f"{_add_name(owner, names)}{POSSESSIVE}{word}"
        else:
            names[cluster] = ""
    return names[cluster]


def _number(names: dict[_Cluster, str]) -> dict[_Cluster, str]:
    """Add numbers to names that are still the same."""
    seen: dict[str, int] = defaultdict(int)
    numbered = {}
    for cluster, name in names.items():
        seen[value_key(name)] += 1
        count = seen[value_key(name)]
        numbered[cluster] = name if count == 1 else f"{name} ({count})"
    return numbered
