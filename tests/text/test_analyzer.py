import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.common.keys import META_ECHO
from everthread.stores.json_text import canonical_json
from everthread.text.analyzer import (
    HEAD_CHARS,
    MAX_TERM_CHARS,
    STOP_CHARACTERS,
    STOP_WORDS,
    analyze,
    count_terms,
    detect_language,
    is_unspaced_script,
    normalize,
    remove_quotes,
    remove_quotes_json,
    split_words,
    terms,
)

ANYTHING = st.text(max_size=60)
CJK = st.text("今天我去图书馆学习日本語のテスト한국어", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("form", "other"),
    [("cats", "cat"), ("running", "runs"), ("moved", "moving"), ("stories", "story"), ("argued", "arguing")],
)
def test_inflected_forms_of_a_word_share_one_term(form: str, other: str) -> None:
    assert terms(form) == terms(other)


@pytest.mark.parametrize(
    ("form", "word"),
    [
        *(("went", "go"), ("gone", "go"), ("bought", "buy"), ("taught", "teach"), ("chosen", "choose")),
        *(("children", "child"), ("mice", "mouse"), ("wives", "wife"), ("mom", "mother"), ("daddy", "father")),
    ],
)
def test_irregular_forms_share_the_term_of_their_word(form: str, word: str) -> None:
    assert terms(form) == terms(word) != []


@pytest.mark.parametrize(
    "text",
    ["Café", "CAFE", "cafe\u0301", "ｃａｆｅ", "ca\u00adfe", "c\u200baf\u200de", "\ufeffcafe", "\u202ecafe\u202c"],
)
def test_case_accents_widths_and_invisible_characters_do_not_change_terms(text: str) -> None:
    assert terms(text) == terms("cafe")


def test_a_letter_that_folds_into_two_stays_in_its_word() -> None:
    assert terms("İstanbul") == terms("istanbul")
    assert terms("Straße") == terms("STRASSE")


@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_stop_words_are_not_terms(word: str) -> None:
    assert terms(word) == []


@pytest.mark.parametrize(("short", "long"), [("she's", "she"), ("don't", "do"), ("we’ll", "we"), ("Mia's", "mia")])
def test_contractions_are_reduced_to_their_word(short: str, long: str) -> None:
    assert split_words(short) == [long]


def test_digits_are_terms_and_punctuation_is_not() -> None:
    assert terms("Room 42, at 7:30!") == ["room", "42", "7", "30"]
    assert terms("…!? 🎉 — _") == []


def test_chinese_is_split_into_characters_and_pairs() -> None:
    assert terms("图书馆") == ["图", "书", "馆", "图书", "书馆"]


def test_a_pair_never_spans_a_punctuation_mark() -> None:
    assert "天我" not in terms("今天，我去")
    assert "天我" in terms("今天我去")


def test_adjacent_scripts_are_split_separately() -> None:
    assert terms("我爱Python3") == ["爱", "我爱", "python3"]


@pytest.mark.parametrize("character", sorted(STOP_CHARACTERS))
def test_a_stop_character_is_a_term_only_in_a_pair(character: str) -> None:
    assert terms(character) == []
    assert terms(f"{character}猫") == ["猫", f"{character}猫"]


def test_a_word_of_stop_characters_can_still_be_found() -> None:
    assert terms("太太") == ["太太"]
    assert terms("小说") == ["小", "小说"]


def test_hindi_vowel_signs_stay_in_their_word() -> None:
    assert split_words("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]


def test_arabic_and_hebrew_are_read_as_words() -> None:
    assert len(terms("مرحبا بالعالم")) == 2
    assert len(terms("שלום עולם")) == 2


def test_text_in_an_unspaced_script_is_detected() -> None:
    assert is_unspaced_script("hello 世界")
    assert is_unspaced_script("我喜欢 pizza")
    assert not is_unspaced_script("is she happy with the flat ヽ(•‿•)ノ")
    assert not is_unspaced_script("what did we cook with 田中 at the weekend?")
    assert not is_unspaced_script("hello wörld")


@given(CJK)
def test_the_terms_of_a_term_include_the_term_itself(text: str) -> None:
    assert all(term in terms(term) for term in terms(text))


@given(ANYTHING)
def test_every_term_has_between_one_and_the_maximum_of_characters(text: str) -> None:
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in terms(text))


