"""Who the bot is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from everthread.types import JSONValue


@dataclass(frozen=True, slots=True)
class Character:
    """A character, and whom it talks with. Everything may be changed in the middle of a conversation, from then on.

    In every text {{char}} and {{user}} stand for the names, as character cards have it.
    """

    name: str
    description: str = ""
    location: str = ""  # where the two are now
    scenario: str = ""
    greeting: str = ""  # what it says first
    person: str = "user"  # the name of whoever talks with it
    examples: str = ""  # dialogues that show how it speaks
    sample: str = ""  # its first reply, kept as a sample of its style; empty until there is one
    instructions: str = ""  # of a card, which stand in place of ours
    reminder: str = ""  # of a card, which stands behind the conversation
    card: Mapping[str, JSONValue] = field(default_factory=dict)  # what else its card holds, kept as it came

    def filled(self, text: str) -> str:
        """A text with the names in it."""
        return text.replace("{{char}}", self.name).replace("{{user}}", self.person)
