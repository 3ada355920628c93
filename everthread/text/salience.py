"""What a sentence tells: how much, of what, and how much it matters. By rules and short lists of words, English and
Chinese; set by hand. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from everthread.text.analyzer import STOP, UNSPACED, terms, tokens
from everthread.text.line_features import ENDS_ASKING, SMALL_TALK, TELLS_NOTHING, TELLS_TIME, flags

# Words that stand in what tells nothing: "I think so", "sounds good", "tell me more".
_DULL = """
    actually again agree all also anyway basically believe bit bye call course definitely ever exactly feel get
    glad go going gonna got guess hear heard help hope idea interesting just kind know known let like literally lot
    love maybe mean mention more need oh ok one only or please pretty probably question quite rather really remember
    say see seem seems some something sort sound sounds still stuff suppose sure talk tell thing things think thought
    too totally understand up down out off very wanna want way well yet
    """.split()
DULL = STOP | SMALL_TALK | frozenset(_DULL)
_UNSPACED = re.compile(f"[{UNSPACED}]")
_DULL_CHARACTERS = re.compile(
    "[我你您他她它们的了是在吗呢啊吧呀哦嗯很也都就不没有这那么什会要和跟还又再可以说想觉得知道好]"
)
_SMALL_TALK = re.compile(  # in one way only (see `units`): 你好 is 你 and 好
    "(?:好的|好|嗯|哦|啊|谢谢|多谢|再见|拜拜|早上好|早安|晚上好|晚安|没关系|没事|不客气|是的|对|行|可以|当然|哈|真的|你|您|了|呀|吧|啦|[\\W_])+"
)
_FIRST = re.compile(r"\b(?:i|i['’](?:m|ve|ll|d)|my|mine|myself|we|we['’](?:re|ve|ll|d)|our|ours)\b|[我咱俺]", re.I)
_NAME = re.compile(r"(?<=[^\W\d_])[,;:]? (?!I\b)[A-ZÀ-Þ][^\W\d_]+")  # a capital that does not begin the sentence
_NUMBER = re.compile(rf"\d|[一二三四五六七八九十百千万两]+(?=[{UNSPACED}])")
_FIRST_CLAUSE = re.compile(r"(?:(?:and|so|but|well|oh),? )?(?:i|i['’]\w+|my|we|our)\b[^?？]*,|[我咱][^?？]*[，,]", re.I)
_CHINESE_QUESTION = re.compile("[吗呢么]$")

FEW_WORDS = 4  # so many telling words tell something even without a name, a number, a time or a person
ENOUGH_WORDS = 8  # more do not make a sentence more telling
PLAIN = 3  # the importance of what tells something, and nothing of the lists below


def words(text: str) -> list[str]:
    """The telling words of a text: without the commonest, small talk, and those that carry nothing."""
    return [word for word in tokens(text) if word not in DULL and not _DULL_CHARACTERS.search(word)]


def word_count(telling_words: Sequence[str]) -> float:
    """How many words they are; a script without spaces has about one in two characters."""
    return sum(0.25 if _UNSPACED.match(word) else 1.0 for word in telling_words)


def only_asks(sentence: str) -> bool:
    """Whether a sentence is a question and tells nothing else: "I have a dog, isn't that nice?" does."""
    return _only_asks(sentence, flags(sentence))


def _only_asks(sentence: str, found: int) -> bool:
    asks = found & ENDS_ASKING or _CHINESE_QUESTION.search(sentence.rstrip(" \t。.!！"))
    return bool(found & TELLS_NOTHING or (asks and not _FIRST_CLAUSE.match(sentence)))


def small_talk(sentence: str) -> bool:
    """Whether a sentence is nothing but greetings and thanks, in English or Chinese."""
    return not words(sentence) or _SMALL_TALK.fullmatch(sentence) is not None


def telling(sentence: str) -> float:
    """How telling a sentence is, from 0 (small talk, a mere question) to about 4: whether it speaks of the speaker,
    holds a name, a number or a time, matters, and how many telling words it has."""
    held = word_count(words(sentence))
    if not held or _SMALL_TALK.fullmatch(sentence) or _only_asks(sentence, found := flags(sentence)):
        return 0.0
    signs = (
        1.0 * bool(_FIRST.search(sentence))
        + 0.5 * bool(_NAME.search(sentence))
        + 0.5 * bool(_NUMBER.search(sentence))
        + 0.5 * bool(found & TELLS_TIME)
    )
    if not signs and held < FEW_WORDS:
        return 0.0
    return signs + 1.5 * (_level(sentence) - PLAIN) / 7 + 0.5 * min(held, ENOUGH_WORDS) / ENOUGH_WORDS


# A category's words, English, then Chinese. Each is looked up by its stem, so "hiking" finds "hike".
_CATEGORIES = {
    "person": (
        "name nickname age birthday birthplace born nationality language native grew personality hobby zodiac pronouns",
        "名字 我叫 生日 岁 出生 性格 老家 国籍 星座",
    ),
    "family": (
        """mother father parent mom dad sister brother sibling son daughter child baby grandmother grandfather grandma
        grandpa aunt uncle cousin niece nephew wife husband spouse marriage married wedding divorce divorced family
        twins pregnant stepfather stepmother""",
        "妈妈 爸爸 母亲 父亲 父母 姐姐 妹妹 哥哥 弟弟 儿子 女儿 孩子 奶奶 爷爷 外婆 妻子 老婆 丈夫 老公 结婚 离婚 家人",
    ),
    "friends": (
        "friend friendship buddy mate roommate flatmate girlfriend boyfriend dating neighbour neighbor classmate",
        "朋友 闺蜜 室友 女朋友 男朋友 同学 邻居 约会",
    ),
    "work": (
        """work job career boss manager colleague coworker office company salary promotion interview project client
        meeting deadline hired fired resign resigned degree school university college study exam teacher student thesis
        class course engineer programmer nurse lawyer""",
        "工作 上班 下班 老板 同事 公司 面试 项目 开会 加班 升职 辞职 学校 大学 考试 老师 学生 论文 毕业 客户",
    ),
    "health": (
        """health doctor hospital surgery operation illness ill sick disease cancer diabetes allergy allergic pain
        headache migraine fever flu medicine medication therapy therapist diagnosed diagnosis injury injured broken
        dentist diet asthma covid vaccine insomnia pregnancy appointment blood""",
        "医生 医院 手术 生病 疾病 癌 糖尿病 过敏 头疼 头痛 发烧 感冒 药 治疗 受伤 失眠 健康 体检 牙医",
    ),
    "food": (
        """food eat cook bake recipe meal breakfast lunch dinner supper restaurant cake bread coffee tea wine beer pizza
        pasta soup cheese chocolate vegetarian vegan fruit meat fish rice noodles delicious taste""",
        "吃 做饭 菜 早餐 早饭 午饭 晚饭 餐厅 蛋糕 面包 咖啡 茶 酒 米饭 面条 水果 素食 好吃 火锅 饺子",
    ),
    "home": (
        """home house flat apartment room kitchen garden furniture sofa rent landlord moving moved neighbourhood dog cat
        puppy kitten pet plant clean cleaning laundry repair renovate balcony""",
        "家里 房子 公寓 厨房 花园 家具 房租 房东 搬家 狗 猫 宠物 打扫 装修 阳台",
    ),
    "travel": (
        """travel trip journey flight fly plane airport train hotel holiday vacation visit visited abroad passport visa
        beach tour cruise luggage suitcase backpacking""",
        "旅行 旅游 出差 航班 飞机 机场 火车 酒店 假期 度假 护照 签证 海边 行李",
    ),
    "leisure": (
        """game play movie film series book read novel music song concert guitar piano band dance paint painting draw
        photography sport football soccer tennis swim run running hike hiking bike cycling climb climbing gym yoga
        chess museum garden knit knitting party""",
        "游戏 电影 电视剧 书 小说 音乐 歌 演唱会 吉他 钢琴 跳舞 画画 摄影 运动 足球 篮球 游泳 跑步 爬山 健身 瑜伽",
    ),
    "money": (
        """money pay price cost expensive cheap budget bank loan debt mortgage saving savings invest investment tax
        euro dollar pound salary insurance bill afford stock""",
        "钱 付 价格 贵 便宜 预算 银行 贷款 债 房贷 存款 投资 税 工资 保险 账单 股票 块钱",
    ),
    "feelings": (
        """happy sad angry anxious anxiety afraid scared fear lonely proud excited nervous stress stressed depressed
        depression worried worry upset cry cried jealous ashamed grateful miss hate hurt overwhelmed heartbroken""",
        "高兴 开心 难过 伤心 生气 焦虑 害怕 孤独 骄傲 兴奋 紧张 压力 抑郁 担心 哭 嫉妒 感激 想念 讨厌",
    ),
    "plans": (
        """plan planning goal intend tomorrow tonight next soon schedule scheduled appointment decide decided promise
        promised dream deadline wish upcoming""",
        "计划 打算 目标 明天 今晚 下周 下个月 明年 安排 决定 答应 约好 梦想 希望",
    ),
}
_ENGLISH = {name: frozenset(terms(english)) for name, (english, _) in _CATEGORIES.items()}
_CHINESE = {name: tuple(chinese.split()) for name, (_, chinese) in _CATEGORIES.items()}


def category(text: str, names: Sequence[str] = tuple(_CATEGORIES)) -> str:
    """The category of which a text holds the most words, of equals the first; "other" without any. A category without
    a list of words here has those of its name."""
    held = frozenset(terms(text))
    counts = {name: _held(text, held, name) for name in names if name != "other"}
    best = max(counts, key=lambda name: counts[name], default="other")
    return best if counts.get(best) else "other"


def about(text: str, subject: str) -> bool:
    """Returns whether a text shares a telling word with a subject, or holds a word of a category that it names."""
    held, wanted = frozenset(terms(text)), frozenset(terms(" ".join(words(subject))))
    named = [name for name in _CATEGORIES if not wanted.isdisjoint(terms(name))]
    return not held.isdisjoint(wanted) or any(_held(text, held, name) for name in named)


def _held(text: str, held: frozenset[str], name: str) -> int:
    """Returns how many words of a category a text holds."""
    if name in _CATEGORIES:
        return len(held & _ENGLISH[name]) + sum(word in text for word in _CHINESE[name])
    return len(held.intersection(terms(name)))


# How much something matters, from the most: English words and phrases as a pattern, then Chinese.
_LEVELS = {
    9: (
        r"""died|death|passed away|funeral|suicid\w*|widow\w*|born|gave birth|stillb\w+|miscarr\w+|pregnant|
        adopted (?:a|our|my) (?:child|son|daughter|baby|boy|girl)|wedding|married|engaged|proposed|divorc\w+""",
        "去世|过世|逝世|葬礼|自杀|出生|生了|怀孕|流产|结婚|婚礼|订婚|求婚|离婚",
    ),
    8: (
        r"""cancer|tumou?r|stroke|heart attack|diagnos\w+|surgery|operation|hospital\w*|diabet\w+|allerg\w+|depression|
        epilep\w+|accident|arrest\w+|prison""",
        "癌|肿瘤|中风|确诊|手术|住院|糖尿病|过敏|抑郁|车祸",
    ),
    7: (
        r"""mov(?:ed|ing) (?:to|in|out|away|back|house)|emigrat\w+|new (?:job|house|flat|apartment|baby)|lost my job|
        job offer|promoted|promotion|fired|laid off|resigned|retir\w+|quit (?:my|the) job|got the job|graduat\w+|
        broke up|break-?up|bought (?:a|the|our) (?:house|flat|apartment)|bankrupt\w*""",
        "搬到|搬家|移民|新工作|失业|辞职|升职|退休|毕业|分手|买了房|破产",
    ),
    6: (
        r"""promis\w+|swear|swore|my name is|i['’]?m called|call me|birthday|anniversary|deadline|phobia|
        i['’]?m afraid of|
        my (?:mother|father|mom|mum|dad|wife|husband|son|daughter|sister|brother|boyfriend|girlfriend|partner)""",
        "答应|保证|发誓|我叫|生日|纪念日|我的?(?:妈妈|爸爸|妻子|老婆|丈夫|老公|儿子|女儿|姐姐|妹妹|哥哥|弟弟)",
    ),
    5: (
        r"""decid\w+|plan\w*|appointment|exam|interview|my (?:job|work|boss|dog|cat|house|flat|best friend)|
        i (?:work|live)|i (?:really |absolutely )?(?:love|hate|can['’]?t stand)|favou?rite""",
        "决定|计划|打算|约好|考试|面试|我住|我在.{1,12}工作|最喜欢|讨厌",
    ),
}
_ROW_END = r"\|\s+"
_IMPORTANT = {
    level: re.compile(rf"\b(?:{re.sub(_ROW_END, '|', english)})\b|{chinese}", re.I)
    for level, (english, chinese) in _LEVELS.items()
}
_DATED = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b|\b\d{4}-\d\d-\d\d\b|\b(?:19|20)\d\d\b|"
    r"\d{1,2}月\d{1,2}[日号]",
    re.I,
)


def importance(text: str) -> int:
    """From 1 (small talk) to 10: births, deaths and weddings 9, illness 8, moving and jobs 7, promises and the family
    6, plans and what is liked 5, and 1 more for what has a date."""
    if small_talk(text):
        return 1
    if only_asks(text):
        return 2
    return _level(text)


def _level(text: str) -> int:
    level = next((level for level, pattern in _IMPORTANT.items() if pattern.search(text)), PLAIN)
    return min(level + bool(_DATED.search(text)), 10)
