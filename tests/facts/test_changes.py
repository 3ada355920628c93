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
    ("I'm pregnant", "Our daughter Ida was born on Thursday."): "status | pregnant",
    # what was said is denied
    ("I work at Bosch", "I don't work at Bosch."): "employer | Bosch",
    ("I work at Bosch", "I never worked at Bosch, that was a lie"): "employer | Bosch",
    ("I live in Rome", "I don't live in Rome."): "home | Rome",
    ("I have a dog called Rex", "I don't actually have a dog."): "pet | dog",
    ("I'm vegan", "I was kidding, I'm not vegan"): "diet | vegan",
    ("I'm vegan", "I'm not vegan, just lazy"): "diet | vegan",
    ("My cat is called Milo", "I meant Miro, not Milo."): "pet | Milo",
    ("I have a dog", "I never had a dog, only cats"): "pet | dog",
    ("I'm allergic to nuts", "No sorry, it's figs, not nuts."): "allergy | nuts",
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
    # in few words
    ("I work for Siemens", "moved on from Siemens in March"): "employer | Siemens",
    ("I work for Deloitte", "that's me finished at Deloitte"): "employer | Deloitte",
    ("I work at Argos", "I got the boot from Argos"): "employer | Argos",
    ("I work at Pret", "contract at Pret ended"): "employer | Pret",
    ("I work for Barclays", "Barclays let me go just before Christmas"): "employer | Barclays",
    ("I'm a nurse", "I'm out of nursing now, did 20 years"): "occupation | ",
    ("I'm a taxi driver", "no more taxi driving for me"): "occupation | ",
    ("I take statins", "no longer taking statins"): "takes | statins",
    ("I'm on the pill", "off the pill now"): "takes | pill",
    ("I take omeprazole", "omeprazole's been stopped"): "takes | omeprazole",
    ("I do pottery", "lost interest in pottery"): "hobby | pottery",
    ("I play the violin", "my violin only gathered dust so I gave it up"): "plays | violin",
    ("I play football", "retired from football, knees"): "plays | football",
    ("I love coffee", "gone right off coffee"): "likes | coffee",
    ("I speak German", "my German's gone completely"): "language | German",
    ("I'm vegan", "I eat cheese again now"): "diet | vegan",
    ("I'm vegetarian", "back on meat, sorry cows"): "diet | ",
    ("I'm a vegetarian", "fell off the veggie wagon, bacon did it"): "diet | ",
    ("I'm vegan", "vegan no more"): "diet | vegan",
    ("I'm engaged to Ben", "called off the wedding"): "status | engaged",
    ("I'm engaged to Ben", "gave Ben the ring back"): "status | engaged",
    ("I'm allergic to eggs", "outgrew the egg allergy"): "allergy | egg",
    ("I have asthma", "grew out of my asthma"): "health | asthma",
    ("I have eczema", "eczema's cleared up completely"): "health | eczema",
    ("I'm studying physics", "finished my physics degree"): "field | physics",
    # things and groups
    ("I have a piano", "got shot of the piano"): "owns | piano",
    ("I've got a campervan", "campervan's sold, money's in the bank"): "owns | campervan",
    ("I drive a Corsa", "the Corsa failed its MOT so it's scrap now"): "owns | corsa",
    ("I have a Brompton", "some idiot nicked my Brompton"): "owns | Brompton",
    ("I'm a member of the Labour Party", "tore up my Labour card"): "member | Labour",
    ("I'm in the scouts", "left the scouts"): "member | scouts",
    ("I'm a member of the golf club", "let my golf club membership lapse"): "member | golf club",
    # pets and people
    ("my dog Bella is 14", "Bella went over the rainbow bridge"): "pet | Bella",
    ("I have a budgie called Joey", "Joey flew off and never came back"): "pet | Joey",
    ("my horse Star is 20", "sold Star to a girl in Kent"): "pet | Star",
    ("my dog Milo is a beagle", "RIP Milo, 2010-2025"): "pet | Milo",
    ("I have a parrot called Kiwi", "had to give Kiwi up"): "pet | Kiwi",
    ("my rabbit Clover is white", "found Clover dead this morning"): "pet | Clover",
    ("my husband Alan snores", "Alan passed in the spring"): "partner | Alan",
    ("my boyfriend Tom is a drummer", "that's over now with Tom"): "partner | Tom",
    ("I'm dating Marcus", "it fizzled out with Marcus"): "partner | Marcus",
    ("my flatmate is Nia", "Nia left, it's just me now"): "flatmate | Nia",
    ("my friend Omar is funny", "not friends with Omar any more"): "friend | Omar",
    ("my friend Gemma is a vet", "me and Gemma don't talk anymore"): "friend | Gemma",
    ("my friend Carl is 50", "I've cut Carl out of my life"): "friend | Carl",
    ("my colleague Raj is loud", "Raj left the company"): "colleague | Raj",
    ("my gran Edna is 91", "we buried Edna on Friday"): "grandmother | Edna",
    # who gives up an instrument plays it no more
    ("I have a piano", "I gave up the piano"): "plays | piano",
}

