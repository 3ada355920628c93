import numpy as np

from everthread.testing import HashEmbedder
from everthread.training.mining import Guide
from everthread.training.pairs import Pair

PAIRS = [
    Pair("which red boat sank", "the red boat sank yesterday at dawn"),
    Pair("where is the hat", "my hat is on the red boat"),
    Pair("which red boat sank twice", "a red boat sank in the harbour"),
    Pair("who sings", "she sings loudly", ("they hum",)),
]


def test_the_nearest_wrong_text_is_a_negative_but_not_the_text_of_a_similar_question() -> None:
    mined = Guide(PAIRS, HashEmbedder(1024)).add_negatives(1)
    assert mined[0].negatives == ("my hat is on the red boat",)
    assert [pair.text for pair in mined] == [pair.text for pair in PAIRS]


def test_given_negatives_come_first() -> None:
    assert Guide(PAIRS, HashEmbedder(1024)).add_negatives(2)[3].negatives[0] == "they hum"


def test_each_pairs_own_text_may_answer_its_question() -> None:
    rows = np.arange(len(PAIRS))
    answers = Guide(PAIRS, HashEmbedder(1024)).find_answers(rows, rows)
    assert answers.diagonal().all()
    assert answers[0, 2]
    assert not answers[0, 3]
