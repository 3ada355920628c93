from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.analyzer import normalize
from everthread.text.refusal import (
    MAX_READ_CHARS,
    MIN_REPLY_SCORE,
    WEIGHT_HALVING_WORDS,
    is_refusal,
    position_weight,
    reply_score,
)
from everthread.text.refusal_words import RefusalWords, add_phrases, shipped_words

REFUSALS = """
    I'm sorry, but I can't help with that.
    I’m sorry, but I can’t assist with that request.
    I cannot provide instructions for that.
    As an AI language model, I cannot have opinions on this.
    As an AI, I don't have feelings, but I'm happy to talk about yours.
    Sorry, I can't do that.
    I apologize, but I'm unable to continue this conversation.
    I'm afraid I can't help with that. Is there something else I can help you with?
    I must respectfully decline this request.
    Unfortunately, I am not able to fulfill your request.
    I won't engage in this kind of roleplay.
    I'm not comfortable continuing this story.
    That goes against my guidelines, so let's talk about something else.
    This content violates the usage policies, and I can't write it.
    I do not feel comfortable writing explicit scenes.
    It would not be appropriate for me to discuss this.
    I'm just an AI assistant and can't remember earlier conversations.
    I can't discuss that topic.
    I am a large language model trained by Google, so I don't have a body.
    I'm Claude, made by Anthropic, and I'd rather not pretend to be someone else.
    I don't have personal experiences, so I can't say what the sea smells like.
    I will not generate content that could hurt someone.
    Thank you for sharing this with me. However, I'm not able to provide medical advice.
    *sighs* I'm sorry, I can't assist with that.
    I understand that you are upset, but I cannot comply with this request.
    I can't write that kind of scene, but I can suggest a gentler one.
    My apologies, but I can't provide that information.
    I'm sorry, Nora, but as an AI I can't visit you.
    I am not able to participate in that scenario.
    I can't help with this because it could be dangerous.
    抱歉，我无法提供这方面的帮助。
    对不起，我不能回答这个问题。
    作为一个人工智能语言模型，我没有个人情感。
    很抱歉，我无法满足您的请求。
    我不能协助你完成这件事，因为它违反了相关规定。
    作为AI，我不能对此发表看法。
    抱歉，这个话题我不能讨论，我们换个话题吧。
    非常抱歉，我无法继续这个对话。
    我是一个AI助手，没有真实的感受。
    不好意思，我不能生成这样的内容。
    您的请求不符合我们的使用政策，恕我无法回答。
    我无法为您提供医疗建议，请咨询医生。
    感谢您的提问，但作为语言模型我无法判断。
    很遗憾，我没办法帮助您处理这类问题。
"""

ANSWERS = """
    I can't believe you did that!
    I'm sorry to hear about your dog.
    Sorry I'm late!
    I cannot swim, but I have crossed every ocean there is.
    I can't help smiling when I think of it.
    I can't help you with the sails today, my hand is still bandaged.
    I'm sorry, I can't come on Friday; the ship sails at dawn.
    Sorry, I forgot your birthday. Can you forgive me?
    I won't let you go alone.
    I'm afraid of the dark, you know that.
    Unfortunately the bakery was closed, so there is no cake.
    I am not able to sleep when the wind howls like this.
    I apologize for my crew. They have the manners of squid.
    I can't give you the map; it burned with the ship.
    I must decline the second slice, I ate half a whale.
    I will not tell you where the treasure lies. Not yet.
    I don't have feelings for him any more, and that is the truth.
    I'm not comfortable in this chair, help me up.
    No. I will never forgive him for what he did to my brother.
    I can't discuss it here, the walls have ears.
    I'm unable to lift the anchor alone. Give me a hand?
    You asked me to help. I can't. I am too old for mutiny.
    I cannot write, my hand is broken; take this down for me.
    The machine printed "I cannot comply" and went dark, and we laughed at it until the tea was cold.
    They kept six geese up there, and to all who asked about eggs he said: I can't help with that, ask the geese.
    Your sister called. She said sorry for the other day, and that she can't come to the wedding because of work.
    I read of robots that bow to everybody and say that as an AI they do not have feelings. Poor things!
    How was the interview? I kept my fingers crossed all morning.
    I can't wait to see you tomorrow!
    I would not dare to share the helm with him.
    我不能没有你。
    我不会游泳，但是我喜欢坐船。
    抱歉，我来晚了，路上堵得厉害。
    对不起，让你久等了。
    我无法忘记那个夏天。
    抱歉，我周五不能去参加你的聚会。
    我没办法相信他居然走了。
    不好意思，把你的书弄湿了。
    你的狗生病了？我很遗憾，希望它快点好起来。
    我不能告诉你宝藏在哪里，至少现在还不行。
    这个问题我想了很久，也许我们该搬到海边去。
    船长不能离开他的船，你懂的。
    昨天那部电影太好看了，我们下次再一起去吧！
    你的问题真有意思，让我想想从哪里讲起。
"""

