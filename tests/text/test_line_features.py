import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.line_features import (
    ENDS_WITH_QUESTION,
    HAS_QUESTION,
    HAS_TIME,
    MAX_PIECE_CHARS,
    MAX_PIECES,
    UNINFORMATIVE,
    line_flags,
    split_for_embedding,
)

TEXTS = st.text("ab. ?\n。é", max_size=4 * MAX_PIECE_CHARS)


@given(TEXTS)
def test_only_whitespace_is_lost_between_pieces(text: str) -> None:
    assert "".join("".join(split_for_embedding(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_no_piece_is_blank_or_too_long(text: str) -> None:
    assert all(piece.strip() and len(piece) <= MAX_PIECE_CHARS for piece in split_for_embedding(text))


def test_a_short_text_is_one_piece() -> None:
    assert split_for_embedding(" I moved to Lisbon. ") == ["I moved to Lisbon."]


def test_a_long_text_is_cut_at_the_end_of_a_sentence() -> None:
    sentence = "We walked along the river until it was dark. "
    assert all(piece.endswith("dark.") for piece in split_for_embedding(sentence * 100))


def test_a_text_without_sentences_is_cut_between_words_else_at_the_limit() -> None:
    assert {word for piece in split_for_embedding("porridge " * 500) for word in piece.split()} == {"porridge"}
    assert [len(piece) for piece in split_for_embedding("x" * 2000)] == [MAX_PIECE_CHARS, MAX_PIECE_CHARS, 200]


def test_a_very_long_text_yields_the_maximum_number_of_pieces() -> None:
    assert len(split_for_embedding("word " * 1_000_000)) == MAX_PIECES


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("How are you?", HAS_QUESTION | ENDS_WITH_QUESTION | UNINFORMATIVE),
        ("你好吗？ ", HAS_QUESTION | ENDS_WITH_QUESTION),
        ("Why? Because.", HAS_QUESTION),
        ("I moved last Tuesday.", HAS_TIME),
        ("我昨天搬家了", HAS_TIME),
        ("Did you see her yesterday?", HAS_QUESTION | ENDS_WITH_QUESTION | UNINFORMATIVE | HAS_TIME),
        ("so what is my dog called", UNINFORMATIVE),
        ("whats my shoe size", UNINFORMATIVE),
        ("do u know my dogs name", UNINFORMATIVE),
        ("I have a dog now. What is it called?", HAS_QUESTION | ENDS_WITH_QUESTION),
        ("I adopted a dog, isn't that great?", HAS_QUESTION | ENDS_WITH_QUESTION),
        ("Whatever you say.", 0),
        ("Thanks, good night!", UNINFORMATIVE),
        ("ok cool", UNINFORMATIVE),
        ("Well, hello... all right?", HAS_QUESTION | ENDS_WITH_QUESTION),
        ("Hello, good morning?", HAS_QUESTION | UNINFORMATIVE),
        ("早上好！", UNINFORMATIVE),
        ("哦，原来如此！", UNINFORMATIVE),
        ("好的，謝謝你。明天見～", UNINFORMATIVE | HAS_TIME),
        ("大家好吗？", HAS_QUESTION | ENDS_WITH_QUESTION),
        ("好的，我的猫叫小雪。", 0),
        ("对了，早饭吃过没有", 0),
        ("?!", HAS_QUESTION),
        ("Good night stories bore me", 0),
        ("The of and", 0),
        ("how many children do I have", UNINFORMATIVE),
        ("Is the shop still open", UNINFORMATIVE),
        ("When I was six we moved to Rome", 0),
        ("What I love most for breakfast is porridge", 0),
        ("Will moved to Paris", 0),
        ("Had lunch with Tom at Luigi's", 0),
        ("Where I work is called Globex", 0),
        ("Can Dündar is my favourite journalist", 0),
        ("The monthly marching band plays.", 0),
    ],
)
def test_line_flags(text: str, bits: int) -> None:
    assert line_flags(text) == bits


@pytest.mark.parametrize("said", ["好啊", "早好", "早上好", "谢谢你好", "你好"])
def test_repeated_small_talk_is_recognised_quickly_whatever_follows_it(said: str) -> None:
    row = said * (78 // len(said))
    assert line_flags(row) == UNINFORMATIVE
    assert line_flags(f"{row}猫") & UNINFORMATIVE == 0
