from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from transfer.services.chatgpt_export import START, conversation, node, save_zip

from everthread.cli.main import main
from everthread.memory import Memory
from everthread.testing import HashEmbedder

DAY = 86_400


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Return an export of two conversations, and one that can't be read."""
    cats = [node("ask", None), node("old", "ask", "assistant"), node("new", "ask", "assistant", START + DAY)]
    dogs = conversation("a/b", [node("bark", None)], "bark")
    torn = {"title": "Torn", "conversation_id": "t", "current_node": "x"}
    return save_zip(
        tmp_path / "export.zip", {"conversations-000.json": [conversation("cats", cats, "new"), dogs, torn]}
    )


def run(folder: Path, *arguments: object) -> Result:
    options = ["--store", str(folder / "store"), "--embedder", "hash", "import"]
    return CliRunner().invoke(main, [*options, *map(str, arguments)])


def test_the_contents_of_an_export_are_listed_and_nothing_is_imported(tmp_path: Path, export: Path) -> None:
    listed = run(tmp_path, export, "--list")
    assert listed.stdout.splitlines() == [
        "ChatGPT: 2 conversations, 3 messages and 1 discarded, 2023-11-14 – 2023-11-15",
        "speakers: user (2), ChatGPT (1)",
        "you: user (--me NAME changes it), assistant: ChatGPT (--assistant NAME changes it)",
        "",
        "2023-11-14 – 2023-11-15       2  Cats",
        "2023-11-14                    1  A/B",
    ]
    assert (
        listed.stderr
        == "left out: Torn: it has no 'mapping': an object with 'title', 'conversation_id', 'current_node'\n"
    )
    assert json.loads(run(tmp_path, export, "--list", "--json").stdout)["messages"] == 3
    assert not (tmp_path / "store").exists()


def test_an_export_is_imported_with_names_and_vectors_and_what_was_left_out_is_named(
    tmp_path: Path, export: Path
) -> None:
    said = run(tmp_path, export, "--me", "Nora", "--assistant", "Luna")
    assert said.stdout == "4 of 4 lines were new; default has 3 now and 1 retracted\n"
    assert "left out: Torn: it has no 'mapping'" in said.stderr
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert [line.speaker for line in memory.lines()] == ["Nora", "Luna", "Nora"]
        assert memory.stats().pending == 0
        assert [hit.text for hit in memory.recall("bark", 1)] == ["bark"]


def test_a_name_or_a_time_zone_that_changes_nothing_of_lines_that_are_here_is_pointed_out(tmp_path: Path) -> None:
    def hint(*arguments: object) -> str:
        return "".join(re.findall(r"here already: (.*);", run(tmp_path, *arguments).stderr))

    chats = save_zip(tmp_path / "a.zip", {"conversations.json": [conversation("a", [node("ask", None)], "ask")]})
    lena = ["--me", "Lena"]
    assert [hint(chats), hint(chats, *lena), hint(chats, "--tz", "Asia/Tokyo"), hint(chats, *lena, "-b", "new")] == [
        "", "1 line under the name 'user'", "", ""
    ]  # fmt: skip
    (talk := tmp_path / "talk.txt").write_text("[2024-05-01 10:00] Ann: Hi!\n")
    assert [hint(talk), hint(talk, "--tz", "Asia/Tokyo")] == ["", "1 line with other times"]


def test_an_import_is_undone_after_a_question_and_other_lines_stay(tmp_path: Path, export: Path) -> None:
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.observe("I have a parrot.")
    run(tmp_path, export)
    asked = run(tmp_path, export, "--forget")
    assert asked.exit_code == 2  # there is no terminal
    assert "Forget 4 lines of export.zip in bank 'default' for good? [y/N]" in asked.stderr
    assert "with --json there is no confirmation" in run(tmp_path, export, "--forget", "--json").stderr
    assert run(tmp_path, export, "--forget", "--only", "Cats", "-y").stdout.startswith("forgotten: 3 lines, ")
    assert json.loads(run(tmp_path, export, "--forget", "-y", "--json").stdout)["lines"] == 1
    again = run(tmp_path, export, "--forget", "-y")
    assert (again.exit_code, again.stdout) == (1, "")
    assert "no line of export.zip is in bank 'default'; nothing was forgotten" in again.stderr
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert [line.text for line in memory.lines(include_retracted=True)] == ["I have a parrot."]
        assert len(memory.sessions()) == 1
    assert run(tmp_path, export).stdout.startswith("4 of 4 lines were new")


