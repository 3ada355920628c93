"""A conversation in the terminal. A typed line is a message, or a command if it begins with a slash."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches

from everthread.bank.settings import REMEMBER_POLICIES, remember_policy
from everthread.chat.character import EDITABLE_FIELDS
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent
from everthread.chat.reply import Reply
from everthread.cli import completion, dialogues, repl_text, why
from everthread.cli.answers import QuitRequested, YesNoQuestions
from everthread.cli.excerpts import shorten
from everthread.cli.repl_text import Problem, is_command, parse_seq, problem, unescape
from everthread.cli.screen import Screen, open_screen
from everthread.common.keys import SETTING_REMEMBER
from everthread.config import MIN_NAME_SIMILARITY
from everthread.errors import EverthreadError, LLMUnavailable, NotFound, StoreError
from everthread.types import EndResult, Filter, Line

QUIT = "/quit"
MAX_HISTORY_LINES = 200  # of the user, that the arrow keys bring back
MAX_HELP_COLUMNS = 100


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
        self.words, self.screen = chat.words, screen or open_screen()
        self.questions = YesNoQuestions(self.screen, self.words)
        self.ended_session = ""  # the session that was ended and remembered last
        self.ending_shown = False  # whether the end of a conversation was reported
        self.store_failed = False  # whether something may not be saved
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
            "/help": lambda _: repl_text.help_text(
                self.words, min(shutil.get_terminal_size().columns, MAX_HELP_COLUMNS) - 1
            ),
        }

    def run(self) -> None:
        """Read and answer until the user quits."""
        if sys.stdin.isatty():
            _load_history(self.chat)
            completion.install(lambda typed: completion.complete(self.chat, [*self.commands, QUIT], typed))
        if self.can_save and dialogues.needs_name([self.chat], self.screen):
            dialogues.ask_name([self.chat], self.screen)
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
            except QuitRequested:
                self.say(f"\n{repl_text.goodbye_text(self.words, self.chat.incognito, self.store_failed)}")
                return

    def ask_message(self) -> str:
        """Show the prompt, and return what is typed."""
        person = self.chat.character.person
        if self.chat.incognito:
            return self.screen.ask(self.words("terminal.incognito_prompt", person=person), "incognito")
        return self.screen.ask(f"{person}> ")

    def handle(self, text: str) -> None:
        """Run a command or send a message. An error is shown on one line."""
        try:
            if is_command(text):
                self.chat.withdraw_no()  # a yes after the command doesn't answer the question before it
                self.say(self.run_command(text))
            else:
                self.stream(self.chat.reply(unescape(text)))
        except EverthreadError as error:
            self.store_failed |= isinstance(error, StoreError)
            self.say(self.words("terminal.failed", error=repl_text.describe(error, self.words)), "error")
        except KeyboardInterrupt:
            self.say(f"\n{self.words('terminal.stopped')}")

    def run_command(self, text: str) -> str:
        """Run a slash command, and return its answer; a streamed reply is written before that."""
        name, _, argument = text.replace("\t", " ").partition(" ")
        if name.lower() not in self.commands:
            if similar := get_close_matches(name.lower(), [*self.commands, QUIT], 1, MIN_NAME_SIMILARITY):
                raise self.problem("misspelt_command", name=shorten(name), similar=similar[0])
            raise self.problem("unknown_command", name=shorten(name))
        return self.commands[name.lower()](argument.strip())

    def problem(self, name: str, /, **values: object) -> Problem:
        """Build the error that says why a command can't be done."""
        return problem(name, self.words, **values)

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
            stopped = self.words("terminal.stopped_saved" if reply.line else "terminal.stopped_empty")
            self.say(f"\n{stopped}", "dim")
            return
        except EverthreadError as error:
            self.store_failed |= isinstance(error, StoreError)
            name = "model_failed" if isinstance(error, LLMUnavailable) else "reply_failed"
            failure = repl_text.describe(error, self.words)
            text = self.words("terminal.reply_broken" if reply.line else f"terminal.{name}", error=failure)
            self.say(f"\n{text}", "error")
            return
        self.say(repl_text.reply_notice(reply, self.words))

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
        ended = repl_text.ending_message(ending, self.words)
        return self.words.paragraph(ended, self.words("terminal.next_conversation"))

    # ------------------------------------------------------------------ commands

    def show_lines(self, argument: str) -> str:
        if argument == "all":
            lines = self.chat.memory.lines(Filter(session=self.chat.session), include_retracted=True)
            rows = repl_text.format_lines(lines, self.words)
        else:
            rows = repl_text.format_last_lines(self.chat.lines, argument, self.words)
        return "\n".join(rows) or self.words("terminal.nothing_said")

    def regenerate(self, argument: str) -> str:
        if not any(line.role == "user" for line in self.chat.lines):
            raise self.problem("no_reply")
        self.stream(self.chat.regenerate())
        return ""

    def edit(self, argument: str) -> str:
        """Replace line 12 in "/edit 12 TEXT", the user's last line in "/edit TEXT"."""
        seq, text = repl_text.parse_edit(argument, self.chat.lines, self.words)
        old_lines = self.chat.lines
        if self.interactive and not self.questions.confirm_discarding(seq, old_lines):
            return self.words("terminal.nothing_changed")
        try:
            reply = self.chat.edit(seq, text)
        except NotFound:
            raise self.problem("not_here", seq=seq) from None
        current_seqs = {line.seq for line in self.chat.lines}
        discarded = [line for line in old_lines if line.seq not in current_seqs]
        if reply is not None:
            self.stream(reply)
        if len(discarded) > 2:
            return self.words("terminal.discarded", number=len(discarded), seq=discarded[-1].seq)
        return self.words("terminal.edited") if reply is None else ""

    def correct(self, argument: str) -> str:
        """Replace the text of a line, of this conversation or an earlier one: /correct 12 TEXT."""
        seq, text = repl_text.parse_correction(argument, self.chat.incognito, self.words)
        try:
            line = self.chat.memory.correct(seq, text)
        except NotFound:
            raise self.problem("no_line", text=seq) from None
        self.chat.refresh()
        return "\n".join([self.words("terminal.corrected"), *repl_text.format_lines([line], self.words)])

    def undo(self, argument: str) -> str:
        if removed := self.chat.undo():
            return "\n".join([self.words("terminal.taken_back"), *repl_text.format_lines(removed, self.words)])
        return self.words("terminal.nothing_to_undo")

    def branch(self, argument: str) -> str:
        if not argument:
            raise self.problem("branch_where")
        old_seqs = [line.seq for line in self.chat.lines]
        try:
            discarded = self.chat.branch(parse_seq(argument, self.words))
        except NotFound:
            raise self.problem("no_line", text=argument) from None
        if [line.seq for line in self.chat.lines] == old_seqs:
            return self.words("terminal.nothing_changed")
        rows = repl_text.format_branch(self.chat.lines, discarded, self.words)
        if self.chat.is_unanswered and self.chat.llm:
            rows.append(self.words("terminal.unanswered"))
        return "\n".join(rows)

    def forget(self, argument: str) -> str:
        """Remove lines permanently: /forget 12, last or session. Asks first, unless a yes or no follows."""
        scope, answer = self.questions.parse_forget(argument)
        if scope == "session":
            return self.forget_session(answer)
        lines = self.find_lines_to_forget(scope)
        versions = self.chat.list_versions(lines)
        if not self.questions.confirm_forgetting(versions, answer):
            return self.words("terminal.nothing_forgotten")
        for line in reversed(lines):
            self.chat.forget(line.seq)
        return self.words("terminal.lines_forgotten", number=len(versions))

    def find_lines_to_forget(self, scope: str) -> list[Line]:
        """Return the line with the number `scope`, or for "last" the user's last line and those after it."""
        if scope == "last":
            if lines := self.chat.lines[repl_text.last_user_position(self.chat.lines) :]:
                return lines
            raise self.problem("nothing_to_forget")
        seq, chat = parse_seq(scope, self.words), self.chat
        candidates = chat.lines if seq < 0 else chat.memory.lines(after=seq - 1, limit=1, include_retracted=True)
        if lines := [line for line in candidates if line.seq == seq]:
            return lines
        raise self.problem("no_line_to_forget", text=scope)

    def forget_session(self, answer: str) -> str:
        """Forget this conversation, or the one that has just ended if nothing has been said since."""
        if not self.chat.lines and self.ended_session:
            if not self.questions.confirm(self.words("terminal.forget_ended"), answer):
                return self.words("terminal.nothing_forgotten")
            receipt = self.chat.memory.forget(session=self.ended_session)
            self.ended_session = ""
            return self.words("terminal.lines_forgotten", number=receipt.lines)
        if not self.chat.lines:
            raise self.problem("empty_conversation")
        if not self.questions.confirm(self.words("chat.forget"), answer):
            return self.words("terminal.nothing_forgotten")
        ending = self.chat.end(remember=False)
        if ending.receipt is None:
            return self.words("terminal.incognito_forgotten")
        return self.words("terminal.conversation_forgotten", number=ending.receipt.lines)

    def change_setting(self, argument: str) -> str:
        """Change a field of the character: /set location the harbour. Without an argument, list the fields."""
        field, _, text = (part.strip() for part in argument.partition(" "))
        if not argument:
            values = {field: shorten(getattr(self.chat.character, field)) or "-" for field in EDITABLE_FIELDS}
            values[SETTING_REMEMBER] = str(self.chat.memory.settings().get(SETTING_REMEMBER, "ask"))
            return "\n".join(f"{field:>12}  {value}" for field, value in values.items())
        if field == SETTING_REMEMBER:
            return self.set_policy(text)
        if field not in EDITABLE_FIELDS:
            raise self.problem("unknown_field", name=shorten(field), fields=", ".join(EDITABLE_FIELDS))
        if not text:
            value = getattr(self.chat.character, field)
            return self.words("terminal.field_clears" if value else "terminal.field_empty", field=field, value=value)
        self.chat.edit_character(**{field: "" if text == "-" else text})
        return self.words("terminal.field_cleared" if text == "-" else "terminal.field_set", field=field, value=text)

    def set_policy(self, value: str) -> str:
        """Set whether conversations are remembered. The lines of this one stay in the bank until it ends."""
        memory, policies = self.chat.memory, ", ".join(REMEMBER_POLICIES)
        if not value:
            policy = memory.settings().get(SETTING_REMEMBER, self.words("terminal.policy_unset"))
            return self.words("terminal.policy", policy=policy, policies=policies)
        self.check_can_save()
        if value not in REMEMBER_POLICIES:
            raise self.problem("invalid_policy", value=shorten(value), policies=policies)
        memory.set_setting(SETTING_REMEMBER, value)
        if REMEMBER_POLICIES[value] is False:
            self.chat.incognito = True
            has_stored = any(line.seq > 0 for line in self.chat.lines)
            hint = self.words("terminal.policy_never_hint") if has_stored else ""
            return self.words.paragraph(self.words("terminal.policy_never"), hint)
        notice = self.words("terminal.policy_incognito") if self.chat.incognito else ""
        return self.words.paragraph(self.words("terminal.policy_set", policy=value), notice)

    def leave(self) -> str:
        """Return the goodbye text. If the recipe needs consent, first ask for it and end the conversation."""
        chat, settings = self.chat, self.chat.memory.settings()
        if chat.memory.recipe.needs_consent and chat.lines and not chat.incognito and remember_policy(settings) is None:
            try:
                ending = self.end_conversation(None)
                if ending is not None:
                    farewell = self.words("terminal.farewell_short")
                    return self.words.paragraph(farewell, repl_text.ending_message(ending, self.words))
            except EverthreadError as error:  # such as no answer; the conversation can be resumed
                self.say(f"\n{self.words('terminal.not_ended', error=error)}")
            except QuitRequested:
                pass  # the user quits without an answer; the conversation can be resumed
        if self.ending_shown and not chat.lines and not chat.incognito:
            return self.words("terminal.farewell_short")
        return repl_text.goodbye_text(self.words, chat.incognito, self.store_failed)

    def toggle_incognito(self, argument: str) -> str:
        self.check_can_save()
        if self.chat.incognito and remember_policy(self.chat.memory.settings()) is False:
            raise self.problem("never_remembers")
        self.chat.incognito = not self.chat.incognito
        return self.words("terminal.incognito_on" if self.chat.incognito else "terminal.incognito_off")

    def check_can_save(self) -> None:
        """Raise BadQuery if the bank doesn't exist and may not be created."""
        if not self.can_save:
            raise self.problem("incognito_bank")

    def end(self, argument: str) -> str:
        """End the conversation, by the answer in "/end no" if there is one."""
        remember = self.questions.parse(argument, parse_consent)
        if argument and remember is None:
            raise self.problem("end_answer", answer=shorten(argument), **self.questions.yes_and_no)
        had_lines = bool(self.chat.lines)
        if (ending := self.end_conversation(remember)) is None:
            return self.words("terminal.nothing_forgotten")
        if not had_lines and not ending.remembered and ending.receipt is None:
            return self.words("terminal.nothing_to_end")
        return self.note_ending(ending)

    def end_conversation(self, remember: bool | None) -> EndResult | None:
        """End the conversation, after the questions that this needs. Return None if it goes on."""
        return dialogues.end_conversation([self.chat], self.chat.end, self.questions, remember)


def _load_history(chat: Chat) -> None:
    """Offer line editing, with the user's lines in the bank as the history; no other history is stored."""
    try:
        import readline
    except ImportError:  # Windows has a line editor of its own
        return
    last = chat.memory.store.corpus_stats(chat.memory.bank).last_seq
    for line in chat.memory.lines(Filter(speaker=tuple(chat.person_names)), after=max(0, last - 2 * MAX_HISTORY_LINES)):
        with suppress(UnicodeEncodeError):  # the terminal can't show the line
            readline.add_history(next(filter(None, line.text.splitlines())))
