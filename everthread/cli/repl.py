"""A conversation in the terminal: what is typed is said, what begins with a slash is a command."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import dropwhile

from everthread.bank.settings import REMEMBER_POLICIES, remember_policy
from everthread.chat.character import EDITABLE_FIELDS
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_consent, parse_yes_no
from everthread.chat.group_chat import GroupChat
from everthread.chat.reply import Reply
from everthread.cli.sanitize import escape_control_chars
from everthread.common.keys import SETTING_REMEMBER
from everthread.errors import BadQuery, EverthreadError, LLMUnavailable
from everthread.types import Context, EndResult, Filter, Line

Read = Callable[[str], str]
Write = Callable[[str], None]

LEGEND = """\
(percent: the chance that it bears on what was said; of a text about lines, and with another recipe than default, how
near it is by that recipe's measure. Behind it the signals that made the score, those at 0 left out: cosine, near in
meaning; bm25 and share, words in common; near, window and session, of the lines around it; the others, who said it,
when, and how.)"""
HELP = """\
Whatever you type is said, and remembered; what is to begin with a slash begins with two. Commands:
  /why              what was remembered for the last reply, how relevant each line is, and by which signals
  /notes            the character's notes
  /lines [N|all]    the last lines, with their numbers; all, also those that were discarded
  /again            another reply in place of the last
  /edit [N] TEXT    put TEXT in place of what you said last, or of line N, and go on from there; you are asked first
                    where that discards what you said later
  /correct N TEXT   put TEXT in place of line N, of any conversation, and change nothing else
  /undo             take back what you said last
  /branch N         go on from line N; what came after it is discarded
  /forget N         remove line N for good (or: last, session; /forget N yes without being asked)
  /set [WHAT TEXT]  change the character from now on: location, person, description …; and whether conversations are
                    remembered: /set remember always, ask or never
  /incognito        from now on nothing is written, until you say it again
  /end [yes|no]     end the conversation: you are asked whether to remember it, unless you say so (a goodbye does the
                    same where the recipe or /set remember ask asks)
  /stats            what this memory holds, and what the model has used
  /help             this text
  /quit             leave; you can go on later (so do quit, exit, Ctrl-D; Ctrl-C stops a reply)"""
GROUP_HELP = "/next NAME lets someone speak, /leave NAME and /enter NAME say who is there, /quit ends it."
QUIT_WORDS = ("/quit", "quit", "exit")
POLICY_UNSET = "not set: /end asks, and a goodbye where the recipe asks"
NO_MODEL_HINT = ". To talk without it, leave --model away or say --model none: you are shown what is remembered"
UNANSWERED = "(what you said last got no reply; /again asks for one)"
MAX_HISTORY_LINES = 200  # lines of the person that the arrow keys bring back
DEFAULT_LINES = 10
MAX_ROW_CHARS = 70  # characters of a line in a list


_NUMBER = re.compile(r"#?(-?\d{1,19})", re.ASCII)


def _print(text: str) -> None:
    sys.stdout.write(escape_control_chars(text))
    sys.stdout.flush()


def _ask(prompt: str) -> str:
    return input(escape_control_chars(prompt))


class _QuitRequested(Exception):
    """The person leaves instead of answering a question: nothing is changed."""


class ChatRepl:
    """One conversation in one terminal. write puts no line end. One that keeps nothing, for there is no bank to keep it
    in, stays in private. asks: whether there is a person who can be asked."""

    def __init__(
        self, chat: Chat, read: Read = _ask, write: Write = _print, *, can_save: bool = True, interactive: bool = True
    ) -> None:
        self.chat, self.read, self.write, self.can_save, self.interactive = chat, read, write, can_save, interactive
        self.ended_session = ""  # the conversation that was ended last
        self.ending_shown = False  # whether one was, and it was told what became of it
        self.commands: dict[str, Callable[[str], str]] = {
            "/why": lambda _: explain_reply(self.chat.last_reply.context if self.chat.last_reply else None),
            "/notes": lambda _: format_notes(self.chat),
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
            "/stats": lambda _: format_stats(self.chat),
            "/help": lambda _: HELP,
        }

    def run(self) -> None:
        """Read and answer until the end."""
        if sys.stdin.isatty():
            _recallable(self.chat)
        self.say(greeting_text(self.chat))
        while True:
            try:
                said = self.read(f"{self.chat.character.person}> ").strip()
            except (EOFError, KeyboardInterrupt):
                said = "/quit"
            if said.lower() in QUIT_WORDS or said.lower().startswith("/quit "):
                self.say(f"\n{self.leave()}")
                return
            try:
                if said:
                    self.handle(said)
            except _QuitRequested:
                self.say(f"\n{goodbye_text(self.chat.incognito)}")
                return

    def handle(self, said: str) -> None:
        """Do what was typed. What can't be done is told in one line, and the talk goes on."""
        try:
            if is_command(said):
                self.say(self.run_command(said))
            else:
                self.stream(self.chat.reply(unescape(said)))
        except EverthreadError as error:
            self.say(f"That could not be done: {error}")
        except KeyboardInterrupt:
            self.say("\n(stopped)")

    def run_command(self, said: str) -> str:
        """The answer to a slash command; what it streams is written before."""
        name, _, argument = said.replace("\t", " ").partition(" ")
        if name.lower() not in self.commands:
            raise BadQuery(f"{shorten(name)!r} is no command; /help lists them, and what begins with // is said")
        return self.commands[name.lower()](argument.strip())

    def say(self, text: str) -> None:
        """Write whole lines; for nothing, nothing."""
        if text:
            self.write(f"{text}\n")

    def stream(self, reply: Reply) -> None:
        """Show a reply as it comes. Ctrl-C stops it, and what has come is kept."""
        if reply.ending is not None:
            self.show_ending(reply.ending, "".join(reply))
            return
        speaks = self.chat.llm is not None
        if speaks:
            self.write(f"{self.chat.character.name}: ")
        try:
            for piece in reply:
                self.write(piece)
        except KeyboardInterrupt:
            reply.stop()
            kept = "what had come is kept" if reply.line else "nothing had come"
            self.say(f"\n(stopped; {kept}. /again asks for another)")
            return
        except EverthreadError as error:
            kept = " What had come is kept." if reply.line else ""
            without = NO_MODEL_HINT if isinstance(error, LLMUnavailable) and not reply.line else ""
            self.say(f"\n({error}.{kept} What you said is kept; /again asks for a reply{without})")
            return
        self.write("\n")
        self.say(reply_notice(reply))

    def show_ending(self, ending: EndResult, text: str) -> None:
        """Show the question that a goodbye leads to, or how the conversation ended."""
        self.say(text if ending.remembered is None else self.note_ending(ending))

    def note_ending(self, ending: EndResult) -> str:
        """Notes that a conversation has ended; the text that says so."""
        self.ended_session = ending.session if ending.remembered else ""
        self.ending_shown = True
        return f"{ending_message(ending)} What you say now begins another conversation; /quit leaves."

    # ------------------------------------------------------------------ commands

    def show_lines(self, argument: str) -> str:
        if argument == "all":
            every = self.chat.memory.lines(Filter(session=self.chat.session), retracted=True)
            return "\n".join(map(format_line, every)) or "Nothing was said in this conversation yet."
        many = parse_seq(argument) if argument else DEFAULT_LINES
        if many < 1:
            raise BadQuery(f"/lines shows the last lines, so many as you say; {argument!r} is none")
        return "\n".join(map(format_line, self.chat.lines[-many:])) or "Nothing was said in this conversation yet."

    def regenerate(self, argument: str) -> str:
        self.stream(self.chat.regenerate())
        return ""

    def edit(self, argument: str) -> str:
        """/edit 12 What I meant to say; without a number the person's last line."""
        first, _, rest = argument.partition(" ")
        if _NUMBER.fullmatch(first):
            seq, text = parse_seq(first), rest.strip()
            if not text:
                raise BadQuery(f"what is to stand in line {seq}? Write /edit {seq} and the text")
        else:
            mine = [line for line in self.chat.lines if line.role == "user"]
            if not argument:
                raise BadQuery(
                    "edit to what? Write /edit and what you meant to say, or /edit, a line's number, the text"
                )
            if not mine:
                raise BadQuery("you have said nothing yet that could be edited")
            seq, text = mine[-1].seq, argument
        before = self.chat.lines
        if self.interactive and not self.confirm_discarding(seq):
            return "nothing was changed"
        reply = self.chat.edit(seq, text)
        standing = {line.seq for line in self.chat.lines}
        gone = [line for line in before if line.seq not in standing]
        if reply is not None:
            self.stream(reply)
        if len(gone) > 2:
            return f"({pluralize(len(gone), 'line')} discarded; /branch {gone[-1].seq} goes back to them)"
        return "edited" if reply is None else ""

    def confirm_discarding(self, seq: int) -> bool:
        """Whether to go on from a line, though what the person said after it is discarded."""
        later = list(dropwhile(lambda line: line.seq != seq, self.chat.lines))[1:]
        if not any(line.role == "user" for line in later):
            return True
        lines = f"{pluralize(len(later), 'line')} after line {seq} would be discarded"
        return self.ask_yes_no(
            f"{lines}; /correct {seq} TEXT changes only line {seq}.\nDiscard them and go on from there?"
        )

    def correct(self, argument: str) -> str:
        """/correct 12 What I meant; of this conversation or an earlier one."""
        first, _, text = argument.partition(" ")
        if not text.strip():
            raise BadQuery("correct which line, and to what? Write /correct, a line's number and the text")
        if self.chat.incognito:
            raise BadQuery("incognito writes nothing; say /incognito to end it, then correct the line")
        line = self.chat.memory.correct(parse_seq(first), text.strip())
        self.chat.refresh()
        return f"corrected:\n{format_line(line)}"

    def undo(self, argument: str) -> str:
        gone = self.chat.undo()
        return "\n".join(["taken back:", *map(format_line, gone)]) if gone else "There is nothing to take back."

    def branch(self, argument: str) -> str:
        if not argument:
            raise BadQuery("go on from which line? Write /branch and a number that /lines all shows")
        before = [line.seq for line in self.chat.lines]
        gone = self.chat.branch(parse_seq(argument))
        if [line.seq for line in self.chat.lines] == before:
            return "nothing changed"
        rows = ["we go on from:", format_line(self.chat.lines[-1])]  # under a new number, if it was a discarded one
        rows += ["discarded:", *map(format_line, gone)] if gone else []
        return "\n".join([*rows, UNANSWERED] if self.chat.is_unanswered and self.chat.llm else rows)

    def forget(self, argument: str) -> str:
        """/forget 12, /forget last, /forget session; for good, so it is asked first, unless a yes comes with it."""
        chat = self.chat
        what, _, answer = argument.partition(" ")
        if answer and parse_yes_no(answer) is None:
            raise BadQuery(f"{shorten(answer)!r} is neither yes nor no; write /forget {what}, and you are asked")
        if not what:
            raise BadQuery("forget what? Write /forget and a number that /lines or /why shows, or last, or session")
        if what == "session":
            return self.forget_session(answer)
        if what == "last":
            gone = chat.lines[last_user_position(chat) :]
        else:
            seq = parse_seq(what)
            found = chat.lines if seq < 0 else chat.memory.lines(after=seq - 1, limit=1, retracted=True)
            gone = [line for line in found if line.seq == seq]
        if not gone and what == "last":
            raise BadQuery("nothing was said yet in this conversation that could be forgotten")
        if not gone:
            raise BadQuery(f"there is no line {what!r} to forget; /lines and /why show their numbers")
        shown = "\n".join(map(format_line, gone))
        if not self.confirm(f"{shown}\nForget {'this' if len(gone) == 1 else 'these'}, for good?", answer):
            return "nothing was forgotten"
        for line in reversed(gone):
            chat.forget(line.seq)
        return f"forgotten: {pluralize(len(gone), 'line')}"

    def forget_session(self, answer: str) -> str:
        """Forget this conversation, or the one that has just been ended, where nothing was said since."""
        if not self.chat.lines and self.ended_session:
            if not self.confirm("Forget all of the conversation that has just ended, for good?", answer):
                return "nothing was forgotten"
            receipt = self.chat.memory.forget(session=self.ended_session)
            self.ended_session = ""
            return f"forgotten: {pluralize(receipt.lines, 'line')}"
        if not self.chat.lines:
            raise BadQuery(
                "nothing was said yet in this conversation; everthread forget --session removes an older one"
            )
        if not self.confirm("Forget all of this conversation, for good?", answer):
            return "nothing was forgotten"
        gone = self.chat.end(remember=False).receipt
        return f"forgotten: {pluralize(gone.lines, 'line')}; we begin anew" if gone else "forgotten; we begin anew"

    def confirm(self, question: str, answer: str) -> bool:
        """Whether it is to be done, by the answer that came with the command, or else by asking."""
        return bool(parse_yes_no(answer)) if answer else self.ask_yes_no(question)

    def change_setting(self, argument: str) -> str:
        """/set location the harbour; alone, what there is to set."""
        what, _, text = argument.partition(" ")
        if not argument:
            shown = ((name, shorten(getattr(self.chat.character, name))) for name in EDITABLE_FIELDS)
            rows = [f"{name:>12}  {text or '-'}" for name, text in shown]
            return "\n".join(
                [*rows, f"{SETTING_REMEMBER:>12}  {self.chat.memory.settings().get(SETTING_REMEMBER, 'ask')}"]
            )
        if what == SETTING_REMEMBER:
            return self.set_policy(text.strip())
        if what not in EDITABLE_FIELDS:
            raise BadQuery(f"a character has no {shorten(what)!r}; it has {', '.join(EDITABLE_FIELDS)}")
        if not text.strip():
            value = getattr(self.chat.character, what)
            return f"{what}: {value} (to empty it: /set {what} -)" if value else f"{what}: nothing"
        self.chat.edit_character(**{what: "" if text.strip() == "-" else text.strip()})
        return f"{what}: {'nothing' if text.strip() == '-' else text.strip()}, from now on"

    def set_policy(self, value: str) -> str:
        """Whether conversations are remembered, from now on. What was said of this one is in the bank until it ends."""
        memory = self.chat.memory
        if not value:
            policy = memory.settings().get(SETTING_REMEMBER, POLICY_UNSET)
            return f"{SETTING_REMEMBER}: {policy} (one of {', '.join(REMEMBER_POLICIES)})"
        if not self.can_save:
            raise BadQuery("this bank is not there yet and none is made in private; begin again without --incognito")
        memory.set_setting(SETTING_REMEMBER, value)
        if REMEMBER_POLICIES[value] is False:
            self.chat.incognito = True
            before = " Of what was said before, /end asks." if any(line.seq > 0 for line in self.chat.lines) else ""
            return f"{SETTING_REMEMBER}: never. From now on nothing is written.{before}"
        private = " This one is in private; /incognito ends that." if self.chat.incognito else ""
        return f"{SETTING_REMEMBER}: {value}, when a conversation ends.{private}"

    def leave(self) -> str:
        """What is said last. Where nothing is summarised that the person has not agreed to, they are asked before."""
        chat, settings = self.chat, self.chat.memory.settings()
        if chat.memory.recipe.needs_consent and chat.lines and not chat.incognito and remember_policy(settings) is None:
            try:
                return f"Until next time. {ending_message(self.end_conversation(None))}"
            except EverthreadError as error:  # no answer, for one: the conversation can be gone on with
                self.say(f"\nThe conversation was not ended: {error}")
            except _QuitRequested:
                pass  # they were asked already
        return (
            SHORT_GOODBYE
            if self.ending_shown and not chat.lines and not chat.incognito
            else goodbye_text(chat.incognito)
        )

    def toggle_incognito(self, argument: str) -> str:
        if not self.can_save:
            raise BadQuery("this bank is not there yet and none is made in private; begin again without --incognito")
        self.chat.incognito = not self.chat.incognito
        if self.chat.incognito:
            return "From now on nothing is written, and this part of the talk is gone when you say /incognito again."
        return "What was said in private is gone. From now on it is remembered again."

    def end(self, argument: str) -> str:
        """Ask until the answer is a yes or a no, unless it comes with the command: /end no."""
        if argument and parse_consent(argument) is None:
            raise BadQuery(f"{shorten(argument)!r} is neither yes nor no; say /end yes, /end no, or /end to be asked")
        said = bool(self.chat.lines)
        ending = self.end_conversation(parse_consent(argument))
        if not said and not ending.remembered and ending.receipt is None:
            return "There was nothing to end."
        return self.note_ending(ending)

    def end_conversation(self, remember: bool | None) -> EndResult:
        """The conversation ended, once it is clear whether it is to be remembered."""
        ending = self.chat.end(remember)
        return (
            ending if ending.remembered is not None else self.chat.end(self.ask_yes_no(ending.question, parse_consent))
        )

    def ask_yes_no(self, question: str, understood: Callable[[str], bool | None] = parse_yes_no) -> bool:
        """Whether the person says yes; asked again until it is clear. Nobody there to answer: BadQuery."""
        answer = None
        while answer is None:
            try:
                said = self.read(f"{question} (yes or no) ")
            except (EOFError, KeyboardInterrupt):
                raise BadQuery("there was no answer; nothing was changed") from None
            if said.strip().lower() in QUIT_WORDS:
                raise _QuitRequested
            if is_command(said.strip()):
                raise BadQuery("that was no answer; nothing was changed. Say it again, now that nothing is asked")
            answer = understood(said)
        return answer


