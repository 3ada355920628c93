"""Markdown in a terminal: what each piece of a reply becomes, however it is cut."""

import pytest

from everthread.cli.terminal_markdown import MAX_SPAN_CHARS, MarkdownWriter
from everthread.cli.wrapping import WordWrapper


def show(text: str, size: int = 1, width: int = 40) -> str:
    """Return what is shown of a reply that arrives in pieces, with the styles in angle brackets."""
    written: list[str] = []
    writer = MarkdownWriter(
        WordWrapper(lambda text, style: written.append(f"<{style}:{text}>" if style else text), width)
    )
    for at in range(0, len(text), size):
        writer.feed(text[at : at + size])
    writer.close()
    return "".join(written)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Well, **this** is *it*.", "Well, <bold:this> is <italic:it>."),
        ("Call `open(*a)` now", "Call <code:open(*a)> now"),
        ("2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"),
        ("**open", "**open"),
        ("`open", "`open"),
        ("snake_case_word", "snake_case_word"),
        ("# Title\ntext", "<heading:Title>\ntext"),
        ("#hashtag", "#hashtag"),
        ("- one\n  * two", "<marker:•> one\n  <marker:•> two"),
        ("1. one\n12) two", "<marker:1.> one\n<marker:12)> two"),
        ("12 apples", "12 apples"),
        ("> said", "<marker:│> <quote:said>"),
        ("```python\nx = **2**\n```\nend", "<dim:    python\n>    <code:x = **2**>\nend"),
        ("a\n\nb", "a\n\nb"),
        ("---\nend", "<dim:────────────────────────────────────────\n>end"),
        ("| a | **b** |\n|---|---|\n| long | c |\nend", "<heading:a     b\n>long  c\nend"),
        ("| not a table", "| not a table\n"),
        ("*a* **", "<italic:a> **"),
    ],
)
def test_markdown_is_shown_by_styles(text: str, shown: str) -> None:
    assert show(text, size=len(text)) == shown


TEXT = (
    "# A *plan*\n\nWell, **this is it**, *he says*, `x = 1` and 2 * 3.\n\n- one that is longer than the row it is in\n"
    "1. two\n\n> said\n> again\n\n```py\nfor x in y:\n    pass\n```\n\n| a | b |\n|---|--:|\n| 猫 | 1 |\n\n***\nend `"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_reply_in_pieces_is_shown_like_a_whole_one(size: int) -> None:
    whole = show(TEXT, size=len(TEXT))
    assert merged(show(TEXT, size=size)) == merged(whole)


def merged(shown: str) -> str:
    """Join styled parts that touch, which differ with the pieces."""
    return shown.replace("><code:", "")


def test_text_is_written_as_soon_as_it_is_certain() -> None:
    written: list[str] = []
    writer = MarkdownWriter(WordWrapper(lambda text, _: written.append(text), 40))
    writer.feed("He said **no")
    assert "".join(written) == "He said"
    writer.feed("** twice")
    assert "".join(written) == "He said no"
    writer.feed(" *" + "x" * (MAX_SPAN_CHARS + 1))
    writer.feed(" ")
    assert "".join(written).endswith("x" * MAX_SPAN_CHARS + "x")
    writer.close()


@pytest.mark.parametrize("block", ["| a | b |\n|---|---|\n", "```\nx\n```\n", "---\n"])
def test_a_block_begins_a_row_of_its_own_after_the_name(block: str) -> None:
    written: list[str] = []
    out = WordWrapper(lambda text, _: written.append(text), 40)
    out.feed("Ever: ", "name")
    writer = MarkdownWriter(out)
    writer.feed(block)
    writer.close()
    assert "".join(written).startswith("Ever:\n")


def test_a_wide_table_is_shown_as_it_was_written() -> None:
    text = f"| a | b |\n|---|---|\n| {'long ' * 9} | c |\n"
    assert show(text) == text.rstrip() + "\n"
