"""Tests of talk that looks like a statement about people, partners, pets and ages, beside talk that is one."""

from __future__ import annotations

import pytest

from facts.test_typed_talk import read

# Lines, in which " / " begins another one, and what the last one states.
STATED = [
    # words for relatives in other words
    ("my mother tongue is igbo", "Kim | language | igbo"),
    ("my sister grace is 20", "Kim | sister | grace; grace | age | 20"),
    ("My uncle Ben lives in Hull.", "Kim | uncle | Ben; Ben | home | Hull"),
    ("My father Ted is a farmer", "Kim | father | Ted; Ted | occupation | farmer"),
    ("my cat pickle is 3", "Kim | pet | pickle; pickle | kind | cat; pickle | age | 3"),
    ("my school friend Tom lives in Leeds", "Kim | friend | Tom; Tom | home | Leeds"),
    ("My work colleague Ravi is vegan", "Kim | colleague | Ravi; Ravi | diet | vegan"),
    ("my old friend Karen retired", "Kim | friend | Karen; Karen | status | retired"),
    ("A friend of mine, Ali, is a chef", "Kim | friend | Ali; Ali | occupation | chef"),
    (
        "my cats are named snowball and mittens",
        "Kim | pet | snowball; snowball | kind | cat; Kim | pet | mittens; mittens | kind | cat",
    ),
    # for good, beside for a while
    ("We've had a puppy called Rex for two weeks", "Kim | pet | Rex; Rex | kind | puppy"),
    ("my friend Lucy from work is coming for the weekend", "Kim | friend | Lucy; Kim | colleague | Lucy"),
    ("I have a girl called Zoe and a boy called Max", "Kim | daughter | Zoe; Kim | son | Max"),
    ("we welcomed Ella to the world", "Kim | child | Ella"),
    ("we had a baby, Ella", "Kim | child | Ella"),
    # partners and their status
    ("I'm seeing a girl called Anna", "Kim | partner | Anna"),
    ("I've been going out with Tom for two years", "Kim | partner | Tom"),
    ("Tom is my partner", "Kim | partner | Tom"),
    ("We got engaged in Paris", "Kim | status | engaged"),
    ("I've been single for two years", "Kim | status | single"),
    ("I retired from teaching", "Kim | status | retired"),
    ("My wife is Ana / We split up", "- Kim | partner | "),
    # names that are words, and words
    ("I'm Blessing, 24", "Kim | name | Blessing; Kim | age | 24"),
    ("Hi, I'm Joy.", "Kim | name | Joy"),
    ("my name is cloud", "Kim | name | cloud"),
    ("Call me Sunny", "Kim | name | Sunny"),
    # ages
    ("I'm 100 years old", "Kim | age | 100"),
    ("my brother turned 21 on Friday", "Kim's brother | age | 21"),
    ("my baby girl is 12 weeks", "Kim's daughter | age | 12 weeks"),
    ("I'm 45, no wait, 44", "Kim | age | 44"),
    ("My sister Adele is amazing, she's 36", "Kim | sister | Adele; Adele | age | 36"),
    # who is meant
    ("My sister met a boy. She's 22.", "Kim's sister | age | 22"),
    ("My daughter plays Juliet, she's 14", "Kim's daughter | age | 14"),
    ("My cat Elvis is 4", "Kim | pet | Elvis; Elvis | kind | cat; Elvis | age | 4"),
    ("my dog Max died", "- Kim | pet | Max; Max | kind | dog; Max | status | dead"),
    ("we have a chicken in the garden", "Kim | pet | chicken"),
    ("I have two labs", "Kim | pet | labs"),
    ("we got a puppy for the kids", "Kim | pet | puppy"),
    ("my brother has a new girlfriend / he's 30", "Kim's brother | age | 30"),
    ("my sister got a dog / BOT: Lovely! How old is your sister? / 30", "Kim's sister | age | 30"),
    ("my cat is black with white paws", "Kim's cat | colour | black"),
    # a place that is a home, beside someone who is at home
    ("Leeds has been home for five years", "Kim | home | Leeds"),
    ("Bristol is home for us these days", "Kim | home | Bristol"),
    # beside capital letters for emphasis
    ("I'M SO TIRED! I live in Leeds.", "Kim | home | Leeds"),
    ("I LIVE IN LEEDS", "Kim | home | leeds"),
    # whose age it is
    ("My brother Tom came over. He's great. 34 years old.", "Kim | brother | Tom; Tom | age | 34"),
    ("We let our cat Pip go. Jonas held her paw. Fifteen years old.", "Kim | pet | Pip; Pip | kind | cat"),
]

