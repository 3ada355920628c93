from __future__ import annotations

import io
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hardship.llm import Reply, llm_server
from hardship.terminal import Terminal

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.cli.group_repl import GroupChatRepl
from everthread.cli.repl import ChatRepl
from everthread.cli.repl_text import COMMANDS
from everthread.cli.screen import Screen, TerminalScreen
from everthread.errors import LLMUnavailable, StoreUnavailable
from everthread.languages.wording import load_wording
from everthread.llms.base import LLM
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.membot import Membot
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM, StreamCut
from everthread.types import Line

NOTED = load_wording()("chat.will_remember")
NOTHING_FOUND = load_wording()("chat.nothing_found")
FIGURES_HINT = load_wording()("why.figures_hint")
LEGEND = load_wording()("why.legend")

Shown = list[str]
REMEMBERED = "It is remembered. Your next message begins another conversation; /quit leaves.\n"
FORGOTTEN = "It is forgotten. Your next message begins another conversation; /quit leaves.\n"
ALICE = Character("Captain", person="Alice", greeting="Ahoy!")


def converse(
    memory: Memory, *said: str, ending: type[BaseException] = EOFError, llm: LLM | None = None, incognito: bool = False
) -> Shown:
    """Run a conversation; return what the screen shows, one entry per turn: the greeting first, the goodbye last.

    An answer to a question within a turn is part of that turn's entry.
    """
    waiting = iter(said)
    screen: Shown = [""]

    def read(prompt: str) -> str:
        if not prompt.endswith("(yes or no) "):
            assert prompt in ("Alice> ", "[incognito] Alice> ")
            screen.append("")
        else:
            screen[-1] += prompt
        try:
            return next(waiting)
        except StopIteration:
            raise ending from None

    def write(text: str) -> None:
        screen[-1] += text

    with Chat(memory, ALICE, llm, scribe=ExtractiveScribe(), incognito=incognito) as chat:
        ChatRepl(chat, Screen(read, write)).run()
        chat.wait(120)
    return screen


def remember(memory: Memory) -> None:
    for text, speaker in (
        ("My sister Mia moved to Lisbon.", "Alice"),
        ("What is she doing in Lisbon?", "Bob"),
        ("She builds wooden sailing boats.", "Alice"),
    ):
        memory.observe(text, speaker=speaker, session="s1", said_at=datetime(2024, 5, 6, 18, tzinfo=UTC))


def test_the_greeting_of_an_empty_bank_says_that_it_is_empty(memory: Memory) -> None:
    screen = converse(memory)
    assert "Bank 'alice' remembers nothing yet" in screen[0]
    assert "No language model is configured" in screen[0]
    assert "/help" in screen[0]
    assert len(screen) == 2
    assert memory.stats().lines == 0


def test_the_greeting_shows_the_number_of_lines_and_the_first_date(memory: Memory) -> None:
    remember(memory)
    assert "remembers 3 lines, since 6 May 2024" in converse(memory)[0]


def test_the_first_line_is_stored_and_announced_as_the_first(memory: Memory) -> None:
    screen = converse(memory, "  My sister Mia moved to Lisbon. ")
    assert screen[1].startswith(NOTED)
    assert [(line.text, line.speaker, line.role) for line in memory.lines()] == [
        ("My sister Mia moved to Lisbon.", "Alice", "user")
    ]


def test_the_line_that_answers_is_quoted_with_its_date(memory: Memory) -> None:
    remember(memory)
    answer = converse(memory, "My sister Mia moved to Lisbon, did she not?")[1]
    assert answer.startswith("On 6 May 2024 you told me: “My sister Mia moved to Lisbon.”")


def test_what_was_said_under_an_earlier_name_is_still_quoted_as_yours(memory: Memory) -> None:
    remember(memory)
    memory.observe("Joost keeps bees.", speaker="Bob", session="s1", said_at=datetime(2024, 5, 6, 19, tzinfo=UTC))
    said = ("Good morning.", "/set person Alicia", "My sister Mia moved to Lisbon?", "Joost keeps bees?")
    read, screen = iter(said), list[str]()
    with Chat(memory, ALICE) as chat:
        ChatRepl(chat, Screen(lambda _: next(read, "/quit"), screen.append)).run()
    shown = "".join(screen)
    assert "On 6 May 2024 you told me: “My sister Mia moved to Lisbon.”" in shown
    assert "On 6 May 2024 Bob said: “Joost keeps bees.”" in shown


def test_an_earlier_question_is_no_answer_where_another_line_answers(memory: Memory) -> None:
    memory.observe("Where is my coach Joost?", session="a")
    memory.observe("My coach Joost is in Lisbon.", session="b")
    assert "Joost is in Lisbon." in converse(memory, "Where is my coach Joost?")[1]


def test_a_message_does_not_find_itself(memory: Memory) -> None:
    remember(memory)
    answer = converse(memory, "Mia in Lisbon wears purple gloves.")[1]
    assert "purple gloves" not in answer


def test_a_message_without_relevant_lines_is_only_stored(memory: Memory) -> None:
    remember(memory)
    assert converse(memory, "zzz qqq?")[1].startswith(NOTHING_FOUND)
    assert memory.stats().lines == 4


def test_recalled_text_is_never_stored_again(memory: Memory) -> None:
    remember(memory)
    said = ["My sister Mia moved to Lisbon, you know", "Mia in Lisbon", "/why", "Where is Mia, in Lisbon?", "/stats"]
    converse(memory, *said)
    assert [line.text for line in memory.lines(after=3)] == [text for text in said if not text.startswith("/")]


def test_why_shows_the_relevance_and_the_signals_of_the_last_answer(memory: Memory) -> None:
    remember(memory)
    screen = converse(memory, "/why", "My sister Mia moved to Lisbon", "/why figures", "/why")
    assert screen[1] == "Nothing has been recalled yet, or nothing since a line was forgotten.\n"
    assert screen[3].startswith("query relevance ")
    assert "#1 Alice: My sister Mia moved to Lisbon." in screen[3]
    assert "share 1.00" in screen[3]
    assert screen[3].endswith(f"{LEGEND}\n")
    assert screen[4].startswith(
        "     1  Alice: My sister Mia moved to Lisbon.\n        Alice said it · close in meaning · both "
    )
    assert "mention “Lisbon” and “sister” · " in " ".join(screen[4].split())
    assert screen[4].endswith(f"{FIGURES_HINT}\n")


