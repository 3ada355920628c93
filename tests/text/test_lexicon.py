import pytest
import Stemmer

from everthread.text.analyzer import analyze, detect_language, normalize
from everthread.text.lexicon import LEXICONS, Lexicon, find_language

EVERY = pytest.mark.parametrize("lexicon", LEXICONS.values(), ids=LEXICONS)


@EVERY
def test_every_list_is_folded_as_texts_are(lexicon: Lexicon) -> None:
    lists = (lexicon.stop, lexicon.markers, lexicon.borrowed, lexicon.elisions, lexicon.stop_pairs, lexicon.endings)
    words = [
        word for each in (*lists, lexicon.time_questions, lexicon.small_talk, lexicon.regular_forms) for word in each
    ]
    assert [word for word in words if word != normalize(word)] == []


@EVERY
def test_every_stemmer_exists_and_every_language_has_function_words(lexicon: Lexicon) -> None:
    assert not lexicon.stemmer or lexicon.stemmer in Stemmer.algorithms()
    assert lexicon.stemmer or lexicon.script
    assert lexicon.stop


@pytest.mark.parametrize(
    ("words", "language"),
    [
        *((["mein", "hund"], "de"), (["mon", "chien"], "fr"), (["de", "chien"], "en"), (["hund"], "en"), ([], "en")),
        (["i", "love", "my", "abuela"], "en"),
        (["mi", "abuela", "es", "de", "polonia"], "es"),
        (["mein", *["apa"] * 20], "en"),
    ],
)
def test_function_words_decide_and_names_do_not(words: list[str], language: str) -> None:
    assert find_language(" ".join(words), words) == language


def test_a_character_that_one_language_alone_has_decides() -> None:
    assert find_language("¿mascotas?", ["mascotas"]) == "es"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *((text, "it") for text in ("Quand'è l'appuntamento dal dentista?", "Com'è andata la visita?", "Dov'è?")),
        *((text, "it") for text in ("L'ho perso.", "Anch'io amo i cani.", "Nell'orto crescono pomodori.")),
        *(
            (text, "fr")
            for text in ("Qu'est-ce qui s'est passé ?", "C'est super !", "J'adore Lyon.", "D'où vient Marie ?")
        ),
        *((text, "de") for text in ("Gibt's was Neues?", "Wie geht's meinem Hund?")),
        *((text, "pt") for text in ("Que instrumento eu toco?", "Bom dia!")),
        *(
            (text, "en")
            for text in ("What's my dog's name?", "Who'd you meet?", "C'mon!", "Rock'n'roll!", "O'Brien called.")
        ),
        *(
            (text, "en")
            for text in ("I'm with D'Angelo at L'Oréal.", "Jeanne d'Arc", "Hors d'oeuvres", "It's five o'clock.")
        ),
    ],
)
def test_parts_of_words_with_an_apostrophe_decide_and_contractions_do_not(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_line_with_elisions_has_the_terms_of_its_language() -> None:
    assert analyze("Quand'è l'appuntamento dal dentista?")[0] == analyze("Appuntamenti, dentisti: è quando?")[0]