class GroupChatRepl:
    """A scene in one terminal: whoever is called by name answers, else whoever has not spoken for longest."""

    def __init__(self, group: GroupChat, read: Read = _ask, write: Write = _print) -> None:
        self.group, self.read, self.write = group, read, write
        self.absent: dict[str, Chat] = {}
        self.incognito = all(chat.incognito for chat in map(group.chat, group.names))

    def run(self) -> None:
        """Read and answer until the end."""
        private = " Incognito: nothing you say is written." if self.incognito else ""
        self.write(f"You talk with {' and '.join(self.group.names)}.{private} {GROUP_HELP}\n")
        while True:
            try:
                said = self.read("> ").strip()
            except (EOFError, KeyboardInterrupt):
                said = "/quit"
            if said.lower() in QUIT_WORDS:
                self.write(f"\n{goodbye_text(self.incognito)}\n")
                return
            try:
                self.handle(said)
            except EverthreadError as error:
                self.write(f"That could not be done: {error}\n")
            except KeyboardInterrupt:
                self.write("\n(stopped)\n")

    def handle(self, said: str) -> None:
        """Do what was typed."""
        name, _, argument = (part.strip() for part in said.partition(" "))
        name = name.lower()
        if name == "/leave":
            chat = self.group.leave(argument)
            self.absent[chat.character.name.casefold()] = chat
            self.write(f"{chat.character.name} goes, and hears nothing more.\n")
        elif name == "/enter":
            if argument.casefold() not in self.absent:
                raise BadQuery(f"nobody called {argument!r} has left; gone are {', '.join(self.absent) or 'none'}")
            self.group.enter(self.absent.pop(argument.casefold()))
            self.write(f"{self.group.names[-1]} is back.\n")
        elif name == "/next":
            self.speak(argument or self.group.find_addressee(""))
        elif is_command(said):
            unknown = "" if name in ("/help", "/") else f"{shorten(name)} is no command of a scene. "
            self.write(f"{unknown}{GROUP_HELP}\n")
        elif said:
            who = self.group.find_addressee(said)
            self.group.say(unescape(said))
            self.speak(who)

    def speak(self, name: str) -> None:
        """Show what a character says as it comes. Ctrl-C stops it, and what has come is kept."""
        chat = self.group.chat(name)
        reply = self.group.reply(name)
        self.write(f"{chat.character.name}: ")
        try:
            for piece in reply:
                self.write(piece)
        except KeyboardInterrupt:
            self.write("\n(stopped; what had come is kept)")
        else:
            told = reply_notice(chat.last_reply) if chat.last_reply else ""
            self.write(f"\n{told}" if told else "")
        finally:
            reply.close()
            self.write("\n")


