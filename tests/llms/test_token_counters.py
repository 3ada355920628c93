import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from everthread import factory
from everthread.chat.chat import Chat
from everthread.cli.main import main
from everthread.common.installation import package_command
from everthread.errors import ConfigError
from everthread.llms.token_counters import open_counter
from everthread.memory import Memory
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.text.tokens import estimate_tokens

WORDS = ("my", "sister", "mia", "moved", "to", "lisbon", "[UNK]")


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Save a tokenizer of words and marks that truncates to four tokens and adds [CLS]."""
    special = {"id": "[CLS]", "type_id": 0}
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": special}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [6], "tokens": ["[UNK]"]}},
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: id for id, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_estimate_counts_unless_another_counter_is_named() -> None:
    assert open_counter("estimate") is factory.open_counter() is estimate_tokens
    assert factory.open_counter(len) is len


def test_a_tokenizer_file_counts_all_tokens_except_special_ones(tokenizer: Path) -> None:
    for name in (str(tokenizer), str(tokenizer.parent)):
        count = open_counter(name)
        assert count("My sister Mia moved to Lisbon.") == 7
        assert count("") == 0
        assert count("Mia \ud800 moved") == 3
    assert open_counter(str(tokenizer)) is open_counter(str(tokenizer))  # the file is read once


def test_contexts_and_conversations_are_counted_by_the_configured_tokenizer(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERTHREAD_TOKENS", str(tokenizer))
    count = open_counter(str(tokenizer))
    with Memory.open(store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("My sister Mia moved to Lisbon.", speaker="Ann")
        context = memory.context("Where is Mia?", gate=False)
        assert context.tokens == count(context.text) != estimate_tokens(context.text)
    with Memory.open(store=tmp_path, embedder=HashEmbedder(), tokens="estimate") as memory:
        context = memory.context("Where is Mia?", gate=False)
        assert context.tokens == estimate_tokens(context.text)
    counted_texts: list[str] = []

    def record_and_count(text: str) -> int:
        counted_texts.append(text)
        return count(text)

    with Chat.open(store=tmp_path, embedder=HashEmbedder(), llm=ScriptedLLM(["Aye."]), tokens=record_and_count) as chat:
        assert "".join(chat.reply("Where is Mia?"))
    assert any("Where is Mia?" in text for text in counted_texts)


def test_the_command_line_counts_with_the_named_counter(tokenizer: Path, tmp_path: Path) -> None:
    with Memory.open("ann", store=tmp_path, embedder="hash") as memory:
        memory.observe("My sister Mia moved to Lisbon.", speaker="Ann")
        text = memory.context("Where is Mia?", gate=False).text
    counts = {}
    for name in (str(tokenizer), "estimate"):
        arguments = ["--store", str(tmp_path), "--embedder", "hash", "--tokens", name, "context", "Where is Mia?"]
        shown = json.loads(CliRunner().invoke(main, [*arguments, "--bank", "ann", "--all", "--json"]).stdout)
        assert shown["text"] == text
        counts[name] = shown["tokens"]
    assert counts == {str(tokenizer): open_counter(str(tokenizer))(text), "estimate": estimate_tokens(text)}
    assert len({*counts.values()}) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt2", "invalid tokens 'gpt2': file gpt2 not found; expected estimate, the path of a tokenizer.json"),
        ("", "invalid tokens"),
        ("tiktoken:cl100k_base", f"needs tiktoken; install it: {package_command('tiktoken')}"),
    ],
)
def test_an_unknown_counter_is_rejected(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ConfigError, match=re.escape(message)):
        open_counter(name)


def test_a_file_that_is_not_a_tokenizer_is_rejected_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"invalid tokenizer '{re.escape(str(path))}': .*expected a tokenizer.json"):
        open_counter(str(path))


def test_a_tiktoken_encoding_counts_if_tiktoken_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_download(name: str) -> None:
        raise ConnectionError(name)

    letters = SimpleNamespace(encode=lambda text, disallowed_special: list(text))
    library = SimpleNamespace(
        list_encoding_names=lambda: ["letters", "far"],
        get_encoding=lambda name: letters if name == "letters" else fail_to_download(name),
        encoding_for_model={"gpt-4": letters}.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "tiktoken", library)
    assert open_counter("tiktoken:letters")("Lisbon") == 6
    assert open_counter("tiktoken:gpt-4")("Mia") == 3
    with pytest.raises(ConfigError, match="has no such encoding or model; expected letters, far, or an OpenAI model"):
        open_counter("tiktoken:words")
    with pytest.raises(ConfigError, match="tiktoken could not download the encoding"):
        open_counter("tiktoken:far")