def test_why_says_that_it_is_still_in_the_conversation(memory: Memory) -> None:
    llm = ScriptedLLM(["Aye.", "In Lisbon.", "Aye."])
    screen = converse(memory, "My sister Mia moved to Lisbon.", "Where is Mia?", "/why", "Zzz qqq.", "/why", llm=llm)
    assert "it's still in this conversation.\n     2  Alice: My sister Mia" in screen[3].replace("     1 ", "     2 ")
    assert screen[5] == "Nothing was recalled: nothing that was said earlier is relevant.\n"


def test_why_shows_nothing_of_a_line_that_was_forgotten(memory: Memory) -> None:
    remember(memory)
    screen = converse(memory, "My sister Mia moved to Lisbon", "/forget 1", "yes", "/why")
    assert "forgotten: 1 line" in screen[2]
    assert screen[3] == "Nothing has been recalled yet, or nothing since a line was forgotten.\n"


def test_a_recipe_without_notes_does_not_wait_for_them(memory: Memory) -> None:
    memory.recipe = Membot()
    assert converse(memory, "/notes")[1] == "The recipe membot writes no notes.\n"


def test_why_shows_what_is_still_in_view_of_what_was_recalled_earlier(memory: Memory) -> None:
    memory.recipe = Membot()
    remember(memory)
    screen = converse(
        memory, "My sister Mia moved to Lisbon.", "Zzz qqq xxx", "/why figures", llm=ScriptedLLM(["Aye."] * 2)
    )
    assert "; nothing is relevant\nstill in view from earlier turns:\n" in screen[3]
    assert "\n     1  Alice: My sister Mia moved to Lisbon.\n" in screen[3]


def test_stats_count_lines_sessions_and_speakers(memory: Memory) -> None:
    remember(memory)
    assert converse(memory, "/stats")[1].startswith("3 lines in 1 session by Alice, Bob")


@pytest.mark.parametrize("command", ["/help", "/HELP", "/Help me"])
def test_the_help_command_ignores_case(memory: Memory, command: str) -> None:
    shown = converse(memory, command)[1]
    assert all(f"\n  {name}  " in shown for name in COMMANDS)
    assert max(map(len, shown.splitlines())) < 80
    assert memory.stats().lines == 0


@pytest.mark.parametrize(("typed", "meant"), [("/quitt", "/quit"), ("/Note", "/notes"), ("/forgt 3", "/forget")])
def test_a_misspelt_command_is_rejected_with_the_one_that_was_meant(memory: Memory, typed: str, meant: str) -> None:
    screen = converse(memory, typed)
    assert f"unknown command '{typed.split()[0]}': did you mean {meant}? /help lists all commands" in screen[1]


@pytest.mark.parametrize("command", ["/nonsense now", "/", "/whyever", "/me waves", "/" + "x" * 100_000])
def test_a_mistyped_command_is_reported_in_one_line(memory: Memory, command: str) -> None:
    shown = converse(memory, command)[1]
    assert "; /help lists the commands, and // begins a message with a slash" in shown
    assert (shown.count("\n"), len(shown) < 200) == (1, True)
    assert memory.stats().lines == 0


def test_a_text_with_two_slashes_is_stored_with_one(memory: Memory) -> None:
    converse(memory, "//me waves", "///", "and/or")
    assert texts(memory) == ["/me waves", "//", "and/or"]


def test_an_empty_message_is_ignored(memory: Memory) -> None:
    assert converse(memory, "", "   ", "\t")[1:4] == ["", "", ""]
    assert memory.stats().lines == 0


@pytest.mark.parametrize("ending", [EOFError, KeyboardInterrupt])
def test_the_chat_ends_at_the_end_of_input_or_an_interrupt(memory: Memory, ending: type[BaseException]) -> None:
    assert "everything is saved" in converse(memory, "Hello.", ending=ending)[-1]
    assert memory.stats().lines == 1


@pytest.mark.parametrize("ending", ["/quit", "quit", " Exit ", "QUIT"])
def test_the_chat_ends_at_quit_or_exit_and_reads_no_further(memory: Memory, ending: str) -> None:
    screen = converse(memory, ending, "never read")
    assert len(screen) == 2
    assert "everything is saved" in screen[-1]
    assert memory.stats().lines == 0


@pytest.mark.parametrize(("answer", "outcome"), [("yes", REMEMBERED), ("no", FORGOTTEN)])
def test_quitting_after_the_end_does_not_repeat_the_outcome(memory: Memory, answer: str, outcome: str) -> None:
    *_, end, goodbye = converse(memory, "Hello.", f"/end {answer}", *(["yes"] if answer == "no" else []), "/quit")
    assert end.endswith(outcome)
    assert goodbye == "\nUntil next time.\n"
    assert "everything is saved" in converse(memory, "Hello.", "/end yes", "And one thing more.", "/quit")[-1]


@pytest.mark.parametrize("word", ["/quit", "quit", " Exit "])
def test_quitting_instead_of_an_answer_keeps_all_lines(memory: Memory, word: str) -> None:
    screen = converse(memory, "Hello.", "/end", word, "Never read.")
    assert screen[2:] == ["Shall I remember this conversation? (yes or no) \nUntil next time; everything is saved.\n"]
    assert texts(memory) == ["Hello."]


def test_a_message_with_quit_in_it_is_a_message(memory: Memory) -> None:
    converse(memory, "I quit my job.", "exit 12", "/quit")
    assert [line.text for line in memory.lines()] == ["I quit my job.", "exit 12"]


def test_a_storage_error_is_reported_and_the_chat_continues(memory: Memory) -> None:
    screen = converse(memory, "x" * 4_000_001, "Hello.")
    assert screen[1].startswith("That didn't work: text has 4,000,001 characters")
    assert [line.text for line in memory.lines()] == ["Hello."]


# --------------------------------------------------------------------- with a model


def texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def test_a_character_greets_and_answers_in_its_name(memory: Memory) -> None:
    screen = converse(memory, "Hello.", llm=ScriptedLLM(["Fair winds."]))
    assert "You are talking with Captain (scripted)." in screen[0]
    assert screen[0].endswith("\n\nCaptain: Ahoy!\n")
    assert screen[1] == "Captain: Fair winds.\n"
    assert texts(memory) == ["Ahoy!", "Hello.", "Fair winds."]