def test_each_conversation_is_imported_into_a_bank_of_its_title(tmp_path: Path, export: Path) -> None:
    said = run(tmp_path, export, "-b", "nora/{title}")
    assert said.stdout.splitlines() == [
        "3 of 3 lines were new; nora/Cats has 2 now and 1 retracted",
        "1 of 1 line was new; nora/A B has 1 now",
    ]
    again = json.loads(run(tmp_path, export, "-b", "nora/{title}", "--json").stdout)["banks"]
    assert {bank: counts["added"] for bank, counts in again.items()} == {"nora/Cats": 0, "nora/A B": 0}
    (tmp_path / "talk.txt").write_text("Ann: Hi!\n")
    refused = run(tmp_path, tmp_path / "talk.txt", "-b", "nora/{title}")
    assert "invalid bank 'nora/{title}': only conversations in the export of a service have titles" in refused.stderr


def test_each_chat_of_whatsapp_is_imported_into_a_bank_of_its_title(tmp_path: Path) -> None:
    names = ("WhatsApp Chat with Ann.txt", "WhatsApp Chat with Bob.txt", "chat.txt")
    ann, bob, other = (tmp_path / name for name in names)
    for chat in (ann, bob, other):
        chat.write_text(f"13/06/2024, 10:00 - Cem: Hi, {chat.stem}!\n")
    assert run(tmp_path, ann, bob, "-b", "cem/{title}").stdout.splitlines() == [
        "1 of 1 line was new; cem/Ann has 1 now",
        "1 of 1 line was new; cem/Bob has 1 now",
    ]
    assert run(tmp_path, ann, "-b", "cem/{title}").stdout == "0 of 1 line was new; cem/Ann has 1 now\n"
    assert "give the name of each" in run(tmp_path, ann, bob, "-b", "cem/{title}", "--forget", "-y").stderr
    assert run(tmp_path, ann, bob, "-b", "cem/Ann", "--forget", "-y").stdout.startswith("forgotten: 1 line, ")
    assert run(tmp_path, other, "-b", "cem/{title}").stdout == "1 of 1 line was new; cem/chat has 1 now\n"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--only", "Hens"], "no conversation is called 'Hens'; list the conversations, and correct --only"),
        (["--only", "cat"], "no conversation is called 'cat', but one 'Cats'; list"),
        (["--assistant", "Luna", "--assistant", "Sol"], "no speaker is called 'Luna'; the most frequent"),
        (["--strict"], "conversation 'Torn': it has no 'mapping'"),
        (["--tz", "Mars"], "unknown time zone 'Mars'"),
    ],
)  # fmt: skip
def test_an_option_that_names_nothing_in_the_export_is_refused(
    tmp_path: Path, export: Path, option: list[str], words: str
) -> None:
    refused = run(tmp_path, export, *option)
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert not (tmp_path / "store").exists()


def test_several_files_are_one_export_and_a_chosen_conversation_is_imported(tmp_path: Path, export: Path) -> None:
    more = tmp_path / "more.json"
    more.write_text(json.dumps([conversation("hens", [node("cluck", None)], "cluck")]))
    said = run(tmp_path, export, more, "--only", "hens", "--json")
    assert {name: json.loads(said.stdout)[name] for name in ("bank", "read", "added")} == {
        "bank": "default", "read": 1, "added": 1
    }  # fmt: skip


def test_transcripts_are_imported_with_other_files_as_if_by_themselves(tmp_path: Path) -> None:
    (chat := tmp_path / "chat.md").write_text("Ann: I have a cat called Tom.\nBob: Lovely!\n")
    (page := tmp_path / "gpt.txt").write_text("You said:\nWhere is Rome?\nChatGPT said:\nIn Italy.\n")
    (table := tmp_path / "mine.csv").write_text("sender,text,time\nAnn,Hello there,2024-05-01 10:00\n")
    assert run(tmp_path, chat, page).stdout == "4 of 4 lines were new; default has 4 now\n"
    assert run(tmp_path, chat, page, table, "--strict").stdout == "1 of 5 lines were new; default has 5 now\n"
    assert run(tmp_path, chat).stdout == "0 of 2 lines were new; default has 5 now\n"


def test_a_file_that_can_not_be_read_with_others_is_named_with_a_remedy(tmp_path: Path) -> None:
    (chat := tmp_path / "chat.md").write_text("Ann: I have a cat called Tom.\n")
    (bank := tmp_path / "bank.jsonl").write_text('{"text": "Two."}\n')
    reason = "format jsonl is not read together with other files; import it by itself"
    for arguments in ((), ("--list",)):
        assert run(tmp_path, chat, bank, *arguments).stderr.endswith(f"left out: bank.jsonl: {reason}\n")
    refused = run(tmp_path, chat, bank, "--strict")
    assert (refused.exit_code, reason in refused.stderr) == (2, True)