@given(ANYTHING)
def test_unicode_composition_does_not_change_latin_terms(text: str) -> None:
    latin = "".join(c for c in text if ord(c) < 0x180 and c not in "ŉſİı")
    assert terms(latin) == terms(unicodedata.normalize("NFD", latin))


@given(ANYTHING)
def test_normalising_twice_equals_normalising_once(text: str) -> None:
    ascii_only = text.encode("ascii", "ignore").decode()
    assert normalize(normalize(ascii_only)) == normalize(ascii_only)


@given(st.text("abc de\n图书", max_size=4 * HEAD_CHARS))
def test_a_term_occurs_in_the_head_at_most_as_often_as_in_the_line(text: str) -> None:
    found = count_terms(text)
    assert found.length == len(analyze(text)[0]) <= sum(n for n, _ in found.terms.values())
    assert all(head <= n for n, head in found.terms.values())
    if len(text) <= HEAD_CHARS:
        assert found.head_length == found.length


def test_only_the_first_characters_are_the_head() -> None:
    found = count_terms("apple " + "x" * HEAD_CHARS + " banana")
    assert found.terms["appl"] == (1, 1)
    assert found.terms["banana"] == (1, 0)


# ------------------------------------------------------------------------- languages


@pytest.mark.parametrize(
    ("line", "question", "shared"),
    [
        ("Meine Katze heißt Mimi.", "Wie heißen unsere Katzen?", {"heiss", "katz"}),
        ("J'ai adopté deux chats à l'hôpital.", "Où est-ce que tu as adopté le chat ?", {"adopt", "chat"}),
        ("Mi hermana vive en Cádiz.", "¿Dónde viven mis hermanas?", {"viv", "herman"}),
        ("Ontem comprei uma bicicleta nova.", "Eu tenho bicicletas?", {"biciclet"}),
        ("Lavoro all'ospedale di Torino.", "In quali ospedali ho lavorato?", {"ospedal", "lavor"}),
        ("Mijn broer heeft een nieuwe fiets.", "Hoeveel fietsen heeft mijn broer?", {"fiet", "broer"}),
        ("Я работаю в больнице.", "В какой больнице ты работал?", {"работа", "больниц"}),
        ("私の猫の名前はミミです。", "猫は何という名前ですか？", {"猫", "名", "前", "名前"}),
        ("우리 고양이가 아파요.", "고양이는 어때?", {"고양", "양이"}),
        ("Nao posso comer camarão.", "o que nao posso comer?", {"com"}),
        ("Ma sœur est arrivée.", "ou est ma soeur", {"soeur"}),
        ("Ma mamie est tombée.", "Où est ma grand-mère ?", {"mam"}),
        ("O carnavalll foi ótimo", "Como foi o carnaval?", {"carnaval"}),
        ("Minha vó fez bolo.", "Quem é a minha avó?", {"avozinh"}),
        ("Lavoro come fioraia.", "Qual è il mio mestiere?", {"lavor"}),
        ("Mijn zusje is jarig.", "Wanneer is mijn zus jarig?", {"zus"}),
        ("Папа заболел.", "Чем болен мой отец?", {"пап"}),
        ("母が骨折した。", "お母さんは元気？", {"母"}),
        ("健太と小樽に行った。", "健太くんの話", {"健", "健太"}),
        ("민수가 폰을 샀어", "휴대폰을 언제 샀지", {"핸드", "드폰", "사"}),
        ("엽서를 뽑았는데 예뻐", "엽서 몇 장 뽑았지", {"엽서", "뽑"}),
    ],
)
def test_a_question_and_a_line_of_a_language_share_its_words_in_other_forms(
    line: str, question: str, shared: set[str]
) -> None:
    assert shared <= set(analyze(line)[0]) & set(analyze(question)[0])


