"""A conversation in the terminal. A typed line is a message, or a command if it begins with a slash."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import dropwhile

from everthread.bank.settings import REMEMBER_POLICIES, remember_policy
from everthread.chat.character import DEFAULT_CHARACTER, EDITABLE_FIELDS
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent, parse_yes_no
from everthread.chat.reply import Reply
from everthread.cli import completion, repl_text, why
from everthread.cli.common import pluralize
from everthread.cli.repl_text import UNANSWERED, format_line, is_command, parse_seq, shorten, unescape
from everthread.cli.screen import Screen, open_screen
from everthread.common.keys import SETTING_REMEMBER
from everthread.errors import BadQuery, EverthreadError, LLMUnavailable
from everthread.types import EndResult, Filter, Line

POLICY_UNSET = "not set: /end asks, and so does a goodbye if the recipe requires consent"
NO_MODEL_HINT = ". To talk without a model, leave out --model or pass --model none: you are shown what is remembered"
MAX_HISTORY_LINES = 200  # of the user, that the arrow keys bring back
DEFAULT_LINES = 10  # that /lines shows
MAX_HELP_COLUMNS = 100


class _QuitRequested(Exception):
    """The user quits instead of answering a question. Nothing is changed."""


class ChatRepl:
    """One conversation in one terminal."""

    def __init__(
        self,
        chat: Chat,
        screen: Screen | None = None,
        *,
        can_save: bool = True,
        interactive: bool = True,
    ) -> None:
        """Show a conversation; `run` then reads and answers.

        Args:
            chat: the conversation.
            screen: shows the conversation and reads what is typed; default: this process's terminal.
            can_save: whether the bank exists or may be created; otherwise the conversation stays in incognito.
            interactive: whether there is a user to ask.
        """
        self.chat, self.can_save, self.interactive = chat, can_save, interactive
        self.screen = screen or open_screen()
        self.ended_session = ""  # the session that was ended and remembered last
        self.ending_shown = False  # whether the end of a conversation was reported
        self.commands: dict[str, Callable[[str], str]] = {
            "/why": lambda argument: why.explain_reply(self.chat, argument),
            "/notes": lambda _: repl_text.format_notes(self.chat),
            "/lines": self.show_lines,
            "/again": self.regenerate,
            "/edit": self.edit,
            "/correct": self.correct,
            "/undo": self.undo,
            "/branch": self.branch,
            "/forget": self.forget,
            "/set": self.change_setting,
            "/incognito": self.toggle_incognito,
            "/end": self.end,
            "/stats": lambda _: repl_text.format_stats(self.chat),
            "/help": lambda _: repl_text.help_text(min(shutil.get_terminal_size().columns, MAX_HELP_COLUMNS) - 1),
        }

    def run(self) -> None:
        """Read and answer until the user quits."""
        if sys.stdin.isatty():
            _load_history(self.chat)
            completion.install(lambda typed: completion.complete(self.chat, [*self.commands, "/quit"], typed))
        if self.needs_name:
            self.ask_name()
        self.say(repl_text.greeting_text(self.chat))
        while True:
            try:
                text = self.ask_message().strip()
            except (EOFError, KeyboardInterrupt):
                text = "/quit"
            if text.lower() in repl_text.QUIT_WORDS or text.lower().startswith("/quit "):
                self.say(f"\n{self.leave()}")
                return
            try:
                if text:
                    self.handle(text)
            except _QuitRequested:
                self.say(f"\n{repl_text.goodbye_text(self.chat.incognito)}")
                return

    @property
    def needs_name(self) -> bool:
        """True if the user's name is still to be asked: it is not saved, and no line was said without one."""
        chat, unnamed = self.chat, DEFAULT_CHARACTER.person
        if not self.screen.is_terminal or not self.can_save or chat.incognito or chat.character.person != unnamed:
            return False
        return not any(chat.memory.lines(Filter(speaker=unnamed), limit=1))

    def ask_name(self) -> None:
        """Ask for the user's name, and save it with the bank if it is given."""
        with suppress(EOFError, KeyboardInterrupt):
            if name := self.screen.ask("What should I call you? (optional) ").strip():
                try:
                    self.chat.edit_character(person=name)
                except EverthreadError as error:
                    self.say(f"{error}; /set person NAME sets it later", "error")

    def ask_message(self) -> str:
        """Show the prompt, and return what is typed."""
        person = self.chat.character.person
        if self.chat.incognito:
            return self.screen.ask(f"[incognito] {person}> ", "incognito")
        return self.screen.ask(f"{person}> ")

    def handle(self, text: str) -> None:
        """Run a command or send a message. An error is shown on one line."""
        try:
            if is_command(text):
                self.say(self.run_command(text))
            else:
                self.stream(self.chat.reply(unescape(text)))
        except EverthreadError as error:
            self.say(f"That could not be done: {error}", "error")
        except KeyboardInterrupt:
            self.say("\n(stopped)")

    def run_command(self, text: str) -> str:
        """Run a slash command, and return its answer; a streamed reply is written before that."""
        name, _, argument = text.replace("\t", " ").partition(" ")
        if name.lower() not in self.commands:
            raise BadQuery(
                f"unknown command {shorten(name)!r}; /help lists the commands, and // begins a message with a slash"
            )
        return self.commands[name.lower()](argument.strip())

    def say(self, text: str, style: str = "") -> None:
        """Show a text; nothing for an empty one."""
        self.screen.say(text, style)

    def stream(self, reply: Reply) -> None:
        """Show a reply as it arrives. Ctrl-C stops it, and the text so far is saved."""
        if reply.ending is not None:
            self.show_ending(reply.ending, "".join(reply))
            return
        try:
            self.show_pieces(reply)
        except KeyboardInterrupt:
            reply.stop()
            outcome = "the reply so far is saved" if reply.line else "there was no reply yet"
            self.say(f"\n(stopped; {outcome}. /again asks for another)", "dim")
            return
        except EverthreadError as error:
            saved = "Your message and the reply so far are saved" if reply.line else "Your message is saved"
            hint = NO_MODEL_HINT if isinstance(error, LLMUnavailable) and not reply.line else ""
            self.say(f"\n({error}. {saved}; /again asks for a reply{hint})", "error")
            return
        self.say(repl_text.reply_notice(reply))

    def show_pieces(self, reply: Reply) -> None:
        """Show a model's reply as it arrives, or the memory that answers without a model."""
        if self.chat.llm is None:
            self.say("".join(reply))
            return
        with self.screen.reply(self.chat.character.name) as write:
            for piece in reply:
                write(piece)
        self.screen.write("\n")

    def show_ending(self, ending: EndResult, text: str) -> None:
        """Show the question that follows a goodbye, or how the conversation ended."""
        self.say(text if ending.remembered is None else self.note_ending(ending))

    def note_ending(self, ending: EndResult) -> str:
        """Record the end of a conversation, and return a text that reports it."""
        self.ended_session = ending.session if ending.remembered else ""
        self.ending_shown = True
        return f"{repl_text.ending_message(ending)} Your next message begins another conversation; /quit leaves."

    # ------------------------------------------------------------------ commands

    def show_lines(self, argument: str) -> str:
        if argument == "all":
            lines = self.chat.memory.lines(Filter(session=self.chat.session), include_retracted=True)
            return "\n".join(map(format_line, lines)) or "Nothing was said in this conversation yet."
        count = parse_seq(argument) if argument else DEFAULT_LINES
        if count < 1:
            raise BadQuery(f"invalid number of lines: got {argument!r}, expected 1 or more, or all")
        return "\n".join(map(format_line, self.chat.lines[-count:])) or "Nothing was said in this conversation yet."

    def regenerate(self, argument: str) -> str:
        self.stream(self.chat.regenerate())
        return ""

    def edit(self, argument: str) -> str:
        """Replace line 12 in "/edit 12 TEXT", the user's last line in "/edit TEXT"."""
        first, _, rest = argument.partition(" ")
        if repl_text.is_seq(first):
            seq, text = parse_seq(first), rest.strip()
            if not text:
                raise BadQuery(f"edit line {seq} to what? Write /edit {seq} TEXT")
        else:
            user_lines = [line for line in self.chat.lines if line.role == "user"]
            if not argument:
                raise BadQuery("edit to what? Write /edit TEXT, or /edit N TEXT for line N")
            if not user_lines:
                raise BadQuery("there is no message of yours to edit yet")
            seq, text = user_lines[-1].seq, argument
        old_lines = self.chat.lines
        if self.interactive and not self.confirm_discarding(seq):
            return "nothing was changed"
        reply = self.chat.edit(seq, text)
        current_seqs = {line.seq for line in self.chat.lines}
        discarded = [line for line in old_lines if line.seq not in current_seqs]
        if reply is not None:
            self.stream(reply)
        if len(discarded) > 2:
            return f"({pluralize(len(discarded), 'line')} discarded; /branch {discarded[-1].seq} goes back to them)"
        return "edited" if reply is None else ""

    def confirm_discarding(self, seq: int) -> bool:
        """Return whether to discard the lines after a line; ask if lines of the user are among them."""
        later = list(dropwhile(lambda line: line.seq != seq, self.chat.lines))[1:]
        if not any(line.role == "user" for line in later):
            return True
        lines = f"{pluralize(len(later), 'line')} after line {seq} would be discarded"
        return self.ask_yes_no(
            f"{lines}; /correct {seq} TEXT changes only line {seq}.\nDiscard them and continue from there?"
        )

    def correct(self, argument: str) -> str:
        """Replace the text of a line, of this conversation or an earlier one: /correct 12 TEXT."""
        first, _, text = argument.partition(" ")
        if not text.strip():
            raise BadQuery("correct which line, and to what? Write /correct N TEXT")
        if self.chat.incognito:
            raise BadQuery("nothing can be corrected in incognito; enter /incognito to end it, then correct the line")
        line = self.chat.memory.correct(parse_seq(first), text.strip())
        self.chat.refresh()
        return f"corrected:\n{format_line(line)}"

    def undo(self, argument: str) -> str:
        removed = self.chat.undo()
        return "\n".join(["taken back:", *map(format_line, removed)]) if removed else "There is nothing to take back."

    def branch(self, argument: str) -> str:
        if not argument:
            raise BadQuery("continue from which line? Write /branch N, with a number that /lines all shows")
        old_seqs = [line.seq for line in self.chat.lines]
        discarded = self.chat.branch(parse_seq(argument))
        if [line.seq for line in self.chat.lines] == old_seqs:
            return "nothing was changed"
        rows = ["continuing from:", format_line(self.chat.lines[-1])]  # with a new number, if the line was discarded
        rows += ["discarded:", *map(format_line, discarded)] if discarded else []
        return "\n".join([*rows, UNANSWERED] if self.chat.is_unanswered and self.chat.llm else rows)

    def forget(self, argument: str) -> str:
        """Remove lines permanently: /forget 12, last or session. Asks first, unless a yes or no follows."""
        scope, _, answer = argument.partition(" ")
        if answer and parse_yes_no(answer) is None:
            raise BadQuery(f"invalid answer {shorten(answer)!r}: expected yes or no; /forget {scope} alone asks first")
        if not scope:
            raise BadQuery(
                "forget what? Write /forget N, with a number that /lines or /why shows, /forget last or /forget session"
            )
        if scope == "session":
            return self.forget_session(answer)
        lines = self.find_lines_to_forget(scope)
        rows = "\n".join(map(format_line, lines))
        if not self.confirm(f"{rows}\nForget {'this' if len(lines) == 1 else 'these'}, for good?", answer):
            return "nothing was forgotten"
        for line in reversed(lines):
            self.chat.forget(line.seq)
        return f"forgotten: {pluralize(len(lines), 'line')}"

    def find_lines_to_forget(self, scope: str) -> list[Line]:
        """Return the line with the number `scope`, or for "last" the user's last line and those after it."""
        if scope == "last":
            if lines := self.chat.lines[_last_user_position(self.chat) :]:
                return lines
            raise BadQuery("there is nothing to forget in this conversation yet")
        seq, chat = parse_seq(scope), self.chat
        candidates = chat.lines if seq < 0 else chat.memory.lines(after=seq - 1, limit=1, include_retracted=True)
        if lines := [line for line in candidates if line.seq == seq]:
            return lines
        raise BadQuery(f"there is no line {scope!r} to forget; /lines and /why show the numbers")

    def forget_session(self, answer: str) -> str:
        """Forget this conversation, or the one that has just ended if nothing has been said since."""
        if not self.chat.lines and self.ended_session:
            if not self.confirm("Forget the whole conversation that has just ended, for good?", answer):
                return "nothing was forgotten"
            receipt = self.chat.memory.forget(session=self.ended_session)
            self.ended_session = ""
            return f"forgotten: {pluralize(receipt.lines, 'line')}"
        if not self.chat.lines:
            raise BadQuery("this conversation is empty; everthread forget --session removes an older one")
        if not self.confirm("Forget this whole conversation, for good?", answer):
            return "nothing was forgotten"
        ending = self.chat.end(remember=False)
        count = f": {pluralize(ending.receipt.lines, 'line')}" if ending.receipt else ""
        return f"forgotten{count}; a new conversation begins"

    def confirm(self, question: str, answer: str) -> bool:
        """Return whether the answer given with a command is a yes; without one, ask."""
        return bool(parse_yes_no(answer)) if answer else self.ask_yes_no(question)

    def change_setting(self, argument: str) -> str:
        """Change a field of the character: /set location the harbour. Without an argument, list the fields."""
        name, _, text = (part.strip() for part in argument.partition(" "))
        if not argument:
            values = {field: shorten(getattr(self.chat.character, field)) or "-" for field in EDITABLE_FIELDS}
            values[SETTING_REMEMBER] = str(self.chat.memory.settings().get(SETTING_REMEMBER, "ask"))
            return "\n".join(f"{field:>12}  {value}" for field, value in values.items())
        if name == SETTING_REMEMBER:
            return self.set_policy(text)
        if name not in EDITABLE_FIELDS:
            raise BadQuery(
                f"unknown field {shorten(name)!r} of a character; expected one of {', '.join(EDITABLE_FIELDS)}"
            )
        if not text:
            value = getattr(self.chat.character, name)
            return f"{name}: {value} (/set {name} - clears it)" if value else f"{name}: nothing"
        self.chat.edit_character(**{name: "" if text == "-" else text})
        return f"{name}: {'nothing' if text == '-' else text}, from now on"

    def set_policy(self, value: str) -> str:
        """Set whether conversations are remembered. The lines of this one stay in the bank until it ends."""
        memory = self.chat.memory
        if not value:
            policy = memory.settings().get(SETTING_REMEMBER, POLICY_UNSET)
            return f"{SETTING_REMEMBER}: {policy} (one of {', '.join(REMEMBER_POLICIES)})"
        self.check_can_save()
        memory.set_setting(SETTING_REMEMBER, value)
        if REMEMBER_POLICIES[value] is False:
            self.chat.incognito = True
            hint = " /end asks about what was said before." if any(line.seq > 0 for line in self.chat.lines) else ""
            return f"{SETTING_REMEMBER}: never. From now on nothing is stored.{hint}"
        notice = " This one is incognito; /incognito ends that." if self.chat.incognito else ""
        return f"{SETTING_REMEMBER}: {value}, when a conversation ends.{notice}"

    def leave(self) -> str:
        """Return the goodbye text. If the recipe needs consent, first ask for it and end the conversation."""
        chat, settings = self.chat, self.chat.memory.settings()
        if chat.memory.recipe.needs_consent and chat.lines and not chat.incognito and remember_policy(settings) is None:
            try:
                return f"Until next time. {repl_text.ending_message(self.end_conversation(None))}"
            except EverthreadError as error:  # such as no answer; the conversation can be resumed
                self.say(f"\nThe conversation was not ended: {error}")
            except _QuitRequested:
                pass  # the user quits without an answer; the conversation can be resumed
        if self.ending_shown and not chat.lines and not chat.incognito:
            return repl_text.SHORT_GOODBYE
        return repl_text.goodbye_text(chat.incognito)

    def toggle_incognito(self, argument: str) -> str:
        self.check_can_save()
        self.chat.incognito = not self.chat.incognito
        if self.chat.incognito:
            return (
                "From now on nothing is stored, and this part of the talk is deleted when you enter /incognito again."
            )
        return "What was said in incognito is deleted. From now on the conversation is remembered again."

    def check_can_save(self) -> None:
        """Raise BadQuery if the bank doesn't exist and may not be created."""
        if not self.can_save:
            raise BadQuery(
                "this bank does not exist yet, and incognito does not create it; begin again without --incognito"
            )

    def end(self, argument: str) -> str:
        """End the conversation, by the answer in "/end no" if there is one."""
        if argument and parse_consent(argument) is None:
            raise BadQuery(f"invalid answer {shorten(argument)!r}: expected /end yes, /end no, or /end to be asked")
        had_lines = bool(self.chat.lines)
        ending = self.end_conversation(parse_consent(argument))
        if not had_lines and not ending.remembered and ending.receipt is None:
            return "There was nothing to end."
        return self.note_ending(ending)

    def end_conversation(self, remember: bool | None) -> EndResult:
        """End the conversation; if it is not decided whether to remember it, ask."""
        ending = self.chat.end(remember)
        if ending.remembered is not None:
            return ending
        return self.chat.end(self.ask_yes_no(ending.question, parse_consent))

    def ask_yes_no(self, question: str, parse: Callable[[str], bool | None] = parse_yes_no) -> bool:
        """Ask a question until the answer is a yes or a no. Raises BadQuery if there is no answer."""
        answer = None
        while answer is None:
            try:
                typed = self.screen.ask(f"{question} (yes or no) ", "question")
            except (EOFError, KeyboardInterrupt):
                raise BadQuery("there was no answer; nothing was changed") from None
            if typed.strip().lower() in repl_text.QUIT_WORDS:
                raise _QuitRequested
            if is_command(typed.strip()):
                raise BadQuery("a command is no answer; nothing was changed. Enter the command again")
            answer = parse(typed)
        return answer


def _load_history(chat: Chat) -> None:
    """Offer line editing, with the user's lines in the bank as the history; no other history is stored."""
    try:
        import readline
    except ImportError:  # Windows has a line editor of its own
        return
    last = chat.memory.store.corpus_stats(chat.memory.bank).last_seq
    for line in chat.memory.lines(Filter(speaker=chat.character.person), after=max(0, last - 2 * MAX_HISTORY_LINES)):
        with suppress(UnicodeEncodeError):  # the terminal can't show the line
            readline.add_history(next(filter(None, line.text.splitlines())))


def _last_user_position(chat: Chat) -> int:
    positions = (position for position, line in enumerate(chat.lines) if line.role == "user")
    return max(positions, default=len(chat.lines))
