"""Shows a conversation: as plain text, or in a terminal with colours, Markdown and rows that end at words."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from everthread.cli.sanitize import escape_control_chars
from everthread.cli.terminal_markdown import MarkdownWriter
from everthread.cli.wrapping import WordWrapper, wrap

Read = Callable[[str], str]  # shows a prompt and returns a typed line, without its line ending
Write = Callable[[str], None]  # shows text, without adding a line ending

STYLES = {  # SGR parameters
    "bold": "1",
    "code": "36",
    "dim": "2",
    "error": "31",
    "heading": "1;33",
    "hit": "33",
    "incognito": "1;35",
    "italic": "3",
    "marker": "33",
    "name": "1;36",
    "prompt": "1;32",
    "question": "1",
    "quote": "2",
}
_ROWS = (  # how the rows of answers to commands begin, and the styles of their groups
    (re.compile(r"( {0,20})(\[[^\]]{0,80}\])$"), ("", "dim")),  # a date
    (re.compile(r"( {0,20}\d{1,3}%  #-?\d{1,19} )([^:]{1,60}:)?"), ("hit", "name")),
    (re.compile(r"( {0,20}-?\d{1,19}  (?:[(（][^)）:]{1,20}[)）] )?)([^:]{1,60}:)"), ("dim", "name")),
    (re.compile(r"( {1,20}/\w{1,20}(?: [^ ]{1,60}){0,8} {2,60})()"), ("prompt", "")),
    (re.compile(r"(> )([^:]{1,60}:.*)$"), ("hit", "hit")),  # a line that was found
    (re.compile(r"( {2})([^\s:\[][^:\[]{0,60}:)(?= )"), ("", "name")),
    (re.compile(r"(\([^)]{0,200}\)|（[^）]{0,200}）)()"), ("dim", "")),  # a notice
)
_COLUMN = re.compile(r" *\S+(?: \S+)* {2,}|(?:> )? *")  # what the rows that continue a row are indented by


ANSWER_COLUMNS = 4  # that a prompt leaves for a short answer
MIN_PROMPT_COLUMNS = 20


class Screen:
    """Shows a conversation as plain text."""

    is_terminal = False

    def __init__(self, read: Read, write: Write) -> None:
        """`read` shows a prompt and returns the typed line; `write` shows text, without adding a line ending."""
        self.read, self.write = read, write

    def ask(self, prompt: str, style: str = "prompt") -> str:
        """Show a prompt and return the typed line."""
        return self.read(prompt)

    def say(self, text: str, style: str = "") -> None:
        """Show a text and a line ending; nothing for an empty text."""
        if text:
            self.write(f"{text}\n")

    @contextmanager
    def reply(self, name: str) -> Iterator[Write]:
        """Show a reply by `name` while it arrives, and yield what writes its pieces."""
        self.write(f"{name}: ")
        yield self.write


class TerminalScreen(Screen):
    """Shows a conversation in a terminal of the width that its window has at the time."""

    is_terminal = True

    def __init__(self, *, colors: bool) -> None:
        super().__init__(_read_line, _write)
        self.colors = colors

    def ask(self, prompt: str, style: str = "prompt") -> str:
        *rows, prompt = escape_control_chars(prompt).split("\n")
        self.write("\n")
        self.say("\n".join(rows))
        width = max(MIN_PROMPT_COLUMNS, shutil.get_terminal_size().columns - ANSWER_COLUMNS)
        *begun, last = wrap(prompt.rstrip(), width).split("\n")
        self.say("\n".join(begun), style)
        prompt = last + prompt[len(prompt.rstrip()) :]
        return self.read(self._painted(prompt, style, "\001", "\002") if _has_readline() else prompt)

    def say(self, text: str, style: str = "") -> None:
        if text:
            out = self._open_wrapper()
            for row in text.split("\n"):
                self._say_row(out, row, style)

    def _say_row(self, out: WordWrapper, row: str, style: str) -> None:
        column = _COLUMN.match(row)
        out.indent = len(column[0]) if column and len(column[0]) < out.width // 2 else 0
        for pattern, styles in () if style else _ROWS:
            if found := pattern.match(row):
                for text, group_style in zip(found.groups(""), styles, strict=True):
                    out.feed(text, group_style)
                row = row[found.end() :]
                break
        out.feed(row, style)
        out.end_row()

    @contextmanager
    def reply(self, name: str) -> Iterator[Write]:
        out = self._open_wrapper()
        out.feed(f"{name}: ", "name")
        writer = MarkdownWriter(out)
        with _without_echo():
            try:
                yield writer.feed if self.colors else out.feed  # without styles, the markers are what shows them
            finally:
                writer.close()

    def _open_wrapper(self) -> WordWrapper:
        return WordWrapper(self._emit, shutil.get_terminal_size().columns)

    def _emit(self, text: str, style: str) -> None:
        self.write(self._painted(escape_control_chars(text), style))

    def _painted(self, text: str, style: str, before: str = "", after: str = "") -> str:
        """Return a text with the codes of a style. `before` and `after` surround each code."""
        if not self.colors or style not in STYLES or not text.strip():
            return text
        return f"{before}\033[{STYLES[style]}m{after}{text}{before}\033[0m{after}"


def open_screen() -> Screen:
    """Return the screen of this process: plain without a terminal, or in one that can only write text."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        return Screen(
            lambda prompt: input(escape_control_chars(prompt)), lambda text: _write(escape_control_chars(text))
        )
    return TerminalScreen(colors=not os.environ.get("NO_COLOR"))


def _read_line(prompt: str) -> str:
    return input(prompt)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _has_readline() -> bool:
    """Return whether prompts may contain codes, which readline must know to take no room."""
    return "readline" in sys.modules


@contextmanager
def _without_echo() -> Iterator[None]:
    """Keep what is typed out of the output; it appears in the next prompt."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
