"""Defines the answers that a scribe expects of a model, as pydantic models, and parses them tolerantly.

Needs pydantic and json_repair; nothing that `import everthread` loads imports this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar, get_origin

import json_repair
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from everthread.text.word_lists import load_word_lists

MAX_ANSWER_CHARS = 100_000
MAX_REPAIRED_CHARS = 10_000  # a summary has 1,500; repairing takes up to quadratic time: here, three seconds

_THOUGHT = re.compile(r"(?s)^.*</think(?:ing)?>")  # the reasoning before an answer
_BARE_LIST = re.compile(r"(?s)(?:```\w*\s*)?\[(?:.*\][\s`]*|[^\]]*)")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_WHOLE_NUMBER = re.compile(r"\d+")
_LISTS = load_word_lists(__file__).values()
_VERDICTS: dict[str, bool] = {
    word: verdict == "yes" for lists in _LISTS for verdict in lists for word in lists[verdict]
}


class Unusable(Exception):
    """An unusable answer. The message gives the reason and quotes nothing of the answer, which may be private."""


class Answer(BaseModel):
    """The base of all answers. Numbers are accepted as text, and unknown keys are ignored."""

    model_config = ConfigDict(
        extra="ignore", coerce_numbers_to_str=True, json_schema_extra={"additionalProperties": False}
    )


def _coerce_row(value: object) -> object:
    """Join the texts of a row that is an object."""
    if isinstance(value, dict):
        return ": ".join(str(part) for part in value.values() if isinstance(part, str | int | float))
    return value


def _coerce_rows(value: object) -> object:
    """Split rows that are one text; None means no rows."""
    if isinstance(value, str):
        return value.splitlines()
    return [] if value is None else value


def _coerce_point(value: object) -> object:
    """Complete a point that is a bare text or has no date."""
    if isinstance(value, dict):
        return {**value, "date": value.get("date") or ""}
    return {"date": "", "point": value} if isinstance(value, str) else value


def _coerce_seqs(value: object) -> object:
    """Return the numbers of lines in 3, "3", "lines 3 and 4" or [3, "4"]."""
    return _WHOLE_NUMBER.findall(str(value))


def _coerce_rating(value: object) -> object:
    """Return the number in "8/10" or "about 8", between 1 and 10."""
    if isinstance(value, str) and (match := _NUMBER.search(value)):
        value = float(match[0].replace(",", "."))
    if isinstance(value, bool):
        return None  # pydantic would accept a bool as a number
    if isinstance(value, int | float) and value == value:
        return int(max(1.0, min(10.0, float(value))) + 0.5)
    return value


def _coerce_verdict(value: object) -> object:
    return _VERDICTS.get(value.strip(" .!。").lower(), value.strip(" .!")) if isinstance(value, str) else value


def _coerce_flag(value: object) -> object:
    return _coerce_verdict(value) if isinstance(value, str) else bool(value)


Row = Annotated[str, BeforeValidator(_coerce_row)]
Word = Annotated[str, BeforeValidator(lambda value: "" if value is None or isinstance(value, dict | list) else value)]


class Point(Answer):
    date: str
    point: str


class Points(Answer):
    points: Annotated[list[Annotated[Point, BeforeValidator(_coerce_point)]], BeforeValidator(_coerce_rows)]


class SourcedFact(Answer):
    fact: str
    lines: Annotated[list[int], BeforeValidator(_coerce_seqs)]
    subject: Word
    attribute: Word
    value: Word
    ended: Annotated[bool, BeforeValidator(_coerce_flag)]
    since: Word

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Complete a fact that is a bare sentence, or lacks some of its parts."""
        data = {"fact": data} if isinstance(data, str) else data
        return {**dict.fromkeys(cls.model_fields), **data} if isinstance(data, dict) else data


class Facts(Answer):
    facts: Annotated[list[SourcedFact], BeforeValidator(_coerce_rows)]


class Notes(Answer):
    notes: Annotated[list[Row], BeforeValidator(_coerce_rows)]


class CopiedSentences(Answer):
    keep: Annotated[list[Row], BeforeValidator(_coerce_rows)]


class Category(Answer):
    category: str


def category_answer(names: Sequence[str]) -> type[Category]:
    """Return the form of an answer whose schema allows only these categories."""
    listed = Annotated[str, WithJsonSchema({"type": "string", "enum": list(names)})]
    return create_model("Category", __base__=Category, category=(listed, ...))


class Verdict(Answer):
    relevant: Annotated[bool, BeforeValidator(_coerce_verdict)]


class Importance(Answer):
    importance: Annotated[
        int, BeforeValidator(_coerce_rating), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 10})
    ]


class Rewritten(Answer):
    text: str


class Title(Answer):
    title: str


class RefusingWord(Answer):
    word: str
    intensity: float


class RefusingWords(Answer):
    words: list[RefusingWord]


Wanted = TypeVar("Wanted", bound=Answer)


def parse_answer(answer: str, form: type[Wanted]) -> Wanted:
    """Read an answer as JSON, repaired and taken out of the text around it if necessary.

    The last row of an answer that was cut off is left out, unless it is the only one.

    Raises:
        Unusable: the answer has no object of that form.
    """
    text = _THOUGHT.sub("", answer).strip()
    if not text:
        raise Unusable("it was empty")
    if len(text) > MAX_ANSWER_CHARS:
        raise Unusable(f"it was longer than {MAX_ANSWER_CHARS:,} characters")
    if not re.search(r"[{\[]", text):
        raise Unusable("it contained no JSON")
    problem = "it contained no JSON object"
    for value in _candidate_values(text, form):
        try:
            parsed = form.model_validate(value)
        except ValidationError as error:
            problem = _describe_problem(error)
            continue
        return _drop_cut_row(parsed) if _was_cut(text) else parsed
    raise Unusable(problem)


def _candidate_values(text: str, form: type[Answer]) -> Iterator[object]:
    """Yield the values that may be the object, the likeliest first.

    These are the text from the object's first field on, the whole text, the objects inside it, and a bare list.
    """
    name, field = next(iter(form.model_fields.items()))
    if begins := re.search(rf"\{{\s*[\"'“]?{name}\b", text):
        yield _repair(text[begins.start() :])
    value = _repair(text)
    yield value
    yield from (item for item in (value.values() if isinstance(value, dict) else ()) if isinstance(item, dict))
    if isinstance(value, list) and get_origin(field.annotation) is list and _BARE_LIST.fullmatch(text):
        yield {name: value}


def _repair(text: str) -> Any:
    try:
        return json_repair.loads(text) if len(text) <= MAX_REPAIRED_CHARS else json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        reason = "it was nested too deeply" if len(text) <= MAX_REPAIRED_CHARS else "it was long, and not valid JSON"
        raise Unusable(reason) from None


def _was_cut(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return text.count("{") > text.count("}") or text.count("[") > text.count("]")
    return False


def _drop_cut_row(answer: Wanted) -> Wanted:
    name = next(iter(type(answer).model_fields))
    rows = getattr(answer, name)
    if rows == []:
        raise Unusable("it was cut before its first row")
    return answer.model_copy(update={name: rows[:-1]}) if isinstance(rows, list) and len(rows) > 1 else answer


def _describe_problem(error: ValidationError) -> str:
    """Return the faulty field and its problem, but never its value."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    kind = first["type"].replace("_", " ")
    return f'"{place}" was invalid ({kind})' if place else f"it was invalid ({kind})"