# -------------------------------------------------------------------------- words


def ending_message(ending: EndResult) -> str:
    """What has become of a conversation."""
    return "It is remembered." if ending.remembered else "Nothing of it is left."


SHORT_GOODBYE = "Until next time."  # what has become of the conversation was told when it ended


def goodbye_text(private: bool) -> str:
    """What is said when the talk is over."""
    return f"Until next time; {'nothing that was said in private is kept' if private else 'it is all kept'}."


def greeting_text(chat: Chat) -> str:
    """What this is, what is known, and who is there."""
    known = chat.memory.stats()
    first = known.first_said_at
    since = f", since {first.day} {first:%B %Y}" if first else ""
    held = f"{pluralize(known.lines, 'line')}{since}" if known.lines else "nothing yet"
    name = chat.character.name
    with_whom = (
        f"You talk with {name} ({chat.llm.name})."
        if chat.llm
        else "No language model is configured: instead of a reply you are shown what is remembered.\n"
        "(A running Ollama is found by itself; another server: --model http://host/v1#name)"
    )
    private = "\nIncognito: nothing you say is written." if chat.incognito else ""
    rows = [
        f"Everthread. Bank {chat.memory.bank!r} remembers {held}.",
        f"{with_whom}{private}",
        "Talk, ask, come back later. /help for commands.",
    ]
    if chat.is_unanswered and chat.llm:
        rows.append(UNANSWERED)
    if chat.question:
        rows.append(f"\n{chat.question}")
    elif chat.greeting and chat.llm:
        rows.append(f"\n{name}: {chat.greeting}")
    elif chat.offer:
        rows.append(f"\n{chat.offer}")
    return "\n".join(rows)


