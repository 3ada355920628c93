from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel
from tokenizers.pre_tokenizers import ByteLevel, Whitespace
from tokenizers.processors import TemplateProcessing

from everthread.common.installation import package_command
from everthread.errors import ConfigError
from everthread.recipes.goodai.text_memory import TextMemory
from everthread.recipes.goodai.tokenizers import open_tokenizer, piece_names, word_pieces, words
from everthread.testing import HashEmbedder


def test_words_and_marks_start_at_their_positions() -> None:
    assert words("  It's fine.\n") == [2, 4, 5, 7, 11]


def test_word_pieces_are_those_of_the_shipped_model() -> None:
    text = " Zorblaxia, 😀\nok"
    assert piece_names(text) == ["z", "##or", "##bla", "##xia", ",", "[UNK]", "ok"]
    assert list(word_pieces(text)) == [1, 2, 4, 7, 10, 12, 13, 14]


def test_consecutive_line_breaks_are_one_token() -> None:
    assert list(word_pieces("one\n\n  two \n")) == [0, 3, 7, 11]


def test_a_long_text_is_not_truncated() -> None:
    assert len(word_pieces("word " * 5000)) == 5000


def test_a_blank_text_has_no_tokens() -> None:
    assert (words(" \n"), list(word_pieces("  "))) == ([], [])


# ------------------------------------------------------------------------------------------------ Hugging Face's


def wordwise() -> Tokenizer:
    """Return a tokenizer that knows a few words, truncates and adds special tokens."""
    found = Tokenizer(WordLevel({"[CLS]": 0, "[UNK]": 1, "the": 2, "red": 3, "kite": 4}, unk_token="[UNK]"))
    found.pre_tokenizer = Whitespace()
    found.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 0)])
    found.enable_truncation(3)
    found.enable_padding(length=9)
    return found


def bytewise() -> Tokenizer:
    """Return a tokenizer such as that of gpt2, which may split one character into several tokens."""
    found = Tokenizer(BPE({byte: at for at, byte in enumerate(ByteLevel.alphabet())}, []))
    found.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return found


def test_a_tokenizers_tokenizer_is_used_without_truncation_and_special_tokens() -> None:
    theirs = wordwise()
    assert list(open_tokenizer(theirs)("the red kite, the kite")) == [0, 4, 8, 12, 14, 18]
    assert len(theirs.encode("the red kite, the kite").ids) == 9  # what is given stays as it is


def test_tokens_of_one_character_begin_together() -> None:
    assert list(open_tokenizer(bytewise())("a 😀b")) == [0, 1, 2, 3]


def test_a_tokenizer_can_be_given_as_file_or_folder(tmp_path: Path) -> None:
    wordwise().save(str(tmp_path / "tokenizer.json"))
    for given in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path)):
        assert list(open_tokenizer(given)("red kite")) == [0, 4]


def test_different_tokenizers_have_different_names() -> None:
    first, again, other = open_tokenizer(wordwise()), open_tokenizer(wordwise()), open_tokenizer(bytewise())
    names = [getattr(each, "name", "") for each in (first, again, other)]
    assert names[0] == names[1] != names[2]


def test_a_function_is_returned_unchanged() -> None:
    assert open_tokenizer(words) is words


def test_invalid_tokenizers_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"invalid tokenizer '.*tokenizer.json': .*; expected a tokenizer.json"):
        open_tokenizer(tmp_path)
    with pytest.raises(ConfigError, match=r"none.json': file not found"):
        open_tokenizer(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="invalid tokenizer 5: expected a function"):
        open_tokenizer(5)


if find_spec("transformers") is None:

    def test_a_name_needs_transformers() -> None:
        with pytest.raises(
            ConfigError,
            match="'gpt2' needs the transformers library " + re.escape(f"({package_command('transformers')})"),
        ):
            open_tokenizer("gpt2")

else:

    def test_a_transformers_tokenizer_is_accepted_and_an_unknown_name_rejected() -> None:
        from transformers import PreTrainedTokenizerFast

        theirs = PreTrainedTokenizerFast(tokenizer_object=wordwise(), unk_token="[UNK]")
        assert list(open_tokenizer(theirs)("the red kite")) == [0, 4, 8]
        with pytest.raises(ConfigError, match="'no/such-tokenizer' can't be loaded; check the name"):
            open_tokenizer("no/such-tokenizer")


def test_a_slow_transformers_tokenizer_is_rejected() -> None:
    class Slow:
        def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
            return []

    with pytest.raises(ConfigError, match=r"invalid tokenizer Slow: .* use_fast=True"):
        open_tokenizer(Slow())


def test_a_memory_uses_the_given_tokenizer() -> None:
    memory = TextMemory.create(HashEmbedder(), tokenizer=wordwise(), chunk_capacity=2, overlap=0)
    memory.add_text("the red kite, the kite")
    assert [row.split(" | ")[-1] for row in memory.dump().splitlines()[2:]] == [
        '"the red " |',
        '"kite, " |',
        '"the kite" |',
    ]
