from everthread.text.encoding import make_encodable


def test_cleaning_joins_surrogate_pairs_and_replaces_what_is_no_text() -> None:
    assert make_encodable("\ud83d\ude00 \ud83d a\0b é") == "😀 \ufffd a\ufffdb é"
