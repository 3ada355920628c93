"""Cuts parts that were not said, such as thoughts, out of the text of a reply."""

from __future__ import annotations

THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<Thoughts>", "</Thoughts>"))


def cut_thoughts(text: str) -> tuple[str, int]:
    """Return the text without the thoughts of the model, and how many there were."""
    cuts = 0
    for begin, end in THOUGHTS:
        if begin in text:
            text, count = cut_blocks(text, begin, end)
            cuts += count
    return text, cuts


def cut_blocks(text: str, begin: str, end: str) -> tuple[str, int]:
    """Return the text without its blocks, and how many there were.

    A block begins a line: elsewhere the text is about such a block. One without an end is cut if nothing precedes it.

    Args:
        text: the text.
        begin: the characters with which a block begins.
        end: the characters with which it ends.
    """
    kept: list[str] = []
    position = search = cuts = 0
    while (start := text.find(begin, search)) >= 0:
        stop = text.find(end, start + len(begin))
        between = text[position:start]
        if stop < 0 and (between.strip() or "".join(kept).strip()):
            break
        search = start + len(begin)
        if between.rpartition("\n")[2].strip():
            continue
        kept.append(between)
        position = search = len(text) if stop < 0 else stop + len(end)
        cuts += 1
    rest = "".join(kept) + text[position:]
    return (rest.strip() if cuts else text), cuts
