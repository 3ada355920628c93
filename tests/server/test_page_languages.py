"""The languages of the page: which one a request gets, and what each file must contain."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from everthread.server import page_languages, static_files
from everthread.server.page_languages import COOKIE, Language, choose_language, escape_json, read_languages

if TYPE_CHECKING:
    from playwright.sync_api import Page

LANGUAGES = read_languages()
CODES = dict.fromkeys(["de", "en", "fr", "zh"])


def request_with(**headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": pairs})


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("nl,fr;q=0.5,de;q=0.7", "de"),
        ("zh-Hans-CN", "zh"),
        ("DE;q=0, FR", "fr"),
        ("fr;q=x, en;q=0.1", "en"),
        ("nl", "en"),
        ("*", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_the_first_that_the_browser_accepts_and_the_page_has(accepted: str, code: str) -> None:
    assert choose_language(request_with(accept_language=accepted), CODES) == code


def test_the_language_that_a_person_chose_comes_before_those_of_the_browser() -> None:
    assert choose_language(request_with(accept_language="de", cookie=f"a=b; {COOKIE}=fr"), CODES) == "fr"
    assert choose_language(request_with(accept_language="de", cookie=f"{COOKIE}=../en"), CODES) == "de"


def test_texts_are_escaped_where_a_template_is_filled() -> None:
    language = Language("en", {"a.b": 'say "hi" & <go>'})
    assert unescape(language.fill('<p title="{{a.b}}">', escape)) == '<p title="say "hi" & <go>">'
    assert "<go>" not in language.fill("{{a.b}}", escape)
    assert json.loads(language.fill('{"a": "{{a.b}}"}', escape_json)) == {"a": 'say "hi" & <go>'}
    with pytest.raises(KeyError, match=r"a\.c"):
        language.fill("{{a.c}}", escape)


def test_the_page_and_its_words_are_served_in_the_language_of_the_request() -> None:
    app = FastAPI()
    app.include_router(static_files.build_router())
    client = TestClient(app)
    for code, language in LANGUAGES.items():
        headers = {"Accept-Language": code}
        page = client.get("/", headers=headers)
        assert f'<html lang="{code}" dir="ltr">' in page.text
        assert unescape(page.text).count(str(language.texts["index.message"])) >= 2
        assert "{{" not in page.text
        words = client.get(f"/static/{static_files.WORDS}", headers=headers)
        assert f'export const language = "{code}";' in words.text
        assert words.headers["content-type"].startswith("text/javascript")
        assert (
            {"Accept-Language", "Cookie"}
            <= set(words.headers["vary"].split(", "))
            == set(page.headers["vary"].split(", "))
        )
        known = {**headers, "If-None-Match": words.headers["etag"]}
        assert client.get(f"/static/{static_files.WORDS}", headers=known).status_code == 304
    assert client.get("/static/languages/en.toml").status_code == 404


def test_where_keys_are_required_the_words_name_the_server_on_every_machine() -> None:
    app = FastAPI()
    app.include_router(static_files.build_router(is_shared=True))
    for code, language in LANGUAGES.items():
        words = TestClient(app).get(f"/static/{static_files.WORDS}", headers={"Accept-Language": code}).text
        texts = json.loads(words.partition("export const words = ")[2].rstrip(";\n"))
        named = [key for key in language.texts if key.endswith("_on_server")]
        assert "models.ollama_off_on_server" in named
        for key in named:
            assert texts[key.removesuffix("_on_server")] == language.texts[key] != language.texts[key[:-10]]


MACHINE = {
    "en": "machine|computer",
    "de": "Rechner|Computer",
    "fr": "machine|ordinateur",
    "es": "equipo|ordenador",
    "zh": "电脑",
    "ja": "コンピューター",
}


@pytest.mark.parametrize("code", MACHINE)
def test_a_text_that_names_the_machine_has_another_form_for_a_server(code: str) -> None:
    texts = LANGUAGES[code].texts
    named = [key for key, text in texts.items() if re.search(MACHINE[code], str(text))]
    assert named
    assert [key for key in named if f"{key}_on_server" not in texts] == []


def test_the_default_language_has_a_file() -> None:
    assert page_languages.DEFAULT_LANGUAGE in LANGUAGES
    assert all(re.fullmatch("[a-z]{2}", code) for code in LANGUAGES)


RECORD_TEXTS = """() => { window.shown = [];
    new MutationObserver(changes => shown.push(...changes.map(change => change.target.textContent)))
        .observe(document.body, { childList: true, characterData: true, subtree: true }) }"""
CUT_OFF = """() => [...document.querySelectorAll("button, label, h1, h2, h3")]
    .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
    .filter(each => getComputedStyle(each).overflowX === "hidden").map(each => each.textContent)"""


def test_the_language_changes_in_the_settings_without_losing_what_is_typed(page: Page, url_without_model: str) -> None:
    from playwright.sync_api import expect

    from server.page_helpers import add_past_lines, fail_reply

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url_without_model}/#/worded")
    page.wait_for_selector("html[data-ready]")
    page.fill("#message", "J'aime la mer.")
    page.locator("#views button").first.click()
    page.click("#open-settings")
    page.get_by_label("Language").select_option("fr")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    page.get_by_role("dialog", name="Réglages").get_by_label("Fermer").click()
    expect(page.locator("#message")).to_have_value("J'aime la mer.")
    page.locator("#views button").nth(1).click()
    page.evaluate(RECORD_TEXTS)
    page.press("#message", "Enter")
    expect(page.locator(".recall-only .line-text")).to_have_text("Je m’en souviendrai.")
    add_past_lines(url_without_model, "worded", "Le vélo bleu est à la cave.")
    page.get_by_label("Incognito").click()
    page.fill("#message", "Le vélo bleu est à la cave ?")
    page.press("#message", "Enter")
    expect(page.locator(".recalled .source")).to_contain_text("Le 1 mars 2024, Alex a dit :")
    expect(page.locator(".recalled blockquote")).to_have_text("Le vélo bleu est à la cave.")
    assert not any(english in text for text in page.evaluate("shown") for english in ("I'll", "Alex said"))
    page.get_by_label("Incognito").click()
    page.route("**/reply", lambda route: fail_reply(route, "llm-unavailable"))
    page.fill("#message", "Et puis ?")
    page.press("#message", "Enter")
    expect(page.locator("#notices")).to_contain_text("Le modèle de langage ne répond pas.")
    page.unroute("**/reply")
    for code, language in LANGUAGES.items():
        page.context.add_cookies([{"name": COOKIE, "value": code, "url": url_without_model}])
        page.reload()
        page.wait_for_selector("html[data-ready]")
        expect(page.locator("#send")).to_have_text(str(language.texts["index.send"]))
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate(CUT_OFF) == []
