"""Tests of what is said in a role play, beside what is said of oneself around it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everthread.facts.role_play import MAX_PLAYED_LINES, find_played
from everthread.memory import Memory
from everthread.types import Line, NewLine, Role

START = datetime(2024, 5, 6, 20, 0, tzinfo=UTC)

BEGINNINGS = [
    "Let's play detectives. I'm Inspector Morrow.",
    "Role play time, I need to escape.",
    "ok lets roleplay",
    "Can we do some role play? I'm the innkeeper.",
    "Roleplay: you are a dragon and I am a knight",
    "I'll be the knight and you be the dragon",
    "You be the innkeeper and I'll be the thief",
    "I'll play a pirate, you can be the captain",
    "Let’s pretend we're on a ship",
    "Lass uns ein Rollenspiel machen",
    "Tun wir so, als wären wir auf einem Schiff",
    "Ich spiele den Ritter und du den Drachen",
    "Hagamos un juego de rol",
    "Hagamos como que somos piratas",
    "我们来玩角色扮演吧",
]

OTHER_TALK = [
    "Let's play tennis on Sunday",
    "I don't like role play",
    "We had to role play a difficult customer at work",
    "The kids play pirates in the garden",
    "I'll be the driver tonight",
    "let's not role play today",
    "Let's pretend nothing happened, ok?",
    "let’s pretend that never happened",
    "Wir tun so, als wäre alles gut",
    "Tun wir so, als wäre nichts gewesen",
    "Ich bin eine Köchin aus Ulm und du ein Roboter",
    "Hagamos como que no pasó nada",
    "I'll be a mum in May and you'll be an uncle",
    "You be the judge, I'll be the first to admit it",
    "You can be a pain but I'll be the bigger person",
    "You play the guitar, I'll play the drums on Sunday",
    "I'd like to pretend to be fine but I'm not",
    "Let's play Kings of Leon",
    "Let's play house music tonight",
    "Ich will kein Rollenspiel mehr",
    "Ich möchte bei dem Rollenspiel am Samstag nicht mitmachen",
    "Ich spiele die Geige und du die Trommel",
    "Juguemos a las cartas",
    "¿Podemos hacer una pausa del rol?",
    "我不想角色扮演了",
    "我想买角色扮演服",
    "角色扮演是我的爱好",
]

ENDINGS = ["ok, out of character: I have to go", "Let's stop the role play here.", "Back to reality!", "That was fun!"]


def say(*texts: str, session: str = "s", pause: timedelta = timedelta(minutes=1), role: Role = "user") -> list[Line]:
    return [Line(seq, session, role, "Nora", text, START + seq * pause) for seq, text in enumerate(texts, 1)]


@pytest.mark.parametrize("text", BEGINNINGS)
def test_a_role_play_goes_on_after_the_line_that_begins_it(text: str) -> None:
    assert find_played(say(text, "I live in Whitechapel.")) == {1, 2}


@pytest.mark.parametrize("text", OTHER_TALK)
def test_talk_of_games_begins_no_role_play(text: str) -> None:
    assert find_played(say(text, "I live in Leeds.")) == set()


@pytest.mark.parametrize("text", ENDINGS)
def test_a_person_ends_a_role_play(text: str) -> None:
    assert find_played(say("Let's role play.", "I'm a knight.", text, "I live in Leeds.")) == {1, 2}


def test_a_role_play_ends_with_a_long_pause() -> None:
    assert find_played(say("Let's role play.", "I live in Leeds.", pause=timedelta(hours=4))) == {1}


def test_a_role_play_ends_after_many_lines() -> None:
    played = find_played(say("Let's role play.", *["Aye!"] * (MAX_PLAYED_LINES + 5)))
    assert played == set(range(1, MAX_PLAYED_LINES + 1))


def test_a_role_play_is_that_of_its_session() -> None:
    one, other = say("Let's role play.")[0], say("", "I live in Leeds.", session="other")[1]
    assert find_played([one, other]) == {1}


def test_a_chatbot_begins_none() -> None:
    assert find_played(say("Let's role play!", role="assistant")) == set()


def test_what_is_said_in_a_role_play_is_no_fact(memory: Memory) -> None:
    for text in ("I live in Leeds.", "Let's play detectives!", "I live in Whitechapel.", "I'm allergic to silver."):
        memory.observe(text, speaker="Nora", session="evening")
        memory.facts()  # read after each line, as in a chat
    memory.observe_many([NewLine("Back to reality: I'm a nurse.", "Nora", session="evening")])
    assert [(fact.attribute, fact.value) for fact in memory.facts()] == [("home", "Leeds"), ("occupation", "nurse")]
