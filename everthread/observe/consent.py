"""Whether an answer to "Shall I remember this?" is a yes or a no. Pure.

Only an answer that is nothing but a yes or a no counts: "not now" and "yes, but not the part about my job" are neither,
and whoever asks asks again. Nothing is ever taken from a part of a word.
"""

from __future__ import annotations

import re

_YES = """
    y yes yep yeah yup sure ok okay absolutely certainly definitely do please remember agreed fine of course go ahead
    ja jawohl klar gerne natürlich oui bien sûr d'accord sí si claro sim certo да конечно hai はい うん 是 是的 好
    好的 可以 行 当然 记住 记住吧 네 예
    """
_NO = """
    n no nope nah never don't dont not please forget it nein nee nicht non ne pas não nao нет いいえ 不 不要 不用
    不行 别 不可以 忘了吧 忘掉 아니요 아니
    """
# Words that go with either, and decide nothing.
_EITHER = frozenset("thanks thank you please that this it the conversation all everything danke merci gracias".split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
YES = frozenset(_YES.split()) - _EITHER
NO = frozenset(_NO.split()) - _EITHER
_NEGATED = frozenset(("do", "remember"))  # "don't remember it", "do not": yes-words that a no turns round


def consent(answer: str) -> bool | None:
    """True for a yes, False for a no, None where it is neither."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(answer)]
    yes, no = (any(word in known for word in words) for known in (YES, NO))
    if not words or any(word not in YES | NO | _EITHER for word in words):
        return None
    if no and all(word in NO | _EITHER | _NEGATED for word in words):
        return False
    return True if yes and not no else None
