"""The words of the page: all of them are in the language files, and every language has each of them."""

import re
import string
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

import everthread
from everthread import errors
from everthread.server.page_languages import DEFAULT_LANGUAGE, Text, read_languages
from everthread.server.problems import to_kebab_case
from everthread.transfer.services.registry import SERVICES, WHATSAPP
from server.page_helpers import FILES, FOLDER

PACKAGE = Path(everthread.__file__).parent
PARSER = Parser(Language(tree_sitter_javascript.language()))
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in FILES}
SCRIPTS = {name: source for name, source in SOURCES.items() if name.endswith(".js")}
LANGUAGES = {code: language.texts for code, language in read_languages().items()}
ENGLISH = LANGUAGES[DEFAULT_LANGUAGE]
TRANSLATIONS = sorted(LANGUAGES.keys() - {DEFAULT_LANGUAGE})

REASON = re.compile(r'\breason="([a-z-]+)"(?:,\s*values=\{([^}]*)\})?')
RAISED = re.compile(r'(?:Problem|build_(?:document|response))\(\s*[\w.]+,\s*"([a-z-]+)"')
# Problems without a text of the page: those of which only the server's detail names the invalid value,
SHOWN_AS_SENT = {
    "bad-file",
    "bad-input",
    "bad-line",
    "bad-query",
    "config-error",
    "invalid-request",
    "model-configured",
    "own-account",
}
# those of requests that the page doesn't make,
OF_PROGRAMS = {
    "bad-host",
    "bad-length",
    "bad-path",
    "bad-signature",
    "bank-moved",
    "everthread-error",
    "foreign-origin",
    "http",
    "idempotency-conflict",
    "model-error",
    "no-account",
    "no-form",
    "no-message",
    "no-reply",
    "not-started",
    "path-too-long",
    "scribe-failed",
    "upstream-timeout",
    "wrong-host",
    "wrong-method",
    "wrong-type",
}
ELSEWHERE = {"too-many-attempts", "unauthorized", "wrong-password"}  # and those with texts where one signs in

PLURAL_FORMS = {"ja": {"other"}, "zh": {"other"}}
SHORT = {
    "view": 12,
    "tab": 12,
    "index.send": 12,
    "composer.stop": 12,
    "header.new_chat": 20,
    "index.settings": 16,
}  # widths
UNTRANSLATED_KEYS = {"settings.version", "timeline.month"}

SHOWN_ARGUMENTS = {  # of which functions a person reads, by their positions; -1: those after the second
    "announce": {0},
    "askChoice": {0, 1},
    "button": {0},
    "editText": {0, 2},
    "Error": {0},
    "fill": {1, -1},
    "h": {-1},
    "iconButton": {1},
    "lineButton": {2},
    "openDialog": {0},
    "select": {0},
    "showNotice": {0},
    "svg": {-1},
    "textElement": {1},
    "toolbar": {0},
}
SHOWN_PROPERTIES = {"alt", "aria-label", "aria-description", "detail", "message", "placeholder", "textContent", "title"}
TRANSPARENT = {  # parts of an expression whose value is that of the literal, or contains it
    "array",
    "binary_expression",
    "parenthesized_expression",
    "spread_element",
    "template_string",
    "template_substitution",
    "ternary_expression",
}
HIDDEN_ARGUMENTS = {
    "closest",
    "get",
    "getPref",
    "includes",
    "matches",
    "parts",
    "querySelector",
    "querySelectorAll",
    "setPref",
    "t",
}
HIDDEN_PROPERTIES = {"accept", "class", "className", "d", "href", "info", "rel", "viewBox", "Accept", "Authorization"}
UNTRANSLATED = {  # names and examples
    "Everthread",
    "· Everthread",
    "Markdown",
    "Open WebUI",
    "SillyTavern",
    "alice/captain-nemo",
    "api.openai.com",
    "et_…",
}
IDENTIFIERS = {  # of keys, headers, styles, and in storage; names and markup of the Markdown library
    "ArrowLeft",
    "ArrowRight",
    "actions always-visible",
    "Content-Type",
    "Idempotency-Key",
    "everthread key",
    "paragraph",
    "reference",
    "blockquote",
    '<div class="math display">',
    '<span class="',
}
PHRASE = re.compile(r"(?<![^\W_])[A-Z][a-z]+|[^\W\d_]{2,} +[^\W\d_]{2,}|[\u3040-\u30ff\u4e00-\u9fff]")


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode()


