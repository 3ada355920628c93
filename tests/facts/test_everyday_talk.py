"""Tests of what people tell of themselves and of those around them in passing, and of what only sounds like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line

# Lines by Kim, and what they state; "-" marks an end.
STATED = {
    # several relatives, with their ages
    "My kids are Leo, 7, and Ada, 4": "Kim | child | Leo; Kim | child | Ada; Leo | age | 7; Ada | age | 4",
    "our kids Nils (9) and Britt (6) are at camp": (
        "Kim | child | Nils; Kim | child | Britt; Nils | age | 9; Britt | age | 6"
    ),
    "I've got two daughters, Runa who's 8 and Cleo who's 5": (
        "Kim | daughter | Runa; Kim | daughter | Cleo; Runa | age | 8; Cleo | age | 5"
    ),
    "My sons Abel and Hugo are 12 and 10": "Kim | son | Abel; Kim | son | Hugo; Abel | age | 12; Hugo | age | 10",
    "My twins Zita and Ivo are three": "Kim | child | Zita; Kim | child | Ivo",
    "my lad Connor's just started school": "Kim | son | Connor",
    "We had a baby girl on Friday, Wren": "Kim | daughter | Wren",
    "my guinea pigs, Fig and Plum, are loud": (
        "Kim | pet | Fig; Kim | pet | Plum; Fig | kind | guinea pig; Plum | kind | guinea pig"
    ),
    "the budgie's name is Keith": "Kim | pet | Keith; Keith | kind | budgie",
    "Meet our new puppy: Waffles": "Kim | pet | Waffles; Waffles | kind | puppy",
    "I took my son (Felix, 6) to the dentist": "Kim | son | Felix; Felix | age | 6",
    "we've got a new addition, a whippet called Juno": "Kim | pet | Juno; Juno | breed | whippet",
    # both of a couple
    "My parents live in Graz": "Kim's mother | home | Graz; Kim's father | home | Graz",
    "my grandparents are both from Split": "Kim's grandmother | origin | Split; Kim's grandfather | origin | Split",
    # food
    "I don't eat meat anymore": "Kim | diet | no meat",
    "we don't eat pork at home": "Kim | diet | no pork",
    "I haven't eaten fish since 2015": "Kim | diet | no fish",
    "I can't eat gluten": "Kim | allergy | gluten",
    "I can't eat pork": "Kim | diet | no pork",
    # work, studies, religion
    "I work in marketing": "Kim | industry | marketing",
    "my brother works in finance": "Kim's brother | industry | finance",
    "I've worked in hospitality for ten years": "Kim | industry | hospitality",
    "I'm in sales": "Kim | industry | sales",
    "I'm Catholic": "Kim | religion | Catholic",
    "we're Jewish, so no tree": "Kim | religion | Jewish",
    "I'm a practising Buddhist": "Kim | religion | Buddhist",
    "I graduated from Yale": "- Kim | school | Yale",
    "I'm a student at Exeter College studying physics": "Kim | school | Exeter College; Kim | field | physics",
    "I'm a third year student at UCD, arts": "Kim | school | UCD; Kim | field | arts",
    "I joined a startup called Tern": "Kim | employer | Tern",
    "I'm a nurse at St Thomas' Hospital": "Kim | occupation | nurse; Kim | employer | St Thomas' Hospital",
    "I repair lifts. Seventeen years with Otis.": "Kim | employer | Otis",
    "they've made me head of year": "Kim | occupation | head of year",
    "I report to a woman called Anka": "Kim | boss | Anka",
    # names, ages, origins, homes
    "I go by Annie": "Kim | name | Annie",
    "everyone calls me Bex": "Kim | name | Bex",
    "hey its jess, im 22 from ohio": "Kim | name | jess; Kim | age | 22; Kim | origin | ohio",
    "I'm Tobi, 34, a nurse from Kiel": (
        "Kim | name | Tobi; Kim | age | 34; Kim | occupation | nurse; Kim | origin | Kiel"
    ),
    "I am Inge, 77 years, from Bergen": "Kim | name | Inge; Kim | age | 77; Kim | origin | Bergen",
    "dad's a postman, 74, still up at four": "Kim's father | occupation | postman; Kim's father | age | 74",
    "I've been in Canada eleven years now": "Kim | home | Canada",
    "my bday is 21/09": "Kim | birthday | 21/09",
    "My favorite color is teal": "Kim | favourite colour | teal",
    # what people do and have
    "I go to the Tuesday choir": "Kim | member | choir",
    "I became a member of the RSPB": "Kim | member | RSPB",
    "we own a flat in Turin": "Kim | owns | flat",
    "I've just been told I have high blood pressure": "Kim | health | high blood pressure",
    "I use an inhaler": "Kim | takes | inhaler",
    "I joined the Ramblers last spring": "Kim | member | Ramblers",
    "I grew up bilingual, Greek and English": "Kim | language | Greek; Kim | language | English",
    "We have a little cottage in Donegal": "Kim | owns | cottage",
    "I run a nail bar": "Kim | owns | nail bar",
    "I've got an underactive thyroid": "Kim | health | underactive thyroid",
    # homes and origins, as they are mentioned in passing
    "just got the keys to a place in Hove!!": "Kim | home | Hove",
    "living out of boxes in Sheffield at the minute": "Kim | home | Sheffield",
    "sharing a flat in Salford with two nurses": "Kim | home | Salford",
    "Our house is in Harrogate": "Kim | home | Harrogate",
    "I'm Lagos based": "Kim | home | Lagos",
    "Valencia's been home for three years": "Kim | home | Valencia",
    "born and raised in Ohio, now out in Denver": "Kim | origin | Ohio; Kim | home | Denver",
    "mum's still in Wigan": "Kim's mother | home | Wigan",
    "I lived in Hull since 2012": "Kim | home | Hull",
    "I'm a Leeds lad": "Kim | origin | Leeds",
    "grew up in a tiny village near Sligo": "Kim | origin | Sligo",
    "my native place is Coimbatore": "Kim | origin | Coimbatore",
    # illnesses, medicines, diets
    "my thyroid's gone, one tablet every morning": "Kim | health | thyroid",
    "two discs gone in my back": "Kim | health | discs gone",
    "turns out it's sleep apnea": "Kim | health | sleep apnea",
    "RSI, had it since 2019": "Kim | health | RSI",
    "doctor says I'm type two now": "Kim | health | type two",
    "They've diagnosed my dad with Parkinson's": "Kim's father | health | Parkinson's",
    "being diabetic I have to watch it": "Kim | health | diabetic",
    "I've struggled with depression since my teens": "Kim | health | depression",
    "my gp upped my sertraline to 100mg": "Kim | takes | sertraline",
    "As a vegan, I find that hard": "Kim | diet | vegan",
    "haven't touched meat in ten years": "Kim | diet | no meat",
    # clubs, belongings, hobbies, languages
    "play five-a-side for the Red Lion": "Kim | plays | five-a-side; Kim | member | Red Lion",
    "I'm training the under tens at the Gaelic club": "Kim | member | Gaelic club",
    "my darts team's in the semis": "Kim | member | darts team",
    "inherited my gran's piano": "Kim | owns | piano",
    "my husband bought me a telescope": "Kim | owns | telescope",
    "my guitar's a 1974 Telecaster": "Kim | owns | Telecaster",
    "started bouldering in january, hooked": "Kim | hobby | bouldering",
    "photography's my main hobby these days": "Kim | hobby | photography",
    "I have cello lessons on wednesdays": "Kim | plays | cello",
    "Cantonese is my first language": "Kim | language | Cantonese",
    "I know Hindi and Marathi": "Kim | language | Hindi; Kim | language | Marathi",
    # work, studies and places in run-on talk
    "I have news I got a job at LUTH I start on Monday": "Kim | employer | LUTH",
    "I have part time job now! Barista at a small cafe on Lygon Street.": "Kim | occupation | Barista",
    "I do reception at a dental practice": "Kim | employer | dental practice; Kim | occupation | reception",
    "I moved to the backend team at Moniepoint in January": "Kim | employer | Moniepoint",
    "I still teach three days a week at Marlowe College": "Kim | employer | Marlowe College",
    "From Monday I work for Leeds city council": "Kim | employer | Leeds city council",
    "been driving artics for Stobart 12 yrs now": "Kim | employer | Stobart",
    "Head chef at Luna for six years, made redundant in May": "- Kim | employer | Luna; - Kim | occupation | Head chef",
    "I'm the driver for Acme": "Kim | employer | Acme; Kim | occupation | driver",
    "I'm a nurse, cook and mother": "Kim | occupation | nurse",
    "i do physics i cant help you with the tudors": "Kim | field | physics",
    "I'm doing master of architecture at RMIT for two years": "Kim | field | architecture; Kim | school | RMIT",
    "32 years in Local 537 and I never heard a stupider hour of talk": "Kim | member | Local 537",
    "My mama has been in Savannah all her life": "Kim's mother | home | Savannah",
    "My sister Kavita is in Pune from last 8 years": "Kim | sister | Kavita; Kavita | home | Pune",
    "My senior brother Yaw manages the shop": "Kim | brother | Yaw",
    "Mam's birthday is on the 3rd of June": "Kim's mother | birthday | 3rd of June",
    "Martin. He's a surveyor.": "Martin | occupation | surveyor",
    "Met a guy named Sully, plumber, hates everybody": "Sully | occupation | plumber",
    "I speak German, three years of it at school": "Kim | language | German",
    # health and food
    "the doctor put me on a new blood pressure pill lisinopril": "Kim | takes | lisinopril",
    "now I can see you I got the macular degeneration you know": "Kim | health | macular degeneration",
    "Been to hospital for results. It's COPD, same as half the lads.": "Kim | health | COPD",
    "lactose intolerant by the way": "Kim | health | lactose intolerant",
    "I don't eat meat from many years": "Kim | diet | no meat",
    "We are pure veg family": "Kim | diet | pure veg",
}

UNSTATED = [
    "If I got a job at Tesco I'd be happy",
    "She was so proud the day I got a job at Boots",
    "Last time I got a job at Nando's I lasted a week",
    "I have a job interview. Barista at a small cafe was rude",
    "I moved to the away team at Wembley",
    "been driving the car for years",
    "I do admin at home all day",
    "I do history so much",
    "today I do maths first, then art",
    "32 years in bed with this back",
    "I'm in London with the union reps",
    "when I got arthritis tests back",
    "she put me on a horse called Rosie",
    "We moved to my gran's in a hurry",
    "A film about a guy called Rocky, boxer",
    "Guy called Kev, legend",
    "Poor old England lost again",
    "we ended it with Bohemian Rhapsody",
    "I ended things with a bang",
    "I'm only the messenger",
    "I bring pierogi, I'm only the driver",
    "I'm just the cook here",
    "I'm nurse, cook and bottle washer till May",
    "I'm literally 5 years old",
    "So now I speak Welsh fluently (one word)",
    "I know Polish (a few words)",
    "Whoever is learning the trumpet, it is coming on nicely",
    "Antwerp. He's from Glasgow, that's not mumbling",
    "She left Jaipur, she works in a bank",
    "callback monday for the soap!! it's a nurse called Tash, single mum. from now on I'm Tash from Bootle",
    # jokes, and words that are no name
    "I'm Cinderella, apparently, home by ten",
    "I'm Bond, James Bond",
    "Call me Ishmaela if you must, but listen",
    "Call me later",
    "They call me Boss",
    "I go by train",
    "Editor's letter came. Name's Tobias Fenn. Nice.",
    "my car is a rumour",
    "I'm basically a taxi driver for my kids",
    "I've a dog in this fight",
    # others
    "Stuart's eldest. Studies marine biology.",
    "I applied in Bristol. Senior radiographer, it's a training post",
    "There's a room at my church lady's, Sister Bridget, 850 a month",
    "my old boss lives in Spain now",
    "I have a family photo of my girls, Jade and Shaz, on a hen night",
    "Their kids are Tom and Ella",
    "My kids are Catholic school pupils",
    "A dog called Rex bit me",
    "our son was born on Tuesday",
    "I'm at uni in Groningen",
    # numbers that are no ages
    "Riser is 14,000 in total",
    "Ours is 9.2 per cent",
    "new trainers, but I'm 44 and these are 43",
    "I'm sixty next month",
    # the past, and the moment
    "My ex lived in Boston",
    "We lived in Dubai for a year before this",
    "I work in silence",
    "I work in the mornings",
    "I'm in it for the money",
    "I'm catholic about music",
    "My parents live in the past",
    "I can't eat spicy food today",
    "I don't eat meat on Fridays",
    "I graduated with honours",
    "According to the test I'm an architect",
    "Joined LinkedIn, regret everything",
    "Writing from Perth, it's hot",
    # visits, jokes, other things by the same words
    "this week I stay in London, in a hotel",
    "living in London is expensive",
    "Our house is in chaos",
    "my place is in the kitchen",
    "I'm a Netflix girl",
    "I'm evidence-based",
    "mum's still in hospital",
    "flew in from Boston this morning, now in Denver",
    "grew up on a diet of chips",
    "my hearing is on Tuesday",
    "turns out it's just a rumour",
    "I struggle with maths",
    "as a diabetic you can't have that",
    "As a vegan you have to plan",
    "my allergy test is on Monday",
    "forgot my keys again",
    "Don't touch alcohol, kids",
    "I play for keeps",
    "we go to Nando's every Sunday",
    "I train the juniors at Deloitte",
    "my wedding band is tight",
    "she left me her car for the weekend",
    "I inherited my mum's nose",
    "I started crying",
    "I spend my evenings crying",
    "I'm learning to play it cool",
    "I know Polish people",
    "Welsh speaker wanted",
]

# A question by the bot, an answer by Kim, and what it states.
ANSWERED = [
    ("What's your name?", "Tobi", "Kim | name | Tobi"),
    ("What should I call you?", "Annie", "Kim | name | Annie"),
    ("Do you have any allergies?", "peanuts", "Kim | allergy | peanuts"),
    ("When is your birthday?", "May 3rd", "Kim | birthday | May 3rd"),
    ("What's your favourite colour?", "green", "Kim | favourite colour | green"),
    ("Are you vegetarian?", "vegan actually", "Kim | diet | vegan"),
    ("Are you married?", "yes, to Tom", "Kim | partner | Tom"),
    ("What are you studying?", "economics", "Kim | field | economics"),
    ("Which languages do you speak?", "English and Polish", "Kim | language | English; Kim | language | Polish"),
    ("What do you do for fun?", "climbing", "Kim | hobby | climbing"),
    ("What instrument do you play?", "the viola", "Kim | plays | viola"),
    ("Any pets?", "a cat, Miso", "Kim | pet | Miso; Miso | kind | cat"),
    ("How old is your son?", "Seven", "Kim's son | age | Seven"),
    ("Where does your sister live?", "Cork", "Kim's sister | home | Cork"),
    ("What does your brother do?", "a plumber", "Kim's brother | occupation | plumber"),
    ("What's your daughter's name?", "Saoirse, she's lovely", "Kim | daughter | Saoirse"),
    (
        "Tell me about yourself!",
        "Name: Tobi\nAge: 34\nJob: nurse",
        "Kim | name | Tobi; Kim | age | 34; Kim | occupation | nurse",
    ),
]

UNANSWERED = [
    ("What's your name?", "guess"),
    ("What's your name?", "none of your business"),
    ("What should I call you?", "whatever you want"),
    ("Do you have any allergies?", "no idea"),
    ("Any allergies?", "none"),
    ("What's your favourite colour?", "depends"),
    ("When is your birthday?", "already passed"),
    ("Where are you from?", "around"),
    ("What are you studying?", "nothing"),
    ("Are you married?", "no"),
    ("What would you name a dog?", "Biscuit"),
    ("What's Tom's favourite colour?", "green"),
    ("What languages do they speak in Belgium?", "French and Dutch"),
    ("Tell me about her!", "Name: Elena\nAge: 25"),
]

PROFILES = {
    "About me:\nName: Tobi\nAge: 34\nJob: nurse\nFrom: Kiel": (
        "Kim | name | Tobi; Kim | age | 34; Kim | occupation | nurse; Kim | origin | Kiel"
    ),
    "Here's my info\n- Name: Ana Lopez\n- Location: Porto\n- Allergies: nuts, shellfish\n- Pets: a cat called Miso": (
        "Kim | name | Ana Lopez; Kim | home | Porto; Kim | allergy | nuts; Kim | allergy | shellfish; "
        "Kim | pet | Miso; Miso | kind | cat"
    ),
}

OTHER_LISTS = [
    "Name: Elena\nAge: 25\nJob: barista\nPersonality: shy",
    "Name: Elena\nAge: 25\nJob: barista",
    "My friend:\nName: Elena\nAge: 25",
    "Write a scene.\nAbout me:\nName: Tobi\nAge: 34\nHe is tall",
    "About me: I like cats\nAna: hello\nBen: I live in Rome",
]


def read(*texts: str, asked: str = "") -> set[str]:
    """Read what lines of Kim's state, perhaps in answer to a question by the bot."""
    at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    lines = [Line(seq, "s", "user", "Kim", text, at, key=str(seq)) for seq, text in enumerate(texts, 2)]
    question = [Line(1, "s", "assistant", "Bot", asked, at, key="1")] if asked else []
    found = read_statements([*question, *lines])
    return {f"{'- ' if each.ends else ''}{each.subject} | {each.attribute} | {each.value}" for each in found}


