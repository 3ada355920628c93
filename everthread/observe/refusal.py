"""Whether a reply is a model's refusal, and not the character speaking: such a reply is better not remembered, as it
would be recalled as what the character said. Pure: words and their places, in English and Chinese.

A refusing phrase takes intensity · weight · 100 from a score of 100, and under 90 the reply is a refusal. A phrase's
intensity is 0 to 2; its weight is 1 at the very beginning and halves with every few words, so that what refuses deep
inside a real answer does not condemn it. (The scoring of the Emi chatbot.) Set by hand, on replies of our own writing.
"""

from __future__ import annotations

import re

from everthread.stores.text import UNSPACED, fold

ENOUGH = 90  # of 100, for a reply to be the character's
HALF = 6  # words, or characters of Chinese, behind which a phrase weighs half as much
READ = 2_000  # characters; a phrase behind them weighs nothing

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:'[^\W_{UNSPACED}]+)*")

_CANT = (
    r"(?:can't|cannot|can not|won't|will not|mustn't|must not|won't be able to|will not be able to"
    r"|(?:'m|am) (?:unable|not able|not allowed|not permitted|not designed|not programmed|not going) to"
    r"|(?:don't|do not) have the ability to)(?: \w+ly)?"
)
_CANT_WORDS = (
    "can't|cannot|can not|won't|will not|mustn't|must not|unable to|not able to|not allowed to|not permitted to"
    "|not designed to|not programmed to|not going to|the ability to"
)
# What assistants are asked for and people seldom are.
_SERVE = (
    r"(?:provide|comply|assist|fulfil+|generate|facilitate|accommodate|engage (?:in|with)|participate in|role-?play"
    r"|process (?:that|this|your)|produce (?:that|this|such|content))"
)
_DO = (
    r"(?:help(?: you)? (?:with|do|in)|discuss|write|answer|share|continue|talk about|give you|create|offer|respond to"
    r"|go along with|describe|depict|explain|teach you|tell you|do|say|support)"
)
_NOUN = (
    r"(?:requests?|questions?|topics?|kinds?|types?|sorts?|tasks?|content|conversations?|subjects?|scenarios?"
    r"|activity|activities|material|matters|instructions?|information|advice)"
)
_THAT = (
    rf"(?:(?:with )?(?:that|this|those|these|such|your|any)(?: \w+){{0,2}}? {_NOUN}|information\b"
    r"|(?:anything|something) (?:that|like|illegal|harmful)|(?:explicit|harmful|illegal|sexual|violent|graphic)\b)"
)
_FALSE_SELF = r"(?:ai|artificial intelligence|(?:large )?language model|(?:virtual|digital) assistant|chatbot)\b"
_FALSE_SELF_WORDS = " ai|artificial intelligence|language model|virtual assistant|digital assistant|chatbot"
_FALSE_SELF_ZH = r"(?:一个|一名|一款|一位)?(?:人工智能|ai|大?语言模型|大模型|(?:虚拟|智能)助手)"
_CANT_ZH = r"(?:无法|不能|没办法|没法|不会|不便|难以)(?:继续)?(?:[和与为帮][您你])?"
_CANT_ZH_WORDS = "无法|不能|没办法|没法|不会|不便|难以"
_DO_ZH = r"(?:回答|讨论|谈论|完成|处理|创作|编写|继续|帮助|解答)"

