"""The searchable features of a line: its flags, and the pieces that are embedded. Pure: no store, no model."""

from __future__ import annotations

import re

from everthread.text.analyzer import STOP, tokens
from everthread.text.time_words import MONTHS, WEEKDAYS

PIECE = 900  # characters; the shipped model reads 256 tokens, which is about so much English
LONGEST_SMALL_TALK = 80  # characters
PIECES = 32  # of a line; of a longer text (29,000 characters) the rest is found by its words alone

# The marks of a line, as bits.
ASKS = 1  # it holds a question
ENDS_ASKING = 2  # it ends in one, so the next line answers; not so "how are you, good morning?"
TELLS_TIME = 4  # it says when: a weekday, a month, yesterday, ago
TELLS_NOTHING = 8  # it is one sentence in the word order of a question, or small talk

_TIMES = "yesterday tomorrow today tonight ago last next week weekend month year since recently just".split()
_TIME = re.compile(
    rf"\b(?:{'|'.join([*_TIMES, *WEEKDAYS, *MONTHS])})\b|昨天|今天|明天|前天|上周|去年|今年|星期|[月日]", re.IGNORECASE
)
# A line of nothing but these and the commonest words is small talk: it calls for nothing, and answers nothing.
SMALL_TALK = frozenset(
    """
    ah aha alright amazing awesome bye cheers cool evening exactly fine good goodbye goodnight great greetings haha
    hahaha hello hey hi hiya hm hmm indeed k later lmao lol lovely mhm morning nah never mind nice night no nope oh ok
    okay perfect please right see soon sorry sure telling thank thanks thx too true ty very welcome well wonderful wow
    yeah yep yes yo yup afternoon much
    """.split()
)
# And one of nothing but these. Each text can be read as these in one way only: two for each 好啊, and a row of them
# would be read in more ways than there is time for.
_SMALL_TALK_UNSPACED = re.compile(
    r"(?:\W*(?:(?<![谢謝][谢謝])[您你]好|[您你]家好|大家?好|早上?|早安|[上中下]午好|晚上?好|晚安|[哈呵嘿嗯哦噢喔啊呀]|好[的吧]?|行"
    r"|[对對]|是的|[没沒][错錯事]|算了"
    r"|[谢謝][谢謝][你您]?|多[谢謝]|不客[气氣]|不用[谢謝]|[没沒][关關][系係]|再[见見]|拜拜|明天[见見]|回[头頭][见見]|知道了|明白了"
    r"|原[来來]如此|真的[吗嗎]?|太好了|太棒了|真好|不[错錯]|[当當]然))+\W*"
)
# One sentence with the word order of a question: "is my dog ...", "where do ...", "which dog did ...". Its first word
# alone does not decide: "When I was six we moved to Rome", "Had lunch with Tom".
_VERB = r"(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|shall)"
_SUBJECT = (
    r"""(?:i|you|he|she|it|we|they|my|your|his|her|our|their|the|an?|this|that|these|those|there|any\w*|some\w*)"""
)
_ONLY_ASKS = re.compile(
    r"\W*+(?:(?:and|so|but|hey|okay|ok|well|also|please|tell me|remind me)\b,? )*+"
    r"(?!(?:do|did|have) (?:i|you) (?:know|tell|told|mention|mentioned)\b)"  # these tell something
    rf"(?:{_VERB} {_SUBJECT}|(?:what|when|where|who|whom|why|how)(?:['’]s| {_VERB})"
    rf"|(?:which|what|whose|how many|how much|how) \w+ {_VERB})\b[^.!?\n]*+[?\s]*+",
    re.IGNORECASE,
)


def split(text: str) -> list[str]:
    """Split a text into pieces of at most PIECE characters, at the ends of sentences or words where possible."""
    found: list[str] = []
    text = text.strip()
    while text and len(found) < PIECES:
        cut = _cut(text) if len(text) > PIECE else len(text)
        found.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return found


def _cut(text: str) -> int:
    """Return the place to cut a long text: after the last sentence of the piece, else its last word, else at PIECE."""
    for marks in (("\n\n", "\n", ". ", "! ", "? ", "。", "！", "？"), (" ",)):
        cut = max(text.rfind(mark, PIECE // 2, PIECE - len(mark)) + len(mark) for mark in marks)
        if cut > PIECE // 2:
            return cut
    return PIECE


def flags(text: str) -> int:
    """Return the flags of a line's text without quotes."""
    if not text.strip():
        return TELLS_NOTHING
    asks = ASKS if "?" in text or "？" in text else 0
    ends = ENDS_ASKING if text.rstrip().endswith(("?", "？")) else 0
    small = small_talk(text)
    nothing = TELLS_NOTHING if small or _ONLY_ASKS.fullmatch(text) else 0
    return asks | (0 if small else ends) | nothing | (TELLS_TIME if _TIME.search(text) else 0)


def small_talk(text: str) -> bool:
    """Return whether a text is nothing but "thanks", "good morning" and the like, in English or Chinese."""
    if len(text) > LONGEST_SMALL_TALK:
        return False
    said = tokens(text)
    if any(word in SMALL_TALK for word in said) and all(word in SMALL_TALK or word in STOP for word in said):
        return True
    return _SMALL_TALK_UNSPACED.fullmatch(text) is not None
