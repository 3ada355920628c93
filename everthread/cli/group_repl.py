"""A conversation of several characters in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator

from everthread.chat.character import is_same_name
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent
from everthread.chat.group_chat import GroupChat
from everthread.cli import dialogues, repl_text
from everthread.cli.answers import QuitRequested, YesNoQuestions
from everthread.cli.excerpts import shorten
from everthread.cli.repl_text import describe, format_lines, is_command, parse_seq, problem, unescape
from everthread.cli.screen import Screen, open_screen
from everthread.errors import EverthreadError, StoreError
from everthread.types import EndResult, Filter, Line


class GroupChatRepl:
    """A group chat in one terminal. The character that the user names answers, else the one silent for longest."""

    def __init__(self, group: GroupChat, screen: Screen | None = None) -> None:
        self.group, self.screen = group, screen or open_screen()
        self.absent: dict[str, Chat] = {}  # characters that left, by their case-folded names
        self.chats = [group.chat(name) for name in group.names]
        self.words = self.chats[0].words
        self.questions = YesNoQuestions(self.screen, self.words)
        self.incognito = all(chat.incognito for chat in self.chats)
        self.store_failed = False  # whether something may not be saved
        self.commands: dict[str, Callable[[str], None]] = {
            "/next": self.let_speak,
            "/leave": self.leave,
            "/enter": self.enter,
            "/lines": self.show_lines,
            "/again": self.regenerate,
            "/edit": self.edit,
            "/correct": self.correct,
            "/undo": self.undo,
            "/branch": self.branch,
            "/forget": self.forget,
            "/end": self.end,
        }

    def run(self) -> None:
        """Read and answer until the user quits."""
        if dialogues.needs_name(self.chats, self.screen):
            dialogues.ask_name(self.chats, self.screen)
        talking = self.words("terminal.group_talking", names=self.words.join(self.group.names))
        notice = self.words("terminal.incognito") if self.incognito else ""
        self.screen.say(self.words.paragraph(talking, notice, self.words("terminal.group_help")))
        while True:
            try:
                text = self.ask_message().strip()
            except (EOFError, KeyboardInterrupt):
                text = "/quit"
            try:
                if text.lower() in repl_text.QUIT_WORDS:
                    raise QuitRequested
                self.handle(text)
            except QuitRequested:
                self.screen.say(f"\n{repl_text.goodbye_text(self.words, self.incognito, self.store_failed)}")
                return
            except EverthreadError as error:
                self.store_failed |= isinstance(error, StoreError)
                self.screen.say(self.words("terminal.failed", error=describe(error, self.words)), "error")
            except KeyboardInterrupt:
                self.screen.say(f"\n{self.words('terminal.stopped')}")

    def ask_message(self) -> str:
        """Show the prompt, and return what is typed."""
        person = self.chats[0].character.person
        if self.incognito:
            return self.screen.ask(self.words("terminal.incognito_prompt", person=person), "incognito")
        return self.screen.ask(f"{person}> ")

    def handle(self, text: str) -> None:
        """Run a command, or say a text and let a character answer. Raises EverthreadError."""
        name, _, argument = (part.strip() for part in text.partition(" "))
        if is_command(text):
            if (command := self.commands.get(name.lower())) is not None:
                command(argument)
                return
            known = name.lower() in ("/help", "/")
            unknown = "" if known else self.words("terminal.unknown_group_command", name=shorten(name))
            self.screen.say(self.words.paragraph(unknown, self.words("terminal.group_help")))
        elif text:
            addressee = self.find_addressee(text)
            self.group.say(unescape(text))
            self.reply(addressee)

    # ------------------------------------------------------------------ characters

    def let_speak(self, name: str) -> None:
        """Let a character speak; without a name, the one that is silent for longest."""
        if name:
            self.check_present(name)
        self.reply(name or self.find_addressee(""))

    def leave(self, name: str) -> None:
        """Remove a character."""
        self.check_present(name)
        chat = self.group.leave(name)
        self.absent[chat.character.name.casefold()] = chat
        self.screen.say(self.words("terminal.has_left", name=chat.character.name))

    def enter(self, name: str) -> None:
        """Bring back a character that has left."""
        if name.casefold() not in self.absent:
            absent = ", ".join(self.absent) or self.words("problem.none_absent")
            raise problem("has_not_left", self.words, name=name, absent=absent)
        self.group.enter(self.absent.pop(name.casefold()))
        self.screen.say(self.words("terminal.is_back", name=self.group.names[-1]))

    def check_present(self, name: str) -> None:
        """Raise BadQuery if no character of this name is present."""
        if not any(is_same_name(present, name) for present in self.group.names):
            present = ", ".join(self.group.names) or self.words("problem.none_absent")
            raise problem("not_present", self.words, name=name, present=present)

    def find_addressee(self, text: str) -> str:
        """Return the character that should answer a text. Raises BadQuery if none is present."""
        if not self.group.names:
            raise problem("none_present", self.words)
        return self.group.find_addressee(text)

    # ----------------------------------------------------------------------- lines

    @property
    def recorded_lines(self) -> list[Line]:
        """The lines with those that were discarded, as the present character that heard most of it has them."""
        chats = [self.group.chat(name) for name in self.group.names]
        lead = max(chats, key=lambda chat: len(chat.lines), default=None)
        if lead is None or lead.incognito:
            return self.group.lines
        return list(lead.memory.lines(Filter(session=lead.session), include_retracted=True))

    def show_lines(self, argument: str) -> None:
        """Show the last lines, or all with those that were discarded, with the numbers that the other commands take."""
        if argument == "all":
            rows = format_lines(self.recorded_lines, self.words)
        else:
            rows = repl_text.format_last_lines(self.group.lines, argument, self.words)
        self.screen.say("\n".join(rows) or self.words("terminal.nothing_said"))

    def edit(self, argument: str) -> None:
        """Replace a line for all that heard it; a line of the user's gets a reply."""
        lines = self.group.lines
        seq, text = repl_text.parse_edit(argument, lines, self.words)
        line = self.find_line(seq, "no_line", text=seq)
        if not self.questions.confirm_discarding(seq, lines):
            self.screen.say(self.words("terminal.nothing_changed"))
            return
        self.group.edit(line, text)
        if line.role == "user":
            self.reply(self.find_addressee(text))
        else:
            self.screen.say(self.words("terminal.edited"))

    def correct(self, argument: str) -> None:
        """Replace the text of a line for all that heard it, and change nothing else."""
        seq, text = repl_text.parse_correction(argument, self.incognito, self.words)
        corrected = format_lines(self.group.correct(self.find_line(seq, "no_line", text=seq), text)[:1], self.words)
        self.screen.say("\n".join([self.words("terminal.corrected"), *corrected]))

    def undo(self, argument: str) -> None:
        """Take back the user's last message and what followed, for all that heard it."""
        removed = format_lines(self.group.undo(), self.words)
        taken_back = "\n".join([self.words("terminal.taken_back"), *removed])
        self.screen.say(taken_back if removed else self.words("terminal.nothing_to_undo"))

    def branch(self, argument: str) -> None:
        """Continue from a line, which may be a discarded one, for all that heard it."""
        if not argument:
            raise problem("branch_where", self.words)
        seq = parse_seq(argument, self.words)
        line = next((line for line in self.recorded_lines if line.seq == seq), None)
        if line is None:
            raise problem("no_line", self.words, text=argument)
        before = self.group.lines
        discarded = self.group.branch(line)
        rows = repl_text.format_branch(self.group.lines, discarded, self.words)
        self.screen.say("\n".join(rows) if self.group.lines != before else self.words("terminal.nothing_changed"))

    def end(self, argument: str) -> None:
        """End the conversation for all, by the answer in "/end no" if there is one."""
        remember = self.questions.parse(argument, parse_consent)
        if argument and remember is None:
            raise problem("end_answer", self.words, answer=shorten(argument), **self.questions.yes_and_no)
        had_lines = bool(self.group.lines)
        ending = dialogues.end_conversation(self.chats, self._end, self.questions, remember)
        if ending is None:
            self.screen.say(self.words("terminal.nothing_forgotten"))
        elif not had_lines and not ending.remembered and ending.receipt is None:
            self.screen.say(self.words("terminal.nothing_to_end"))
        else:
            ended = repl_text.ending_message(ending, self.words)
            self.screen.say(self.words.paragraph(ended, self.words("terminal.next_conversation")))

    def _end(self, remember: bool | None) -> EndResult:
        """End the conversation. Return a result that is remembered, or else one of something forgotten."""
        return max(self.group.end(remember), key=lambda ending: (bool(ending.remembered), ending.receipt is not None))

    def forget(self, argument: str) -> None:
        """Remove a line, or the user's last one and those after it, permanently from all banks that have it."""
        scope, answer = self.questions.parse_forget(argument)
        if scope == "last":
            lines = self.group.lines[repl_text.last_user_position(self.group.lines) :]
        else:
            lines = [self.find_line(parse_seq(scope, self.words), "no_line_to_forget", text=scope)]
        if not lines:
            raise problem("nothing_to_forget", self.words)
        versions = self.group.list_versions(lines)
        if not self.questions.confirm_forgetting(versions, answer):
            self.screen.say(self.words("terminal.nothing_forgotten"))
            return
        for line in reversed(lines):
            self.group.forget(line)
        self.screen.say(self.words("terminal.lines_forgotten", number=len(versions)))

    def find_line(self, number: int, missing: str, **values: object) -> Line:
        """Return the line with a number; without one, raise the problem of this name."""
        for line in self.group.lines:
            if line.seq == number:
                return line
        raise problem(missing, self.words, **values)

    # --------------------------------------------------------------------- replies

    def reply(self, name: str) -> None:
        """Let a character reply, and show that."""
        self.stream(name, self.group.reply(name))

    def regenerate(self, argument: str) -> None:
        """Replace the last reply by another of the same character; reply to a message that has none."""
        lines = self.group.lines
        if not any(line.role == "user" for line in lines):
            raise problem("no_reply", self.words)
        if lines[-1].role == "user":
            self.reply(self.find_addressee(lines[-1].text))
            return
        self.check_present(lines[-1].speaker)
        self.stream(lines[-1].speaker, self.group.regenerate())

    def stream(self, name: str, reply: Generator[str]) -> None:
        """Show a character's reply as it arrives. Ctrl-C stops it, and the text so far is saved."""
        chat = self.group.chat(name)
        try:
            with self.screen.reply(chat.character.name) as write:
                for piece in reply:
                    write(piece)
        except KeyboardInterrupt:
            self.screen.write(f"\n{self.words('terminal.group_stopped')}")
        else:
            notice = repl_text.reply_notice(chat.last_reply, self.words) if chat.last_reply else ""
            self.screen.write(f"\n{notice}" if notice else "")
        finally:
            reply.close()
            self.screen.write("\n")
