from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bank.settings import remember_policy
from everthread.chat.consent import (
    MAX_ANSWER_CHARS,
    PHRASES_FILE,
    is_unclear,
    parse_consent,
    parse_yes_no,
)
from everthread.types import JSONValue

YES = """
y; Yes; YES!; yes.; yep; yeah; sure; Sure thing!; ok; OK, thanks; okay
Okay please; yes, please do; do; do it; go ahead
Go ahead, thank you; of course; certainly; by all means; remember it
please remember this; Yes, remember everything
keep it; yes keep all; don't forget it; Don’t forget!; dont forget this
do not forget it; Yes, don't forget it
never forget; please don't forget; ja; Ja, bitte; ja, gerne; jawohl; Natürlich!
oui; oui, merci; bien sûr; D'accord
sí; si\u0301; Sí, claro; sim; да; Да, конечно; はい; 네; 是; 是的; 好; 好的; 好的，谢谢; 好的谢谢
可以; 记住; 请记住; 记住吧
别忘了; 别忘; 不要忘记; 请不要忘记; 忘れないで; 👍; 👍🏽; ok 👍; ✅; ✔️ yes; "yes"; (yes); yes...; yes 😀
nicht vergessen
""".replace("\n", ";")
NO = """
n; No; NO!; no.; nope; nah; Nah, thanks; no thanks; No, thank you; no please
don't; Don’t; please don't; do not; never
No, never!; no no no; no, don't; no don't remember it; don't remember this
do not remember; never remember it
forget it; please forget it; Forget everything.; no, forget it; No. Forget it.
don't, forget it; delete it; no way
of course not; certainly not; rather not; I'd rather not; nein; Nein danke
nein, danke; Nein, lieber nicht; bitte nicht
non; Non, merci; no, gracias; não; na\u0303o; нет; いいえ; 아니요; 不; 不要; 不用; 不用了，谢谢
不用了谢谢; 不行; 别; 不要记住
别记; 不要记; 请不要记住; 忘了吧; 不，忘掉吧; 不要，忘掉; 👎; no 👎; vergiss es
""".replace("\n", ";")
NEITHER = """
not now; now; maybe; no problem, keep it; no problem
yes but not the part about my job; yes, but not my job
yes and no; yes/no; yes or no; no, yes; yes no; I don't mind; never mind; why not
know; I know; noon; okra; donut; nowhere
yesterday; not; not sure; not really; no idea; I don't know; don't know; whatever
你; 好不好; 要不要; 行不行; 不好; 不是
不要不记; 不要 忘掉; 别 忘; 不要忘了吧; no forget it; no forget; please no forget
no, don't forget it; yes, forget it
ok, don't; ok forget it; never don't remember; don't not remember
don't don't remember; do don't; forget not
remember no; don't remember everything; don't remember all of it
don't forget everything; forget it, but keep my name
remember my name; remember me; forget me; don't forget to forget
no, not everything; not the end; yes?; no?; 好？; ok?
is that a yes; no comment; say no more; do nothing; thanks; please; it
this conversation; danke; 请; 谢谢; 不用谢; 请勿
👍👎; yes 👎; no 👍; 😀; 🤷; !!!; ...; ?; -; ''; 1; 0; true; y e s; N.O.
y\u0336e\u0336s\u0336; yes​no; да нет; vergiss
of; course; go; by; rather; everything; all; end; /end; yes\x00no; don't worry
don't stop; ja nein; no es nada; sí pero no
""".replace("\n", ";")


def each(table: str) -> list[str]:
    return [answer for answer in (part.strip() for part in table.split(";")) if answer]


@pytest.mark.parametrize("answer", each(YES))
def test_a_yes_is_a_yes(answer: str) -> None:
    assert parse_consent(answer) is True


@pytest.mark.parametrize("answer", each(NO))
def test_a_no_is_a_no(answer: str) -> None:
    assert parse_consent(answer) is False


@pytest.mark.parametrize("answer", [*each(NEITHER), "", " ", "\n", "yes\nno", "\u202eyes on"])
def test_an_unclear_answer_is_neither_yes_nor_no(answer: str) -> None:
    assert parse_consent(answer) is None


@pytest.mark.parametrize(
    "answer", ["remember it", "keep it", "don't forget it", "forget it", "delete it", "don't remember", "记住", "忘掉"]
)
def test_commands_to_remember_answer_no_other_question(answer: str) -> None:
    assert parse_yes_no(answer) is None
    assert parse_consent(answer) is not None


@pytest.mark.parametrize(
    ("answer", "is_yes"), [("yes", True), ("Ja!", True), ("no", False), ("don't", False), ("eh", None)]
)
def test_a_plain_answer_answers_any_question(answer: str, is_yes: bool | None) -> None:
    assert parse_yes_no(answer) is parse_consent(answer) is is_yes


def test_a_long_text_is_no_answer() -> None:
    assert parse_consent("yes " * (MAX_ANSWER_CHARS // 4)) is True
    assert parse_consent("yes " * 250_000) is None
    assert parse_consent("no" + " " * 1_000_000) is None


@given(st.text(max_size=60))
def test_only_known_phrases_are_an_answer(text: str) -> None:
    assert parse_consent(f"{text} xyzzy") is None
    assert parse_consent(f"xyzzy {text}") is None


@given(st.sampled_from(each(YES)), st.sampled_from(each(NO)))
def test_a_yes_and_a_no_together_are_unclear(yes: str, no: str) -> None:
    assert parse_consent(f"{yes}, {no}") is None
    assert parse_consent(f"{no}, {yes}") is None


@pytest.mark.parametrize(("value", "answer"), [("always", True), ("ask", None), ("never", False)])
def test_the_setting_of_a_bank_decides(value: str, answer: bool | None) -> None:
    assert remember_policy({"remember": value}) is answer


@pytest.mark.parametrize("value", [None, "", "Always", True, 1, ["never"], "yes"])
def test_an_unknown_setting_leaves_the_decision_to_the_user(value: JSONValue) -> None:
    assert remember_policy({"remember": value}) is None
    assert remember_policy({}) is None


def test_every_phrase_of_the_file_is_read_as_its_answer() -> None:
    languages = tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8"))
    phrases = [(kind, text) for kinds in languages.values() for kind, texts in kinds.items() for text in texts]
    for kind, text in phrases:
        match kind:
            case "yes" | "do" | "no" | "do_not":
                assert parse_yes_no(text) is parse_consent(text) is (kind in ("yes", "do")), text
            case "remember" | "do_not_remember" | "forget":
                assert parse_consent(text) is (kind == "remember"), text
                assert parse_yes_no(text) is None, text
            case "filler" | "hesitation":
                assert parse_consent(text) is None, text
                assert is_unclear(text), text
            case _:
                pytest.fail(f"unknown kind {kind!r}")
