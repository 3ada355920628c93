"""Texts inside PNG pictures, and the picture left as it is."""

from __future__ import annotations

from pathlib import Path

import png
import pytest

from everthread.chat import png_text
from everthread.errors import BadFile

HERE = Path("picture.png")


def test_a_text_is_put_into_a_picture_and_found_again() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"Title": b"Dusk\0and dawn"}, (), HERE)
    assert png_text.read_texts(raw, HERE) == {"title": b"Dusk\0and dawn"}


def test_of_two_texts_under_one_keyword_the_first_counts() -> None:
    once = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"first"}, (), HERE)
    assert png_text.read_texts(png_text.replace_texts(once, {"A": b"second"}, (), HERE), HERE) == {"a": b"first"}


def test_texts_are_replaced_and_others_stay() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1", "b": b"2"}, (), HERE)
    assert png_text.read_texts(png_text.replace_texts(raw, {"a": b"3"}, ["a"], HERE), HERE) == {"b": b"2", "a": b"3"}


def test_without_its_texts_a_picture_is_what_it_was() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1"}, (), HERE)
    assert png_text.replace_texts(raw, {}, ["a"], HERE) == png_text.build_plain_picture()


def test_the_picture_ends_behind_its_texts() -> None:
    raw = png_text.replace_texts(png_text.build_plain_picture(), {"a": b"1"}, (), HERE)
    assert [bytes(kind) for kind, _ in png.Reader(bytes=raw).chunks()][-2:] == [b"tEXt", b"IEND"]


@pytest.mark.parametrize("raw", [b"", b"\x89PNG", b"\xff\xd8\xff\xe0"])
def test_another_kind_of_file_is_named(raw: bytes) -> None:
    assert not png_text.is_png(raw)
    with pytest.raises(BadFile, match=r"^picture.png: this is no PNG picture; "):
        png_text.read_texts(raw, HERE)


def test_a_damaged_picture_is_told_with_what_is_wrong() -> None:
    with pytest.raises(BadFile, match=r"^picture.png: a damaged PNG \(No more chunks\); "):
        png_text.replace_texts(png_text.build_plain_picture()[:-12], {}, (), HERE)
