from __future__ import annotations

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.koboldlite import build_chat
from transfer.services.companion_examples import KOBOLD
from transfer.services.reading import shown

TALK = [
    ("Aria", "Hello Nora."),
    ("Nora", "Which door is red?"),
    ("Aria", "The right one."),
    ("Nora", "Thank you!"),
    ("Aria", "You are welcome."),
]


def test_marks_say_who_speaks() -> None:
    built = build_chat(KOBOLD)
    assert shown(built) == TALK
    assert built.skipped == {"thoughts": 1}
    assert (built.title, built.owner) == ("Aria", "Nora")


def test_tags_of_a_model_say_who_speaks_in_older_files() -> None:
    tags = {"instruct_starttag": "\\n### Instruction:\\n", "instruct_endtag": "\\n### Response:\\n"}
    text = ["\n### Instruction:\nWhich door is red?\n### Response:\n", "The right one."]
    settings = {**KOBOLD["savedsettings"], **tags, "opmode": "4"}
    assert shown(build_chat({**KOBOLD, "prompt": "", "actions": text, "savedsettings": settings})) == TALK[1:3]


def test_in_the_chat_mode_names_at_the_beginning_of_lines_say_who_speaks() -> None:
    actions = ["\nNora: Which door is red?", "\nAria: The right one.\nNora: Thank you!", "\nAria:", " You are welcome."]
    assert shown(build_chat({**KOBOLD, "prompt": "Aria: Hello Nora.", "actions": actions})) == TALK


def test_marks_say_who_speaks_also_if_both_have_one_name() -> None:
    built = build_chat({**KOBOLD, "savedsettings": {"chatname": "Aria", "chatopponent": "Aria"}})
    assert [message.role for message in built.messages] == ["assistant", "user", "assistant", "user", "assistant"]
    assert built.skipped == {"thoughts": 1}


def test_instructions_are_counted() -> None:
    built = build_chat({**KOBOLD, "prompt": "", "actions": ["{{[SYSTEM]}}Be kind.{{[INPUT]}}Hi.{{[OUTPUT]}}"]})
    assert shown(built) == [("Nora", "Hi.")]
    assert built.skipped == {"instructions": 1}


def test_a_story_is_refused() -> None:
    with pytest.raises(BadFile, match="it is a story, not a chat"):
        build_chat({**KOBOLD, "prompt": "Once upon a time", "actions": [" there was a door."]})
