from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.transfer.services.typedstream import read_text
from transfer.services.messages_database import typedstream

# As macOS writes "Y": the text, and a dictionary with the number of the part.
WRITTEN_BY_MACOS = bytes.fromhex(
    "040b73747265616d747970656481e803840140848484124e5341747472696275746564537472696e67008484084e534f626a656374"
    "008592848484084e53537472696e67019484012b015986840269490101928484840c4e5344696374696f6e617279009484016901928496961d"
    "5f5f6b494d4d657373616765506172744174747269627574654e616d658692848484084e534e756d626572008484074e5356616c7565009484"
    "012a84999900868686"
)


def test_the_text_that_macos_wrote_is_read() -> None:
    assert read_text(WRITTEN_BY_MACOS) == "Y"


@pytest.mark.parametrize("size", [1, 127, 128, 255, 256, 2**15 - 1, 2**15, 2**16 + 1])
def test_a_text_of_any_length_is_read(size: int) -> None:
    assert read_text(typedstream("x" * size)) == "x" * size


@given(st.text(min_size=1), st.booleans())
def test_any_text_is_read_from_both_kinds_of_strings(text: str, is_mutable: bool) -> None:
    assert read_text(typedstream(text, is_mutable)) == text


@pytest.mark.parametrize(
    ("stream", "complaint"),
    [
        (b"bplist00", "no text in the typedstream"),
        (b"\x01+\x02Hi", "no text in the typedstream"),
        (b"NSString\x01\x94\x84", "no text in the typedstream"),
        (b"NSString\x01\x94\x84\x01+", "no length before the text"),
        (b"NSString\x01\x94\x84\x01+\x81\x02", "no length before the text"),
        (b"NSString\x01\x94\x84\x01+\x83\x02Hi", "no length before the text"),
        (b"NSString\x01\x94\x84\x01+\x03Hi", "ends after 2 of 3 bytes of text"),
        (b"NSString\x01\x94\x84\x01+\x02\xffi", "can't decode byte 0xff"),
    ],
)
def test_a_damaged_stream_is_an_error(stream: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_text(stream)


def test_a_cut_stream_never_gives_a_part_of_its_text() -> None:
    stream = typedstream("The fern by the window needs water. " * 5)
    for size in range(len(stream)):
        try:
            text = read_text(stream[:size])
        except ValueError:
            continue
        assert text == read_text(stream)