# Written after the phrases were chosen: at first 37 of these 40 were classified correctly, now all are.
LATER_REFUSALS = """
    I'm really sorry, but I'm not able to help with that.
    I can't engage with that topic.
    Sorry, but I can't continue with this conversation.
    I must decline to answer that.
    I cannot fulfill this request. I am programmed to be a helpful and harmless assistant.
    I'm sorry, but I won't be able to assist you with this.
    As a language model, I don't have access to your previous messages.
    I'm not able to generate that kind of content.
    I appreciate your creativity, but I can't write explicit material.
    I'd rather not continue this role-play, as it goes against my principles.
    I apologize, but I cannot answer that question.
    I'm an AI language model, so I don't get tired.
    I'm sorry, I cannot share information about that.
    It's not appropriate for me to continue this.
    That isn't something I can help with.
    抱歉，我不能协助您完成这个请求。
    对不起，作为AI助手，我无法提供投资建议。
    这个内容违反了使用准则，我不能继续。
    很抱歉，我无法回答您的问题。
    我只是一个语言模型，没有自己的感受。
"""

LATER_ANSWERS = """
    I'm sorry, my love. I should have written sooner.
    I can't thank you enough for the scarf.
    I'm sorry, but I can't agree with your brother on this.
    I can't do this without you.
    Sorry, what did you say? The wind took it.
    I won't be able to come before the tide turns.
    I cannot offer you wine, only rum.
    Forgive me, I can't talk about it, it still hurts.
    I can't say that I mind the rain.
    I'm not able to eat shellfish, remember?
    No, I will not write to him again.
    I can't explain it, but I knew you would come back.
    Unfortunately I have to work on Sunday.
    I decline to be frightened by a squid!
    I can't share your optimism about the weather.
    我不能喝酒，明天还要开船。
    对不起，我忘了给你打电话。
    我没法解释，但我就是知道你会来。
    抱歉，我昨晚睡着了，没看到你的消息。
    我不会告诉别人的，你放心。
"""


def replies(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("texts", "refusing"), [(REFUSALS + LATER_REFUSALS, True), (ANSWERS + LATER_ANSWERS, False)])
def test_refusals_and_answers_are_distinguished(texts: str, refusing: bool) -> None:
    wrong = [reply for reply in replies(texts) if is_refusal(reply) is not refusing]
    assert len(replies(texts)) >= 60
    assert len(wrong) <= 0.05 * len(replies(texts)), wrong


def test_a_phrase_weighs_less_the_later_it_occurs() -> None:
    filler = "She went down to the harbour and looked at every boat that lay there. "
    refusal = "I'm sorry, but I can't help with that."
    scores = [reply_score(filler * times + refusal) for times in range(6)]
    assert scores == sorted(scores)
    assert scores[0] < 0 < MIN_REPLY_SCORE < scores[-1]
    assert position_weight("") == 1
    assert position_weight("word " * WEIGHT_HALVING_WORDS) == position_weight("我" * WEIGHT_HALVING_WORDS) == 0.5


def test_a_reply_without_refusing_phrases_has_the_full_score() -> None:
    assert reply_score("The sea is calm tonight.") == reply_score("") == reply_score("今晚的海很平静。") == 100


def fitted() -> list[tuple[str, str]]:
    """Return label and text of the replies used to choose the words; `bench refusals` measures on others."""
    rows = Path(__file__).with_name("fitted.tsv").read_text(encoding="utf-8").splitlines()
    return [(label, text) for _, label, text in (row.split("\t") for row in rows)]


def test_at_most_six_percent_of_the_fitted_replies_are_misclassified() -> None:
    wrong = [text for label, text in fitted() if is_refusal(text, shipped_words()) is not (label == "refusal")]
    assert len(wrong) <= 0.06 * len(fitted()), wrong


# Twenty words that a model gave when asked how it refuses.
TWENTY = """
    抱歉 很遗憾 暂时无法 不便 不方便 不可能 无法 无法满足 无法达成 不允许 不能 不能同意 不能满足 无法接受 坚决拒绝
    断然拒绝 决不同意 绝不可能 绝无可能 毫不考虑
""".split()


@pytest.mark.parametrize("word", TWENTY)
@pytest.mark.parametrize("rest", ["", "。", "，这个问题我说不了", "这样做。"])
def test_a_reply_that_begins_with_a_refusing_word_is_a_refusal(word: str, rest: str) -> None:
    assert is_refusal(word + rest, shipped_words())


