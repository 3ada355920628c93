from everthread.text.encoding import make_encodable


def test_surrogate_pairs_are_joined_and_invalid_characters_replaced() -> None:
    assert make_encodable("\ud83d\ude00 \ud83d a\0b é") == "😀 \ufffd a\ufffdb é"
