import json
import subprocess
import sys

import pytest

from everthread.bench.soak.run import Plan
from everthread.errors import BadInput


def test_nothing_is_lost_or_found_again_after_a_kill() -> None:
    command = [sys.executable, "-m", "everthread", "--embedder", "hash", "bench", "soak", "--json"]
    command += ["--minutes", "0.03", "--people", "3", "--every", "0.015"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    figures = json.loads(result.stdout)
    assert figures["disturbances"] == {"kill": 1}
    assert figures["stored"] > 0
    assert [figures[name] for name in ("lost", "doubled", "remains", "damaged", "relapses")] == [[]] * 5
    assert result.returncode == 0


def test_a_soak_without_people_is_refused() -> None:
    with pytest.raises(BadInput, match="must be positive"):
        Plan(people=0)
