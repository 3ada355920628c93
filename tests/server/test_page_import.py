"""Bringing earlier chats in the page: what is in the files, who is who, which chats, and going on."""

from __future__ import annotations

import json
import tempfile
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from hardship import web
from hardship.served import wait_until
from playwright.sync_api import Locator, Page, Route, expect

from everthread.chat import character_library
from server.import_files import Payload, chatgpt, discord, whatsapp
from server.page_helpers import PHONE, check_accessibility, module, visit

WHATSAPP_TEXT = b"13/05/2024, 18:02 - Nora: A kite!\n13/05/2024, 18:03 - Ben: Mine.\n"
RECIPES = {"name": "recipes.json", "mimeType": "", "buffer": json.dumps({"soups": [], "cakes": []}).encode()}


def drop(page: Page, *files: Payload | Path) -> Locator:
    """Choose files in the settings; return the dialog that opens."""
    page.click("#open-settings")
    page.get_by_role("dialog", name="Settings").locator("input[type=file]").last.set_input_files(files)  # type: ignore[arg-type]
    return page.get_by_role("dialog", name="Import your chats")


def stored(url: str, bank: str) -> list[tuple[str, str, str]]:
    """Return the speaker, the role and the text of each line."""
    items = web.get(f"{url}/api/v1/banks/{bank}/lines?limit=500").raise_for_status().json()["items"]
    return [(line["speaker"], line["role"], line["text"]) for line in items]


def test_chosen_chats_of_a_long_history_come_over_under_the_persons_name(page: Page, url: str) -> None:
    visit(page, url, "history")
    web.patch(f"{url}/api/v1/banks/history/character", json={"person": "Nora"}).raise_for_status()
    dialog = drop(page, chatgpt(400))
    expect(dialog.locator(".headline")).to_have_text("ChatGPT")
    expect(dialog).to_contain_text("400 chats · 800 messages")
    expect(dialog).to_contain_text("From 14 November 2023 to 15 November 2023")
    expect(dialog).to_contain_text("You (400) and ChatGPT (400)")
    expect(dialog.get_by_role("combobox")).to_have_count(0)  # the file says who is who
    dialog.get_by_text("400 entries are left out").click()
    expect(dialog).to_contain_text("instructions: 400")
    dialog.get_by_text("Choose chats").click()
    rows = dialog.locator(".conversations li")
    expect(rows).to_have_count(100)
    rows.last.scroll_into_view_if_needed()
    expect(rows).to_have_count(200)
    dialog.get_by_role("button", name="Choose none").click()
    expect(dialog.get_by_role("button", name="Import 0 messages")).to_be_disabled()
    dialog.get_by_label("Find by title").fill("kite 37")
    expect(rows).to_have_count(11)
    dialog.get_by_role("checkbox", name="Kite 371").check()
    dialog.get_by_role("checkbox", name="Kite 372").check()
    expect(dialog).to_contain_text("2 of 400 chosen")
    check_accessibility(page)
    dialog.get_by_role("button", name="Import 4 messages").click()
    expect(dialog.locator(".headline")).to_have_text("4 messages imported.")
    expect(dialog.get_by_role("button", name="Open the latest chat")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".line-text").first).to_have_text("How do I fly kite 372?")
    expect(page.locator(".transcript-head p").first).to_have_text("Kite 372")
    speakers = {("Nora", "user"), ("ChatGPT", "assistant")}
    assert {line[:2] for line in stored(url, "history")} == speakers
    expect(page.locator("#session-list")).to_contain_text("Kite 371")


