"""Everything Everthread raises.

    EverthreadError
    ├── BadInput (also a ValueError)     what the caller gave can't be used; nothing was changed
    │   ├── BadBankId
    │   ├── BadLine                      text, speaker, role, time, session or metadata of a line
    │   ├── BadQuery                     k, budget, where, as_of
    │   └── BadFile                      an import or a dataset; names the line of the file
    ├── ConfigError (also a ValueError)  a setting, an unknown recipe, model or format
    ├── NotFound (also a LookupError)    no such bank, session or line
    ├── StoreError
    │   ├── StoreUnavailable             locked for too long, gone, full or read-only; try again or make room
    │   ├── BankDamaged                  the file is no sound database
    │   └── BankTooNew                   written by a later version of Everthread
    └── ModelError
        ├── ModelNotFound                a model's file is missing or damaged, or a server has no model of the name
        ├── EmbedderUnavailable          down, too slow, or answering nonsense; the lines are kept
        ├── LLMUnavailable               down, too slow, overloaded, or its stream was cut; try again
        ├── LLMDenied                    the server wants a key, or another one
        ├── LLMRejected                  the server does not take the request as it is: too long, a wrong parameter
        └── ScribeFailed                 a model's answer could not be understood; the work stays queued

A message says what was wrong, with which value, and what to do about it. An error about a file, or one whose remedy is
an option, has these in fields of their own: the command line, REST and Python each write them in their own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLAGS = frozenset({"force"})  # options that are on or off


def as_keyword(option: str) -> str:
    """Write an option as Python does: `format=`, `force=True`."""
    return f"{option}={True if option in FLAGS else ''}"


class EverthreadError(Exception):
    """The root: catch this to catch all of ours.

    Attributes:
        message: what is wrong, apart from the other fields.
        path: the file that it is about; a text where the file has no path that the caller knows.
        where: the place in that file, such as "line 3".
        remedy: what to do about it; {option} is where the option goes.
        option: the name of the option that the remedy names.
    """

    def __init__(
        self, message: str = "", *, path: Path | str | None = None, where: str = "", remedy: str = "", option: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.where, self.remedy, self.option = message, path, where, remedy, option

    def __str__(self) -> str:
        return self.render()

    def render(
        self, write_option: Callable[[str], str] = as_keyword, write_path: Callable[[Path | str], str] = str
    ) -> str:
        """Write the whole message.

        Args:
            write_option: returns an option's name as the caller gives it, such as `--format`.
            write_path: returns as much of a path as the caller may see.
        """
        places = [write_path(self.path)] if self.path is not None else []
        places += [self.where] if self.where else []
        remedy = self.remedy.replace("{option}", write_option(self.option)) if self.option else self.remedy
        text = f"{', '.join(places)}: {self.message}" if places else self.message
        return f"{text}; {remedy}" if remedy else text


class BadInput(EverthreadError, ValueError):
    """What the caller gave can't be used."""


class BadBankId(BadInput):
    """A bank id that is empty, too long or not text."""


class BadLine(BadInput):
    """A line that can't be remembered as given."""


class BadQuery(BadInput):
    """A question asked with impossible numbers or filters."""


class BadFile(BadInput):
    """A file that can't be read as what it was said to be."""


class ConfigError(EverthreadError, ValueError):
    """A setting that is unknown or makes no sense."""


class NotFound(EverthreadError, LookupError):
    """There is no such bank, session or line."""


class StoreError(EverthreadError):
    """The store could not do its work."""


class StoreUnavailable(StoreError):
    """The store can't be reached or written just now."""


class BankDamaged(StoreError):
    """A bank's file is not a sound database."""


class BankTooNew(StoreError):
    """A bank was written by a later version than this one."""


class ModelError(EverthreadError):
    """A model could not do its work. Its `public` is the message without the address of the model's server."""

    def __init__(self, message: str = "", public: str | None = None) -> None:
        super().__init__(message)
        self.public = message if public is None else public


class ModelNotFound(ModelError):
    """A model's file is missing or damaged, or a server has no model of the name."""


class EmbedderUnavailable(ModelError):
    """The embedder is down, too slow, or answers nonsense."""


class LLMUnavailable(ModelError):
    """A language model's server is down, too slow or overloaded, or its stream was cut."""


class LLMDenied(ModelError):
    """A language model's server wants a key, or another one."""


class LLMRejected(ModelError):
    """A language model's server does not take a request as it is."""


class ScribeFailed(ModelError):
    """What a model wrote about a conversation could not be understood."""
