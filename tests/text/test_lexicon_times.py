from datetime import datetime

import pytest

from everthread.text.analyzer import normalize
from everthread.text.lexicon_times import asks_for_time, find_months, find_past_times
from everthread.text.time_expressions import Date, Span

NOW = datetime(2024, 3, 14, 15)  # a Thursday
YESTERDAY = Span(datetime(2024, 3, 13), datetime(2024, 3, 14))
BEFORE_YESTERDAY = Span(datetime(2024, 3, 12), datetime(2024, 3, 13))
TODAY = Span(datetime(2024, 3, 14), datetime(2024, 3, 15))
THIS_WEEK = Span(datetime(2024, 3, 11), datetime(2024, 3, 18))
LAST_WEEK = Span(datetime(2024, 3, 4), datetime(2024, 3, 11))
WEEK_AGO = Span(datetime(2024, 3, 4), datetime(2024, 3, 11))
YEAR_AGO = Span(datetime(2022, 9, 14), datetime(2023, 9, 14))
TWENTY_YEARS_AGO = Span(datetime(2003, 9, 14), datetime(2004, 9, 13))
LAST_MONTH = Span(datetime(2024, 2, 1), datetime(2024, 3, 1))
LAST_YEAR = Span(datetime(2023, 1, 1), datetime(2024, 1, 1))


@pytest.mark.parametrize(
    ("language", "question", "span", "rest"),
    [
        ("de", "Was habe ich gestern gekauft?", YESTERDAY, "was habe ich gekauft?"),
        ("fr", "Qu'ai-je fait la semaine dernière ?", LAST_WEEK, "qu'ai-je fait ?"),
        ("es", "¿Adónde fuimos el año pasado?", LAST_YEAR, "¿adónde fuimos ?"),
        ("pt", "O que comprei ontem?", YESTERDAY, "o que comprei ?"),
        ("it", "Dove siamo andati l'anno scorso?", LAST_YEAR, "dove siamo andati ?"),
        ("nl", "Wat deed ik vorige week?", LAST_WEEK, "wat deed ik ?"),
        ("ru", "Что я купила вчера?", YESTERDAY, "что я купила ?"),
        ("ja", "昨日何を買いましたか？", YESTERDAY, "何を買いましたか?"),
        ("ko", "작년에 어디 갔지?", LAST_YEAR, "어디 갔지?"),
        ("zh", "我昨天晚上买了什么？", YESTERDAY, "我 买了什么?"),
        ("zh", "前天谁来了？", BEFORE_YESTERDAY, "谁来了?"),
        ("zh", "上周五我去了哪里？", LAST_WEEK, "我去了哪里?"),
        ("zh", "我們上個禮拜吃了什麼？", LAST_WEEK, "我們 吃了什麼?"),
        ("zh", "上个月我付了多少？", LAST_MONTH, "我付了多少?"),
        ("zh", "去年我住在哪儿？", LAST_YEAR, "我住在哪儿?"),
        ("fr", "j'ai fait quoi l'annee derniere ?", LAST_YEAR, "j'ai fait quoi ?"),
        ("fr", "De quoi on a parlé cette semaine ?", THIS_WEEK, "de quoi on a parlé ?"),
        ("pt", "o que eu falei hoje?", TODAY, "o que eu falei ?"),
        ("de", "Was habe ich vor zwei Tagen gesagt?", BEFORE_YESTERDAY, "was habe ich gesagt?"),
        ("es", "¿Qué comí hace dos días?", BEFORE_YESTERDAY, "¿qué comí ?"),
        ("fr", "Qu'ai-je mangé il y a deux jours ?", BEFORE_YESTERDAY, "qu'ai-je mangé ?"),
        ("pt", "O que comi há 2 dias?", BEFORE_YESTERDAY, "o que comi ?"),
        ("pt", "O que comi dois dias atrás?", BEFORE_YESTERDAY, "o que comi ?"),
        ("it", "Cosa ho mangiato due giorni fa?", BEFORE_YESTERDAY, "cosa ho mangiato ?"),
        ("nl", "Wat at ik twee dagen geleden?", BEFORE_YESTERDAY, "wat at ik ?"),
        ("ru", "Что я ела два дня назад?", BEFORE_YESTERDAY, "что я ела ?"),
        ("ru", "Что было за прошлую неделю?", LAST_WEEK, "что было ?"),
        ("ja", "2日前に何を食べた？", BEFORE_YESTERDAY, "に何を食べた?"),
        ("ja", "昨日何を食べたっけ", YESTERDAY, "何を食べたっけ"),
        ("ko", "저번 주에 뭐 먹었지", LAST_WEEK, "뭐 먹었지"),
        ("ko", "2일 전에 뭐 먹었어?", BEFORE_YESTERDAY, "뭐 먹었어?"),
        ("ru", "Что было год назад?", YEAR_AGO, "что было ?"),
        ("ru", "Что было один год назад?", YEAR_AGO, "что было ?"),
        ("pt", "O que comprei faz uma semana?", WEEK_AGO, "o que comprei ?"),
        ("ja", "二十年前にどこに住んでいた？", TWENTY_YEARS_AGO, "にどこに住んでいた?"),
    ],
)
def test_relative_times_of_a_question_are_spans_in_the_past(
    language: str, question: str, span: Span, rest: str
) -> None:
    times, timeless = find_past_times(normalize(question), language, NOW)
    assert (times, " ".join(timeless.split())) == ((span,), rest)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Gestern war ich müde."),
        ("de", "Was isst sie?"),
        ("fr", "Quel jour sommes-nous aujourd'hui ?"),
        ("ko", "어제 늦게 잤다"),
        ("zh", "我昨天很累。"),
        ("zh", "大前天谁来了？"),
        ("zh", "上上周谁来了？"),
        ("zh", "晚上周日谁来？"),
        ("zh", "登上月球？"),
        # a number of which only the end is known
        ("ru", "Где я жил двадцать лет назад?"),
        ("ru", "Где я жил двадцать два года назад?"),
        ("ru", "Что было двадцать один год назад?"),
        ("ru", "Что было много лет назад?"),
        ("ja", "四十二年前はどこ？"),
        ("ko", "오십이 년 전에 어디 살았지?"),
        ("pt", "Onde morei vinte e dois anos atrás?"),
        # words that look like a number, dates, and birthdays
        ("ja", "五月三日前に何をした？"),
        ("ko", "세일 전에 뭐 샀지?"),
        ("ko", "회사 일 전에 뭐 했지?"),
        ("ko", "이 일 전에 무슨 일을 했지?"),
        ("pt", "Quem faz dois anos?"),
    ],
)
def test_statements_and_questions_without_such_words_have_no_times(language: str, text: str) -> None:
    assert find_past_times(normalize(text), language, NOW) == ((), normalize(text))


