"""What may be kept beside lines: units, a bank's settings, a scribe's work. Pure: no store, no model.

Texts are kept as those of lines are: what no database can hold becomes U+FFFD (see `bank.line_validation`).
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from reprlib import repr as shortly
from typing import get_args, get_type_hints

from everthread.bank.line_validation import LONGEST_NAME, LONGEST_TEXT, keepable
from everthread.chat import consent
from everthread.common.keys import SETTING_RECIPE, SETTING_REMEMBER
from everthread.common.timestamps import micros
from everthread.errors import BadInput
from everthread.recipes import saved_recipe
from everthread.stores.filters import as_json
from everthread.stores.limits import LARGEST_SEQ, UNKEEPABLE
from everthread.types import JSONValue, NewUnit, ScribeJob

LARGEST = 1_000_000  # characters of a setting, as JSON
OF_NO_LINE = (0, 0)  # the span of a unit that derives from no line, such as general knowledge
KINDS = get_args(get_type_hints(ScribeJob)["kind"])


def unit(new: NewUnit) -> NewUnit:
    """The unit as it will be kept. BadInput names the field that can't be."""
    if not isinstance(new, NewUnit):
        raise BadInput(f"a unit must be a NewUnit, got {type(new).__name__}: {shortly(new)}")
    if name(new.kind, "a unit's kind") == "line":
        raise BadInput("a unit's kind can't be 'line'; lines are kept by observe")
    if not isinstance(new.text, str) or not new.text.strip():
        raise BadInput(f"a unit's text must have a character that is not blank, got {shortly(new.text)}")
    if len(new.text) > LONGEST_TEXT:
        raise BadInput(f"a unit's text has {len(new.text):,} characters; at most {LONGEST_TEXT:,} are kept")
    if (new.first_seq, new.last_seq) != OF_NO_LINE:
        span(new.first_seq, new.last_seq, "a unit")
    if stray := [seq for seq in new.sources if type(seq) is not int or not new.first_seq <= seq <= new.last_seq]:
        raise BadInput(
            f"source {stray[0]!r} of a unit is no line from {new.first_seq} to {new.last_seq}, of which it is to be; "
            "let the span enclose all of them, as the unit goes with any line of it"
        )
    micros(new.said_at, "a unit's said_at", BadInput)
    if new.importance is not None and not (type(new.importance) in (int, float) and isfinite(new.importance)):
        raise BadInput(f"a unit's importance must be a number, got {new.importance!r}")
    if new.category is not None:
        name(new.category, "a unit's category")
    if not isinstance(new.metadata, dict):
        raise BadInput(f"a unit's metadata must be a mapping, got {shortly(new.metadata)}")
    value(new.metadata, "a unit's metadata")
    return replace(new, text=keepable(new.text)[0], sources=tuple(new.sources))


def work(given: ScribeJob) -> ScribeJob:
    """The work, if it can be kept. BadInput names the field that can't be."""
    if not isinstance(given, ScribeJob):
        raise BadInput(f"work must be a Work, got {type(given).__name__}: {shortly(given)}")
    if given.kind not in KINDS:
        raise BadInput(f"work of kind {given.kind!r} is unknown; use one of {', '.join(KINDS)}")
    name(given.session, "the session of a work")
    span(given.first_seq, given.last_seq, "work")
    micros(given.queued_at, "queued_at", BadInput)
    if type(given.tries) is not int or not 0 <= given.tries <= LARGEST_SEQ:
        raise BadInput(f"the tries of a work must be a whole number from 0, got {given.tries!r}")
    if given.error is not None:
        name(given.error, "the error of a work")
    return given


def setting(key: str, given: JSONValue | None) -> None:
    """See that a setting can be kept. BadInput says what can't be."""
    name(key, "the name of a setting")
    if key == SETTING_REMEMBER and given is not None and (not isinstance(given, str) or given not in consent.POLICIES):
        raise BadInput(f"setting {key!r} must be one of {', '.join(consent.POLICIES)}, got {shortly(given)}")
    if key == SETTING_RECIPE:
        saved_recipe.SavedRecipe.read(given)
    if len(value(given, f"setting {key!r}")) > LARGEST:
        raise BadInput(f"setting {key!r} is too large: more than {LARGEST:,} characters of JSON")


def name(given: str, what: str) -> str:
    """A short text that is not blank."""
    if not isinstance(given, str) or not given.strip():
        raise BadInput(f"{what} must be text that is not blank, got {shortly(given)}")
    if len(given) > LONGEST_NAME:
        raise BadInput(f"{what} {given[:40]!r}… has {len(given)} characters; at most {LONGEST_NAME} are allowed")
    return _whole(given, what)


def value(given: JSONValue, what: str) -> str:
    """A value as JSON."""
    try:
        written = as_json(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{what} must be what JSON can hold, got {shortly(given)}: {error}") from error
    _whole(written.replace(r"\\", "").replace(r"\u0000", "\0"), what)
    return written


def span(first: int, last: int, what: str) -> None:
    """The numbers of lines, from first to last."""
    if type(first) is not int or type(last) is not int or not 1 <= first <= last <= LARGEST_SEQ:
        raise BadInput(f"{what} must be of lines from first_seq to last_seq, counted from 1, got {first!r} to {last!r}")


def _whole(text: str, what: str) -> str:
    if UNKEEPABLE.search(text):
        raise BadInput(f"{what} holds NUL or half a surrogate pair, as no bank can: {shortly(text)}")
    return text
