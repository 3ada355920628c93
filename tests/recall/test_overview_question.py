import pytest

from everthread.recall.overview_question import asks_for_everything


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "What do you remember?"),
        ("en", "what do u remember about me"),
        ("en", "Hey, what can you still recall from our conversations?"),
        ("en", "So what have we talked about so far?"),
        ("en", "What did I tell you?"),
        ("en", "Kit, what have I told you about myself?"),
        ("en", "Tell me everything you know about me."),
        ("en", "Do you remember me?"),
        ("en", "What's in your memory?"),
        ("en", "Could you sum up our conversations so far?"),
        ("de", "Was weißt du noch über mich?"),
        ("de", "Worüber haben wir bisher geredet?"),
        ("de", "was hab ich dir schon alles erzahlt"),
        ("de", "Woran erinnerst du dich?"),
        ("es", "¿Qué sabes de mí?"),
        ("es", "de que hemos hablado hasta ahora"),
        ("es", "Hola, ¿te acuerdas de mí?"),
        ("fr", "Que sais-tu de moi ?"),
        ("fr", "qu'est-ce que tu sais sur moi"),
        ("fr", "De quoi avons-nous parlé jusqu’ici ?"),
        ("fr", "Tu te souviens de moi ?"),
        ("fr", "tu sais quoi de moi"),
        ("pt", "O que você sabe sobre mim?"),
        ("pt", "do que a gente ja falou?"),
        ("it", "Cosa sai di me?"),
        ("it", "Di cosa abbiamo parlato finora?"),
        ("nl", "Wat weet je nog over mij?"),
        ("nl", "Waar hebben we het over gehad?"),
        ("ru", "Что ты обо мне знаешь?"),
        ("ru", "О чем мы говорили раньше?"),
        ("ja", "私のことを何を覚えていますか？"),
        ("ja", "これまでに何を話しましたか？"),
        ("ko", "나에 대해 뭘 알아?"),
        ("ko", "우리 지금까지 무슨 얘기 했지?"),
        ("zh", "你还记得我什么？"),
        ("zh", "我们聊过什么？"),
        ("zh", "你还记得我吗？"),
    ],
)
def test_a_question_asks_for_all_that_is_remembered(language: str, question: str) -> None:
    assert asks_for_everything(question, language)


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "What do you remember about Mia?"),
        ("en", "What did we talk about with the doctor?"),
        ("en", "What did you say?"),
        ("en", "What happened?"),
        ("en", "Do you remember?"),
        ("en", "What do you know about birds?"),
        ("en", "Tell me everything."),
        ("en", "I know what you remember."),
        ("en", "?!"),
        ("de", "Was weißt du über Katzen?"),
        ("es", "¿Qué sabes de los gatos?"),
        ("fr", "Que sais-tu de Mia ?"),
        ("fr", "Tu sais quoi ?"),
        ("fr", "Tu sais ?"),
        ("it", "Cosa sai di Mia?"),
        ("ja", "猫について何を知っていますか？"),
        ("zh", "你还记得我的猫吗？"),
        ("en", "What do you remember? " * 40),
    ],
)
def test_a_question_on_a_subject_does_not(language: str, question: str) -> None:
    assert not asks_for_everything(question, language)
