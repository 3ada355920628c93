from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.small_banks import (
    ARMS,
    BANK_STRIDE_SESSIONS,
    MAX_STRANGE_QUESTIONS,
    SESSIONS_PER_BANK,
    measure_small_banks,
)
from everthread.cli.main import main
from everthread.errors import BadInput
from everthread.testing import HashEmbedder
from everthread.types import NewLine

pytestmark = pytest.mark.slow  # it runs the benchmark

THINGS = "walnut kite parrot tractor saxophone ferry lighthouse alpaca boiler tulip greyhound motorbike".split()
SESSIONS = 4
BEGUN = datetime(2026, 3, 2, tzinfo=UTC)


def conversation(number: int, names: tuple[str, str]) -> AnnotatedConversation:
    """Two friends who sell things: one in each session of the first one's, and one of the other's."""
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


def test_every_arm_is_asked_the_same_of_banks_of_every_size() -> None:
    progress_calls: list[tuple[int, int]] = []
    found = measure_small_banks(
        CONVERSATIONS, dataset="made", embedder=HashEmbedder(512), progress=lambda *each: progress_calls.append(each)
    )
    assert set(found.passed) == {(arm, size) for arm in ARMS for size in SESSIONS_PER_BANK}
    begins = {size: len(range(0, SESSIONS - size + 1, BANK_STRIDE_SESSIONS)) for size in SESSIONS_PER_BANK}
    assert found.banks == 2 * sum(begins.values()) == len(progress_calls) == progress_calls[-1][0]
    assert found.questions == 2 * sum(size * many for size, many in begins.items())  # of the first speaker's lines
    assert found.strange == found.banks * min(MAX_STRANGE_QUESTIONS, 2 * SESSIONS)
    assert all(0 <= value <= 1 for each in found.passed.values() for value in (each.known, each.strange, each.renamed))


def test_the_published_arm_accepts_everything_and_other_arms_reject_some_foreign_questions() -> None:
    found = measure_small_banks(CONVERSATIONS, dataset="made", embedder=HashEmbedder(512))
    source, *others = ([found.passed[arm, size] for size in SESSIONS_PER_BANK] for arm in ARMS)
    assert all((each.known, each.strange, each.renamed) == (1, 1, 1) for each in source)
    assert any(each.strange < 1 for arm in others for each in arm)


def test_one_conversation_alone_has_no_strange_questions() -> None:
    with pytest.raises(BadInput, match="made has 1 conversations with questions, and two are needed"):
        measure_small_banks(CONVERSATIONS[:1], dataset="made", embedder=HashEmbedder(512))


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, ["--embedder", "hash", "bench", "priming", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write the conversations as a LoCoMo file."""
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([published(each) for each in CONVERSATIONS]), encoding="utf-8")
    return path


def published(made: AnnotatedConversation) -> dict[str, Any]:
    said: dict[str, Any] = {"speaker_a": made.speakers[0], "speaker_b": made.speakers[1]}
    for session in range(SESSIONS):
        said[f"session_{session + 1}_date_time"] = f"1:56 pm on {session + 1} May, 2023"
        lines = made.lines[2 * session : 2 * session + 2]
        said[f"session_{session + 1}"] = [
            {"speaker": line.speaker, "dia_id": f"D{session + 1}:{place}", "text": line.text}
            for place, line in enumerate(lines, 1)
        ]
    asked = [
        {"question": question.text, "evidence": [f"D{n // 2 + 1}:{n % 2 + 1}"], "category": 1, "answer": "x"}
        for n, question in enumerate(made.questions)
    ]
    return {"sample_id": made.id, "conversation": said, "qa": asked}


def test_the_command_shows_a_row_an_arm_and_gives_json(file: Path) -> None:
    shown = run("locomo", file).stdout
    rows = shown[shown.index("1 summary") :].splitlines()[1:]
    assert [row.split("  ")[0] for row in rows] == list(ARMS)
    assert rows[0].count("100.0 / 100.0 / 100.0") == len(SESSIONS_PER_BANK)
    found = json.loads(run("locomo", file, "--json").stdout)
    assert {(row["arm"], row["summaries"]) for row in found["passed"]} == {
        (arm, n) for arm in ARMS for n in SESSIONS_PER_BANK
    }
    assert found["embedder"].startswith("hash-")
    assert list(found["milliseconds"]) == list(ARMS)
    assert all(value > 0 for value in found["milliseconds"].values())
