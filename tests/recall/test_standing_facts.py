from __future__ import annotations

from pathlib import Path

import pytest

from everthread.recall.candidates import MAX_DIET_LINES
from everthread.recall.standing_facts import Fact, Request, find_fact, find_request
from everthread.recall.statements import DIET
from everthread.types import Filter, NewLine
from recall.builders import open_filled
from recall.test_statements import measure


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("What should I cook for dinner?", Request.FOOD),
        ("Any ideas for a quick LUNCH", Request.FOOD),
        ("Can you suggest a present for Ben?", Request.ADVICE),
        ("Help me plan our weekend.", Request.ADVICE),
        ("What did Ben recommend for dinner?", Request.NONE),
        ("Which book has Ann recommended?", Request.NONE),
        ("Where does Mia work?", Request.NONE),
        ("Plan a menu of rye bread, sardines, olives, sheep's cheese, figs and wine for the meeting.", Request.NONE),
        ("Who cooked dinner?", Request.NONE),
    ],
)
def test_a_question_about_advice_that_was_given_is_no_request(text: str, request_: Request) -> None:
    assert find_request(text) == request_


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I’m allergic to walnuts.", Fact.DIET),
        ("im alergic to walnuts", Fact.DIET),
        ("Mum doesn't eat pork.", Fact.DIET),
        ("Ben collects old maps.", Fact.STANDING),
        ("I am afraid of dogs.", Fact.STANDING),
        ("I'm not allergic to anything.", Fact.NONE),
        ("I don't have a car.", Fact.NONE),
        ("Don't worry about the switch!", Fact.NONE),
        ("I walked into the room.", Fact.NONE),
        ("The train was late.", Fact.NONE),
        ("Gloves lay on the table.", Fact.NONE),
    ],
)
def test_likes_limits_and_diets_are_facts_that_last(text: str, fact: Fact) -> None:
    assert find_fact(text) == fact


@pytest.mark.parametrize(
    ("language", "request_", "diet"),
    [
        ("de", "Was soll ich heute Abend kochen?", "Ich bin Vegetarier."),
        ("de", "hast du ein schnelles rezept?", "Ben verträgt keine Milch."),
        ("es", "¿Qué puedo cocinar esta noche?", "Soy alérgica a las nueces."),
        ("fr", "Qu'est-ce que je peux cuisiner ce soir ?", "Je ne mange pas de porc."),
        ("pt", "O que posso cozinhar hoje?", "Sou vegana."),
        ("it", "Cosa posso cucinare stasera?", "Sono intollerante al lattosio."),
        ("nl", "Wat eten we vandaag?", "Mijn zoon heeft een notenallergie."),
        ("ru", "Что мне приготовить на ужин?", "Я не ем мясо."),
        ("ja", "簡単なレシピを教えて", "私は卵アレルギーです。"),
        ("ko", "오늘 저녁 뭐 먹을까?", "저는 채식을 해요."),
        ("zh", "晚饭做点什么好？", "我对花生过敏。"),
    ],
)
def test_requests_for_food_and_diets_are_recognised_in_other_languages(
    tmp_path: Path, language: str, request_: str, diet: str
) -> None:
    assert find_request(request_, language) == Request.FOOD
    assert find_fact(diet, language) == Fact.DIET
    with open_filled(tmp_path, [NewLine(diet, "Ann"), *(NewLine(f"{n}.", "Ann") for n in range(9))]) as memory:
        assert memory.context(request_).hits[0].text == diet


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Was habe ich gestern gekocht?"),
        ("de", "Was soll ich heute anziehen?"),
        ("es", "¿Qué comí ayer?"),
        ("fr", "Qu'est-ce que j'ai mangé hier ?"),
        ("ja", "昨日何を食べましたか？"),
        ("zh", "我昨天吃了什么？"),
        ("de", "Ich bin nicht allergisch."),
        ("es", "No soy vegetariana."),
    ],
)
def test_other_questions_and_denials_are_neither(language: str, text: str) -> None:
    assert find_request(text, language) == Request.NONE
    assert find_fact(text, language) == Fact.NONE


def test_diets_bear_on_a_request_for_food_whatever_their_meaning(tmp_path: Path) -> None:
    lines = [
        NewLine("I'm allergic to walnuts.", "Ann"),
        NewLine("The train was late.", "Ann"),
        NewLine("I'm a vegetarian bot.", "Bot", "assistant"),
    ]
    with open_filled(tmp_path, lines) as memory:
        assert measure(memory, "What should I cook for dinner?")["standing"] == [DIET, 0, 0]
        assert measure(memory, "Who is allergic to walnuts?")["standing"] == [0, 0, 0]


def test_other_facts_that_last_bear_on_a_request_that_is_near_in_meaning(tmp_path: Path) -> None:
    said = ["I suggest a present: Ben loves a present.", "The train was late.", "Kites never fly here."]
    with open_filled(tmp_path, said) as memory:
        assert measure(memory, "Can you suggest a present for Ben?")["standing"] == [1, 0, 0]


def test_a_question_states_no_fact(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["Are you vegan?"]) as memory:
        assert measure(memory, "What should I cook for dinner?")["standing"] == [0]


def test_in_a_large_bank_diets_are_read_though_they_are_far_from_the_request(tmp_path: Path) -> None:
    others = [NewLine(f"What a long dinner {n}, we cook for dinner.", "Ann", session="old") for n in range(1300)]
    menus = [NewLine(f"A vegan menu {n}.", "Ann", session="new") for n in range(MAX_DIET_LINES + 1)]
    with open_filled(tmp_path, [NewLine("Jo is vegan.", "Ann", session="old"), *others, *menus]) as memory:
        query = "What should I cook for dinner?"
        assert memory.recall(query, 1, where=Filter(session="old"))[0].line.text == "Jo is vegan."
        assert memory.recall(query, 1)[0].line.text.startswith("A vegan menu")
