"""The server's benchmark, with few clients and the hash embedder."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from everthread.bench import serve
from everthread.cli.main import main
from everthread.errors import BadInput
from everthread.server.static_files import FOLDER, SERVICE_WORKER, WORDS, load_files


@pytest.fixture(scope="module")
def measured() -> list[serve.ServerResult]:
    return serve.measure_server(clients=3, rounds=2, embedder="hash")


def test_every_client_gets_the_whole_reply_and_not_before_the_model_sends_it(
    measured: list[serve.ServerResult],
) -> None:
    for result in measured:
        assert result.errors == 0
        assert result.ideal == 2000
        assert result.accepted.p50 <= result.first.p50 < result.whole.p50
        assert result.whole.p50 > result.ideal


def test_the_results_are_printed_as_a_table_and_as_json(measured: list[serve.ServerResult]) -> None:
    assert "3 at once, 1 workers: whole reply" in serve.table(measured)
    assert "0 errors" in serve.table(measured)
    assert json.loads(json.dumps(serve.as_json(measured)))[0]["clients"] == 3


def test_the_files_of_the_page_are_measured(measured: list[serve.ServerResult]) -> None:
    page = measured[0].page
    names = {name for name in load_files(FOLDER) if "/" not in name and name.endswith((".css", ".js", ".svg"))}
    names.remove(SERVICE_WORKER)
    assert set(page) == {"/", f"/{SERVICE_WORKER}", f"/static/{WORDS}"} | {f"/static/{name}" for name in names}
    assert 0 < sum(page.values()) <= 120_000


def test_page_load_times_are_reported_for_a_first_and_a_repeated_visit(measured: list[serve.ServerResult]) -> None:
    opened = (serve.PageVisit(100.4, 200.0, 300.0), serve.PageVisit(50.0, 60.0, 70.0))
    output = serve.table([replace(measured[0], opened=opened)])
    assert "first visit: interactive after 100 ms, read 200, whole 300" in output
    assert "loaded again: interactive after 50 ms, read 60, whole 70" in output
    assert "first visit" not in serve.table(measured)
    output = serve.table([replace(measured[0], long_chat=serve.LongChat(200.4, 90.0, 80.0))])
    assert "lines: shown at its end after 90 ms (the first time 200), at its beginning after 80" in output


def test_counts_that_are_too_small_are_refused() -> None:
    with pytest.raises(BadInput, match="0 clients"):
        serve.measure_server(clients=0)
    assert CliRunner().invoke(main, ["bench", "serve", "--rounds", "0"]).exit_code != 0


def test_the_page_sets_the_marks_that_are_measured() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))
    assert [mark for mark in serve.MARKS if f'performance.mark("{mark}")' not in scripts] == []