REPLACED = {
    ("I live in Bergen", "Actually it's Oslo, not Bergen."): "home | Oslo",
    ("I'm allergic to nuts", "No sorry, it's figs, not nuts."): "allergy | figs",
    ("my favourite colour is green", "My favourite colour isn't green, it's blue"): "favourite colour | blue",
    ("I'm divorced", "I married Dan last month"): "status | married",
    ("I live in Lyon", "Sorry, I meant Lille, not Lyon."): "home | Lille",
    ("My cat is called Milo", "I meant Miro, not Milo."): "pet | Miro",
    ("My boss is Carla", "I meant Clara, not Carla"): "boss | Clara",
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
    ("I have a Golf", "the Golf's gone, got a Yaris"): "owns | Yaris",
    ("I do yoga", "yoga's gone out the window, it's pilates now"): "hobby | pilates",
    ("I'm a trainee chef", "fully qualified chef now!"): "occupation | chef",
    ("I'm vegetarian", "gone full vegan since January"): "diet | vegan",
    ("I'm vegan", "I've gone back to being vegetarian"): "diet | vegetarian",
    ("I live in Naas", "we finally upped sticks to Galway"): "home | Galway",
    ("I live in Nairobi", "I stay in Kisumu nowadays"): "home | Kisumu",
    ("my boss is Karen", "Karen's left, Steve's in charge now"): "boss | Steve",
    ("my boss is Priya", "Priya's been replaced by Omar"): "boss | Omar",
    ("my boss is Anne", "I report to Colin these days"): "boss | Colin",
    ("my name is Nora Hughes", "back to my maiden name, Nora Price"): "name | Nora Price",
    ("my name is Daniel", "I go by Dani now"): "name | Dani",
    ("my name is Rebecca", "it's Becky now, not Rebecca"): "name | Becky",
    ("my favourite book is Dune", "new favourite book is Piranesi"): "favourite book | Piranesi",
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
    ("My favourite colour is blue", "My favourite colour isn't blue, it's complicated."),
    ("I live in Bergen", "It's Oslo, not Bergen, that has the opera"),
    ("I live in Bergen", "Actually it's Tuesday, not Monday."),
    ("I have a dog", "I never had a dog like that"),
    ("I have a dog called Rex", "I don't have a dog walker"),
    ("I live in Rome", "I don't live in Rome alone"),
    ("I live in Rome", "I don't live in Rome to sit in traffic"),
    ("I work at Bosch", "I don't work at Bosch on Fridays"),
    ("I'm vegan", "I'm not vegan today"),
    ("I'm vegan", "I'm not vegan enough?"),
    ("I live in Berlin", "No, not Berlin, Hamburg."),
    ("I like coffee", "I meant tea, not coffee"),
    ("I live in Lyon", "I meant to write, not to call"),
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
    ("I work at Tesco", "moved on from Tesco to the next shop on my list"),
    ("I work at Tesco", "no longer with Tesco clubcard"),
    ("I'm a nurse", "no more nursing homes for me"),
    ("I'm a teacher", "no more teaching today"),
    ("I take sertraline", "sertraline's been stopped in the post and I'm waiting"),
    ("I'm vegan", "not vegan enough for some people"),
    ("I'm vegan", "my son eats cheese again"),
    ("I'm vegetarian", "my brother is back on meat"),
    ("I'm engaged", "the wedding is off to a good start"),
    ("I'm allergic to eggs", "my son outgrew the egg allergy"),
    ("I'm allergic to eggs", "can you outgrow an egg allergy?"),
    ("I speak German", "my German's gone rusty"),
    ("I have asthma", "no asthma today"),
    ("I have eczema", "eczema cream's gone"),
    ("I have a piano", "sold my piano stool"),
    ("I have a caravan", "sold the idea of a caravan to my wife"),
    ("I have a van", "the van was nicked in the film"),
    ("I have a Golf", "the Golf's gone to the garage, got a lift"),
    ("I have a Golf", "someone stole the Golf's hubcaps"),
    ("I have a bike", "it's sold out, the bike shop said"),
    ("I'm in a choir", "left the choir practice early"),
    ("I'm in a choir", "left the choir at nine"),
    ("I'm a member of the golf club", "left the golf club at six"),
    ("I'm in the scouts", "left the scouts at the station"),
    ("I'm a member of the Labour Party", "I tore up my Labour leaflet"),
    ("my dog Bella is 14", "Bella ran off and came back at noon"),
    ("my dog Bella is 14", "Bella is in heaven with her new toy"),
    ("my dog Bella is 14", "sold Bella's old crate"),
    ("my cat Tigger is old", "Tigger slipped away from me at the vet"),
    ("my husband Alan snores", "Alan passed in June, his driving test I mean"),
    ("my husband Alan snores", "Alan passed last week's exam"),
    ("my boyfriend Tom is a drummer", "that's over with, Tom won the match"),
    ("my flatmate is Nia", "Nia left, it's just me and the cat tonight"),
    ("my boss is Karen", "Karen's gone to lunch and Steve's in charge today"),
    ("my boss is Karen", "Karen left the office at five"),
    ("my friend Gemma is a vet", "Gemma and I don't talk about politics"),
    ("my friend Gemma is a vet", "fell out with Gemma over the bill but we made up"),
    ("my friend Omar is funny", "not friends with Omar on facebook"),
    ("my gran Edna is 91", "we buried Edna in sand at the beach"),
    ("my name is Daniel", "I go by bus now"),
    ("I live in Leeds", "a new flat in Hull is 200k"),
    ("I live in Leeds", "it's Hull for us now on the quiz"),
    ("I live in Leeds", "back in Leeds since Tuesday"),
    ("I work at Pret", "my time at Pret is up and down"),
    ("I have a boat", "the boat's gone now to the harbour"),
    ("my friend Lou is tall", "Lou is on my old friend's team"),
    ("my boss is Karen", "Karen's last day was great in her words"),
    ("my boss is Karen", "I report to Colin now and then"),
    ("I'm single", "seeing someone new, Dr Patel, about my back"),
    ("I live in Leeds", "we stay in Hull these days when we visit"),
    ("I'm studying physics", "finished my physics homework"),
    ("my boyfriend is Ed", "Ed is history mad"),
    ("I have a parrot called Kiwi", "had to give Kiwi a bath"),
    ("my rabbit Clover is white", "found Clover dead asleep"),
    ("my dog Sam is old", "lost my friend Sam's number"),
    ("my friend Jess is a nurse", "Jess and I fell out laughing"),
    ("my friend Jess is a nurse", "Jess and I don't talk during films"),
    ("my name is Robert", "call me Boss from now on"),
    ("I'm vegan", "she's a vegan no more"),
    ("I have a cat called Bean", "Bean escaped and we found him"),
    ("my friend Bob has a farm", "I had a rip in Bob's jeans"),
    ("I have asthma", "beat the asthma nurse at chess"),
    ("I have a Golf", "the Golf's radio is dead so I have a headache"),
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


def test_the_end_of_something_else_ends_nothing_beside_it() -> None:
    assert "- occupation | " not in read_later("I'm a data scientist at Siemens", "I left Datadog")
    assert not any("engaged" in each for each in read_later("My partner is Ben. I'm engaged.", "I broke up with Tom"))


def test_nothing_ends_that_was_never_stated() -> None:
    assert read_later("hello there", "no more Tesco for me") == set()


def test_what_a_correction_says_counts_from_when_it_was_said() -> None:
    # The corrected statement is stored later than one that was said after it.
    days = [datetime(2025, 3, day, 12, tzinfo=UTC) for day in (1, 2, 9)]
    york = Statement("Nora", "home", "York", (2,), days[1], position=2, id=2)
    corrected = Statement("Nora", "home", "Bradford", (1,), days[0], writer="person", position=1, id=1)
    found = read_statements([Line(3, "s", "user", "Nora", "York is history", days[2], key="3")], [york, corrected])
    assert [(each.attribute, each.value, each.ends) for each in found] == [("home", "York", True)]


def test_a_correction_within_a_line_counts() -> None:
    assert read_later("I'm allergic to nuts. Oh no, not nuts, peanuts.") >= {"allergy | peanuts", "-allergy | nuts"}
