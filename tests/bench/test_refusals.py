from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from everthread.bench.refusals import LabelledReply, load_labelled_replies, measure_refusals, table
from everthread.cli.main import main
from everthread.text.refusal_words import RefusalWords, shipped_words

FITTED = Path(__file__).parent.parent / "text" / "fitted.tsv"


def test_the_measured_replies_are_half_refusals_and_half_in_each_language() -> None:
    replies = load_labelled_replies()
    counts = {(each.language, each.kind): 0 for each in replies}
    for each in replies:
        counts[each.language, each.kind] += 1
    assert counts == {("en", "refusal"): 50, ("en", "answer"): 50, ("zh", "refusal"): 50, ("zh", "answer"): 50}


def test_no_measured_reply_was_used_to_choose_the_words() -> None:
    fitted = {row.split("\t")[2] for row in FITTED.read_text(encoding="utf-8").splitlines()}
    tuned = (FITTED.parent / "test_refusal.py").read_text(encoding="utf-8")
    assert [each.text for each in load_labelled_replies() if each.text in fitted or each.text in tuned] == []


def test_fewer_than_one_in_seven_of_the_measured_replies_is_misjudged() -> None:
    wrong = [
        text
        for each in measure_refusals(load_labelled_replies(), shipped_words())
        for text in (*each.missed, *each.false_refusals)
    ]
    assert len(wrong) < 200 / 7, wrong


def test_mistakes_of_both_kinds_are_counted_by_language() -> None:
    replies = [
        LabelledReply("en", "refusal", "I'm sorry, but I can't help with that."),
        LabelledReply("en", "refusal", "Ask the harbour master."),
        LabelledReply("en", "answer", "As an AI, I would say so too."),
        LabelledReply("zh", "answer", "今晚的海很平静。"),
    ]
    english, chinese = measure_refusals(replies, shipped_words())
    assert english.missed == ("Ask the harbour master.",)
    assert english.false_refusals == ("As an AI, I would say so too.",)
    assert english.rate == 2 / 3
    assert (chinese.language, chinese.rate) == ("zh", 0)
    assert measure_refusals(replies, RefusalWords())[0].missed == tuple(each.text for each in replies[:2])
    assert "1 of 2" in table([english])


def test_the_command_prints_a_table_or_json() -> None:
    result = CliRunner().invoke(main, ["bench", "refusals"])
    assert result.exit_code == 0
    assert "of 50" in result.stdout
    rows = json.loads(CliRunner().invoke(main, ["bench", "refusals", "--json"]).stdout)
    assert [row["language"] for row in rows] == ["en", "zh"]
