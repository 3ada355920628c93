from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.bench.fact_sets import PARTS, GoldConversation, GoldFact, list_languages, load_gold, read_gold
from everthread.errors import BadFile, BadInput

SISTERS = """# Two sisters' garden.
bot: Fern
2024-03-03
Nora: My sister Mia lives in Porto now: at last.
  + Nora | sister | Mia
  + Mia | home | Porto / the city of Porto
Fern: You could visit her!

2024-07-14
# A comment between lines.
Nora: we sold the bike. I've been a nurse since 2019
  - Nora | owns | bike
  + Nora | occupation | nurse | 2019
  ? Nora | favourite vehicle | bike
  ? Nora | employer | Kessler | ended
"""


def read(text: str) -> GoldConversation:
    return read_gold(text, "en", "open", "sisters")


def test_a_conversation_has_numbered_lines_of_days_with_their_facts() -> None:
    conversation = read(SISTERS)
    first, reply, last = conversation.lines
    assert (conversation.id, conversation.language, conversation.part) == ("en/sisters", "en", "open")
    assert [line.seq for line in conversation.talk] == [1, 2, 3]
    assert [line.session for line in conversation.talk] == ["2024-03-03", "2024-03-03", "2024-07-14"]
    assert [line.role for line in conversation.talk] == ["user", "assistant", "user"]
    assert first.line.text == "My sister Mia lives in Porto now: at last."
    assert first.line.said_at == datetime(2024, 3, 3, 18, tzinfo=UTC)
    assert first.line.said_at < reply.line.said_at < last.line.said_at
    assert first.facts == (
        GoldFact("+", "Nora", "sister", ("Mia",)),
        GoldFact("+", "Mia", "home", ("Porto", "the city of Porto")),
    )
    assert reply.facts == ()
    assert last.facts == (
        GoldFact("-", "Nora", "owns", ("bike",)),
        GoldFact("+", "Nora", "occupation", ("nurse",), "2019"),
        GoldFact("?", "Nora", "favourite vehicle", ("bike",)),
        GoldFact("?", "Nora", "employer", ("Kessler",), has_ended=True),
    )
    assert [fact.is_counted for fact in last.facts] == [True, True, False, False]
    assert [fact.ends for fact in last.facts] == [True, False, None, True]
    assert (first.number, last.number) == (4, 11)


def test_a_conversation_of_the_part_held_out_is_named_by_its_folder() -> None:
    assert read_gold(SISTERS, "en", "held-out", "sisters").id == "held_out/en/sisters"


def test_a_fact_is_written_as_in_the_file() -> None:
    facts = [str(fact) for gold in read(SISTERS).lines for fact in gold.facts]
    assert facts == [row.strip() for row in SISTERS.split("\n") if row.startswith("  ")]


TALK = "2024-03-03\nNora: I live in Porto."


@pytest.mark.parametrize(
    ("text", "number", "problem", "remedy"),
    [
        ("", 1, "the file has no line of talk", "write each line as Speaker: text"),
        ("bot: \n" + TALK, 1, "'bot: ' is not expected here", "write bot: NAME once, before the first date"),
        (TALK + "\nbot: Fern", 3, "'bot: Fern' is not expected here", "before the first date"),
        ("2024-13-03\nNora: Hi", 1, "'2024-13-03' is not a date", "write it as 2024-03-03"),
        ("3 March\nNora: Hi", 1, "'3 March' is not a date", "write it as 2024-03-03"),
        (TALK + "\n2024-03-02\nNora: Hi", 3, "2024-03-02 is not after the day before it", "in the order of time"),
        ("Nora: Hi", 1, "a line has no day", "write a date such as 2024-03-03"),
        ("2024-03-03\nNora says hi", 2, "'Nora says hi' is neither a date nor a line of talk", "Speaker: text"),
        ("2024-03-03\nNora：Hi", 2, "is neither a date nor a line of talk", "with an ASCII colon and a space"),
        ("2024-03-03\n  + Nora | home | Porto", 2, "a fact has no line that states it", "below their line of talk"),
        ("bot: Fern\n2024-03-03\nFern: Hi\n  + Nora | home | Porto", 4, "a bot's line has a fact", "remove it"),
        (TALK + "\n + Nora | home | Porto", 3, "' + Nora | home | Porto' is not a fact", "two spaces, one of + - ?"),
        (TALK + "\n  * Nora | home | Porto", 3, "is not a fact", "two spaces, one of + - ?"),
        (TALK + "\n  + Nora | home", 3, "has 2 fields, or an empty one", "write subject | attribute | value"),
        (TALK + "\n  + Nora | home | ", 3, "has 3 fields, or an empty one", "write subject | attribute | value"),
        (TALK + "\n  + Nora | lives in | Porto", 3, "there is no attribute 'lives in'", "age, allergy"),
        (TALK + "\n  + Nora | home | / Porto /  / x", 3, "has an empty wording", "separate wordings by a slash"),
        (TALK + "\n  + Nora | home | Porto | ended", 3, "'ended' is not a moment", "write it as 2019, 2019-05"),
        (TALK + "\n  + Nora | home | Porto | May 2019", 3, "'May 2019' is not a moment", "write it as 2019, 2019-05"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused_with_the_line_and_the_remedy(
    text: str, number: int, problem: str, remedy: str
) -> None:
    with pytest.raises(BadFile) as caught:
        read(text)
    assert caught.value.path == "everthread/bench/facts/en/sisters.txt"
    assert caught.value.where == f"line {number}"
    assert problem in caught.value.message
    assert remedy in caught.value.remedy


def test_the_conversations_that_ship_are_valid_and_in_four_languages_in_each_part() -> None:
    for part in PARTS:
        assert list_languages(part) == ["de", "en", "es", "zh"]
        conversations = load_gold([part])
        assert {each.part for each in conversations} == {part}
        assert len({each.id for each in conversations}) == len(conversations)


def test_each_language_has_traps_and_a_quarter_to_a_half_of_its_lines_held_out() -> None:
    for language in list_languages("open"):
        shipped, held_out = ([gold for each in load_gold([part], [language]) for gold in each.lines] for part in PARTS)
        assert 0.25 < len(held_out) / len(shipped + held_out) < 0.5
        assert sum(not gold.facts for gold in shipped) > len(shipped) / 3


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="no facts in language 'fr'; choose from de, en, es, zh"):
        load_gold(languages=["fr"])
