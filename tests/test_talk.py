from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.talk import LEGEND, talk
from everthread.types import NewLine

Screen = list[str]
LABEL = "(no language model configured)"


def converse(memory: Memory, *said: str, ending: type[BaseException] = EOFError) -> Screen:
    """What is on the screen after a conversation, one entry a turn: the greeting first, the goodbye last."""
    waiting = iter(said)
    screen: Screen = []

    def read(prompt: str) -> str:
        assert prompt == "Alice> "
        try:
            return next(waiting)
        except StopIteration:
            raise ending from None

    talk(memory, "Alice", read, screen.append)
    return screen


def remember(memory: Memory) -> None:
    for text, speaker in (
        ("My sister Mia moved to Lisbon.", "Alice"),
        ("What is she doing in Lisbon?", "Bob"),
        ("She builds wooden sailing boats.", "Alice"),
    ):
        memory.observe(text, speaker=speaker, session="s1", said_at=datetime(2024, 5, 6, 18, tzinfo=UTC))


def test_an_empty_memory_says_so_and_what_it_can_do(memory: Memory) -> None:
    screen = converse(memory)
    assert "Bank 'alice' remembers nothing yet" in screen[0]
    assert "No language model is configured" in screen[0]
    assert "/help" in screen[0]
    assert len(screen) == 2
    assert memory.stats().lines == 0


def test_the_greeting_tells_how_much_is_known_and_since_when(memory: Memory) -> None:
    remember(memory)
    assert "remembers 3 lines, since 06 May 2024" in converse(memory)[0]


def test_the_first_line_is_kept_and_told_to_be_the_first(memory: Memory) -> None:
    screen = converse(memory, "  My sister Mia moved to Lisbon. ")
    assert screen[1].startswith(f"{LABEL} I remember nothing yet")
    assert [(line.text, line.speaker, line.role) for line in memory.lines()] == [
        ("My sister Mia moved to Lisbon.", "Alice", "user")
    ]


def test_what_bears_on_a_message_is_shown_with_its_day_and_speakers(memory: Memory) -> None:
    remember(memory)
    answer = converse(memory, "My sister Mia moved to Lisbon, did she not?")[1]
    assert answer.startswith(f"{LABEL} This is what I remember that bears on it:\n")
    assert "[Monday, 6 May 2024, 18:00]" in answer
    assert "  Alice: My sister Mia moved to Lisbon." in answer


def test_a_message_does_not_find_itself(memory: Memory) -> None:
    remember(memory)
    answer = converse(memory, "Mia in Lisbon wears purple gloves.")[1]
    assert "purple gloves" not in answer


def test_a_message_is_shown_no_more_than_a_person_reads_at_a_glance(memory: Memory) -> None:
    memory.observe_many(NewLine(f"My sister Mia moved to Lisbon in year {n}.", "Alice", session="s") for n in range(40))
    answer = converse(memory, "My sister Mia moved to Lisbon?")[1]
    assert 3 <= answer.count("  Alice: ") <= 10


def test_what_nothing_bears_on_is_only_kept(memory: Memory) -> None:
    remember(memory)
    assert converse(memory, "zzz qqq")[1].startswith(f"{LABEL} I remember nothing that bears on this")
    assert memory.stats().lines == 4


def test_recalled_text_is_never_kept_again(memory: Memory) -> None:
    remember(memory)
    said = ["My sister Mia moved to Lisbon, you know", "Mia in Lisbon", "/why", "Where is Mia, in Lisbon?", "/stats"]
    converse(memory, *said)
    assert [line.text for line in memory.lines(after=3)] == [text for text in said if not text.startswith("/")]
    assert not any(LABEL in line.text for line in memory.lines())


def test_why_shows_the_relevance_and_the_signals_of_the_last_answer(memory: Memory) -> None:
    remember(memory)
    screen = converse(memory, "/why", "My sister Mia moved to Lisbon", "/why")
    assert screen[1] == "Nothing has been recalled in this conversation yet."
    assert screen[3].startswith("relevance of the whole ")
    assert "#1 Alice: My sister Mia moved to Lisbon." in screen[3]
    assert "share 1.00" in screen[3]
    assert screen[3].endswith(LEGEND)


