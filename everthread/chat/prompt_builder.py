"""The whole prompt of a turn. Pure: the clock, the tokens' counter and every number are arguments.

What stays the same stands first, so that a model server's prompt cache holds: who the character is and which lines are
pinned, then the window,
which grows at its end and is cut in blocks. What changes every turn stands last, in one message with the newest line:
notes, what is remembered, the time. It is not sent again: in the next prompt the line stands in the window without it.

Over the budget things are cut in this order: what could be brought up; the oldest lines of the window, but for the last
SPOKEN; what is remembered, the least relevant first; the notes; those last lines of the window; the example dialogues
and the sample of style; what is pinned; in the end the middle of the newest line. Who the character is, is never cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Literal

from everthread.chat.character import Character
from everthread.common.keys import META_HEARD
from everthread.errors import BadQuery
from everthread.recall.context_packing import fit
from everthread.recipes.prompt_parts import RULES, format_part, render_lines
from everthread.text.indentation import indent, join_rows
from everthread.text.tokens import Counter, estimate
from everthread.types import Context, Line, Message

MESSAGE_OVERHEAD_TOKENS = 5  # tokens that a chat API spends on a message beside its text
PROTECTED_LINES = (
    6  # lines of the window that stay longer than what is remembered: without them nobody knows what is talked of
)
OPENING_MESSAGE = "(The conversation begins.)"  # some models want the person to speak first
MIN_USER_CHARS = 20  # characters of a user's line for which a character must leave room
ELLIPSIS = "\n[…]\n"  # where the middle of a line is left out

Told = Callable[[Context, str, datetime], str]  # a context, the character's name, the moment: a part of the prompt


@dataclass(frozen=True, slots=True)
class Turn:
    """What goes into a prompt beside the character. window are the lines before the newest, oldest first."""

    window: Sequence[Line]
    newest: Line | None  # None: the character speaks unasked
    now: datetime
    notes: str = ""
    context: Context | None = None
    offer: str = ""  # one thing that could be brought up
    sample: str = ""  # of the character's style
    render_memories: Told | None = None  # how what is remembered is put; None: as `render_lines` does
    memories_last: bool = False  # whether it stands behind the newest line, not before it
    pinned: str = ""  # what always stands in the prompt
    rules: str = RULES  # the instruction that opens the prompt


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages for a model, how many tokens they are by the counter, and what was cut to fit the budget."""

    messages: tuple[Message, ...]
    tokens: int
    cut: tuple[str, ...] = ()


def build_prompt(character: Character, turn: Turn, budget: int, count: Counter = estimate) -> Prompt:
    """The prompt of a turn in at most `budget` tokens. BadQuery where the character alone is more."""
    cut: list[str] = []
    while True:
        messages = _messages(character, turn)
        tokens = count_tokens(messages, count)
        if tokens <= budget:
            return Prompt(tuple(messages), tokens, tuple(dict.fromkeys(cut)))
        what, character, turn = _trim(character, turn, tokens - budget, count)
        if not what:
            raise BadQuery(
                f"{character.name}'s description and instructions take {tokens} tokens, and the model's context leaves "
                f"{budget} for a prompt; shorten them, or take a model with a larger context"
            )
        cut.append(what)


def check_fits(character: Character, budget: int, now: datetime, count: Counter) -> None:
    """Raise BadQuery if a character leaves no room for a short line in `budget` tokens."""
    line = Line(0, "", "user", character.person, "…" * MIN_USER_CHARS, now)
    build_prompt(character, Turn((), line, now), budget, count)


def count_tokens(messages: Sequence[Message], count: Counter) -> int:
    """The tokens of messages."""
    return sum(count(message.content) + MESSAGE_OVERHEAD_TOKENS for message in messages)


def count_line_tokens(line: Line, count: Counter) -> int:
    """The tokens of a line in the window."""
    return count(format_line(line)) + MESSAGE_OVERHEAD_TOKENS


def shared_prefix_ratio(before: Prompt, after: Prompt, count: Counter = estimate) -> float:
    """Which share of a prompt's tokens (0..1) stood at the beginning of the one before, word for word: what a server's
    prompt cache need not read again."""
    same = 0
    for old, new in zip(before.messages, after.messages, strict=False):
        if old == new:
            same += count(new.content) + MESSAGE_OVERHEAD_TOKENS
            continue
        if old.role == new.role:
            same += count(_common(old.content, new.content))
        break
    return same / after.tokens


def _common(one: str, other: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:at]


# -------------------------------------------------------------------- messages


def format_line(line: Line) -> str:
    """A line as it appears in the window: after the name of who said it, and set in."""
    return indent(line.text, line.speaker, every=not is_character_line(line))


def _messages(character: Character, turn: Turn) -> list[Message]:
    """All of it. Lines of one side that follow one another are one message, for many models want the sides to take
    turns, the person first and last."""
    lines = [*turn.window, *([turn.newest] if turn.newest and is_character_line(turn.newest) else [])]
    said = [("user", OPENING_MESSAGE)] if lines and is_character_line(lines[0]) else []
    said += [(_role(line), format_line(line)) for line in lines]
    said.append(("user", build_last_message(character, turn)))
    sides = [
        Message(role, "\n\n".join(text for _, text in texts)) for role, texts in groupby(said, lambda each: each[0])
    ]
    return [Message("system", build_prefix(character, turn.sample, turn.pinned, turn.rules)), *sides]


