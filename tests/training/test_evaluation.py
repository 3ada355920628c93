import pytest
from hardship.embedders import Several

from everthread.testing import HashEmbedder
from everthread.training.evaluation import evaluate
from everthread.training.pairs import Pair


@pytest.mark.parametrize("embedder", [HashEmbedder(512), Several(512)])
def test_recall_and_rank_are_those_of_each_questions_best_answer(embedder: HashEmbedder) -> None:
    pairs = [
        Pair("red boat", "the red boat sank"),
        Pair("red boat", "nothing similar"),
        Pair("green hat", "another garment", ("the green hat",)),
    ]
    measured = evaluate(embedder, pairs)
    assert (measured.questions, measured.texts) == (2, 4)
    assert measured.recall[1] == 0.5
    assert measured.recall[5] == 1.0
    assert 0.5 < measured.mrr < 1.0


def test_a_wrong_text_with_the_same_cosine_comes_first() -> None:
    assert evaluate(HashEmbedder(64), [Pair("boat", "Boat!", ("boat",))]).recall[1] == 0.0
