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
    told = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)
    assert set(told) == {
        *(
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
        ),
    }
    assert told["turn"]["calls"] == 3
    assert list(tmp_path.iterdir()) == []


def test_errors_are_reported_in_one_line() -> None:
    said = CliRunner().invoke(main, ["bench", "chat", "--turns", "1"], catch_exceptions=False)
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr == "everthread: 10000 lines, 1 turns, 90 words are too few; give at least 1, 2 and 2\n"


def test_both_sides_talk_the_replies_of_the_length_they_are_said_to_have() -> None:
    said, answered = chat._sides(synthetic.lines(40), 64)
    assert len(said) == len(answered) == 20
    assert {len(answer.split()) for answer in answered} == {64}
    theirs = [line.text for line in islice(synthetic.lines(40), 0, None, 2)]
    assert all(whole.startswith(text) for text, whole in zip(said, theirs, strict=True))
    shares = [len(text.split()) / len(whole.split()) for text, whole in zip(said, theirs, strict=True)]
    assert all(1 / chat.TOKENS_PER_WORD_RATIO <= share <= 1 for share in shares)


def test_all_that_is_said_is_kept_and_the_prompts_are_those_of_the_turns_measured(tmp_path: Path) -> None:
    with Memory.open("bench", store=tmp_path / "store", embedder=HashEmbedder(64)) as memory:
        memory.observe_many(list(synthetic.lines(50)))
        before, after, prompts = chat._talk(memory, 50, 2, 64)
        assert len(before) == len(after) == len(prompts) == 2
        spoken = [line.text for line in memory.lines(after=50)]
        assert len(spoken) == 2 * (2 + chat.WARMUP_TURNS)
        assert prompts[-1].messages[-1].content.endswith(spoken[-2])