def test_two_messengers_are_imported_on_a_phone_and_again_adds_nothing(page: Page, url: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    visit(page, url, "messengers")
    page.get_by_role("button", name="Chats").click()
    for again in (False, True):
        dialog = drop(page, whatsapp())
        expect(dialog).to_contain_text("1 chat · 2 messages")
        expect(dialog.locator(".contents p", has_text="2024")).to_have_text("3 May 2024")  # not from then to then
        expect(dialog.get_by_label("Who are you?")).to_have_value("Nora")  # the file is named after the other
        if not again:
            check_accessibility(page)
            page.keyboard.press("Tab")
        dialog.get_by_role("button", name="Import 2 messages").press("Enter")
        expect(dialog.locator(".headline")).to_have_text(
            "Everything was already here." if again else "2 messages imported."
        )
        dialog.get_by_role("button", name="Close").last.click()
    dialog = drop(page, whatsapp())
    dialog.get_by_role("button", name="Import 2 messages").click()
    dialog.get_by_role("button", name="Open the latest chat").click()
    expect(page.locator(".line-text")).to_have_text(["The red kite is in the tree.", "Which tree?"])
    page.get_by_role("button", name="Chats").click()
    dialog = drop(page, discord())
    dialog.get_by_label("Who are you?").select_option("nora_k")
    dialog.get_by_label("Who is the chatbot?").select_option("ever_bot")
    dialog.get_by_role("button", name="Import 3 messages").click()
    dialog.get_by_role("button", name="Search").click()
    expect(page.locator("#query")).to_be_focused()
    assert [line[:2] for line in stored(url, "messengers")] == [
        ("Nora", "user"),
        ("Ben", "user"),
        ("Nora", "user"),
        ("ever_bot", "assistant"),
        ("Nora", "user"),
    ]


def test_a_repeated_import_counts_messages_as_its_preview_does(page: Page, url: str) -> None:
    visit(page, url, "repeated")
    for count in (1, 2):
        rows = [
            {"name": "Nora", "is_user": True, "mes": f"Question {number}?", "send_date": "May 3, 2024 9:10am"}
            if number % 2
            else {
                "name": "Rei", "is_user": False, "mes": f"Answer {number}.", "send_date": "May 3, 2024 9:11am",
                "swipes": [f"Answer {number}.", f"Other {number}."], "swipe_id": 0,
            }
            for number in range(1, 2 * count + 1)
        ]  # fmt: skip
        head = {"user_name": "Nora", "character_name": "Rei", "create_date": "2024-5-3@09h10m00s"}
        chat = "\n".join(map(json.dumps, (head, *rows)))
        dialog = drop(page, {"name": "Rei.jsonl", "mimeType": "", "buffer": chat.encode()})
        expect(dialog).to_contain_text("Ever will remember these chats.")
        dialog.get_by_role("button", name=f"Import {2 * count} messages").click()
        expect(dialog.locator(".headline")).to_have_text("2 messages imported.")
        if count == 2:
            expect(dialog).to_contain_text("2 messages were already here.")
        dialog.get_by_role("button", name="Close").last.click()


def test_chats_with_a_card_go_to_the_open_character_and_the_card_is_named(page: Page, url: str) -> None:
    visit(page, url, "with-card")
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Rei", "description": "A pilot."}}
    dialog = drop(page, whatsapp(), {"name": "Rei.json", "mimeType": "", "buffer": json.dumps(card).encode()})
    for _ in ("before", "after"):
        expect(dialog).to_contain_text("Ever will remember these chats.")
        expect(dialog).to_contain_text("Added to your characters: Rei")
        if dialog.get_by_role("button", name="Import 2 messages").count():
            dialog.get_by_role("button", name="Import 2 messages").click()
            expect(dialog.locator(".headline")).to_have_text("2 messages imported.")
    character_library.remove("Rei")


def test_a_broken_card_keeps_no_other_file_out(tab: Page, url: str) -> None:
    visit(tab, url, "broken-card")
    broken = {"name": "broken.json", "mimeType": "", "buffer": b'{"spec": "chara_card_v2", "data": {"name":'}
    cards: list[Payload] = [
        {
            "name": f"{name}.json",
            "mimeType": "",
            "buffer": json.dumps({"spec": "chara_card_v2", "data": {"name": name}}).encode(),
        }
        for name in ("Ada", "Bo")
    ]
    dialog = drop(tab, broken, cards[0], whatsapp())
    expect(dialog).to_contain_text("Added to your characters: Ada")
    expect(dialog).to_contain_text("1 file can’t be readbroken.json: The file is damaged or cut off.")
    dialog.get_by_role("button", name="Import 2 messages").click()
    expect(dialog.locator(".headline")).to_have_text("2 messages imported.")
    dialog.get_by_role("button", name="Close").last.click()
    drop(tab, broken, cards[1])
    expect(tab.locator("#notices")).to_have_text(
        "broken.json: The file is damaged or cut off. Download or export it again."
    )
    tab.click("#open-characters")
    gallery = tab.get_by_role("dialog", name="Characters")
    expect(gallery.get_by_role("heading", name="Bo")).to_be_visible()
    for name in ("Ada", "Bo"):
        character_library.remove(name)
    gallery.locator("input[type=file]").set_input_files([broken, *cards])  # type: ignore[arg-type]
    expect(gallery.get_by_role("alert")).to_contain_text("broken.json: The file is damaged")
    expect(gallery.get_by_role("heading", name="Bo")).to_be_visible()
    for name in ("Ada", "Bo"):
        character_library.remove(name)


def test_a_chat_has_the_title_that_its_file_is_named_after(page: Page, url: str) -> None:
    visit(page, url, "titles")
    whatsapp_chat = {"name": "WhatsApp Chat with Ben & Co_2 🪁 (1).txt", "mimeType": "", "buffer": WHATSAPP_TEXT}
    group = "".join(
        json.dumps({"name": name, "is_user": not name, "original_avatar": f"{name}.png", "mes": "Hi.", "send_date": 1})
        + "\n"
        for name in ("", "Ann", "Bo")
    )
    silly_tavern = {"name": "group_2025 07-01.jsonl", "mimeType": "", "buffer": group.encode()}
    for file in (whatsapp_chat, silly_tavern):
        dialog = drop(page, file)
        dialog.get_by_role("button", name="Import", exact=False).last.click()
        expect(dialog.locator(".headline")).to_contain_text("imported.")
        dialog.get_by_role("button", name="Close").last.click()
    expect(page.locator("#session-list .preview")).to_contain_text(["Ben & Co_2 🪁", "group_2025 07-01"])


def test_an_import_is_undone_and_other_messages_stay(page: Page, url: str) -> None:
    visit(page, url, "undone")
    web.post(f"{url}/api/v1/banks/undone/lines", json={"text": "I have a green kite."}).raise_for_status()
    dialog = drop(page, whatsapp())
    dialog.get_by_role("button", name="Import 2 messages").click()
    dialog.get_by_role("button", name="Undo").click()
    question = page.get_by_role("dialog", name="Undo the import?")
    expect(question).to_contain_text("The 2 messages that it added are permanently removed")
    question.get_by_role("button", name="Keep it").click()
    assert len(stored(url, "undone")) == 3
    dialog.get_by_role("button", name="Undo").click()
    question.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("dialog", name="Forgotten")).to_contain_text("2 messages")
    assert [text for *_, text in stored(url, "undone")] == ["I have a green kite."]
    expect(dialog).to_have_count(0)


