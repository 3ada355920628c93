"""A message from a person, and the parts of the answer to it.

An answer consists of parts: lines of the bank, by their numbers, and the bot's own texts. It can therefore be repeated
word for word, although its text is stored only in the bank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from everthread.types import Metadata

LINE_PART, HELD_PART = "line", "said"  # kinds of parts: a line of the bank, and a text that is held in memory
SENDER_ID = "sender_id"  # the name of a member of a line's metadata
GROUP_LINE_PART = "line:"  # the beginning of a kind: a line of the bank named after it, with its speaker's name

# Its kind and its number, or the name of a text of the bot and a number in it. The name is followed by "/" and a
# language if the person's can't be found later.
AnswerPart = tuple[str, int]
AnswerParts = tuple[AnswerPart, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message from a person."""

    id: str  # unique in the channel; a message that is delivered again has the same
    person: str  # the last part of the bank's id
    text: str
    has_pictures: bool = False
    is_answered: bool = False  # the text is a command that the carrier has answered
    sent_at: datetime | None = None  # or edited; None: now
    speaker: str = ""  # the name of the sender; "": the name that the character has for the person
    metadata: Metadata = field(default_factory=dict)  # of the line
    sender_id: str = ""  # of several people in one chat, also in the metadata: two may have the same name
    is_forwarded: bool = False  # another person said it: it is no request, and answers no question


def hash_id(message_id: str) -> str:
    """Return the hash under which the line of a message and its answer are stored."""
    return sha256(message_id.encode()).hexdigest()
