"""Builds the prompt of a turn. Pure: the clock, the token counter and every limit are arguments.

The stable parts come first, so that a model server's prompt cache can be used: the character, the pinned lines and the
profile of the user, then the window, which grows at its end and is cut in blocks. The parts that change every turn come
last, in one message with the newest line: notes, memories, the time. The next prompt holds that line in the window,
without them.

Over the budget, parts are cut in this order: the reminder; the oldest lines of the window, except the last
PROTECTED_LINES; memories, the least relevant first; entries of the lorebook; the notes; the rest of the window; the
example dialogues and the style sample; the profile of the user; the pinned lines; and finally the middle of the newest
line. The character's description is never cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Literal

from everthread.chat.character import Character
from everthread.chat.deletion_requests import is_deletion_request
from everthread.common.keys import META_HEARD
from everthread.errors import BadQuery
from everthread.recall.context_packing import fill_context
from everthread.recipes.prompt_parts import RULES, format_part, render_lines
from everthread.text.dates import format_long_date
from everthread.text.formatting import format_facts
from everthread.text.indentation import indent, join_rows
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import Context, Line, Message

MESSAGE_OVERHEAD_TOKENS = 5  # of a message in a chat API, in addition to its text
PROTECTED_LINES = 6  # of the window, cut only after memories: the topic depends on them
OPENING_MESSAGE = "(The conversation begins.)"  # some models expect the user to speak first
CACHED_LINES = 2048  # rendered, with their tokens; the lines of a window are needed several times a turn
MIN_USER_CHARS = 20  # characters of a user's line for which a character must leave room
ELLIPSIS = "\n[…]\n"  # replaces the middle of a line

RenderMemories = Callable[[Context, str, datetime], str]  # (context, character's name, now) -> section of the prompt
PartName = Literal[
    "instructions", "character", "examples", "pinned", "profile", "window", "notes", "lore", "memories", "reminder",
    "scene", "message",
]  # fmt: skip
Section = tuple[PartName, str]


def is_character_line(line: Line) -> bool:
    """Return whether the character said a line, under any name."""
    return line.role == "assistant" and not line.metadata.get(META_HEARD)


def format_line(line: Line) -> str:
    """Render a line of the window: the speaker's name and the text, indented."""
    return _format(line.text, line.speaker, is_character_line(line))


def _format(text: str, speaker: str, of_character: bool) -> str:
    return indent(text, speaker, all_rows=not of_character)


def count_line_tokens(line: Line, count: TokenCounter) -> int:
    """Count the tokens of a line in the window."""
    return count(format_line(line)) + MESSAGE_OVERHEAD_TOKENS


class LineFormatter:
    """Renders lines of the window and counts their tokens; repeated lines, up to CACHED_LINES, only once."""

    def __init__(self, count: TokenCounter) -> None:
        @lru_cache(CACHED_LINES)
        def render(text: str, speaker: str, of_character: bool) -> tuple[str, int]:
            rendered = _format(text, speaker, of_character)
            return rendered, count(rendered) + MESSAGE_OVERHEAD_TOKENS

        self._render = render

    def format(self, line: Line) -> str:
        """Render a line, as `format_line` does."""
        return self._render(line.text, line.speaker, is_character_line(line))[0]

    def count_tokens(self, line: Line) -> int:
        """Count the tokens of a line, as `count_line_tokens` does."""
        return self._render(line.text, line.speaker, is_character_line(line))[1]


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The parts of a prompt, except the character."""

    window: Sequence[Line]  # the lines before the newest, oldest first
    newest: Line | None  # None: the character speaks first
    now: datetime
    notes: str = ""
    context: Context | None = None
    reminder: str = ""  # an event or line that the character could bring up
    sample: str = ""  # of the character's style
    render_memories: RenderMemories | None = None  # renders the memories; None: `render_lines`
    memories_last: bool = False  # place memories after the newest line instead of before it
    pinned: str = ""  # the pinned lines, rendered
    profile: str = ""  # what is known of the user, as sentences
    rules: str = RULES  # the instruction that opens the prompt
    format_line: Callable[[Line], str] = format_line  # renders a line of the window
    lore: str = ""  # entries of the card's lorebook
    former_names: Sequence[str] = ()  # under which the user spoke before


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages for a model, their tokens, and the names of the parts that were cut to fit the budget.

    sizes are the tokens of its parts, in its order, which add up to `tokens`; window has the lines of the window.
    """

    messages: tuple[Message, ...]
    tokens: int
    cut: tuple[str, ...] = ()
    sizes: Mapping[PartName, int] = field(default_factory=dict)
    window: tuple[Line, ...] = ()