def test_the_person_says_what_day_a_date_is_that_can_be_read_in_two_ways(page: Page, url: str) -> None:
    visit(page, url, "dates")
    dialog = drop(page, {"name": "chat.txt", "mimeType": "", "buffer": b"04/05/24, 10:00 - Ann: Good morning!\n"})
    choice = dialog.get_by_label("Which day is 04/05/24?")
    expect(choice.locator("option")).to_have_text(["4 May 2024", "5 April 2024"])
    check_accessibility(page)
    choice.select_option("5 April 2024")
    dialog.get_by_role("button", name="Import 1 message").click()
    expect(dialog.locator(".headline")).to_have_text("1 message imported.")
    (line,) = web.get(f"{url}/api/v1/banks/dates/lines").raise_for_status().json()["items"]
    assert line["said_at"].startswith("2024-04-05")


def test_a_dropped_folder_is_one_import(page: Page, url: str, tmp_path: Path) -> None:
    visit(page, url, "folder")
    (tmp_path / "Workspace/kites").mkdir(parents=True)
    (tmp_path / "Workspace/users.json").write_text('[{"id": "U1", "real_name": "Jörg"}]')
    for day in range(1, 10):
        said = {"type": "message", "user": "U1", "text": f"Kite {day}", "ts": f"171456840{day}.000100"}
        (tmp_path / f"Workspace/kites/2024-05-0{day}.json").write_text(json.dumps([said]))
    dropped = {"items": [], "files": [str(tmp_path / "Workspace")], "dragOperationsMask": 1}
    tab = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        tab.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 300, "data": dropped})
    dialog = page.get_by_role("dialog", name="Import your chats")
    expect(dialog).to_contain_text("1 chat · 9 messages")
    dialog.get_by_role("button", name="Import 9 messages").click()
    expect(dialog.locator(".headline")).to_have_text("9 messages imported.")
    assert stored(url, "folder") == [("Jörg", "user", f"Kite {day}") for day in range(1, 10)]


