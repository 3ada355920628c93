"""Tests of how people deny, correct and end in German, Spanish and Chinese what is known of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line

GREETINGS = {"de": "Hallo, wie geht es dir heute?", "es": "Hola, ¿qué tal estás hoy?", "zh": "你好，今天怎么样？"}

# Consecutive lines by Kim, and what the second one states and ends.
CHANGED = {
    "de": {
        # denied
        ("Ich wohne in Köln", "Nein, ich wohne gar nicht in Köln."): "- home | Köln",
        ("ich wohne in köln", "nee warte ich wohn gar nicht in köln"): "- home | köln",
        ("Ich wohne in Köln", "In Köln wohn ich doch gar nicht"): "- home | Köln",
        ("Ich arbeite bei Siemens", "Ich arbeite nicht bei Siemens, das war mein Ex"): "- employer | Siemens",
        ("Ich arbeite bei Siemens", "ich habe nie bei Siemens gearbeitet"): "- employer | Siemens",
        ("Wir haben einen Hund", "Ich hatte nie einen Hund."): "- pet | Hund",
        ("Ich habe eine Katze", "ich hab doch gar keine Katze"): "- pet | Katze",
        ("Ich bin vegan", "ich bin gar nicht vegan"): "- diet | vegan",
        ("Ich bin Lehrer", "Ich bin doch kein Lehrer"): "- occupation | Lehrer",
        # corrected
        ("Ich wohne in Köln", "ich wohne nicht in Köln, sondern in Bonn"): "- home | Köln; home | Bonn",
        ("ich wohne in köln", "ich wohne nicht mehr in köln sondern in bonn"): "home | bonn",
        (
            "Ich arbeite bei Bosch",
            "Ich arbeite nicht mehr bei Bosch, sondern bei Aldi",
        ): "- employer | Bosch; employer | Aldi",
        ("Ich wohne in Leipzig", "Ich meinte Dresden, nicht Leipzig."): "home | Dresden",
        ("Ich wohne in Leipzig", "ich meinte nicht Leipzig, sondern Dresden"): "home | Dresden",
        ("Meine Katze heißt Milo", "ich meinte Miro, nicht Milo"): "- pet | Milo; pet | Miro",
        ("bin allergisch gegen nüsse", "ne doch nicht gegen nüsse, gegen äpfel"): "- allergy | nüsse; allergy | äpfel",
        (
            "Meine Lieblingsfarbe ist Grün",
            "Meine Lieblingsfarbe ist nicht Grün, sondern Blau",
        ): "favourite colour | Blau",
        # ended with something else
        (
            "Ich bin Bäckerin in der Bäckerei",
            "Ich hab bei der Bäckerei gekündigt",
        ): "- employer | Bäckerei; - occupation | ",
        (
            "Wir haben uns verlobt. Meine Freundin heißt Ayla.",
            "Wir haben uns getrennt",
        ): "- partner | ; - status | verlobt",
        (
            "Meine Freundin heißt Ayla. Ayla ist verlobt.",
            "wir haben geheiratet",
        ): "- status | verlobt; status | verheiratet",
    },
    "es": {
        ("Vivo en Valencia", "no, no vivo en Valencia"): "- home | Valencia",
        ("vivo en valencia", "no vivo en valencia sino en vigo"): "home | vigo",
        ("Vivo en Valencia", "Perdón, quería decir Sevilla, no Valencia."): "home | Sevilla",
        ("Trabajo en Zara", "No trabajo en Zara, esa era mi hermana"): "- employer | Zara",
        ("Tengo un gato", "nunca he tenido gato"): "- pet | gato",
        ("Soy vegana", "En realidad no soy vegana"): "- diet | vegana",
        ("Soy enfermera", "no soy enfermera, soy médica"): "- occupation | enfermera; occupation | médica",
        (
            "soy alergica a las nueces",
            "bueno, no a las nueces, a las almendras",
        ): "- allergy | nueces; allergy | almendras",
        ("mi color favorito es el verde", "mi color favorito no es el verde, es el azul"): "favourite colour | azul",
        (
            "Mi novia se llama Eva. Eva está comprometida.",
            "nos hemos casado",
        ): "- status | comprometida; status | casado",
        ("Mi hermana se llama Ana", "ana se divorcio en mayo"): "status | divorciado",
        ("Mi novio se llama Pablo", "estamos prometidos"): "status | prometido",
    },
    "zh": {
        ("我住在杭州", "我其实不住杭州"): "- home | 杭州",
        ("我在腾讯工作", "我不在腾讯工作，那是我哥"): "- employer | 腾讯",
        ("我养了一只猫", "我没有猫"): "- pet | 猫",
        ("我是护士", "我不是护士，我是医生"): "- occupation | 护士; occupation | 医生",
        ("我吃素", "我不吃素"): "- diet | 吃素",
        ("我对花生过敏", "不对，不是花生，是芒果"): "- allergy | 花生; allergy | 芒果",
        ("我住在杭州", "说错了，是苏州，不是杭州"): "home | 苏州",
        ("我最喜欢的颜色是绿色", "我最喜欢的颜色不是绿色，是蓝色"): "favourite colour | 蓝色",
        ("我女朋友叫小雪，小雪订婚了", "我们结婚了"): "- status | 订婚; status | 结婚",
    },
}

UNCHANGED = {
    "de": [
        ("Ich wohne in Köln", "ich wohne nicht in Köln, um zu feiern"),
        ("Ich wohne in Köln", "Ich wohne nicht nur in Köln"),
        ("Ich wohne in Köln", "meine Schwester meinte, ich wohne nicht in Köln"),
        ("Ich wohne in Köln", "nee, nicht heute, morgen"),
        ("Ich wohne in Köln", "ich meine Köln ist schön, nicht Bonn"),
        ("Ich arbeite bei Siemens", "ich arbeite heute nicht bei Siemens"),
        ("Ich habe einen Hund", "ich hab heute keinen Hund dabei"),
        ("Ich bin Lehrerin", "ich bin nicht nur Lehrerin"),
        ("Ich bin Lehrerin", "ich bin keine Lehrerin, die schreit"),
        ("Meine Lieblingsfarbe ist Blau", "Meine Lieblingsfarbe ist nicht Blau, es ist kompliziert."),
    ],
    "es": [
        ("Vivo en Valencia", "no vivo en Valencia por gusto"),
        ("Vivo en Valencia", "mi madre dice que no vivo en Valencia"),
        ("Vivo en Valencia", "si no vivo en Valencia me muero"),
        ("Vivo en Valencia", "bueno, no hoy, mañana"),
        ("Tengo un gato", "no tengo gato negro"),
        ("Mi hermana se llama Ana", "Ana se ha comprometido a ayudar"),
    ],
    "zh": [
        ("我住在杭州", "我不住在杭州的话会很难"),
        ("我住在杭州", "我妈说我不住在杭州"),
        ("我在腾讯工作", "我今天不在腾讯工作"),
        ("我养了一只猫", "我没有猫粮了"),
        ("我对花生过敏", "不是花生酱，是花生油"),
        ("我是护士", "我不是护士长"),
        ("我在华为工作", "不是华为，是我老公的手机"),
        ("我住在杭州", "不是杭州，是苏州下雨"),
        ("我最喜欢的颜色是蓝色", "我最喜欢的颜色不是蓝色，是秘密"),
    ],
}


def read_last(language: str, lines: tuple[str, str]) -> set[str]:
    """Read what the last of some lines by Kim states, with "- " before what ends."""
    at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    said = enumerate((GREETINGS[language], *lines), 1)
    found = read_statements([Line(seq, "s", "user", "Kim", text, at, key=str(seq)) for seq, text in said])
    last = (each for each in found if each.seqs == (len(lines) + 1,))
    return {f"{'- ' if each.ends else ''}{each.attribute} | {each.value}" for each in last}


@pytest.mark.parametrize(
    ("language", "lines", "changed"), [(code, *pair) for code, talks in CHANGED.items() for pair in talks.items()]
)
def test_a_line_changes_what_was_said_before(language: str, lines: tuple[str, str], changed: str) -> None:
    assert read_last(language, lines) == set(changed.split("; "))


@pytest.mark.parametrize(("language", "lines"), [(code, talk) for code, talks in UNCHANGED.items() for talk in talks])
def test_what_only_sounds_like_a_correction_changes_nothing(language: str, lines: tuple[str, str]) -> None:
    assert read_last(language, lines) == set()