# Phrases of folded text, each with its intensity and the words of which it holds one: a text without these is passed
# over in a tenth of the time. An apology alone is no refusal.
PHRASES = {
    r"\b(?:sorry|apologies|apologi[sz]e|unfortunately|regrettably)\b": (0.04, "sorry|apolog|unfortunately|regrettably"),
    rf"\bi ?{_CANT} {_SERVE}\b": (1.0, _CANT_WORDS),
    rf"\bi ?{_CANT} help (?:you )?with (?:that|this|it)(?= *(?:$|[.!?,;:—-]|as\b|because|right now|at this time))": (
        1.0,
        _CANT_WORDS,
    ),
    rf"\bi ?{_CANT} {_DO} {_THAT}": (0.6, _CANT_WORDS),
    rf"\b(?:sorry|apologi[sz]e|unfortunately|afraid)\W+(?:\w+ ){{0,3}}?i ?{_CANT} "
    r"(?:help(?! you)|do that|do this|answer that)\b": (0.5, "sorry|apologi|unfortunately|afraid"),
    r"\bi (?:(?:must|have to|need to|will have to) )?(?:\w+ly )?decline\b"
    r"(?= (?:to (?:\w+ )?(?:that|this)|this|that|your)|\W*$)": (0.4, "decline"),
    r"\b(?:this|that|your) request\b": (0.15, "request"),
    r"\b(?:isn't|is not|not) something (?:that )?i (?:can|am able to|could) (?:help|assist|do|discuss|provide)": (
        0.5,
        " something ",
    ),
    rf"\bas (?:an? )?{_FALSE_SELF}": (2.0, _FALSE_SELF_WORDS),
    rf"\bi(?:'m| am) (?:just |only |merely |simply )?an? (?!ai,? but){_FALSE_SELF}": (0.3, _FALSE_SELF_WORDS),
    r"\bi(?:'m| am) (?:claude|chatgpt|gpt)\b": (1.0, "claude|gpt"),
    r"\b(?:made|trained|developed|created) by (?:openai|anthropic|google|meta)\b": (
        1.0,
        "made by|trained by|developed by|created by",
    ),
    r"\bi (?:don't|do not) have (?:any )?(?:personal|human) (?:feelings|emotions|opinions|beliefs|experience)": (
        0.4,
        " have ",
    ),
    r"\bi(?:'m| am) not comfortable (?:with th|discussing|continuing|writing|creating|engaging|providing)": (
        0.4,
        "not comfortable",
    ),
    r"\bi (?:don't|do not) feel comfortable (?:with th|discussing|continuing|writing|creating|engaging|providing)": (
        0.4,
        "feel comfortable",
    ),
    r"\b(?:against|violates?|outside|breach(?:es)?) (?:of )?(?:my|our|the|openai's) (?:\w+ )?(?:guidelines|programming"
    r"|polic(?:y|ies)|terms|principles|capabilities|scope)": (
        0.8,
        "guidelines|programming|polic|terms|principles|capabilities|scope",
    ),
    r"\b(?:content|usage|safety) (?:policy|policies|guidelines)\b|\bethical guidelines\b": (
        0.6,
        "policy|policies|guidelines",
    ),
    r"\b(?:wouldn't|would not|isn't|is not|not) (?:be )?(?:appropriate|ethical|responsible) (?:for me )?to "
    r"(?:provide|discuss|continue|write|create|engage|help|share|answer|generate|describe)": (
        0.6,
        "appropriate|ethical|responsible",
    ),
    r"\b(?:anything|something) else (?:can i|i can|that i can|i could) (?:help|assist)": (0.15, "thing else "),
    rf"作为{_FALSE_SELF_ZH}": (2.0, "作为"),
    rf"我(?:只)?是(?:由\w{{1,12}}(?:开发|训练)的)?{_FALSE_SELF_ZH}": (0.5, "我"),
    r"抱歉|对不起|很遗憾|不好意思|请原谅": (0.04, "抱歉|对不起|很遗憾|不好意思|请原谅"),
    rf"{_CANT_ZH}(?:提供|协助|满足|生成|执行|给出|回应|参与此|参与这|支持这)": (1.0, _CANT_ZH_WORDS),
    rf"{_CANT_ZH}(?:帮助[您你]?)?{_DO_ZH}[您你]?(?:这|该|此|[您你]的|相关|类似|有关|任何|关于|进行|\W|$)": (
        0.6,
        _CANT_ZH_WORDS,
    ),
    r"(?:违反|违背|不符合)\w{0,8}(?:规定|政策|准则|原则|法律|法规|要求|设定)": (0.6, "违反|违背|不符合"),
    r"[您你]的(?:请求|要求)": (0.12, "的请求|的要求"),
    r"没有(?:个人|真实的?|自己的?)(?:情感|感情|观点|意见|感受)": (0.5, "没有"),
    r"换个话题|聊点(?:别的|其他)|聊聊(?:别的|其他)|其他可以帮": (0.12, "换个话题|聊|其他可以帮"),
    r"不(?:适合|宜|方便)(?:讨论|谈论|回答|提供)|恕(?:我)?(?:无法|不能|难)": (0.4, "不适|不宜|不方便|恕"),
}
_PHRASES = [(re.compile(pattern), intensity, words.split("|")) for pattern, (intensity, words) in PHRASES.items()]


def refuses(text: str) -> bool:
    """Whether a reply is a model's refusal."""
    return score(text) < ENOUGH


def score(text: str) -> float:
    """100, less what the refusing phrases take from it; may be below 0."""
    folded = fold(text[:READ])
    taken = 0.0
    for pattern, intensity, words in _PHRASES:
        if any(word in folded for word in words) and (found := pattern.search(folded)):
            taken += intensity * weight(folded[: found.start()])
    return 100 * (1 - taken)


def weight(before: str) -> float:
    """What a phrase weighs behind such words: 1 at the beginning, half every HALF words."""
    return float(0.5 ** (len(_WORD.findall(before)) / HALF))
