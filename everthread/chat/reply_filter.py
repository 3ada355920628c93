"""What of a model's stream is the character's speech, told while it streams.

Models write the character's name before the speech, think aloud, go on with the person's next line, or show the marks
of their chat template. None of it may be seen or remembered. Pure: it knows neither models nor the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from everthread.errors import BadInput

StopReason = Literal["", "person", "long"]

USER_LABELS = ("You", "User", "Human", "用户", "你", "人类")  # what models call the person they speak for
ASSISTANT_LABELS = ("Assistant", "AI")  # and themselves
TEMPLATE_MARKS: dict[
    str, StopReason
] = {  # marks of chat templates that end a reply; behind some the person is to speak
    "<|im_end|>": "",
    "<|eot_id|>": "",
    "<|end|>": "",
    "<|endoftext|>": "",
    "</s>": "",
    "<|im_start|>": "person",
    "<|user|>": "person",
    "[INST]": "person",
    "### User": "person",
    "### Human": "person",
}
THINKING_TAGS = ("<think>", "<thinking>", "<reasoning>")  # open a block that nobody is to see
MAX_DECORATION_CHARS = 8  # characters that may stand on either side of a name; with more it is no label
MAX_READ_FACTOR = 8  # times as many characters as may be shown are read at most: a model may think for ever
MAX_PART_CHARS = 1_000  # characters of a piece that are read together

_CLOSING = {pair[0]: pair[1] for pair in "[] () <> “” ‘’ «» 「」 『』 【】".split()}
_DECORATION = frozenset("*_`\"'").union(_CLOSING, _CLOSING.values())
_AROUND = "".join(_DECORATION) + " \t\u00a0\u3000\u200b\u200e\u200f\u2060\ufeff"
_LINE_END = "[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"  # as str.splitlines has them
_STOP = re.compile(f"(?P<line>{_LINE_END})|" + "|".join(map(re.escape, TEMPLATE_MARKS)), re.IGNORECASE | re.ASCII)
_WHY = {mark.lower(): why for mark, why in TEMPLATE_MARKS.items()}
_MARK_PARTS = frozenset(mark[:size] for mark in _WHY for size in range(1, len(mark)))
_TAG_PARTS = frozenset(tag[:size] for tag in THINKING_TAGS for size in range(1, len(tag)))
_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}  # str.lower may lengthen a text


class ReplyFilter:
    """Reads one reply as it streams. feed tells what may be shown, end what is left; over says that the rest must not
    be read, and why: "person" if the model went on to speak for the person, "long" if it would not stop.

    speaker is the character, others are those it must not speak for; both are known by their first and last names too.
    longest counts the characters shown. How the stream is cut into pieces makes no difference to what is shown, and
    nothing is held back but blanks and what may still turn out to be a label or a mark.
    BadInput if longest is under 1.
    """

    def __init__(self, speaker: str, others: Collection[str], max_chars: int = 65_536) -> None:
        if max_chars < 1:
            raise BadInput(f"longest must be at least 1 character, got {max_chars}")
        self.is_over = False
        self.stop_reason: StopReason = ""
        self._longest = max_chars
        self._labels = _Labels(speaker, others)
        self._read = 0  # characters
        self._shown = 0  # characters
        self._held = ""  # what may still become a label or a mark
        self._blanks: list[str] = []  # between what was shown and what will be
        self._blank = 0  # characters of them
        self._begins = True  # a line does, so a label may come
        self._bare = False  # a label was dropped, and the blanks behind it go too
        self._thought = ""  # the tag that ends the block of thought that is read

    def feed(self, piece: str) -> str:
        """What may be shown, now that this piece came."""
        shown: list[str] = []
        for part in _parts(piece):
            if self.is_over:
                break
            part = part[: MAX_READ_FACTOR * self._longest - self._read]
            self._read += len(part)
            self._held += part
            shown += self._settled(last=False)
            if self._read == MAX_READ_FACTOR * self._longest:
                self._stop("long")
        return "".join(shown)

    def end(self) -> str:
        """What is left to be shown, now that the stream has ended."""
        return "".join(self._settled(last=True))

    def _settled(self, last: bool) -> Iterator[str]:
        """What is to be shown of the held text, as far as that is settled; to its end, if it is the last."""
        going = True
        while going and self._held and not self.is_over:
            if self._thought:
                going = self._think()
            elif self._begins:
                going = self._begin(last)
            else:
                text, going = self._go_on(last)
                yield text

    def _think(self) -> bool:
        """Drop thoughts. Whether they have ended."""
        end = self._held.translate(_SMALL).find(self._thought)
        if end < 0:
            self._held = self._held[-len(self._thought) :]
            return False
        self._held = self._held[end + len(self._thought) :]
        self._thought = ""
        return True

    def _begin(self, last: bool) -> bool:
        """Begin a line, dropping what is no speech. Whether that is settled."""
        text = self._held.lstrip()
        self._wait(self._held[: len(self._held) - len(text)])
        if self.is_over:
            return False
        self._held = text
        if not self._shown:
            if tag := next((tag for tag in THINKING_TAGS if text[: len(tag)].translate(_SMALL) == tag), None):
                self._thought, self._held = f"</{tag[1:]}", text[len(tag) :]
                return True
            if text.translate(_SMALL) in _TAG_PARTS and not last:
                return False
        match self._labels.read(text, last):
            case "maybe":
                return False
            case None:
                self._begins = self._bare = False
            case _Label(own=True, rest=rest):
                self._held, self._bare = rest, True
            case _Label():
                self._stop("person")
        return not self.is_over

    def _go_on(self, last: bool) -> tuple[str, bool]:
        """Read to the end of the line. What of it is shown, and whether its end was there."""
        stop = _STOP.search(self._held)
        if stop is None:
            return self._show(len(self._held) - (0 if last else _part(self._held))), False
        if stop["line"]:
            self._begins = True
            return self._show(stop.end()), True
        text = self._show(stop.start())
        self._stop(_WHY[stop[0].translate(_SMALL)])
        return text, False

    def _show(self, size: int) -> str:
        """So much of the held text as it is shown: with the blanks before it, without those at its end."""
        text, self._held = self._held[:size], self._held[size:]
        spoken = text.rstrip()
        if not spoken:
            self._wait(text)
            return ""
        shown = "".join([*self._blanks, spoken])
        self._blanks, self._blank = [], 0
        if len(shown) > self._longest - self._shown:
            shown = shown[: self._longest - self._shown].rstrip()
            self._stop("long")
        self._shown += len(shown)
        self._wait(text[len(spoken) :])
        return shown

    def _wait(self, blanks: str) -> None:
        """Hold blanks back until something follows them."""
        if self._shown and not self._bare and not self.is_over:
            self._blanks.append(blanks)
            self._blank += len(blanks)
            if self._blank > self._longest - self._shown:
                self._stop("long")

    def _stop(self, why: StopReason) -> None:
        """Nothing more is read or shown."""
        if not self.is_over:
            self.is_over, self.stop_reason = True, why
        self._held, self._blanks, self._blank = "", [], 0


def _parts(piece: str) -> Iterator[str]:
    """A piece of the stream, a line at a time and at most AT_ONCE characters: what is held is copied at each label."""
    for line in piece.splitlines(keepends=True):
        yield from (line[at : at + MAX_PART_CHARS] for at in range(0, len(line), MAX_PART_CHARS))


@dataclass(frozen=True, slots=True)
class _Label:
    """What a line begins with: the name of the character or of another. rest is the text without it."""

    own: bool
    rest: str


class _Labels:
    """The labels of everybody who may be written for, letter by letter as they are compared."""

    def __init__(self, speaker: str, others: Collection[str]) -> None:
        self._names: list[tuple[list[str], bool]] = []
        for names, own in (
            ([speaker], True),
            ([*others, *USER_LABELS], False),
            (_ends_of(others), False),
            ([*_ends_of([speaker]), *ASSISTANT_LABELS], True),
        ):
            for name in names:
                letters = _letters(name.strip(_AROUND))
                if letters and all(letters != known for known, _ in self._names):
                    self._names.append((letters, own))
        self._longest = max(len(letters) for letters, _ in self._names)

    def read(self, text: str, last: bool) -> _Label | Literal["maybe"] | None:
        """The label that a line begins with; "maybe" while what follows decides, which nothing does at last."""
        start = _around(text, 0)
        head = _letters(text[start : start + self._longest])
        maybe = False
        for name, own in self._names:
            letters = head[: len(name)]
            colon = _around(text, start + len(name))
            if letters != name[: len(letters)]:
                continue
            if colon >= len(text):
                maybe = True
            elif text[colon] in ":：":
                opened = [char for char in text[:start] if char in _DECORATION]
                closed = [char for char in text[start + len(name) : colon] if char in _DECORATION]
                rest = _rest(opened, closed, text[colon + 1 :], last) if own else ""
                return "maybe" if rest is None else _Label(own, rest)
        return "maybe" if maybe and not last else None


def _rest(opened: list[str], closed: list[str], text: str, last: bool) -> str | None:
    """The text behind a label without what closes its decoration ("**Nemo:** Yes"), or with what opened it, where it is
    closed only later ("“Nemo: Yes.”"). None if what follows decides."""
    closing = [_CLOSING.get(char, char) for char in reversed(opened)]
    left = "".join(closing[len(closed) :]) if closing[: len(closed)] == closed else ""
    if text.startswith(left):
        return text[len(left) :]
    if left.startswith(text):
        return "" if last else None
    return "".join(opened[: len(left)]) + text.removeprefix(" ")


def _around(text: str, start: int) -> int:
    """Where the decoration of a name that begins at start ends."""
    end = start
    while end < min(len(text), start + MAX_DECORATION_CHARS) and text[end] in _AROUND:
        end += 1
    return end


def _part(text: str) -> int:
    """How many characters at the end of a text may be the beginning of a mark."""
    end = text[-max(map(len, _WHY)) :].translate(_SMALL)
    return next((len(end) - at for at in range(len(end)) if end[at:] in _MARK_PARTS), 0)


def _letters(name: str) -> list[str]:
    """A name letter by letter, as it is compared: one for each character, for a folded text may be longer."""
    return [char.casefold() for char in name]


def _ends_of(names: Collection[str]) -> list[str]:
    """The first and the last word of every name that has more than one."""
    return [words[at] for name in names if len(words := name.split()) > 1 for at in (0, -1)]
