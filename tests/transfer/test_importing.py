from __future__ import annotations

import json
import tracemalloc
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.bank.evidence import build_metadata
from everthread.chat.chat import Chat
from everthread.chat.session_writing import list_unwritten
from everthread.common.keys import META_KEY_FROM, META_RECALLED
from everthread.errors import BadFile, ConfigError, NotFound
from everthread.memory import BATCH_LINES, Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.recall_records import get_answer
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.transfer import exporting
from everthread.transfer.importing import (
    check_compatible,
    check_file,
    check_keys,
    find_stored,
    format_skipped,
    import_lines,
    select_foreign_lines,
    store_lines,
)
from everthread.transfer.jsonl import export_key, format_rows, read
from everthread.types import Context, Hit, JSONValue, Line, NewLine

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def to_exported(line: Line, parent: str | None = None) -> NewLine:
    fields = (line.text, line.speaker, line.role, line.said_at, line.session, line.metadata)
    return NewLine(*fields, parent, export_key(line), line.retracted_at)


def test_lines_that_the_bank_exported_are_recognised(memory: Memory) -> None:
    lines = [memory.observe(text) for text in ("One.", "Two.", "Three.")]
    memory.retract(2)
    assert list(select_foreign_lines(memory, map(to_exported, lines))) == []


def test_a_line_with_the_same_number_and_other_words_is_not_recognised(memory: Memory) -> None:
    line = memory.observe("One.")
    other = to_exported(replace(line, text="Another one."))
    assert list(select_foreign_lines(memory, [other])) == [other]


def test_a_forgotten_line_is_imported_again_with_its_parent(memory: Memory) -> None:
    first, second = memory.observe("Which boat?"), memory.observe("The blue one.", parent=1)
    again = to_exported(second, parent=export_key(first))
    memory.forget(seq=2)
    assert list(select_foreign_lines(memory, [to_exported(first), again])) == [replace(again, parent=1)]


def test_an_import_does_not_replace_the_current_conversation(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_text("Ann: The garden needs water.\nBob: I'll see to it.\n", encoding="utf-8")
    with Chat(memory, llm=ScriptedLLM(["A red one?", "It is."])) as chat:
        "".join(chat.reply("I have a bicycle."))
        session = chat.session
    import_lines(memory, check_file(file))
    with Chat(memory, llm=ScriptedLLM(["It is."])) as chat:
        assert chat.session == session
        assert chat.lines[-1].text == "A red one?"


def test_an_import_leaves_conversations_open_that_are_held_meanwhile(memory: Memory, tmp_path: Path) -> None:
    memory.observe("Good morning.", session="yesterday")
    memory.end("yesterday")
    file = tmp_path / "old.txt"
    file.write_text("Ann: The garden needs water.\nBob: I'll see to it.\n", encoding="utf-8")

    def talk(_: int) -> None:
        memory.observe("I have a bicycle.", session="today")
        memory.observe("A red one.", session="yesterday")

    import_lines(memory, check_file(file), talk)
    ended = {session.id for session in memory.sessions() if session.ended_at and session.ended_at >= session.last_at}
    assert not {"today", "yesterday"} & ended
    assert len(ended) == 1


@pytest.mark.parametrize("others", [0, BATCH_LINES - 2])
def test_new_lines_of_a_grown_chat_continue_its_last_session_until_an_hour_of_silence(
    memory: Memory, tmp_path: Path, others: int
) -> None:
    path = tmp_path / "WhatsApp Chat with Ann.txt"
    chat = "".join(f"05/06/2024, 18:05 - Ann: Fern {number}\n" for number in range(others + 2))
    path.write_text(chat, encoding="utf-8")
    import_lines(memory, check_file(path))
    memory.observe("Said in a conversation.")
    later = "18:20 - Bob: I did.", "21:20 - Ann: Thanks!", "21:21 - Bob: Bye!"
    path.write_text(chat + "".join(f"05/06/2024, {line}\n" for line in later), encoding="utf-8")
    import_lines(memory, check_file(path))
    sessions = memory.sessions()
    assert [session.lines for session in sessions if session.title == "Ann"] == [others + 3, 2]
    assert all(session.ended_at == session.last_at for session in sessions if session.title == "Ann")


def test_an_import_into_an_empty_bank_can_be_continued(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    record = {"text": "I have a bicycle.", "said_at": datetime.now(UTC).isoformat(), "session": "talk"}
    file.write_text(json.dumps(record), encoding="utf-8")
    import_lines(memory, check_file(file))
    with Chat(memory) as chat:
        assert (chat.session, len(chat.lines)) == ("talk", 1)


def test_a_conversation_of_the_first_hour_of_the_calendar_is_imported_and_ended(memory: Memory, tmp_path: Path) -> None:
    first = datetime.min.replace(tzinfo=UTC)
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"text": "Hello.", "said_at": first.isoformat()}), encoding="utf-8")
    assert import_lines(memory, check_file(file))["added"] == 1
    assert [session.ended_at for session in memory.sessions()] == [first]


