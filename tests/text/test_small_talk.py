import pytest

from everthread.text.line_features import UNINFORMATIVE, is_small_talk, line_flags


@pytest.mark.parametrize(
    "text",
    [
        *("Guten Morgen!", "Danke dir, bis bald!", "Bonjour !", "Merci beaucoup, c'est tout.", "¡Buenos días!"),
        *("Muchas gracias, hasta mañana.", "Bom dia!", "Muito obrigada", "Buongiorno!", "Grazie mille, a domani"),
        *("Goedemorgen!", "Dank je wel, tot morgen!", "Доброе утро!", "Спасибо большое", "おはようございます！"),
        *("ありがとう、また明日！", "안녕하세요!", "고마워요, 내일 봐요!"),
        *(
            "mdr",
            "coucou ça va ?",
            "kkkkkk",
            "e aí, beleza?",
            "ahahah",
            "hoe gaat het?",
            "doeiiii",
            "ахах",
            "как дела?",
        ),
        *("спокойной ночи, до завтра", "うける笑", "おはよー", "ㅋㅋㅋㅋ", "ㅇㅇ", "헐 대박"),
    ],
)
def test_small_talk_is_known_in_every_language(text: str) -> None:
    assert is_small_talk(text)
    assert line_flags(text) & UNINFORMATIVE


@pytest.mark.parametrize(
    "text",
    [
        *("Guten Morgen, Herr Krüger!", "Danke für das Fahrrad.", "Merci pour le vélo", "Gracias por la bicicleta."),
        *(
            "Grazie per la cena",
            "Спасибо за торт",
            "昨日はありがとう、楽しかった。",
            "자전거 고마워요",
            "Bonne nuit à mamie",
            "ахах кот упал",
            "kkkk perdi o ônibus",
            "Son, see me",
            "Je suis Ben",
            "Eu sou o Jesus",
        ),
    ],
)
def test_a_topic_is_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_a_row_of_ambiguous_phrases_is_read_in_linear_time() -> None:
    assert not is_small_talk("またまた明日" * 13 + "x")
