"""Tests of lines that only sound as if they stated something lasting, beside lines like them that do."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line, Role

# Lines by Kim, and what they state; "BOT:" begins a question before them, and "-" marks an end.
STATED = {
    # a first name after "is"
    "My sister is Mia.": "Kim | sister | Mia",
    "my sister is mia": "Kim | sister | mia",
    "My daughter is Grace.": "Kim | daughter | Grace",
    # for a while, and since a while
    "I moved to Leeds today": "Kim | home | Leeds",
    "I've lived in Leeds for two months": "Kim | home | Leeds",
    "I've been vegan for a month now": "Kim | diet | vegan",
    "I'm vegetarian at the moment": "Kim | diet | vegetarian",
    "I've been on sertraline for a week": "Kim | takes | sertraline",
    "I'm a nurse, this week has been mad": "Kim | occupation | nurse",
    "I started at Tesco this week": "Kim | employer | Tesco",
    "I bought a kayak today": "Kim | owns | kayak",
    "I play football on Mondays": "Kim | plays | football",
    "I'm playing the cello again": "Kim | plays | cello",
    # homes and origins
    "I live with my mum and dad in Leeds": "Kim | home | Leeds",
    "I live in a flat in Leeds": "Kim | home | Leeds",
    "we moved to a bungalow in Whitby": "Kim | home | Whitby",
    "Living in Denver, you learn to ski": "Kim | home | Denver",
    "my hometown is Leeds": "Kim | origin | Leeds",
    # work
    "I've been with Tesco ten years": "Kim | employer | Tesco",
    "I've been with Otis ten years": "Kim | employer | Otis",
    "I work with Siemens Energy": "Kim | employer | Siemens Energy",
    "I teach maths at Eton": "Kim | occupation | maths teacher; Kim | employer | Eton",
    "I'm a nurse at home and abroad": "Kim | occupation | nurse",
    "I'm a landscape architect": "Kim | occupation | landscape architect",
    "I'm a waiter, not a magician": "Kim | occupation | waiter",
    "I trained as a nurse": "Kim | occupation | nurse",
    # schools
    "I'm reading history at Durham": "Kim | field | history; Kim | school | Durham",
    "my major is history": "Kim | field | history",
    "my son got into Howard, full ride": "Kim's son | school | Howard",
    # food and health
    "I'm plant based": "Kim | diet | plant based",
    "I'm allergic to Penicillin": "Kim | allergy | Penicillin",
    "I'm allergic to bee stings": "Kim | allergy | bee stings",
    "I can't eat nuts": "Kim | allergy | nuts",
    "my nut allergy is bad": "Kim | allergy | nut",
    "I have MS": "Kim | health | MS",
    "i have ms": "Kim | health | ms",
    "I have ADD": "Kim | health | ADD",
    "I have migraines": "Kim | health | migraines",
    "I take aspirin every morning": "Kim | takes | aspirin",
    "they put me on Lexapro": "Kim | takes | Lexapro",
    # tastes
    "I love Amy Winehouse": "Kim | likes | Amy Winehouse",
    "I love Sydney": "Kim | likes | Sydney",
    "I love the sound of rain": "Kim | likes | sound of rain",
    "I love hiking for the views": "Kim | likes | hiking",
    "I can't bear olives": "Kim | dislikes | olives",
    "my favourite season is spring": "Kim | favourite season | spring",
    "my favourite sport is running": "Kim | favourite sport | running",
    "My favourite film is Missing": "Kim | favourite film | Missing",
    # languages, hobbies, belongings, clubs
    "I'm fluent in French and German": "Kim | language | French; Kim | language | German",
    "I collect stamps": "Kim | hobby | collect stamps",
    "my hobby is baking": "Kim | hobby | baking",
    "I've taken up running": "Kim | hobby | running",
    "I have a Nintendo Switch": "Kim | owns | Nintendo Switch",
    "I have a VW Beetle": "Kim | owns | VW Beetle",
    "I bought a tent for camping": "Kim | owns | tent",
    "I've got a workshop": "Kim | owns | workshop",
    "I'm in the rowing club": "Kim | member | rowing club",
    "I left the rowing club": "- Kim | member | rowing club",
    "I joined the choir for fun": "Kim | member | choir",
    "I'm captain of the hockey team": "Kim | member | hockey team",
    # what ends
    "I have a car / my car died": "- Kim | owns | car",
    "I play the guitar / I stopped playing the guitar": "- Kim | plays | guitar",
    "I work at Tesco / I've left Tesco": "- Kim | employer | Tesco",
    "I have a bike / I swapped my bike for a scooter": "- Kim | owns | bike; Kim | owns | scooter",
    # the one that an answer or a pronoun is about
    "BOT: What's new with you? / moved to Leeds": "Kim | home | Leeds",
    "BOT: Are you allergic to anything? / nuts": "Kim | allergy | nuts",
    "BOT: is your son allergic to anything? / nuts": "Kim's son | allergy | nuts",
    "we saw mum. she's allergic to kiwi": "Kim's mother | allergy | kiwi",
    "My brother's at work. He's a vegan": "Kim's brother | diet | vegan",
}

UNSTATED = [
    # no first name after "is"
    "My sister is tall",
    "My sister is English",
    "my brother is frank",
    "My brother is Christian.",
    "My dad is Frank with me",
    # for a while
    "I'm vegan today",
    "I'm vegan for Lent",
    "My son's vegan this week",
    "I'm living in London for the summer",
    "I moved to Leeds for the summer",
    "I'm based in Leeds for the project",
    "settled in Rome for the night",
    "My son is a fireman today",
    "I took up yoga for a week",
    "I was put on sertraline for a month",
    "I'm playing football tonight",
    "I'm playing tennis with Jo at 6",
    "I don't like fish today",
    # homes and origins
    "I live in Levi's",
    "i live in slack",
    "We moved to Teams for the meeting",
    "we've moved to a new office in Salford",
    "I live in hope now but work in Bath",
    "Living in Denver would suit me",
    "I've a room in Vegas for the conference",
    "Hi, I'm from Vodafone, calling about your bill",
    "I come from Denver on Tuesdays for treatment",
    "my husband's from accounts",
    "my hometown is dead",
    "My parents retired to Spain, then moved back",
    # work
    "I work with Tom",
    "I've been with Tom ten years",
    "we work with the police",
    "we work with Deloitte on this",
    "I've been with Vodafone for ten years",
    "I started at Slimming World",
    "I joined PureGym",
    "I work for the Lord",
    "I serve as an usher at Winners Chapel",
    "I teach Sunday school at St Mark's",
    "my job at Tesco starts Monday",
    "I'm a wannabe writer",
    "I'm an armchair detective",
    "I'm a future doctor",
    "I'm the designated driver",
    "I'm a role model",
    "I'm a chef in my own kitchen only",
    "I'm an artist when it comes to excuses",
    "my daughter is a doctor to all her teddies",
    "they made me captain",
    "I trained as a chef but never cooked again",
    "I'm a nurse wait no",
    "I'm a gamer, not",
    # schools
    "I'm reading history",
    "I'm doing maths with my son",
    "My major is undecided",
    "I major in naps",
    "I study people",
    "I got into Stanford but went to Ohio State",
    "I dropped out of Leeds half marathon",
    "I graduated from Hogwarts",
    # food and health
    "im plant based in my approach",
    "forget im a vegan",
    "I'm vegan on Mondays",
    "I'm vegan at heart",
    "I'm vegan when it suits me",
    "I follow a vegan on Instagram",
    "I'm vegan, kidding",
    "I'm allergic to Tories",
    "I'm allergic to losing",
    "I'm allergic to cheap wine",
    "I have an allergy to fools",
    "I can't have nuts on the table",
    "my nut allergy friend",
    "I have a migraine today",
    "I have MS Teams",
    "I have add ons",
    "I have dementia training at work",
    "I had a stroke of luck",
    "I'm deaf after that gig",
    "I'm dyslexic when I text",
    "that's my OCD",
    "TikTok diagnosed me with ADHD",
    "I'm on antibiotics",
    "I take aspirin when I have a headache",
    "I take insulin to my nan",
    "they put me on Nights",
    "the doctor might put me on statins",
    # tastes
    "I like Tom",
    "my dog loves Tom",
    "I like Ana's dress",
    "I like red for the kitchen",
    "I like Liverpool for the title",
    "I like the sound of Lisbon",
    "I like dogs but not today",
    "I'm into women",
    "I can't bear children",
    "I love walking home",
    "my favourite mug is broken",
    "my favourite band is touring",
    "my favourite show is back",
    "my favourite cousin is Ben",
    # languages, hobbies, belongings, clubs
    "I'm fluent in French kissing",
    "I collect debts",
    "I collect Nectar points",
    "My hobby is complaining",
    "I took up smoking",
    "I do photography for a living",
    "my husband plays golf on the Wii",
    "my cat plays piano on my laptop",
    "I have a courtesy car",
    "I drive a friend's car",
    "I bought a car for my son",
    "I've got a bow in my hair",
    "I've got a workshop at 2",
    "I have a switch on my wall",
    "I've got a beetle in my bath",
    "I'm in the sales team",
    "I'm in the choir for the wedding",
    "I'm a member of a group chat",
    "I'm a member of the mile high club",
    "my fantasy football team is top",
    "I'm president of the Tom fan club",
    "I play for Leeds on FIFA",
    "I left the book club book on the bus",
    # what doesn't end
    "I have a car / my car died at the lights but started again",
    "I have a car / my car's gone in the garage",
    "I have a car / I swapped my car for the day with my sister",
    "I play the guitar / I stopped playing the guitar because he was asleep",
    "I work at Tesco / I left Tesco with three bags",
    "I work at Tesco / I was fired up",
    # the one that an answer or a pronoun is about
    "BOT: Where does she live? / Moved to Leeds last year",
    "BOT: is she still at the school / retired in july!",
    "BOT: how's Tom? / moved to Leeds last year",
    "BOT: how's your mum? / retired last year, loves it",
    "yes nan. shes allergic to kiwi",
    "my son's teacher is off. He's allergic to nuts",
    "my sister's friend came. She's a dentist",
    "my wife spoke to the midwife, she's from Ghana",
    "my sister isn't well",
]


def read(talk: str) -> set[str]:
    """Return what the last line of a talk states."""
    lines = []
    for seq, text in enumerate(talk.split(" / "), 1):
        role: Role = "assistant" if text.startswith("BOT:") else "user"
        speaker = "Kim" if role == "user" else "Fern"
        at = datetime(2026, 5, 4, tzinfo=UTC)
        lines.append(Line(seq, "s", role, speaker, text.removeprefix("BOT:").strip(), at))
    stated = [each for each in read_statements(lines) if each.seqs == (len(lines),)]
    return {f"{'- ' * each.ends}{each.subject} | {each.attribute} | {each.value}" for each in stated}


@pytest.mark.parametrize(("talk", "expected"), STATED.items())
def test_a_line_states_what_lasts(talk: str, expected: str) -> None:
    assert {each.lower() for each in read(talk)} == {each.lower() for each in expected.split("; ")}


@pytest.mark.parametrize("talk", UNSTATED)
def test_a_near_miss_states_nothing(talk: str) -> None:
    assert read(talk) == set()
