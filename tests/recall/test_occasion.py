from datetime import UTC, datetime

import numpy as np
import pytest

from everthread.recall.occasion import TIME_WEIGHT, Occasion, score_times
from everthread.recall.query_parsing import parse_query

FIRST, LAST = Occasion.FIRST, Occasion.LAST


def find(question: str) -> Occasion | None:
    return parse_query(question, ("Anna", "user"), datetime(2026, 5, 1, tzinfo=UTC)).occasion


@pytest.mark.parametrize(
    ("question", "occasion"),
    [
        ("When did I last see the dentist?", LAST),
        ("when was ben last in berlin", LAST),
        ("What was the very last book I read?", LAST),
        ("Which trip was my most recent one?", LAST),
        ("What's Anna's latest project?", LAST),
        ("When was the last time we spoke?", LAST),
        ("When did I first mention the knee?", FIRST),
        ("What was our first concert?", FIRST),
        ("Which eye was operated first?", FIRST),
        ("Where was the party originally planned?", FIRST),
        ("Wann war ich zuletzt beim Zahnarzt?", LAST),
        ("Was war das letzte Buch, das ich gelesen habe?", LAST),
        ("Wann habe ich Anna zum ersten Mal getroffen?", FIRST),
        ("Was war mein erstes Konzert?", FIRST),
        ("¿Cuándo fue la última vez que vi al dentista?", LAST),
        ("cual fue la ultima película que vi?", LAST),
        ("¿Cuál fue mi primer concierto?", FIRST),
        ("Quand est-ce que j'ai vu Anna pour la dernière fois ?", LAST),
        ("Quel était mon premier concert ?", FIRST),
        ("Quando foi a última vez que fui ao dentista?", LAST),
        ("Qual foi o meu primeiro emprego?", FIRST),
        ("Quando sono andato dal dentista l'ultima volta?", LAST),
        ("Qual è stato il mio primo concerto?", FIRST),
        ("Wanneer was ik voor het laatst bij de tandarts?", LAST),
        ("Wat was het eerste boek dat ik las?", FIRST),
        ("Когда я последний раз была у врача?", LAST),
        ("Какая была моя первая работа?", FIRST),
        ("最後に歯医者に行ったのはいつですか？", LAST),
        ("初めてアンナに会ったのはいつ？", FIRST),
        ("마지막으로 치과에 간 게 언제야?", LAST),
        ("처음 안나를 만난 게 언제야?", FIRST),
        ("我上次看牙医是什么时候？", LAST),
        ("我第一次见到安娜是什么时候？", FIRST),
    ],
)
def test_a_question_asks_for_the_first_or_the_last_of_several_occasions(question: str, occasion: Occasion) -> None:
    assert find(question) is occasion


@pytest.mark.parametrize(
    "question",
    [
        "When did I see the dentist?",
        "What did we do last year?",
        "What did Anna cook last Friday?",
        "Where did we go last summer?",
        "What is Anna's last name?",
        "How long did the film last for Anna?",
        "Did Ben win first place?",
        "Where is the first aid box?",
        "How did my Spanish develop, from the first line to the last?",
        "What came first, and what came last?",
        "The last book I read was Emma.",
        "Was haben wir letztes Jahr gemacht?",
        "Wo waren wir im letzten Sommer?",
        "¿Qué hicimos la última semana?",
        "Qu'est-ce qu'on a fait le mois dernier ?",
        "Что мы делали в последнее время?",
        "我们上周做了什么？",
    ],
)
def test_other_questions_and_statements_ask_for_neither(question: str) -> None:
    assert find(question) is None


def test_lines_gain_by_their_time_in_the_order_that_is_asked_for() -> None:
    said_at = np.array([30, 10, 40, 20])
    assert score_times(said_at, LAST) == pytest.approx(TIME_WEIGHT * np.array([2 / 3, 0, 1, 1 / 3]))
    assert score_times(said_at, FIRST) == pytest.approx(TIME_WEIGHT * np.array([1 / 3, 1, 0, 2 / 3]))


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_ordered_without_two_lines(count: int) -> None:
    assert len(score_times(np.arange(count), FIRST)) == count
