"""Parses the answer to "May I remember this conversation?" as a yes or a no. Pure.

An answer is read phrase by phrase, the longest that fits first, and counts only if it is nothing but phrases of one
side: "not now" and "yes, but not the part about my job" are neither, and whoever asks asks again. So is an answer that
asks itself. In one clause, from mark to mark, something is bidden once and last: "don't, forget it" is a no, "don't
forget it" a yes, and "no forget it" could be either. A wrong reading is far worse than asking again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_ANSWER_CHARS = 200  # characters; nobody says yes in more

# Phrases, with a comma between them. What says yes or no by itself:
_YES = """
    y, yes, yep, yeah, yup, aye, sure, sure thing, ok, okay, alright, all right, absolutely, certainly, definitely,
    agreed, fine, of course, ja, jawohl, klar, gern, gerne, natürlich, na klar, oui, bien sûr, d'accord, sí, si, claro,
    claro que sí, sim, certo, да, конечно, hai, はい, うん, 네, 예, 是, 是的, 好, 好的, 好啊, 可以, 行, 当然, 当然可以,
    👍, 👌, ✅
    """
_NO = """
    n, no, nope, nah, no way, of course not, certainly not, absolutely not, definitely not, nein, nee, nej,
    auf keinen fall, non, não, nao, нет, いいえ, 아니요, 아니, 👎, ❌, 🚫
    """
# What bids to do it, or not to:
_DO = "do, do it, do so, go ahead, by all means, 要, 要的"
_DONT = """
    don't, do not, never, please not, rather not, i'd rather not, better not, lieber nicht, bitte nicht, не надо, いや,
    不, 不要, 不用, 不用了, 不了, 不行, 不必, 不可以, 别
    """
# The same where it is asked whether to remember:
_REMEMBER = """
    remember, keep, save, remember all, remember everything, keep all, keep everything, don't forget, do not forget,
    never forget, nicht vergessen, vergiss es nicht, 记住, 记住吧, 记得, 记下来, 留着, 保留, 别忘, 别忘了, 别忘掉,
    别忘记, 不要忘, 不要忘了, 不要忘掉, 不要忘记, 不许忘, 覚えて, 忘れないで
    """
_DONT_REMEMBER = """
    don't remember, do not remember, never remember, don't keep, do not keep, never keep, don't save, do not save,
    不记, 不要记, 不要记住, 不要记得, 不用记, 不用记住, 别记, 别记住, 别记得, 不要保留, 不要留着
    """
_FORGET = """
    forget, delete, discard, forget all, forget everything, forget all of it, delete all, delete everything, vergiss es,
    忘了吧, 忘掉, 忘掉吧, 忘了它, 忘れて
    """
_EITHER = """
    thanks, thank you, please, that, this, it, the conversation, this conversation, danke, bitte, merci, gracias,
    obrigado, obrigada, 谢谢, 谢谢你, 请
    """
# What neither agrees nor refuses, and is no other subject:
_HESITATION = """
    now, not now, not yet, later, maybe, maybe later, perhaps, possibly, whatever, never mind, i don't mind,
    i don't know, don't know, dunno, idk, no idea, not sure, i'm not sure, not really, why, why not, what, huh, um, uh,
    hm, hmm, well, and, or, but, i guess, i think, both, neither, kind of, sort of, it depends, ask me later,
    ask me tomorrow, vielleicht, später, jetzt, jetzt nicht, noch nicht, nicht jetzt, weiß nicht, ich weiß nicht,
    keine ahnung, mal sehen, egal, mir egal, warum, wieso, was, hä, quizás, quizá, tal vez, luego, más tarde,
    ahora, ahora no, no sé, todavía no, me da igual, por qué, qué, peut-être, plus tard,
    pas maintenant, je ne sais pas, forse, talvez,
    不知道, 也许, 可能, 以后再说, 再说吧, 再说, 随便, 现在不, 现在, 为什么, 什么, 不一定, 看情况
    """
_APOSTROPHE = re.compile("[’ʼ`´]")
_LOOKS = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")  # of a sign: its style and the colour of its skin
_APART = re.compile("(谢谢你?|请|[👍👌✅👎❌🚫])")  # may stand beside other words without a blank
_ASKS = re.compile("[?？¿؟]")
_MARKS = re.compile(r"(?:[^\w\s'👍👌✅👎❌🚫]|_)+")


@dataclass(frozen=True, slots=True)
class _Phrase:
    """says is None for what goes with either side. bids: what comes behind it in a clause would be bidden, too."""

    says: bool | None
    bids: bool = False
    turned: bool = False  # by a no before it: "no forget" may be a "don't forget"


def _phrases(text: str, phrase: _Phrase) -> dict[str, _Phrase]:
    return {" ".join(each.split()): phrase for each in text.split(",")}


_ANY = {
    **_phrases(_YES, _Phrase(True)),
    **_phrases(_NO, _Phrase(False)),
    **_phrases(_DO, _Phrase(True, bids=True)),
    **_phrases(_DONT, _Phrase(False, bids=True)),
    **_phrases(_EITHER, _Phrase(None)),
}
_REMEMBERING = {
    **_ANY,
    **_phrases(_REMEMBER, _Phrase(True, bids=True)),
    **_phrases(_DONT_REMEMBER, _Phrase(False, bids=True)),
    **_phrases(_FORGET, _Phrase(False, bids=True, turned=True)),
}
_UNCLEAR = {**_REMEMBERING, **_phrases(_HESITATION, _Phrase(None))}
_WORDS = 5  # of the longest phrase
MAX_UNCLEAR_WORDS = 8  # words of an unclear answer at most; more are a subject of their own
MAX_SHORT_ANSWER_WORDS = (
    4  # words up to which a text that begins with a yes or a no is an unclear answer, whatever follows
)


def parse_consent(answer: str) -> bool | None:
    """The answer to "Shall I remember this?": True for a yes, False for a no, None where it is neither."""
    return _read(answer, _REMEMBERING)


def parse_yes_no(answer: str) -> bool | None:
    """The answer to any other question. To "Shall I forget this?" a "remember it" is no yes, nor is "forget it" one."""
    return _read(answer, _ANY)


def is_unclear(answer: str) -> bool:
    """Returns whether a text without a clear yes or no is still about the question "Shall I remember this?".

    It is if it only hesitates ("not now"), or begins with a yes or a no and is short or goes on as an answer does
    ("yes, but not my job"). "OK so today I met Anna" is another subject.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        return False
    clauses = [found for words in _clauses(answer) if (found := list(_found(words, _UNCLEAR)))]
    phrases = [phrase for clause in clauses for phrase in clause]
    if not phrases or len(phrases) > MAX_UNCLEAR_WORDS:
        return False
    if all(phrases):
        return True
    goes_on = len(phrases) <= MAX_SHORT_ANSWER_WORDS or len(clauses[0]) == 1 or phrases[1] is not None
    return phrases[0] is not None and phrases[0].says is not None and goes_on


