"""Recognises sums: questions to calculate, not to recall. Pure.

"What is 17 times 4?" shares a term with every line that has a 17 or a 4, and in a small bank such a line is also
the nearest in meaning. A question is a sum if it names an operation and its operands, and nothing else at all.
"""

from __future__ import annotations

import re

from everthread.text.analyzer import is_unspaced_script, normalize
from everthread.text.word_lists import alternation, load_word_lists

# A hyphen or a slash between digits makes a date of them ("12/05", "2024-05-07"); between blanks it is an operation.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|(?<=\s)[-–−/](?=\s)|[-–−/]\S*|[^\s\w]|_")
_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
_NUMBERS: frozenset[str] = frozenset(_EN["numbers"])
_UNARY_OPERATIONS = frozenset("√!").union(_EN["operations_of_one"])  # operations with a single operand
_OPERATIONS = _UNARY_OPERATIONS.union("+*×÷^%-–−/", _EN["operations"])
_FRAMING = frozenset(",.?!=()'\"").union(_EN["orders"], _EN["framing"])
_COMMAND = re.compile(rf"=|\b{alternation(_EN['orders'])}\b")  # after a command, "12/4" is not a date
_NUMBER_CHINESE = rf"[\d.{_ZH['numbers']}]+"
_CHINESE = re.compile(
    rf"[{_ZH['framing']}]*?{_NUMBER_CHINESE}(?:{alternation([*_ZH['operations'], '[-+*×÷/x]'])}{_NUMBER_CHINESE})+"
    rf"{alternation([*_ZH['equals'], '='])}?{alternation(_ZH['how_many'])}?[{_ZH['endings']}]?"
)


def is_sum(text: str) -> bool:
    """Return whether a question is a sum and asks nothing else, in English or Chinese."""
    folded = normalize(text)
    if is_unspaced_script(folded):
        return _CHINESE.fullmatch(re.sub(r"[\s?？。.!！，,]", "", folded)) is not None
    if _COMMAND.search(folded):
        folded = re.sub("[-–−/]", r" \g<0> ", folded)
    tokens = _TOKEN.findall(folded)
    numbers = [token for token in tokens if token[0].isdigit() or token in _NUMBERS]
    operations = _OPERATIONS.intersection(tokens)
    has_operands = len(numbers) >= 2 or (numbers and not operations.isdisjoint(_UNARY_OPERATIONS))
    return bool(operations and has_operands and _OPERATIONS.union(_FRAMING, numbers).issuperset(tokens))
