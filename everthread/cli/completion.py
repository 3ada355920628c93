"""Completes the commands of a chat and their arguments, when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from everthread.bank.settings import REMEMBER_POLICIES
from everthread.chat.character import EDITABLE_FIELDS
from everthread.chat.chat import Chat
from everthread.common.keys import SETTING_REMEMBER

NUMBERED = ("/edit", "/correct", "/branch", "/forget")  # commands that take the number of a line
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "/forget": ("last", "session"),
    "/lines": ("all",),
    "/set": (*EDITABLE_FIELDS, SETTING_REMEMBER),
}


def complete(chat: Chat, commands: Iterable[str], text: str) -> list[str]:
    """Return what the last word of a typed text may become; nothing for a message.

    Args:
        chat: the conversation, for the numbers of its lines.
        commands: the names of all commands.
        text: what is typed up to the cursor.
    """
    name, *words = text.split(" ")
    if not text.startswith("/") or text.startswith("//"):
        return []
    if not words:
        return sorted(command for command in commands if command.startswith(name.lower()))
    if len(words) == 1:
        numbers = [str(line.seq) for line in chat.lines] if name in NUMBERED else []
        answers = _get_yes_and_no(chat) if name == "/end" else ()
        return [choice for choice in (*ARGUMENTS.get(name, ()), *answers, *numbers) if choice.startswith(words[0])]
    if (name, *words[:-1]) == ("/set", SETTING_REMEMBER):
        return [policy for policy in REMEMBER_POLICIES if policy.startswith(words[-1])]
    if name == "/forget" and len(words) == 2:
        return [answer for answer in _get_yes_and_no(chat) if answer.startswith(words[1])]
    return []


def _get_yes_and_no(chat: Chat) -> tuple[str, str]:
    return chat.words("terminal.yes"), chat.words("terminal.no")


def install(find_choices: Callable[[str], list[str]]) -> None:
    """Complete typed lines by `find_choices`, as far as this system has a line editor."""
    try:
        import readline
    except ImportError:  # Windows has a line editor of its own
        return

    def completer(_: str, state: int) -> str | None:
        choices = find_choices(readline.get_line_buffer()[: readline.get_endidx()])
        return f"{choices[state]} " if state < len(choices) else None

    readline.set_completer_delims(" ")
    readline.set_completer(completer)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