def test_the_archive_of_a_folder_has_its_texts_but_no_pictures_and_too_large_a_folder_is_refused_unread(
    page: Page, url: str
) -> None:
    visit(page, url, "archive")
    archive = page.evaluate(
        f"async () => {{ const {{ zipFolder }} = {module('importfolder.js', 'importdialog.js')};"
        """
          const file = (path, text) => {
            const made = new File([text], path, { type: path.endsWith(".png") ? "image/png" : "" });
            return { fullPath: `/F/${path}`, file: (done) => done(made) };
          };
          const folder = (entries, step = 2) => ({ name: "F", isDirectory: true, createReader: () => ({
            readEntries: (done) => done(entries.splice(0, step)) }) });
          const inner = folder([file("Größe/c.txt", "c".repeat(2e5))]);
          const make = (folder, max = 1e6) => zipFolder(folder, max);
          const entries = [file("a.json", "Jörg 🪁"), file("b.png", "x"), file("empty", ""), inner];
          const zip = await make(folder(entries));
          const many = await make(folder(Array(65_536).fill(file("a", "")), 4096)).catch((error) => error);
          const large = await make(folder([file("a", "text")]), 3).catch((error) => error);
          const refused = [many.files.length, large.size].join();
          if (refused !== "65536,4") throw new Error(refused);
          const bytes = new Uint8Array(await zip.arrayBuffer());
          return [zip.name, btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))];
        }"""
    )
    assert archive[0] == "F.zip"
    with ZipFile(BytesIO(b64decode(archive[1]))) as opened:
        assert opened.testzip() is None
        texts = {name: opened.read(name).decode() for name in opened.namelist()}
    assert texts == {"F/a.json": "Jörg 🪁", "F/empty": "", "F/Größe/c.txt": "c" * 200_000}


def test_several_files_are_one_import_and_one_that_cannot_be_read_is_named(tab: Page, url: str) -> None:
    visit(tab, url, "several")
    note = {"name": "notes.txt", "mimeType": "", "buffer": b"Nora: A kite!\nBen: Mine.\n"}
    dialog = drop(tab, chatgpt(2), RECIPES, discord(), note, whatsapp())
    expect(dialog.locator(".headline")).to_have_text(["5 files", "ChatGPT", "Discord", "notes.txt", "WhatsApp"])
    expect(dialog.locator(".contents").first).to_contain_text("5 chats · 11 messages")
    expect(dialog.locator("details[open]")).to_contain_text(
        "1 file can’t be readrecipes.json: No known chats were found"
    )
    file = {name: dialog.get_by_role("group", name=name) for name in ("chatgpt.zip", "kites.json", "notes.txt")}
    expect(file["chatgpt.zip"]).to_contain_text("2 chats · 4 messages")
    expect(file["chatgpt.zip"].get_by_role("combobox")).to_have_count(0)
    expect(file["notes.txt"].get_by_label("Who are you?")).to_have_value("Nora")  # as in the file of WhatsApp
    file["kites.json"].get_by_label("Who are you?").select_option("nora_k")
    check_accessibility(tab)
    dialog.get_by_text("Choose chats").click()
    dialog.get_by_label("Find by title").fill("chatgpt")
    dialog.get_by_role("button", name="Choose none").click()
    dialog.get_by_role("checkbox", name="Kite 1").check()
    expect(dialog).to_contain_text("4 of 5 chosen")
    asked: list[bool] = []

    def cut(route: Route) -> None:
        asked.append(route.request.post_data_json["embed"])  # type: ignore[index]
        if len(asked) == 2:
            route.abort()
        else:
            route.continue_()

    tab.route("**/import/*", cut)
    dialog.get_by_role("button", name="Import 9 messages").click()
    expect(dialog.get_by_role("alert")).to_contain_text("2 of 9 messages are imported.")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog.locator(".headline")).to_have_text("9 messages imported.")
    expect(dialog.locator("details[open]")).to_contain_text("recipes.json: No known chats were found")
    assert asked == [False, False, False, False, True]
    lines = stored(url, "several")
    assert [text for *_, text in lines][-2:] == ["At noon.", "Good."]  # in the order of the files' times
    people = [speaker for speaker, role, _ in lines if role == "user"]
    assert (people.count("Nora"), people.count("Ben"), len(people)) == (5, 2, 8)


