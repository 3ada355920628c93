"""Picture of the chat in a terminal: `python docs/generate_terminal.py` writes docs/images/chat.svg.

It runs the commands below in a pseudo-terminal with a temporary store, without a language model, and draws what they
print.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "chat.svg"
COLUMNS = 96
CHAT = "everthread chat --bank nora --speaker Nora"
QUESTIONS = ("Where does Mia work?", "What am I allergic to?", "What is the capital of Peru?")
PROMPT = "Nora> "
PATIENCE_S = 60

CELL_WIDTH, ROW_HEIGHT, FONT_SIZE, MARGIN = 9.6, 23, 16, 24  # pixels
PAPER, INK = "#1e1d1a", "#e8e4db"
COLORS = {"31": "#e79ab2", "32": "#b3c777", "33": "#e6a57b", "35": "#d0a8e0", "36": "#8fc1e3"}  # by SGR parameter
CODE = re.compile(r"\x1b\[([\d;]*)m|\x1b[\[\]()?>=][\d;?]*[A-Za-ln-z]?")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TERM": "xterm",
            "COLUMNS": str(COLUMNS),
            "EVERTHREAD_STORE": folder,
            "HOME": folder,
        }
        environment = {
            name: value for name, value in environment.items() if not name.startswith(("NO_COLOR", "OLLAMA"))
        }
        everthread = [sys.executable, "-m", "everthread"]
        talk = str(ROOT / "examples" / "talk.txt")
        subprocess.run(
            [*everthread, "import", talk, "--bank", "nora"], env=environment, check=True, capture_output=True
        )
        shown = run_chat([*everthread, *CHAT.split()[1:], "--model", "none"], environment)
    rows = ["$ " + CHAT, *shown.replace("\r", "").rstrip("\n").split("\n")]
    PICTURE.write_text(draw(rows), encoding="utf-8")


def run_chat(command: list[str], environment: dict[str, str]) -> str:
    """Ask the questions; return what the terminal showed, with its codes."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    shown = ""
    for number, typed in enumerate((*QUESTIONS, "/quit"), 1):
        while len(re.findall(re.escape(PROMPT), shown)) < number:
            if not select.select([master], [], [], PATIENCE_S)[0]:
                raise TimeoutError(f"no prompt after {PATIENCE_S} s: {shown!r}")
            shown += os.read(master, 65536).decode()
        os.write(master, f"{typed}\n".encode())
    try:
        while select.select([master], [], [], PATIENCE_S)[0] and (more := os.read(master, 65536)):
            shown += more.decode()
    except OSError:  # the command has ended
        pass
    process.wait()
    return shown


def draw(rows: list[str]) -> str:
    """Draw rows of terminal output as SVG."""
    width = round(COLUMNS * CELL_WIDTH + 2 * MARGIN)
    height = round(len(rows) * ROW_HEIGHT + 2 * MARGIN)
    texts = "\n".join(draw_row(row, MARGIN + (number + 0.75) * ROW_HEIGHT) for number, row in enumerate(rows))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<rect width="{width}" height="{height}" rx="12" fill="{PAPER}"/>
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="{FONT_SIZE}" fill="{INK}">
{texts}
</g>
</svg>
"""


def draw_row(row: str, y: float) -> str:
    """Draw one row: each run of one style at its own column."""
    style, column, spans, at = "", 0, [], 0
    for code in [*CODE.finditer(row), None]:
        text = row[at : code.start() if code else len(row)]
        if text:
            x = MARGIN + column * CELL_WIDTH
            length = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
            spans.append(f'<tspan x="{x:.1f}" textLength="{length * CELL_WIDTH:.1f}"{style}>{escape(text)}</tspan>')
            column += length
        if code and code[1] is not None:
            style = attributes(code[1].split(";"))
        at = code.end() if code else at
    return f'<text xml:space="preserve" y="{y:.1f}">{"".join(spans)}</text>'


def attributes(parameters: list[str]) -> str:
    """Return the SVG attributes of a style's SGR parameters."""
    shown = [f' fill="{COLORS[name]}"' for name in parameters if name in COLORS]
    shown += [' font-weight="bold"'] if "1" in parameters else []
    shown += [' opacity="0.6"'] if "2" in parameters else []
    return "".join([*shown, *([' font-style="italic"'] if "3" in parameters else [])])


if __name__ == "__main__":
    main()