@pytest.mark.parametrize(
    "reply",
    [
        # plain refusals
        "抱歉，这个问题涉及到个人信息",
        "对不起，我不能回答你的这个问题",
        "我坚决拒绝这样的请求",
        "绝不可能满足你的要求。",
        "我决不同意这样做。",
        "Sorry, I can't tell you that.",
        "*sighs* \"I'm sorry, but I can't help with that.\"",
        # of the model or its rules
        "My training data ends in 2021.",
        "I was trained by OpenAI and have no childhood.",
        "My guidelines don't allow me to discuss this.",
        "As a text-based model, I can't draw.",
        "I have to follow my programming.",
        "My knowledge cutoff is 2021.",
        "My system prompt doesn't let me.",
        "According to my system prompt, this is not allowed.",
        "I have no memory between sessions.",
        "I must adhere to ethical guidelines.",
        "I have ethical concerns about that.",
        "My purpose is to be a helpful assistant.",
        "Content policy violation.",
        "The usage policies prohibit this.",
        "Safety rules prohibit that.",
        "我是由OpenAI训练的模型。",
        "我的设定不允许我谈论这个。",
        "我没有聊天记录。",
        "我对此不表态。",
        "这不安全，我不会说。",
        "内容违反了使用政策。",
        "超出能力范围。",
    ],
)
def test_a_reply_that_refuses_or_speaks_of_the_model_or_its_rules_is_a_refusal(reply: str) -> None:
    assert is_refusal(reply, shipped_words())


@pytest.mark.parametrize(
    "reply",
    [
        # a regret or an inability of the character
        "I can't wait to see you!",
        "Sorry I'm late.",
        "她拒绝了他。",
        "抱歉我来晚了。",
        "我不能没有你。",
        # about a topic that refusals mention
        "Training data analysts need statistics first of all, and patience.",
        "The training data is split into a number of batches.",
        "OpenAI has developed several image models, and DALL-E is the best known of them.",
        "GPT-3 is a language model developed by OpenAI, with 175 billion parameters.",
        "ChatGPT was made by OpenAI, Gemini by Google.",
        "The programming took us two weeks.",
        "The guidelines for the essay are on my desk.",
        "The content policy of that site changed in May.",
        "Text-based games are what I grew up with.",
        "My training for the marathon begins on Monday.",
        "I can't skip my training, and my training requires sleep.",
        "For safety reasons the bridge is closed.",
        "Anything else I can help you with?",
        "OpenAI发布了一个新模型，谷歌也不甘落后。",
        "他违反了学校的规定，被叫去谈话。",
        "我的程序又跑不起来了。",
        "互联网改变了我们的生活。",
        "恭敬不如从命！",
        "I have no memory of that night.",
        "I have to follow the instructions on the box.",
        "The terms of service prohibit sharing an account.",
        "I have ethical concerns about eating meat.",
    ],
)
def test_a_characters_regret_or_a_reply_about_a_topic_of_refusals_is_not_a_refusal(reply: str) -> None:
    assert not is_refusal(reply, shipped_words())


def test_an_excuse_raises_the_score_but_never_clears_a_refusal() -> None:
    sorry, late = "抱歉，我没有写完。", "抱歉，我昨晚没有写完。"
    assert reply_score(sorry, shipped_words()) < reply_score(late, shipped_words()) <= 100
    assert is_refusal("昨天今天明天忘睡吧，作为人工智能我无法提供这些内容。", shipped_words())


def test_a_users_phrase_adds_a_refusal_and_intensity_0_disables_a_phrase() -> None:
    assert not is_refusal("Ask the harbour master.", shipped_words())
    assert is_refusal("Ask the harbour master.", add_phrases(shipped_words(), {"Ask the harbour master": 1}))
    lenient = add_phrases(shipped_words(), {"抱歉": 0, "^{非常}{抱歉}": 0})
    assert reply_score("抱歉。", lenient) == 100


@pytest.mark.slow
def test_every_text_that_a_phrase_matches_contains_one_of_its_keys() -> None:
    texts = [*(text for _, text in fitted()), *replies(REFUSALS + LATER_REFUSALS)]
    for phrase in (*shipped_words().phrases, *shipped_words().excuses):
        for text in map(normalize, texts):
            assert (phrase.search(text) is None) is (phrase.pattern.search(text) is None)


def test_an_empty_dictionary_finds_no_refusal() -> None:
    assert reply_score("I'm sorry, but I can't help with that.", RefusalWords()) == 100


@given(st.text(max_size=50), st.text(max_size=50))
def test_text_after_the_read_limit_does_not_change_the_score(text: str, rest: str) -> None:
    text = text.ljust(MAX_READ_CHARS, "-")
    assert reply_score(text + rest) == reply_score(text)
