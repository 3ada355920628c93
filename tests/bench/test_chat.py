from __future__ import annotations

import json
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from everthread.bench import chat, synthetic
from everthread.cli.main import main
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.testing import HashEmbedder

pytestmark = pytest.mark.slow  # it runs the benchmark


@pytest.fixture(autouse=True)
def _temporary_files_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize(("lines", "turns", "words"), [(0, 9, 9), (-1, 9, 9), (9, 1, 9), (9, 0, 9), (9, 9, 1)])
def test_too_little_to_measure_is_refused_before_anything_is_done(
    lines: int, turns: int, words: int, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=f"{lines} lines, {turns} turns, {words} words are too few; give at least 1, 2"):
        chat.measure_chat(lines, turns, words, "hash")
    assert list(tmp_path.iterdir()) == []


def test_a_small_run_measures_everything_and_leaves_no_file(tmp_path: Path) -> None:
    steps: list[str] = []
    costs = chat.measure_chat(100, 3, 90, "hash", steps.append)
    assert steps == ["100 lines: building", "talking", "streaming"]
    assert (costs.lines, costs.turn.calls, costs.first_word.calls) == (100, 3, chat.STREAMED_REPLIES)
    assert 0 < costs.turn.p50 <= costs.turn.p95
    assert 0 < costs.first_word.p50 <= costs.first_word.p95
    shown = chat.table(costs)
    assert all(words in shown for words in ("at 100 lines", "(p50 / p95 of 3)", "shared with the one before"))
    assert 0 <= costs.shared_least <= costs.shared <= 1
    assert (
        chat.CONTEXT_TOKENS / 4 < costs.prompt_tokens <= costs.largest_prompt <= chat.CONTEXT_TOKENS
    )  # the window was full
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_json(tmp_path: Path) -> None:
    command = ["--embedder", "hash", "bench", "chat", "--lines", "100", "--turns", "3", "--json"]
    costs = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)
    assert set(costs) == {
        "words",
        "before",
        "after",
        "lines",
        "turn",
        "first_word",
        "shared",
        "shared_least",
        "prompt_tokens",
        "largest_prompt",
        "context",
    }
    assert costs["turn"]["calls"] == 3
    assert list(tmp_path.iterdir()) == []


def test_errors_are_reported_in_one_line() -> None:
    result = CliRunner().invoke(main, ["bench", "chat", "--turns", "1"], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "everthread: 10000 lines, 1 turns, 90 words are too few; give at least 1, 2 and 2\n"


def test_both_sides_talk_and_replies_have_the_given_length() -> None:
    user_texts, replies = chat.split_sides(synthetic.lines(40), 64)
    assert len(user_texts) == len(replies) == 20
    assert {len(reply.split()) for reply in replies} == {64}
    uncut = [line.text for line in islice(synthetic.lines(40), 0, None, 2)]
    assert all(full.startswith(text) for text, full in zip(user_texts, uncut, strict=True))
    shares = [len(text.split()) / len(full.split()) for text, full in zip(user_texts, uncut, strict=True)]
    assert all(1 / chat.TOKENS_PER_WORD_RATIO <= share <= 1 for share in shares)


def test_every_turn_is_stored_and_the_prompts_of_the_measured_turns_are_returned(tmp_path: Path) -> None:
    with Memory.open("bench", store=tmp_path / "store", embedder=HashEmbedder(64)) as memory:
        memory.observe_many(list(synthetic.lines(50)))
        before, after, prompts = chat.measure_turns(memory, 50, 2, 64)
        assert len(before) == len(after) == len(prompts) == 2
        spoken = [line.text for line in memory.lines(after=50)]
        assert len(spoken) == 2 * (2 + chat.WARMUP_TURNS)
        assert prompts[-1].messages[-1].content.endswith(spoken[-2])