def build_prompt(
    character: Character, parts: PromptParts, budget: int, count: TokenCounter = estimate_tokens
) -> Prompt:
    """Build the prompt of a turn in at most `budget` tokens. Raises BadQuery if the character alone is longer."""
    cut: list[str] = []
    while True:
        messages = _build_messages(character, parts)
        tokens = count_tokens(messages, count)
        if tokens <= budget:
            sizes = _measure(character, parts, tokens, count)
            return Prompt(tuple(messages), tokens, tuple(dict.fromkeys(cut)), sizes, tuple(parts.window))
        part, character, parts = _trim(character, parts, tokens - budget, count)
        if not part:
            raise BadQuery(
                f"{character.name}'s description and instructions take {tokens} tokens, and the model's context leaves "
                f"{budget} for a prompt; shorten them, or take a model with a larger context"
            )
        cut.append(part)


def check_fits(character: Character, budget: int, now: datetime, count: TokenCounter) -> None:
    """Raise BadQuery if a character leaves no room for a short line in `budget` tokens."""
    line = Line(0, "", "user", character.person, "…" * MIN_USER_CHARS, now)
    build_prompt(character, PromptParts((), line, now), budget, count)


def count_tokens(messages: Sequence[Message], count: TokenCounter) -> int:
    """Count the tokens of messages, overhead included."""
    return sum(count(message.content) + MESSAGE_OVERHEAD_TOKENS for message in messages)


def _measure(character: Character, parts: PromptParts, total: int, count: TokenCounter) -> dict[PartName, int]:
    """Count the tokens of each part. Separators and the messages' overhead count as part of the instructions."""
    sizes: dict[PartName, int] = {}
    for name, text in list_sections(character, parts):
        if text:
            lines = map(parts.format_line, parts.window) if name == "window" else (text,)
            sizes[name] = sizes.get(name, 0) + sum(map(count, lines))
    sizes["instructions"] = max(sizes.get("instructions", 0) + total - sum(sizes.values()), 0)
    return sizes


def shared_prefix_ratio(before: Prompt, after: Prompt) -> float:
    """Return the share (0..1) of a prompt's tokens that begin the one before verbatim: what a prompt cache saves."""
    shared = 0
    for old, new in zip(before.messages, after.messages, strict=False):
        if old == new:
            shared += estimate_tokens(new.content) + MESSAGE_OVERHEAD_TOKENS
            continue
        if old.role == new.role:
            shared += estimate_tokens(_common_prefix(old.content, new.content))
        break
    return shared / after.tokens


def _common_prefix(one: str, other: str) -> str:
    end = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:end]


# -------------------------------------------------------------------- messages


def _build_messages(character: Character, parts: PromptParts) -> list[Message]:
    """Build all messages. Consecutive lines of one side form one message, since many models expect the sides to
    alternate, the user first and last."""
    lines = [*parts.window, *([parts.newest] if parts.newest and is_character_line(parts.newest) else [])]
    texts = [("user", OPENING_MESSAGE)] if lines and is_character_line(lines[0]) else []
    texts += [(_role(line), parts.format_line(line)) for line in lines]
    texts.append(("user", build_last_message(character, parts)))
    messages = [
        Message(role, "\n\n".join(text for _, text in group)) for role, group in groupby(texts, lambda each: each[0])
    ]
    return [
        Message("system", build_prefix(character, parts.sample, parts.pinned, parts.rules, parts.profile)),
        *messages,
    ]