def reply_notice(reply: Reply) -> str:
    """What is to be said of a reply that is no ordinary one."""
    if reply.refused:
        return "(the model would not answer that. This is not remembered; /again asks for another reply)"
    if reply.partial:
        return "(the reply was cut short; what had come is kept)"
    return ""


def explain_reply(last: Context | None) -> str:
    """What was behind the last answer."""
    if last is None:
        return "Nothing has been recalled yet, or nothing since a line was forgotten."
    rows = [f"relevance of the whole {last.relevance:.0%}{'' if last.hits else '; nothing bore on it'}"]
    for hit in last.hits:
        signals = "  ".join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
        said = f"{hit.source.speaker}: {shorten(hit.source.text)}"
        rows.append(f"{hit.relevance:4.0%}  #{hit.seq} {said}\n      {signals}")
    around = {line.seq for hit in last.hits for line in hit.passage}
    held = [format_line(line) for line in last.lines if line.seq not in around]
    for other in last.others:
        found = (f"{hit.seq:>6}  {hit.source.speaker}: {shorten(hit.source.text)}" for hit in other.hits)
        rows += [f"from the bank {other.bank}:", *found]
    rows += ["still in view from earlier turns:", *held] if held else []
    return "\n".join([*rows, LEGEND] if last.hits else rows)