def test_an_unreachable_server_is_reported_with_a_remedy_and_the_chat_continues(memory: Memory) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    screen = converse(memory, "Hello.", "Who are you?", "/lines", llm=OpenAICompatible(url, "m", retries=0))
    for row in screen[1:3]:
        assert f"language model 'm' at {url} can't be reached" in row
        assert "start its server" in row
        assert "leave out --model" in row
        assert "Your message is saved" in row
    assert "Alice: Who are you?" in screen[3]
    assert texts(memory)[-2:] == ["Hello.", "Who are you?"]


def test_again_edit_and_undo_follow_the_conversation(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two", "three"])
    screen = converse(memory, "First.", "/again", "/edit Other.", "/lines", "/undo", "/undo", llm=model)
    assert screen[2:4] == ["Captain: two\n", "Captain: three\n"]
    assert "Alice: Other." in screen[4]
    assert screen[5].startswith("taken back:\n")
    assert screen[6] == "There is nothing to take back.\n"
    assert texts(memory) == ["Ahoy!"]


def test_a_line_is_edited_and_branched_from_by_its_number(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two", "three"])
    said = ["First.", "Second.", "/edit 2 Begin.", "yes", "/branch 2", "/branch 8", "/branch x", "/edit 99 x"]
    screen = converse(memory, *said, llm=model)
    assert screen[3].endswith("Captain: three\n(4 lines discarded; /branch 5 goes back to them)\n")
    assert screen[4].startswith("continuing from:\n     8  Alice: First.\ndiscarded:\n     6  Alice: Begin.\n     7  ")
    assert screen[4].endswith("(your last message got no reply; /again asks for one)\n")
    assert screen[5] == "nothing was changed\n"
    assert "invalid line number 'x'" in screen[6]
    assert "no line 99" in screen[7]


def test_an_edit_asks_before_it_discards_later_lines(memory: Memory) -> None:
    said = ["First.", "Second.", "/edit 2 Begin.", "no", "/edit 3 I never said so.", "no", "/edit Other."]
    screen = converse(memory, *said, llm=ScriptedLLM(["one", "two", "three"]))
    assert screen[3] == (
        "3 lines after line 2 would be discarded; /correct 2 TEXT changes only line 2.\n"
        "Discard them and continue from there? (yes or no) nothing was changed\n"
    )
    assert screen[4].startswith("2 lines after line 3 would be discarded")
    assert screen[5] == "Captain: three\n", "of the last line only its reply is discarded"
    assert texts(memory) == ["Ahoy!", "First.", "one", "Other.", "three"]


def test_a_correction_changes_one_line_and_discards_nothing(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two", "three"])
    screen = converse(
        memory, "I moved to Lisbon.", "Second.", "/correct 2 I moved to Oslo.", "/lines", "Third.", llm=model
    )
    assert screen[3] == "corrected:\n     6  Alice: I moved to Oslo.\n"
    assert [row.split(": ")[1] for row in screen[4].splitlines()] == [
        "Ahoy!",
        "I moved to Oslo.",
        "one",
        "Second.",
        "two",
    ]
    assert "Alice: I moved to Oslo." in str(model.prompts[-1])
    assert "Lisbon" not in str(model.prompts[-1])


def test_a_line_of_an_earlier_conversation_is_corrected_by_its_number(memory: Memory) -> None:
    remember(memory)
    screen = converse(memory, "/correct #1 My sister Mia moved to Porto.")
    assert screen[1] == "corrected:\n     4  Alice: My sister Mia moved to Porto.\n"
    assert "My sister Mia moved to Lisbon." not in texts(memory)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("/correct", "the line or its new text is missing"),
        ("/correct 1", "the line or its new text is missing"),
        ("/correct one Hello.", "invalid line number 'one'"),
        ("/correct 99 Hello.", "99"),
        ("/correct -1 Hello.", "-1"),
    ],
)
def test_a_correction_without_a_line_or_a_text_changes_nothing(memory: Memory, typed: str, message: str) -> None:
    remember(memory)
    before = texts(memory)
    answer = converse(memory, typed)[1]
    assert answer.startswith("That didn't work: ")
    assert message in answer
    assert texts(memory) == before


def test_an_incognito_chat_corrects_no_line(memory: Memory) -> None:
    remember(memory)
    assert "nothing can be corrected in incognito" in converse(memory, "/correct 1 Not so.", incognito=True)[1]
    assert "My sister Mia moved to Lisbon." in texts(memory)


def test_forgetting_asks_until_the_answer_is_clear(memory: Memory) -> None:
    said = ["I hid gold.", "/forget 2", "not now", "no", "/forget #2", "yes", "/forget 2"]
    screen = converse(memory, *said, llm=ScriptedLLM(["Aye."]))
    assert screen[2].count("(yes or no)") == 2
    assert screen[2].endswith("nothing was forgotten\n")
    assert "Alice: I hid gold.\nForget this, for good?" in screen[3]
    assert screen[3].endswith("forgotten: 1 line\n")
    assert "there is no line '2' to forget" in screen[4]
    assert texts(memory) == ["Ahoy!", "Aye."]


@pytest.mark.parametrize("number", [1, 2])
def test_a_line_and_its_correction_are_shown_forgotten_and_counted_together(memory: Memory, number: int) -> None:
    memory.observe("I live in Leeds.", speaker="Alice", session="earlier")
    said = ["/correct 1 I live in York.", f"/forget {number}", "yes", f"/forget {number}"]
    screen = converse(memory, *said, llm=ScriptedLLM([]))
    assert screen[2].startswith(
        "     1  (discarded) Alice: I live in Leeds.\n     2  Alice: I live in York.\nForget these, for good?"
    )
    assert screen[2].endswith("forgotten: 2 lines\n")
    assert "there is no line" in screen[3]
    assert texts(memory) == []


def test_the_last_exchange_and_the_whole_conversation_can_be_forgotten(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two"])
    screen = converse(memory, "First.", "Second.", "/forget last", "y", "/forget session", "y", llm=model)
    assert screen[3].endswith("forgotten: 2 lines\n")
    assert screen[4].endswith("forgotten: 3 lines; a new conversation begins\n")
    assert texts(memory) == []


@pytest.mark.parametrize(
    ("answer", "kept"), [("Yes, please!", True), ("ja", True), ("No thanks", False), ("不要", False)]
)
def test_the_end_asks_whether_to_remember(memory: Memory, answer: str, kept: bool) -> None:
    screen = converse(memory, "I work at the harbour.", "/end", "not now", answer, "yes", llm=ScriptedLLM(["Aye."]))
    assert screen[2].count("Shall I remember this conversation? (yes or no) ") == 2
    assert ("Shall I forget this whole conversation, for good?" in screen[2]) == (not kept)
    assert screen[2].endswith(REMEMBERED if kept else FORGOTTEN)
    assert ("I work at the harbour." in texts(memory)) == kept


def test_an_end_without_an_answer_changes_nothing(memory: Memory) -> None:
    screen = converse(memory, "Hello.", "/end", llm=ScriptedLLM(["Aye."]))
    assert "there was no answer; nothing was changed" in screen[2]
    assert "Hello." in texts(memory)


def test_a_changed_setting_applies_from_then_on(memory: Memory) -> None:
    model = ScriptedLLM(["Aye."])
    screen = converse(memory, "/set", "/set location the crow's nest", "Where are we?", "/set hat blue", llm=model)
    assert "location  -" in screen[1]
    assert screen[2] == "location: the crow's nest, from now on\n"
    assert "at: the crow's nest" in model.prompts[0][-1].content
    assert "unknown field 'hat' of a character; expected one of name," in screen[4]


def test_the_remember_policy_can_be_set_in_the_chat(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two"])
    screen = converse(
        memory,
        *("First.", "/set remember", "/set remember sometimes", "/set remember never", "A secret.", "/incognito"),
        *("/end", "no", "yes", "/set remember always", "/incognito", "/set", "/set remember"),
        llm=model,
    )
    assert screen[2] == (
        "remember: not set: /end asks, and so does a goodbye if the recipe requires consent "
        "(one of always, ask, never)\n"
    )
    assert "invalid value 'sometimes': expected one of always, ask, never" in screen[3]
    assert screen[4] == "remember: never. From now on nothing is stored. /end asks about what was said before.\n"
    assert "is set to remember never" in screen[6]
    assert screen[7].endswith(FORGOTTEN)
    assert texts(memory) == []
    assert screen[8] == "remember: always, when a conversation ends. This one is incognito; /incognito ends that.\n"
    assert "now on the conversation is remembered again" in screen[9]
    assert "remember  always" in screen[10]
    assert screen[11].startswith("remember: always (")


def test_a_bank_that_always_remembers_is_not_asked_at_the_end(memory: Memory) -> None:
    screen = converse(memory, "/set remember always", "I work at the harbour.", "/end", llm=ScriptedLLM(["Aye."]))
    assert screen[3] == REMEMBERED
    assert "I work at the harbour." in texts(memory)


def test_an_incognito_chat_stores_nothing_and_says_so(memory: Memory) -> None:
    screen = converse(memory, "A secret.", "/incognito", "Hello.", llm=ScriptedLLM(["one", "two"]), incognito=True)
    assert "Incognito: nothing you say is stored." in screen[0]
    assert "What was said in incognito is deleted." in screen[2]
    assert texts(memory) == ["Ahoy!", "Hello.", "two"]
    screen = converse(memory, "/incognito", "Another secret.", llm=ScriptedLLM(["one"]))
    assert "nothing that was said in incognito is stored" in screen[-1]


def test_the_notes_and_the_token_usage_are_shown(memory: Memory) -> None:
    screen = converse(memory, "/notes", "Hello.", "/stats", llm=ScriptedLLM(["Aye."]))
    assert screen[1].startswith("There are no notes yet. They are written when ")
    assert screen[1].split()[-5:] == ["with:", "everthread", "write", "--bank", "alice"]
    assert "scripted: about " in screen[3]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            LLMUnavailable("it is down"),
            "(it is down. Your message is saved; /again asks for a reply. To talk without a model, ",
        ),
        (
            StreamCut("I saw", LLMUnavailable("it went away")),
            "(it went away. Your message and the reply so far are saved;",
        ),
        ("", "(the model gave an empty reply; ask again."),
        ("I'm sorry, but I can't help with that.", "(the model refused to answer. The refusal is not remembered;"),
    ],
)
def test_an_error_is_shown_in_one_line_and_the_chat_continues(memory: Memory, reply: object, message: str) -> None:
    screen = converse(memory, "Hello.", "And now?", llm=ScriptedLLM([reply, "Aye."]))  # type: ignore[list-item]
    assert message in screen[1]
    assert screen[2] == "Captain: Aye.\n"
    assert "Hello." in texts(memory)


