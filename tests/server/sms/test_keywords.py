"""Keywords: only a whole message is a keyword."""

import pytest

from everthread.chat.consent import parse_yes_no
from everthread.server.messaging.commands import GroupRequest, find_group_request, find_language_request
from everthread.server.sms.channel import SMS
from everthread.server.sms.keywords import find_command


@pytest.mark.parametrize("word", ["STOP", "stop", " Stop. ", "STOPALL", "Unsubscribe!", "cancel", "END", "quit"])
def test_stop_is_recognised_in_any_spelling(word: str) -> None:
    assert find_command(word) == "stop"


@pytest.mark.parametrize(
    ("word", "keyword"), [("START", "start"), ("unstop", "start"), ("Yes", "yes"), ("info?", "help")]
)
def test_start_yes_and_help_are_recognised(word: str, keyword: str) -> None:
    assert find_command(word) == keyword


@pytest.mark.parametrize("text", ["Don't stop now", "stop it", "The end", "I need help", "", "yes please", "quitting"])
def test_a_sentence_with_a_keyword_is_not_a_keyword(text: str) -> None:
    assert find_command(text) is None


@pytest.mark.parametrize(
    ("text", "command"), [("Forget me!", "forget me"), ("Forget everything, please", "forget everything")]
)
def test_requests_to_be_forgotten_are_commands_too(text: str, command: str) -> None:
    assert find_command(text) == command


@pytest.mark.parametrize(
    ("language", "help_word", "forget_me", "group", "end_group", "other_language", "yes", "no"),
    [
        ("en", "HELP", "FORGET ME", "GROUP:", "END GROUP", "LANGUAGE ESPAÑOL", "YES", "NO"),
        ("de", "HILFE", "VERGISS MICH", "GRUPPE:", "GRUPPE BEENDEN", "SPRACHE ENGLISCH", "JA", "NEIN"),
        ("fr", "AIDE", "OUBLIE-MOI", "GROUPE :", "QUITTER LE GROUPE", "LANGUE ANGLAIS", "OUI", "NON"),
        ("es", "AYUDA", "BORRA MIS DATOS", "GRUPO:", "SALIR DEL GRUPO", "IDIOMA INGLES", "SÍ", "NO"),
        ("zh", "帮助", "忘记我", "群聊：", "结束群聊", "语言 英语", "是", "否"),
        ("ja", "ヘルプ", "私を忘れて", "グループ：", "グループ終了", "言語 英語", "はい", "いいえ"),
    ],
)
def test_the_texts_of_a_language_name_words_that_are_understood(
    language: str, help_word: str, forget_me: str, group: str, end_group: str, other_language: str, yes: str, no: str
) -> None:
    texts = {name: SMS.render_text(name, 0, language) for name in ("help", "started", "forget?")}
    assert help_word in texts["started"]
    assert find_command(help_word) == "help"
    commands = (forget_me, group, end_group, other_language, "STOP", "START")
    assert [words for words in commands if words not in texts["help"]] == []
    assert (find_group_request(group), find_group_request(end_group)) == (GroupRequest(), GroupRequest(is_end=True))
    assert find_command(forget_me) == "forget me"
    assert find_language_request(other_language) == ("es" if language == "en" else "en")
    assert all(answer in texts["forget?"] for answer in (yes, no))
    assert (parse_yes_no(yes), parse_yes_no(no)) == (True, False)


def test_one_line_is_written_in_the_singular() -> None:
    assert "1 line." in SMS.render_text("forgotten", 1)
    assert "2 lines." in SMS.render_text("forgotten", 2)
