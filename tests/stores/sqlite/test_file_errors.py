import errno
import sqlite3
from pathlib import Path

import pytest

from everthread.errors import BadInput, BankDamaged, StoreUnavailable
from everthread.stores.sqlite.file_errors import map_errors


def sqlite_error(code: int, message: str = "words that change from version to version") -> sqlite3.Error:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "expected", "remedy"),
    [
        (sqlite_error(sqlite3.SQLITE_CORRUPT), BankDamaged, "Restore a copy"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), BankDamaged, "Restore a copy"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), BankDamaged, r"sqlite3 /banks/x\.bank \.recover"),
        (sqlite_error(sqlite3.SQLITE_ERROR, "no such table: line"), BankDamaged, "Restore a copy"),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'text'"), BankDamaged, "Restore a copy"),
        (ValueError("Expecting value: line 1 column 1"), BankDamaged, "Restore a copy"),
        (sqlite_error(sqlite3.SQLITE_FULL), StoreUnavailable, "Free disk space and call again"),
        (OSError(errno.ENOSPC, "words"), StoreUnavailable, "Free disk space and call again"),
        (OSError(errno.EFBIG, "words"), StoreUnavailable, "Free disk space and call again"),
        (sqlite_error(sqlite3.SQLITE_IOERR_READ), StoreUnavailable, "its disk is healthy"),
        (sqlite_error(sqlite3.SQLITE_READONLY_DIRECTORY), StoreUnavailable, "permissions"),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), StoreUnavailable, "permissions"),
        (PermissionError(errno.EACCES, "words"), StoreUnavailable, "permissions"),
        (OSError(errno.EROFS, "words"), StoreUnavailable, "permissions"),
        (sqlite_error(sqlite3.SQLITE_BUSY), StoreUnavailable, "Try again, or end that process"),
        (FileExistsError(errno.EEXIST, "words"), StoreUnavailable, "give a folder for the banks"),
        (NotADirectoryError(errno.ENOTDIR, "words"), StoreUnavailable, "give a folder for the banks"),
        (sqlite_error(sqlite3.SQLITE_TOOBIG), BadInput, "no bank can hold this value"),
        (OverflowError("Python int too large to convert to SQLite INTEGER"), BadInput, "numbers that fit in 64 bits"),
        (OverflowError("Python int too large to convert to C long"), BadInput, "numbers that fit in 64 bits"),
        (OverflowError("date value out of range"), BankDamaged, "Restore a copy"),
    ],
)
def test_an_error_is_translated_with_its_remedy(error: Exception, expected: type[Exception], remedy: str) -> None:
    with pytest.raises(expected, match=remedy) as caught, map_errors("x", Path("/banks/x.bank")):
        raise error
    assert caught.value.__cause__ is error


def test_half_a_surrogate_pair_is_an_input_error() -> None:
    with pytest.raises(BadInput, match="use whole characters"), map_errors("x", Path("/banks/x.bank")):
        "\ud800".encode()


def test_an_error_in_the_callers_code_is_not_translated() -> None:
    with pytest.raises(KeyError), map_errors("x", Path("/banks/x.bank")):
        raise KeyError("mine")
