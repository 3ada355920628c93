"""Distinguishes errors caused by a damaged bank from bugs.

The store raises BankDamaged for most damage. Some damage, such as the number of a missing session or a text instead of
a number, is read without an error and causes another error later. A method that fails unexpectedly therefore checks its
bank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from traceback import walk_tb
from types import FunctionType
from typing import Any, Protocol, TypeVar

from everthread.common import tracing
from everthread.errors import BankDamaged, EverthreadError
from everthread.stores.base import ERASURE_UNFINISHED, Store

DAMAGE_SYMPTOMS = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, MemoryError)


class BankOwner(Protocol):
    """An object whose methods read a bank."""

    bank: str
    store: Store


Kind = TypeVar("Kind", bound=type[BankOwner])


def raises_bank_damaged(kind: Kind) -> Kind:
    """Wrap the public methods of a class, so that they raise BankDamaged if they fail because the bank is damaged."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(kind, name, _wrap(method))
    return kind


def _wrap(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: BankOwner, *args: Any, **kwargs: Any) -> Any:
        with _check_on_failure(self):
            result = method(self, *args, **kwargs)
        return _iterate(self, result) if isinstance(result, Iterator) else result

    return call


def _iterate(owner: BankOwner, results: Iterator[Any]) -> Iterator[Any]:
    with _check_on_failure(owner):
        yield from results


@contextmanager
def _check_on_failure(owner: BankOwner) -> Iterator[None]:
    try:
        yield
    except EverthreadError:
        raise
    except DAMAGE_SYMPTOMS as error:
        if _file_of(error) in (
            __file__,
            tracing.__file__,
        ):  # wrong arguments: the method did not start
            raise
        problems = owner.store.check(owner.bank) if owner.store.exists(owner.bank) else []
        damage = [problem for problem in problems if problem != ERASURE_UNFINISHED]  # it does not affect reading
        if not damage:
            raise
        raise BankDamaged(
            f"bank {owner.bank!r} is damaged: {damage[0]}. Put back a copy, or export what can still be read"
        ) from error


def _file_of(error: BaseException) -> str:
    """Return the file of the code that raised an error."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    return frame.f_code.co_filename
