"""Asks for the user's name, and how to end a conversation, with one character or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from everthread.chat.character import DEFAULT_CHARACTER
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent
from everthread.cli.answers import YesNoQuestions
from everthread.cli.screen import Screen
from everthread.errors import EverthreadError
from everthread.languages.wording import Wording
from everthread.types import EndResult, Filter

MAX_NAME_WORDS = 5  # as in "María del Carmen López Ruiz"
MAX_NAME_CHARS = 40
# A mark of a sentence, or its beginning; a point is part of names such as "J. R.". The page has the same.
SENTENCE = re.compile(
    r"[,;!?、。，；！？]|^(?:my name|i am|i['’]m|call me|mein name|ich bin|ich heiße|mon nom|je suis|mi nombre|yo soy"
    r"|soy|me llamo)\s|^je m['’]|^私の名前は|^我叫",
    re.IGNORECASE,
)


def needs_name(chats: Sequence[Chat], screen: Screen) -> bool:
    """Return whether the user's name is still to be asked: it is not saved, and no line was said without one."""
    unnamed = DEFAULT_CHARACTER.person
    if not screen.is_terminal or any(chat.incognito or chat.character.person != unnamed for chat in chats):
        return False
    return not any(any(chat.memory.lines(Filter(speaker=unnamed), limit=1)) for chat in chats)


def ask_name(chats: Sequence[Chat], screen: Screen) -> None:
    """Ask for the user's name, and save it with the banks if it is given."""
    words = chats[0].words
    with suppress(EOFError, KeyboardInterrupt):
        if name := _ask_short_name(words, screen):
            try:
                for chat in chats:
                    chat.edit_character(person=name)
            except EverthreadError as error:
                screen.say(words("terminal.name_not_saved", error=error), "error")


def _ask_short_name(words: Wording, screen: Screen) -> str:
    """Ask for a name, once more after what looks like a sentence, and until the answer is short enough."""
    name, is_repeated = screen.ask(words("terminal.ask_name")).strip(), False
    while len(name) > MAX_NAME_CHARS or not (is_repeated or is_name(name)):
        screen.say(words("terminal.only_name", limit=MAX_NAME_CHARS), "error")
        name, is_repeated = screen.ask(words("terminal.ask_name")).strip(), True
    return name


def is_name(text: str) -> bool:
    """Return whether a text looks like a name, and not like a sentence that says it. The page checks the same."""
    return len(text.split()) <= MAX_NAME_WORDS and not SENTENCE.search(text)


def end_conversation(
    chats: Sequence[Chat],
    end: Callable[[bool | None], EndResult],
    questions: YesNoQuestions,
    remember: bool | None,
) -> EndResult | None:
    """End a conversation; if it is not decided whether to remember it, ask. Before it is forgotten, ask for that, too.

    Args:
        chats: the conversation, in the bank of each character.
        end: ends it, as `Chat.end` does.
        questions: asks the user.
        remember: whether to remember it, if that is decided.

    Returns:
        How it ended; None if the user doesn't want to forget it after all, and it goes on.
    """
    if remember is None:
        ending = end(None)
        if ending.remembered is not None:
            return ending
        remember = questions.ask(ending.question, parse_consent)
    if not remember and any(map(_is_stored, chats)) and not questions.ask(questions.words("chat.forget")):
        return None
    return end(remember)


def _is_stored(chat: Chat) -> bool:
    return any(chat.memory.lines(Filter(session=chat.session), limit=1, include_retracted=True))