def callee_of(call: Node) -> str:
    """Return the name of the function or method that is called, or of the class that is created."""
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if function is not None and function.type == "member_expression":
        function = function.child_by_field_name("property")
    return text_of(function)


def place_of(literal: Node) -> tuple[str, str, int]:
    """Return what takes the value of a literal: a kind of place, its name, and the position of an argument."""
    node = literal
    while node.parent is not None and node.parent.type in TRANSPARENT and not is_compared(node.parent):
        node = node.parent
    parent = node.parent
    assert parent is not None
    if parent.type == "arguments" and parent.parent is not None:
        return "argument", callee_of(parent.parent), parent.named_children.index(node)
    if parent.type == "pair" and node != parent.child_by_field_name("key"):
        return "property", text_of(parent.child_by_field_name("key")).strip('"'), 0
    if parent.type == "assignment_expression":
        return "property", text_of(parent.child_by_field_name("left")).rpartition(".")[2], 0
    if parent.type == "member_expression":
        return "member", text_of(parent.child_by_field_name("property")), 0
    return parent.type, "", 0


def is_compared(node: Node) -> bool:
    return text_of(node.child_by_field_name("operator")) in ("===", "!==")


def is_shown(kind: str, name: str, position: int) -> bool:
    if kind == "argument":
        positions = SHOWN_ARGUMENTS.get(name, set())
        return position in positions or (-1 in positions and position >= 2)
    return kind == "property" and name in SHOWN_PROPERTIES


def is_hidden(kind: str, name: str) -> bool:
    if kind in ("argument", "property"):
        return name in (HIDDEN_ARGUMENTS if kind == "argument" else HIDDEN_PROPERTIES)
    return kind in ("import_statement", "pair", "binary_expression") or (kind, name) == ("member", "split")


def words_in(source: str) -> list[str]:
    """Return the literals of a script that a person may read."""
    found = []
    for node in walk(PARSER.parse(source.encode()).root_node):
        if node.type != "string_fragment" or node.parent is None:
            continue
        text, place = text_of(node).strip(), place_of(node.parent)
        if text in UNTRANSLATED | IDENTIFIERS or is_hidden(*place[:2]):
            continue
        if PHRASE.search(text) or (is_shown(*place) and re.search(r"[^\W\d_]{2}", text)):
            found.append(text)
    return found


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_contains_no_words_that_a_person_reads(name: str) -> None:
    assert words_in(SCRIPTS[name]) == []


@pytest.mark.parametrize(
    "script",
    [
        'button("save", act)',
        "h('p', {}, [done ? `read ${count}` : null])",
        'h("input", { "aria-label": "name" })',
        'box.title = "hint";',
        'const HINT = "Choose one of them.";',
        'const HINT = "什么";',
        'throw new Error("not " + "found")',
    ],
)
def test_words_in_a_script_are_found(script: str) -> None:
    assert words_in(script)


@pytest.mark.parametrize(
    "script",
    [
        'import { h } from "./Some thing.js";',
        'h("p", { class: "small line text" }, t("a.b"))',
        'if (event.key === "Enter") emit("sent");',
        'box.querySelector("Two words");',
    ],
)
def test_literals_that_no_person_reads_are_not_words(script: str) -> None:
    assert words_in(script) == []


def test_the_template_of_the_page_contains_no_words() -> None:
    index = re.sub(
        r"<!doctype html>|<title>Everthread</title>|\{\{[a-z_.]+\}\}|>Everthread<", "", SOURCES["index.html"]
    )
    shown = re.findall(r">([^<>]*[a-z]{2}[^<>]*)<", index)
    shown += re.findall(r'(?:aria-label|placeholder|title|alt)="([^"]+)"', index)
    assert shown == []


def keys_in_scripts() -> tuple[set[str], set[str]]:
    """Return the keys that the scripts and the templates use, and the beginnings of those that they compose."""
    source = "\n".join(SOURCES.values())
    used = set(re.findall(r"[\"({]([a-z]+\.[a-z_0-9]+)[\")}]", source)) & ENGLISH.keys()
    wanted = set(re.findall(r"\b(?:t|parts)\(\s*\"([^\"]+)\"", source))
    assert wanted <= ENGLISH.keys()
    return used | wanted, set(re.findall(r"(?:\(|= )`([a-z]+\.)\$\{", source))