def format_stats(chat: Chat) -> str:
    """What the bank holds, and what was spent on it."""
    held = chat.memory.stats()
    said = f"{pluralize(held.lines, 'line')} in {pluralize(held.sessions, 'session')} by {', '.join(held.speakers)}"
    rows = [f"{said}, {held.bytes / 1e6:.1f} MB" if held.speakers else "nothing yet"]
    if held.queued:
        rows.append(f"{pluralize(held.queued, 'piece')} of a scribe's work still to be done")
    if chat.llm is not None:
        used = chat.llm.usage
        cost = f", {used.cost:.4f} at your prices" if used.cost is not None else ""
        read = f"{'about ' if used.estimated else ''}{used.prompt:,} tokens read"
        rows.append(f"{chat.llm.name}: {read}, {used.completion:,} written{cost}")
    return "\n".join(rows)


def format_notes(chat: Chat) -> str:
    """The notes as they stand, and what is still to be written of them."""
    if not chat.memory.recipe.notes:
        return f"With the recipe {chat.memory.recipe.name} no notes are kept."
    queued = chat.memory.jobs()
    failed = next((f"; the last try failed: {work.error}" for work in queued if work.error), "")
    waiting = f"({pluralize(len(queued), 'piece')} still to be written{failed})" if queued else ""
    return "\n".join(filter(None, [chat.notes or "There are no notes yet.", waiting]))