def _role(line: Line) -> Literal["user", "assistant"]:
    return "assistant" if is_character_line(line) else "user"


def list_sections(character: Character, parts: PromptParts) -> list[Section]:
    """Return the sections of a prompt, each with the part that it belongs to; some may be empty."""
    window: Section = ("window", "\n\n".join(map(parts.format_line, parts.window)))
    prefix = _list_prefix_sections(character, parts.sample, parts.pinned, parts.rules, parts.profile)
    return [*prefix, window, *_list_last_sections(character, parts)]


def build_prefix(
    character: Character, sample: str = "", pinned: str = "", rules: str = RULES, profile: str = ""
) -> str:
    """Build the part of the prompt that stays the same from turn to turn."""
    return _join_sections(_list_prefix_sections(character, sample, pinned, rules, profile))


def _list_prefix_sections(character: Character, sample: str, pinned: str, rules: str, profile: str) -> list[Section]:
    """Return the sections of the part that stays the same; some may be empty."""
    name = character.name
    filled_rules = replace(character, nickname="").fill_names(rules)  # a nickname is only for the card's texts
    instructions = character.fill_names(character.instructions.strip() or "{{original}}")
    made_up = f"How {name} talks, in dialogues made up for the purpose"
    own_words = f"How {name} talks, in a reply of {name}'s own: keep to this style, not to its words"
    return [
        ("instructions", instructions.replace("{{original}}", filled_rules)),
        ("character", format_part(f"About {name}", character.fill_names(character.description))),
        ("character", format_part("The situation", character.fill_names(character.scenario))),
        ("examples", format_part(made_up, character.fill_names(character.examples))),
        ("examples", _quoted_section(own_words, sample)),
        ("pinned", format_part("Always remember, from earlier conversations", pinned)),
        ("profile", format_part(f"What {name} knows of {character.person}", profile)),
    ]


def build_last_message(character: Character, parts: PromptParts) -> str:
    """Build the last message: the parts that change every turn, and the newest line."""
    return _join_sections(_list_last_sections(character, parts))


def _list_last_sections(character: Character, parts: PromptParts) -> list[Section]:
    name = character.name
    memories: Section = ("memories", build_memory_section(parts, name))
    sections: list[Section] = [
        ("notes", _quoted_section(f"{name}'s notes", parts.notes)),
        ("lore", format_part(f"What {name} knows of what is being talked about", parts.lore)),
        ("reminder", format_part(f"What {name} could bring up, if the moment is right", parts.reminder)),
        ("scene", _format_scene(character, parts)),
        ("scene", character.fill_names(character.reminder)),
        ("message", _format_newest_line(parts.newest)),
    ]
    sections.insert(len(sections) if parts.memories_last else 2, memories)
    return sections


def _format_scene(character: Character, parts: PromptParts) -> str:
    """Render the time and the place of a reply, and under which names the user appears in memories."""
    now, former = parts.now, ", ".join(parts.former_names)
    place = f", at: {join_rows(character.fill_names(character.location))}" if character.location else ""
    names = f" Earlier messages call {character.person}: {former}." if former else ""
    return f"(It is {format_long_date(now)}, {now:%H:%M}{place}.{names}{_describe_deletion(character, parts.newest)})"


def _describe_deletion(character: Character, newest: Line | None) -> str:
    """Say that a reply deletes nothing, if the user asks for that; otherwise a model promises it."""
    if newest is None or newest.role != "user" or not is_deletion_request(newest.text):
        return ""
    name, person = character.name, character.person
    return (
        f" {name} can't delete or forget what was said; {person} can, with the controls of this chat. {name} says so, "
        "and does not claim to have forgotten it."
    )


def _format_newest_line(line: Line | None) -> str:
    """Render the newest line, unless the character said it; then it is a message of its own."""
    if line is None:
        return "(Nobody has said anything yet: begin the conversation.)"
    if is_character_line(line):
        return "(Nobody has answered yet: go on.)"
    return format_line(line)


