import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.line_features import ASKS, ENDS_ASKING, PIECE, PIECES, TELLS_NOTHING, TELLS_TIME, flags, split

TEXTS = st.text("ab. ?\n。é", max_size=4 * PIECE)


@given(TEXTS)
def test_nothing_but_blanks_is_lost_between_pieces(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_no_piece_is_blank_or_too_long(text: str) -> None:
    assert all(piece.strip() and len(piece) <= PIECE for piece in split(text))


def test_a_short_text_is_one_piece() -> None:
    assert split(" I moved to Lisbon. ") == ["I moved to Lisbon."]


def test_a_long_text_is_cut_at_the_end_of_a_sentence() -> None:
    sentence = "We walked along the river until it was dark. "
    assert all(piece.endswith("dark.") for piece in split(sentence * 100))


def test_without_sentences_it_is_cut_between_words_and_without_words_hard() -> None:
    assert {word for piece in split("porridge " * 500) for word in piece.split()} == {"porridge"}
    assert [len(piece) for piece in split("x" * 2000)] == [PIECE, PIECE, 200]


def test_of_an_endless_text_only_the_beginning_is_embedded() -> None:
    assert len(split("word " * 1_000_000)) == PIECES


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("How are you?", ASKS | ENDS_ASKING | TELLS_NOTHING),
        ("你好吗？ ", ASKS | ENDS_ASKING),
        ("Why? Because.", ASKS),
        ("I moved last Tuesday.", TELLS_TIME),
        ("我昨天搬家了", TELLS_TIME),
        ("Did you see her yesterday?", ASKS | ENDS_ASKING | TELLS_NOTHING | TELLS_TIME),
        ("so what is my dog called", TELLS_NOTHING),
        ("I have a dog now. What is it called?", ASKS | ENDS_ASKING),
        ("I adopted a dog, isn't that great?", ASKS | ENDS_ASKING),
        ("Whatever you say.", 0),
        ("Thanks, good night!", TELLS_NOTHING),
        ("ok cool", TELLS_NOTHING),
        ("Well, hello... all right?", ASKS | ENDS_ASKING),
        ("Hello, good morning?", ASKS | TELLS_NOTHING),
        ("早上好！", TELLS_NOTHING),
        ("哦，原来如此！", TELLS_NOTHING),
        ("好的，謝謝你。明天見～", TELLS_NOTHING | TELLS_TIME),
        ("大家好吗？", ASKS | ENDS_ASKING),
        ("好的，我的猫叫小雪。", 0),
        ("对了，早饭吃过没有", 0),
        ("?!", ASKS),
        ("Good night stories bore me", 0),
        ("The of and", 0),
        ("how many children do I have", TELLS_NOTHING),
        ("Is the shop still open", TELLS_NOTHING),
        ("When I was six we moved to Rome", 0),
        ("What I love most for breakfast is porridge", 0),
        ("Will moved to Paris", 0),
        ("Had lunch with Tom at Luigi's", 0),
        ("Where I work is called Globex", 0),
        ("Can Dündar is my favourite journalist", 0),
        ("The monthly marching band plays.", 0),
    ],
)
def test_a_line_is_marked_for_asking_and_telling_time(text: str, bits: int) -> None:
    assert flags(text) == bits


@pytest.mark.parametrize("said", ["好啊", "早好", "早上好", "谢谢你好", "你好"])
def test_a_row_of_small_talk_is_read_at_once_whatever_stands_behind_it(said: str) -> None:
    row = said * (78 // len(said))
    assert flags(row) == TELLS_NOTHING
    assert flags(f"{row}猫") & TELLS_NOTHING == 0
