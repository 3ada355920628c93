"""The methods of `Memory` about facts: listing them, and confirming, correcting, ending and forgetting them.

Before each answer, lines that were not read for facts yet are read. A fact of several statements is confirmed,
corrected or ended with a statement of the person's for each of them, which derives from the same lines: so each lasts
as long as its lines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from reprlib import repr as shortly

from everthread.bank import deletion
from everthread.bank.damage import raises_bank_damaged
from everthread.bank.validation import check_name
from everthread.common.keys import SETTING_ENTITIES
from everthread.common.timestamps import to_micros
from everthread.errors import BadInput, BadQuery, NotFound
from everthread.facts.asker import list_asker_names
from everthread.facts.attributes import ATTRIBUTES, FAVOURITE, is_known
from everthread.facts.cache import FactCache, FactIndex
from everthread.facts.entities import Entities, EntityEdit
from everthread.facts.entity_edits import edit_to_json, parse_edits
from everthread.facts.history import held_at, sort_facts, value_key
from everthread.facts.line_batch import StatementReader
from everthread.facts.partial_dates import read_moment
from everthread.facts.reading_state import read_setting
from everthread.facts.stored_statements import add_statements, forget_statements
from everthread.facts.types import Entity, Fact, Profile, Statement, StoredStatement
from everthread.facts.unread_lines import BATCH_LINES
from everthread.stores.base import Store
from everthread.stores.limits import check_storable
from everthread.types import JSONValue, now

MAX_VALUE_CHARS = 200  # of a value that the person writes
MAX_LINES_READ = 64  # for facts, while a reply waits; a chat reads its lines in the background
MAX_TRIES = 20  # to change a fact while others change facts
MAX_EDIT_MENTIONS = 200  # of each merge and split; more say nothing else


@raises_bank_damaged
class BankFacts:
    """The facts of one bank."""

    bank: str
    store: Store
    fact_cache: FactCache
    statement_reader: StatementReader  # reads new lines for facts

    def facts(
        self,
        subject: str | None = None,
        attribute: str | None = None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        include_ended: bool = False,
    ) -> list[Fact]:
        """Return what is known, attribute by attribute; of an attribute with several values, what was said last first.

        Args:
            subject: only facts about this one: a name, or an alias such as "Nora's sister".
            attribute: only facts of this attribute, such as "home".
            as_of: only facts that held at this moment; None: that hold now.
            known_at: only what had been said until this moment.
            include_ended: facts that have ended, were replaced or have not begun, too; without `as_of` only.

        Raises:
            BadInput: the attribute is unknown.
            BadQuery: a moment is invalid.
        """
        _check_attribute(attribute)
        for name, moment in (("as_of", as_of), ("known_at", known_at)):
            if moment is not None:
                to_micros(moment, name, BadQuery)
        known = self._read_known()
        names = None if subject is None else {entity.name for entity in known.entities.find(subject)}
        found = [
            fact
            for fact in known.facts(known_at)
            if (names is None or fact.subject in names)
            and attribute in (None, fact.attribute)
            and ((as_of is None and include_ended) or held_at(fact, as_of or now()))
        ]
        return sort_facts(found)  # again, as positions depend on which facts are listed

    def get_fact(self, fact_id: int) -> Fact:
        """Return a fact by its id, or by that of one of its statements, whether or not it still holds.

        Raises:
            NotFound: there is no such fact.
        """
        return self._read_known().find_fact(fact_id)

    def profile(self, name: str | None = None, *, include_ended: bool = False) -> Profile:
        """Return an entity and what is known of it.

        Args:
            name: its name or an alias; None: the person who talks with the bank's character.
            include_ended: facts that have ended, were replaced or have not begun, too.

        Raises:
            NotFound: nothing is known of it.
            BadInput: several have this name; the message lists their full names.
        """
        known = self._read_known()
        entity = self._find_person(known.entities) if name is None else _find_entity(known.entities, name)
        by_attribute: dict[str, list[Fact]] = defaultdict(list)
        for fact in known.facts():
            if fact.subject == entity.name and (include_ended or held_at(fact, now())):
                by_attribute[fact.attribute].append(fact)
        return Profile(entity, {attribute: tuple(facts) for attribute, facts in by_attribute.items()})

    def entities(self) -> list[Entity]:
        """Return the people, pets, places, organisations and things that facts name, in the order of their mention."""
        return self._read_known().entities.all()

    def confirm_fact(self, fact_id: int) -> Fact:
        """Note that the person has confirmed a fact; return it as it is now. Raises NotFound."""
        return self._state(fact_id, lambda statement: statement, superseding=True)

    def correct_fact(self, fact_id: int, value: str) -> Fact:
        """Replace the value of a fact, also in the past; return the fact as it is now. Its lines stay as they are.

        A line that is said later may change it again.

        Args:
            fact_id: the fact.
            value: the right value.

        Raises:
            BadInput: the value is blank or too long, or the fact is known only as ended, and another has the value.
            NotFound: there is no such fact.
        """
        text = _check_value(value)
        self._check_not_ending(fact_id, text)
        return self._state(fact_id, lambda statement: replace(statement, value=text), superseding=True)

    def end_fact(self, fact_id: int, moment: str | None = None) -> Fact:
        """Note that a fact is no longer true, or since when, if it has ended; return it as it is now.

        Args:
            fact_id: the fact; without a moment, one that has ended stays as it is.
            moment: the year, month or day at which it ended ("2024-05"); None: now.

        Raises:
            BadInput: the moment is invalid or before the fact began, or the fact has ended without a statement of its
                own that says so: another value took its place, or it is a memory of the past.
            NotFound: there is no such fact.
        """
        if moment is not None:
            read_moment(moment, UTC)

        def end(statement: Statement) -> Statement:
            at = max(now().astimezone(statement.said_at.tzinfo), statement.said_at)
            return replace(statement, ends=True, moment=moment, said_at=at, is_undated=False)

        for known, before in self._try_change():
            fact = known.find_fact(fact_id)
            if moment is not None:
                _check_end(known, fact, moment)
            if fact.holds:
                stated = {each.statement.seqs: each for each in known.statements_of(fact)}  # one end for each line
                is_changed = self._restate([*stated.values()], end, before, superseding=False)
            elif moment is None:
                return fact
            else:
                redate = partial(replace, moment=moment)
                is_changed = self._restate(_find_ends(known, fact), redate, before, superseding=True)
            if is_changed:
                return self._read_known().find_fact(fact_id)
        raise _not_changed(fact_id)

    def resume_fact(self, fact_id: int) -> Fact:
        """Note that a fact that has ended is still true; return it as it is now. `end_fact` undoes it.

        Args:
            fact_id: the fact; one that holds stays as it is.

        Raises:
            BadInput: the fact has ended without a statement of its own that says so, as in `end_fact`.
            NotFound: there is no such fact.
        """
        for known, before in self._try_change():
            fact = known.find_fact(fact_id)
            if fact.holds:
                return fact
            stated = {each.seqs: each for each, _ in known.statements_of(fact) if not each.ends}
            if self._restate(_find_ends(known, fact), partial(_resume, fact, stated), before, superseding=True):
                return self._read_known().find_fact(fact_id)
        raise _not_changed(fact_id)

    def list_fact_lines(self, fact_id: int) -> list[int]:
        """Return the numbers of the lines that state a fact's value, also at other times. Raises NotFound."""
        known = self._read_known()
        return _list_seqs(known.statements_of_value(known.find_fact(fact_id)))

    def forget_fact(self, fact_id: int, *, with_lines: bool = False) -> list[int]:
        """Delete a fact, and what lines state of the same value at other times.

        The lines stay, unless they are forgotten with it, and are never read for facts again.

        Args:
            fact_id: the fact.
            with_lines: whether to forget its lines as well, as `Memory.forget` does.

        Returns:
            The numbers of the lines that stated it, as `list_fact_lines` returns them.

        Raises:
            NotFound: there is no such fact.
            StoreUnavailable: it is deleted, but bytes of it may remain.
        """
        if not with_lines:
            return self._forget_value(fact_id)
        if seqs := self.list_fact_lines(fact_id):
            deletion.forget(self.store, self.bank, "line", seqs)
        with suppress(NotFound):  # nothing that has no lines states it
            self._forget_value(fact_id)
        return seqs

    def merge_entities(self, name: str, other: str) -> Entity:
        """Note that two entities are one; return it. `split_entity` undoes that.

        Args:
            name: the one, under whose name both are listed.
            other: the other.

        Raises:
            NotFound, BadInput: as in `profile`.
        """
        entities = self._read_known().entities
        found = [_find_entity(entities, each) for each in (name, other)]
        mentions = [entities.mentions(entity.name)[: MAX_EDIT_MENTIONS // 2] for entity in found]
        return self._edit_entities(EntityEdit("same", (*mentions[0], *mentions[1])))

    def split_entity(self, name: str, statements: Collection[int]) -> Entity:
        """Note that some statements about an entity are about another one, and return that. `merge_entities` undoes it.

        Args:
            name: the entity.
            statements: the ids of statements, such as those of a fact.

        Raises:
            NotFound: there is no such entity, or none of the statements is about it.
            BadInput: as in `profile`.
        """
        entities = self._read_known().entities
        entity = _find_entity(entities, name)
        mentions = [mention for mention in entities.mentions(entity.name) if mention[0] in statements]
        if not mentions:
            raise NotFound(f"none of the statements {sorted(statements)} is about {entity.name!r}; see its profile")
        return self._edit_entities(EntityEdit("apart", tuple(mentions[:MAX_EDIT_MENTIONS])))

    def read_facts(self, progress: Callable[[int], None] | None = None, limit: int | None = None) -> None:
        """Read lines that were not read for facts yet, so that a later call need not do it.

        Args:
            progress: called with the number of lines after each batch.
            limit: the maximum number of lines; None: all.
        """
        while unread := self.fact_cache.count_unread():
            size = BATCH_LINES if limit is None else min(BATCH_LINES, limit)
            self.fact_cache.read(self.statement_reader, size)
            done = unread - self.fact_cache.count_unread()
            limit = None if limit is None else limit - done
            if progress is not None:
                progress(done)
            if done <= 0 or limit == 0:
                break

    # ------------------------------------------------------------------ helpers

    def _read_known(self) -> FactIndex:
        return self.fact_cache.read(self.statement_reader)

    def _check_not_ending(self, fact_id: int, value: str) -> None:
        """Raise BadInput if a correction of a fact that is known only as ended would end another fact."""
        known = self._read_known()
        fact = known.find_fact(fact_id)
        if all(statement.ends for statement, _ in known.statements_of(fact)):
            for other in known.facts_about(fact.subject):
                key = other.attribute, value_key(other.value)
                if other.id != fact.id and key == (fact.attribute, value_key(value)):
                    raise BadInput(
                        f"invalid value of a fact: got {value!r}, which fact {other.id} has; expected another, as fact "
                        f"{fact_id} is known only as ended. End fact {other.id} and forget fact {fact_id} instead"
                    )

    def _state(self, fact_id: int, change: Callable[[Statement], Statement], *, superseding: bool) -> Fact:
        """Store a statement of the person's for each statement of a fact, and return the fact as it is now.

        With `superseding`, they take the place of these statements, and of those that say that it has ended.
        """
        for known, before in self._try_change():
            fact = known.find_fact(fact_id)
            stored = [*known.statements_of(fact), *(known.endings_of(fact) if superseding else ())]
            if self._restate(stored, change, before, superseding=superseding):
                return self._read_known().find_fact(stored[0].statement.id)
        raise _not_changed(fact_id)

    def _restate(
        self,
        stored: Sequence[StoredStatement],
        change: Callable[[Statement], Statement],
        before: JSONValue | None,
        *,
        superseding: bool,
    ) -> bool:
        """Store changed statements as the person's, in the place of the others or beside them; False if that failed."""
        changed = [change(statement) for statement, _ in stored]
        new = [replace(each, writer="person", confidence=1.0, id=each.id if superseding else 0) for each in changed]
        superseded = [each.unit_id for each in stored] if superseding else []
        return add_statements(self.store, self.bank, new, before, superseded)

    def _try_change(self) -> Iterator[tuple[FactIndex, JSONValue | None]]:
        """Yield what is known, and the setting with which it may be changed, for each of the tries to do so."""
        for _ in range(MAX_TRIES):
            before = read_setting(self.store, self.bank)
            yield self._read_known(), before

    def _forget_value(self, fact_id: int) -> list[int]:
        """Forget what lines state of a fact's value, and return the numbers of the lines. Raises NotFound."""
        for known, before in self._try_change():
            stored = known.statements_of_value(known.find_fact(fact_id))
            if forget_statements(self.store, self.bank, stored, before):
                return _list_seqs(stored)
        raise _not_changed(fact_id)

    def _edit_entities(self, edit: EntityEdit) -> Entity:
        def add(value: JSONValue | None) -> JSONValue:
            return [*map(edit_to_json, parse_edits(value)), edit_to_json(edit)]

        self.store.update_setting(self.bank, SETTING_ENTITIES, add)
        first = edit.mentions[0]
        entities = self._read_known().entities
        return next(entity for entity in entities.all() if first in entities.mentions(entity.name))

    def read_known(self, limit: int | None = MAX_LINES_READ, exclude: Collection[int] = ()) -> FactIndex:
        """Return what is known, for a prompt: without waiting for more than a few unread lines.

        Args:
            limit: the maximum number of lines that are read for facts; None: all that were not.
            exclude: lines that are in the prompt already, so that their facts aren't needed.
        """
        return self.fact_cache.read(self.statement_reader, limit, exclude)

    def _find_person(self, entities: Entities) -> Entity:
        """Return the entity of the person who talks with the bank's character, else of the one most is known of."""
        for name in list_asker_names(self.store, self.bank):
            if name and (found := entities.find(name)):
                return found[0]
        counts = Counter(statement.subject for statement in entities.statements if statement.attribute)
        if not counts and entities.statements:
            raise NotFound(
                f"bank {self.bank!r} has no profile: it knows only sentences of a model or another memory, which "
                "Memory.facts() or `everthread facts` lists"
            )
        if not counts:
            raise NotFound(f"nothing is known in bank {self.bank!r} yet; store what people say with observe")
        return entities.find(counts.most_common(1)[0][0])[0]


def _not_changed(fact_id: int) -> NotFound:
    return NotFound(
        f"fact {fact_id} could not be changed: a line that states it is missing, or others change the bank's facts all "
        "the time. Forget the fact if its lines are gone, else try again"
    )


def _check_end(known: FactIndex, fact: Fact, moment: str) -> None:
    """Raise BadInput if a fact would end before it began, or before a line said that it holds.

    When the person has written or resumed a fact, no line may say so, and only a stated beginning counts.
    """
    if all(statement.ends for statement, _ in known.statements_of(fact)):
        return
    since = fact.since_stated
    if since is None and fact.since is not None and not fact.is_confirmed:
        since = fact.since.date().isoformat()
    if since is not None and moment < since[: len(moment)]:
        raise BadInput(
            f"invalid end of a fact: got {moment}, before it began; expected {since} or later",
            reason="ends-before",
            values={"moment": moment, "since": since},
        )


def _find_ends(known: FactIndex, fact: Fact) -> list[StoredStatement]:
    """Return the statements that say that a fact has ended. Raises BadInput if something else ended it."""
    if not fact.can_resume:
        raise BadInput(
            f"the end of fact {fact.id} can't be changed: no statement of this value alone says that it has "
            f"ended{f', but {fact.replaced_by!r} took its place' if fact.replaced_by else ''}; correct or "
            "forget the fact that took its place, or the line that ends it, instead"
        )
    own = [each for each in known.statements_of(fact) if each.statement.ends]
    return [*own, *known.endings_of(fact)]


def _resume(fact: Fact, stated: Mapping[tuple[int, ...], Statement], end: Statement) -> Statement:
    """Return that a value was true when the lines of its end were said, so that what others said since still counts.

    If these lines name the value otherwise ("the bike" for a red one), the statement derives from those that state it
    as well.

    Args:
        fact: the fact that has ended.
        stated: what states the value, by its lines.
        end: what ends it: a statement of the person's about one of these, or of another line.
    """
    line = stated.get(end.seqs) or replace(end, moment=None, is_event=False)
    if value_key(end.value) != value_key(fact.value) and stated:
        line = replace(line, seqs=tuple(sorted({*next(iter(stated)), *end.seqs})), value=fact.value)
        return replace(line, ends=False, id=end.id)
    return replace(line, ends=False, value=end.value, id=end.id)


def _list_seqs(stored: Iterable[StoredStatement]) -> list[int]:
    """Return the numbers of the lines of statements, ascending."""
    return sorted({seq for statement, _ in stored for seq in statement.seqs})


def _find_entity(entities: Entities, name: str) -> Entity:
    """Return the one entity of a name. Raises NotFound and BadInput."""
    found = entities.find(check_name(name, "a name"))
    if not found:
        raise NotFound(
            f"nothing is known about {name!r}; check the spelling with the names that Memory.entities() or "
            "`everthread facts entities` lists"
        )
    if len(found) > 1:
        names = ", ".join(repr(entity.name) for entity in found)
        raise BadInput(f"several are called {name!r}: {names}; give one of these names")
    return found[0]


def _check_attribute(attribute: str | None) -> None:
    if attribute is not None and not (isinstance(attribute, str) and is_known(attribute)):
        known = ", ".join(sorted(ATTRIBUTES))
        raise BadInput(f"unknown attribute {attribute!r}; expected one of {known}, or {FAVOURITE.strip()!r} and a kind")


def _check_value(value: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_VALUE_CHARS:
        raise BadInput(
            f"invalid value of a fact: got {shortly(value)}; "
            f"expected 1 to {MAX_VALUE_CHARS} characters that are not all blank"
        )
    return check_storable(" ".join(value.split()), "the value of a fact", BadInput)