def test_an_interrupt_stops_a_reply_and_saves_the_part_received(memory: Memory) -> None:
    screen = [""]

    def write(text: str) -> None:
        screen[-1] += text
        if text == " two":
            raise KeyboardInterrupt  # as Ctrl-C does, wherever it comes

    waiting = iter(["Count.", "/quit"])
    with Chat(memory, ALICE, ScriptedLLM(["one two three four"]), scribe=ExtractiveScribe()) as chat:
        ChatRepl(chat, Screen(lambda _: next(waiting), write)).run()
    assert "(stopped; the reply so far is saved. /again asks for another)" in screen[0]
    assert (texts(memory)[-1], list(memory.lines())[-1].metadata["partial"]) == ("one two", True)


def test_a_past_announcement_is_brought_up_even_without_a_model(memory: Memory) -> None:
    then = datetime.now().astimezone() - timedelta(days=2)
    memory.observe("My job interview is tomorrow.", speaker="Alice", said_at=then, session="old")
    assert "said: “My job interview is tomorrow.”" in converse(memory)[0]


class FullStore(SQLiteStore):
    """A store without room for another line."""

    def append(self, *arguments: Any, **options: Any) -> list[Line]:
        raise StoreUnavailable("no space to write the bank; free disk space and call again")


def test_the_goodbye_does_not_say_that_all_is_saved_if_something_could_not_be(tmp_path: Path) -> None:
    with Memory.open("alice", store=FullStore(tmp_path), embedder=HashEmbedder()) as memory:
        _, failure, goodbye = converse(memory, "I live in Leeds.")
        assert "no space to write the bank" in failure
        assert goodbye == "\nUntil next time.\n"
        screen: Shown = []
        said = iter(["I live in Leeds.", "quit"])
        GroupChatRepl(GroupChat([Chat(memory, ALICE)]), Screen(lambda _: next(said), screen.append)).run()
    assert "no space to write the bank" in "".join(screen)
    assert screen[-1].strip() == "Until next time."


