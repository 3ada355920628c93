"""Sums: questions whose answer is worked out and not remembered. Pure.

"What is 17 times 4?" shares a term with every line that holds a 17 or a 4, and in a bank of a few lines such a line is
the nearest in meaning, too. A question is a sum if it names an operation and its operands, and nothing else at all.
"""

from __future__ import annotations

import re

from everthread.text.analyzer import is_unspaced_script, normalize

# A hyphen or a slash between digits makes a date of them ("12/05", "2024-05-07"); between blanks it is an operation.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|(?<=\s)[-–−/](?=\s)|[-–−/]\S*|[^\s\w]|_")
_NUMBERS = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half
    """.split()
)
_OF_ONE = frozenset("√ ! root squared cubed factorial".split())  # operations with a single operand
_OPERATIONS = _OF_ONE | frozenset(
    """
    + * × ÷ ^ % - – − / x times plus minus divide divided multiply multiplied add added subtract subtracted sum product
    difference quotient power mod modulo percent
    """.split()
)
_ASKS = frozenset(
    """
    what what's whats how much many is are does do make makes calculate compute evaluate solve work out tell me you know
    can could please hey ok okay so now and or which more less than equal equals result answer exactly the of by to from
    with a in if it square cube , . ? ! = ( ) ' "
    """.split()
)
_ORDER = re.compile(r"=|\b(?:calculate|compute|evaluate|solve)\b")  # with it, "12/4" is no date
_NUMBER_CHINESE = r"[\d.零一二两兩三四五六七八九十百千万萬]+"
_CHINESE = re.compile(
    rf"[请請帮幫我算计計一下你知道]*?{_NUMBER_CHINESE}(?:(?:加上?|[减減]去?|乘以?|除以?|[-+*×÷/x]){_NUMBER_CHINESE})+"
    r"(?:等于|等於|是|得|=)?(?:多少|几|幾|什么|什麼)?[呢吗嗎]?"
)


def is_sum(text: str) -> bool:
    """Return whether a question is a sum and asks nothing else, in English or Chinese."""
    folded = normalize(text)
    if is_unspaced_script(folded):
        return _CHINESE.fullmatch(re.sub(r"[\s?？。.!！，,]", "", folded)) is not None
    if _ORDER.search(folded):
        folded = re.sub("[-–−/]", r" \g<0> ", folded)
    tokens = _TOKEN.findall(folded)
    numbers = [token for token in tokens if token[0].isdigit() or token in _NUMBERS]
    operations = _OPERATIONS.intersection(tokens)
    enough = len(numbers) >= 2 or (numbers and not operations.isdisjoint(_OF_ONE))
    return bool(operations and enough and _OPERATIONS.union(_ASKS, numbers).issuperset(tokens))
