"""Filters the stream of a model, so that only the character's own speech is shown and stored.

Models write the character's name before the speech, think aloud, continue with the user's next line, or show marks of
their chat template. Pure: the module uses neither models nor the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from everthread.errors import BadInput

StopReason = Literal["", "person", "long"]

USER_LABELS = ("You", "User", "Human", "用户", "你", "人类")  # what models call the user
ASSISTANT_LABELS = ("Assistant", "AI")  # what models call themselves
TEMPLATE_MARKS: dict[str, StopReason] = {  # marks of chat templates that end a reply; after some the user would speak
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
THINKING_TAGS = ("<think>", "<thinking>", "<reasoning>")  # open a block that is not shown
MAX_DECORATION_CHARS = 8  # on either side of a name; with more it is no label
MAX_READ_FACTOR = 8  # characters read, per character that may be shown: a model may never stop thinking
MAX_PART_CHARS = 1_000  # of a piece, processed at once

_CLOSING = {pair[0]: pair[1] for pair in "[] () <> “” ‘’ «» 「」 『』 【】".split()}
_DECORATION = frozenset("*_`\"'").union(_CLOSING, _CLOSING.values())
_AROUND = "".join(_DECORATION) + " \t\u00a0\u3000\u200b\u200e\u200f\u2060\ufeff"
_LINE_END = "[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"  # as str.splitlines has them
_STOP = re.compile(f"(?P<line>{_LINE_END})|" + "|".join(map(re.escape, TEMPLATE_MARKS)), re.IGNORECASE | re.ASCII)
_STOP_REASONS = {mark.lower(): reason for mark, reason in TEMPLATE_MARKS.items()}
_MARK_PARTS = frozenset(mark[:size] for mark in _STOP_REASONS for size in range(1, len(mark)))
_TAG_PARTS = frozenset(tag[:size] for tag in THINKING_TAGS for size in range(1, len(tag)))
_LOWER_CASE = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}  # str.lower may lengthen a text


class ReplyFilter:
    """Filters one reply as it streams.

    How the stream is cut into pieces makes no difference to what is shown. Only spaces, and text that may still turn
    out to be a label or a mark, are held back.

    Attributes:
        is_over: whether the rest of the stream must not be read.
        stop_reason: "person" if the model went on to speak for another speaker, "long" if it would not stop.
    """

    def __init__(self, speaker: str, others: Collection[str], max_chars: int = 65_536) -> None:
        """Begin a reply.

        Args:
            speaker: the character.
            others: speakers whose lines it must not write. Names are also recognised by their first or last word alone.
            max_chars: the maximum number of characters to show.

        Raises:
            BadInput: max_chars is less than 1.
        """
        if max_chars < 1:
            raise BadInput(f"invalid max_chars: got {max_chars}, expected at least 1")
        self.is_over = False
        self.stop_reason: StopReason = ""
        self._max_chars = max_chars
        self._labels = _Labels(speaker, others)
        self._read_chars = 0
        self._shown_chars = 0
        self._pending = ""  # held text: it may still become a label or a mark
        self._blanks: list[str] = []  # spaces between what was shown and what follows
        self._blank_chars = 0
        self._at_line_start = True  # a line begins, so a label may follow
        self._label_dropped = False  # a label was dropped; so are the spaces after it
        self._thought_end = ""  # the tag that ends the current block of thoughts

    def feed(self, piece: str) -> str:
        """Take the next piece of the stream; return the text to show now."""
        shown: list[str] = []
        for part in _split_piece(piece):
            if self.is_over:
                break
            part = part[: MAX_READ_FACTOR * self._max_chars - self._read_chars]
            self._read_chars += len(part)
            self._pending += part
            shown += self._release(last=False)
            if self._read_chars == MAX_READ_FACTOR * self._max_chars:
                self._stop("long")
        return "".join(shown)

    def end(self) -> str:
        """Take the end of the stream; return the rest of the text to show."""
        return "".join(self._release(last=True))

    def _release(self, last: bool) -> Iterator[str]:
        """Yield the speech at the beginning of the held text, as far as no later text can change it.

        Args:
            last: whether the stream has ended, so that no later text follows.
        """
        decided = True
        while decided and self._pending and not self.is_over:
            if self._thought_end:
                decided = self._skip_thoughts()
            elif self._at_line_start:
                decided = self._begin_line(last)
            else:
                text, decided = self._continue_line(last)
                yield text

    def _skip_thoughts(self) -> bool:
        """Drop thoughts; return whether they have ended."""
        end = self._pending.translate(_LOWER_CASE).find(self._thought_end)
        if end < 0:
            self._pending = self._pending[-len(self._thought_end) :]
            return False
        self._pending = self._pending[end + len(self._thought_end) :]
        self._thought_end = ""
        return True

    def _begin_line(self, last: bool) -> bool:
        """Begin a line, and drop a label or thinking tag; return False if later text decides, or the reply is over."""
        text = self._pending.lstrip()
        self._hold_blanks(self._pending[: len(self._pending) - len(text)])
        if self.is_over:
            return False
        self._pending = text
        if not self._shown_chars:
            if tag := next((tag for tag in THINKING_TAGS if text[: len(tag)].translate(_LOWER_CASE) == tag), None):
                self._thought_end, self._pending = f"</{tag[1:]}", text[len(tag) :]
                return True
            if text.translate(_LOWER_CASE) in _TAG_PARTS and not last:
                return False
        match self._labels.read(text, last):
            case "maybe":
                return False
            case None:
                self._at_line_start = self._label_dropped = False
            case _Label(of_character=True, rest=rest):
                self._pending, self._label_dropped = rest, True
            case _Label():
                self._stop("person")
        return not self.is_over

    def _continue_line(self, last: bool) -> tuple[str, bool]:
        """Read to the end of the line; return the text to show, and whether the end was found."""
        stop = _STOP.search(self._pending)
        if stop is None:
            return self._show(len(self._pending) - (0 if last else _mark_prefix_chars(self._pending))), False
        if stop["line"]:
            self._at_line_start = True
            return self._show(stop.end()), True
        text = self._show(stop.start())
        self._stop(_STOP_REASONS[stop[0].translate(_LOWER_CASE)])
        return text, False

    def _show(self, size: int) -> str:
        """Return `size` characters of the held text, with the spaces before and without those at the end."""
        text, self._pending = self._pending[:size], self._pending[size:]
        stripped = text.rstrip()
        if not stripped:
            self._hold_blanks(text)
            return ""
        shown = "".join([*self._blanks, stripped])
        self._blanks, self._blank_chars = [], 0
        if len(shown) > self._max_chars - self._shown_chars:
            shown = shown[: self._max_chars - self._shown_chars].rstrip()
            self._stop("long")
        self._shown_chars += len(shown)
        self._hold_blanks(text[len(stripped) :])
        return shown

    def _hold_blanks(self, blanks: str) -> None:
        """Hold spaces back until text follows them."""
        if self._shown_chars and not self._label_dropped and not self.is_over:
            self._blanks.append(blanks)
            self._blank_chars += len(blanks)
            if self._blank_chars > self._max_chars - self._shown_chars:
                self._stop("long")

    def _stop(self, reason: StopReason) -> None:
        """Read and show nothing more."""
        if not self.is_over:
            self.is_over, self.stop_reason = True, reason
        self._pending, self._blanks, self._blank_chars = "", [], 0


def _split_piece(piece: str) -> list[str]:
    """Split a piece by lines and MAX_PART_CHARS, since the held text is copied at each label."""
    lines = piece.splitlines(keepends=True)
    return [line[start : start + MAX_PART_CHARS] for line in lines for start in range(0, len(line), MAX_PART_CHARS)]


@dataclass(frozen=True, slots=True)
class _Label:
    """The name that a line begins with."""

    of_character: bool  # else of another speaker
    rest: str  # the text after a label of the character


class _Labels:
    """Recognises the names of all speakers at the beginning of a line, letter by letter."""

    def __init__(self, speaker: str, others: Collection[str]) -> None:
        self._names: list[tuple[list[str], bool]] = []
        for names, of_character in (
            ([speaker], True),
            ([*others, *USER_LABELS], False),
            (_first_and_last_names(others), False),
            ([*_first_and_last_names([speaker]), *ASSISTANT_LABELS], True),
        ):
            for name in names:
                letters = _fold_letters(name.strip(_AROUND))
                if letters and all(letters != known for known, _ in self._names):
                    self._names.append((letters, of_character))
        self._longest = max(len(letters) for letters, _ in self._names)

    def read(self, text: str, last: bool) -> _Label | Literal["maybe"] | None:
        """Return the label that a line begins with; "maybe" while later text decides, else None."""
        start = _skip_decoration(text, 0)
        head = _fold_letters(text[start : start + self._longest])
        maybe = False
        for name, of_character in self._names:
            letters = head[: len(name)]
            colon = _skip_decoration(text, start + len(name))
            if letters != name[: len(letters)]:
                continue
            if colon >= len(text):
                maybe = True
            elif text[colon] in ":：":
                opened = [char for char in text[:start] if char in _DECORATION]
                closed = [char for char in text[start + len(name) : colon] if char in _DECORATION]
                rest = _strip_decoration(opened, closed, text[colon + 1 :], last) if of_character else ""
                return "maybe" if rest is None else _Label(of_character, rest)
        return "maybe" if maybe and not last else None


def _strip_decoration(opened: list[str], closed: list[str], text: str, last: bool) -> str | None:
    """Return the text after a label, without the closing marks of its decoration ("**Nemo:** Yes").

    If the decoration is closed later ("“Nemo: Yes.”"), the text begins with its opening marks. None if later text
    decides.
    """
    closing = [_CLOSING.get(char, char) for char in reversed(opened)]
    unclosed = "".join(closing[len(closed) :]) if closing[: len(closed)] == closed else ""
    if text.startswith(unclosed):
        return text[len(unclosed) :]
    if unclosed.startswith(text):
        return "" if last else None
    return "".join(opened[: len(unclosed)]) + text.removeprefix(" ")


def _skip_decoration(text: str, start: int) -> int:
    """Return the end of a name's decoration that begins at `start`."""
    end = start
    while end < min(len(text), start + MAX_DECORATION_CHARS) and text[end] in _AROUND:
        end += 1
    return end


def _mark_prefix_chars(text: str) -> int:
    """Return how many characters at the end of a text may begin a mark."""
    end = text[-max(map(len, _STOP_REASONS)) :].translate(_LOWER_CASE)
    return next((len(end) - start for start in range(len(end)) if end[start:] in _MARK_PARTS), 0)


def _fold_letters(name: str) -> list[str]:
    """Split a name into case-folded letters, one for each character, since a folded text may be longer."""
    return [char.casefold() for char in name]


def _first_and_last_names(names: Collection[str]) -> list[str]:
    """Return the first and the last word of each name that has several."""
    return [words[position] for name in names if len(words := name.split()) > 1 for position in (0, -1)]
