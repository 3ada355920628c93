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
# A mark of a sentence, or a beginning; a point is part of names such as "J. R.". The page has the same.
SENTENCE = re.compile(r"[,;!?、。，；！？]|^(?:my name|soy)\s", re.IGNORECASE)
# Words before or after a name in a sentence, and words that begin no name. The page has the same ones.
INTRODUCTION = re.compile(
    r"^(?:(?:hi|hey|hello|hallo|hola|salut)[,!.]? )?(?:my name['’]?s|my name is|i am|i['’]?m|it['’]?s|it is|this is"
    r"|call me|mein name ist|ich bin|ich hei(?:ß|ss)e|nenn mich|mon nom est|je suis|je m['’]appelle|appelle-moi"
    r"|mi nombre es|yo soy|me llamo|ll[áa]mame)\s+|^(?:私の名前は|我叫|我是)|です$| (?:here|please|pls|bitte)$",
    re.IGNORECASE,
)
NO_NAME = re.compile(
    r"^(?:not?|nobody|an?|the|your?|just|fine|okay|ok|nicht|kein|ein|pas|un|une|el|la)(?:\s|$)", re.IGNORECASE
)
MAX_STATED_WORDS = 3  # of a name in a sentence; more are rather a sentence


def needs_name(chats: Sequence[Chat], screen: Screen) -> bool:
    """Return whether the user's name is still to be asked: it is not saved, and no line was said without one."""
    unnamed = DEFAULT_CHARACTER.person
    if not screen.is_terminal or any(chat.incognito or chat.character.person != unnamed for chat in chats):
        return False
    return not any(any(chat.memory.lines(Filter(speaker=unnamed), limit=1)) for chat in chats)


def ask_name(chats: Sequence[Chat], screen: Screen) -> None:
    """Ask for the user's name, and save it with the banks if it is given."""
    words = chats[0].words
    with suppress(EOFError, KeyboardInterrupt):  # no name is an answer as well
        if name := _ask_short_name(words, screen):
            try:
                for chat in chats:
                    chat.edit_character(person=name)
            except EverthreadError as error:
                screen.say(words("terminal.name_not_saved", error=error), "error")


def _ask_short_name(words: Wording, screen: Screen) -> str:
    """Ask for a name, once more after a sentence that says none, and until the answer is short enough."""
    name = find_name(screen.ask(words("terminal.ask_name")).strip())
    while name is None or len(name) > MAX_NAME_CHARS:
        screen.say(words("terminal.only_name", limit=MAX_NAME_CHARS), "error")
        answer = screen.ask(words("terminal.ask_name")).strip()
        name = answer if (found := find_name(answer)) is None else found
    return name


def find_name(text: str) -> str | None:
    """Return the name that a text is, or that it says; None if it says anything else. The page finds the same."""
    if is_name(text):
        return text
    name = INTRODUCTION.sub("", text.rstrip(" .!。！"))
    is_stated = name != text and len(name.split()) <= MAX_STATED_WORDS and is_name(name) and not NO_NAME.search(name)
    return name if name and is_stated else None


def is_name(text: str) -> bool:
    """Return whether a text looks like a name, and not like a sentence that says it. The page checks the same."""
    return len(text.split()) <= MAX_NAME_WORDS and not (SENTENCE.search(text) or INTRODUCTION.search(text))


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
