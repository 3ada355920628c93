from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.command import run_bench
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.small_banks import (
    ARMS,
    BANK_STRIDE_SESSIONS,
    MAX_STRANGE_QUESTIONS,
    SESSIONS_PER_BANK,
    measure_small_banks,
)
from everthread.errors import BadInput
from everthread.testing import HashEmbedder
from everthread.types import NewLine

pytestmark = pytest.mark.slow  # it runs the benchmark

THINGS = "walnut kite parrot tractor saxophone ferry lighthouse alpaca boiler tulip greyhound motorbike".split()
SESSIONS = 4
BEGUN = datetime(2026, 3, 2, tzinfo=UTC)


def conversation(number: int, names: tuple[str, str]) -> AnnotatedConversation:
    """Build a conversation of two friends who each sell a thing in every session."""
    lines, questions = [], []
    for session in range(SESSIONS):
        for place, name in enumerate(names):
            thing = THINGS[(SESSIONS * number + session + 6 * place) % len(THINGS)]
            id = f"{session}:{place}"
            text = f"I sold my old {thing} to a neighbour in May."
            at = BEGUN + timedelta(days=session)
            lines.append((id, NewLine(text, name, said_at=at, session=f"s{session}", key=f"{number}:{id}")))
            questions.append(Question(f"Who sold the {thing}?", frozenset([id]), "one"))
    return AnnotatedConversation(
        f"c{number}", tuple(line for _, line in lines), tuple(id for id, _ in lines), tuple(questions), names
    )


CONVERSATIONS = [conversation(0, ("Ida", "Tom")), conversation(1, ("Ada", "Ben"))]


def test_every_arm_is_asked_the_same_questions_of_banks_of_every_size() -> None:
    progress_calls: list[tuple[int, int]] = []
    result = measure_small_banks(
        CONVERSATIONS, dataset="made", embedder=HashEmbedder(512), progress=lambda *step: progress_calls.append(step)
    )
    assert set(result.passed) == {(arm, size) for arm in ARMS for size in SESSIONS_PER_BANK}
    bank_counts = {size: len(range(0, SESSIONS - size + 1, BANK_STRIDE_SESSIONS)) for size in SESSIONS_PER_BANK}
    assert result.banks == 2 * sum(bank_counts.values()) == len(progress_calls) == progress_calls[-1][0]
    assert result.questions == 2 * sum(
        size * count for size, count in bank_counts.items()
    )  # of the first speaker's lines
    assert result.strange == result.banks * min(MAX_STRANGE_QUESTIONS, 2 * SESSIONS)
    assert all(
        0 <= value <= 1 for rates in result.passed.values() for value in (rates.known, rates.strange, rates.renamed)
    )


def test_the_published_arm_accepts_everything_and_other_arms_reject_some_foreign_questions() -> None:
    result = measure_small_banks(CONVERSATIONS, dataset="made", embedder=HashEmbedder(512))
    source, *others = ([result.passed[arm, size] for size in SESSIONS_PER_BANK] for arm in ARMS)
    assert all((rates.known, rates.strange, rates.renamed) == (1, 1, 1) for rates in source)
    assert any(rates.strange < 1 for arm in others for rates in arm)


def test_one_conversation_alone_has_no_strange_questions() -> None:
    with pytest.raises(BadInput, match="made has 1 conversations with questions, and two are needed"):
        measure_small_banks(CONVERSATIONS[:1], dataset="made", embedder=HashEmbedder(512))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write the conversations as a LoCoMo file."""
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([to_locomo(conversation) for conversation in CONVERSATIONS]), encoding="utf-8")
    return path


def to_locomo(conversation: AnnotatedConversation) -> dict[str, Any]:
    content: dict[str, Any] = {"speaker_a": conversation.speakers[0], "speaker_b": conversation.speakers[1]}
    for session in range(SESSIONS):
        content[f"session_{session + 1}_date_time"] = f"1:56 pm on {session + 1} May, 2023"
        lines = conversation.lines[2 * session : 2 * session + 2]
        content[f"session_{session + 1}"] = [
            {"speaker": line.speaker, "dia_id": f"D{session + 1}:{place}", "text": line.text}
            for place, line in enumerate(lines, 1)
        ]
    questions = [
        {"question": question.text, "evidence": [f"D{n // 2 + 1}:{n % 2 + 1}"], "category": 1, "answer": "x"}
        for n, question in enumerate(conversation.questions)
    ]
    return {"sample_id": conversation.id, "conversation": content, "qa": questions}


def test_the_command_prints_a_row_for_each_arm_or_json(file: Path) -> None:
    shown = run_bench("priming", "locomo", file).stdout
    rows = shown[shown.index("1 summary") :].splitlines()[1:]
    assert [row.split("  ")[0] for row in rows] == list(ARMS)
    assert rows[0].count("100.0 / 100.0 / 100.0") == len(SESSIONS_PER_BANK)
    figures = json.loads(run_bench("priming", "locomo", file, "--json").stdout)
    assert {(row["arm"], row["summaries"]) for row in figures["passed"]} == {
        (arm, n) for arm in ARMS for n in SESSIONS_PER_BANK
    }
    assert figures["embedder"].startswith("hash-")
    assert list(figures["milliseconds"]) == list(ARMS)
    assert all(value > 0 for value in figures["milliseconds"].values())