@pytest.mark.parametrize(
    ("language", "question", "date"),
    [
        ("de", "Was war am 3. Mai 2023?", Date(5, 2023, 3)),
        ("fr", "Où étais-je en août ?", Date(8)),
        ("es", "¿Qué hice el 3 de mayo de 2023?", Date(5, 2023, 3)),
        ("pt", "O que fiz em março?", Date(3)),
        ("it", "Cosa ho fatto a giugno 2022?", Date(6, 2022)),
        ("nl", "Wat deed ik op 14 maart?", Date(3, None, 14)),
        ("ru", "Что было 9 мая?", Date(5, None, 9)),
        ("ru", "Что было в июне?", Date(6)),
    ],
)
def test_months_are_read_with_their_days_and_years(language: str, question: str, date: Date) -> None:
    assert find_months(normalize(question), language)[0] == (date,)


def test_a_month_within_another_word_does_not_count() -> None:
    assert find_months("was ist ein maibaum?", "de") == ((), "was ist ein maibaum?")


@pytest.mark.parametrize(
    ("language", "question", "expected"),
    [
        ("de", "Wann ziehe ich um?", True),
        ("de", "Wo wohne ich?", False),
        ("ja", "誕生日はいつ？", True),
        ("zh", "我什么时候去上海？", True),
        ("zh", "會議在幾點？", True),
        ("zh", "你等了多久？", True),
        ("zh", "哪里？", False),
    ],
)
def test_questions_for_a_time_are_recognised(language: str, question: str, expected: bool) -> None:
    assert asks_for_time(normalize(question), language) == expected


def test_a_clock_at_the_edge_of_the_calendar_has_no_relative_times() -> None:
    assert find_past_times("was war letztes jahr?", "de", datetime(1, 1, 1)) == ((), "was war letztes jahr?")
