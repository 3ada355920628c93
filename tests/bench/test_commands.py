from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bench.command import run_bench
from everthread.bench import corpus, first_facts
from everthread.bench.commands import LOADERS, bench
from everthread.stores.postgres.store import PostgresStore

THINGS = "walnut kite parrot tractor saxophone ferry lighthouse alpaca boiler tulip greyhound motorbike".split()


def sample(number: int, names: tuple[str, str]) -> dict[str, Any]:
    """Write a LoCoMo file about four things, with a question about each and one without gold."""
    things = THINGS[4 * number : 4 * number + 4]
    turns = [
        {"speaker": names[place % 2], "dia_id": f"D1:{place + 1}", "text": f"I sold the {thing} of my uncle."}
        for place, thing in enumerate(things)
    ]
    questions = [
        {
            "question": f"Who sold the {thing}?",
            "evidence": [f"D1:{place + 1}"],
            "category": 1 + place % 4,
            "answer": names[place % 2],
        }
        for place, thing in enumerate(things)
    ]
    return {
        "sample_id": f"conv-{number}",
        "conversation": {
            "speaker_a": names[0],
            "speaker_b": names[1],
            "session_1": turns,
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": [*questions, {"question": "What is never said?", "evidence": [], "category": 5}],
    }


LOCOMO = [sample(number, names) for number, names in enumerate((("Ida", "Tom"), ("Ada", "Ben"), ("Eva", "Max")))]


def chat(number: int) -> dict[str, Any]:
    """Write the same conversation as a REALTALK file."""
    conversation = LOCOMO[number]["conversation"]
    messages = [
        {"clean_text": turn["text"], "speaker": turn["speaker"], "dia_id": turn["dia_id"],
         "date_time": "29.12.2023, 10:04:11"}
        for turn in conversation["session_1"]
    ]  # fmt: skip
    return {
        "name": {"speaker_1": conversation["speaker_a"], "speaker_2": conversation["speaker_b"]},
        "session_1": messages,
        "session_1_date_time": "29.12.2023, 10:04:11",
        "qa": [{**question, "category": 1 + question["category"] % 3} for question in LOCOMO[number]["qa"]],
    }


HAYSTACK = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which kite did I build?",
        "answer": "a red one",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I built a red kite.", "has_answer": True},
                {"role": "assistant", "content": "Nice."},
            ],
            [{"role": "user", "content": "The roof leaks."}],
        ],
    }
]


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(LOCOMO))
    return path


@pytest.fixture
def realtalk(tmp_path: Path) -> Path:
    folder = tmp_path / "realtalk"
    folder.mkdir()
    for number in range(3):
        (folder / f"Chat_{number}.json").write_text(json.dumps(chat(number)))
    return folder


