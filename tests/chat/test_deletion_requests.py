"""Which messages ask to forget or take back what was said."""

from __future__ import annotations

import pytest

from everthread.chat.deletion_requests import is_deletion_request


@pytest.mark.parametrize(
    "text",
    [
        "undo",
        "Undo that!",
        "delete my last message",
        "can u delete this?",
        "forget what i said about mondays",
        "Please forget everything I told you",
        "dont remember that",
        "forget that i worked at greggs",
        "Please forget that I'm allergic to peanuts",
        "forget im allergic to peanuts",
        "forget that i've moved",
        "forget my birthday",
        "Vergiss, was ich gesagt habe",
        "vergiss alles über jonas",
        "vergiss dass ich bei rewe gearbeitet hab",
        "Vergiss, dass ich bei Rewe gearbeitet habe",
        "vergiss was ich über Mia gesagt habe",
        "lösch meine letzte Nachricht",
        "Oublie ce que j'ai dit",
        "efface mon dernier message",
        "oublie que je suis allergique aux noix",
        "olvida lo que dije",
        "borra mi último mensaje",
        "olvida q trabajé en el bar",
        "olvida que soy alérgico a las nueces",
        "olvida todo lo de pablo",
        "olvida lo de pablo",
        "忘记我刚才说的话",
        "撤回",
        "さっき言ったことを忘れて",
        "元に戻して",
        "健太について言ったことを忘れて",
        "oublie tout ce que j'ai dit à propos de mon vélo",
        "Esqueça o que eu disse sobre o João",
        "apaga minha última mensagem",
        "Dimentica quello che ho detto su Marco",
        "vergeet wat ik over mijn werk zei",
        "забудь всё, что я говорила про Диму",
        "удали последнее сообщение",
        "민수에 대해 말한 거 잊어줘",
        "마지막 메시지 지워줘",
    ],
)
def test_a_request_to_delete_is_recognised(text: str) -> None:
    assert is_deletion_request(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget it",
        "forget what i said about monday, it's tuesday",
        "I deleted my last message",
        "delete",
        "undo is my favourite button",
        "I can't forget what I said",
        "forget that idea",
        "i forget that i need sleep",
        "forget that my boss is awful, he is nice",
        "Vergiss nicht den Termin",
        "vergiss dass er kommt",
        "vergiss mein nicht",
        "Olvida que es tarde",
        "别忘记我的生日",
        "忘れてしまった",
        "esqueça disso, vamos jantar",
        "Non dimenticare il latte",
        "vergeet niet te eten",
        "забудь об этом",
        "약속을 잊어버렸어",
        "",
    ],
)
def test_other_messages_ask_for_something_else(text: str) -> None:
    assert not is_deletion_request(text)
