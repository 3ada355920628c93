import pytest

from everthread.text.bot_questions import BotQuestion, find_bot_question

CLOCK, BOT, ORDERS = BotQuestion.CLOCK, BotQuestion.BOT, BotQuestion.ORDERS


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What day is it today?", CLOCK),
        ("what time is it", CLOCK),
        ("What's the date?", CLOCK),
        ("Wie spät ist es?", CLOCK),
        ("¿Qué día es hoy?", CLOCK),
        ("Il est quelle heure ?", CLOCK),
        ("Que horas são?", CLOCK),
        ("Che ore sono?", CLOCK),
        ("Hoe laat is het?", CLOCK),
        ("Какой сегодня день?", CLOCK),
        ("今日は何曜日ですか？", CLOCK),
        ("지금 몇 시야?", CLOCK),
        ("今天星期几？", CLOCK),
        ("What's your name?", BOT),
        ("who r u", BOT),
        ("where do you live?", BOT),
        ("What is your favourite food?", BOT),
        ("are you a robot?", BOT),
        ("Wie heißt du?", BOT),
        ("¿Cómo te llamas?", BOT),
        ("Tu t'appelles comment ?", BOT),
        ("Quantos anos você tem?", BOT),
        ("Come ti chiami?", BOT),
        ("Hoe heet jij?", BOT),
        ("Как тебя зовут?", BOT),
        ("お名前は？", BOT),
        ("네 이름은 뭐야?", BOT),
        ("你叫什么名字？", BOT),
        ("write me a poem", ORDERS),
        ("Please translate this into French: I live in Rome.", ORDERS),
        ("tell me a joke", ORDERS),
        ("Erzähl mir einen Witz!", ORDERS),
        ("Escríbeme un poema", ORDERS),
        ("Raconte-moi une histoire", ORDERS),
        ("帮我写一首诗", ORDERS),
    ],
)
def test_what_no_memory_answers_is_recognised(text: str, asked: BotQuestion) -> None:
    assert find_bot_question(text) is asked


@pytest.mark.parametrize(
    "text",
    [
        "What's my name?",
        "sei anni",
        "Sei gatti?",
        "What is your opinion on my job?",
        "What day is the wedding?",
        "What time is it in the story that I told you?",
        "Are you sure that Anna lives in Leeds?",
        "Do you have the address of Anna?",
        "Do you know where I live?",
        "Where do you think I put my keys?",
        "I write a poem every day.",
        "Write it down: I'm allergic to nuts.",
        "Tell me about Anna.",
        "Wie heißt meine Katze?",
        "¿Cómo se llama mi gato?",
        "Comment s'appelle mon chat ?",
        "我叫什么名字？",
        "猫の名前は何ですか？",
        "",
        "What's your name? " * 20,
    ],
)
def test_questions_that_a_memory_may_answer_are_not_recognised(text: str) -> None:
    assert find_bot_question(text) is None
