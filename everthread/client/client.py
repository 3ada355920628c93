"""A bank on a server, with the methods of `Memory` that do not need its store.

They return the same types, raise the same errors and take the same arguments, except for those that docs/server.md
lists. A write is performed only once, even if its response is lost and the request is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self, Unpack

from everthread.bank import deletion, validation
from everthread.bank.line_validation import check_lines
from everthread.bank.settings import REMEMBER_POLICIES
from everthread.bank.text_search import parse_search
from everthread.chat.character import Character
from everthread.client import decode
from everthread.client.bank_facts import ClientFacts
from everthread.client.characters import RemoteCharacters
from everthread.client.connection import JSON_TYPE, OCTET_STREAM, Connection, FileBody, build_path, iter_rows
from everthread.client.import_options import ImportOptions, encode_options
from everthread.client.reply import RemoteReply
from everthread.common.keys import SETTING_MODEL_FACTS, SETTING_RECALL_FROM, SETTING_REMEMBER, SETTING_SCRIBE
from everthread.errors import BadInput, BadQuery
from everthread.stores.arrays import to_ranges
from everthread.stores.limits import check_bank_id
from everthread.transfer.types import FileContents, ImportResult
from everthread.types import (
    Context,
    EndResult,
    Evidence,
    Filter,
    Hit,
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
BATCH_LINES = 200  # lines per request; even the longest ones fit into a request body
TYPE_BY_SUFFIX = {".json": JSON_TYPE, ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson"}


class Client(ClientFacts):
    """One bank on a server; a context manager. Thread-safe, also in processes that are forked while it is open.

        with Client(bank="alice") as memory:
            memory.observe("My sister Mia moved to Lisbon in May.", speaker="Alice")
            print(memory.context("Where does Mia live?").text)

    The first line creates the bank; before, methods that read raise NotFound, whereas `Memory` creates a bank that it
    opens. `characters` are the server's characters, which all its banks share. Every method raises StoreUnavailable if
    no server answers, and ConfigError if a key is missing or invalid.
    """

    def __init__(self, url: str = DEFAULT_URL, bank: str = "default", key: str | None = None) -> None:
        """Prepare the connection; nothing is sent yet.

        Args:
            url: the server's URL.
            bank: the bank's id.
            key: an API key, from `everthread keys`; not needed on the server's own machine.

        Raises:
            BadBankId: the bank's id is invalid.
            ConfigError: the URL or the key is invalid.
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
        replace: bool = False,
        undated: bool = False,
    ) -> Line:
        """Store one line; when this returns it is durable and can be recalled.

        Raises the same errors as `Memory.observe`.
        """
        name = role if speaker is None else speaker
        new = NewLine(text, name, role, said_at, session, metadata or {}, parent, key, undated=undated)
        return decode.line(self._request("POST", "lines", body={**decode.encode_line(new), "replace": replace}))

    def observe_many(
        self, lines: Iterable[NewLine], progress: Callable[[int], None] | None = None, *, replace: bool = False
    ) -> list[Line]:
        """Store several lines, in batches. Raises the same errors as `Memory.observe_many`.

        Args:
            lines: the lines. All are validated before the first is stored, except their parents.
            progress: called after each batch with the number of lines stored so far.
            replace: whether each line replaces the one with its key.

        Returns:
            The stored lines.
        """
        encoded = iter([decode.encode_line(line) for line in check_lines(lines)])
        stored: list[Line] = []
        while batch := list(islice(encoded, BATCH_LINES)):
            body = {"lines": batch, "replace": replace}
            stored += decode.lines(decode.items(self._request("POST", "lines", "batch", body=body)))
            if progress is not None:
                progress(len(stored))
        return stored

    def correct(self, seq: int, text: str) -> Line:
        """Replace the text of a line. Raises the same errors as `Memory.correct`."""
        return decode.line(self._request("PATCH", "lines", validation.check_seq(seq, self.bank), body={"text": text}))

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
        facts: bool = False,
    ) -> list[Hit]:
        """Return the k lines most relevant to the query, best first. See `Memory.recall`."""
        validation.check_positive(k, "k")
        body = {**self._encode_query(query, where, as_of, exclude), "k": k}
        body |= {} if banks is None else {"banks": validation.check_bank_ids(banks)}
        body |= {"facts": True} if facts else {}  # a server of 0.1.0 knows no facts
        return [decode.hit(item) for item in decode.items(self._request("POST", "recall", body=body))]

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
        deadline_s: float | None = None,
        facts: bool | None = None,
    ) -> Context:
        """Return the memories relevant to the query, formatted for a prompt. See `Memory.context`.

        Tokens are counted by the server, whose time the deadline limits.
        """
        validation.check_positive(budget, "budget")
        body = self._encode_query(query, where, as_of, exclude)
        body |= {"budget": budget, "session": session, "gate": gate, "min_relevance": min_relevance}
        body |= {} if banks is None else {"banks": validation.check_bank_ids(banks)}
        body |= {"deadline_s": validation.check_duration(deadline_s, "deadline_s"), "facts": facts}
        return decode.context(self._request("POST", "context", body=body))

    def _encode_query(
        self, query: str, where: Filter | None, as_of: datetime | None, exclude: Collection[int]
    ) -> dict[str, Any]:
        return {
            "query": query,
            "exclude": sorted(validation.check_seqs(exclude)),
            "where": decode.encode_filter(where),
            "as_of": decode.encode_time(as_of),
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
        """Store what the user says, and reply as the bank's character. Raises the same errors as `Chat.reply`.

        Args:
            text: the user's words; they are on disk when this returns.
            session: a session of the bank; default: the current one.
            model: another of the server's language models.
            recipe: another recipe, which is then saved with the bank.
            sampling: sampling parameters of the model.
            budget: tokens of recalled text.
            banks: further banks to recall from.

        Returns:
            The reply, an iterator over its pieces; its `context` has the recalled lines.
        """
        names = validation.check_bank_ids(banks) if banks else None
        options = decode.encode_options(sampling, model=model, recipe=recipe, budget=budget, banks=names)
        return RemoteReply(self._connection, self.bank, session, text, options)

    def end(self, session: str = "current", remember: bool | None = None) -> EndResult:
        """End a conversation: it is summarised and remembered, or forgotten. As `Chat.end`, for any session, not as
        `Memory.end`, which only marks the end."""
        return decode.end_result(self._request("POST", "chat", session, "end", body={"remember": remember}))

    def character(self) -> Character:
        """Return the character of the bank: its own, or the default one."""
        return Character.from_json(self._request("GET", "character"))

    def set_character(self, character: Character) -> None:
        """Set the character of the bank. Raises NotFound before the bank has its first line."""
        self._request("PUT", "character", body=character.to_json())

    # -------------------------------------------------------------------- reading

    def lines(
        self,
        where: Filter | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        include_retracted: bool = False,
        include_wordless: bool = False,
    ) -> Iterator[Line]:
        """Yield lines by seq, fetched as they are read. Raises the same errors as `Memory.lines`.

        Args:
            where: a filter by session, speaker, role, time, condition and key_prefix.
            after: yield lines with greater numbers.
            limit: the maximum number of lines.
            include_retracted: whether to include retracted lines.
            include_wordless: whether to include lines without words, such as tool calls.
        """
        after = validation.check_page(after, limit)
        query = {
            **decode.encode_list_filter(where),
            "retracted": include_retracted,
            "wordless": include_wordless,
            "after_seq": after,
        }
        return islice(map(decode.line, self._list_items("lines", **query)), limit)

    def search(
        self, text: str, where: Filter | None = None, *, before: int | None = None, limit: int | None = None
    ) -> Iterator[Line]:
        """Yield all lines that contain the words of a text, those said last first, fetched as they are read.

        Raises the same errors as `Memory.search`.

        Args:
            text: the words; each is also found as part of another. A blank text finds every line.
            where: a filter.
            before: only lines that follow the one with this number in the result.
            limit: the maximum number of lines.
        """
        parse_search(text, before, limit)
        return islice(self._search_pages({"text": text, "where": decode.encode_filter(where)}, before), limit)

    def _search_pages(self, body: dict[str, Any], before: int | None) -> Iterator[Line]:
        while True:
            page = self._request("POST", "search", body={**body, "before": before})
            yield from map(decode.line, decode.items(page))
            if (before := page["next"]) is None:
                return

    def get(self, seq: int | None = None, *, key: str | None = None) -> Line | None:
        """Return the line with a number or a key; None if it does not exist or was retracted.

        Raises the same errors as `Memory.get`.

        Args:
            seq: the line's number.
            key: its key.
        """
        seq, key = validation.check_line_id(seq, key)
        if key is None and seq is None:
            return None
        query = {"key": key} if seq is None else {"after_seq": seq - 1, "limit": 1, "wordless": True}
        items = decode.items(self._connection.request("GET", build_path("banks", self.bank, "lines"), **query))
        return next((line for line in map(decode.line, items) if seq in (None, line.seq)), None)

    def evidence(self, seq: int) -> Evidence:
        """Return the memories that a reply was given; see `Memory.evidence`."""
        return decode.evidence(self._request("GET", "lines", validation.check_seq(seq, self.bank), "evidence"))

    def sessions(self) -> list[Session]:
        """Return the sessions in the order in which they began."""
        sessions = map(decode.session, self._list_items("sessions"))
        return sorted(sessions, key=lambda session: (session.started_at, session.first_seq))

    def set_session(self, session: str, *, title: str | None = None, metadata: Metadata | None = None) -> Session:
        """Set the title or the metadata of a session. See `Memory.set_session`."""
        name = validation.check_filter_name(session, "session")
        title, metadata = validation.check_title(title), validation.check_session_metadata(metadata)
        changes = {"title": title, "metadata": metadata}
        return decode.session(self._request("PATCH", "sessions", name, body=changes))

    def stats(self) -> Stats:
        """Return the counts of the bank."""
        return decode.stats(self._request("GET"))

    def banks(self) -> list[str]:
        """Return the ids of the banks that the key may read, sorted."""
        return [bank["id"] for bank in self._connection.list_items("banks")]

    def export(self, format: str = "jsonl", *, session: str | None = None, retracted: bool = False) -> Iterator[str]:
        """Yield the rows of a file; see `everthread.transfer.exporting.export`, also for the errors.

        Args:
            format: jsonl, of which `everthread import` into an empty bank makes the same bank again, markdown, html,
                sillytavern, openai or openwebui.
            session: only this session; None: all.
            retracted: whether retracted lines are included.
        """
        path, options = build_path("banks", self.bank, "export"), {"format": format, "session": session}
        with self._connection.stream("GET", path, retracted=retracted, **options) as response:
            yield from iter_rows(response)

    def import_file(self, content: bytes, *, name: str | None = None, **options: Unpack[ImportOptions]) -> ImportResult:
        """Store the lines of a file of conversations: all of them, or none if any part of the file is invalid.

        Lines that the bank already has are skipped. Of an export of another service, conversations that can't be read
        are left out, unless it is `strict`.

        Args:
            content: the file's bytes.
            name: the file's name, from which its format and the names of its sessions are derived.
            **options: how the file is read.

        Raises:
            BadFile: the file can't be read in its format.
            BadInput: `content` is not bytes.
            BadQuery: a name is invalid.
            ConfigError: the format or the zone is unknown, or the format has no such option.
        """
        return decode.import_result(self._send_file("import", content, name, options))

    def preview_import(
        self, content: bytes, *, name: str | None = None, **options: Unpack[ImportOptions]
    ) -> FileContents:
        """Return the contents of a file as it would be imported. Takes the arguments of `import_file`, and raises the
        same errors."""
        return decode.file_contents(self._send_file("import/preview", content, name, options))

    def _send_file(self, action: str, content: bytes, name: str | None, options: ImportOptions) -> Any:
        """Send a file with the options of an import; return the response."""
        parameters = encode_options(options)
        if name is not None:
            validation.check_filter_name(name, "name")
        file = FileBody(content, TYPE_BY_SUFFIX.get(PurePath(name or "").suffix.lower(), OCTET_STREAM))
        path = build_path("banks", self.bank, *action.split("/"))
        return self._connection.request("POST", path, file, name=name, **parameters)

    def retract(self, seq: int) -> Line:
        """Exclude a line from recall for good. Raises the same errors as `Memory.retract`."""
        return decode.line(self._request("POST", "lines", validation.check_seq(seq, self.bank), "retract"))

    def restore(self, seq: int) -> list[Line]:
        """Continue a session from a line, current or retracted. See `Memory.restore`."""
        copies = self._request("POST", "lines", validation.check_seq(seq, self.bank), "restore")
        return list(map(decode.line, decode.items(copies)))

    def forget(
        self,
        *,
        seq: int | Collection[int] | None = None,
        session: str | None = None,
        speaker: str | None = None,
        everything: bool = False,
    ) -> Receipt:
        """Remove a line, several lines, a session, all lines of a speaker or the whole bank for good.

        Raises the same errors as `Memory.forget`.
        """
        scope, name = deletion.parse_scope(self.bank, seq, session, speaker, everything)
        if scope == "bank":
            return decode.receipt(self._request("DELETE"))
        if scope == "session":
            return decode.receipt(self._request("DELETE", "sessions", str(name)))
        if isinstance(seq, int):
            return decode.receipt(self._request("DELETE", "lines", seq))
        body = {"speaker": name} if isinstance(name, str) else {"seqs": to_ranges(name or [])}
        return decode.receipt(self._request("POST", "lines", "forget", body=body))

    # ----------------------------------------------------------------------- units

    def units(self, kind: str | None = None, *, only_current: bool = False, category: str | None = None) -> list[Unit]:
        """Return the units that are not retracted, by kind and id. See `Memory.units`."""
        units = map(decode.unit, self._list_items("units", kind=kind, current=only_current, category=category))
        return sorted(units, key=lambda unit: (unit.kind, unit.id))

    def edit_unit(self, kind: str, number: int, text: str) -> Unit:
        """Replace the text of a current unit. Raises the same errors as `Memory.edit_unit`."""
        return decode.unit(self._request("PATCH", "units", kind, number, body={"text": text}))

    def forget_unit(self, kind: str, number: int) -> list[int]:
        """Remove a unit and those that it superseded, for good; return their ids.

        Raises the same errors as `Memory.forget_unit`.
        """
        removed = self._request("DELETE", "units", kind, number)
        return [removed["id"], *removed["earlier"]]

    def set_notes(self, text: str) -> Unit:
        """Replace the notes with text written by hand. Raises the same errors as `Memory.set_notes`."""
        if not isinstance(text, str) or not text.strip():  # the server would remove the notes
            raise BadInput(f"notes must be text that is not blank, got {text!r}; forget_unit removes them")
        saved = self._request("PUT", "notes", body={"text": text})
        return next(unit for unit in self.units("note") if unit.id == saved["id"])

    # -------------------------------------------------------------------- settings

    def settings(self) -> dict[str, JSONValue]:
        """Return the bank's settings: whether it remembers conversations and, if they are set, the model of its scribe
        and the further banks that replies draw on."""
        return dict(self._request("GET", "settings"))

    def set_setting(self, name: str, value: JSONValue | None) -> None:
        """Change a setting.

        Args:
            name: `remember`: whether conversations are remembered; `scribe`: the model that writes notes and summaries;
                `recall_from`: further banks that replies draw on; `model_facts`: whether that model reads each
                conversation for facts when it ends.
            value: for `remember` "always", "ask" or "never" (None: "ask"); for `scribe` a model's name, "none", or
                None for the server's model; for `recall_from` a list of ids, or None; for `model_facts` a bool.

        Raises:
            BadQuery: the name or the value is invalid.
            ConfigError: the server has no such model.
            NotFound: a bank in `recall_from` doesn't exist.
        """
        if name == SETTING_SCRIBE and isinstance(value, str | None):
            self._request("PATCH", "settings", body={SETTING_SCRIBE: value})
            return
        if name == SETTING_RECALL_FROM and isinstance(value, list | None):
            self._request("PATCH", "settings", body={SETTING_RECALL_FROM: value or []})
            return
        if name == SETTING_MODEL_FACTS and isinstance(value, bool | None):
            self._request("PATCH", "settings", body={SETTING_MODEL_FACTS: bool(value)})
            return
        if name != SETTING_REMEMBER or (value is not None and value not in REMEMBER_POLICIES):
            raise BadQuery(
                f"{name!r} can't be set to {value!r} here. Settable: remember ({', '.join(REMEMBER_POLICIES)}), "
                "scribe (a model's name), recall_from (a list of banks' ids) and model_facts (true or false)"
            )
        self._request("PATCH", "settings", body={SETTING_REMEMBER: value or "ask"})

    # ---------------------------------------------------------------------- recipe

    def recipes(self) -> list[dict[str, Any]]:
        """List the server's recipes with the type, limits, meaning and value of each option."""
        return decode.items(self._connection.request("GET", "recipes"))

    def recipe(self) -> dict[str, Any]:
        """Show the bank's recipe with the values of its options."""
        return dict(self._request("GET", "recipe"))

    def set_recipe(self, name: str | None = None, options: Mapping[str, JSONValue] | None = None) -> dict[str, Any]:
        """Set the bank's recipe with these options.

        Args:
            name: one of `recipes`; None: the server's default recipe.
            options: values by name; the others have the server's defaults.

        Returns:
            The bank's recipe, as `recipe` returns it.

        Raises:
            ConfigError: the recipe is unknown.
            BadInput: an option is unknown, or its value is outside its limits.
        """
        return dict(self._request("PUT", "recipe", body={"name": name, "options": dict(options or {})}))

    def set_options(self, options: Mapping[str, JSONValue]) -> dict[str, Any]:
        """Change some options of the bank's recipe. Raises BadInput."""
        return dict(self._request("PATCH", "recipe", body={"options": dict(options)}))

    # ------------------------------------------------------------------ connection

    def _request(self, method: str, *names: str | int, body: object = None, **query: object) -> Any:
        return self._connection.request(method, build_path("banks", self.bank, *names), body, **query)

    def _list_items(self, name: str, **query: object) -> Iterator[Any]:
        return self._connection.list_items(build_path("banks", self.bank, name), **query)

    def close(self) -> None:
        """Close the connections. A later call opens others."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
