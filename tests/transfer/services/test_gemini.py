from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.transfer.services.conversation import BrokenConversation, Conversation
from everthread.transfer.services.gemini import build_conversation, divide, find_verb
from transfer.services.companion_examples import GEMINI, GEMINI_WORKSPACE, plain
from transfer.services.reading import hidden, read_entries, shown, times


def prompt(time: str, title: str, **fields: object) -> dict[str, object]:
    return {"header": "Gemini Apps", "title": title, "time": f"2024-06-02T{time}Z", **fields}


def read(records: Sequence[object]) -> list[Conversation]:
    return list(divide(iter(records)))


def test_the_history_is_divided_at_silence_and_turned_around() -> None:
    second, first = read(GEMINI)
    assert shown(second) == [
        ("user", "Which door?"),
        ("user", "And the other?"),
        ("Gemini", "The red one & more:\n\n- a"),
    ]
    assert shown(first) == [("user", "Eingegebener Prompt: Guten Tag"), ("Gemini", "Hallo!")]
    assert times(second) == ["2024-06-02T20:11:00+00:00", "2024-06-02T20:20:00.123000+00:00", None]


def test_other_activities_and_attachments_are_counted() -> None:
    assert read(GEMINI)[0].skipped == {
        "attachments": 2,
        "activities that are no prompts": 1,
        "activities of other apps": 1,
    }
    created = prompt("10:00:00", "Created Gemini Canvas titled x", safeHtmlItem=[{"html": "x"}])
    (conversation,) = read([created, prompt("soon", "Prompted x"), 1])
    assert not conversation.messages
    assert conversation.skipped.total() == 3


def test_only_the_verb_is_cut_off() -> None:
    records = [prompt("10:00:00", "Said Prompted by you."), prompt("10:01:00", "Prompted Attached 2 files. See them")]
    texts = [text for conversation in read(records) for _, text in shown(conversation)]
    assert texts == ["Said Prompted by you.".removeprefix("Said "), "Attached 2 files. See them"]


def test_the_verb_of_another_language_is_the_words_with_which_most_titles_begin() -> None:
    answer = [{"html": "x"}]
    records = [prompt("10:00:00", f"Eingegebener Prompt: {n} Fragen", safeHtmlItem=answer) for n in range(8)]
    records += [prompt("10:00:00", "Erstellt", safeHtmlItem=answer), prompt("10:00:00", "Prompted\u00a0me")]
    verb = find_verb(iter(records))
    assert verb == "Eingegebener Prompt: "
    (conversation,) = divide(iter(records), verb)
    assert {text for speaker, text in shown(conversation) if speaker == "user"} == {
        *(f"{n} Fragen" for n in range(8)),
        "Erstellt",
        "me",
    }
    assert find_verb(iter(records[:7])) == find_verb(iter(records[:3])) == "Eingegebener Prompt: "
    assert find_verb(iter(records[:2])) is None
    without_colon = [prompt("10:00:00", f"Demande envoyée {n}", safeHtmlItem=answer) for n in range(8)]
    assert find_verb(iter(without_colon)) == "Demande envoyée "
    assert find_verb(iter(without_colon[:7])) is None


def test_a_longer_history_in_which_the_verb_is_known_corrects_the_earlier_prompts(
    tmp_path: Path, memory: Memory
) -> None:
    answer = [{"html": "Yes."}]
    records = [prompt(f"{20 - n}:00:00", f"Demande envoyée {n} portes", safeHtmlItem=answer) for n in range(9)]
    for number in (5, 9, 9):
        (tmp_path / "MyActivity.json").write_bytes(plain(records[-number:]))
        import_lines(memory, check_file(tmp_path / "MyActivity.json"))
        assert memory.stats().lines == 2 * number
    texts = [line.text for line in memory.lines() if line.role == "user"]
    assert sorted(texts) == [f"{n} portes" for n in range(9)]


def test_a_conversation_keeps_its_id_when_it_grows() -> None:
    old = [prompt("10:05:00", "Prompted b"), prompt("10:00:00", "Prompted a")]
    (before,), (after,) = read(old), read([prompt("10:30:00", "Prompted c"), *old])
    assert before.id == after.id
    assert [message.id for message in after.messages][:4] == [message.id for message in before.messages]
    assert len(read([prompt("10:36:00", "Prompted c"), *old])) == 2


def test_a_history_in_html_is_refused_with_the_remedy(tmp_path: Path) -> None:
    html = b"<html><body><div class='outer-cell'><p>Gemini Apps</p></div></body></html>"
    with pytest.raises(BadFile, match=r"in HTML.*choose.*JSON"):
        read_entries("gemini", tmp_path, {"MyActivity.html": html})
    assert read_entries("gemini", tmp_path, {"MyActivity.html": html, "MyActivity.json": plain(GEMINI)})


def test_edited_turns_of_a_workspace_conversation_are_branches(tmp_path: Path) -> None:
    (conversation,) = read_entries("gemini", tmp_path, {"conversation_1.txt": plain(GEMINI_WORKSPACE)})
    assert isinstance(conversation, Conversation)
    assert shown(conversation) == [("user", "Which door to take?"), ("Gemini", "The blue\n\none.")]
    assert hidden(conversation) == {"Which door?": None, "The red one.": "Which door?"}
    assert (conversation.id, conversation.title) == ("2024-06-02T20:10:00Z", "Doors")
    assert conversation.skipped == {"thoughts": 1, "deleted messages": 1}


def test_a_broken_workspace_conversation_leaves_the_others(tmp_path: Path) -> None:
    files = {"a.txt": plain({"conversation_turns": 1}), "b.txt": plain(GEMINI_WORKSPACE)}
    broken, conversation = read_entries("gemini", tmp_path, files)
    assert broken == BrokenConversation("a.txt", "its turns are no list")
    assert isinstance(conversation, Conversation)
    with pytest.raises(BadFile, match="conversation_turns"):
        build_conversation({})
