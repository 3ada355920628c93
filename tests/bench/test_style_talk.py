from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from everthread.bench.style_talk import (
    NEUTRAL,
    STYLED,
    TITLE,
    FadingModel,
    compare_samples,
    find_sample,
    read_bank,
    run_scripted,
    styled_share,
)
from everthread.cli.main import main
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.types import Message, NewLine

RULES = Message("system", "You are Flint.")


def with_sample(sample: str) -> Message:
    return Message("system", f"You are Flint.\n\n[How Flint {TITLE} Flint's own: keep to it]\n{sample}\n\n[Else]\nmore")


def test_the_scripted_model_takes_its_style_from_the_sample_in_its_prompt() -> None:
    bland, bold = " ".join(NEUTRAL), " ".join(STYLED)
    before = [Message("assistant", f"Flint: {bland}"), Message("user", "Nora: Well?")]
    assert find_sample([with_sample(bold), *before]) == bold
    model = FadingModel(0)
    without = [styled_share(model([RULES, *before])) for _ in range(50)]
    shown = [styled_share(model([with_sample(bold), *before])) for _ in range(50)]
    assert sum(without) == 0
    assert 15 < sum(shown) < 35  # half of fifty


@pytest.mark.slow
def test_a_style_fades_over_a_long_conversation_unless_the_sample_is_in_the_prompt() -> None:
    drifts = compare_samples(replies=60, window=20)
    with_it, without = drifts["with the sample"][-1], drifts["without"][-1]
    assert with_it.delta < without.delta
    assert with_it.punctuation < without.punctuation
    assert with_it.phrases > without.phrases


def test_the_first_reply_is_the_sample_and_a_seed_gives_the_same_replies() -> None:
    talk = run_scripted(12)
    assert styled_share(talk.sample) == 1
    assert len(talk.replies) == 12
    assert talk.replies == run_scripted(12).replies  # the same each time


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Build bank `nora`: a short reply, sixteen in one style, and a partial one."""
    with Memory.open("nora", store=tmp_path, embedder="hash") as memory:
        replies = ["Aye.", *[f"{STYLED[0]} {STYLED[n % 8]}" for n in range(16)]]
        for number, text in enumerate(replies):
            memory.observe_many([NewLine(f"Line {number}", "Nora"), NewLine(text, "Flint", "assistant")])
        memory.observe("Arr, I was", role="assistant", speaker="Flint", metadata={"partial": True})
    return tmp_path


def test_a_banks_sample_is_its_first_reply_of_some_length_and_partial_replies_are_left_out(store: Path) -> None:
    with Memory.open("nora", store=store, embedder="hash") as memory:
        talk = read_bank(memory)
        assert talk.sample == next(line.text for line in memory.lines() if line.text.startswith(STYLED[0]))
        assert len(talk.replies) == 15
        memory.set_setting("sample", 20)  # as a chat stores it
        assert talk.sample != read_bank(memory).sample or len(read_bank(memory).replies) < 15


def test_a_bank_without_a_reply_that_shows_a_style_is_an_error(tmp_path: Path) -> None:
    with (
        Memory.open("new", store=tmp_path, embedder="hash") as memory,
        pytest.raises(BadInput, match="'new' has no reply"),
    ):
        read_bank(memory)


def test_the_command_measures_a_bank_in_windows(store: Path) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, ["--store", str(store), "bench", "style", *arguments])
        return result.exit_code, result.stdout, result.stderr

    code, out, _ = run("--bank", "nora", "--window", "5", "--json")
    assert code == 0
    assert [each["first"] for each in json.loads(out)["nora"]] == [1, 6, 11]
    assert "| nora | 1 to 5 |" in run("--bank", "nora", "--window", "5")[1]
    assert "expected at least 3 windows" in run("--bank", "nora")[2]
    assert "there is no bank 'anna'" in run("--bank", "anna")[2]
