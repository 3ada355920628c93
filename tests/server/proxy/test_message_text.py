"""Texts are compared without what front ends change, and those of which copies are kept are short and few."""

from __future__ import annotations

import weakref

from everthread.server.proxy.message_text import MAX_CACHED_CHARS, drop_cached_texts, normalize


class Text(str):
    """A text that can be referred to weakly."""


def test_a_text_equals_its_stored_copy_without_characters_that_no_database_stores() -> None:
    assert normalize("nul \0 half \ud83d whole \ud83d\ude00") == normalize("nul \ufffd half \ufffd whole \U0001f600")


def test_no_copy_of_a_long_text_or_a_dropped_one_is_kept() -> None:
    long, short = Text("a" * (MAX_CACHED_CHARS + 1)), Text("My sister Mia.")
    kept = [weakref.ref(text) for text in (long, short)]
    assert (normalize(long), normalize(short)) == (str(long), "My sister Mia.")
    del long, short
    assert [reference() is None for reference in kept] == [True, False]
    drop_cached_texts()
    assert kept[1]() is None