def test_in_a_group_chat_the_named_character_answers_and_absent_ones_hear_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    with Memory.open("cook", store=tmp_path / "other", embedder=memory.embedder) as other:
        chats = [
            Chat(bank, Character(name, person="Alice"), ScriptedLLM([f"{name} here."] * 9), scribe=ExtractiveScribe())
            for bank, name in ((memory, "Captain"), (other, "Cook"))
        ]
        waiting = iter(
            ["Cook, is dinner ready?", "/leave Cook", "A secret.", "/enter Cook", "/next Cook", "/who", "quit"]
        )
        screen: Shown = []
        GroupChatRepl(GroupChat(chats), Screen(lambda _: next(waiting), screen.append)).run()
        shown = "".join(screen)
        assert shown.startswith("You are talking with Captain and Cook.")
        assert (
            "Cook: Cook here.\nCook has left and hears nothing more.\nCaptain: Captain here.\nCook is back.\nCook: "
            in shown
        )
        assert "A secret." in texts(memory)
        assert "A secret." not in texts(other)


def test_in_a_group_chat_lines_are_changed_for_all_that_heard_them(memory: Memory, tmp_path: Path) -> None:
    with Memory.open("cook", store=tmp_path / "other", embedder=memory.embedder) as other:
        chats = [
            Chat(bank, Character(name, person="Alice"), ScriptedLLM([f"{name} {n}." for n in range(9)]))
            for bank, name in ((memory, "Captain"), (other, "Cook"))
        ]
        typed = [
            *(
                "/again",
                "/undo",
                "Cook, is dinner ready?",
                "/again",
                "Captain?",
                "/lines 3",
                "/undo",
                "/edit Cook, soup?",
            ),
            *("/correct 99 x", "/correct {first}", "/edit 99 x", "/forget 99", "/forget", "/lines x", "/leave Cook"),
            *("/correct {first} Cook, is soup ready?", "/lines", "/forget last", "no", "/forget last yes", "quit"),
        ]
        waiting, screen = iter(typed), list[str]()

        def read(prompt: str) -> str:
            screen.append("> ")
            first = chats[0].lines[0].seq if chats[0].lines else 0
            return next(waiting).format(first=first)

        GroupChatRepl(GroupChat(chats), Screen(read, screen.append)).run()
        shown = [answer.strip() for answer in "".join(screen).split("> ")[1:]]
        assert "no reply yet to regenerate" in shown[0]
        assert shown[1:5] == ["There is nothing to take back.", "Cook: Cook 0.", "Cook: Cook 1.", "Captain: Captain 0."]
        said = ["Alice: Cook, is dinner ready?", "Cook: Cook 1.", "Alice: Captain?", "Captain: Captain 0."]
        assert [row.split("  ")[-1] for row in shown[5].splitlines()] == ["… 1 earlier line: /lines all", *said[1:]]
        assert [row.split("  ")[-1] for row in shown[6].splitlines()] == ["taken back:", *said[2:]]
        assert shown[7] == "Cook: Cook 2."
        assert all(answer.startswith("That didn't work: ") for answer in shown[8:14])
        assert shown[15].endswith("Alice: Cook, is soup ready?")
        assert [row.split("  ")[-1] for row in shown[16].splitlines()] == [
            "Alice: Cook, is soup ready?",
            "Cook: Cook 2.",
        ]
        assert shown[18:20] == ["nothing was forgotten", "forgotten: 3 lines"]
        assert texts(memory) == texts(other) == []


def test_a_group_chat_asks_for_the_name_goes_back_to_a_line_and_ends_for_all(memory: Memory, tmp_path: Path) -> None:
    with Memory.open("cook", store=tmp_path / "other", embedder=memory.embedder) as other:
        chats = [
            Chat(bank, Character(name), ScriptedLLM([f"{name} {n}." for n in range(9)]))
            for bank, name in ((memory, "Captain"), (other, "Cook"))
        ]
        typed = iter(
            [
                *("Alice", "/end", "/branch", "Cook, is dinner ready?", "Captain?", "/branch 99", "/branch {0}"),
                *("/lines all", "/branch {3}", "/end maybe", "/end no", "no", "/end", "no", "yes", "/lines", "/quit"),
            ]
        )
        seqs, answers = list[int](), list[list[str]]()

        def read(prompt: str) -> str:
            answers.append([prompt])
            if len(chats[0].lines) == 4 and not seqs:
                seqs.extend(line.seq for line in chats[0].lines)
            return next(typed).format(*seqs)

        screen = Screen(read, lambda text: answers[-1].append(text))
        screen.is_terminal = True
        GroupChatRepl(GroupChat(chats), screen).run()
        prompts, shown = [each[0] for each in answers], ["".join(each[1:]).strip() for each in answers]
        assert [chat.character.person for chat in chats] == ["Alice", "Alice"]
        assert "What should I call you?" in prompts[0]
        assert prompts[1] == "Alice> "
        assert shown[1] == "There was nothing to end."
        assert "the line is missing" in shown[2]
        assert shown[3:5] == ["Cook: Cook 0.", "Captain: Captain 0."]
        assert "99" in shown[5]
        assert [row.split("  ")[-1] for row in shown[6].splitlines()][-3:] == [
            "Cook: Cook 0.",
            "Alice: Captain?",
            "Captain: Captain 0.",
        ]
        assert shown[7].count("\n") == 3
        assert "Captain: Captain 0." in shown[8]
        assert "/end" in shown[9]
        assert shown[11] == "nothing was forgotten"
        assert "Shall I remember this conversation?" in prompts[13]
        assert shown[14].startswith("It is forgotten. Your next message begins another conversation")
        assert texts(memory) == texts(other) == []


# ------------------------------------------------------------------ odd arguments

ODD = [
    "",
    "x",
    "0",
    "-1",
    "-5",
    "--5",
    "#",
    "#-",
    "²",
    "٣",
    "1.5",
    "1e3",
    "9" * 19,
    "9" * 30,
    "9" * 5000,
    "\x00",
    "1 2 3",
]


