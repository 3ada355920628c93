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
        ├── ModelNotFound                a model's file is missing or damaged
        └── EmbedderUnavailable          down, too slow, or answering nonsense; the lines are kept

A message says what was wrong, with which value, and what to do about it.
"""


class EverthreadError(Exception):
    """The root: catch this to catch all of ours."""


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
    """A model could not do its work."""


class ModelNotFound(ModelError):
    """A model's file is missing or damaged."""


class EmbedderUnavailable(ModelError):
    """The embedder is down, too slow, or answers nonsense."""
