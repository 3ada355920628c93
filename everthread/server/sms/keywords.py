"""What is written to us that is no talk, and what we say of ourselves. Pure.

A keyword is the whole of a message: "Stop!" is one, and "Don't stop now" is talk. Those for leaving, coming back and
help are the ones that Twilio and the carriers know.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Keyword = Literal["stop", "start", "yes", "help"]

KEYWORDS: dict[str, Keyword] = {
    **dict.fromkeys(("stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"), "stop"),
    **dict.fromkeys(("start", "unstop"), "start"),
    "yes": "yes",  # comes back, where the person has left; else it is a word
    **dict.fromkeys(("help", "info"), "help"),
}

_ME = """
    forget me, forget about me, forget all about me, forget everything about me, forget everything i told you,
    forget everything i said, forget everything i ever told you, delete me, delete my data, delete all my data,
    delete my messages, delete everything about me, erase me, erase my data, remove my data, vergiss mich,
    lösche meine daten, oublie moi, oubliez moi, supprime mes données, olvídame, olvidame, borra mis datos,
    dimenticami, esqueça me, 忘记我, 忘掉我, 删除我的数据, 私を忘れて
    """
_ALL = "forget everything, delete everything, erase everything, forget it all, delete it all, 忘记一切, 删除一切"
_COURTESY = "please, now, then, ok, okay, well, so, thanks, thank you"


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(_plain(each).split()) for each in text.split(","))


def _plain(text: str) -> str:
    """A text in small letters, without marks; an apostrophe stays."""
    text = unicodedata.normalize("NFKC", re.sub("[’ʼ`´]", "'", text)).casefold()
    return " ".join(re.sub(r"[^\w\s']|_", " ", text).split())


ME, ALL, COURTESY = map(_phrases, (_ME, _ALL, _COURTESY))


def keyword(text: str) -> Keyword | None:
    """The keyword that a message is."""
    return KEYWORDS.get(_plain(text))


def forgets(text: str) -> Literal["me", "all"] | None:
    """Whether a message asks to be forgotten: in these words, or in such as may also answer a question of ours."""
    said = _uncourteous(_plain(text))
    return "me" if said in ME else "all" if said in ALL else None


def _uncourteous(said: str) -> str:
    """A message without the courtesies around it."""
    for _ in range(3):
        for word in COURTESY:
            said = said.removeprefix(f"{word} ").removesuffix(f" {word}")
    return said


PHRASES = {
    "stopped": "You will get no more messages from me. Write START to come back.",
    "started": "Welcome back. Write to me whenever you like. HELP tells what I understand; STOP ends these messages.",
    "help": "I am a chatbot that remembers what you tell it. STOP ends these messages, START brings them back, and "
    "FORGET ME deletes everything I remember of you. Message and data rates may apply.",
    "forget?": "Shall I forget everything you ever told me, for good? Answer YES or NO.",
    "stranger": "I remember nothing of you, so there is nothing to forget.",
    "forgotten": "Forgotten, for good: {lines}. I remember nothing of you now.",
    "spared": "Nothing was forgotten.",
    "remember?": "Shall I remember our last conversation? Answer YES or NO.",
    "remember-this?": "Goodbye! Shall I remember this conversation? Answer YES or NO.",
    "remembered": "I will remember it.",
    "dropped": "Forgotten: {lines}. Nothing of that conversation is left.",
    "goodbye": "Goodbye!",
    "moment": "One moment, I am still thinking. You get my answer with your next message.",
    "failed": "Sorry, I can't answer just now. What you wrote is kept; write again in a while.",
    "unkept": "Sorry, I can't answer just now, and what you wrote is not kept. Please send it again in a while.",
    "pictures": "I can't look at pictures yet; I only read text.",
    "nothing": "That message was empty. Write to me whenever you like.",
}


def phrase(name: str, number: int) -> str:
    """What we say of ourselves by its name, with a number of lines."""
    return PHRASES[name].format(lines=f"{number:,} line{'' if number == 1 else 's'}")
