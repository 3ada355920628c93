from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from everthread.bench.refusals import load_labelled_replies
from everthread.errors import ConfigError
from everthread.text.analyzer import normalize
from everthread.text.refusal import is_refusal, reply_score
from everthread.text.refusal_words import RefusalWords, add_phrases, extend_shipped, load, shipped_words


def only(*phrases: str) -> RefusalWords:
    """Build a dictionary of only these phrases, with two classes."""
    words = RefusalWords(classes={"cant": (" can't", "'m unable to"), "that": ("that", "this")})
    return add_phrases(words, dict.fromkeys(phrases, 1.0))


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("i{cant} say {that}", "I'm unable to say this, really.", True),
        ("i{cant} say {that}", "I can't say thatch.", False),
        ("i{cant}_ say", "I can't really say", True),
        ("i{cant}_ say", "I can't quite really say", False),
        ("sorry...say", "Sorry, that I won't say", True),
        ("sorry...say", "Sorry, one two three four five six seven say", False),
        ("^no way", "*laughs* No way!", True),
        ("^no way", "Well, no way!", False),
        ("say {that}.", "I won't say that, ever.", True),
        ("say {that}.", "I won't say that word.", False),
        ("对不起...不能", "对不起。我真的不能", False),
        ("对不起...不能", "对不起我真的不能说", True),
        ("能回答.", "我不能回答。", True),
        ("能回答.", "我不能回答你", False),
        ("openai", "我是由OpenAI训练的", True),
    ],
)
def test_a_phrase_matches_according_to_its_signs(phrase: str, text: str, found: bool) -> None:
    assert (reply_score(text, only(phrase)) < 100) is found


def test_searching_all_phrases_at_once_finds_what_each_finds_alone() -> None:
    words = shipped_words()
    for reply in load_labelled_replies():
        folded = normalize(reply.text)
        alone = [(phrase, found.span()) for phrase in words.phrases if (found := phrase.search(folded))]
        assert [(phrase, found.span()) for phrase, found in words.find_phrases(folded)] == alone, reply.text


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("[phrases", "can't be read as TOML"),
        ("[words]\nno = 1", "unknown table 'words'"),
        ("phrases = 3", "invalid phrases: 3"),
        ('[phrases]\n"never" = 3', "invalid intensity of 'never': 3"),
        ('[phrases]\n"never" = "high"', "invalid intensity of 'never': 'high'"),
        ('[phrases]\n"never" = true', "invalid intensity of 'never': True"),
        ('[phrases]\n"{nosuch} way" = 1', "unknown class {nosuch}"),
        ('[phrases]\n"..." = 1', "invalid phrase"),
        ('[phrases]\n"!" = 1', "invalid phrase"),
        ("[classes]\nmine = 3", "invalid class 'mine'"),
        ("[classes]\nmine = []", "invalid class 'mine'"),
    ],
)
def test_an_invalid_file_is_rejected_with_the_faulty_entry(tmp_path: Path, toml: str, named: str) -> None:
    path = tmp_path / "refusals.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        extend_shipped(path)
    assert named in str(error.value)
    assert str(path) in str(error.value)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configure a file of the user's that does not exist yet."""
    path = tmp_path / "refusals.toml"
    monkeypatch.setenv("EVERTHREAD_REFUSALS", str(path))
    return path


def test_the_configured_file_adds_words_as_soon_as_it_exists(own: Path) -> None:
    assert load() is shipped_words()
    assert not is_refusal("Ask the harbour master.")
    own.write_text('[phrases]\n"ask the {who}" = 1.5\n[classes]\nwho = ["harbour master"]\n', encoding="utf-8")
    assert is_refusal("Ask the harbour master.")


def test_an_invalid_configured_file_is_logged_and_ignored(own: Path, caplog: pytest.LogCaptureFixture) -> None:
    own.write_text("[phrases]\nnever = 9\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "everthread"):
        assert is_refusal("I'm sorry, but I can't help with that.")
        assert not is_refusal("Never!")
    assert len([record for record in caplog.records if "are ignored" in record.message]) == 1


HEADS = ["", "sorry ", "i can't ", "i don't have ", "抱歉", "我不能", "话题", "*"]
PIECES = ["sorry ", "*", " ", "i can't ", "抱歉", "对不起我", "'", "' ", "a", "a' ", "as an ", ".", "，", "我不能你的"]


@pytest.mark.parametrize("head", HEADS)
def test_long_replies_are_scored_without_backtracking(head: str) -> None:
    words = shipped_words()
    for piece in PIECES:
        begun = time.process_time()
        reply_score(head + piece * (100_000 // len(piece)), words)
        assert (
            time.process_time() - begun < 5
        )  # seconds of the processor; milliseconds are usual, backtracking is hours