def test_every_english_text_is_used() -> None:
    used, beginnings = keys_in_scripts()
    assert "measure." in beginnings
    known = {key for key in ENGLISH if key.removesuffix("_on_server") in used or key.startswith(tuple(beginnings))}
    assert set(ENGLISH) - known - {"language.name"} == set()


def kinds_of_problems() -> set[str]:
    """Return the kinds of all problem documents that the server sends."""
    sources = [path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*.py")]
    named = {kind for source in sources for kind in RAISED.findall(source)}
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    return named | {to_kebab_case(each.__name__) for each in classes if issubclass(each, errors.EverthreadError)}


def test_a_problem_that_a_person_may_meet_has_a_text() -> None:
    kinds = kinds_of_problems()
    assert {"forbidden", "bank-busy", "bad-line"} < kinds
    assert {kind for kind in kinds if f"problem.{kind}" not in ENGLISH} == SHOWN_AS_SENT | OF_PROGRAMS | ELSEWHERE


def test_each_reason_of_a_problem_has_a_text_with_its_values() -> None:
    found = [match for path in PACKAGE.rglob("*.py") for match in REASON.findall(path.read_text(encoding="utf-8"))]
    values = {reason: set(re.findall(r'"(\w+)":', given)) for reason, given in found}
    assert {"same-name": {"name"}, "password-length": {"least", "most"}}.items() <= values.items()
    texts = {key.removeprefix("problem."): text for key, text in ENGLISH.items() if key.startswith("problem.")}
    kinds = kinds_of_problems() | {key for key in texts if key.startswith("model-")}
    assert {key: placeholders_in(text) for key, text in texts.items() if key not in kinds} == values


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_first_steps_name_services_whose_exports_are_read(code: str) -> None:
    names = re.findall(
        r"[A-Za-z]\w+(?:\.AI)?", str(ENGLISH["beginning.formats"]).partition(" from ")[2].partition(" and ")[0]
    )
    assert {"ChatGPT", "Claude", "Character.AI", "SillyTavern", "mem0"} < set(names) < {*SERVICES.values(), WHATSAPP}
    assert all(name in LANGUAGES[code]["beginning.formats"] for name in names)


def placeholders_in(text: Text) -> set[str]:
    forms = [text] if isinstance(text, str) else text.values()
    return {
        name
        for form in forms
        for _, name, _, _ in string.Formatter().parse(form.replace("{{", "").replace("}}", ""))
        if name
    }


def width_of(text: Text) -> int:
    """Return the width of a text's longest form in Latin letters; an ideograph is as wide as two."""
    forms = [text] if isinstance(text, str) else text.values()
    return max(sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in form) for form in forms)


@pytest.mark.parametrize("code", TRANSLATIONS)
def test_a_language_has_every_text_with_its_placeholders_and_plural_forms(code: str) -> None:
    texts, forms = LANGUAGES[code], PLURAL_FORMS.get(code, {"one", "other"})
    assert texts.keys() == ENGLISH.keys()
    for key, text in texts.items():
        assert placeholders_in(text) == placeholders_in(ENGLISH[key]), key
        assert isinstance(text, str) or text.keys() == forms, key
        assert text, key
        if forms != {"other"} and not isinstance(ENGLISH[key], str):
            assert not isinstance(text, str), key


@pytest.mark.parametrize("code", TRANSLATIONS)
def test_a_translation_fits_where_the_english_text_does(code: str) -> None:
    for key, text in LANGUAGES[code].items():
        bound = SHORT.get(key) or SHORT.get(key.partition(".")[0]) or width_of(ENGLISH[key]) * 1.5 + 14
        assert width_of(text) <= bound, (key, text)


@pytest.mark.parametrize("code", TRANSLATIONS)
def test_a_language_is_translated(code: str) -> None:
    same = {
        key
        for key, text in LANGUAGES[code].items()
        if text == ENGLISH[key] and isinstance(text, str) and len(text) > 20
    }
    assert same <= UNTRANSLATED_KEYS