UNSTATED = [
    # words for relatives in other words
    "My Mother Earth painting sold.",
    "my dad bod is thriving",
    "my mother ship has landed",
    "my brother printer died",
    "my granny flat is damp",
    "my grandfather clock stopped",
    "my cat nap was great",
    "my pug mug is broken",
    "my dog walker is ill",
    "my wife material",
    "My brother from another mother, Dave, called",
    "Tom is my brother in all but name",
    "my uncle Ben's rice burned",
    "Aunt Flo's in town",
    "my Gran Turismo save",
    "my Granny Smith apples",
    "My Brothers Grimm book",
    "my chicken Kiev exploded",
    "My GOAT Messi",
    # those who are only called so
    "my work wife Jen is off",
    "my work mum Carol looks after us",
    "my gym partner Tess",
    "my old boss Karen was a laugh",
    "a friend of a friend of mine Ali",
    "my nephew's imaginary friend is called Bob",
    "my niece's teddy is called Mr Bear",
    "My kids call my dad Pops",
    "my daughter is called names at school",
    "my son's name is mud",
    "my boy bestie is here",
    "bro is a plumber",
    "my future kids names are luna and leo",
    "my youngest is Miss Independent",
    # the famous
    "Adele is amazing, she's 36",
    "Taylor Swift is 36",
    "Harry Potter is 11",
    "Beethoven was born on 17 December",
    "my husband Pedro Pascal",
    "my best friend is Google",
    # for a while
    "We got the kids a puppy called Rex for the week",
    "We have a cat called Tom staying with us",
    "Greg is my boss for the week",
    "We welcomed Sarah to the world of accounting",
    "I have a girl called Zoe in my team",
    "we've got a boy called Tim on work experience",
    # partners and their status
    "I'm seeing a play called Hamlet",
    "I'm seeing a guy called Dave about a fridge",
    "I'm seeing someone called Dave about the boiler",
    "I'm going out with Sarah for drinks",
    "I'm going out with Tom and Ella tonight",
    "Nicola is my partner at bridge",
    "my brother is engaged on the phone",
    "I am engaged as a consultant",
    "Tom and I are engaged in talks",
    "I'm retired hurt",
    "I've retired for the night",
    "we got separated at the airport",
    "my work bestie and I are basically married",
    "I've been single for 5 minutes",
    "we got hitched up to the trailer",
    "My wife is Ana / we split up into groups",
    "My wife is Ana / we broke up for the summer",
    # names
    "my middle name is Danger",
    "my name is Polish",
    "my name is spelled with a K",
    "online I'm known as Frosty",
    "in french class i'm called Pierre",
    "In another timeline I'm called Zara",
    "I'm Hangry",
    "I'm Excel, Anna's PowerPoint",
    "Just call me Sherlock",
    "Call me Captain Obvious",
    # ages
    "I'm 100",
    "I'm Gate 14",
    "im 12 years old mentally",
    "my dog is 14 in dog years",
    "my sister is 8 and 0 this season",
    "my mum's 19 in this photo",
    "on Tinder I'm 32",
    "my dad is 100 today, kidding, he feels it",
    "some days I'm 80",
    "on a good day I'm 25",
    "By the time I'm 40 I want a house",
    "my wife is 39 weeks",
    "my sister turned 21 on the wheel",
    "my wife isn't 40 yet",
    "my sister doesn't live in leeds",
    # who is meant
    "My colleague's daughter is getting married, she's only 21.",
    "My brother has a new boss. He's 60.",
    "my ex has a new girlfriend. She's 24.",
    "my son and my nephew came. He's 17.",
    "My dog bit the postman. He's 50.",
    "The woman at the bus stop said her son Kevin is a pilot.",
    # pets
    "my cat died laughing",
    "my cat is dead to the world",
    "my dog is brown after the walk",
    "my dog is black and blue",
    "I bought a horse called Blaze in Red Dead",
    "I have a lab on Thursday",
    "I have a chicken in the oven",
    "we've got mice in the loft",
    "I've got a frog in my throat",
    "I got a new mouse for my laptop",
    # questions about one of two who were mentioned
    "my brother has a new girlfriend / BOT: what's her name? / Zoe",
    "my brother is getting a dog / BOT: What's he called? / Rex",
    "my boss has a daughter / she's 15",
    "my neighbour's kid broke my window / he's 8",
    # someone who is at home, or back from a journey
    "Dad's home. He's been told no butter",
    "She's home now",
    "Tom's home these last few days",
    "Tom is home",
    "Back from Lisbon. I lost my sunglasses.",
    # capital letters for emphasis
    "I'M AN AUNT! Best day ever.",
    "I'M HOME! I'M SO TIRED",
    # what someone takes somewhere
    "I have a dog called Rex / She's at the practice where I take Rex",
]


@pytest.mark.parametrize(("talk", "expected"), STATED)
def test_a_statement_is_read_beside_what_looks_like_it(talk: str, expected: str) -> None:
    assert read(talk) == set(expected.split("; "))


@pytest.mark.parametrize("talk", UNSTATED)
def test_what_only_looks_like_a_statement_states_nothing(talk: str) -> None:
    assert read(talk) == set()