def _clauses(answer: str) -> Iterator[list[str]]:
    """Yields the words of each clause, from mark to mark."""
    text = _LOOKS.sub("", _APOSTROPHE.sub("'", unicodedata.normalize("NFC", answer))).casefold()
    for clause in _MARKS.split(text):
        yield _APART.sub(r" \1 ", clause).replace("dont", "don't").split()


def _read(answer: str, known: Mapping[str, _Phrase]) -> bool | None:
    if len(answer) > MAX_ANSWER_CHARS or _ASKS.search(answer):
        return None
    said: set[bool | None] = set()
    for words in _clauses(answer):
        found = list(_found(words, known))
        if not _clear(found):
            return None
        said |= {phrase.says for phrase in found if phrase}
    sides = said - {None}
    return sides.pop() if len(sides) == 1 else None


def _found(words: list[str], known: Mapping[str, _Phrase]) -> Iterator[_Phrase | None]:
    """The phrases of a clause, the longest first; None for a word that belongs to none."""
    while words:
        size = next((size for size in range(_WORDS, 0, -1) if " ".join(words[:size]) in known), 1)
        yield known.get(" ".join(words[:size]))
        del words[:size]


def _clear(found: list[_Phrase | None]) -> bool:
    """Whether a clause can be read in one way only."""
    refused = bidden = False
    for phrase in found:
        if phrase is None or (bidden and phrase.says is not None) or (phrase.turned and refused):
            return False
        bidden = bidden or phrase.bids
        refused = refused or phrase.says is False
    return True
