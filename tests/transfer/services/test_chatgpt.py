from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from everthread.transfer.services.chatgpt import build_conversation
from transfer.services.chatgpt_export import conversation, node, root, save_zip


def text_of(**message: Any) -> tuple[str, dict[str, int]]:
    """Return the text of one message with these fields, and what was counted."""
    built = build_conversation(conversation("c", [node("a", None, **message)], "a"))
    return built.messages[0].text, dict(built.skipped)


def parts(*values: object, kind: str = "text") -> dict[str, object]:
    return {"content_type": kind, "parts": list(values)}


def test_the_path_to_the_current_node_is_shown_and_other_branches_are_not() -> None:
    nodes = [
        root(),
        node("ask", "root"),
        node("old", "ask", "assistant"),
        node("new", "ask", "assistant"),
        node("next", "new"),
    ]
    shown = {each.id for each in build_conversation(conversation("c", nodes, "next")).messages if each.shown}
    assert shown == {"root", "ask", "new", "next"}
    for current in (None, "gone"):
        assert all(each.shown for each in build_conversation(conversation("c", nodes, current)).messages)


def test_a_circle_above_the_current_node_ends_the_path() -> None:
    built = build_conversation(conversation("c", [node("a", "b"), node("b", "a")], "a"))
    assert [each.shown for each in built.messages] == [True, True]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"role": "system"}, "instructions"),
        ({"role": "tool"}, "results of tools"),
        ({"metadata": {"is_visually_hidden_from_conversation": True}}, "hidden messages"),
        ({"weight": 0.0}, "hidden messages"),
        ({"content": {"content_type": "user_editable_context", "user_profile": "I sail."}}, "custom instructions"),
        ({"role": "assistant", "content": {"content_type": "thoughts", "thoughts": []}}, "thoughts"),
        ({"role": "assistant", "content": {"content_type": "reasoning_recap", "content": "4 s"}}, "thoughts"),
        ({"role": "assistant", "recipient": "python"}, "calls of tools"),
        ({"role": "assistant", "content": {"content_type": "code", "text": "search()"}}, "calls of tools"),
        ({"role": "assistant", "content": {"content_type": "execution_output", "text": "4"}}, "results of tools"),
        ({"role": "assistant", "content": {"content_type": "system_error", "text": "429"}}, "errors"),
        ({"content": parts(" ")}, "messages without text"),
        ({"content": {"content_type": "super_widget"}}, "messages of unknown kinds"),
        ({"role": 7}, "messages of unknown kinds"),
    ],
)
def test_messages_that_were_not_said_have_no_text_and_are_counted(message: dict[str, Any], kind: str) -> None:
    assert text_of(**message) == ("", {kind: 1})


def test_spoken_messages_are_their_transcripts_and_pictures_are_counted() -> None:
    spoken = [
        {"content_type": "audio_transcription", "text": "Do you hear me?", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
    ]
    assert text_of(content=parts(*spoken, kind="multimodal_text")) == ("Do you hear me?", {})
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    assert text_of(content=parts(picture, "What is this?", kind="multimodal_text")) == (
        "What is this?",
        {"pictures": 1},
    )


def test_pieces_of_a_text_are_joined_and_citations_are_cut_out() -> None:
    cited = "Ferns need shade.\ue200cite\ue202turn0search0\ue202turn0search3\ue201 And water."
    assert text_of(role="assistant", content=parts(cited, " Often."))[0] == "Ferns need shade. And water. Often."
    assert text_of(role="assistant", content=parts("Torn \ue200cite\ue202turn"))[0] == "Torn citeturn"
    older = "Ferns need shade【12†source】【4:1†ferns.pdf】 and water :contentReference[oaicite:3]{index=3}."
    assert text_of(role="assistant", content=parts(older))[0] == "Ferns need shade and water."
    assert text_of(content=parts("What does 【12†source】 mean?"))[0] == "What does 【12†source】 mean?"


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ('entity\ue202["people", "Ada Lovelace", 0]', "Ada Lovelace"),
        ('entity\ue202["city","Łódź"]', "Łódź"),
        ("entity\ue202Ada Lovelace", "Ada Lovelace"),
        ('entity\ue202["people"]', ""),
        ("url\ue202her notes\ue202turn0search3", "her notes"),
        ("link_title\ue202her notes\ue202https://example.org/", "her notes"),
        ('image_group\ue202{"query":["Ada Lovelace"]}', ""),
        ("filecite\ue202turn0file0", ""),
    ],
)
def test_of_marks_the_words_that_are_shown_stay(mark: str, shown: str) -> None:
    assert text_of(role="assistant", content=parts(f"Read \ue200{mark}\ue201."))[0] == f"Read {shown}."


def test_models_attachments_and_custom_gpts_are_metadata() -> None:
    files = {"attachments": [{"id": "file-1", "name": "offer.txt"}, {"id": "file-2"}, 3]}
    nodes = [node("a", None, metadata=files), node("b", "a", "assistant", metadata={"model_slug": "gpt-4o"})]
    built = build_conversation(conversation("c", nodes, "b", gizmo_id="g-luna"))
    assert [each.metadata for each in built.messages] == [{"attachments": ["offer.txt"]}, {"model": "gpt-4o"}]
    assert built.metadata == {"gpt": "g-luna"}
    assert [(each.speaker, each.role) for each in built.messages] == [("user", "user"), ("ChatGPT", "assistant")]


def test_a_chain_that_is_far_deeper_than_recursion_allows_is_shown() -> None:
    nodes = [node(str(n), str(n - 1) if n else None) for n in range(3000)]
    assert all(each.shown for each in build_conversation(conversation("c", nodes, "2999")).messages)


def test_an_export_that_was_cut_off_anywhere_is_an_error_and_none_of_it_is_imported(tmp_path: Path) -> None:
    talks = [conversation(f"c{n}", [node("a", None), node("b", "a", "assistant")], "b") for n in range(20)]
    text = json.dumps(talks).encode()
    archive = save_zip(tmp_path / "whole.zip", {"conversations.json": text}).read_bytes()
    for name, content in (("cut.json", text), ("cut.zip", archive)):
        for end in range(997, len(content), 997):
            (tmp_path / name).write_bytes(content[:end])
            with pytest.raises(BadFile, match=r"cut\.(json: not JSON|zip: not a readable zip archive)"):
                check_file(tmp_path / name)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "expected an object, got None"),
        ({"title": "Torn"}, "it has no 'mapping': an object with 'title'"),
        ({"mapping": {}, "id": "c"}, "it has no messages"),
        ({"mapping": dict([root()]), "id": ""}, "it has no id"),
    ],
)
def test_a_value_that_is_no_conversation_is_rejected(value: object, words: str) -> None:
    with pytest.raises(BadFile, match=words):
        build_conversation(value)


def test_a_conversation_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    single = json.dumps(conversation("c", [node("ask", None), node("answer", "ask", "assistant")], "answer"))
    (tmp_path / "single.json").write_text(single, encoding="utf-8-sig")
    assert [line.text for line in check_file(tmp_path / "single.json").read()] == ["ask", "answer"]
