"""Tests of the rules on English talk: sentences with the facts that they state, and sentences that state none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.attributes import RELATIONS, is_known
from everthread.facts.rules import MAX_CHARS, read_statements
from everthread.facts.types import Statement
from everthread.types import Line, Role

SAID_AT = datetime(2024, 7, 14, 18, 30, tzinfo=UTC)  # a Sunday

# A line by Nora, and what it states: "subject | attribute | value | moment"; what has ended begins with "-".
STATED = {
    # people that a sentence mentions first, and what it goes on to say of them
    "Ravi is in fifth grade at Oakfield and he has asthma": "Ravi | health | asthma",
    "My aunt Ida is fine, but somebody has to cook, and she's hopeless, she takes warfarin": (
        "Nora | aunt | Ida; Ida | takes | warfarin"
    ),
    "My uncle in Turku, who's a plumber, is coming": "Nora's uncle | occupation | plumber",
    "We could stay at Tomi's, he lives in Delft": "Tomi | home | Delft",
    "My brother is well. The bread is in the oven. He's allergic to nuts": "Nora's brother | allergy | nuts",
    "There's Brutus, he's a hundred pound mastiff": "Brutus | breed | mastiff",
    "I've got a lodger. His name is Pascal and he's a carpenter, he is twenty-six": (
        "Pascal | occupation | carpenter; Pascal | age | twenty-six"
    ),
    "There's a physio called Tama who's teaching me and he's married": (
        "Tama | occupation | physio; Tama | status | married"
    ),
    "Jada my oldest is vegan": "Jada | diet | vegan",
    "My sister got engaged, finally, to this guy Paul who plays the banjo": (
        "Nora's sister | partner | Paul; Nora's sister | status | engaged; Paul | plays | banjo"
    ),
    "If I won I'd move, my sister says I'd be bored, she's been in Lagos for eleven years": (
        "Nora's sister | home | Lagos | 2013"
    ),
    "Did I tell you that I've gone veggie?": "Nora | diet | veggie",
    "The good news is I've joined a rambling group": "Nora | member | rambling group",
    # jobs in passing, and fragments
    "My aunt Ida, a glazier, is visiting.": "Nora | aunt | Ida; Ida | occupation | glazier",
    "I'm the caretaker at Oakfield Lodge.": "Nora | occupation | caretaker; Nora | employer | Oakfield Lodge",
    "I'm a nurse on a surgical ward at Northgate General": (
        "Nora | occupation | nurse; Nora | employer | Northgate General"
    ),
    "I work nights as a lock keeper": "Nora | occupation | lock keeper",
    "I'm a thatcher by trade": "Nora | occupation | thatcher",
    "Junior surveyor at Hollis Bros, starting small": (
        "Nora | occupation | Junior surveyor; Nora | employer | Hollis Bros"
    ),
    "I live in Turku and work as a dog groomer": "Nora | home | Turku; Nora | occupation | dog groomer",
    "I drive for Halden Freight": "Nora | employer | Halden Freight",
    "Left my old job. I'm with Halden Freight now": "Nora | employer | Halden Freight",
    "I work in accounts at a brewery": "Nora | employer | brewery",
    # where from, as a list
    "originally from Tallinn": "Nora | origin | Tallinn",
    "I'm a weaver, 52": "Nora | occupation | weaver; Nora | age | 52",
    "Our lodger Casper lives in Delft": "Casper | home | Delft",
    "My brother's wife Ylva is a potter": "Nora's brother | partner | Ylva; Ylva | occupation | potter",
    "She lives in Hull, where my aunt Ida works": "Nora | aunt | Ida",
    "A friend of mine, Sunita, is vegan": "Nora | friend | Sunita; Sunita | diet | vegan",
    "I've worked for First Bus for ten years": "Nora | employer | First Bus | 2014",
    "My wife's a nurse. Her name's Ada": "Ada | occupation | nurse; Nora | partner | Ada",
    # schools and fields
    "I'm a botany student": "Nora | field | botany",
    "I'm at Ashdown uni studying geology": "Nora | school | Ashdown uni; Nora | field | geology",
    # pets
    "The cat's called Olive": "Nora | pet | Olive; Olive | kind | cat",
    "Olive (the cat) is asleep": "Nora | pet | Olive; Olive | kind | cat",
    "I live with two other girls, Ana and Bea": "Nora | flatmate | Ana; Nora | flatmate | Bea",
    "She says my pressure is up so now I'm on lisinopril": "Nora | takes | lisinopril",
    "My mum would be too, she's been vegetarian since the 70s": "Nora's mother | diet | vegetarian",
    "I was brought up in Splott if that means anything to you": "Nora | origin | Splott",
    "nah broke up with Jess in november": "-Nora | partner | Jess | 2023-11",
    "Recently moved to Leeds": "Nora | home | Leeds",
    "Turns out I've got type 2 diabetes so no more doughnuts": "Nora | health | type 2 diabetes",
    "My wife lives in Porto, speaks Welsh": "Nora's wife | home | Porto; Nora's wife | language | Welsh",
    "life update nobody asked for: moved back in w my parents in Toledo": "Nora | home | Toledo",
    "i stack shelves at kroger i can't cry in the cereal": "Nora | employer | kroger",
    "alergic to shrimp btw, so no paella": "Nora | allergy | shrimp",
    "Allergic to bad vibes": "",
    "My dog threw up again. Allergic to chicken.": "Nora's dog | allergy | chicken",
    "Poor Mia. Allergic to strawberries!": "",
    "I became allergic to shrimp here": "Nora | allergy | shrimp",
    "Our son Callum, Isla's father, works for Acme": "Nora | son | Callum; Callum | employer | Acme",
    "My tatay has diabetes now": "Nora's father | health | diabetes",
    "mums in Toowoomba. shes got asthma so she cant come": "Nora's mother | health | asthma",
    "Started at Confused.com on Monday, better coffee": "Nora | employer | Confused.com",
    "a girl called Priyanka is nice, shes a pilot": "Priyanka | occupation | pilot",
    "My Stephen's a copper": "Stephen | occupation | copper",
    "My sister is a lawyer in Charlotte if you need someone mean": "Nora's sister | occupation | lawyer",
    "so I'm picking up shifts at Harris Teeter": "Nora | employer | Harris Teeter",
    "I'm a blow-in from Athlone": "Nora | origin | Athlone",
    "Mia has joined the Ballina Stephenites": "Mia | member | Ballina Stephenites",
    "switched my major from kinesiology to accounting": "Nora | field | accounting",
    "I'm with a physio called Anneke, she's from Bloem, she's 52": (
        "Anneke | occupation | physio; Anneke | origin | Bloem; Anneke | age | 52"
    ),
    "We live with two parrots, Ping and Pong": (
        "Nora | pet | Ping; Ping | kind | parrot; Nora | pet | Pong; Pong | kind | parrot"
    ),
    # health
    "The doctor has me on ramipril": "Nora | takes | ramipril",
    "I switched from warfarin to aspirin": "Nora | takes | aspirin; -Nora | takes | warfarin",
    # clubs and things
    "I sing in a choir called Low Tide": "Nora | member | Low Tide",
    "I drive a Lada": "Nora | owns | Lada",
    # what precedes a question
    "I'm vegan, what can I bake?": "Nora | diet | vegan",
    "I'm allergic to sesame so could you suggest a dip?": "Nora | allergy | sesame",
    # where people live and come from
    "I live in Ghent.": "Nora | home | Ghent",
    "We've been living in Trondheim for three years.": "Nora | home | Trondheim | 2021",
    "i live in ghent": "Nora | home | ghent",
    "I moved to Leuven last month.": "Nora | home | Leuven | 2024-06",
    "We've just moved to New Plymouth!": "Nora | home | New Plymouth",
    "Moved to Tartu in 2022, never looked back.": "Nora | home | Tartu | 2022",
    "I'm based in San Diego these days.": "Nora | home | San Diego",
    "I live in a tiny flat in Glasgow.": "Nora | home | Glasgow",
    "I'm from Peru.": "Nora | origin | Peru",
    "I grew up in Aberdeen, near the harbour.": "Nora | origin | Aberdeen",
    "I was born in Cluj": "Nora | origin | Cluj",
    "I used to live in Malaga.": "-Nora | home | Malaga",
    # work and school
    "I'm a plumber.": "Nora | occupation | plumber",
    "im a midwife": "Nora | occupation | midwife",
    "I’ve been a bus driver since 2011.": "Nora | occupation | bus driver | 2011",
    "I've been a vet for ten years": "Nora | occupation | vet | 2014",
    "I work as a translator": "Nora | occupation | translator",
    "I'm a paramedic at Royal Infirmary.": "Nora | occupation | paramedic; Nora | employer | Royal Infirmary",
    "Honestly, I'm a music teacher, not a singer": "Nora | occupation | music teacher",
    "I became a foster carer in March.": "Nora | occupation | foster carer | 2024-03",
    "I work at Northwind.": "Nora | employer | Northwind",
    "I work for the Port Authority": "Nora | employer | Port Authority",
    "Got a new job at Umbra Systems!": "Nora | employer | Umbra Systems",
    "I work at a bakery": "Nora | employer | bakery",
    "I quit my job at Northwind yesterday.": "-Nora | employer | Northwind | 2024-07-13",
    "I no longer work at Northwind any more": "-Nora | employer | Northwind",
    "I was a baker for nine years.": "-Nora | occupation | baker",
    "I'm studying botany at Uppsala University.": "Nora | field | botany; Nora | school | Uppsala University",
    "I go to Hillside School": "Nora | school | Hillside School",
    # names and ages
    "My name is Nora Delacroix.": "Nora | name | Nora Delacroix",
    "I'm 34 years old.": "Nora | age | 34",
    "I'm 34.": "Nora | age | 34",
    "i just turned 50": "Nora | age | 50",
    "I work at Zeit für Brot.": "Nora | employer | Zeit für Brot",
    "I live in Frankfurt am Main.": "Nora | home | Frankfurt am Main",
    "My birthday is on 3 May": "Nora | birthday | 3 May",
    "My birthday is 12 April 1990": "Nora | birthday | 12 April 1990",
    "I was born on April 12, 1990.": "Nora | birthday | April 12, 1990",
    "My birthday's the 21st of October.": "Nora | birthday | 21st of October",
    # relatives and friends
    "My sister Ines lives in Bergen.": "Nora | sister | Ines; Ines | home | Bergen",
    "my brother Tom, who's a plumber in Cork, is visiting": "Nora | brother | Tom; Tom | occupation | plumber",
    "Tom, my brother, plays the banjo.": "Nora | brother | Tom; Tom | plays | banjo",
    "My husband's name is Olu.": "Nora | partner | Olu",
    "I'm married to Sanne.": "Nora | status | married; Nora | partner | Sanne",
    "I have a daughter called Wren": "Nora | daughter | Wren",
    "We have two sons, Jonas and Emil.": "Nora | son | Jonas; Nora | son | Emil",
    "My wife Anna and I moved to Bath last year.": "Nora | partner | Anna; Nora | home | Bath | 2023",
    "My boss Renate is on leave.": "Nora | boss | Renate",
    "I went climbing with my friend Kofi.": "Nora | friend | Kofi",
    "My flatmate Luis speaks Catalan.": "Nora | flatmate | Luis; Luis | language | Catalan",
    "My neighbour Mr Osei is a judge.": "Nora | neighbour | Mr Osei; Mr Osei | occupation | judge",
    "My sister is a vet. She lives in Leeds.": "Nora's sister | occupation | vet; Nora's sister | home | Leeds",
    "I have a brother who lives in Quito.": "Nora's brother | home | Quito",
    "My nephew Ben is 6.": "Nora | nephew | Ben; Ben | age | 6",
    # relatives by marriage, of step families, and godparents
    "My mother-in-law Rosa lives in Porto.": "Nora | mother-in-law | Rosa; Rosa | home | Porto",
    "my brother in law is a plumber": "Nora's brother-in-law | occupation | plumber",
    "my mother in laws name is Rosa": "Nora | mother-in-law | Rosa",
    "my MIL is a nurse and my FIL is a baker": (
        "Nora's mother-in-law | occupation | nurse; Nora's father-in-law | occupation | baker"
    ),
    "Rosa, my sister-in-law, plays the banjo": "Nora | sister-in-law | Rosa; Rosa | plays | banjo",
    "My sons-in-law are Tom and Bob": "Nora | son-in-law | Tom; Nora | son-in-law | Bob",
    "My daughter-in-law's name is Ella, she's a vet": "Nora | daughter-in-law | Ella; Ella | occupation | vet",
    "My in-laws live in Hull": "Nora's mother-in-law | home | Hull; Nora's father-in-law | home | Hull",
    "my stepmum Carol": "Nora | stepmother | Carol",
    "My step-dad is a vet, my dad is a baker": (
        "Nora's stepfather | occupation | vet; Nora's father | occupation | baker"
    ),
    "my step sister Ann is 9": "Nora | stepsister | Ann; Ann | age | 9",
    "I have a stepbrother who lives in Quito": "Nora's stepbrother | home | Quito",
    "My half-brother Tom lives in Hull": "Nora | brother | Tom; Tom | home | Hull",
    "We have two stepsons, Jonas and Emil": "Nora | stepson | Jonas; Nora | stepson | Emil",
    "Ella is my stepdaughter": "Nora | stepdaughter | Ella",
    "My godmother is called Ida and my godfather is from Cork": (
        "Nora | godmother | Ida; Nora's godfather | origin | Cork"
    ),
    "I have a godson called Wren": "Nora | godson | Wren",
    "My goddaughter Mia is 7": "Nora | goddaughter | Mia; Mia | age | 7",
    "Tom's mother-in-law Rosa sings": "Tom | mother-in-law | Rosa",
    "My mother-in-law's sister Ann is a vet": "Nora's mother-in-law | sister | Ann; Ann | occupation | vet",
    "I met my mother in law. She lives in Hull": "Nora's mother-in-law | home | Hull",
    "My sister's mother-in-law Rosa lives in Porto": "Rosa | home | Porto",
    "My future mother-in-law Rosa is a nurse": "Rosa | occupation | nurse",
    "I saw my ex husband yesterday. He lives in Hull": "Nora's ex | home | Hull",
    "Rosa is my ex": "Nora | ex | Rosa",
    "My daughter Elsie, 9, adores trains.": "Nora | daughter | Elsie; Elsie | age | 9; Elsie | likes | trains",
    "Mum's a retired nurse.": "Nora's mother | status | retired",
    "My grandmother is from Kerala.": "Nora's grandmother | origin | Kerala",
    "Aunt Rosa has moved to Faro.": "Nora | aunt | Rosa; Rosa | home | Faro",
    "I have a sister, Mia, she's a barrister.": "Nora | sister | Mia; Mia | occupation | barrister",
    "I broke up with Marek.": "-Nora | partner | Marek",
    "We got divorced in 2019.": "-Nora | partner |  | 2019; Nora | status | divorced | 2019",
    "I have two kids, Tom and Ella.": "Nora | child | Tom; Nora | child | Ella",
    "My kids' names are Tom and Ella.": "Nora | child | Tom; Nora | child | Ella",
    "my kids are called tom and ella": "Nora | child | tom; Nora | child | ella",
    "My kids are German and French.": "",
    "my kids are happy and healthy": "",
    "My kids are Vegan": "",
    "my kids are called brats": "",
    "My kid sister Ann is a nurse.": "Ann | occupation | nurse",
    "My kid is 5. My kid is 8.": "",
    "Children: Loveday and John.": "",
    "I teach twenty kids, Tom and Ella are the loudest.": "",
    # pets and things
    "We have two cats, Miso and Ramen.": (
        "Nora | pet | Miso; Miso | kind | cat; Nora | pet | Ramen; Ramen | kind | cat"
    ),
    "ive got 2 dogs": "Nora | pet | dogs",
    "I have a dog. Her name is Juno.": "Nora | pet | Juno; Juno | kind | dog",
    "We adopted a beagle called Pip in April": "Nora | pet | Pip; Pip | breed | beagle",
    "My cat Olive died last year.": "Olive | kind | cat; Olive | status | dead | 2023; -Nora | pet | Olive | 2023",
    "the cat died": "",
    "Our dog died yesterday.": "Nora's dog | status | dead | 2024-07-13; -Nora | pet | dog | 2024-07-13",
    "I bought a motorbike last week.": "Nora | owns | motorbike | 2024-07",
    "I drive an old Volvo": "Nora | owns | Volvo",
    "Sold the van.": "-Nora | owns | van",
    "we finally sold our boat": "-Nora | owns | boat",
    "My bike got stolen": "-Nora | owns | bike",
    # food and health
    "I'm vegan.": "Nora | diet | vegan",
    "I went vegetarian two years ago.": "Nora | diet | vegetarian",
    "I don't eat pork.": "Nora | diet | no pork",
    "I'm no longer vegan": "-Nora | diet | vegan",
    "I'm allergic to nuts and shellfish.": "Nora | allergy | nuts; Nora | allergy | shellfish",
    "My son has a peanut allergy": "Nora's son | allergy | peanut",
    "I have asthma.": "Nora | health | asthma",
    "I was diagnosed with type 2 diabetes in May.": "Nora | health | type 2 diabetes | 2024-05",
    "I suffer from migraines": "Nora | health | migraines",
    "I'm on metformin and ramipril.": "Nora | takes | metformin; Nora | takes | ramipril",
    "I stopped taking sertraline in June": "-Nora | takes | sertraline | 2024-06",
    # tastes
    "I love jazz.": "Nora | likes | jazz",
    "I really enjoy hiking and pottery.": "Nora | likes | hiking; Nora | likes | pottery",
    "I'm a big fan of the Beatles.": "Nora | likes | the Beatles",
    "I hate olives!": "Nora | dislikes | olives",
    "I don't like horror films.": "Nora | dislikes | horror films",
    "I can't stand coriander": "Nora | dislikes | coriander",
    "My favourite colour is green.": "Nora | favourite colour | green",
    "My favorite band is Low, by the way": "Nora | favourite band | Low",
    # what people speak, play and do
    "I speak Portuguese, Hindi and a little German.": (
        "Nora | language | Portuguese; Nora | language | Hindi; Nora | language | German"
    ),
    "I'm fluent in Welsh": "Nora | language | Welsh",
    "I play the cello and work as a nurse.": "Nora | plays | cello; Nora | occupation | nurse",
    "I've been playing chess since 2018.": "Nora | plays | chess | 2018",
    "I stopped playing rugby.": "-Nora | plays | rugby",
    "I've taken up pottery": "Nora | hobby | pottery",
    "I sing in a choir.": "Nora | member | choir",
    "I joined the rowing club in February.": "Nora | member | rowing club | 2024-02",
    # status
    "I'm single.": "Nora | status | single",
    "We got married in 2015.": "Nora | status | married | 2015",
    "I retired last year": "Nora | status | retired | 2023",
    # several things at once
    "I live in Leeds and my brother Sam works at Northwind": (
        "Nora | home | Leeds; Nora | brother | Sam; Sam | employer | Northwind"
    ),
    "Do you cook? I do, I'm a chef.": "Nora | occupation | chef",
}

UNSTATED = [
    "I'm at Northwind now, do you need milk?",
    "I'm with Casper now",
    "I'm a good cook",
    "I'm a model citizen",
    "I'm married to my job",
    "I broke up the fight",
    "I'm seeing Casper for lunch",
    "call me crazy",
    "I moved to the sofa",
    "If I'm vegan, what can I bake?",
    "Is Casper vegan, and what could he eat?",
    "Do you live in Rome?",
    "Should I tell them I'm a nurse?",
    "If I lived in Rome I'd eat better.",
    "I wish I lived in Rome",
    "I'm thinking of becoming vegan.",
    "I want to be a pilot",
    "I might move to Rome next year.",
    "We're going to get a dog called Rex.",
    "You're a doctor, right?",
    "You live in Rome.",
    "I don't have a dog.",
    "I'm not a nurse.",
    "I've never lived in Rome.",
    "She said: 'I live in Rome'",
    'He told me "I am a nurse".',
    "My sister says she lives in Rome.",
    "I think he works at Northwind",
    "In the novel, Anna lives in Rome.",
    "Did I tell you about my trip? Did I tell you whether she is vegan?",
    "She lives with a doctor, maybe, somewhere in Hull.",
    "If I won I'd buy a boat, I'd live in Rome and I'd have a cat.",
    "My sister met Ana at work and she's a nurse.",
    "My ex-mother-in-law Rosa lives in Porto",
    "my ex mother in law is a nurse",
    "I met my ex mother-in-law. She lives in Hull",
    "My future mother-in-law is a nurse",
    "I met my future mother-in-law. She lives in Hull",
    "Rosa is my ex mother-in-law",
    "Rosa is my ex boss",
    "My brother in law school is 24",
    "My brother in law enforcement is a cop. He lives in Hull",
    "I visited my son in law school. He lives in Hull",
    "The mother-in-law is a nurse",
    "It was a mother-in-law joke",
    "I'm a mother in law now",
    "I love my Godfather box set",
    "I told my sister about the plumber, who's divorced.",
    "We went to Kent, she's a nurse there.",
    "I started German lessons because I'm bored.",
    "I dreamt that I was a pilot. In my dream I live in Rome.",
    "Imagine I'm a nurse.",
    "Let's pretend I'm a doctor and you are ill.",
    "I'm the Queen of England. Just kidding!",
    "I'm in Rome this weekend.",
    "I'm tired.",
    "I'm a mess today",
    "I'm a bit hungry",
    "I'm 10 minutes away.",
    "I'm 100% sure",
    "I love you!",
    "I love this song.",
    "I like your dress",
    "I'd like a coffee.",
    "Looks like rain",
    "Maybe I'm allergic to cats.",
    "When I lived in Rome I was happy.",
    "People who live in Rome are lucky.",
    "I could be a nurse.",
    "He lives in Rome.",
    "Tom and my sister met. She and he are nurses.",
    "I play with my kids.",
    "I got a call from work.",
    "I work from home",
    "Probably moved to Leeds",
    "Dan's here for a bit, hes 2 weeks on 1 week off",
    "Our Father is a prayer.",
    "I like playing",
    "I'm a long way from Leeds",
    "Heloooo from Toronto!",
    "I'm with my boys, act like I'm 12",
    "I have a headache and a deadline.",
    "> I live in Rome",
    "I bought a coffee and a newspaper.",
    "My sister",
    "*pulls out a sword* I am a blacksmith",
    "",
]


def line(text: str, seq: int = 1, speaker: str = "Nora", role: Role = "user") -> Line:
    """Return a line of the one session."""
    return Line(seq, "s", role, speaker, text, SAID_AT)


def read(*texts: str) -> list[Statement]:
    """Return what Nora states in consecutive lines."""
    return read_statements([line(text, seq) for seq, text in enumerate(texts, 1)])


def show(statement: Statement) -> str:
    """Return a statement as the table writes it."""
    fields = [statement.subject, statement.attribute, statement.value, statement.moment]
    return ("-" if statement.ends else "") + " | ".join(each for each in fields if each is not None)


@pytest.mark.parametrize(("text", "expected"), STATED.items())
def test_a_line_states_what_its_words_say(text: str, expected: str) -> None:
    assert sorted(map(show, read(text))) == sorted(each for each in expected.split("; ") if each)


@pytest.mark.parametrize("text", UNSTATED)
def test_a_line_without_facts_states_nothing(text: str) -> None:
    assert list(map(show, read(text))) == []


@pytest.mark.parametrize(
    "frame", ["Do you think {}?", "If {}, then what?", "She said: '{}'", 'He wrote "{}"', "I wish {}", "Imagine {}"]
)
def test_a_frame_takes_the_facts_of_a_sentence_away(frame: str) -> None:
    for text in STATED:
        if ". " not in text and "!" not in text and "?" not in text:
            found = read(frame.format(text.rstrip(".")))
            assert [show(each) for each in found if each.attribute not in RELATIONS | {"kind"}] == []


@pytest.mark.parametrize("text", ["Should I tell my sister Mia?", "If my sister Mia comes, we dance"])
def test_a_question_and_a_condition_say_who_a_relative_is(text: str) -> None:
    assert list(map(show, read(text))) == ["Nora | sister | Mia"]


def test_a_question_and_a_condition_say_who_has_an_illness_for_good() -> None:
    for text in ("What helps with my dad's asthma?", "We'd move if my dad's asthma got worse."):
        assert [show(each) for each in read(text)] == ["Nora's father | health | asthma"]


@pytest.mark.parametrize("text", ["She said: 'my sister Mia sings'", "Imagine my sister Mia as a pirate"])
def test_a_quote_and_a_story_do_not_say_who_a_relative_is(text: str) -> None:
    assert read(text) == []


def test_values_are_words_of_the_line_and_attributes_are_known() -> None:
    for text in STATED:
        for statement in read(text):
            said = statement.value.removeprefix("no ").lower()
            assert said in text.lower() or said == "dead"  # which lines say in many ways
            assert is_known(statement.attribute)
            assert 0.7 <= statement.confidence <= 1


def test_a_vegetarian_who_is_not_veggie_any_more_has_no_diet_now() -> None:
    assert "diet | " in [
        f"{each.attribute} | {each.value}" for each in read("I'm vegetarian.", "I'm not veggie any more.")
    ]


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("I'm off metformin.", "Nora | takes | metformin"),
        ("I'm not on metformin anymore.", "Nora | takes | metformin"),
        ("I'm no longer on metformin.", "Nora | takes | metformin"),
        ("I'm not pregnant any more.", "Nora | status | pregnant"),
    ],
)
def test_a_line_says_what_has_ended(text: str, ended: str) -> None:
    assert [f"{each.subject} | {each.attribute} | {each.value}" for each in read(text) if each.ends] == [ended]


@pytest.mark.parametrize("text", ["I'm off sugar.", "I'm off work.", "I'm not on holiday."])
def test_what_is_no_medicine_is_not_ended(text: str) -> None:
    assert read(text) == []


def test_a_short_line_taken_for_an_unread_language_is_read_in_that_of_the_lines_before_it() -> None:
    assert [show(each) for each in read("Mia's dog is called Rex.")] == ["Mia | pet | Rex", "Rex | kind | dog"]


def test_a_line_taken_for_another_language_is_read_in_that_of_the_lines_before_it() -> None:
    assert [show(each) for each in read("im 20 im in the army")] == ["Nora | age | 20", "Nora | employer | army"]


def test_where_someone_else_is_now_says_nothing_about_the_speaker() -> None:
    assert read("She's living in York now.") == []


def test_who_died_laughing_still_lives_somewhere() -> None:
    assert [each for each in read("My uncle Ted lives in Hull.", "Ted died laughing.") if each.ends] == []


def test_a_line_states_the_same_alone_as_after_others_which_it_may_end() -> None:
    texts = [text for text in STATED if "pet" not in STATED[text] and "Nora's" not in STATED[text]]
    together = read(*(text for each in texts for text in (each, "Right.", "I see.", "Well then.")))
    for position, text in enumerate(texts):
        found = [each for each in together if each.seqs == (4 * position + 1,)]
        alone = sorted(map(show, read(text)))
        assert sorted(show(each) for each in found if not each.ends or show(each) in alone) == alone


def test_only_people_state_facts() -> None:
    for role in ("assistant", "system", "tool"):
        assert read_statements([line("I live in Rome.", role=role)]) == []


def test_a_known_name_takes_the_place_of_a_relation() -> None:
    known = read("My sister Mia is here.")
    (statement,) = read_statements([line("My sister lives in Porto now.", 2)], known)
    assert show(statement) == "Mia | home | Porto"


def test_two_sisters_are_not_confused() -> None:
    known = read("My sisters Mia and Ana are here.")
    (statement,) = read_statements([line("My sister lives in Porto now.", 2)], known)
    assert show(statement) == "Nora's sister | home | Porto"


def test_a_pronoun_means_the_one_who_was_mentioned_last() -> None:
    found = read("My brother Tom called.", "He lives in Cork now.")
    assert list(map(show, found)) == ["Nora | brother | Tom", "Tom | home | Cork"]


def test_a_pronoun_means_the_one_that_another_asks_about() -> None:
    said = [line("Mum has moved in.", 1), line("Does your mother use a box?", 2, "Fern", "assistant")]
    found = read_statements([*said, line("Her name is Nuala.", 3)])
    assert "Nora | mother | Nuala" in map(show, found)


def test_a_pronoun_means_the_last_one_of_its_gender() -> None:
    found = read("My husband Conor is tired. My sister Mia laughed. He drives for Acme.")
    assert "Conor | employer | Acme" in map(show, found)


def test_a_word_that_a_line_has_in_small_letters_too_is_no_name() -> None:
    assert read("Eggs. He's allergic to eggs.") == []


def test_a_pronoun_that_could_mean_two_people_means_neither() -> None:
    found = read("My sister Mia and my mother Ana called.", "She lives in Cork now.")
    assert sorted(map(show, found)) == ["Nora | mother | Ana", "Nora | sister | Mia"]


def test_a_pronoun_does_not_mean_a_stranger() -> None:
    found = read("My sister Mia met a woman at work. She lives in Cork.")
    assert list(map(show, found)) == ["Nora | sister | Mia"]


def test_each_speaker_has_relatives_of_their_own() -> None:
    lines = [line("My sister lives in Porto."), line("My sister lives in Cork.", 2, "Ben")]
    assert list(map(show, read_statements(lines))) == ["Nora's sister | home | Porto", "Ben's sister | home | Cork"]


def test_a_statement_has_the_number_and_the_time_of_its_line() -> None:
    (statement,) = read_statements([line("Hi."), line("I live in Porto.", 2)][1:])
    assert (statement.seqs, statement.said_at, statement.writer) == ((2,), SAID_AT, "rules")


def test_a_language_without_patterns_states_nothing() -> None:
    assert read("Ik woon al jaren in een klein huis in Gent en ik ben de buurvrouw van mijn zus") == []


@pytest.mark.parametrize(
    "text",
    [
        "I live in " * 10_000,
        "my sister and " * 8_000,
        "a" * 100_000,
        "A b " * 25_000,
        "I'm allergic to nuts, " * 5_000,
        '"' * 100_000,
        "'a" * 50_000,
        "my " * 33_000,
        "I love aa aa aa, aa " * 5_000,
        " " * 100_000 + "x",
        "in Aa Aa " * 11_000,
    ],
)
def test_only_the_beginning_of_a_long_line_is_read(text: str) -> None:
    assert read(text) == read(text[:MAX_CHARS])


def test_an_answer_names_the_one_whose_name_was_asked_for() -> None:
    lines = [line("We finally got a dog!"), line("Lovely! What's his name?", 2, role="assistant"), line("Biscuit", 3)]
    shown = [show(each) for each in read_statements(lines)]
    assert shown[1:] == ["Nora | pet | Biscuit", "Biscuit | kind | dog"]


@pytest.mark.parametrize(
    ("before", "text", "ended"),
    [
        ("I have a cat called Tom.", "The cat died.", "pet | cat"),
        ("I have a cat called Tom.", "They put the cat down on Friday.", "pet | cat"),
        ("I have a cat called Tom.", "Tom's gone.", "pet | Tom"),
        ("I have a cat called Tom.", "We lost Tom yesterday.", "pet | Tom"),
        ("I own a red bike.", "I no longer have a bike.", "owns | bike"),
        ("I own a red bike.", "I don't have the bike anymore.", "owns | bike"),
        ("I'm vegetarian.", "I used to be vegetarian.", "diet | vegetarian"),
        ("I'm vegetarian.", "I eat meat again.", "diet | "),
        ("I love jazz.", "I no longer like jazz.", "likes | jazz"),
        ("I love jazz.", "I don't like jazz anymore.", "likes | jazz"),
        ("I love jazz.", "I've gone off jazz.", "likes | jazz"),
        ("I love jazz.", "I used to love jazz.", "likes | jazz"),
        ("I'm allergic to nuts.", "Turns out I'm not allergic to nuts after all.", "allergy | nuts"),
        ("I speak French.", "I've forgotten my French.", "language | French"),
        ("I live in Leeds.", "I don't live in Leeds anymore.", "home | Leeds"),
        ("I live in Leeds.", "I left Leeds.", "home | Leeds"),
        ("I work at Siemens.", "I'm retired.", "employer | "),
        ("I have asthma.", "I no longer have asthma.", "health | asthma"),
        ("My husband is called Tom.", "My husband died last year.", "partner | "),
        ("My girlfriend is called Ana.", "Ana left me.", "partner | Ana"),
        ("My girlfriend is called Ana.", "I'm single now.", "partner | "),
        ("I study at Leeds.", "I graduated!", "school | "),
        ("My uncle Ted lives in Hull.", "Ted passed away last week.", "home | "),
        ("My uncle Ted works at Siemens.", "Ted died in May.", "employer | "),
        ("I have a cat called Tom.", "Tom is no more.", "pet | Tom"),
    ],
)
def test_what_is_known_ends_when_a_line_says_so_and_what_is_unknown_does_not(
    before: str, text: str, ended: str
) -> None:
    assert ended in [f"{each.attribute} | {each.value}" for each in read(before, text) if each.ends]
    assert ended not in [f"{each.attribute} | {each.value}" for each in read("I'm a nurse.", text)]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("I have a cat called Tom.", "The neighbour's cat died."),
        ("I have a cat called Tom.", "The cat died in the film."),
        ("I have a cat called Tom.", "I lost Tom's collar."),
        ("I have a cat called Tom.", "I had to put the cat in its basket."),
        ("I have a dog called Rex.", "Rex passed his exam."),
        ("I love jazz.", "I don't like jazz any more than the next man."),
        ("I love jazz.", "I'm over the moon about jazz."),
        ("I love jazz.", "Ben used to love jazz."),
        ("I live in Leeds.", "I left Leeds at noon."),
        ("I live in Leeds.", "Did I say that I no longer live in Leeds?"),
        ("My husband is called Tom.", "I left Tom at the station."),
        ("My girlfriend is called Ana.", "My friend is single again."),
        ("My girlfriend is called Ana.", "My girlfriend passed her exam."),
        ("I study at Leeds.", "My sister graduated last week."),
    ],
)
def test_what_is_about_something_else_ends_nothing(before: str, text: str) -> None:
    assert [show(each) for each in read(before, text) if each.ends and each.subject == "Nora"] == []


def test_of_two_people_of_one_name_a_line_is_about_the_one_whose_relation_it_names() -> None:
    found = read("My sister Mia is a nurse.", "My boss Mia is a lawyer.", "My sister moved to Hull.")
    assert show(found[-1]) == "Nora's sister | home | Hull"


def test_the_name_of_a_relatives_pet_is_no_relatives() -> None:
    found = list(map(show, read("My sister's dog is called Bo.", "My sister's called Ann.")))
    assert found == ["Nora's sister | pet | Bo", "Bo | kind | dog", "Nora | sister | Ann"]


def test_a_switch_states_a_new_value_of_what_is_known_only() -> None:
    assert [show(each) for each in read("I'm a geology student", "Switched to botany")][1:] == ["Nora | field | botany"]
    assert read("Switched to botany") == []


@pytest.mark.parametrize(
    ("text", "is_event"),
    [
        ("I moved to Bonn in 2010.", True),
        ("In 2010 I moved to Bonn.", True),
        ("I've lived in Bonn since 2010.", False),
        ("I've lived in Bonn for ten years.", False),
        ("Ich wohne seit 2010 in Bonn.", False),
        ("Ich bin 2010 nach Bonn gezogen.", True),
        ("Vivo en Bonn desde 2010.", False),
        ("我从2010年起住在上海。", False),
        ("我2010年搬到上海了。", True),
    ],
)
def test_the_moment_of_an_event_x_from_one_since_when_something_holds(text: str, is_event: bool) -> None:
    line = Line(1, "s", "user", "Nora", text, datetime(2024, 5, 1, tzinfo=UTC))
    (statement,) = read_statements([line])
    assert statement.moment is not None
    assert statement.is_event == is_event
