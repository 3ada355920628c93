from __future__ import annotations

from pathlib import Path

from everthread.types import NewLine
from transfer.services.messenger_exports import (
    BOB,
    JSON,
    matrix_event,
    matrix_export,
    matrix_member,
    millis,
    read_files,
    text,
    to_json,
)


def read_room(folder: Path, *events: JSON, **fields: object) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, {"export.json": to_json(matrix_export(events, **fields))})


def edit(number: int, target: str, words: str, **fields: object) -> JSON:
    """Build the event by which the sender of a message edits it."""
    relation = {"rel_type": "m.replace", "event_id": target}
    new = {"msgtype": "m.text", "body": words}
    content = {"msgtype": "m.text", "body": f"* {words}", "m.new_content": new, "m.relates_to": relation}
    return matrix_event(number, content=content, **fields)


def test_an_edited_message_has_its_last_words(tmp_path: Path) -> None:
    edits = [edit(5, "$1", "Last."), edit(3, "$1", "Second."), edit(2, "$1", "Not Bob's to edit.")]
    (line, other), skipped = read_room(tmp_path, matrix_event(1), *edits, matrix_event(4))
    assert (line.text, line.key) == ("Last.", "matrix:!garden:example.org:$1")
    assert line.metadata["edited_at"] == "2024-05-01T12:05:00+00:00"
    assert (other.text, skipped) == (text(4), {"notices": 2})


def test_an_edit_of_a_message_before_the_export_is_that_message(tmp_path: Path) -> None:
    (line,), _ = read_room(tmp_path, edit(3, "$1", "Last."))
    assert (line.text, line.key) == ("Last.", "matrix:!garden:example.org:$1")


def test_an_answer_has_no_quotation_before_it(tmp_path: Path) -> None:
    relation = {"m.in_reply_to": {"event_id": "$1"}}
    body = "> <@bob:example.org> Did you\n> > water it?\n\n> I did.\nTwice."
    answer = {"msgtype": "m.text", "body": body, "m.relates_to": relation}
    plain = {"msgtype": "m.text", "body": "Yes.", "m.relates_to": relation}
    lines, _ = read_room(tmp_path, matrix_event(2, content=answer), matrix_event(3, content=plain))
    assert [line.text for line in lines] == ["> I did.\nTwice.", "Yes."]
    assert [line.metadata["reply_to"] for line in lines] == ["$1", "$1"]
    (quoting,), _ = read_room(tmp_path, matrix_event(1, content={"msgtype": "m.text", "body": "> It grows.\n\nYes!"}))
    assert quoting.text == "> It grows.\n\nYes!"


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    others = [
        matrix_event(2, type="m.room.encrypted", content={"ciphertext": "…"}),
        matrix_event(3, type="m.reaction", content={"m.relates_to": {"rel_type": "m.annotation", "key": "❤️"}}),
        matrix_event(4, content={}),
        matrix_event(5, unsigned={"redacted_because": {"type": "m.room.redaction"}}),
        matrix_event(6, content={"msgtype": "m.image", "body": "fern.jpg"}),
        matrix_event(7, type="m.room.topic", content={"topic": "Ferns"}),
    ]
    lines, skipped = read_room(tmp_path, matrix_event(1), *others)
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {
        "notices": 3,  # Ann and Bob join, and the topic
        "messages that were not decrypted": 1,
        "reactions": 1,
        "deleted messages": 2,
        "messages without words": 1,
    }


def test_words_about_a_file_are_read_and_its_name_is_noted(tmp_path: Path) -> None:
    content = {"msgtype": "m.image", "body": "Our fern.", "filename": "fern.jpg"}
    (line,), _ = read_room(tmp_path, matrix_event(1, content=content))
    assert (line.text, line.metadata["attachments"]) == ("Our fern.", ["fern.jpg"])


def test_speakers_have_their_last_names_or_else_their_ids(tmp_path: Path) -> None:
    renamed = {**matrix_member(BOB), "content": {"displayname": "Robert"}}
    stranger = matrix_event(3, sender="@cem:example.org")
    events = [matrix_event(1), matrix_event(2), renamed, stranger]
    lines, _ = read_files(tmp_path, {"export.json": to_json(matrix_export(events))}, me="Nora")
    assert [line.speaker for line in lines] == ["Nora", "Robert", "@cem:example.org"]
    assert [line.metadata["sender_id"] for line in lines[:2]] == ["@ann:example.org", "@bob:example.org"]


def test_messages_are_in_order_of_time(tmp_path: Path) -> None:
    late = matrix_event(3, origin_server_ts=millis(0))
    lines, _ = read_room(tmp_path, matrix_event(1), late)
    assert [line.text for line in lines] == [text(3), text(1)]
