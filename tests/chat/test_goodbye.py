from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.goodbye import Question, Step, ends_with_farewell, is_goodbye, next_step

NAME = "Captain Nemo"
GOODBYES = """
bye; BYE; Goodbye.; Good-bye!; ok bye then!; Goodbye, Captain; Goodbye, Captain Nemo!; goodbye captain nemo; Bye, Jonas!
gotta go, see you tomorrow; I have to go now. Talk to you later!; Thanks for everything, goodbye!; ok good night
See you later :-); See you on Monday!; That's all for today, thanks; Well, it's late, good night Captain; Goodbye 👋
I’ve got to run - bye!; Have a nice day!; Have a good night, Captain; see ya; cya; Take care, my friend
Tschüss!; Tschüss, bis morgen!; Ich muss jetzt los, mach's gut; Auf Wiedersehen, Herr Nemo; Danke, gute Nacht; Bis bald!
再见; 再見！; 好的，谢谢你，再见！; 我先走了，明天见; 那就晚安啦; 拜拜咯; 再见，小明
¡Adiós!; Adiós, amigo; Bueno, me voy, hasta mañana; Gracias por todo, hasta luego; Nos vemos mañana; Buenas noches
I must be going; I should get going; gn; Sleep well!; I'm done for today, bye
Ciao!; Au revoir; Até amanhã!; Tot ziens; До свидания; またね; 안녕히 계세요
Byeeeee!; Time to go, sweetheart; sorry, have to run; I should go to sleep; Enjoy your evening!; Let's continue tomorrow
Servus!; 先这样吧; Bonne soirée !; Buona serata; Dag!; 잘 가
Bon, j'y vais, à plus !; bisous, bonne nuit; tchau, vou dormir; Falou, mano; ci sentiamo domani, notte!
ik ga slapen, trusten; ладно, я спать, споки; もう寝るね、バイバイ; 이제 자러 갈게, 안녕
""".replace("\n", ";")
TALK = """
Goodbye was her favourite song; she said goodbye to him; He waved goodbye.; Say goodbye!; Goodbye to all that
Tell her bye; I said good night to Mia; bye the way; I have to go to the dentist; I have to go shopping; See you?
Captain Nemo; good; thanks; ok; now; later; tomorrow; Good morning; buy; Are you off?; 88; ...; 👋
Auf Wiedersehen sagte sie; Ich muss los und Brot kaufen; 再见是一首歌; 我明天去北京; 她说再见; adiós es una canción
Le dije adiós a mi madre; Gracias; bis morgen habe ich Zeit; Time to go shopping; I should go to sleep earlier
Je vais dormir chez Léa; vou dormir na casa da avó; ci sentiamo spesso con Anna; ik ga slapen bij oma; 안녕이라고 했어
안녕; 안녕 친구야; Fui; já vou; Je pars demain; Пойду
""".replace("\n", ";")

TALK_WITH_FAREWELL = """
I have to go to work now, goodbye!; My bus is here, bye :-); My bus is here - bye!; Dinner is ready, I have to go. Bye!
I passed my exam. Thanks for your help, see you tomorrow, Captain!; The train leaves at 5:30... bye, Jonas
Ich muss noch einkaufen, tschüss!; 我要去上班了，再见！; Tengo mucho trabajo, hasta luego; Mon train arrive, au revoir !
""".replace("\n", ";")
TALK_WITHOUT_FAREWELL = """
She said: bye; She said:bye; And then he said, "bye"; And then he said, 'bye'; And then he said, ‘bye’
他昨天说「拜拜」; My boss wants me in Madrid. I have to go.; My name, Jonas
I bought milk, bread, and then bye the way some tea; He was tired, so long; I was ill, bye, and then I got up; Mia, bye?
病院に行けなかった、また今度; Ele não veio ontem, falou
""".replace("\n", ";")


def each(texts: str) -> list[str]:
    return [text.strip() for text in texts.split(";") if text.strip()]


@pytest.mark.parametrize("text", each(GOODBYES))
def test_usual_goodbyes_are_recognised(text: str) -> None:
    assert is_goodbye(text, NAME)


@pytest.mark.parametrize("text", [*each(TALK), ""])
def test_a_line_about_a_goodbye_is_no_goodbye(text: str) -> None:
    assert not is_goodbye(text, NAME)


