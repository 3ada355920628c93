"""The words of each language: complete, with the same placeholders, short enough, and none left in the code."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import everthread
from everthread.config import LANGUAGES
from everthread.errors import BadInput
from everthread.languages.wording import FOLDER, Text, Wording, load_wording
from everthread.server.sms.segments import count_segments

PACKAGE = Path(everthread.__file__).parent
ENGLISH = load_wording()
FORMS = {"en": {"one", "other"}, "de": {"one", "other"}, "fr": {"one", "other"}, "es": {"one", "other"}}  # else other
MAX_LENGTH_RATIO = 1.7  # of English, which is short, to any other language, from a length that matters
MIN_COMPARED_CHARS = 64
MAX_SEGMENTS = 2  # of a text message
MODULES = (  # with everything in them that people read
    "chat/end_dialogue.py",
    "chat/offline_reply.py",
    "cli/answers.py",
    "cli/completion.py",
    "cli/demo.py",
    "cli/group_repl.py",
    "cli/repl.py",
    "cli/repl_text.py",
    "cli/screen.py",
    "cli/why.py",
    "server/messaging/channel.py",
    "server/messaging/conversation.py",
    "server/sms/channel.py",
    "server/sms/webhook.py",
    "server/messaging/live_conversation.py",
    "server/telegram/bot.py",
    "server/telegram/buttons.py",
    "server/telegram/commands.py",
    "server/telegram/explanation.py",
    "server/telegram/outbox.py",
)
SPOKEN_ELSEWHERE = {  # names of commands, logs, and errors of the API
    "a message could not be answered: %s",
    "a message could not be handled: %s",
    "a message could not be stored: %s",
    "a reply could not be given again: %s",
    "a reply could not be sent: %s",
    "a reply failed: %s",
    "a reply was rejected by Telegram: %s",
    "a supergroup could not be connected with its group: %s",
    "a text message could not be answered: %s",
    "an answer could not be sent: %s",
    "an update of Telegram can't be read: %s",
    "everthread sms",
    "everthread telegram",
    "forget everything",
    "forget me",
    "invalid message: expected a MessageSid, and a number in From",
    "the body is not an application/x-www-form-urlencoded form in UTF-8",
    "this request was not signed by Twilio for this address; see sms_url",
    "tab: complete",
    "the Telegram bot can't start yet: %s",
    "the Telegram bot does not run: %s",
}


@pytest.fixture(params=LANGUAGES)
def words(request: pytest.FixtureRequest) -> Wording:
    """Return the words of each language."""
    return load_wording(request.param)


def flatten(words: Wording) -> dict[str, Text]:
    return {f"{table}.{name}": text for table, texts in words.texts.items() for name, text in texts.items()}


def list_forms(text: Text) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_there_is_a_file_for_each_language_and_no_other() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(LANGUAGES)


def test_each_language_has_all_texts_and_no_others_in_the_same_order(words: Wording) -> None:
    assert list(flatten(words)) == list(flatten(ENGLISH))


def test_each_text_has_the_placeholders_of_the_english_one(words: Wording) -> None:
    english = flatten(ENGLISH)
    for key, text in flatten(words).items():
        wanted = set().union(*(placeholders(form) for form in list_forms(english[key])))
        for form in list_forms(text):
            missing = wanted - placeholders(form) - ({"number"} if not isinstance(text, str) else set())
            assert (key, placeholders(form) - wanted, missing) == (key, set(), set())


def test_what_depends_on_a_number_has_the_forms_of_the_language(words: Wording) -> None:
    for key, text in flatten(words).items():
        if not isinstance(text, str):
            assert (key, set(text)) == (key, FORMS.get(words.language, {"other"}))
            assert "{number}" in text["other"]


def test_no_text_is_blank_or_much_longer_than_the_english_one(words: Wording) -> None:
    english = flatten(ENGLISH)
    for key, text in flatten(words).items():
        lengths = [max(len(form) for form in list_forms(each)) for each in (text, english[key])]
        assert all(form.strip() for form in list_forms(text)), key
        assert lengths[0] <= max(MIN_COMPARED_CHARS, MAX_LENGTH_RATIO * lengths[1]), key


def test_a_translation_differs_from_the_english_text(words: Wording) -> None:
    english = flatten(ENGLISH)
    same = {key for key, text in flatten(words).items() if text == english[key] and words.language != "en"}
    also_french = {"terminal.group_prompt", "terminal.incognito_prompt", "why.note"}
    assert {key for key in same if has_words(str(english[key]))} <= also_french


def has_words(text: str) -> bool:
    """Return whether a text has words, not counting placeholders and words of two letters."""
    return any(len(word) > 2 for word in re.findall(r"[a-z]+", re.sub(r"\{\w+\}", "", text)))


def test_each_message_of_the_bot_fits_into_as_many_segments_as_in_english(words: Wording) -> None:
    for table in ("message", "sms"):
        for name in words.texts[table]:
            text, english = (
                each(f"{table}.{name}", number=12_345, names="Mia, Captain Vey") for each in (words, ENGLISH)
            )
            assert (name, count_segments(text)) == (name, min(count_segments(text), count_segments(english)))
            assert count_segments(english) <= MAX_SEGMENTS


@pytest.mark.slow
def test_every_text_that_the_package_asks_for_exists_and_gets_its_placeholders() -> None:
    english = flatten(ENGLISH)
    asked = list(find_calls())
    assert len(asked) > 100
    for key, given in asked:
        needed = set().union(*(placeholders(form) for form in list_forms(english[key])))
        needed |= set() if isinstance(english[key], str) else {"number"}
        assert (key, needed - given) == (key, set()) or None in given


def find_calls() -> Iterator[tuple[str, set[str | None]]]:
    """Yield the key of each text that the package asks for by its full name, and the names of the values given."""
    sources = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for source in (source for source in sources if "words(" in source):
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not node.args or not is_wording(node.func):
                continue
            names = {keyword.arg for keyword in node.keywords}
            first = node.args[0]
            for key in [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, names


def is_wording(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "words"


def test_every_text_is_asked_for_somewhere() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("c*/*.py"))
    computed = (
        "help.",
        "message.",
        "sms.",
        "telegram.",
        "time.",
        "chat.",
        "demo.",
    )  # by names that the code puts together
    for key in flatten(ENGLISH):
        if not key.startswith(computed):
            assert f'"{key}"' in source or f"'{key}'" in source or f'"{key.partition(".")[2]}"' in source, key


@pytest.mark.parametrize("module", MODULES)
def test_no_text_that_people_read_is_in_the_code(module: str) -> None:
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    described = {id(text) for text in find_descriptions(tree)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described
    ]
    assert {text for text in texts if is_sentence(text)} - SPOKEN_ELSEWHERE == set()


def is_sentence(text: str) -> bool:
    """Return whether a text has two words or more, as far as it is no pattern or path."""
    return sum(word.strip(".,;:!?").isalpha() for word in text.split()) >= 2 and not text.startswith(("/", "bind "))


def find_descriptions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings, and what `--help` says."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value
        if isinstance(node, ast.FunctionDef):
            yield from (part for decorator in node.decorator_list for part in ast.walk(decorator))


def test_dates_and_numbers_are_written_as_in_the_language() -> None:
    shown = {
        language: (words.date(date(2024, 3, 1)), words.number(1234567.891, 2), words("terminal.lines", number=1234))
        for language in LANGUAGES
        for words in [load_wording(language)]
    }
    wanted = {
        "en": ("1 March 2024", "1,234,567.89", "1,234 lines"),
        "de": ("1. März 2024", "1.234.567,89", "1.234 Zeilen"),
        "fr": ("1er mars 2024", "1\u202f234\u202f567,89", "1\u202f234 lignes"),
        "es": ("1 de marzo de 2024", "1.234.567,89", "1.234 líneas"),
        "zh": ("2024年3月1日", "1,234,567.89", "1,234 条消息"),
        "ja": ("2024年3月1日", "1,234,567.89", "1,234行"),
    }
    assert shown == wanted


def test_one_of_something_is_written_in_the_singular() -> None:
    assert ENGLISH("terminal.lines", number=1) == "1 line"
    assert load_wording("de")("terminal.sessions", number=1) == "1 Gespräch"
    assert load_wording("fr")("terminal.lines", number=0) == "0 ligne"
    assert load_wording("zh")("terminal.lines", number=1) == "1 条消息"


@pytest.mark.parametrize(
    ("days", "wanted"),
    [
        (-1, {"en": "yesterday", "de": "gestern", "fr": "hier", "es": "ayer", "zh": "昨天", "ja": "昨日"}),
        (-5, {"en": "5 days ago", "de": "vor 5 Tagen", "zh": "5 天前"}),
        (-40, {"en": "5 weeks ago", "de": "vor 5 Wochen", "zh": "5 周前"}),
        (-366, {"en": "a year ago", "de": "vor einem Jahr", "fr": "il y a un an", "es": "hace un año", "ja": "1年前"}),
        (3, {"en": "in 3 days", "de": "in 3 Tagen", "zh": "3 天后"}),
    ],
)
def test_a_distance_in_time_is_written_as_in_the_language(days: int, wanted: Mapping[str, str]) -> None:
    now = datetime(2024, 8, 1, 12, tzinfo=UTC)
    assert {language: load_wording(language).distance(now + timedelta(days), now) for language in wanted} == wanted


def test_a_list_ends_with_and() -> None:
    assert [ENGLISH.join(["a", "b", "c"][:size]) for size in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert load_wording("zh").join(["甲", "乙", "丙"]) == "甲、乙和丙"


def test_sentences_are_separated_as_in_the_language() -> None:
    assert ENGLISH.paragraph("Hello.", "", "Bye.") == "Hello. Bye."
    assert load_wording("ja").paragraph("はい。", "では。") == "はい。では。"


def test_braces_in_what_people_said_are_shown_as_they_are() -> None:
    assert "{text} {0}" in ENGLISH("chat.you_said_once", text="{text} {0}")


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match=r"invalid language: got 'eo', expected one of en, de"):
        load_wording("eo")


def test_an_unknown_text_or_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        ENGLISH("terminal.nonsense")
    with pytest.raises(KeyError):
        ENGLISH("terminal.talking", name="Ever")
