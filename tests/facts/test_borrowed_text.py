"""Tests of lines that pass on what others say or what is made up, beside lines of like form about their speaker."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.borrowed_text import find_own_part
from everthread.facts.grammar import find_grammar
from everthread.facts.rules import read_statements
from everthread.types import Line

PASSED_ON = [
    # a text that something is done with
    "Translate this: I live in Madrid",
    "Fix the grammar: I works at Google",
    "Rewrite the following paragraph:\n\nI'm a plumber. I have a dog called Bess.",
    "tidy this up please\n\nI work at Tesco and I live in Stoke",
    "Can you translate this into French? I work at a bakery.",
    "Could you check the spelling of this? I am a nurse and I live in Reading.",
    "Is this sentence correct? I am working at BMW since 2018.",
    "how do I say I'm a vegetarian in Thai",
    "Say: I'm a nurse",
    "Read the text and answer. My name is Pablo. I live in Seville.",
    "Put the verbs into the past tense: I work in a mill.",
    "What's wrong with this sentence? My dad are a baker.",
    "Mira Holt is a dentist, can you rewrite this",
    "The following is a list of names, put them into a table.\nAunt Fay\nBrother Max",
    # a letter, a post, a message of someone else
    "my flatmate needs a letter: Dear Sir, I live in Hyde Park.",
    "Dear hiring manager,\nI am a graphic designer and I live in Denver.",
    "someone on reddit said: I'm 34 and I live in Ohio",
    "Found this on reddit, thoughts?\n\nI work at a bank. My wife Dana is a nurse.",
    "this guy at work wrote: my son is 9",
    "her message: I live in Bath now. I have a dog.",
    "he was like I'm a doctor",
    "[10:32] Tom: I live in Leeds\n[10:33] Ana: I work at Asda",
    "Interviewer: what do you do\nMe: I'm a project manager",
    "Q: Where do you live? A: I live in Leeds.",
    "Anna: I live in Rome",
    "Anna Moreau: I'm vegan\nI live in Rome",
    "Fwd: I live in Oslo",
    # what is made up
    "Continue the story: My name is Arthur and I have a cat called Storm.",
    "Let's pretend I'm rich. I live in Monaco.",
    "Imagine this. I'm a farmer. I live in Devon.",
    "Scenario: I'm 45 and I live in Texas.",
    "here's my poem\nMy name is Autumn\nI live in the trees",
    "Lyrics for my new song\n\nI live in the shadows\nI work at the docks",
    "*I sit down* I'm a vampire who lives in Prague",
    "_walks into the tavern_ I'm a smith from Riverrun",
    "in another life I'm a baker",
    "kidding, I'm a florist",
    "oh sure, I live in a palace in Monaco",
    "who am I? I was born in Hawaii",
    # a persona
    "From now on you are Marco. Marco lives in Naples.",
    "Act as Tom. Tom is a lawyer and has a daughter called Ivy.",
    "I want you to play Elena. Elena is a doctor from Rome.",
    "Persona: Elena is 34. Elena lives in Rome.",
    "Narrate my day as a baker named Tilda who lives in York",
    # strangers: a plot, an exercise, an example, an article
    "For example, Joe is a case manager.",
    "Joe is a case manager. One night he finds a boy. His wife Ellen, a nurse, wants to keep him.",
    "Tom is 12 years old. His sister Ana is twice as old. How old is Ana?",
    "The film is about Mo, a taxi driver. Mo has a son called Idris.",
    "Obituary: John was a baker. His wife is called Edna.",
    "so Tess, my heroine, is a vet and lives in Truro",
    "we picked My Cousin Rachel for the book club",
    # programs
    "// my brother works at Google",
    "# I live in Paris",
    'name = "Tom"  # my dog is called Rex',
    "why is `I live in Rome` not matched",
    # quotations of several lines and sentences
    'He wrote "I live in Rome.\nI work at Acme.\n\nI have a cat called Tom" to me',
    "They said “I live in Rome.\nI have a cat”",
    # neither a school nor a trade nor an employer
    "I said goodbye to my job at Ikea",
    "I'm at school today",
    "my favourite is a funny architect",
    "I'm a human dishwasher",
]

OWN = {
    "Translate this for my landlord please. I live in Madrid.": "home | Madrid",
    "Write me a meal plan. I'm vegan.": "diet | vegan",
    "Help me with my cover letter. I'm a nurse.": "occupation | nurse",
    "Act as my Spanish teacher. I live in Seville.": "home | Seville",
    "Remember this: I'm allergic to latex.": "allergy | latex",
    "The problem is this: I have diabetes.": "health | diabetes",
    "For context: I'm a midwife.": "occupation | midwife",
    "Question: I'm vegan, what can I eat?": "diet | vegan",
    "long story short: I live in Porto now": "home | Porto",
    "As I said: I work at Tesco.": "employer | Tesco",
    "My situation: I'm divorced.": "status | divorced",
    "life update nobody asked for: I'm vegan": "diet | vegan",
    "For example, I play the cello.": "plays | cello",
    "Thanks for the message\nI live in Derby now": "home | Derby",
    "I'm a nurse.\n\nTranslate “good night” into French please.": "occupation | nurse",
    "I live in Hull.\n\nCan you summarise this?\n\nThe council met. The mayor spoke.": "home | Hull",
    "Mine is smaller: I've moved to Bath": "home | Bath",
    "Change of plan: I live in Hull now": "home | Hull",
    "Sold the old house: I live in Hull now": "home | Hull",
    "You're a chatbot and I'm a nurse": "occupation | nurse",
    "You are so kind! I live in Leeds.": "home | Leeds",
    "It was meant to be Gethin, he's my friend, and I live in Bow": "home | Bow",
    "I'm at Leeds Art School": "school | Leeds Art School",
    'I have a 6" screen\nI live in Rome': "home | Rome",
    "Kim: I live in Rome": "home | Rome",
    "I live in Rome\nAnna: me too": "home | Rome",
    "Nice: I live in Rome now": "home | Rome",
}


def read(*texts: str) -> list[str]:
    """Read what consecutive lines by Kim state."""
    said_at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    lines = [Line(seq, "s", "user", "Kim", text, said_at, key=str(seq)) for seq, text in enumerate(texts, 1)]
    return [f"{each.subject} | {each.attribute} | {each.value}" for each in read_statements(lines)]


@pytest.mark.parametrize("text", PASSED_ON)
def test_what_a_line_passes_on_states_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(("text", "stated"), OWN.items())
def test_a_line_of_like_form_about_its_speaker_states_what_it_says(text: str, stated: str) -> None:
    assert f"Kim | {stated}" in read(text)


def test_a_row_that_begins_with_the_name_of_another_speaker_is_not_the_speakers_own() -> None:
    said_at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    said = (
        *(("kayaker42", "Morning"), ("Kim", "kayaker42: live in Rome, work at Tesco"), ("李雷", "早")),
        *(("Kim", "李雷：我住在北京"), ("Kim", "Mia: 5\nLeo: 3"), ("Kim", "I live in Hull")),
    )
    lines = [Line(seq, "s", "user", speaker, text, said_at) for seq, (speaker, text) in enumerate(said, 1)]
    assert [(each.subject, each.value) for each in read_statements(lines)] == [("Kim", "Hull")]


def test_what_precedes_a_passed_on_text_is_the_speakers() -> None:
    assert read("I live in Hull. Translate this: I live in Madrid") == ["Kim | home | Hull"]


def test_a_tale_that_names_someone_who_is_known_is_read() -> None:
    tale = "Joe is a case manager. He had a long day. His wife Ellen works at Tesco."
    assert read(tale) == []
    assert "Joe | occupation | case manager" in read("My brother Joe called.", tale)


def test_a_short_line_about_a_name_alone_is_read() -> None:
    assert read("Jo works at Asda now!") == ["Jo | employer | Asda"]


def test_the_brother_is_the_speakers_in_a_line_without_an_i() -> None:
    assert "Declan | owns | pub" in read("The brother's home. Declan. He's bought a pub in Clonakilty.")


def test_a_line_in_a_language_without_words_for_who_speaks_is_no_tale() -> None:
    assert "Jonas | home | Kiel" in read("Jonas wohnt in Kiel. Er ist Koch. Er mag Jazz.")


@pytest.mark.parametrize("text", ["Translate this: " * 120, "a: " * 600, "this\n" * 400, "I'm. " * 400])
def test_the_own_part_of_a_long_line_is_its_beginning(text: str) -> None:
    grammar = find_grammar("en", text)
    assert grammar is not None
    assert text.startswith(find_own_part(text, grammar))