def build_memory_section(parts: PromptParts, name: str) -> str:
    """Build the section of memories, rendered by the recipe."""
    if not parts.context or not parts.context.text:
        return ""
    render, others = parts.render_memories or render_lines, parts.context.others
    has_own = parts.context.sources or not (others or parts.context.facts)
    own_memories = render(parts.context, name, parts.now) if has_own else ""
    facts = format_part(f"What {name} knows", format_facts(parts.context.facts))
    sections = [
        f"[Said in other conversations, in the bank {other.bank}]\n{render(other, name, parts.now)}" for other in others
    ]
    return _join(facts, own_memories, *sections)


def _quoted_section(title: str, text: str) -> str:
    """Build a section of text by users or models; its rows are indented, so that none of them looks like a heading."""
    text = text.strip()
    return f"[{title}]\n{indent(text, all_rows=False)}" if text else ""


def _join_sections(sections: Sequence[Section]) -> str:
    return _join(*(text for _, text in sections))


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


# --------------------------------------------------------------------- cutting


def _trim(
    character: Character, parts: PromptParts, over: int, count: TokenCounter
) -> tuple[str, Character, PromptParts]:
    """Cut one part, and return its name, the character and the parts; the name is "" if nothing more may be cut."""
    if parts.reminder:
        return "reminder", character, replace(parts, reminder="")
    if len(parts.window) > PROTECTED_LINES:
        return "window", character, _drop_oldest(parts, over, PROTECTED_LINES, count)
    if parts.context and parts.context.text:
        return "memories", character, replace(parts, context=_shrink_memories(parts.context, over, count))
    if parts.lore:
        return "lore", character, replace(parts, lore="")
    if parts.notes:
        return "notes", character, replace(parts, notes="")
    if parts.window:
        return "window", character, _drop_oldest(parts, over, 0, count)
    if character.examples:
        return "examples", replace(character, examples=""), parts
    if parts.sample:
        return "examples", character, replace(parts, sample="")
    if parts.profile:
        return "profile", character, replace(parts, profile="")
    if parts.pinned:
        return "pinned", character, replace(parts, pinned="")
    if parts.newest and len(parts.newest.text) > 2 * len(ELLIPSIS):
        return "message", character, replace(parts, newest=_shorten(parts.newest, over, count))
    return "", character, parts


def _drop_oldest(parts: PromptParts, over: int, protected: int, count: TokenCounter) -> PromptParts:
    """Drop the oldest lines, to save `over` tokens, but none of the last `protected` lines."""
    dropped = 0
    while over > 0 and len(parts.window) - dropped > protected:
        over -= count_line_tokens(parts.window[dropped], count)
        dropped += 1
    return replace(parts, window=parts.window[dropped:])


def _shrink_memories(context: Context, over: int, count: TokenCounter) -> Context:
    """Drop memories, to save `over` tokens; memories of other banks first."""
    if context.facts:
        saved = count(format_facts(context.facts))
        return replace(context, tokens=max(context.tokens - saved, 1), facts=())
    if context.others:
        *others, last = context.others
        text = context.text if others or context.sources else ""
        return replace(context, text=text, tokens=context.tokens - last.tokens, others=tuple(others))
    budget = context.tokens - over
    if budget <= 0:
        return replace(context, text="", tokens=0)
    return fill_context(context.hits, (), budget, count, context.relevance)


def _shorten(line: Line, over: int, count: TokenCounter) -> Line:
    """Cut the middle of a line, to save about `over` tokens; the line always gets shorter."""
    text, budget = line.text, count(line.text) - over

    def with_ends(half: int) -> str:
        return text[:half] + ELLIPSIS + text[len(text) - half :]

    longest = (len(text) - len(ELLIPSIS) - 1) // 2
    half = bisect_right(range(longest + 1), budget, key=lambda half: count(with_ends(half))) - 1
    return replace(line, text=with_ends(max(half, 0)))