def format_line(line: Line) -> str:
    """A line in a list."""
    gone = "(discarded) " if line.retracted_at else ""
    return f"{line.seq:>6}  {gone}{line.speaker}: {shorten(line.text)}"


def shorten(text: str) -> str:
    """The beginning of a text, in one row."""
    row = " ".join(text[: 10 * MAX_ROW_CHARS].split())
    return row[:MAX_ROW_CHARS] + ("…" if len(row) > MAX_ROW_CHARS or len(text) > 10 * MAX_ROW_CHARS else "")


def last_user_position(chat: Chat) -> int:
    """Return the position of the person's last line."""
    return max((at for at, line in enumerate(chat.lines) if line.role == "user"), default=len(chat.lines))


def parse_seq(text: str) -> int:
    """The number of a line, as it was typed."""
    if (found := _NUMBER.fullmatch(text)) is None:
        raise BadQuery(f"{shorten(text)!r} is no number of a line; /lines and /why show them")
    return int(found[1])


def is_command(said: str) -> bool:
    """Whether what was typed is a command."""
    return said.startswith("/") and not said.startswith("//")


def unescape(said: str) -> str:
    """What was typed, as it is said: of two slashes at the beginning the first only tells that it is no command."""
    return said[1:] if said.startswith("//") else said


def pluralize(number: int, noun: str) -> str:
    """That many of them, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _recallable(chat: Chat) -> None:
    """Line editing, and a history made of what the person has said: none is kept but the bank."""
    try:
        import readline
    except ImportError:  # Windows has a line editor of its own
        return
    last = chat.memory.store.corpus(chat.memory.bank).last_seq
    for line in chat.memory.lines(Filter(speaker=chat.character.person), after=max(0, last - 2 * MAX_HISTORY_LINES)):
        with suppress(UnicodeEncodeError):  # what this terminal can't show can't be typed there, either
            readline.add_history(next(filter(None, line.text.splitlines())))