def test_stats_count_lines_sessions_and_speakers(memory: Memory) -> None:
    remember(memory)
    assert converse(memory, "/stats")[1].startswith("3 lines in 1 session by Alice, Bob")


@pytest.mark.parametrize("command", ["/help", "/nonsense now", "/", "/Why"])
def test_help_comes_when_asked_for_and_to_whoever_mistypes(memory: Memory, command: str) -> None:
    shown = converse(memory, command)[1]
    assert all(name in shown for name in ("/why", "/stats", "/help", "/quit"))
    assert ("is no command" in shown) == (command != "/help")
    assert memory.stats().lines == 0


def test_an_empty_message_is_passed_over(memory: Memory) -> None:
    assert len(converse(memory, "", "   ", "\t")) == 2
    assert memory.stats().lines == 0


@pytest.mark.parametrize("ending", [EOFError, KeyboardInterrupt])
def test_it_ends_at_the_end_of_input_or_an_interrupt(memory: Memory, ending: type[BaseException]) -> None:
    assert "it is all kept" in converse(memory, "Hello.", ending=ending)[-1]
    assert memory.stats().lines == 1


@pytest.mark.parametrize("ending", ["/quit", "quit", " Exit ", "QUIT"])
def test_it_ends_at_quit_or_exit_and_reads_no_further(memory: Memory, ending: str) -> None:
    screen = converse(memory, ending, "never read")
    assert len(screen) == 2
    assert "it is all kept" in screen[-1]
    assert memory.stats().lines == 0


def test_a_message_with_quit_in_it_is_a_message(memory: Memory) -> None:
    converse(memory, "I quit my job.", "exit 12", "/quit")
    assert [line.text for line in memory.lines()] == ["I quit my job.", "exit 12"]


def test_what_can_not_be_kept_is_told_and_the_talk_goes_on(memory: Memory) -> None:
    screen = converse(memory, "x" * 4_000_001, "Hello.")
    assert screen[1].startswith("That could not be done: text has 4,000,001 characters")
    assert [line.text for line in memory.lines()] == ["Hello."]


# ------------------------------------------------------------------ a real terminal


class Terminal:
    """`everthread chat` in a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "everthread", "--store", str(folder), "--embedder", "hash", "chat"]
        environment = {**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            [*command, "-b", "alice", "--speaker", "Alice"],
            stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def wait_for(self, text: str) -> str:
        """What has appeared up to this text; the rest waits for the next call."""
        end = time.monotonic() + 30
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come; seen was {self.seen!r}"
            try:
                self.seen += os.read(self.master, 4096).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # the other side is closed
                assert text in self.seen, f"{text!r} did not come; seen was {self.seen!r}"
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def close(self) -> int:
        """The exit status, once it has ended."""
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.master)


def test_a_chat_in_a_terminal_remembers_across_two_evenings(tmp_path: Path) -> None:
    first = Terminal(tmp_path)
    assert "remembers nothing yet" in first.wait_for("Alice> ")
    first.type("My sister Mia moved to Lisbon, 猫.\n".encode())
    assert "this is the first thing you have told me" in first.wait_for("Alice> ")
    first.type(b"\x04")
    first.wait_for("it is all kept")
    assert first.close() == 0

    second = Terminal(tmp_path)
    assert "remembers 1 line," in second.wait_for("Alice> ")
    second.type(b"caf\xe9\n")  # Latin-1 from a terminal that is set up wrongly
    second.wait_for("Alice> ")
    second.type(b"My sister Mia moved to Lisbon?\n")
    assert "  Alice: My sister Mia moved to Lisbon, 猫." in second.wait_for("Alice> ")
    second.process.send_signal(signal.SIGINT)  # as Ctrl-C does
    second.wait_for("it is all kept")
    assert second.close() == 0
