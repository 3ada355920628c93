"""What WhatsApp writes in someone's name where they said no words: media left out, deleted messages, calls.

The phrases are those of English and of some other languages. Any other text is taken for what someone said, also one in
angle brackets or behind a left-to-right mark, which phones put before numbers as well.
"""

from __future__ import annotations

import re

MARK = "\u200e"  # left-to-right mark: iPhones put it before whatever WhatsApp says in someone's name
EDITED = "<This message was edited>"

_OMITTED = (  # between angle brackets, as Android has it
    "media omitted|medien ausgeschlossen|medien weggelassen|multimedia omitido|archivo omitido|médias? omis|"
    "fichier omis|mídia oculta|arquivo de mídia oculto|mídia omitida|ficheiro não revelado|media omess[oi]|"
    "file multimediale omesso|media weggelaten|medya dahil edilmedi|media tidak disertakan|pominięto multimedia|"
    "pominięte multimedia|без медиафайлов|файл пропущен|媒体文件已忽略|省略多媒體檔|メディアなし|"
    "미디어 파일을 제외한 내용|"
    r"(?:view once )?(?:voice|video) message omitted|attached: [^<>]+"
)
_LEFT_OUT = (  # bare, as iPhones have it
    "(?:image|video|video note|audio|sticker|gif|document|contact card) omitted|"
    "(?:bild|video|videonotiz|audio|sticker|gif|dokument|kontaktkarte) weggelassen|"
    "(?:imagen|vídeo|video|audio|sticker|gif|documento|tarjeta de contacto) omitid[oa]|"
    "(?:image|vidéo|audio|sticker|gif|document|fiche contact) (?:absent|omis)e?|"
    "(?:imagem|vídeo|áudio|figurinha|gif|documento|cartão do contato) (?:ocultad|omitid)[oa]|"
    "(?:immagine|video|audio|sticker|gif|documento|scheda contatto) omess[oa]|"
    "(?:afbeelding|video|audio|sticker|gif|document|contactkaart) weggelaten"
)
_DELETED = (
    "this message was deleted|you deleted this message|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht|"
    "(?:se )?eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje|ce message a été supprimé|"
    "vous avez supprimé ce message|esta mensagem foi apagada|mensagem apagada|você apagou esta mensagem|"
    "questo messaggio è stato eliminato|hai eliminato questo messaggio|dit bericht is verwijderd|"
    "je hebt dit bericht verwijderd"
)
_WORDLESS = re.compile(rf"{MARK}?(?:<{MARK}?(?:{_OMITTED})>|{_LEFT_OUT}|(?:{_DELETED})\.?)|null|", re.IGNORECASE)
_MARKED = re.compile(  # only behind the mark: someone may say the same
    rf"{MARK}(?:messages and calls are end-to-end encrypted.*|(?:missed |silenced )?(?:voice|video|group) call.*|"
    rf"[^\n]{{1,200}}{MARK}document omitted|your security code with .* changed.*|waiting for this message.*)",
    re.IGNORECASE | re.DOTALL,
)


def is_system_message(text: str) -> bool:
    """Whether the message holds no words of whoever it is ascribed to."""
    return _WORDLESS.fullmatch(text) is not None or _MARKED.fullmatch(text) is not None


def unedited(text: str) -> str:
    """The message without the remark that it was edited."""
    bare = text.removesuffix(EDITED)
    return text if bare == text else bare.rstrip().removesuffix(MARK).rstrip()