@pytest.mark.parametrize(("text", "stated"), STATED.items())
def test_a_line_states_what_people_mean_by_it(text: str, stated: str) -> None:
    assert read(text) == set(stated.split("; "))


@pytest.mark.parametrize("text", UNSTATED)
def test_what_only_sounds_like_a_fact_states_nothing(text: str) -> None:
    assert read(text) == set()


@pytest.mark.parametrize(("question", "answer", "stated"), ANSWERED)
def test_an_answer_states_what_was_asked(question: str, answer: str, stated: str) -> None:
    assert read(answer, asked=question) == set(stated.split("; "))


@pytest.mark.parametrize(("question", "answer"), UNANSWERED)
def test_an_answer_that_gives_nothing_states_nothing(question: str, answer: str) -> None:
    assert read(answer, asked=question) == set()


@pytest.mark.parametrize(("text", "stated"), PROFILES.items())
def test_a_list_about_oneself_is_read(text: str, stated: str) -> None:
    assert read(text) == set(stated.split("; "))


@pytest.mark.parametrize("text", OTHER_LISTS)
def test_a_list_about_another_states_nothing(text: str) -> None:
    assert read(text) == set()


def test_an_age_does_not_begin_in_a_month_that_the_sentence_names_for_something_else() -> None:
    at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    (age,) = read_statements([Line(1, "s", "user", "Kim", "Cerys is seventeen and has exams in June", at, key="1")])
    assert (age.subject, age.value, age.moment) == ("Cerys", "seventeen", None)
