"""Reads Telegram's updates: messages, edited messages, and presses of buttons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from everthread.server.messaging.message import SENDER_ID
from everthread.transfer.services.telegram import DELETED_ACCOUNT
from everthread.types import Metadata

MEDIA = (
    "photo", "video", "voice", "audio", "sticker", "document", "animation", "video_note", "location", "contact", "poll",
    "dice", "game", "story", "paid_media", "checklist",
)  # fmt: skip
_COMMAND = re.compile(r"/([a-z0-9_]{1,32})(?:@(\w+))?(?:\s+(.*))?", re.ASCII | re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a person, perhaps an edited one."""

    chat: int
    message: int
    text: str  # without the bot's name at its beginning
    sent_at: datetime  # or edited
    speaker: str  # of a forwarded message, the name of its author; in a group, of the sender, or of the group for an
    # anonymous administrator; else ""
    language: str  # the code of the language of the sender's app, such as "de" or "pt-br"
    reply_to: int | None
    has_media: bool
    is_edited: bool
    is_group: bool
    is_addressed: bool  # in a group: it mentions the bot, answers it, or is a command that may be its own
    links: tuple[str, ...] = ()  # addresses of words that the app shows as links
    topic: int | None = None  # of a forum in which it was written; None: the chat has none, or it is "General"
    sender_id: str = ""  # of the speaker in a group, as in Telegram's exports
    forwarded_by: str = ""  # the name of the sender of a forwarded message, whose speaker is its author

    @property
    def id(self) -> str:
        """The id of the message among all chats."""
        return f"{self.chat}:{self.message}"

    @property
    def metadata(self) -> Metadata:
        """The metadata of the message's line."""
        answered: Metadata = {} if self.reply_to is None else {"reply_to": str(self.reply_to)}
        people = {SENDER_ID: self.sender_id, "forwarded_by": self.forwarded_by}
        known: Metadata = {name: value for name, value in people.items() if value}
        return {**answered, **({"links": list(self.links)} if self.links else {}), **known}

    @property
    def command(self) -> tuple[str, str]:
        """The command that the message is, without the slash, and what follows it; two empty texts for none."""
        match = None if self.forwarded_by else _COMMAND.fullmatch(self.text.strip())
        return (match[1].lower(), (match[3] or "").strip()) if match else ("", "")


@dataclass(frozen=True, slots=True)
class Pressed:
    """A press of a button below a message of the bot."""

    id: str
    chat: int
    message: int
    data: str
    speaker: str
    is_group: bool
    topic: int | None = None  # as of a message


@dataclass(frozen=True, slots=True)
class Moved:
    """A group that has become a supergroup, which is another chat."""

    chat: int
    successor: int


def read_update(update: Mapping[str, Any], bot_name: str) -> Said | Pressed | Moved | None:
    """Read an update.

    Args:
        update: as Telegram sends it.
        bot_name: the bot's user name, without the @.

    Returns:
        The message, the press, or the move; None for anything else, such as a message of a channel or of another bot,
        or one without content, which reports that something has changed in the chat.
    """
    if (press := update.get("callback_query")) is not None:
        return _read_press(press)
    message = update.get("edited_message") or update.get("message") or {}
    if successor := message.get("migrate_to_chat_id"):
        return Moved(int(message["chat"]["id"]), int(successor))
    if chat := message.get("migrate_from_chat_id"):
        return Moved(int(chat), int(message["chat"]["id"]))
    return _read_message(message, bot_name, is_edited="edited_message" in update) if message else None


def _read_message(message: Mapping[str, Any], bot_name: str, *, is_edited: bool) -> Said | None:
    """Read a message; None if it is another bot's, or has no content."""
    sender, community = message.get("from") or {}, message.get("sender_chat") or {}
    if not sender or (sender.get("is_bot") and not community):
        return None
    text, has_media = str(message.get("text") or message.get("caption") or ""), any(kind in message for kind in MEDIA)
    if not text and not has_media:
        return None
    is_group = message["chat"].get("type") != "private"
    answered = message.get("reply_to_message") or {}
    mention = re.compile(rf"@{re.escape(bot_name)}\b", re.IGNORECASE | re.ASCII)
    name, author = str(community.get("title") or "") or _full_name(sender), _find_author(message)
    return Said(
        chat=int(message["chat"]["id"]),
        message=int(message["message_id"]),
        text=mention.sub("", text, count=1).strip() if mention.match(text.lstrip()) else text,
        sent_at=datetime.fromtimestamp(int(message.get("edit_date") or message["date"]), UTC).astimezone(),
        speaker=author or (name if is_group else ""),
        language=str(sender.get("language_code", "")),
        reply_to=int(answered["message_id"]) if answered else None,
        has_media=has_media,
        is_edited=is_edited,
        is_group=is_group,
        is_addressed=not is_group or _addresses_bot(text, answered, bot_name, mention),
        links=_find_links(message),
        topic=_find_topic(message),
        sender_id=_find_speaker_id(message) if is_group else "",
        forwarded_by=(name or DELETED_ACCOUNT) if author else "",
    )


def _addresses_bot(text: str, answered: Mapping[str, Any], bot_name: str, mention: re.Pattern[str]) -> bool:
    """Return whether a message in a group mentions the bot, answers it, or is a command that may be its own."""
    if (command := _COMMAND.fullmatch(text.strip())) is not None:
        return (command[2] or bot_name).lower() == bot_name.lower()
    answers_bot = str((answered.get("from") or {}).get("username", "")).lower() == bot_name.lower()
    return answers_bot or mention.search(text) is not None


def _read_press(press: Mapping[str, Any]) -> Pressed | None:
    message = press.get("message") or {}
    if not message or not press.get("data"):
        return None
    is_group = message["chat"].get("type") != "private"
    speaker = _full_name(press.get("from") or {}) if is_group else ""
    ids = int(message["chat"]["id"]), int(message["message_id"])
    return Pressed(str(press["id"]), *ids, str(press["data"]), speaker, is_group, _find_topic(message))


def _find_author(message: Mapping[str, Any]) -> str:
    """Return the name of the author of a forwarded message; empty for any other, and for words of the sender."""
    if (origin := message.get("forward_origin")) is None:
        return ""
    sender, author = message["from"], origin.get("sender_user") or {}
    place = origin.get("chat") or origin.get("sender_chat") or {}
    name = str(origin.get("sender_user_name") or place.get("title") or "") or _full_name(author)
    # A person whose account is hidden in forwarded messages is known by name only.
    is_own = author["id"] == sender["id"] if author else name == _full_name(sender)
    return "" if is_own else name or DELETED_ACCOUNT


def _find_speaker_id(message: Mapping[str, Any]) -> str:
    """Return the id of the author of a message, as in Telegram's exports; empty for one who is hidden or a channel."""
    if _find_author(message):
        author = message["forward_origin"].get("sender_user") or {}
    else:
        author = {} if message.get("sender_chat") else message["from"]
    return f"user{author['id']}" if author else ""


def _find_topic(message: Mapping[str, Any]) -> int | None:
    """Return the topic of a message. Outside forums, Telegram numbers the threads of answers in the same field."""
    return int(message["message_thread_id"]) if message.get("is_topic_message") else None


def _find_links(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the addresses of links of which the text shows only words."""
    entities = message.get("entities") or message.get("caption_entities") or ()
    return tuple(str(entity["url"]) for entity in entities if entity.get("type") == "text_link")


def _full_name(user: Mapping[str, Any]) -> str:
    names = (str(user.get(name) or "").strip() for name in ("first_name", "last_name"))
    return " ".join(filter(None, names))
