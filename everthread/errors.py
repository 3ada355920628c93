"""All errors that Everthread raises.

    EverthreadError
    ├── BadInput (also a ValueError)     an argument or a file is invalid; nothing was changed
    │   ├── BadBankId
    │   ├── BankNotEmpty                 the sample life would replace lines of the person's own
    │   ├── BadLine                      text, speaker, role, time, session or metadata of a line
    │   ├── BadQuery                     an argument of a query: k, budget, where, as_of
    │   └── BadFile                      an import or a dataset; `where` names the line of the file
    ├── ConfigError (also a ValueError)  an invalid setting; an unknown recipe, model or format
    ├── NotFound (also a LookupError)    no such bank, session or line
    ├── StoreError
    │   ├── StoreUnavailable             locked for too long, missing, full or read-only; try again or free disk space
    │   ├── BankDamaged                  the file is not an intact database
    │   ├── BankMoved                    the bank is in another one of several places
    │   └── BankTooNew                   written by a later version of Everthread
    └── ModelError
        ├── ModelNotFound                a model's file is missing or damaged, or a server has no such model
        ├── EmbedderUnavailable          down, too slow, or its vectors are invalid; lines are stored without one
        ├── LLMUnavailable               down, too slow, overloaded, or its stream was cut; try again
        ├── LLMDenied                    the server requires a key, or rejects the given one
        ├── LLMRejected                  the server rejects the request: too long, an invalid parameter
        └── ScribeFailed                 a model's answer can't be parsed; the job stays queued

A message names the problem, the value and the remedy. An error stores a file's path and the name of an option in
fields, because the command line, REST and Python each write them in their own way. One that people cause by what they
type has a reason as well, for which the page has a text in their language.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

QUOTED_CHARS = 20  # of a text, by which a message that quotes its beginning is recognised
FLAGS = frozenset({"force"})  # options that are on or off


def as_keyword(option: str) -> str:
    """Write an option as Python does: `format=`, `force=True`."""
    return f"{option}={True if option in FLAGS else ''}"


class EverthreadError(Exception):
    """The base class of all errors of Everthread.

    Attributes:
        message: the problem, without the other fields.
        path: the file with the problem; a description if the caller gave no path.
        where: the place in that file, such as "line 3"; or where a setting has its value from.
        remedy: what to do; {option} is replaced by the option.
        option: the option that the remedy names.
        reason: what is wrong, as a key of texts in other languages, such as "same-name".
        values: what the placeholders of those texts stand for.
    """

    def __init__(
        self,
        message: str = "",
        *,
        path: Path | str | None = None,
        where: str = "",
        remedy: str = "",
        option: str = "",
        reason: str = "",
        values: Mapping[str, str | int] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.where, self.remedy, self.option = message, path, where, remedy, option
        self.reason, self.values = reason, values or {}

    def __str__(self) -> str:
        return self.render()

    def render(
        self, write_option: Callable[[str], str] = as_keyword, write_path: Callable[[Path | str], str] = str
    ) -> str:
        """Write the whole message.

        Args:
            write_option: returns an option as the caller writes it, such as `--format`.
            write_path: returns the part of a path that the caller may see.
        """
        places = [write_path(self.path)] if self.path is not None else []
        places += [self.where] if self.where else []
        remedy = self.remedy.replace("{option}", write_option(self.option)) if self.option else self.remedy
        text = f"{', '.join(places)}: {self.message}" if places else self.message
        return f"{text}; {remedy}" if remedy else text


class BadInput(EverthreadError, ValueError):
    """An argument or a file is invalid."""


class BadBankId(BadInput):
    """A bank id is empty, too long or not text."""


class BankNotEmpty(BadInput):
    """A bank that the sample life is to fill has other lines."""


class BadLine(BadInput):
    """A line is invalid and can't be stored."""


class BadQuery(BadInput):
    """A query has an invalid argument or filter."""


class BadFile(BadInput):
    """A file can't be read in the given format."""


class ConfigError(EverthreadError, ValueError):
    """A setting is unknown or invalid."""


class NotFound(EverthreadError, LookupError):
    """There is no such bank, session or line."""


class StoreError(EverthreadError):
    """A store failed.

    Attributes:
        bank: the bank that the message names; empty if it names none.
    """

    bank = ""


class StoreUnavailable(StoreError):
    """The store can't be reached or written at present."""


class BankDamaged(StoreError):
    """A bank's file is not an intact database."""


class BankMoved(StoreError):
    """A bank is in another one of several places. `PlacedStore` calls that place instead.

    Attributes:
        bank: the bank.
        place: the name of the place to ask.
        move: the id of the move.
        is_arriving: whether this place has a copy, of which that place knows whether it is the bank by now.
    """

    def __init__(
        self, message: str, bank: str = "", place: str = "", move: str = "", is_arriving: bool = False
    ) -> None:
        super().__init__(message)
        self.bank, self.place, self.move, self.is_arriving = bank, place, move, is_arriving


class BankTooNew(StoreError):
    """A bank was written by a later version of Everthread."""


class ModelError(EverthreadError):
    """A model failed.

    Attributes:
        public: the message without the address of the model's server.
    """

    def __init__(self, message: str = "", public: str | None = None, *, reason: str = "") -> None:
        super().__init__(message, reason=reason)
        self.public = message if public is None else public


class ModelNotFound(ModelError):
    """A model's file is missing or damaged, or a server has no such model."""


class EmbedderUnavailable(ModelError):
    """The embedder is down or too slow, or returned invalid vectors."""


class LLMUnavailable(ModelError):
    """A language model's server is down, too slow or overloaded, or its stream was cut."""


class LLMDenied(ModelError):
    """A language model's server requires a key, or rejects the given one."""


class LLMRejected(ModelError):
    """A language model's server rejects a request."""


class ScribeFailed(ModelError):
    """A model's answer to a scribe can't be parsed."""


@contextmanager
def raised_as(error_class: type[ModelError], name: str, texts: Sequence[str] = ()) -> Iterator[None]:
    """Raise what a model's client or framework raises as an error of Everthread; its own errors stay what they are.

    Args:
        error_class: the class of the error.
        name: the model that is used.
        texts: what it was given. The message of an error that quotes one is left out, because it is logged.
    """
    try:
        yield
    except EverthreadError:
        raise
    except Exception as error:
        said = str(error)
        quotes = any((start := text.strip()[:QUOTED_CHARS]) and start in said for text in texts)
        message = "its message, which quotes a text, is left out" if quotes else said
        raise error_class(f"{name} failed: {type(error).__name__}: {message}") from error
