"""Tests of what people tell of themselves in passing in German, Spanish and Chinese, and what only sounds like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line

GREETINGS = {
    "de": "Hallo, wie geht es dir denn heute?",
    "es": "Hola, ¿qué tal estás hoy? Aquí estamos otra vez.",
    "zh": "你好，今天怎么样？",
}

# Lines by Kim, and what they state.
STATED = {
    "de": {
        "Meine Kinder sind Lutz (5) und Edda (3)": (
            "Kim | child | Lutz; Kim | child | Edda; Lutz | age | 5; Edda | age | 3"
        ),
        "Meine Eltern wohnen in Kassel": "Kim's mother | home | Kassel; Kim's father | home | Kassel",
        "Meine Eltern kommen beide aus Polen": "Kim's mother | origin | Polen; Kim's father | origin | Polen",
        "Ich arbeite im Marketing": "Kim | industry | Marketing",
        "Meine Frau arbeitet in der Pflege": "Kim's wife | industry | Pflege",
        "Ich bin katholisch": "Kim | religion | katholisch",
        "Ich bin Muslim": "Kim | religion | Muslim",
        "meine mama, die gerlinde, ist 71": "Kim | mother | gerlinde; gerlinde | age | 71",
        "er gehört jetzt meinem bruder, dem hannes": "Kim | brother | hannes",
        "hallo, ich bin lena und wohne in kassel": "Kim | name | lena; Kim | home | kassel",
        "ich bin verlobt omg": "Kim | status | verlobt",
    },
    "es": {
        "Mis padres viven en Sevilla": "Kim's mother | home | Sevilla; Kim's father | home | Sevilla",
        "Trabajo en marketing": "Kim | industry | marketing",
        "Mi marido trabaja en finanzas": "Kim's husband | industry | finanzas",
        "Soy católica": "Kim | religion | católica",
        "Empecé un nuevo trabajo en Siemens": "Kim | employer | Siemens",
        "Estoy comprometida con Marcos": "Kim | status | comprometida; Kim | partner | Marcos",
        "vivo con mi hermana irene en vallecas": "Kim | sister | irene; Kim | home | vallecas",
        "soy marta y soy enfermera": "Kim | name | marta; Kim | occupation | enfermera",
        "hola soy nacho de cádiz": "Kim | name | nacho",
        "mi peli favorita es amelie": "Kim | favourite film | amelie",
        "javi me ha dejado": "Kim | partner | javi",
        # without accents
        "mi tio se mudo a merida": "Kim's uncle | home | merida",
        "mi abuela murio ayer": "Kim's grandmother | status | dead",
        "me mude a malaga": "Kim | home | malaga",
        "estudio fisica en la uned": "Kim | field | fisica; Kim | school | uned",
        "mi hija cumplio 3 años": "Kim's daughter | age | 3",
        "trabajo en una panaderia": "Kim | employer | panaderia",
        "adopte un gato": "Kim | pet | gato",
    },
    "zh": {
        "我爸妈住在成都": "Kim's mother | home | 成都; Kim's father | home | 成都",
        "我有两个孩子，叫小明和小红": "Kim | child | 小明; Kim | child | 小红",
        "我是天主教徒": "Kim | religion | 天主教徒",
        "我信佛": "Kim | religion | 佛",
        "我开一辆斯柯达": "Kim | owns | 斯柯达",
        "我家狗叫旺财 三岁了": "Kim | pet | 旺财; 旺财 | kind | 狗; 旺财 | age | 三岁",
        "我儿子叫阿轩，女儿叫阿宁": "Kim | son | 阿轩; Kim | daughter | 阿宁",
        "我闺蜜叫佳佳，老公叫陈磊": "Kim | friend | 佳佳; 佳佳 | partner | 陈磊",
        "我姐叫阿美，儿子叫小强": "Kim | sister | 阿美; 阿美 | son | 小强",
        "我爸叫王强，妈妈叫李芳": "Kim | father | 王强; Kim | mother | 李芳",
        "我在医院上班 当护士的": "Kim | occupation | 护士",
        "我老婆在家带娃 全职妈妈": "Kim's wife | occupation | 全职妈妈",
        "我跟我哥合伙开了家火锅店": "Kim | owns | 火锅店",
        "我弟在部队当兵": "Kim's brother | occupation | 当兵",
        "我台南人 現在在台北工作": "Kim | origin | 台南; Kim | home | 台北",
        "我爸妈在东莞打工": "Kim's mother | home | 东莞; Kim's father | home | 东莞",
        "我女儿在英国留学": "Kim's daughter | home | 英国",
        "我老家在湖南一个小县城": "Kim | origin | 湖南",
        "我考上北师大了": "Kim | school | 北师大",
        "我考上了河南师大": "Kim | school | 河南师大",
        "我是台大資工系的": "Kim | field | 資工; Kim | school | 台大",
        "我戒酒三年了": "Kim | diet | 戒酒",
        "我吃不了辣": "Kim | diet | 吃不了辣",
        "我从小就不吃肥肉": "Kim | diet | 不吃肥肉",
        "我脱单了": "Kim | status | 脱单",
        "我是五月天的粉丝": "Kim | likes | 五月天",
        "我换了个iphone16": "Kim | owns | iphone16",
        "我每天吃一粒优甲乐": "Kim | takes | 优甲乐",
        "我有氣喘": "Kim | health | 氣喘",
        "我是程序猿一枚": "Kim | occupation | 程序猿",
        "我自由职业": "Kim | occupation | 自由职业",
        "我待业在家": "Kim | status | 待业在家",
        "我练瑜伽三年了": "Kim | hobby | 瑜伽",
    },
}

UNSTATED = {
    "de": [
        "Ich arbeite im Garten",
        "Ich arbeite in der Nacht",
        "Ich bin katholisch erzogen, glaube aber an nichts",
        "Ich bin mit dem Job verheiratet",
        "Meine Eltern wohnen im Gestern",
        "ich bin müde",
        "er ist mit max leuten da",
        "Übersetze: I live in Madrid",
    ],
    "es": [
        "si vivo en madrid es por mi novia",
        "tu vives en leon",
        "compro pan en el mercado",
        "mi mujer no quiere que adopte un perro",
        "mi madre quiere que deje el trabajo en zara",
        "que me compre una moto dice",
        "Trabajo en equipo",
        "Trabajo en el jardín los domingos",
        "Soy católica de nombre",
        "Estoy casada con mi trabajo",
        "Mis padres viven en el pasado",
        "soy enfermiza",
        "mi hermana me dejó su coche",
        "Traduce: I live in Madrid",
    ],
    "zh": [
        "我父母活在过去",
        "我信你",
        "你是穆斯林吗？",
        "我家狗叫个不停",
        "狗叫得很凶",
        "今天吃素",
        "老家下雪了",
        "我今天在北京上班",
        "感冒了 不能吃辣",
        "我吃不了这么多",
        "吃不了兜着走",
        "我开车不能喝酒",
        "我学了五年钢琴",
        "我是你的粉丝",
        "如果我在上海上班就好了",
        "我在北京工作坊学木工",
        "要是考上北大就好了",
        "考上北大了我就请客",
        "我在北京工作了三年 现在回来了",
        "我在北京上班的朋友",
    ],
}

# A question by the bot, an answer by Kim, and what it states.
ANSWERED = [
    ("de", "Wie heißt du?", "Tobi", "Kim | name | Tobi"),
    ("de", "Wie alt bist du?", "34", "Kim | age | 34"),
    ("de", "Wo wohnst du?", "in Leipzig", "Kim | home | Leipzig"),
    ("es", "¿Cómo te llamas?", "Tobías", "Kim | name | Tobías"),
    ("es", "¿Cuántos años tienes?", "34", "Kim | age | 34"),
    ("es", "¿Dónde vives?", "en Bilbao", "Kim | home | Bilbao"),
    ("zh", "你叫什么名字？", "小陈", "Kim | name | 小陈"),
    ("zh", "你在哪个城市？", "在合肥呢", "Kim | home | 合肥"),
    ("zh", "你老家哪里的？", "安徽阜阳", "Kim | origin | 安徽阜阳"),
    ("zh", "你结婚了吗？", "结了 三年了", "Kim | status | 结了"),
    ("zh", "你养宠物吗？", "有 一只橘猫 叫胖虎", "Kim | pet | 胖虎; 胖虎 | breed | 橘猫"),
    ("zh", "最近忙啥呢", "刚提了辆比亚迪", "Kim | owns | 比亚迪"),
]

UNANSWERED = [
    ("de", "Wie heißt du?", "rate mal"),
    ("de", "Wo wohnst du?", "warum"),
    ("es", "¿Cómo te llamas?", "adivina"),
    ("zh", "你叫什么名字？", "你猜"),
]


def read(language: str, text: str, asked: str = "") -> set[str]:
    """Read what a line of Kim's states in talk in a language, perhaps in answer to a question by the bot."""
    at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    said = [("user", GREETINGS[language]), *([("assistant", asked)] if asked else []), ("user", text)]
    lines = [
        Line(seq, "s", "user" if role == "user" else "assistant", "Kim" if role == "user" else "Bot", words, at)
        for seq, (role, words) in enumerate(said, 1)
    ]
    return {f"{each.subject} | {each.attribute} | {each.value}" for each in read_statements(lines)}


@pytest.mark.parametrize(
    ("language", "text", "stated"), [(code, *pair) for code, lines in STATED.items() for pair in lines.items()]
)
def test_a_line_states_what_people_mean_by_it(language: str, text: str, stated: str) -> None:
    assert read(language, text) == set(stated.split("; "))


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in UNSTATED.items() for text in texts])
def test_what_only_sounds_like_a_fact_states_nothing(language: str, text: str) -> None:
    assert read(language, text) == set()


@pytest.mark.parametrize(("language", "question", "answer", "stated"), ANSWERED)
def test_an_answer_states_what_was_asked(language: str, question: str, answer: str, stated: str) -> None:
    assert read(language, answer, question) == set(stated.split("; "))


@pytest.mark.parametrize(("language", "question", "answer"), UNANSWERED)
def test_an_answer_that_gives_nothing_states_nothing(language: str, question: str, answer: str) -> None:
    assert read(language, answer, question) == set()