def test_an_upload_shows_how_much_is_sent_and_leaves_nothing_when_it_is_cancelled(
    page: Page, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, talk, moved = (tmp_path / name for name in ("temporary", "talk.txt", "moved.txt"))
    temporary.mkdir()
    talk.write_text("Ann: The red kite is in the tree.\n" * 30_000)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    visit(page, url, "upload")
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
    network.send("Network.emulateNetworkConditions", slow)
    dialog = page.get_by_role("dialog", name="Import your chats")
    for button in ("Cancel", "Close"):
        moved.write_text("Ann: Hi.\n")
        drop(page, talk, moved)
        expect(dialog).to_contain_text("Sending talk.txt …")
        expect(dialog).to_contain_text("of 1.0 MB")
        wait_until(lambda: dialog.locator("progress").evaluate("bar => bar.value") > 0.1)
        assert len(list(temporary.iterdir())) == 1
        if button == "Cancel":
            check_accessibility(page)
        else:
            moved.unlink()
            network.send("Network.emulateNetworkConditions", slow | {"uploadThroughput": -1})
            expect(dialog.locator("details[open]")).to_contain_text("moved.txt: It can’t be opened.")
            expect(dialog.get_by_role("button", name="Import 30,000 messages")).to_be_enabled()
        dialog.get_by_role("button", name=button).press("Enter")
        expect(dialog).to_have_count(0)
        wait_until(lambda: not list(temporary.iterdir()))


def test_an_import_that_the_server_cuts_short_goes_on_and_a_strange_file_is_refused_with_the_known_kinds(
    tab: Page, url: str
) -> None:
    visit(tab, url, "cut")
    refusals = [
        (429, {"retry-after": "7"}, "Too many requests. Continue in 7 seconds."),
        (503, {}, "The server is busy. Continue in a moment."),
    ]

    def refuse(route: Route) -> None:
        if not refusals:
            return route.continue_()
        status, headers, _ = refusals[0]
        return route.fulfill(status=status, headers=headers, body=json.dumps({"status": status, "detail": "no"}))

    tab.route("**/import/preview?*", refuse)
    dialog = drop(tab, discord())
    while refusals:
        expect(dialog.get_by_role("alert")).to_have_text(refusals[0][2])
        del refusals[0]
        dialog.get_by_role("button", name="Continue").click()
    expect(dialog.get_by_role("button", name="Import")).to_be_enabled()
    tab.unroute("**/import/preview?*")
    uploads: list[str] = []

    def cut(route: Route) -> None:
        uploads.append(route.request.url)
        route.abort()

    tab.route("**/import/*", cut, times=1)
    dialog.get_by_role("button", name="Import").click()
    expect(dialog.get_by_role("alert")).to_have_text(
        "The connection to the server was lost. 0 of 3 messages are imported. If you continue, nothing is added twice."
    )
    web.delete(uploads[0]).raise_for_status()  # the server has forgotten it
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog.locator(".headline")).to_have_text("3 messages imported.")
    dialog.get_by_role("button", name="Close").last.click()
    dialog = drop(tab, RECIPES)
    expect(dialog.get_by_role("alert")).to_have_text("recipes.json can’t be read.")
    for words in ("No known chats were found in it.", "ChatGPT: Settings", "WhatsApp: in a chat", "Character cards"):
        expect(dialog).to_contain_text(words)
    expect(dialog).not_to_contain_text("format=")
    check_accessibility(tab)
    tab.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
