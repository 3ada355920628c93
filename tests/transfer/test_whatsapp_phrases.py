from __future__ import annotations

import pytest

from everthread.transfer.whatsapp_phrases import find_files, is_system_message, strip_edit_mark, strip_media_note


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "<Media omitted>", "<Medien ausgeschlossen>", "\u200eimage omitted", "\u200eBild weggelassen",
        "\u200eMietvertrag.pdf • \u200e3 pages \u200edocument omitted", "\u200e<attached: 00000012-PHOTO.jpg>",
        "This message was deleted", "\u200eYou deleted this message.", "\u200eMissed voice call, \u200eTap to call",
        "\u200e<Anhang: 00000012-PHOTO-2024-06-05.jpg>", "IMG-20240605-WA0001.jpg (Datei angehängt)",
        "\u200eMietvertrag.pdf • \u200e3 Seiten \u200e<Anhang: 00000013-Mietvertrag.pdf>",
        "\u200eMietvertrag.pdf • \u200e3 Seiten \u200eDokument weggelassen", "Bu mesaj silindi", "此消息已删除",
        "Данное сообщение удалено", "\u200eVerpasster Sprachanruf. \u200eTippen, um zurückzurufen.",
        "\u200eVideollamada perdida", "\u200eAppel vocal, \u200e3 min", "\u200eDu wurdest hinzugefügt",
        "\u200eDeine Sicherheitsnummer für Bob hat sich geändert.", "\u200eYou created this group",
        "\u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.", "\u200eGemiste spraakoproep",
        "Mietvertrag.pdf • \u200e3 pages \u200edocument omitted", "Invoice 12.pdf (file attached)",
        "\u200egörüntü dahil edilmedi", "\u200eизображение отсутствует", "\u200egambar tidak disertakan",
        "\u200ebild utelämnad", "\u200eei kuvaa",
        "\u200eไม่มีรูปภาพ", "\u200ebillede udeladt", "\u200eobraz pominięty", "\u200eobrázek vynechán",
        "\u200e画像は含まれていません", "\u200e圖片已略去", "\u200e이미지 생략됨", "\u200fהתמונה הושמטה",
        "<Media har utelämnats>", "<Mediefil udeladt>", "<Медіа пропущено>", "<Média vynechána>", "<Bỏ qua Media>",
        "Det här meddelandet raderades", "\u200eПропущенный аудиозвонок",
        "\u200eCevapsız sesli arama", "\u200eПропущений відеодзвінок", "このメッセージは削除されました。",
    ],
)  # fmt: skip
def test_omitted_media_deleted_messages_and_calls_are_system_messages(text: str) -> None:
    assert is_system_message(text)


@pytest.mark.parametrize(
    "text",
    [
        "<sigh>", "Ei kuvaa", "Fără audio", "ไม่มีรูปภาพ",
        "<https://example.org>", "\u200e+49 170 1234567", "image omitted, sorry", "voice call at eight?",
        "Sprachanruf um acht?", "Du hast recht", "\u200eDu hast +49 170 1234567",
        "\u200ePOLL:\nWhich day?", "This message was deleted by you",
        "Our fern \u200e<Anhang: 00000012-PHOTO-2024-06-05.jpg>", "IMG-20240605-WA0001.jpg (Datei angehängt)\nOur fern",
    ],
)  # fmt: skip
def test_other_text_is_not_a_system_message(text: str) -> None:
    assert not is_system_message(text)


def test_the_mark_of_an_edited_message_is_removed() -> None:
    assert strip_edit_mark("I did. \u200e<This message was edited>") == "I did."
    assert strip_edit_mark("I did.\n<This message was edited>") == "I did."
    assert strip_edit_mark(" <This message was edited> no") == " <This message was edited> no"
    assert strip_edit_mark("I did. <sigh>") == "I did. <sigh>"


@pytest.mark.parametrize(
    "mark",
    [
        "<Diese Nachricht wurde bearbeitet.>", "<Se editó este mensaje.>", "<Ce message a été modifié>",
        "<Mensagem editada>", "<Questo messaggio è stato modificato>", "<Dit bericht is bewerkt>",
        "<Bu mesaj düzenlendi>", "<Это сообщение изменено>",
    ],
)  # fmt: skip
def test_the_mark_of_an_edited_message_is_removed_in_other_languages(mark: str) -> None:
    assert strip_edit_mark(f"<sigh> \u200e{mark}") == "<sigh>"


@pytest.mark.parametrize(
    "text",
    [
        "Our fern \u200eimage omitted", "<Media omitted>\nOur fern", "\u200e<attached: 00000012-PHOTO.jpg>\nOur fern",
        "Our fern \u200e<Anhang: 00000012-PHOTO.jpg>", "IMG-20240502-WA0001.jpg (Datei angehängt)\nOur fern",
        "\u200eIMG-20240502-WA0001.jpg (file attached)\nOur fern", "Our fern.pdf (fichier joint)\nOur fern",
        "\u200fIMG-20240502-WA0001.jpg (קובץ מצורף)\nOur fern", "VID-20240502-WA0001.mp4 (ファイル添付)\nOur fern",
    ],
)  # fmt: skip
def test_the_note_on_a_picture_or_a_file_is_removed_from_its_caption(text: str) -> None:
    assert strip_media_note(text) == "Our fern"


@pytest.mark.parametrize(
    "text", ["Our fern image omitted", "See <Media omitted>", "Our fern\nIMG-20240502-WA0001.jpg (file attached)"]
)
def test_a_note_in_the_midst_of_words_is_part_of_them(text: str) -> None:
    assert strip_media_note(text) == text


def test_files_are_named() -> None:
    assert find_files("Our fern \u200e<adjunto: 00000012-PHOTO.jpg>") == ["00000012-PHOTO.jpg"]
    assert find_files("IMG-20240605-WA0001.jpg (file attached)\nOur fern") == ["IMG-20240605-WA0001.jpg"]
    assert find_files("\u200eInvoice 12.pdf (file attached)\nFor May") == ["Invoice 12.pdf"]
    assert find_files("<sigh> (file attached)") == []