def test_a_conversation_after_an_import_into_an_empty_bank_writes_nothing_about_the_imported_sessions(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    talks = [
        ("I moved to Lisbon.", "old", -9),
        ("My cat is called Oskar.", "left", 0),
        ("I love rye bread.", "last", 0),
    ]
    rows = [
        {"text": text, "said_at": (NOON + timedelta(days=days)).isoformat(), "session": session}
        for text, session, days in talks
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    import_lines(memory, check_file(file))
    with Chat(memory, llm=ScriptedLLM(["Aye."]), scribe=ExtractiveScribe()) as chat:
        "".join(chat.reply("Hello."))
        assert chat.wait(10)
        assert chat.session not in {"old", "left", "last"}
    assert (memory.jobs(), [unit for unit in memory.units() if unit.kind != "fact"]) == ([], [])
    assert [session.id for session in list_unwritten(memory)] == ["old", "left", "last"]


class StoreWithoutRetraction(SQLiteStore):
    """A store that fails if a line is retracted after it was stored, when it could already be recalled."""

    def retract(self, bank: str, seq: int, at: datetime) -> Line:
        raise AssertionError(f"line {seq} could be recalled until now")


def test_a_retracted_line_is_imported_as_retracted(tmp_path: Path) -> None:
    with closing(StoreWithoutRetraction(tmp_path)) as store:
        memory = Memory.open("alice", store=store, embedder=HashEmbedder())
        store_lines(memory, [NewLine("One."), NewLine("Two.", key="k", retracted_at=NOON), NewLine("Three.")])
        for _ in range(2):
            assert [line.text for line in memory.lines()] == ["One.", "Three."]
            assert [line.retracted_at for line in memory.lines(include_retracted=True)] == [None, NOON, None]
            store_lines(memory, [NewLine("Two.", key="k", retracted_at=NOON)])


def test_lines_retracted_since_the_last_import_are_retracted(memory: Memory) -> None:
    first, second = memory.observe("One.", key="k"), memory.observe("Two.")
    store_lines(memory, [replace(to_exported(line), retracted_at=NOON) for line in (first, second)])
    assert list(memory.lines()) == []
    assert [line.retracted_at for line in memory.lines(include_retracted=True)] == [NOON, NOON]


def test_lines_that_the_bank_retracted_stay_retracted(memory: Memory) -> None:
    lines = [memory.observe("One.", key="k"), memory.observe("Two.")]
    retracted = [memory.retract(line.seq) for line in lines]
    store_lines(memory, [to_exported(line) for line in lines])
    store_lines(memory, [replace(to_exported(line), retracted_at=NOON) for line in lines])
    assert list(memory.lines(include_retracted=True)) == retracted


def test_lines_with_new_keys_and_without_keys_are_accepted(memory: Memory) -> None:
    lines = [NewLine("One.", key="k"), NewLine("Two."), NewLine("Three.", key=f"everthread:9:{'0' * 64}")]
    assert list(select_foreign_lines(memory, lines)) == lines


def test_an_import_names_the_lines_that_it_added(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    rows = [{"text": f"Line {number}.", "key": f"k{number}"} for number in range(4)]
    file.write_text("\n".join(map(json.dumps, rows[1:3])), encoding="utf-8")
    memory.observe("Before.")
    assert import_lines(memory, check_file(file))["seqs"] == ((2, 3),)
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert import_lines(memory, check_file(file))["seqs"] == ((4, 5),)
    assert import_lines(memory, check_file(file))["seqs"] == ()


def test_the_person_must_be_a_speaker_of_one_of_the_transcripts(tmp_path: Path) -> None:
    paths = [tmp_path / "first.txt", tmp_path / "second.txt"]
    for path, text in zip(paths, ("Ann: Hello!\nBob: Hi!\n", "You: Hello!\nBob: Hi!\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    assert check_file(paths[0], me="Ann").contents.me == "Ann"
    with pytest.raises(ConfigError, match="no speaker is called 'Karl'; the most frequent are Ann, Bob; correct me="):
        check_file(paths[0], me="Karl")
    assert {line.speaker for line in check_file(paths, me="Karl").read()} == {"Ann", "Bob", "Karl"}


def test_what_is_skipped_is_named_in_the_singular_or_the_plural() -> None:
    one = {"calls of tools": 1, "without words": 1, "broken activities": 1, "parts that are no text": 1, "thoughts": 2}
    one |= {"messages that were not decrypted": 1}
    words = "1 call of tools, 1 without words, 1 broken activity, 1 part that is no text, 2 thoughts"
    words += ", 1 message that was not decrypted"
    assert format_skipped(one) == f" (skipped: {words})"


def test_a_key_with_other_words_in_the_bank_is_rejected_with_its_place(memory: Memory) -> None:
    memory.observe("I sail.", speaker="Ann", key="k")
    check_keys(memory, [NewLine("I sail.", "Ann", key="k"), NewLine("I bake.", key="l")], Path("a.jsonl"), {})
    for line, other in (
        (NewLine("I bake.", "Ann", key="k"), "text"),
        (NewLine("I sail.", "Bob", "assistant", key="k"), "speaker, 'Ann',"),
    ):
        what = rf"a\.jsonl, line 7: bank 'alice' has a different {other} under the key 'k', its line 1; change"
        with pytest.raises(BadFile, match=what):
            check_keys(memory, [NewLine("Yes."), line], Path("a.jsonl"), {"k": "line 7"})


def test_lines_that_the_bank_has_under_another_name_of_the_person_are_the_same_lines(
    memory: Memory, tmp_path: Path
) -> None:
    import_lines(memory, check_file(write_lines(tmp_path, [NewLine("I sail.", key="k"), NewLine("I row.", key="l")])))
    with Memory.open("bob", store=memory.store, embedder=HashEmbedder(512)) as other:
        named = [NewLine("I sail.", "Lena", key="k"), NewLine("I row.", "Lena", key="l"), NewLine("Yes.", "Lena")]
        other.observe_many(named)
        other.retract(2)
        source = check_file(export(other, tmp_path / "bob.jsonl", include_retracted=True))
        check_compatible(memory, source)
        assert import_lines(memory, source)["added"] == 1
    assert [(line.text, line.speaker) for line in memory.lines()] == [("I sail.", "user"), ("Yes.", "Lena")]


def test_a_copied_page_that_an_earlier_version_imported_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    reply = "ChatGPT\nThought for 5 seconds\nYes."
    path = tmp_path / "page.txt"
    path.write_text(f"You said:\nShade?\nChatGPT said:\n{reply}\n", encoding="utf-8")
    source = check_file(path)
    shade, yes = source.read()
    assert (shade.speaker, yes.text) == ("user", "Yes.")
    memory.observe_many([replace(shade, speaker="You"), replace(yes, text=reply)])  # as 0.1.0 imported it
    check_compatible(memory, source)
    assert import_lines(memory, source)["added"] == 0
    assert find_stored(memory, source) == [1, 2]


def test_a_key_whose_characters_were_replaced_is_recognised(memory: Memory) -> None:
    memory.observe("I sail.", key="a\0b")
    check_keys(memory, [NewLine("I sail.", key="a\0b")], Path("a.jsonl"), {})
    with pytest.raises(BadFile, match="has a different text under the key"):
        check_keys(memory, [NewLine("I bake.", key="a\0b")], Path("a.jsonl"), {})


def test_words_whose_characters_were_replaced_are_the_same_words(memory: Memory) -> None:
    line = NewLine("A half: \ud83d", key="k")
    memory.observe_many([line])
    check_keys(memory, [line], Path("a.jsonl"), {"k": "line 1"})


def write_lines(folder: Path, lines: list[NewLine]) -> Path:
    file = folder / "lines.jsonl"
    records = [{"text": line.text, "speaker": line.speaker, "key": line.key} for line in lines]
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return file


def test_a_file_adds_nothing_after_its_lines_were_corrected_and_retracted(memory: Memory, tmp_path: Path) -> None:
    file = write_lines(tmp_path, [NewLine(text, "Ann", key=text[0]) for text in ("A line.", "B line.", "C line.")])
    import_lines(memory, check_file(file))
    memory.correct(memory.correct(1, "A better line.").seq, "The best line.")
    memory.retract(2)
    memory.retract(3)
    memory.observe("Another line.", speaker="Ann", key="C")
    before = list(memory.lines(include_retracted=True))
    check_compatible(memory, check_file(file))
    assert import_lines(memory, check_file(file))["added"] == 0
    assert list(memory.lines(include_retracted=True)) == before


def test_a_file_adds_nothing_after_a_line_was_edited_in_a_conversation(memory: Memory, tmp_path: Path) -> None:
    file = write_lines(tmp_path, [NewLine("I have a bicycle.", "Ann", key="k")])
    import_lines(memory, check_file(file))
    with Chat(memory, llm=ScriptedLLM(["A red one?"]), session=memory.sessions()[0].id) as chat:
        reply = chat.edit(1, "I have a tricycle.")
        assert reply is not None
        "".join(reply)
        edited = chat.lines[0]
        check_compatible(memory, check_file(file))
        assert import_lines(memory, check_file(file))["added"] == 0
        assert memory.observe("I have a bicycle.", key="k") == edited
        chat.undo()
        (branch, *_) = [chat.branch(edited.seq), *chat.lines]
        assert branch == []
        assert chat.lines[0].key == "k"


def export(memory: Memory, file: Path, include_retracted: bool = False) -> Path:
    lines = memory.lines(include_retracted=include_retracted)
    file.write_text("".join(format_rows(lines, memory.sessions())), encoding="utf-8")
    return file


def test_titles_and_metadata_of_sessions_are_exported_and_imported(memory: Memory, tmp_path: Path) -> None:
    for session in ("one", "two", "three"):
        memory.observe("I planted ferns.", session=session)
        memory.observe("How nice!", role="assistant", session=session)
    memory.set_session("one", title="Ferns", metadata={"source": {"id": 7}})
    memory.set_session("three", metadata={"tags": ["garden"]})
    file = export(memory, tmp_path / "alice.jsonl")
    with Memory.open("bob", store=memory.store, embedder=HashEmbedder(512)) as other:
        for added in (6, 0):
            assert import_lines(other, check_file(file))["added"] == added
            labels = {session.id: (session.title, session.metadata) for session in other.sessions()}
            assert labels == {
                "one": ("Ferns", {"source": {"id": 7}}),
                "two": (None, {}),
                "three": (None, {"tags": ["garden"]}),
            }
        assert export(other, tmp_path / "bob.jsonl").read_text().count('"title"') == 2


def test_the_evidence_of_replies_is_exported_and_imported_with_the_numbers_of_the_other_bank(
    memory: Memory, tmp_path: Path
) -> None:
    coach, since, cat, fish = (
        memory.observe(text, speaker="Nora", session="one", said_at=NOON)
        for text in ("Joost is my coach.", "Since May.", "My cat is Tom.", "I eat no fish.")
    )
    hits = (Hit(coach, 2.5, 0.75, {"cosine": 0.5}, (coach, since)), Hit(cat, 1.5, 0.5, {}, (cat,)))
    context = Context("…", 42, (coach, since, cat, fish), hits, (), 0.875)
    prompt: JSONValue = {"sizes": [["window", 7], ["message", 3]], "window": [[1, 2], [4, 4]], "pinned": [4]}
    metadata = {"via": "page", **build_metadata(context, coach, prompt)}
    reply = memory.observe("It is Joost.", role="assistant", session="one", said_at=NOON, metadata=metadata)
    original = memory.evidence(reply.seq)
    memory.forget(seq=cat.seq)
    file = export(memory, tmp_path / "alice.jsonl")
    assert import_lines(memory, check_file(file))["added"] == 0
    with Memory.open("bob", store=memory.store, embedder=HashEmbedder(512)) as other:
        other.observe("Said long before.")
        for _ in range(2):
            import_lines(other, check_file(file))
            *_, last = other.lines()
            evidence = other.evidence(last.seq)
            assert [hit.text for hit in evidence.hits] == [coach.text]
            assert evidence.hits[0].signals == original.hits[0].signals
            assert [line.text for line in evidence.hits[0].passage] == [coach.text, since.text]
            assert [line.text for line in evidence.kept] == [fish.text]
            assert (evidence.forgotten, evidence.relevance, evidence.tokens) == (1, 0.875, 42)
            assert evidence.prompt == original.prompt
            record = last.metadata[META_RECALLED]
            assert record["prompt"]["window"] == [[2, 4]]  # type: ignore[call-overload,index]
            assert get_answer(last.metadata) == 2
            assert last.metadata["via"] == "page"
        other.forget(seq=2)
        assert other.evidence(last.seq).hits == ()
    assert META_RECALLED not in next(line for line in read(file) if line.role == "assistant").metadata


def test_the_evidence_that_an_interrupted_import_did_not_store_is_stored_by_the_next(
    memory: Memory, tmp_path: Path
) -> None:
    coach = memory.observe("Joost is my coach.", session="one")
    metadata = build_metadata(Context("…", 42, (coach,), (Hit(coach, 2.5, 0.75, {}, (coach,)),), (), 0.875))
    memory.observe("It is Joost.", role="assistant", session="one", metadata=metadata)
    source = check_file(export(memory, tmp_path / "alice.jsonl"))
    with Memory.open("bob", store=memory.store, embedder=HashEmbedder(512)) as other:
        other.observe_many([replace(line, metadata={}) for line in source.read()])  # as far as it came
        assert import_lines(other, source)["added"] == 0
        assert [hit.text for hit in other.evidence(2).hits] == [coach.text]


@pytest.mark.parametrize(
    "record",
    [
        3,
        {"hits": [{"seq": True}, {"seq": [1]}, {"seq": "1"}, 4], "kept": "x", "answer": {}, "prompt": 3},
        {"prompt": {"window": [[1, 10**15], [2, 1], ["a", 1], [0, 1]], "pinned": [None], "sizes": 3}, "forgotten": []},
    ],
)
def test_invalid_evidence_in_a_file_does_no_harm(memory: Memory, tmp_path: Path, record: object) -> None:
    file = tmp_path / "alice.jsonl"
    rows = [{"seq": 1, "text": "Hello."}, {"seq": 2, "text": "Aye.", "metadata": {META_RECALLED: record}}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert import_lines(memory, check_file(file))["added"] == 2
    if isinstance(record, dict):
        evidence = memory.evidence(2)
        assert (evidence.hits, evidence.kept, evidence.prompt) == ((), (), {})


def test_overlapping_ranges_in_a_file_name_each_line_once_and_take_no_memory(memory: Memory, tmp_path: Path) -> None:
    file, window = tmp_path / "alice.jsonl", [[1, 10_000], [1, 10**15]] * 500
    record = {"prompt": {"sizes": [["window", 1]], "window": window}}
    rows = [{"seq": 1, "text": "Hello."}, {"seq": 2, "text": "Aye.", "metadata": {META_RECALLED: record}}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tracemalloc.start()
    try:
        import_lines(memory, check_file(file))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    *_, last = memory.lines()
    assert last.metadata[META_RECALLED]["prompt"]["window"] == [[1, 2]]  # type: ignore[call-overload,index]
    assert peak_bytes < 50_000_000


def test_an_import_leaves_the_title_that_a_session_has(memory: Memory, tmp_path: Path) -> None:
    memory.observe("I planted ferns.", session="one")
    memory.set_session("one", title="Ferns", metadata={"source": "page"})
    file = export(memory, tmp_path / "alice.jsonl")
    memory.set_session("one", title="Garden", metadata={})
    import_lines(memory, check_file(file))
    assert [(session.title, session.metadata) for session in memory.sessions()] == [("Garden", {"source": "page"})]


def test_a_title_of_a_session_without_lines_is_left_out(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    rows = [{"session": "gone", "title": "Ferns", "metadata": {}}, {"text": "Hello.", "session": "one"}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert import_lines(memory, check_file(file))["added"] == 1
    assert [(session.id, session.title) for session in memory.sessions()] == [("one", None)]


def test_a_correction_of_another_bank_is_imported(memory: Memory, tmp_path: Path) -> None:
    with Memory.open("bob", store=memory.store, embedder=HashEmbedder(512)) as other:
        import_lines(
            other,
            check_file(write_lines(tmp_path, [NewLine("Porto.", "Ann", key="k"), NewLine("Yes.", "Bob", key="l")])),
        )
        file = tmp_path / "export.jsonl"
        for retracted in (False, True):
            lines = list(other.lines(include_retracted=retracted))
            file.write_text("".join(format_rows(lines)), encoding="utf-8")
            check_compatible(memory, check_file(file))
            import_lines(memory, check_file(file))
            assert [line.text for line in memory.lines()] == [line.text for line in other.lines()]
            if not retracted:
                other.correct(1, "Lisbon.")


def test_two_banks_with_different_corrections_keep_their_own(memory: Memory, tmp_path: Path) -> None:
    memory.observe("Porto.", speaker="Ann", key="k")
    memory.correct(1, "Faro.")
    theirs = NewLine("Lisbon.", "Ann", key="k", metadata={META_KEY_FROM: 1})
    with pytest.raises(BadFile, match="has a different text"):
        check_keys(memory, [theirs], tmp_path, {})


@pytest.mark.parametrize("name", ["talk.jsonl", "bank.jsonl", "conversations.json"])
def test_an_import_does_not_create_a_bank_again_that_is_forgotten_while_it_runs(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    file, counts = tmp_path / name, iter(range(100))
    lines = [NewLine(f"Line {n} of the voyage.", "Ann", said_at=NOON, key=f"k{n}") for n in range(9000)]
    if name == "bank.jsonl":
        with Memory.open("full", store=tmp_path / "other", embedder=HashEmbedder()) as full:
            full.observe_many(lines)
            file.write_text("".join(exporting.export(full, "jsonl")), encoding="utf-8")
    elif name == "talk.jsonl":
        rows = [{"text": line.text, "speaker": "Ann", "key": line.key} for line in lines]
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        messages = [{"role": "user", "content": line.text, "timestamp": 1714564800 + n} for n, line in enumerate(lines)]
        file.write_text(json.dumps([{"id": "c", "title": "Voyage", "chat": {"messages": messages}}]), encoding="utf-8")

    def forget(_: int) -> None:
        if next(counts) == 1:
            memory.forget(everything=True)

    with pytest.raises(NotFound, match="forgotten in the meantime"):
        import_lines(memory, check_file(file), forget)
    assert not memory.store.exists(memory.bank)


def test_an_import_does_not_create_a_bank_again_that_was_forgotten_while_the_file_was_read(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "talk.txt"
    file.write_text("Ann: The garden needs water.\nBob: I'll see to it.\n", encoding="utf-8")
    source = check_file(file)
    memory.observe("Said before.")
    memory.forget(everything=True)
    with pytest.raises(NotFound, match="forgotten in the meantime"):
        import_lines(memory, source)
    assert not memory.store.exists(memory.bank)
    assert import_lines(memory, check_file(file))["added"] == 2
