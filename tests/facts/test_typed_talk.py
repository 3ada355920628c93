"""Tests of facts in talk as people type it: in small letters, in fragments, with names that stand alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.history import build_facts
from everthread.facts.rules import read_statements
from everthread.types import Line, Role

# Lines of one talk, in which "BOT:" begins one by a chatbot, and what the last one states; "-" marks an end.
STATED = [
    # an apostrophe that is left out
    ("my bf tom, hes from leeds", "Kim | partner | Tom; Tom | origin | Leeds"),
    ("Tom is my brother / toms a plumber", "Tom | occupation | plumber"),
    ("my son noah is 3 / noahs 4 now", "Noah | age | 4"),
    # people who are introduced
    ("theres this girl malia in my chem class. she plays cello", "Malia | plays | cello"),
    ("tavita hes a scaffolder, then noa whos 11", "Tavita | occupation | scaffolder; Noa | age | 11"),
    (
        "I met one man, Karmenu, he drives a bus, he is a widower",
        "Karmenu | occupation | bus driver; Karmenu | status | widower",
    ),
    ("My eldest, Leo, is 9", "Kim | child | Leo; Leo | age | 9"),
    ("my therapist is called Jo", "Jo | occupation | therapist"),
    ("My dentist Dr. Lal says I should floss", "Dr. Lal | occupation | dentist"),
    ("That was Kavitha, my sister.", "Kim | sister | Kavitha"),
    ("BOT: Who's Jules? / My girlfriend, 4 months now", "Kim | partner | Jules"),
    # a name in a sentence of its own
    ("I have a budgie. Called Winston.", "Kim | pet | Winston; Winston | kind | budgie"),
    ("Adopted a hamster. Grieg.", "Kim | pet | Grieg; Grieg | kind | hamster"),
    ("My girlfriend's coming this weekend. Mirela.", "Kim | partner | Mirela"),
    ("I've got two sons. Reuben and Max.", "Kim | son | Reuben; Kim | son | Max"),
    (
        "BOT: What are your dogs' names? / Fly and Moss.",
        "Kim | pet | Fly; Kim | pet | Moss; Fly | kind | dog; Moss | kind | dog",
    ),
    # fragments about the one before
    (
        "My sister Julie lives in Perth. Works for Shell.",
        "Kim | sister | Julie; Julie | home | Perth; Julie | employer | Shell",
    ),
    (
        "My brother Terrence is a cop. Two kids. Divorced.",
        "Kim | brother | Terrence; Terrence | occupation | cop; Terrence | status | Divorced",
    ),
    (
        "Philip is my son / How old is Philip? / He's 48. Diabetic like his father.",
        "Philip | age | 48; Philip | health | Diabetic",
    ),
    ("Doctor's put me on warfarin. Atrial fibrillation.", "Kim | takes | warfarin; Kim | health | Atrial fibrillation"),
    ("I'm a carer. Nights. At Willow Lodge in Swindon.", "Kim | occupation | carer; Kim | employer | Willow Lodge"),
    ("My brother Ed is here / BOT: How old is he? / 31, still a baby", "Ed | age | 31"),
    ("mums from cork originally", "Kim's mother | origin | cork"),
    ("i work at tesco", "Kim | employer | tesco"),
    ("i work for google", "Kim | employer | google"),
    ("i work in a bakery", "Kim | employer | bakery"),
    # introductions
    ("im jess btw", "Kim | name | Jess"),
    ("hey, im lena. how are you", "Kim | name | Lena"),
    ("soy marta", "Kim | name | Marta"),
    ("Kim here, 31, site manager", "Kim | age | 31; Kim | occupation | site manager"),
    # changes of homes and work
    ("I live in York / moved back in with my parents", "- Kim | home | "),
    ("moved in with my boyfriend in Leeds", "Kim | home | Leeds"),
    ("moved back in with my parents in Hull", "Kim | home | Hull"),
    ("Now I'm at Allegro", "Kim | employer | Allegro"),
    ("started at a zoo", "Kim | employer | zoo"),
    ("used to be at Intel but the commute killed me", "- Kim | employer | Intel"),
    (
        "My son Tendai has moved to Leeds for a job with Asda",
        "Kim | son | Tendai; Tendai | home | Leeds; Tendai | employer | Asda",
    ),
    # partners who leave, named by a pronoun only
    ("my bf is called tom / he dumped me", "- Kim | partner | "),
    ("My girlfriend Ana lives in Leeds / she broke up with me", "- Kim | partner | "),
    ("My boyfriend is Tom / we split up", "- Kim | partner | "),
    ("me and callum are official", "Kim | partner | Callum"),
    ("Me and Craig aren't together any more", "- Kim | partner | Craig"),
    ("My late wife always sang", "Kim | status | widowed"),
    ("married nine years now", "Kim | status | married"),
    ("Tessa has been my best friend since school", "Kim | friend | Tessa"),
    # one whose name begins the sentence, or the one before
    ("Tyler broke his arm again. He's 17", "Tyler | age | 17"),
    ("Alfie's quiet, he's fourteen now", "Alfie | age | fourteen"),
    ("we got a cat! A tabby, thirteen years old, named Gerald.", "Kim | pet | Gerald; Gerald | kind | cat"),
    ("I got Duke here with me, he's a beagle", "Kim | pet | Duke; Duke | breed | beagle"),
    # in passing, and with a word to the other
    ("I'm 56 mate, the fish are all on pensions", "Kim | age | 56"),
    ("oh wait i told u im allergic to peanuts right??", "Kim | allergy | peanuts"),
    ("I don't eat pork, not because of religion", "Kim | diet | no pork"),
    ("I'm expecting, due in May", "Kim | status | pregnant"),
    ("I've sold the ute", "- Kim | owns | ute"),
    ("Last week we moved to Barton street", "Kim | home | Barton street"),
    ("Priya Moved Up To Charlotte By Her Daughter", "Priya | home | Charlotte"),
    # work by what someone does
    ("I'm childminding from home now", "Kim | occupation | childminder"),
    ("My brother drives a bus", "Kim's brother | occupation | bus driver"),
    ("I do travel nursing now", "Kim | occupation | travel nurse"),
    ("I teach guitar at the community center", "Kim | employer | community center"),
    ("here I work in a bakery", "Kim | employer | bakery"),
    ("I switched from bio to anthropology last year", "Kim | field | anthropology"),
    # pets, in passing
    ("i've two cats, mog and pip", "Kim | pet | mog; mog | kind | cat; Kim | pet | pip; pip | kind | cat"),
    ("I bought a parrot. His name is Kiwi", "Kim | pet | Kiwi; Kiwi | kind | parrot"),
    ("got the kids a rabbit. Called it Thumper", "Kim | pet | Thumper; Thumper | kind | rabbit"),
    ("The kids named the rabbit Thumper", "Kim | pet | Thumper; Thumper | kind | rabbit"),
    (
        "so we got a puppy!! she's a cockapoo, called Maple",
        "Kim | pet | Maple; Maple | kind | puppy; Maple | breed | cockapoo",
    ),
    ("we named her Luna, she's a black lab mix", "Kim | pet | Luna; Luna | breed | lab"),
    ("we got bruno from a shelter", "Kim | pet | bruno"),
    ("I'm a cat mom to Nala and Simba", "Kim | pet | Nala; Nala | kind | cat; Kim | pet | Simba; Simba | kind | cat"),
    ("Luna (cat, 6) is asleep", "Kim | pet | Luna; Luna | kind | cat; Luna | age | 6"),
    # children
    ("My lot: Ava, Leo and Max", "Kim | child | Ava; Kim | child | Leo; Kim | child | Max"),
    ("I'm a mum of two, Jack and Lily", "Kim | child | Jack; Kim | child | Lily"),
    ("mum of 3 boys: Jack, Sam and Ollie", "Kim | son | Jack; Kim | son | Sam; Kim | son | Ollie"),
    ("my newborn, Ivy, doesn't sleep", "Kim | child | Ivy"),
    ("Daniel, my eldest, just started uni", "Kim | child | Daniel"),
    ("my elder one Rahul is 17", "Kim | child | Rahul"),
    ("my son, by name Chukwuemeka", "Kim | son | Chukwuemeka"),
    ("we are blessed with a baby boy, Tobi", "Kim | son | Tobi"),
    ("i have 3 kids, the eldest is Noah", "Kim | child | Noah"),
    ("BOT: how's your grandson, what's his name again / Banjo. he's nearly two", "Kim | grandson | Banjo"),
    # ages
    ("our kev's forty one", "kev | age | forty one"),
    ("my 12 year old, Lena, wants a phone", "Kim | child | Lena; Lena | age | 12"),
    ("I have a 14 year old son", "Kim's son | age | 14"),
    ("he's 94, my grandad", "Kim's grandfather | age | 94"),
    ("I'm a 28 year old woman", "Kim | age | 28"),
    ("me (29) and my gf (27)", "Kim | age | 29; Kim's girlfriend | age | 27"),
    ("just turned 30 lol", "Kim | age | 30"),
    ("my mums 61", "Kim's mother | age | 61"),
    ("I cut hair", "Kim | occupation | hairdresser"),
    ("i bartend downtown", "Kim | occupation | bartender"),
    ("I do the books for three plumbers", "Kim | occupation | bookkeeper"),
    ("I'm estimating now, in an office", "Kim | occupation | estimator"),
    ("my sister teaches high school", "Kim's sister | occupation | teacher"),
    ("dad drives for a living", "Kim's father | occupation | driver"),
    ("as a nurse I see this every day", "Kim | occupation | nurse"),
    ("I work from home as a translator", "Kim | occupation | translator"),
    ("i used to be a copper", "- Kim | occupation | copper"),
    ("my brother's in the army", "Kim's brother | employer | army"),
    ("i joined the navy last year", "Kim | employer | navy"),
    ("i work in the chippy friday nights", "Kim | employer | chippy"),
    ("I work behind the bar at the Crown", "Kim | employer | Crown"),
    ("been at the council 12 years", "Kim | employer | council"),
    ("working part time in a bookshop", "Kim | employer | bookshop"),
    ("my boss at Greggs is a nightmare", "Kim | employer | Greggs"),
    ("my mum cleans at the hospital", "Kim's mother | employer | hospital"),
    ("im between jobs", "Kim | status | unemployed"),
    # schools and what people study there
    ("my son got into Howard, full ride", "Kim's son | school | Howard"),
    ("I'm third year law at Durham", "Kim | field | law; Kim | school | Durham"),
    ("I'm pre-med at Duke", "Kim | field | pre-med; Kim | school | Duke"),
    ("im at uni in leeds doing law", "Kim | field | law"),
    ("I do economics at Warwick", "Kim | field | economics; Kim | school | Warwick"),
    ("doing my mba at wharton", "Kim | school | wharton"),
    ("im in 10th grade at lincoln high", "Kim | school | lincoln high"),
    ("freshman at NYU!", "Kim | school | NYU"),
    ("phd candidate in sociology", "Kim | field | sociology"),
    ("changed my major to math", "Kim | field | math"),
    ("as a law student i drink too much coffee", "Kim | field | law"),
    # pets and partners that are gone
    (
        "my cat Hamish is fat / Hamish had to be put to sleep this morning",
        "- Kim | pet | Hamish; Hamish | status | dead",
    ),
    ("my dog Bishop is old / Poor Bishop died on Sunday", "- Kim | pet | Bishop; Bishop | status | dead"),
    ("my boyfriend is Callum / i ended it with Callum", "- Kim | partner | Callum"),
    # words between a name and its verb, and where a value ends
    ("My neighbor Judy across the road has breast cancer", "Kim | neighbour | Judy; Judy | health | breast cancer"),
    ("my friend Anna from uni lives in Leeds", "Kim | friend | Anna; Anna | home | Leeds"),
    ("honestly i cant stand coriander it tastes of soap", "Kim | dislikes | coriander"),
    ("i have a hamster called peanut butter", "Kim | pet | peanut butter; peanut butter | kind | hamster"),
    ("i have a dog called rex lol", "Kim | pet | rex; rex | kind | dog"),
    ("my mum moved to London in feb", "Kim's mother | home | London"),
    ("Ma's shifted to Dehradun", "Kim's mother | home | Dehradun"),
    # work that is left, and employers
    ("took voluntary redundancy from BT, so i'm free", "- Kim | employer | BT"),
    ("Yesterday was my last day at the Guardian. Nineteen years.", "- Kim | employer | Guardian"),
    ("Left the army in 2012", "- Kim | employer | army"),
    ("i work at tesco on the tills", "Kim | employer | tesco"),
    ("I work with HDFC Bank since 2011", "Kim | employer | HDFC Bank"),
    ("I work as a QA lead at Infosys", "Kim | employer | Infosys; Kim | occupation | QA lead"),
    ("I'm a dialysis tech at DaVita", "Kim | employer | DaVita; Kim | occupation | dialysis tech"),
    ("my wife passed in 2020", "Kim's wife | status | dead"),
]

UNSTATED = [
    "We saw two films. Our two: Barbie and Oppenheimer",
    "My three: Apple, Pear and Plum",
    "My little ones, Daisy and Rose, are hens",
    "My sister's expecting a baby goat for the farm",
    "My late wife is always keeping us waiting",
    "My late husband will be here in ten minutes",
    "Manchester's been home to many bands",
    "Leeds is home to her",
    "I bartend, badly, at my own parties",
    "I bartend at parties for fun",
    "I do the books for my church",
    "My lungs are gone after that run",
    "Jack of all trades, he's a plumber",
    "Beatrice has been moved in the novel. She's a nurse",
    "We called the dog Captain for a laugh",
    "The kids want a rabbit called Thumper",
    "In the film the kids named the dog Beethoven",
    "we called the plumber Monday",
    "we got Chinese from the place by the shelter",
    "I got Dave a job at the shelter",
    "She's a mum of two and lives in Leeds",
    "I have two kids, boy and girl",
    "my two favourites are Messi and Ronaldo",
    "my 10 year old Honda is dying",
    "As a 16 year old I was a nightmare",
    "I'm a 12 year old trapped in an adult body",
    "my mum's friend has two kids, the eldest is Noah",
    "we welcomed Dan to the team",
    "my husband wants to get me a puppy",
    "Ask Tom, he's my brother's boss",
    "my boy's a lab named Gus",
    "our car's 12",
    "I'm expecting my parents at six",
    "my wife and I are expecting",
    "me and the boss aren't together on this one",
    "Sainsbury's is packed, he's 17th in the queue",
    "i work with idiots",
    "i work nights at the moment",
    "i was raised on sausages",
    "i drive my wife mad",
    "im tired",
    "im paris bound",
    "I'm starting at the zoo on monday",
    "now i'm at tesco",
    "Now I'm at Tesco buying milk",
    "my mum rang, shes not well",
    "my boss is here. Nightmare.",
    "My sister called. Ugh.",
    "I met Walt, my old boss. Ifeoma.",
    "Stuart's eldest. Studies marine biology.",
    "BOT: Do you like Adele? / 33, from Leeds",
    "my exes all left. he dumped me",
    "nagoya is out. hes in icu now",
    "a german shepherd named barnaby bit me",
    "started running again at least",
    "my boss is mean / she left me a note",
    "as a nurse I'd be terrible",
    "as a nurse I worked nights",
    "As a nurse she sees this every day",
    "I cut hair off my sandwich",
    "i teach my kids manners",
    "I'd love to paint for a living",
    "I'm with the police on this one",
    "I get out of work at 5",
    "i'm working on the car in the garage",
    "my old boss at Greggs was a nightmare",
    "my boss at my last job",
    "started at the gym",
    "I'm in my first year of marriage",
    "i'm a student of life",
    "I do economics at work",
    "I was in law school",
    "If I get into Yale I'll cry",
    "changed my course to the left",
    "The first year of law is the worst",
    # a place, an acronym or a word before a pronoun, and people at work
    "London, she lives in Leeds now",
    "canada she's lived in hamilton since 1971",
    "shut up he's a rescue greyhound",
    "She's doing her GCSEs. Her brother's doing law at Exeter.",
    "I work with Kowalski",
    "i work with Tesco on the project",
    "I work with Oracle databases",
    "i work with apple products",
    "today is my last day at work",
    "it was his last day at Boots",
    "she moved in with us in feb",
    "Nick lives next door to her",
    "I'm allergic to technology",
]


def read(talk: str) -> set[str]:
    """Return what the last line of a talk states."""
    lines = []
    for seq, text in enumerate(map(str.strip, talk.split(" / ")), 1):
        is_bot = text.startswith("BOT:")
        role: Role = "assistant" if is_bot else "user"
        speaker = "Fern" if is_bot else "Kim"
        lines.append(Line(seq, "s", role, speaker, text.removeprefix("BOT:").strip(), datetime(2026, 5, 4, tzinfo=UTC)))
    stated = [each for each in read_statements(lines) if each.seqs == (len(lines),)]
    return {f"{'- ' * each.ends}{each.subject} | {each.attribute} | {each.value}" for each in stated}


@pytest.mark.parametrize(("talk", "expected"), STATED)
def test_typed_talk_states(talk: str, expected: str) -> None:
    assert {each.lower() for each in read(talk)} == {each.lower() for each in expected.split("; ")}


@pytest.mark.parametrize("talk", UNSTATED)
def test_typed_talk_states_nothing(talk: str) -> None:
    assert read(talk) == set()


def test_names_are_read_in_german_and_spanish_too() -> None:
    assert read("Hallo zusammen, wie geht es euch? / bin die lena") == {"Kim | name | lena"}
    assert read("Hallo zusammen, wie geht es euch? / bin die beste") == set()
    assert read("Hola, ¿qué tal? / me llamo marta y soy enfermera") == {
        "Kim | name | marta",
        "Kim | occupation | enfermera",
    }


def test_a_partner_and_a_job_end_in_german_and_spanish() -> None:
    assert read("Mein Freund heißt Jannik und wohnt in Köln / er hat schluss gemacht") == {"- Kim | partner | "}
    assert read("mi novio se llama Pablo / me ha dejado") == {"- Kim | partner | "}
    assert read("Trabajo en un bar de copas en Madrid / hoy he dejado el bar") == {"- Kim | employer | bar"}


def test_a_food_that_is_not_eaten_replaces_no_diet() -> None:
    lines = [
        Line(seq, "s", "user", "Kim", text, datetime(2026, 5, seq, tzinfo=UTC))
        for seq, text in enumerate(("I'm vegan", "I don't eat pork", "I'm vegetarian now"), 1)
    ]
    facts = build_facts(read_statements(lines))
    assert {fact.value for fact in facts if fact.holds} == {"no pork", "vegetarian"}