def test_a_text_in_another_encoding_is_imported_with_the_proposed_option_and_stays_as_it_is(tmp_path: Path) -> None:
    (chat := tmp_path / "chat.txt").write_bytes(content := "小明: 你好吗？\n张三: 我很好\n".encode("gb18030"))
    refused = run(tmp_path, chat)
    assert "the byte 0xc3 is not UTF-8, but may be gb18030 (小明: 你好吗？)" in refused.stderr
    assert "as in --encoding gb18030, or save the file as UTF-8" in refused.stderr
    assert run(tmp_path, chat, "--encoding", "gb18030").stdout == "2 of 2 lines were new; default has 2 now\n"
    assert chat.read_bytes() == content
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert [line.speaker for line in memory.lines()] == ["小明", "张三"]
        assert next(iter(memory.lines())).session.startswith("chat-")
    chat.write_text("小明: 你好吗？\n", encoding="utf-8")
    assert f"{chat}: it is in UTF-8; leave out --encoding" in run(tmp_path, chat, "--encoding", "gb18030").stderr


def test_dates_that_can_be_read_in_two_ways_are_pointed_out_with_the_option_for_it(tmp_path: Path) -> None:
    chat = tmp_path / "WhatsApp Chat with Ann.txt"
    chat.write_text("04/05/24, 10:00 - Ann: Good morning!\n")
    notice = (
        "Ann: it is not certain that the day comes first in dates: 04/05/24 is 2024-05-04; "
        "--date-order mdy reads it as 2024-04-05\n"
    )
    assert run(tmp_path, chat, "--list").stderr == notice
    said = run(tmp_path, chat)
    assert said.stdout == "1 of 1 line was new; default has 1 now\n"
    assert said.stderr.endswith(notice)
    other = run(tmp_path, chat, "--date-order", "mdy", "--bank", "other")
    assert "it is not certain" not in other.stderr
    with Memory.open("other", store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert [f"{line.said_at:%d %B}" for line in memory.lines()] == ["05 April"]


@pytest.mark.parametrize(("options", "name"), [((), "The user"), (("--me", "Karl"), "Karl")])
def test_facts_of_a_copied_page_are_about_the_person(tmp_path: Path, options: tuple[str, ...], name: str) -> None:
    page = tmp_path / "page.txt"
    page.write_text("You said:\nI'm allergic to peanuts.\nChatGPT said:\nI will remember.\n", encoding="utf-8")
    assert run(tmp_path, page, *options).stdout == "2 of 2 lines were new; default has 2 now\n"
    facts = CliRunner().invoke(main, ["--store", str(tmp_path / "store"), "--embedder", "hash", "facts"]).stdout
    assert f"{name} is allergic to peanuts." in facts
    run(tmp_path, page, "--forget", "--yes")
    assert "2 of 2 lines were new" in run(tmp_path, page).stdout


def test_a_name_that_no_speaker_of_a_transcript_has_is_refused(tmp_path: Path) -> None:
    talk = tmp_path / "talk.txt"
    talk.write_text("Ann: hi\nBob: hello\n", encoding="utf-8")
    refused = run(tmp_path, talk, "--me", "Karl")
    assert "no speaker is called 'Karl'; the most frequent are Ann, Bob; correct --me" in refused.stderr
    assert run(tmp_path, talk, "--me", "Ann").exit_code == 0


def test_the_order_of_dates_in_a_table_is_asked_for_with_its_option(tmp_path: Path) -> None:
    table = tmp_path / "talk.csv"
    table.write_text("time,name,text\n05/06/2024,Ann,hi\n", encoding="utf-8")
    assert "give the order of day, month and year with --date-order, or write" in run(tmp_path, table).stderr
    assert "1 of 1 line was new" in run(tmp_path, table, "--date-order", "dmy").stdout
    talk = tmp_path / "talk.json"
    talk.write_text('[{"role": "user", "content": "hi"}]', encoding="utf-8")
    what = "format messages has no option 'date order' (only transcript, whatsapp, table have it); leave out"
    assert what in run(tmp_path, talk, "--date-order", "dmy").stderr


def test_facts_of_another_memory_are_imported_as_facts_or_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text('{"results": [{"id": "f1", "memory": "Likes tea", "user_id": "Nora"}]}', encoding="utf-8")
    assert run(tmp_path, path).stdout == "facts and notes of another memory new to default: 1\n"
    assert run(tmp_path, path).stdout == "facts and notes of another memory new to default: 0\n"
    assert run(tmp_path, path, "--as", "lines").stdout == "1 of 1 line was new; default has 1 now\n"
    with Memory.open(store=tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert [(line.speaker, line.text) for line in memory.lines()] == [("Nora", "Likes tea")]
        assert [unit.text for unit in memory.units("fact")] == ["Likes tea"]