@pytest.fixture
def small_corpus(tmp_path: Path, few_first_facts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave one conversation of our corpus in each of three languages, and few first facts."""
    development = tmp_path / "corpus" / "development"
    development.mkdir(parents=True)
    for name in ("de_feuerwehrbus.toml", "en_hospital_colleagues.toml", "it_uliveto.toml"):
        (development / name).write_bytes(corpus.FOLDER.joinpath("development", name).read_bytes())
    monkeypatch.setattr(corpus, "FOLDER", development.parent)
    monkeypatch.setattr(first_facts, "DATA_FILES", few_first_facts)


def report(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    figures: dict[str, Any] = json.loads(result.stdout)
    return figures


@pytest.mark.parametrize("dataset", ["locomo", "realtalk"])
def test_the_report_has_the_keys_that_scripts_rely_on(request: pytest.FixtureRequest, dataset: str) -> None:
    figures = report(run_bench(dataset, request.getfixturevalue(dataset), "--json"))
    ks = {"1", "5", "10", "25", "50"}
    assert (figures["dataset"], figures["recipe"], figures["embedder"]) == (dataset, "default", "hash-64")
    assert (figures["questions"], figures["left_out"]) == (12, 3)
    assert set(figures["recall"]) == ks
    assert figures["recall"]["50"] == 100  # no bank has more than four lines
    assert sum(category["questions"] for category in figures["categories"].values()) == 12
    assert all(set(category["recall"]) == ks for category in figures["categories"].values())
    assert 0 < figures["ndcg10"] <= 100
    assert set(figures["gold_in_context"]) == set(figures["tokens_in_context"]) == {"500", "1000", "2000"}
    assert 0 <= figures["kept"] <= 100
    assert set(figures["false_injection"]) == {"unchanged", "mapped", "curve"}
    assert set(figures["latency_ms"]) == {"p50", "p95"}


def test_people_are_asked_about_by_other_names(locomo: Path) -> None:
    figures = report(run_bench("locomo", locomo, "--nickname", "Ida=Zog", "--json"))
    assert figures["questions"] == 12
    refused = run_bench("locomo", locomo, "--nickname", "Ida")
    assert refused.exit_code == 2
    assert "--nickname Ida: expected NAME=OTHER" in refused.stderr


def test_the_report_is_a_table_without_json(locomo: Path) -> None:
    result = run_bench("locomo", locomo)
    assert result.exit_code == 0
    assert "category" in result.stdout
    assert "R@50" in result.stdout
    assert "single-hop" in result.stdout


def test_only_the_chosen_conversations_are_measured(locomo: Path) -> None:
    figures = report(run_bench("locomo", locomo, "--only", "conv-1", "--json"))
    assert figures["questions"] == 4
    assert figures["false_injection"] is None
    refused = run_bench("locomo", locomo, "--only", "conv-9")
    assert refused.exit_code == 2
    assert "there is no sample 'conv-9'; choose from conv-0" in refused.stderr


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_curves_are_drawn(locomo: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"curves.{ending}"
    result = run_bench("locomo", locomo, "--json", "--plot", path)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["questions"] == 12
    assert f"plot: {path}" in result.stderr
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("place", ["curves.txt", "missing/curves.png"])
def test_the_path_of_a_plot_that_can_not_be_drawn_is_reported(locomo: Path, tmp_path: Path, place: str) -> None:
    result = run_bench("locomo", locomo, "--plot", tmp_path / place)
    assert result.exit_code in (1, 2)
    assert str(tmp_path / place) in result.stderr


def test_longmemeval_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(HAYSTACK))
    figures = report(run_bench("longmemeval", path, "--json"))
    assert figures["questions"] == 1
    assert figures["recall"]["50"] == 100


@pytest.mark.parametrize("dataset", sorted(LOADERS))
def test_a_path_with_nothing_in_it_is_refused(tmp_path: Path, dataset: str) -> None:
    result = run_bench(dataset, tmp_path / "nowhere")
    assert result.exit_code == 2
    assert result.stderr.startswith("everthread: ")
    assert "nowhere" in result.stderr


def test_an_empty_list_of_conversations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text("[]")
    result = run_bench("locomo", path)
    assert result.exit_code == 2
    assert "there is no conversation to ask about" in result.stderr


def test_a_recipe_that_is_unknown_is_refused(locomo: Path) -> None:
    result = run_bench("locomo", locomo, "--recipe", "elephant")
    assert result.exit_code == 2
    assert "unknown recipe 'elephant'" in result.stderr


@pytest.mark.usefixtures("small_corpus")
def test_a_scoring_profile_is_fitted(locomo: Path) -> None:
    text = run_bench("fit", "locomo", locomo).stdout
    assert "each conversation left out in turn, 12 questions: R@1 " in text
    assert "fitted on all:" in text
    refused = run_bench("fit", "locomo", locomo, "--only", "conv-1")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_an_embedder_is_measured_alone(locomo: Path) -> None:
    figures = report(run_bench("dense", "locomo", locomo, "--json"))
    assert json.dumps(figures)
    assert run_bench("dense", "locomo", locomo).stdout.strip()


def test_speed_is_measured(tmp_path: Path) -> None:
    result = run_bench("speed", "--lines", "40", "--json")
    assert result.exit_code == 0, result.stderr
    assert [row["lines"] for row in json.loads(result.stdout)] == [40]


def test_facts_are_measured_in_one_language_and_part() -> None:
    figures = json.loads(run_bench("facts", "--part", "open", "--language", "es", "--errors", "--json").stdout)
    assert [(row["part"], row["language"]) for row in figures["languages"]] == [("open", "es")]
    assert [row["source"] for row in figures["cost"]] == ["talk", "synthetic"]
    assert figures["updates"] == []
    assert all(row.startswith(("es/", "    ")) for row in figures["errors"])


def test_errors_of_facts_held_out_are_refused() -> None:
    refused = run_bench("facts", "--part", "held-out", "--errors")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_a_sample_of_facts_is_printed_with_a_row_a_statement(locomo: Path) -> None:
    result = run_bench("facts", "--sample", locomo, "--count", "3", "--only", "conv-1")
    head, *rows = result.stdout.splitlines()
    assert head.startswith("true\tconversation\tsubject")
    assert result.stderr.startswith(f"{len(rows)} of ")
    assert all(row.startswith("\tconv-1\t") for row in rows)


def test_the_corpus_is_measured_or_written_as_pairs(tmp_path: Path) -> None:
    figures = report(run_bench("corpus", "--language", "zh", "--only", "zh_laofang", "--json"))
    assert figures["dataset"] == "corpus-development"
    assert set(figures["categories"]) == {"detail", "broad"}
    written = run_bench("corpus", "--language", "zh", "--pairs", tmp_path / "pairs.jsonl")
    assert (
        written.stdout
        == f"{tmp_path / 'pairs.jsonl'}: {len((tmp_path / 'pairs.jsonl').read_text().splitlines())} pairs\n"
    )
    unknown = run_bench("corpus", "--only", "nobody")
    assert (unknown.exit_code, "there is no conversation" in unknown.stderr) == (2, True)


def test_every_command_has_a_help_text() -> None:
    for name, command in bench.commands.items():
        assert command.help, name


def test_a_store_is_put_under_load(tmp_path: Path) -> None:
    result = run_bench("load", tmp_path, "--clients", "2", "--banks", "2", "--seconds", "0.2", "--json")
    assert result.exit_code == 0, result.stderr
    assert report(result)["errors"] == []


def test_two_stores_are_compared(database: str) -> None:
    result = run_bench("stores", database, "--lines", "40", "--json")
    assert result.exit_code == 0, result.stderr
    assert [side["store"] for side in json.loads(result.stdout)] == ["sqlite", "postgres"]


def test_two_stores_are_compared_on_the_same_questions(database: str, locomo: Path) -> None:
    figures = report(run_bench("same", database, "locomo", locomo, "--json"))
    assert (figures["questions"], figures["same"]) == (12, 100)
    assert figures["sqlite"] == figures["postgres"] > 0
    assert "12 questions: 100.0%" in run_bench("same", database, "locomo", locomo).stdout
    with closing(PostgresStore(database)) as store:
        assert store.banks() == []


def test_a_large_bank_with_too_few_lines_is_refused(tmp_path: Path) -> None:
    result = run_bench("beside", tmp_path, "--lines", "10")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_madial_is_measured_at_the_cut_offs_of_its_published_figures(tmp_path: Path) -> None:
    memories = [{"1": {"time": "2023-05-02", "event": "Bart's red hat flew away."}}]
    dialogue = ["<BOD>", "<Bart>: My hat!", "<Assistant>: Was it red?", "<Assistant>: As in May.", "<EOD>"]
    dialogues = [{"dialogue": dialogue, "test-turn": [3], "relevant-id": [1], "user-id": 1}]
    for kind, records in (("memory", memories), ("dialogue", dialogues)):
        (tmp_path / f"MADial-Bench-en-{kind}.json").write_text("\n".join(map(json.dumps, records)))
    figures = report(run_bench("madial", tmp_path, "--json"))
    assert (figures["dataset"], figures["questions"]) == ("madial-en", 1)
    assert figures["recall"] == {"1": 100, "5": 100, "10": 100, "20": 100, "50": 100}


def test_the_firsts_are_asked_in_chinese_as_well(tmp_path: Path) -> None:
    figures = report(run_bench("firsts", "--language", "zh", "--only", "farm", "--json"))
    assert (figures["dataset"], figures["questions"]) == ("firsts-zh", 9)


@pytest.mark.usefixtures("small_corpus")
@pytest.mark.parametrize("by", ["glosses", "words", "characters"])
def test_glosses_words_or_characters_are_weighed_on_madial_and_the_chinese_firsts(tmp_path: Path, by: str) -> None:
    memories = [{"1": {"user-id": 1, "time": "2023-05-02", "event": "巴特的红帽子被风吹走了。"}}]
    dialogue = ["<BOD>", "<Bart>: 我的帽子不见了！", "<Assistant>: 是红的吗？", "<Assistant>: 跟五月一样。", "<EOD>"]
    dialogues = [{"dialogue": dialogue, "test-turn": [3], "relevant-id": [1], "user-id": 1}]
    for kind, records in (("memory", memories), ("dialogue", dialogues)):
        (tmp_path / f"MADial-Bench-zh-{kind}.json").write_text("\n".join(map(json.dumps, records)))
    figures = report(run_bench("fit", "madial", tmp_path, "--json", "--by", by))
    assert set(figures) == {"left_out", "head"}
    assert set(figures["left_out"]["banks"]) == {"madial-zh-1", "firsts-zh-1", "firsts-zh-2"}
    assert figures["left_out"]["questions"] == 37
    assert ("cosine" in figures["head"]["weights"]) == (by == "glosses")
    assert (figures["left_out"]["corpus"] is not None) == (by == "words")
