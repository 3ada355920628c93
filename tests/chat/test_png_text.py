"""Texts inside PNG pictures; the rest of a picture is unchanged."""

from __future__ import annotations

from pathlib import Path

import png
import pytest

from everthread.chat import png_text
from everthread.errors import BadFile

HERE = Path("picture.png")


def test_a_text_written_into_a_picture_is_read_back() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"Title": b"Dusk\0and dawn"}, (), HERE)
    assert png_text.read_texts(raw, HERE) == {"title": b"Dusk\0and dawn"}


def test_the_first_of_two_texts_with_one_keyword_is_read() -> None:
    once = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"first"}, (), HERE)
    assert png_text.read_texts(png_text.replace_texts(once, {"A": b"second"}, (), HERE), HERE) == {"a": b"first"}


def test_texts_are_replaced_and_others_remain() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1", "b": b"2"}, (), HERE)
    assert png_text.read_texts(png_text.replace_texts(raw, {"a": b"3"}, ["a"], HERE), HERE) == {"b": b"2", "a": b"3"}


def test_removing_the_texts_restores_the_picture() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1"}, (), HERE)
    assert png_text.replace_texts(raw, {}, ["a"], HERE) == png_text.build_plain_picture()


def test_texts_are_written_before_the_end_of_the_picture() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1"}, (), HERE)
    assert [bytes(kind) for kind, _ in png.Reader(bytes=raw).chunks()][-2:] == [b"tEXt", b"IEND"]


@pytest.mark.parametrize("raw", [b"", b"\x89PNG", b"\xff\xd8\xff\xe0"])
def test_a_file_of_another_kind_is_rejected(raw: bytes) -> None:
    assert not png_text.is_png(raw)
    with pytest.raises(BadFile, match=r"^picture.png: this is no PNG picture; "):
        png_text.read_texts(raw, HERE)


def test_a_damaged_picture_is_rejected_with_the_reason() -> None:
    with pytest.raises(BadFile, match=r"^picture.png: a damaged PNG \(No more chunks\); "):
        png_text.replace_texts(png_text.build_plain_picture()[:-12], {}, (), HERE)
