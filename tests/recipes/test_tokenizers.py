from __future__ import annotations

from everthread.recipes.tokenizers import piece_names, word_pieces, words


def test_words_and_marks_begin_where_they_stand() -> None:
    assert words("  It's fine.\n") == [2, 4, 5, 7, 11]


def test_word_pieces_are_those_of_the_shipped_model() -> None:
    text = " Zorblaxia, 😀\nok"
    assert piece_names(text) == ["z", "##or", "##bla", "##xia", ",", "[UNK]", "ok"]
    assert list(word_pieces(text)) == [1, 2, 4, 7, 10, 12, 13, 14]


def test_line_breaks_in_a_row_are_one_more_token() -> None:
    assert list(word_pieces("one\n\n  two \n")) == [0, 3, 7, 11]


def test_a_long_text_is_not_cut() -> None:
    assert len(word_pieces("word " * 5000)) == 5000


def test_a_text_of_blanks_has_none() -> None:
    assert (words(" \n"), list(word_pieces("  "))) == ([], [])
