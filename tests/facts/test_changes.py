"""Tests of how people say that something changed: what is known ends, or another takes its place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.facts.types import Statement
from everthread.types import Line

ENDED = {
    ("I work at Tesco", "no more Tesco for me"): "employer | Tesco",
    ("I work at Tesco", "I quit!!"): "employer | ",
    ("I work at Tesco", "last day at Tesco was Friday"): "employer | Tesco",
    ("I play football", "I quit football last year"): "plays | football",
    ("I take metformin", "I don't take my metformin any more"): "takes | metformin",
    ("I have a piano", "gave the piano to my niece"): "owns | piano",
    ("I have a car", "wrote the car off on Friday"): "owns | car",
    ("I take metformin", "the doctor stopped my metformin"): "takes | metformin",
    ("my dog Rex is old", "we had to let Rex go"): "pet | Rex",
    ("my husband Tom is lovely", "my divorce from Tom came through"): "partner | Tom",
    ("my flatmate is called Jo", "I live alone now"): "flatmate | ",
    # whatever is known, by how it ended
    ("I work at Tesco", "Tesco let me go, cash flow"): "employer | Tesco",
    ("I live in Leith", "Leith is history, I'm off"): "home | Leith",
    ("I play netball", "did my ankle so that's netball over"): "plays | netball",
    ("I'm in a choir", "I knocked the choir on the head"): "member | choir",
    ("I have migraines", "I haven't had a migraine in two years"): "health | migraine",
    # a person or a pet who is known
    ("my boyfriend Tom is lovely", "Tom and I called it a day"): "partner | Tom",
    ("my boss Karen is odd", "Karen got sacked on the spot"): "boss | Karen",
    ("my flatmate Jo is messy", "Jo got her own place"): "flatmate | Jo",
    ("my dog Rex is old", "we had to have Rex put down"): "pet | Rex",
    # an event
    ("my husband Tom is lovely", "the divorce came through"): "partner | ",
    ("I'm pregnant", "the baby's here!!"): "status | pregnant",
    ("I'm a bus driver", "I retired at last"): "occupation | ",
    # what a pronoun means
    ("I have a van", "the van died so I scrapped it"): "owns | van",
    # the opposite
    ("I hate mushrooms", "I actually like mushrooms now"): "dislikes | mushrooms",
    # an ending that names another thing: a retirement, a storm, a successor
    ("I've worked at Tesco for years", "I took early retirement in the autumn"): "employer | ",
    ("we've got a greenhouse", "the storm took the greenhouse"): "owns | greenhouse",
    ("I'm a teacher", "I've left teaching for good"): "occupation | ",
    ("I love horror films", "I can't watch horror films any more"): "likes | horror films",
    ("my neighbour Joop is kind", "Joop moved to a home in March"): "neighbour | Joop",
    ("my cat Sooty is old", "Sooty got run over"): "pet | Sooty",
    ("I work at Ikea", "Ikea and I have parted ways"): "employer | Ikea",
    # who gives up an instrument plays it no more
    ("I have a piano", "I gave up the piano"): "plays | piano",
}

REPLACED = {
    ("I live in Leeds", "so we've swapped Leeds for Bath"): "home | Bath",
    ("I live in Leeds", "we ended up in Hull in the end, moved in last week"): "home | Hull",
    ("I live in Leeds", "We're in Derby as of Saturday"): "home | Derby",
    ("I play the guitar", "swapped guitar for drums"): "plays | drums",
    ("I work as a waiter", "I switched from waiter to barista"): "occupation | barista",
    ("my flatmate Jo is messy", "Jo's gone, Sam moved in"): "flatmate | Sam",
    ("I work at Barclays", "I went from Barclays to Monzo"): "employer | Monzo",
    ("I work at Tesco", "moved over to Asda in the spring"): "employer | Asda",
    ("I study at Leeds University", "I've switched, I'm at Manchester now"): "school | Manchester",
    ("I'm studying law", "law wasn't for me so I've transferred to nursing"): "field | nursing",
    ("I go to school at Kingsmead School", "Mum moved me to Ashford High"): "school | Ashford High",
    ("I live in Graz", "She's a professor now, so it is Linz now for both of us"): "home | Linz",
    ("my boss is Ragnar", "Sigrid took over from Ragnar"): "boss | Sigrid",
    ("we have a caravan", "part exchanged the caravan for a motorhome"): "owns | motorhome",
}

# An end and a new value that a line states alone.
ENDED_ALONE = {
    "had to stop playing football, knees": "plays | football",
    "not on sertraline any more": "takes | sertraline",
    "not a vegan any more, sorry": "diet | vegan",
}

STATED_ALONE = {
    "new boss, Steve": "boss | Steve",
    "He got a post in Doha and that is where we live now": "home | Doha",
    "so Sheila's my boss now": "boss | Sheila",
    "he proposed, I said yes!!": "status | engaged",
    "I'm writing from Toronto, I moved here in September": "home | Toronto",
    "18 today!": "age | 18",
}

UNCHANGED = [
    ("I work at Tesco", "no more Tesco sandwiches for me"),
    ("I work at Tesco", "I quit smoking"),
    ("I live in Leeds", "we ended up in Paris for the weekend"),
    ("I live in Leeds", "I'm in Bath for good food"),
    ("I have a piano", "gave the piano to be tuned"),
    ("I have a van", "the van is dead slow"),
    ("I play the guitar", "should I give up the guitar?"),
    ("I play tennis", "swapped tennis shoes for trainers"),
    ("I take sertraline", "I don't take sertraline with coffee"),
    ("my boyfriend Tom is lovely", "I left Tom in the car"),
    ("I'm 29", "it's my 30th birthday next month"),
    ("I'm 29", "today is my 30th birthday party planning"),
    ("I play the piano", "I don't fear the piano any more"),
    ("I have a piano", "I don't clean the piano any more"),
    ("I live in Leeds", "I don't get lost in Leeds any more"),
    ("I take sertraline", "I don't forget my sertraline any more"),
    ("I play football", "I gave up football tickets"),
    ("I play football", "I stopped playing football for a minute"),
    ("I play football", "I finished with football for today"),
    ("my flatmate Jo is messy", "Jo's gone, back on Sunday"),
    ("my boyfriend Tom is lovely", "Tom is my ex's lawyer"),
    ("my boyfriend Tom is lovely", "Tom and I split the bill"),
    ("my boyfriend Tom is lovely", "Tom left me a note"),
    ("my boss Karen is odd", "Karen's gone to lunch"),
    ("my flatmate Jo is messy", "Jo moved on to the next topic"),
    ("my dog Rex is old", "Rex ran away from the hoover"),
    ("my husband Tom is lovely", "my sister's divorce came through"),
    ("I'm pregnant", "she's here now, my mother-in-law"),
    ("I'm single", "he hasn't proposed yet"),
    ("I work at Tesco", "I left Tesco at six and went home"),
    ("I work at Tesco", "I'm at Asda now, do you need anything?"),
    ("I have a van", "I took the van and the old table, and sold it"),
    ("I have a van", "I gave it a wash"),
    ("I live in Leeds", "I went from Leeds to Hull by train"),
    ("I play football", "that's football over for this week"),
    ("I have a greenhouse", "the storm took the roof off the greenhouse"),
    ("my boss is Karen", "Steve took over from Karen while she was at lunch"),
    ("my flatmate Jo is messy", "Jo's gone back to France for Christmas"),
    ("I'm 17", "20 today, sunny"),
    ("I work at Tesco", "I'm not at Tesco now, call me later"),
    ("I have asthma", "no asthma attacks for a week"),
    ("I work at Tesco", "they moved me to Checkouts"),
    ("Hello.", "Bosch is great, he's a manager at Bosch"),
    ("Hello.", "Tesco is busy, she's a nurse there"),
    ("Hello.", "Lidl has a sale. She lives in Hull"),
    ("My brother is Leo", "Leo likes that actor, he's from Wales and he lives in Rome"),
    ("I have a car", "I found a phone in the car and I sold it"),
    ("I have a dog called Rex", "I had a coffee with Rex and put it down"),
    ("I have a bike", "I had a cake after my bike ride and gave it away"),
    ("My boss is Karen", "Karen left after lunch"),
    ("My boss is Karen", "Karen's gone, back in an hour"),
    ("My boss is Karen", "Karen quit, smoking I mean"),
    ("My boyfriend is Tom", "Tom isn't coming back till Friday"),
    ("I have a dog called Rex", "Rex isn't coming back when I call him"),
    ("My boyfriend is Tom", "Tom is out of the picture I posted"),
    ("My boyfriend is Tom", "the divorce came through for my sister"),
    ("Hello.", "Tom proposed on the show last night"),
    ("Hello.", "she proposed the plan"),
    ("Hello.", "he popped the question about money"),
    ("My boyfriend is Tom", "I'm single for the weekend, yay"),
    ("Hello.", "have you heard my sister is married? is it true?"),
    ("Hello.", "you know my sister's a nurse or not?"),
    ("Hello.", "guess who's engaged, my sister"),
    ("Hello.", "look who's a doctor now, little Ben"),
    ("My boyfriend is Tom", "I broke my leg and I'm with Ben now at the hospital"),
    ("My boyfriend is Tom", "Tom and I didn't make it to the concert"),
    ("My boyfriend is Tom", "Tom passed on the cake"),
    ("My boyfriend is Tom", "Tom passed yesterday, so he has his driving licence now"),
    ("My flatmate is Priya", "Priya left, so I was alone in the flat all evening"),
    ("My flatmate is Ben", "Ben moved on from his ex"),
    ("My flatmate is Ben", "Ben's moved in with his stories again"),
    ("I have a dog called Rex", "I put Rex down because my arms were tired"),
    ("My dog is Rex", "we let Rex go in the garden"),
    ("My dog is Rex", "I said goodbye to Rex in the morning and went to work"),
    ("My dog is Rex", "I lost Rex in the park yesterday but found him again"),
    ("My dog is Rex", "Rex ran away yesterday but came back for dinner"),
    ("My boss is Carol", "Ben took over from Carol at the wheel"),
    ("I work at Barclays", "I went from Barclays to Costa for a coffee"),
    ("Hello.", "I tied the knot in the rope"),
    ("I'm pregnant", "we lost the baby monitor"),
    ("I play netball", "that's netball over, off to the pub"),
    ("I play tennis", "I can't play any more today"),
    ("Hello.", "in the sims I live in Rome"),
]


def read_later(*texts: str) -> set[str]:
    """Read what the last of some lines states, with "-" before what has ended."""
    said_at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    lines = [Line(n, "s", "user", "Nora", text, said_at, key=str(n)) for n, text in enumerate(texts, 1)]
    statements = [each for each in read_statements(lines) if each.seqs == (len(texts),)]
    return {f"{'-' if each.ends else ''}{each.attribute} | {each.value}" for each in statements}


@pytest.mark.parametrize(("lines", "ended"), ENDED.items())
def test_what_is_known_ends(lines: tuple[str, str], ended: str) -> None:
    assert f"-{ended}" in read_later(*lines)


@pytest.mark.parametrize(("lines", "new"), REPLACED.items())
def test_another_value_takes_the_place_of_what_is_known(lines: tuple[str, str], new: str) -> None:
    assert new in read_later(*lines)


@pytest.mark.parametrize(("text", "ended"), ENDED_ALONE.items())
def test_a_line_may_end_what_was_not_stated(text: str, ended: str) -> None:
    assert f"-{ended}" in read_later(text)


@pytest.mark.parametrize(("text", "new"), STATED_ALONE.items())
def test_a_line_about_a_change_states_a_value_whatever_it_was_before(text: str, new: str) -> None:
    assert new in read_later(text)


@pytest.mark.parametrize("lines", UNCHANGED)
def test_what_only_sounds_like_a_change_states_nothing(lines: tuple[str, str]) -> None:
    assert read_later(*lines) == set()


def test_nothing_ends_that_was_never_stated() -> None:
    assert read_later("hello there", "no more Tesco for me") == set()


def test_what_a_correction_says_counts_from_when_it_was_said() -> None:
    # The corrected statement is stored later than one that was said after it.
    days = [datetime(2025, 3, day, 12, tzinfo=UTC) for day in (1, 2, 9)]
    york = Statement("Nora", "home", "York", (2,), days[1], position=2, id=2)
    corrected = Statement("Nora", "home", "Bradford", (1,), days[0], writer="person", position=1, id=1)
    found = read_statements([Line(3, "s", "user", "Nora", "York is history", days[2], key="3")], [york, corrected])
    assert [(each.attribute, each.value, each.ends) for each in found] == [("home", "York", True)]