def test_the_last_lines_follow_the_number_of_earlier_ones(memory: Memory) -> None:
    said = [f"Line {number}." for number in range(11)]
    screen = converse(memory, *said[:10], "/lines", said[10], "/lines", "/lines 9", "/lines 11", "/lines all")
    assert [screen[turn].count("\n") for turn in (11, 13, 14, 15, 16)] == [10, 11, 10, 11, 11]
    assert screen[13].startswith("… 1 earlier line: /lines all\n     2  Alice: Line 1.\n")
    assert screen[14].startswith("… 2 earlier lines: /lines all\n     3  Alice: Line 2.\n")


@pytest.mark.parametrize("argument", ODD)
@pytest.mark.parametrize("command", ["/lines", "/branch", "/forget"])
def test_an_invalid_argument_is_reported_in_one_line_and_changes_nothing(
    memory: Memory, command: str, argument: str
) -> None:
    shown = converse(memory, "First.", f"{command} {argument}", llm=ScriptedLLM(["one"]))[2]
    if command != "/lines" or argument not in ("", "9" * 19):
        assert shown.startswith("That didn't work: ")
        assert (shown.count("\n"), len(shown) < 300) == (1, True)
    assert texts(memory) == ["Ahoy!", "First.", "one"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("/edit", "the new text is missing; write /edit TEXT"),
        ("/edit 2", "the new text is missing; write /edit 2 TEXT"),
        ("/edit 99 x", "this conversation has no line 99; /lines shows its numbers"),
        ("/edit 99 x", "/correct changes a line of any conversation"),
        ("/edit -1 x", "this conversation has no line -1"),
        ("/set name -", "name must be text that is not blank"),
        ("/set name", "name: Captain (/set name - clears it)"),
        ("/set name alice", "is the user's name too"),
        ("/set person -", "person must be text that is not blank"),
        ("/set person captain", "is the user's name too"),
        ("/set name " + "x" * 201, "has 201 characters; at most 200 are allowed"),
        ("/set self x", "unknown field 'self' of a character; expected one of name, "),
        ("/set card x", "unknown field 'card' of a character; expected one of name, "),
        ("/set Name x", "unknown field 'Name' of a character; expected one of name, "),
        ("/set " + "x" * 5000, "unknown field 'xxx"),
    ],
)
def test_an_impossible_edit_or_setting_is_reported_in_one_line_and_changes_nothing(
    memory: Memory, typed: str, message: str
) -> None:
    screen = converse(memory, "First.", typed, "/set", llm=ScriptedLLM(["one"]))
    assert message in screen[2]
    assert (screen[2].count("\n"), len(screen[2]) < 400) == (1, True)
    assert "name  Captain\n" in screen[3]
    assert texts(memory) == ["Ahoy!", "First.", "one"]


def test_digits_that_only_look_like_a_number_are_text(memory: Memory) -> None:
    converse(memory, "First.", "/edit ² is a square", llm=ScriptedLLM(["one", "two"]))
    assert texts(memory) == ["Ahoy!", "² is a square", "two"]


def test_an_edited_line_of_the_character_is_not_answered(memory: Memory) -> None:
    screen = converse(memory, "First.", "/edit 3 I never said so.", llm=ScriptedLLM(["one"]))
    assert screen[2] == "edited\n"
    assert [(line.speaker, line.text) for line in memory.lines()][-1] == ("Captain", "I never said so.")


def test_a_line_of_an_earlier_conversation_is_forgotten_by_its_number(memory: Memory) -> None:
    remember(memory)
    screen = converse(memory, "Hello.", "/forget 2", "yes", "/lines", llm=ScriptedLLM(["one"]))
    assert "Bob: What is she doing in Lisbon?\nForget this, for good?" in screen[2]
    assert "What is she doing in Lisbon?" not in texts(memory)
    assert "Hello." in screen[3]


@pytest.mark.parametrize("answer", ["remember it", "keep it", "don't forget it", "forget it", "delete"])
def test_an_answer_about_remembering_forgets_nothing(memory: Memory, answer: str) -> None:
    screen = converse(memory, "I hid gold.", "/forget session", answer, "no", llm=ScriptedLLM(["Aye."]))
    assert screen[2].count("(yes or no)") == 2
    assert "I hid gold." in texts(memory)


def test_an_incognito_line_is_forgotten_by_its_number_or_as_the_last(memory: Memory) -> None:
    said = ["One.", "Two.", "/forget -2", "yes", "/forget last", "yes", "/lines"]
    screen = converse(memory, *said, llm=ScriptedLLM(["a", "b"]), incognito=True)
    assert "Alice: One." in screen[3]
    assert screen[3].endswith("forgotten: 1 line\n")
    assert screen[4].endswith("forgotten: 2 lines\n")
    assert not any(text in screen[5] for text in ("One.", "Two."))


def test_after_undo_and_branch_the_chat_continues_from_the_active_lines(memory: Memory) -> None:
    model = ScriptedLLM(["one", "two", "three", "four"])
    screen = converse(memory, "First.", "Second.", "/undo", "/again", "/branch 4", "/again", "/lines", llm=model)
    assert screen[4] == "Captain: three\n"
    assert "Alice: Second.\n" in screen[5]
    assert screen[5].endswith("(your last message got no reply; /again asks for one)\n")
    assert screen[6] == "Captain: four\n"
    assert [row.split("  ")[-1] for row in screen[7].splitlines()][-2:] == ["Alice: Second.", "Captain: four"]


def test_an_incognito_end_leaves_nothing_and_stays_incognito(memory: Memory) -> None:
    screen = converse(memory, "A secret.", "/end", "Another.", "/end yes", llm=ScriptedLLM(["a", "b"]), incognito=True)
    assert (screen[2], screen[4]) == (FORGOTTEN, FORGOTTEN)
    assert texts(memory) == []
    assert "nothing that was said in incognito is stored" in screen[-1]


# ------------------------------------------------------------------ what is shown

EVIL = "\x1b[2J\x1b]0;title\x07Hi\x9b31m\x7f \x08there\r!"
SEEN = "␛[2J␛]0;title␇Hi\ufffd31m␡ ␈there␍!"


