"""A bank on a server, with the methods of `Memory`.

They take the same arguments, return the same types and raise the same errors, so that a program can use either. A write
is done once, even if its response was lost and it is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self

from everthread.bank import validation
from everthread.bank.settings import REMEMBER_POLICIES
from everthread.chat.character import Character
from everthread.client import decode
from everthread.client.characters import RemoteCharacters
from everthread.client.connection import JSON_TYPE, OCTET_STREAM, Connection, FileBody, build_path, iter_rows
from everthread.client.reply import RemoteReply
from everthread.common.keys import SETTING_REMEMBER, SETTING_SCRIBE
from everthread.errors import BadInput, BadQuery
from everthread.stores.limits import MAX_SEQ, check_bank_id
from everthread.types import (
    Context,
    EndResult,
    Filter,
    Hit,
    ImportResult,
    JSONValue,
    Line,
    Metadata,
    NewLine,
    Receipt,
    Role,
    Sampling,
    Session,
    Stats,
    Unit,
)

DEFAULT_URL = "http://127.0.0.1:7391"
BATCH_LINES = 200  # lines of a request; at their longest they fit into one
TYPE_BY_SUFFIX = {".json": JSON_TYPE, ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson"}


class Client:
    """One bank on a server. Safe from many threads; usable as a context manager.

        with Client(bank="alice") as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            print(memory.context("Where does Mia live?").text)

    The bank is made by the first line. `characters` are the server's, of all its banks. Every method raises
    StoreUnavailable where no server answers, ConfigError where it wants a key, or another one, and NotFound for a bank
    that is not there.
    """

    def __init__(self, url: str = DEFAULT_URL, bank: str = "default", key: str | None = None) -> None:
        """Prepare the connection; nothing is sent yet.

        Args:
            url: of the server.
            bank: its id.
            key: made by `everthread keys`; not needed on the server's own machine.

        Raises:
            BadBankId: for an invalid id.
            ConfigError: for an invalid URL or key.
        """
        self.bank = check_bank_id(bank)
        self._connection = Connection(url, key)
        self.characters = RemoteCharacters(self._connection)

    # ------------------------------------------------------------------ observe

    def observe(
        self,
        text: str,
        *,
        speaker: str | None = None,
        role: Role = "user",
        said_at: datetime | None = None,
        session: str | None = None,
        metadata: Metadata | None = None,
        parent: int | str | None = None,
        key: str | None = None,
    ) -> Line:
        """Store one line; when this returns it is durable and can be recalled. Raises as `Memory.observe`."""
        new = NewLine(text, role if speaker is None else speaker, role, said_at, session, metadata or {}, parent, key)
        return decode.line(self._ask("POST", "lines", body=decode.encode_line(new)))

    def observe_many(self, lines: Iterable[NewLine], progress: Callable[[int], None] | None = None) -> list[Line]:
        """Store several lines, in batches. Raises as `Memory.observe_many`.

        Args:
            lines: the lines. Their form is checked before the first is stored, their content before their batch is.
            progress: called after each batch with the number of lines stored so far.

        Returns:
            The stored lines.
        """
        told = iter([decode.encode_line(line) for line in lines])
        stored: list[Line] = []
        while batch := list(islice(told, BATCH_LINES)):
            stored += decode.lines(self._ask("POST", "lines", "batch", body={"lines": batch})["items"])
            if progress is not None:
                progress(len(stored))
        return stored

    def correct(self, seq: int, text: str) -> Line:
        """Replace the text of a line. Raises as `Memory.correct`."""
        return decode.line(self._ask("PATCH", "lines", validation.check_seq(seq, self.bank), body={"text": text}))

    # ------------------------------------------------------------------- recall

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        where: Filter | None = None,
        as_of: datetime | None = None,
        exclude: Collection[int] = (),
        banks: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the k lines most relevant to the query, best first. As `Memory.recall`."""
        validation.check_positive(k, "k")
        named = {} if banks is None else {"banks": list(banks)}
        told = self._ask("POST", "recall", body={**self._asked(query, where, as_of, exclude), "k": k, **named})
        return [decode.hit(each) for each in told["items"]]

    def context(
        self,
        query: str,
        budget: int = 1000,
        *,
        where: Filter | None = None,
        as_of: datetime | None = None,
        session: str | None = None,
        gate: bool = True,
        min_relevance: float | None = None,
        exclude: Collection[int] = (),
        banks: Collection[str] | None = None,
    ) -> Context:
        """Return what is relevant to the query, formatted for a prompt. As `Memory.context`, with the server's count of
        tokens."""
        validation.check_positive(budget, "budget")
        asked = self._asked(query, where, as_of, exclude)
        named = {} if banks is None else {"banks": list(banks)}
        more = {"budget": budget, "session": session, "gate": gate, "min_relevance": min_relevance, **named}
        return decode.context(self._ask("POST", "context", body={**asked, **more}))

    def _asked(
        self, query: str, where: Filter | None, as_of: datetime | None, exclude: Collection[int]
    ) -> dict[str, Any]:
        seqs = sorted(validation.check_seqs(exclude))
        return {
            "query": query,
            "where": decode.encode_filter(where),
            "as_of": decode.encode_time(as_of),
            "exclude": seqs,
        }

    # --------------------------------------------------------------------- chat

    def reply(
        self,
        text: str,
        *,
        session: str = "current",
        model: str | None = None,
        recipe: str | None = None,
        sampling: Sampling | None = None,
        budget: int | None = None,
        banks: Collection[str] = (),
    ) -> RemoteReply:
        """Store what the person says, and reply as the bank's character. Raises as `Chat.reply`.

        Args:
            text: what the person says; it is on disk when this returns.
            session: a session of the bank, or the one that goes on.
            model: another language model of the server's.
            recipe: another recipe, which the bank then keeps.
            sampling: options of the model.
            budget: tokens of recalled text.
            banks: further banks to recall from.

        Returns:
            The reply, to be iterated for its pieces; its `context` is what was recalled.
        """
        options = decode.encode_options(sampling, model=model, recipe=recipe, budget=budget, banks=list(banks) or None)
        return RemoteReply(self._connection, self.bank, session, text, options)

    def end(self, session: str = "current", remember: bool | None = None) -> EndResult:
        """End a conversation: it is summarised and remembered, or forgotten. As `Chat.end`, for any session."""
        return decode.ending(self._ask("POST", "chat", session, "end", body={"remember": remember}))

    def character(self) -> Character:
        """Return the character of the bank: its own, or the default one."""
        return Character.from_json(self._ask("GET", "character"))

    def set_character(self, character: Character) -> None:
        """Set the character of the bank. Raises NotFound before the bank has its first line."""
        self._ask("PUT", "character", body=character.to_json())

    # ------------------------------------------------------- what is remembered

    def lines(
        self, where: Filter | None = None, *, after: int = 0, limit: int | None = None, retracted: bool = False
    ) -> Iterator[Line]:
        """Yield lines by seq, fetched as they are read. Raises as `Memory.lines`.

        Args:
            where: a filter by session, speaker, role and time.
            after: yield lines with greater numbers.
            limit: the maximum number of lines.
            retracted: whether to include retracted lines.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise BadQuery(f"limit must be a whole number from 0, got {limit!r}")
        if type(after) is not int:
            raise BadQuery(f"after must be a whole number, got {after!r}")
        query = {**decode.encode_list_filter(where), "retracted": retracted, "after_seq": min(max(after, 0), MAX_SEQ)}
        return islice(map(decode.line, self._pages("lines", **query)), limit)

    def sessions(self) -> list[Session]:
        """Return the conversations in the order of their beginnings."""
        found = map(decode.session, self._pages("sessions"))
        return sorted(found, key=lambda each: (each.started_at, each.first_seq))

    def stats(self) -> Stats:
        """Return the counts of the bank."""
        return decode.stats(self._ask("GET"))

    def banks(self) -> list[str]:
        """Return the ids of the banks that the key may read, sorted."""
        return [told["id"] for told in self._connection.list_items("banks")]

    def export(self, *, retracted: bool = False) -> Iterator[str]:
        """Yield all lines as rows of JSON Lines, which `everthread import` reads."""
        with self._connection.stream("GET", build_path("banks", self.bank, "export"), retracted=retracted) as answer:
            yield from iter_rows(answer)

    def import_file(
        self,
        content: bytes,
        *,
        name: str | None = None,
        format: str | None = None,
        assistant: Collection[str] = (),
        tz: str | None = None,
    ) -> ImportResult:
        """Keep the lines of a file of conversations: all of them, or none where anything in it is wrong. Those that the
        bank has already are not added again.

        name is what the file is called, by which its format is found and its sessions are named; format, assistant
        and tz are as for `everthread import`. Raises BadFile, BadInput for what is not the bytes of a file, BadQuery
        for a name that can be none, and ConfigError for an unknown format or zone and for an option that means nothing
        to the format.
        """
        for what, said in (("name", name), ("format", format), ("tz", tz)):
            if said is not None:
                validation.check_filter_name(said, what)
        names = [
            validation.check_filter_name(each, "assistant")
            for each in ([assistant] if isinstance(assistant, str) else assistant)
        ]
        file = FileBody(content, TYPE_BY_SUFFIX.get(PurePath(name or "").suffix.lower(), OCTET_STREAM))
        place = build_path("banks", self.bank, "import")
        told = self._connection.request("POST", place, file, name=name, format=format, assistant=names, tz=tz)
        return ImportResult(**told)

    def retract(self, seq: int) -> Line:
        """Exclude a line from recall for good. Raises as `Memory.retract`."""
        return decode.line(self._ask("POST", "lines", validation.check_seq(seq, self.bank), "retract"))

    def forget(self, *, seq: int | None = None, session: str | None = None, everything: bool = False) -> Receipt:
        """Remove a line, a session, or the whole bank, for good: exactly one of them. Raises as `Memory.forget`."""
        if (seq is not None) + (session is not None) + everything != 1:
            raise BadQuery("forget takes exactly one of seq, session, everything=True")
        what: tuple[str | int, ...] = ()
        if seq is not None:
            what = "lines", validation.check_seq(seq, self.bank)
        elif session is not None:
            what = "sessions", validation.check_filter_name(session, "session")
        return decode.receipt(self._ask("DELETE", *what))

    # -------------------------------------------------------- what is written of it

    def units(self, kind: str | None = None, *, current: bool = False, category: str | None = None) -> list[Unit]:
        """Return the units that are not retracted, by kind and id. As `Memory.units`."""
        told = self._pages("units", kind=kind, current=current, category=category)
        found = [decode.unit(each) for each in told]
        return sorted(found, key=lambda unit: (unit.kind, unit.id))

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Replace the text of a current unit. Raises as `Memory.edit_unit`."""
        return decode.unit(self._ask("PATCH", "units", kind, number, body={"text": text}))

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Remove a unit and those that it superseded, for good; return their ids. Raises as `Memory.forget_unit`."""
        told = self._ask("DELETE", "units", kind, number)
        return [told["id"], *told["earlier"]]

    def set_notes(self, text: str) -> Unit:
        """Replace the notes by hand. Raises as `Memory.set_notes`."""
        if not isinstance(text, str) or not text.strip():  # the server would empty them
            raise BadInput(f"notes must be text that is not blank, got {text!r}; forget_unit removes them")
        told = self._ask("PUT", "notes", body={"text": text})
        return next(unit for unit in self.units("note") if unit.id == told["id"])

    def settings(self) -> dict[str, JSONValue]:
        """Return the bank's settings: whether it remembers conversations, and its scribe's model if that is set."""
        return dict(self._ask("GET", "settings"))

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Change a setting.

        Args:
            name: `remember`: whether conversations are remembered; `scribe`: the model that writes notes and summaries.
            value: always, ask or never (None: ask); or the model's name, none, or None for the server's.

        Raises:
            BadQuery: for another name or value.
            ConfigError: for a model that the server doesn't have.
        """
        if name == SETTING_SCRIBE and isinstance(value, str | None):
            self._ask("PATCH", "settings", body={SETTING_SCRIBE: value})
            return
        if name != SETTING_REMEMBER or (value is not None and value not in REMEMBER_POLICIES):
            raise BadQuery(f"{name!r} can't be set to {value!r} here; remember can, to {', '.join(REMEMBER_POLICIES)}")
        self._ask("PATCH", "settings", body={SETTING_REMEMBER: value or "ask"})

    # ------------------------------------------------------------------ its recipe

    def recipes(self) -> list[dict[str, Any]]:
        """List the server's recipes with their options: type, limits, meaning and value of each."""
        return list(self._connection.request("GET", "recipes")["items"])

    def recipe(self) -> dict[str, Any]:
        """Show the bank's recipe with the values of its options."""
        return dict(self._ask("GET", "recipe"))

    def set_recipe(self, name: str | None = None, options: Mapping[str, JSONValue] | None = None) -> dict[str, Any]:
        """Set the bank's recipe with these options.

        Args:
            name: one of `recipes`; None leaves the recipe to the server.
            options: values by the options' names; missing ones are the server's.

        Returns:
            The bank's recipe, as `recipe`.

        Raises:
            ConfigError: for an unknown recipe.
            BadInput: for an unknown option or a value outside its limits.
        """
        return dict(self._ask("PUT", "recipe", body={"name": name, "options": dict(options or {})}))

    def set_options(self, options: Mapping[str, JSONValue]) -> dict[str, Any]:
        """Change some options of the bank's recipe. Raises BadInput."""
        return dict(self._ask("PATCH", "recipe", body={"options": dict(options)}))

    # -------------------------------------------------------------- the connection

    def _ask(self, method: str, *what: str | int, body: object = None) -> Any:
        return self._connection.request(method, build_path("banks", self.bank, *what), body)

    def _pages(self, what: str, **query: object) -> Iterator[Any]:
        return self._connection.list_items(build_path("banks", self.bank, what), **query)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