@pytest.mark.parametrize("text", each(TALK_WITH_FAREWELL))
def test_a_farewell_in_its_own_clause_at_the_end_of_other_talk_is_a_goodbye(text: str) -> None:
    assert ends_with_farewell(text, NAME)
    assert step(text) == "ask"


@pytest.mark.parametrize("text", [*each(TALK), *each(TALK_WITHOUT_FAREWELL), ""])
def test_talk_that_quotes_a_goodbye_or_goes_on_after_it_does_not_end_with_one(text: str) -> None:
    assert not ends_with_farewell(text, NAME)
    assert step(text) == "go on"


@pytest.mark.parametrize("text", ["bye " * 25_000, "再见" * 50_000, "bye," * 25_000, "'" * 100_000])
def test_a_very_long_text_is_no_goodbye(text: str) -> None:
    assert not is_goodbye(text, NAME)
    assert not is_goodbye(NAME, text)
    assert not ends_with_farewell(text, NAME)


WORDS = st.lists(st.sampled_from("yes no ok not now bye then 再 见 , . so".split()), max_size=12).map(" ".join)


@given(st.text(max_size=220) | WORDS)
def test_any_text_can_be_parsed(text: str) -> None:
    assert is_goodbye(text, text[:40]) in (True, False)
    assert ends_with_farewell(text, text[:40]) in (True, False)
    assert all(step(text, pending=question) in get_args(Step) for question in get_args(Question))


def step(
    said: str, *, pending: Question = "", begun: bool = True, remember: bool | None = None, asks: bool = True
) -> Step:
    return next_step(said, name=NAME, pending=pending, has_spoken=begun, policy=remember, ends_conversation=asks)


def test_a_goodbye_is_followed_by_the_question_if_the_policy_is_to_ask() -> None:
    assert step("bye") == "ask"
    assert step("bye", asks=False) == "go on"
    assert step("bye", begun=False) == "go on"
    assert step("My sister moved.") == "go on"


def test_a_goodbye_ends_the_conversation_if_the_bank_has_a_policy() -> None:
    assert step("bye", remember=True) == "part"
    assert step("bye", remember=False, begun=False) == "part"
    assert step("bye", remember=True, begun=False) == "go on"


def test_an_answer_counts_only_while_the_question_is_pending() -> None:
    assert (step("yes", pending="remember"), step("yes")) == ("remember", "go on")
    assert (step("no", pending="remember"), step("no")) == ("confirm", "go on")
    assert (step("yes", pending="forget"), step("No. Bye!", pending="forget")) == ("forget", "keep")


@pytest.mark.parametrize("said", ["forget it", "don't forget it", "keep it", "remember it", "yes, keep it"])
def test_whether_to_forget_is_answered_by_a_plain_yes_or_no_alone(said: str) -> None:
    assert step(said, pending="forget") == "ask again"


@pytest.mark.parametrize(
    "said", ["Not now", "Now", "maybe later", "Yes, but not the part about my job", "yes?", "why?"]
)
def test_an_unclear_answer_is_asked_again(said: str) -> None:
    assert (step(said, pending="remember"), step(said)) == ("ask again", "go on")


NEW = ["OK so today I met Anna", "One more thing: she has a dog.", "What is the weather like?", "", "yesterday"]


@pytest.mark.parametrize("said", NEW)
def test_a_new_subject_continues_the_conversation(said: str) -> None:
    assert step(said, pending="remember") == "go on"


def test_a_second_goodbye_is_followed_by_the_question_again() -> None:
    assert step("Goodbye!", pending="remember") == "ask"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Yes, bye!", "remember"),
        ("yes please. Good night Captain", "remember"),
        ("Sure, see you tomorrow", "remember"),
        ("好的，再见", "remember"),
        ("No. Goodbye!", "confirm"),
        ("bye, no thanks", "confirm"),
        ("ok bye, no", "ask"),
        ("yes, no, bye", "ask"),
        ("yes bye", "ask"),
        ("no - bye", "ask again"),
        ("don't - forget it - bye", "ask again"),
        ("no, see you?", "ask again"),
        ("no, I have to go to work, bye", "ask again"),
    ],
)
def test_an_answer_beside_a_goodbye_counts_only_in_its_own_clause(said: str, expected: str) -> None:
    assert step(said, pending="remember") == expected
    assert step(said) in ("ask", "go on")