def test_control_characters_are_escaped_on_the_terminal_and_stored_verbatim(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(memory)
    memory.observe(f"Mia in Lisbon: {EVIL}", speaker="Bob\x1b[1m", session="s1")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Mia, Lisbon {EVIL}\n/why\n/lines\n/forget 4\nno\n"))
    with Chat(memory, ALICE, ScriptedLLM([EVIL]), scribe=ExtractiveScribe()) as chat:
        chat.edit_character(person="Ali\x1bce")
        ChatRepl(chat).run()
    shown = capsys.readouterr().out
    assert f"Captain: {SEEN}\n" in shown
    assert "Ali␛ce> " in shown
    assert "Bob␛[1m: Mia in Lisbon: ␛[2J" in shown
    assert not [char for char in shown if (char < " " and char != "\n") or "\x7f" <= char < "\xa0"]
    assert [text for text in texts(memory) if EVIL in text] == [f"Mia in Lisbon: {EVIL}", f"Mia, Lisbon {EVIL}", EVIL]


def test_a_very_long_line_is_shortened_in_lists(memory: Memory) -> None:
    screen = converse(memory, "word " * 100_000 + "\nsecond\trow", "/lines", "/set description " + "d " * 9_000, "/set")
    assert screen[2].startswith("     1  Alice: word word")
    assert (screen[2].count("\n"), len(screen[2]) < 200) == (1, True)
    assert all(len(row) < 100 for row in screen[4].splitlines())


def test_a_resumed_chat_reports_a_missing_reply_and_does_not_greet_again(memory: Memory) -> None:
    converse(memory, "Hello.", llm=ScriptedLLM([LLMUnavailable("it is down")]))
    screen = converse(memory, "/again", llm=ScriptedLLM(["Aye."]))
    assert "(your last message got no reply; /again asks for one)" in screen[0]
    assert "Resuming the conversation of " in screen[0]
    assert "(2 lines):\n  Captain: Ahoy!\n  Alice: Hello.\n" in screen[0]
    assert screen[0].count("Ahoy!") == 1
    assert screen[1] == "Captain: Aye.\n"


def test_a_resumed_chat_without_a_model_shows_the_answers(memory: Memory) -> None:
    converse(memory, "My ship is the Nautilus.", "What is my ship called?", "Thanks.")
    rows = converse(memory)[0].partition("lines):\n")[2].splitlines()
    assert rows[:6] == [
        "  Alice: My ship is the Nautilus.",
        "  Captain: I'll remember that.",
        "  Alice: What is my ship called?",
        "  Captain: Today you told me: “My ship is the Nautilus.”",
        "  Alice: Thanks.",
        "  Captain: I'm listening.",
    ]


def test_in_a_scene_commands_take_any_argument(memory: Memory) -> None:
    with Chat(memory, ALICE, ScriptedLLM(["Aye."] * 3), scribe=ExtractiveScribe()) as chat:
        typed = [
            "/next",
            "/next Foo",
            "/leave",
            "/ENTER captain",
            "/enter",
            "//me waves",
            "/leave captain",
            "Hello?",
            "/Quit",
        ]
        waiting = iter(typed)
        screen: Shown = []
        GroupChatRepl(GroupChat([chat]), Screen(lambda _: next(waiting), screen.append)).run()
    shown = "".join(screen).splitlines()[1:-2]
    assert [row.partition(":")[0] for row in shown] == [
        *["That didn't work"] * 5, "Captain", "Captain has left and hears nothing more.", "That didn't work"
    ]  # fmt: skip
    assert texts(memory)[-2:] == ["/me waves", "Aye."]


def test_a_long_question_is_broken_at_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen, prompts = TerminalScreen(colors=False), list[str]()
    screen.read = lambda prompt: prompts.append(prompt) or "yes"  # type: ignore[func-returns-value]
    assert screen.ask("Shall I forget this whole conversation? (yes or no) ", "question") == "yes"
    assert screen.ask("Nora> ") == "yes"
    assert (capsys.readouterr().out, prompts) == (
        "\nShall I forget this whole\n\n",
        ["conversation? (yes or no) ", "Nora> "],
    )


# ------------------------------------------------------------------ a real terminal


def test_a_chat_in_a_terminal_remembers_across_two_evenings(tmp_path: Path) -> None:
    first = Terminal(tmp_path)
    assert "remembers nothing yet" in first.wait_for("Alice> ")
    first.type("My sister Mia moved to Lisbon, 猫.\n".encode())
    assert NOTED in first.wait_for("Alice> ")
    first.type(b"\x04")
    first.wait_for("everything is saved")
    assert first.close() == 0

    second = Terminal(tmp_path)
    assert "remembers 1 line," in second.wait_for("Alice> ")
    second.type(b"caf\xe9\n")  # Latin-1 from a terminal that is set up wrongly
    second.wait_for("Alice> ")
    second.type(b"My sister Mia moved to Lisbon?\n")
    assert "you told me: “My sister Mia moved to Lisbon, 猫.”" in second.wait_for("Alice> ")
    second.wait_for("everything is saved", interrupting=True)
    assert second.close() == 0


def test_a_reply_is_shown_as_it_comes_and_stopped_by_an_interrupt_and_the_talk_goes_on(tmp_path: Path) -> None:
    pieces = [f"piece{n} " for n in range(200)]
    with llm_server(Reply(pieces, delay=0.1), "Fair \x1b[2J winds, 猫.") as server:
        terminal = Terminal(tmp_path, "-m", f"{server.url}#m")
        terminal.wait_for("Alice> ")
        terminal.type("Tell me a long story, 猫.\n".encode())
        assert "Ever: " in terminal.wait_for("piece3 ")
        assert "piece150" not in terminal.seen
        assert "(stopped; the reply so far is saved" in terminal.wait_for("Alice> ", interrupting=True)
        terminal.type(b"And now?\n")
        assert "Ever: Fair ␛[2J winds, 猫." in terminal.wait_for("Alice> ")
        terminal.type(b"/end\n")
        terminal.wait_for("(yes or no) ")
        terminal.type("don’t forget it\n".encode())
        assert REMEMBERED.strip() in terminal.wait_for("Alice> ")
        terminal.type(b"/quit\n")
        terminal.wait_for("Until next time.")
        assert terminal.close() == 0
    with Memory.open("alice", store=tmp_path, embedder="hash") as memory:
        _, story, part, now, winds = memory.lines()
    assert (story.text, now.text, winds.text) == ("Tell me a long story, 猫.", "And now?", "Fair \x1b[2J winds, 猫.")
    assert part.metadata["partial"] is True
    assert part.text.startswith("piece0 piece1 piece2 piece3")
    assert "piece150" not in part.text


def test_the_arrow_keys_bring_back_what_was_said_in_earlier_conversations(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder="hash") as memory:
        for text, speaker in (("\n\nOld words, 猫é.\nsecond row", "Alice"), ("Not mine.", "Bob")):
            memory.observe(text, speaker=speaker, session="s")
        memory.end("s")
    terminal = Terminal(tmp_path, TERM="xterm")
    terminal.wait_for("Alice> ")
    terminal.type(b"\x1b[A")
    terminal.wait_for("Old words, 猫é.")
    terminal.type(b"!\n")
    terminal.wait_for("Alice> ")
    terminal.type(b"\x04")
    terminal.wait_for("everything is saved")
    assert terminal.close() == 0
    with Memory.open("alice", store=tmp_path, embedder="hash") as memory:
        assert texts(memory)[-1] == "Old words, 猫é.!"


def test_a_terminal_that_knows_ascii_alone_is_talked_with_all_the_same(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder="hash") as memory:
        memory.observe("猫 are cats.", speaker="Alice", session="s")
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    terminal = Terminal(tmp_path, imports=True, **ascii_alone)
    terminal.wait_for("Alice> ")
    terminal.type(b"cats are?\n")
    assert "\\u732b are cats." in terminal.wait_for("Alice> ")
    terminal.type(b"\x04")
    terminal.wait_for("everything is saved")
    assert terminal.close() == 0


@pytest.mark.parametrize("ending", [EOFError, KeyboardInterrupt])
def test_leaving_without_an_answer_does_not_end_the_conversation_and_says_so(
    tmp_path: Path, ending: type[BaseException]
) -> None:
    with Memory.open("alice", store=tmp_path, embedder="hash", recipe="packabby") as memory:
        screen = converse(memory, "I sail.", "/quit", ending=ending, llm=ScriptedLLM(["Aye."]))
        assert "\nThe conversation was not ended: there was no answer; nothing was changed\n" in screen[-1]
        assert screen[-1].endswith("everything is saved.\n")
        assert "I sail." in texts(memory)


def test_an_interrupt_at_a_question_changes_nothing_and_at_the_prompt_ends_the_talk(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.wait_for("Alice> ")
    terminal.type(b"I hid gold.\n")
    terminal.wait_for("Alice> ")
    terminal.type(b"/forget session\n")
    terminal.wait_for("(yes or no) ")
    terminal.wait_for("there was no answer; nothing was changed", interrupting=True)
    terminal.wait_for("Alice> ")
    terminal.wait_for("everything is saved", interrupting=True)
    assert terminal.close() == 0
    with Memory.open("alice", store=tmp_path, embedder="hash") as memory:
        assert texts(memory) == ["I hid gold."]


def test_an_interrupt_before_a_reply_begins_stops_what_is_done_and_the_talk_goes_on(memory: Memory) -> None:
    def interrupted(text: str) -> int:
        if text.endswith("Alice: Hello."):
            raise KeyboardInterrupt  # as Ctrl-C does while the prompt is laid out
        return len(text)

    screen: Shown = []
    waiting = iter(["Hello.", "/lines", "/quit"])
    with Chat(memory, ALICE, ScriptedLLM(["Aye."]), scribe=ExtractiveScribe(), count=interrupted) as chat:
        ChatRepl(chat, Screen(lambda _: next(waiting), screen.append)).run()
    shown = "".join(screen)
    assert "\n(stopped)\n" in shown
    assert "Alice: Hello.\n" in shown
    assert texts(memory) == ["Ahoy!", "Hello."]


MARKDOWN = "# Plan\n\nBring **rye** bread, *slowly* through the long and winding streets of old Lisbon.\n\n- `one`\n"


def test_a_terminal_shows_colours_and_markdown_asks_for_a_name_and_completes_commands(tmp_path: Path) -> None:
    with llm_server(Reply([MARKDOWN[at : at + 9] for at in range(0, len(MARKDOWN), 9)], delay=0.03)) as server:
        terminal = Terminal(tmp_path, "-m", f"{server.url}#m", speaker="", TERM="xterm", COLUMNS="60")
        terminal.wait_for("What should I call you? (optional) ")
        terminal.type(b"Alice\n")
        terminal.wait_for("Everthread.")
        greeting = terminal.wait_for("Alice> ")
        assert max(map(len, greeting.splitlines())) <= 60
        terminal.type(b"Where to?\n")
        reply = terminal.wait_for("Plan")
        terminal.type(b"/st")
        reply += "Plan" + terminal.wait_for("Alice> ")
        assert "/st" not in reply  # it appears in the prompt
        terminal.wait_for("/st")
        terminal.type(b"\x15")
        for shown in ("\x1b[1;36mEver:\x1b[0m", "\x1b[1;33mPlan", "\x1b[1mrye\x1b[0m", "\x1b[3mslowly", "\x1b[36mone"):
            assert shown in reply
        assert "bread, \x1b[3mslowly\x1b[0m through the long and winding streets\nof old Lisbon." in reply
        terminal.type(b"/set des\t")
        terminal.wait_for("description ")
        terminal.type(b"A keeper.\n")
        terminal.wait_for("description: A keeper., from now on")
        terminal.type(b"/incog\t\n")
        terminal.wait_for("\x1b[1;35m")
        terminal.wait_for("[incognito] Alice> ")
        terminal.type(b"/quit\n")
        terminal.wait_for("Until next time")
        assert terminal.close() == 0
        terminal = Terminal(tmp_path, "-m", f"{server.url}#m", speaker="", TERM="xterm", NO_COLOR="1")
        greeting = terminal.wait_for("Alice> ")  # without another question for the name
        assert "Resuming the conversation of " in greeting
        assert "  Alice: Where to?\n  Ever: # Plan Bring **rye** bread" in greeting
        terminal.type(b"And then?\n")
        reply = terminal.wait_for("Alice> ")
        assert "Ever: # Plan\n" in reply
        assert "\x1b[3" not in greeting + reply
        terminal.type(b"\x04")
        assert terminal.close() == 0
