from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.reply_filter import (
    MAX_DECORATION_CHARS,
    MAX_READ_FACTOR,
    TEMPLATE_MARKS,
    THINKING_TAGS,
    USER_LABELS,
    ReplyFilter,
)
from everthread.errors import BadInput

# Troublesome fragments, and ordinary text between them.
PARTS = [
    *(
        "Nora",
        "nora",
        "Captain",
        "Captain Nemo",
        "Nemo",
        "You",
        "USER",
        "用户",
        ":",
        "：",
        "*",
        "**",
        "_",
        '"',
        "“",
        "”",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "「",
        "」",
        " ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
        "\u2028",
        "<",
        ">",
        "/",
        "|",
        "İ",
        "K",
        "ß",
        "x",
    ),
    *("Hello there.", "Nora: ", "**Captain:** ", "</think>", "</Thinking>", "我很好。"),
    *TEMPLATE_MARKS,
    *THINKING_TAGS,
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text("Ca:* \nN<y", max_size=3), max_size=20).map("".join)
FORBIDDEN = re.compile(
    rf"[*_`\"'\[\]()<>“”‘’«»「」『』【】 \t]{{0,{MAX_DECORATION_CHARS}}}(?:Nora|{'|'.join(USER_LABELS)})"
    rf"[*_`\"'\[\]()<>“”‘’«»「」『』【】 \t]{{0,{MAX_DECORATION_CHARS}}}[:：]",
    re.IGNORECASE,
)


def speech(longest: int = 65_536) -> ReplyFilter:
    return ReplyFilter("Captain Nemo", ["Nora"], longest)


def filter_pieces(*pieces: str, longest: int = 65_536) -> tuple[str, bool, str]:
    """Return the text shown for these pieces, whether the filter is over, and its stop reason."""
    reading = speech(longest)
    text = "".join([*(reading.feed(piece) for piece in pieces), reading.end()])
    return text, reading.is_over, reading.stop_reason


def cut(text: str, places: list[int]) -> list[str]:
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[first:end] for first, end in zip([0, *at], [*at, len(text)], strict=True)]


# ------------------------------------------------------------------- always


@given(TEXTS, st.lists(st.integers(0, 500), max_size=40), st.integers(1, 60))
def test_the_division_into_pieces_does_not_change_the_result(text: str, places: list[int], longest: int) -> None:
    assert (
        filter_pieces(*cut(text, places), longest=longest)
        == filter_pieces(text, longest=longest)
        == filter_pieces(*text, longest=longest)
    )


@given(TEXTS)
def test_no_line_that_is_shown_begins_with_the_label_of_another(text: str) -> None:
    shown = filter_pieces(text)[0]
    assert not [line for line in shown.splitlines() if FORBIDDEN.match(line.lstrip())]
    assert not [mark for mark in TEMPLATE_MARKS if mark in shown]
    assert shown == shown.strip()


@given(
    st.text(st.characters(exclude_characters="：:<>[]#"))
    | st.lists(st.sampled_from(["a ", "you\n", "Nora "])).map("".join)
)
def test_text_without_labels_and_marks_is_shown_unchanged(text: str) -> None:
    assert filter_pieces(text) == (text.strip(), False, "")


@given(TEXTS.filter(lambda text: not re.search(r"[\s:：]", text) and not text.casefold().startswith("<")))
def test_little_is_held_back(text: str) -> None:
    reading = speech()
    shown = ""
    for count, letter in enumerate(text, 1):
        shown += reading.feed(letter)
        assert reading.is_over or count - len(shown) <= 2 * MAX_DECORATION_CHARS + len("Captain Nemo") + 1


@given(TEXTS, st.integers(1, 30))
def test_the_shown_text_never_exceeds_its_limit(text: str, longest: int) -> None:
    shown, over, why = filter_pieces(text, longest=longest)
    assert len(shown) <= longest
    assert bool(why) <= over
    assert filter_pieces(text)[0].startswith(shown)


# ------------------------------------------------------------------- pieces


def test_an_ordinary_reply_is_shown_piece_by_piece() -> None:
    reading = speech()
    pieces = ["Aye", ",", " No", "ra", ":", " the", " sea", " is", " calm", ".\n\n", "Sleep", " well", "!", " "]
    shown = ["Aye", ",", " No", "ra", ":", " the", " sea", " is", " calm", ".", "\n\nSleep", " well", "!", ""]
    assert [reading.feed(piece) for piece in pieces] == shown
    assert reading.end() == ""
    assert not reading.is_over


def test_a_possible_label_is_held_until_it_is_decided() -> None:
    reading = speech()
    assert [reading.feed(piece) for piece in ["Cap", "tain", "'s", " log", " <", "|", "b"]] == [
        *("", "", "Captain's", " log", "", "", " <|b"),
    ]


