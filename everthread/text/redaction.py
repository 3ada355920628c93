"""Removes secrets from texts: numbers of cards and accounts, keys, passwords and PINs. Pure.

A number is a secret if its check digits are valid, or if the text calls it one; dates, telephone numbers and amounts
remain. A password extends to the end of its clause: better to remove a word too many than to store a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from everthread.text.analyzer import STOP_WORDS, split_words
from everthread.text.line_features import SMALL_TALK
from everthread.text.time_words import MONTHS
from everthread.text.word_lists import alternation, load_word_lists

REMOVED = "[removed]"

# Payment cards: ISO/IEC 7812. How each issuer's numbers begin and how long they are: American Express, Diners, JCB,
# Visa, Mastercard, Mir, UnionPay and Discover, Maestro. No row of years ("2019 2020 2021 2022") can be one.
_CARD = re.compile(
    r"3[47]\d{13}|3[0689]\d{12}|35\d{14}|4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|6\d{15,18}|5[0678]\d{11,17}"
)
_SEPARATOR = r"(?:[ \t\u00a0\u2009\u202f]?[-–.·][ \t]?|[ \t\u00a0\u2009\u202f]{1,2})"
_GROUPS = re.compile(rf"(?<![\d+])\d{{1,19}}(?:{_SEPARATOR}\d{{1,19}})*(?!\d)")
_GROUP = re.compile(r"\d+")
CARD_DIGITS = range(13, 20)
# Of a card number, except for its last group: shorter groups are a list of numbers, a date or a telephone number.
MIN_GROUP_DIGITS = 3

MIN_IBAN_CHARS = 15  # Norway's
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \u00a0-]{0,2}[A-Za-z0-9]){11,29}")

_SHAPES = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,} | [rs]k_(?:live|test)_[A-Za-z0-9]{10,} | gh[pousr]_[A-Za-z0-9]{16,}
        | github_pat_\w{16,} | glpat-[\w-]{16,} | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{30,} | ya29\.[\w-]{20,}
        | xox[abeprs]-[\w-]{10,} | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{20,} | pypi-[\w-]{20,}
        | eyJ[\w-]{8,2000}\.[\w-]{4,}(?:\.[\w-]*)?
      )
    | (?<=://)[^\s/:@]{1,80}:[^\s/@]{1,200}(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)

# Runs of spaces are matched possessively (`++`), and long repetitions are bounded: otherwise a text of spaces, or of
# beginnings of secrets, would take quadratic time.
_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
_SUBJECT = r"[^.!?。！？\n:=\s](?:[^.!?。！？\n:=]{0,58}?[^.!?。！？\n:=\s])??"
_PURPOSE = rf"(?:\s++{alternation(_EN['prepositions'])}\s++(?:{_SUBJECT}|(?<=\s\s)))?"
_INTRODUCTION = (
    rf"{_PURPOSE}\s*+"
    rf"(?:(?<=\s){alternation(_EN['verbs'])}\s|['’]s\s|[:=：＝])"
    rf"\s*+(?:{alternation(_EN['adverbs'])}\s++)?"
)
_PASSWORD = f"{alternation(_EN['passwords'])}s?"
_CODE = alternation(_EN["codes"])
_KEY = alternation(_EN["keys"])
_BLANKS = r"[^\S\n]"
_CLAUSE = (
    rf"(?:[^\n]*?\S)??(?={_BLANKS}*+(?:[.!?。！？](?:\s|$)|[,;](?:\s|$)|[，；]|\n|$)"
    rf"|{_BLANKS}++{alternation(_EN['conjunctions'])}\s{alternation(_EN['subjects'])}\b)"
)
_STATED_PASSWORD = re.compile(rf"\b{_PASSWORD}{_INTRODUCTION}(?P<secret>[\"“'‘`][^\"”'’`\n]+[\"”'’`]|{_CLAUSE})", re.I)
_CHANGED_PASSWORD = re.compile(
    rf"\b{alternation(_EN['changes'])}\w*\s[^.!?\n]{{0,40}}?\b{_PASSWORD}{_PURPOSE}\s++to\s++(?P<secret>{_CLAUSE})",
    re.I,
)
_BARE_PASSWORD = re.compile(rf"\b{_PASSWORD}\s++(?P<secret>(?=\S*\d)\S{{4,}})", re.I)
_NAMED_PASSWORD = re.compile(
    rf"(?<!\S)(?P<secret>\S++)\s++is\s++{alternation(_EN['possessives'])}\s++"
    rf"(?:[\w’'-]++\s++){{0,3}}?(?:{_PASSWORD}|{_CODE})\b",
    re.I,
)
_STATED_CODE = re.compile(
    rf"\b{_CODE}(?:{_INTRODUCTION}|\s++)[\"“'‘`]?(?P<secret>\d(?:[ -]?\d){{2,11}})(?![\d.,:/]\d)", re.I
)
_IN_KEY = r"[^\s\"”'’`]{0,500}?"
_STATED_KEY = re.compile(
    rf"\b{_KEY}{_INTRODUCTION}[\"“'‘`]?(?P<secret>(?={_IN_KEY}\d)(?={_IN_KEY}[A-Za-z])[A-Za-z0-9+/_=.~-]{{12,}})", re.I
)
_BEARER = re.compile(r"\bbearer\s++(?P<secret>[A-Za-z0-9+/_=.~-]{16,})", re.I)
_CHINESE = re.compile(
    rf"{alternation(_ZH['passwords'])}[^，。！？；、\n：:=是为成]{{0,8}}?"
    rf"{alternation([*_ZH['verbs'], '[:：=＝]'])}\s*+[“\"「']?(?P<secret>[^\s，。！？；、\n”\"」']+)"
)
_SECRETS = (
    _STATED_PASSWORD,
    _CHANGED_PASSWORD,
    _STATED_CODE,
    _STATED_KEY,
    _BEARER,
    _CHINESE,
    _BARE_PASSWORD,
    _NAMED_PASSWORD,
)
# A remark about a password is plain words, the first of which is one of these.
_REMARKS: frozenset[str] = frozenset(_EN["remarks"])
_REMARK_CHINESE = re.compile(alternation(_ZH["remarks"]))
_NOUNS = re.compile(rf"{_PASSWORD}|{_CODE}|{_KEY}|\b{alternation(_EN['nouns'])}\b|{alternation(_ZH['nouns'])}", re.I)
_MONTHS = "|".join(month for month in MONTHS if month != "may")  # more often a verb
_DATE = re.compile(rf"\d+|\b(?:{_MONTHS})\b", re.I)
MIN_SUBSTANCE_WORDS = 2  # words that a row must contain in addition to a secret, or it is removed


def redact(text: str) -> str:
    """Replace each secret of a text by REMOVED."""
    text = _SHAPES.sub(REMOVED, text)
    for spans in (_find_ibans, _find_cards):
        text = _replace_spans(text, list(spans(text)))
    for pattern in _SECRETS:
        text = pattern.sub(_replace_secret, text)
    return text


def redact_rows(text: str) -> str | None:
    """Remove secrets, and rows that contain nothing else; return None if nothing is left."""
    redacted = redact(text)
    if redacted != text:
        redacted = "\n".join(row for row in redacted.split("\n") if REMOVED not in row or _has_substance(row))
    return redacted if redacted.strip() else None


def _has_substance(row: str) -> bool:
    rest = _DATE.sub(" ", _NOUNS.sub(" ", row.replace(REMOVED, " ")))
    return (
        len([word for word in split_words(rest) if word not in STOP_WORDS and word not in SMALL_TALK])
        >= MIN_SUBSTANCE_WORDS
    )


def _replace_spans(text: str, spans: list[tuple[int, int]]) -> str:
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return REMOVED.join(text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True))


def _replace_secret(match: re.Match[str]) -> str:
    secret = match["secret"]
    if not secret.strip() or secret.startswith(REMOVED) or _is_remark(secret):
        return match[0]
    start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return match[0][:start] + REMOVED + match[0][end:]


def _is_remark(secret: str) -> bool:
    if _REMARK_CHINESE.match(secret) and not re.search("[A-Za-z0-9]", secret):
        return True
    plain = re.fullmatch(r"[a-z'’ ]+", secret.lower()) is not None
    return plain and secret.lower().split()[0].split("'")[0] in _REMARKS


def _find_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of payment card numbers: groups of digits that together pass Luhn's check."""
    for numbers in _GROUPS.finditer(text):
        groups = [(group.start(), group.end()) for group in _GROUP.finditer(text, numbers.start(), numbers.end())]
        first = 0
        while first < len(groups):
            last = _find_card_end(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
            first = first + 1 if last is None else last + 1


def _find_card_end(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Return the last group of a card number that begins with this group, or None."""
    digits = ""
    for index in range(first, len(groups)):
        group = text[slice(*groups[index])]
        digits += group
        if len(digits) > CARD_DIGITS[-1]:
            return None
        if len(digits) in CARD_DIGITS and _CARD.fullmatch(digits) and _passes_luhn(digits):
            return index
        if len(group) < MIN_GROUP_DIGITS:
            return None
    return None


def _find_ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of numbers of bank accounts that pass their check."""
    for match in _IBAN.finditer(text):
        positions = [position for position in range(match.start(), match.end()) if text[position].isalnum()]
        for last in positions[MIN_IBAN_CHARS - 1 :]:
            if not text[last + 1 : last + 2].isalnum() and _is_iban(text[match.start() : last + 1]):
                yield match.start(), last + 1
                break


def _is_iban(number: str) -> bool:
    """Return whether length, structure and check digits are those of an account number (ISO 13616)."""
    from stdnum import iban  # loads slowly, and few programs redact

    return iban.is_valid("".join(filter(str.isalnum, number)), check_country=False)


def _passes_luhn(digits: str) -> bool:
    """Return whether the last digit checks the others (Luhn, US patent 2,950,048, 1960)."""
    from stdnum import luhn

    return luhn.is_valid(digits)