def test_function_words_of_a_language_are_not_terms() -> None:
    assert analyze("Wie heißt meine Katze?")[0] == ["heiss", "katz"]
    assert analyze("Qu'est-ce que j'ai mangé hier ?")[0] == ["mang", "hi"]
    assert analyze("私は何ですか？")[0] == ["私は", "は何", "何で"]


@pytest.mark.parametrize("word", ["hotel", "Thomas", "Kubernetes"])
def test_a_line_in_any_language_is_found_by_an_english_question_with_the_same_word(word: str) -> None:
    (term,) = terms(word)
    for line in (f"Ich habe gestern das {word} gesehen.", f"J'ai vu l'{word} avec ma sœur.", f"Мы были в {word}."):
        assert term in count_terms(line).terms


def test_a_second_form_of_a_term_does_not_make_a_line_longer() -> None:
    found = count_terms("Ich wohne mit Thomas in einer Wohnung.")
    assert {"thomas", "thoma"} <= found.terms.keys()
    assert found.length == len(analyze("Ich wohne mit Thomas in einer Wohnung.")[0]) < len(found.terms)


@pytest.mark.parametrize(
    "line",
    [
        "We stayed in Los Angeles, then in El Paso and La Paz.",
        "Tell me about the van Gogh show, was it good?",
        "See ya Nate!",
        "I don't know what's in the café's crème brûlée.",
        "Die Hard is on tonight.",
    ],
)
def test_names_and_borrowed_words_leave_an_english_line_english(line: str) -> None:
    assert (detect_language(line), analyze(line)) == ("en", (terms(line), {}))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *(("Wo wohnt mein Bruder?", "de"), ("Où habite mon frère ?", "fr"), ("¿Dónde vive mi hermano?", "es")),
        *(("Onde mora o meu irmão?", "pt"), ("Dove abita mio fratello?", "it"), ("Waar woont mijn broer?", "nl")),
        *(("Где живёт мой брат?", "ru"), ("兄はどこに住んでいますか？", "ja"), ("오빠는 어디에 살아?", "ko")),
        *(("我哥哥住在哪里？", "zh"), ("Where does my brother live?", "en"), ("", "en"), ("42 €", "en")),
    ],
)
def test_the_language_of_a_short_question_is_recognised(text: str, language: str) -> None:
    assert detect_language(text) == language


# ---------------------------------------------------------------------------- echoes


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], "abcdef"),
        ([[1, 3]], "a def"),
        ([[0, 2], [4, 6]], " cd "),
        ([[0, 6]], " "),
        ([[0, 2], [2, 4]], "  ef"),
        ([[0, 2], [1, 4]], " cdef"),
        ([[4, 5], [0, 1]], "abcd f"),
        ([[0, 7], [-1, 2], [3, 3], [2, 1]], "abcdef"),
        ([None, "ab", [1], [1, 2, 3], [True, 2], [1.0, 2], ["1", 2], [1, 2]], "a cdef"),
        ("ab", "abcdef"),
        (None, "abcdef"),
        ({"0": 1}, "abcdef"),
    ],
)
def test_quoted_spans_are_removed_from_a_line(spans: Any, expected: str) -> None:
    assert (
        remove_quotes("abcdef", {META_ECHO: spans})
        == remove_quotes_json("abcdef", canonical_json({META_ECHO: spans}))
        == expected
    )


def test_a_line_without_quotes_is_returned_unchanged() -> None:
    text = "The kettle sings."
    assert remove_quotes(text, {"n": 1}) is text
    assert remove_quotes_json(text, '{"n":"everthread.echo"}') == text


def test_a_grandmother_and_a_grandfather_differ_by_their_accent() -> None:
    assert not set(analyze("A minha avó dorme.")[0]) & set(analyze("Onde está o meu avô?")[0])


def test_roman_numerals_are_not_shortened_like_stretched_words() -> None:
    assert analyze("Le roi de mon livre est Louis XIII.")[0] != analyze("Le roi de mon livre est Louis XI.")[0]


def test_single_letters_of_hangul_are_no_terms() -> None:
    assert analyze("대박 ㅋㅋㅋㅋ")[0] == analyze("대박")[0]