# ------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "label",
    [
        *("Captain:", "captain nemo:", "Nemo:", "**Captain:**", "**Captain Nemo**:", "*Captain*:", "__CAPTAIN__:"),
        *("[Captain]:", "[Captain Nemo:]", "**[Captain]:**", "(Captain):", "“Captain”:", "【Captain】：", "Captain :"),
        *("Assistant:", "Captain:  ", "Captain: Captain:", "\u200bCaptain:", "Captain:\n\n"),
    ],
)
def test_the_own_label_is_dropped(label: str) -> None:
    assert filter_pieces(f"{label} *smiles* Hi.") == ("*smiles* Hi.", False, "")
    assert filter_pieces(f"One.\n\n{label} Two.") == ("One.\n\nTwo.", False, "")


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("“Captain: Hi there.”", "“Hi there.”"),
        ("**Captain: Hi** there", "**Hi** there"),
        ("*Captain: *waves* Hi*", "**waves* Hi*"),
        ("Captain:", ""),
        ("**Captain:", ""),
        ("**Captain:*", ""),
        ("Captain", "Captain"),
        ("**Captain", "**Captain"),
        ("Captain Nora: hi", "Captain Nora: hi"),
        ("The captain: a man of few words", "The captain: a man of few words"),
        ("*Aye.*\nCaptain: Yes.", "*Aye.*\nYes."),
    ],
)
def test_decoration_around_the_own_label_is_balanced(reply: str, shown: str) -> None:
    assert filter_pieces(reply) == (shown, False, "")


@pytest.mark.parametrize(
    "label",
    [
        *("Nora:", "nora：", "**Nora**:", "**Nora:**", "[Nora]:", "  Nora :", "> Nora:", '"Nora":', "User:", "You:"),
        *("Human:", "**You**:", "用户：", "你：", "Captain: Nora:"),
    ],
)
def test_a_reply_ends_where_it_begins_to_speak_for_the_user(label: str) -> None:
    assert filter_pieces(f"Aye.\n\n{label} Thank you!\nCaptain: Welcome.") == ("Aye.", True, "person")
    assert filter_pieces(f"{label} Thank you!") == ("", True, "person")


@pytest.mark.parametrize(
    "reply",
    [
        *("Dear Nora: the sea is calm.", "You are right: it is.", "Nora", "You", "Tell me, Nora:", "Norah: a song"),
        *("I said to her:\nyou know the way.", "Noted: all well.", f"{'*' * (MAX_DECORATION_CHARS + 1)}Nora: hi"),
    ],
)
def test_a_name_that_is_no_label_stays(reply: str) -> None:
    assert filter_pieces(reply) == (reply, False, "")


def test_a_speaker_is_recognised_by_first_or_last_name() -> None:
    for label in ("Nora Lind:", "Nora:", "Lind:"):
        reading = ReplyFilter("Nemo", ["Nora Lind"])
        assert reading.feed(f"Aye.\n{label} hi") == "Aye."
        assert reading.stop_reason == "person"


def test_full_names_precede_parts_and_the_user_precedes_the_character() -> None:
    assert ReplyFilter("Nora Bot", ["Nora"]).feed("Nora: hi") == ""
    assert ReplyFilter("Nora", ["Nora Lind"]).feed("Nora: hi") == "hi"
    assert ReplyFilter("Ann Berg", ["Tom Berg"]).feed("Berg: hi") == ""
    assert ReplyFilter("Sam", ["Sam"]).feed("Sam: hi") == "hi"
    assert ReplyFilter("You", [" ", "**"]).feed("You: hi") == "hi"


# ------------------------------------------------------------------- marks and thoughts


@pytest.mark.parametrize("mark", TEMPLATE_MARKS)
def test_the_marks_of_a_template_end_a_reply(mark: str) -> None:
    for written in (mark, mark.lower(), mark.upper()):
        assert filter_pieces(f"Aye. \n{written}\nNora, wait") == ("Aye.", True, TEMPLATE_MARKS[mark])
        assert filter_pieces(*f"Aye {written}") == ("Aye", True, TEMPLATE_MARKS[mark])


@pytest.mark.parametrize("tag", THINKING_TAGS)
def test_thoughts_are_dropped(tag: str) -> None:
    end = f"</{tag[1:]}"
    for written in (
        f"\n{tag}Nora: she wants\nİİ{end}\n\nAye.",
        f"{tag.upper()}</s>{end}Captain: Aye.",
        f"{tag}{end} Aye.",
    ):
        assert filter_pieces(written) == filter_pieces(*written) == ("Aye.", False, "")
    assert filter_pieces(f"{tag}What shall I say? {end[:-1]}") == ("", False, "")
    assert filter_pieces(f"I wrote {tag} in it.") == (f"I wrote {tag} in it.", False, "")
    assert filter_pieces(f"{tag}a{end}{tag}b{end}Captain: {tag}c{end}Aye.") == ("Aye.", False, "")


# ------------------------------------------------------------------- length


def test_a_reply_that_is_too_long_is_cut() -> None:
    reading = speech(10)
    assert [reading.feed(piece) for piece in ["12345 ", "789", "0abc", "def"]] == ["12345", " 789", "0", ""]
    assert (reading.is_over, reading.stop_reason, reading.end()) == (True, "long", "")


def test_a_reply_of_exactly_the_limit_is_complete() -> None:
    assert filter_pieces("1234567890", longest=10) == ("1234567890", False, "")
    assert filter_pieces("123456789 ab", longest=10) == ("123456789", True, "long")


@pytest.mark.parametrize("endless", ["\n", "a \n", "<think>hm", "Captain: ", "hm\n\n\n\n\n\n"])
def test_any_endless_stream_is_ended(endless: str) -> None:
    reading = speech(100)
    fed = 0
    while not reading.is_over:
        reading.feed(endless)
        fed += len(endless)
        assert fed <= MAX_READ_FACTOR * 100 + len(endless)
    assert reading.stop_reason == "long"


def test_a_limit_of_zero_is_rejected() -> None:
    with pytest.raises(BadInput, match="invalid max_chars: got 0, expected at least 1"):
        ReplyFilter("Nemo", [], 0)