def is_character_line(line: Line) -> bool:
    """Whether a line is the character's own, whatever it was called when it said it."""
    return line.role == "assistant" and not line.metadata.get(META_HEARD)


def _role(line: Line) -> Literal["user", "assistant"]:
    return "assistant" if is_character_line(line) else "user"


def build_prefix(character: Character, sample: str = "", pinned: str = "", rules: str = RULES) -> str:
    """What the prompt begins with, turn after turn the same."""
    name, ours = character.name, replace(character, nickname="").fill_names(rules)  # a nickname is for the card's texts
    opening = character.fill_names(character.instructions.strip() or "{{original}}").replace("{{original}}", ours)
    return _joined(
        opening,
        format_part(f"About {name}", character.fill_names(character.description)),
        format_part("The situation", character.fill_names(character.scenario)),
        format_part(
            f"How {name} talks, in dialogues made up for the purpose", character.fill_names(character.examples)
        ),
        _said(f"How {name} talks, in a reply of {name}'s own: keep to this style, not to its words", sample),
        format_part(f"What {name} always bears in mind, said in earlier conversations", pinned),
    )


def build_last_message(character: Character, turn: Turn) -> str:
    """What changes every turn, and the newest line."""
    name, at = character.name, turn.now
    place = f", at: {join_rows(character.fill_names(character.location))}" if character.location else ""
    return _joined(
        _said(f"{name}'s notes", turn.notes),
        "" if turn.memories_last else build_memory_section(turn, name),
        format_part(f"What {name} could bring up, if the moment is right", turn.offer),
        f"(It is {at:%A}, {at.day} {at:%B} {at.year:04d}, {at:%H:%M}{place}.)",
        character.fill_names(character.reminder),
        _newest(character, turn.newest),
        build_memory_section(turn, name) if turn.memories_last else "",
    )


def _newest(character: Character, line: Line | None) -> str:
    """The newest line; its own a character has said in a message of its own."""
    if line is None:
        return "(Nobody has said anything yet: begin the conversation.)"
    if is_character_line(line):
        return "(Nobody has answered yet: go on.)"
    return format_line(line)


def build_memory_section(turn: Turn, name: str) -> str:
    """What is remembered, as the recipe puts it."""
    if not turn.context or not turn.context.text:
        return ""
    told, others = turn.render_memories or render_lines, turn.context.others
    ours = told(turn.context, name, turn.now) if turn.context.sources or not others else ""
    parts = [f"[Said to {name} by others, in the bank {each.bank}]\n{told(each, name, turn.now)}" for each in others]
    return _joined(ours, *parts)


def _said(title: str, text: str) -> str:
    """A part in words that people or models chose: none of its rows passes for another part."""
    text = text.strip()
    return f"[{title}]\n{indent(text, every=False)}" if text else ""


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


# --------------------------------------------------------------------- cutting


def _trim(character: Character, turn: Turn, over: int, count: Counter) -> tuple[str, Character, Turn]:
    """The turn with less in it, and what was cut; "" where there is nothing left that may be."""
    if turn.offer:
        return "offer", character, replace(turn, offer="")
    if len(turn.window) > PROTECTED_LINES:
        return "window", character, _older(turn, over, PROTECTED_LINES, count)
    if turn.context and turn.context.text:
        return "remembered", character, replace(turn, context=_forgetting(turn.context, over, count))
    if turn.notes:
        return "notes", character, replace(turn, notes="")
    if turn.window:
        return "window", character, _older(turn, over, 0, count)
    if character.examples:
        return "examples", replace(character, examples=""), turn
    if turn.sample:
        return "sample", character, replace(turn, sample="")
    if turn.pinned:
        return "pinned", character, replace(turn, pinned="")
    if turn.newest and len(turn.newest.text) > 2 * len(ELLIPSIS):
        return "newest line", character, replace(turn, newest=_shorter(turn.newest, over, count))
    return "", character, turn


def _older(turn: Turn, over: int, spared: int, count: Counter) -> Turn:
    """Without so many of the oldest lines that `over` tokens are saved, but for the last `spared`."""
    gone = 0
    while over > 0 and len(turn.window) - gone > spared:
        over -= count_line_tokens(turn.window[gone], count)
        gone += 1
    return replace(turn, window=turn.window[gone:])


def _forgetting(context: Context, over: int, count: Counter) -> Context:
    """What is remembered, by `over` tokens less, or nothing; what other banks have is cut first."""
    if context.others:
        *others, last = context.others
        left = context.text if others or context.sources else ""
        return replace(context, text=left, tokens=context.tokens - last.tokens, others=tuple(others))
    room = context.tokens - over
    return fit(context.hits, (), room, count, context.relevance) if room > 0 else replace(context, text="", tokens=0)


def _shorter(line: Line, over: int, count: Counter) -> Line:
    """The line without so much of its middle that about `over` tokens are saved, and always shorter."""
    text, room = line.text, count(line.text) - over

    def around(half: int) -> str:
        return text[:half] + ELLIPSIS + text[len(text) - half :]

    longest = (len(text) - len(ELLIPSIS) - 1) // 2
    half = bisect_right(range(longest + 1), room, key=lambda half: count(around(half))) - 1
    return replace(line, text=around(max(half, 0)))
