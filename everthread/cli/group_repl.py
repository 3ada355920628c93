"""A conversation of several characters in the terminal."""

from __future__ import annotations

from everthread.chat.character import is_same_name
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.cli.repl_text import (
    QUIT_WORDS,
    describe,
    goodbye_text,
    is_command,
    problem,
    reply_notice,
    shorten,
    unescape,
)
from everthread.cli.screen import Screen, open_screen
from everthread.errors import EverthreadError


class GroupChatRepl:
    """A group chat in one terminal. The character that the user names answers, else the one silent for longest."""

    def __init__(self, group: GroupChat, screen: Screen | None = None) -> None:
        self.group, self.screen = group, screen or open_screen()
        self.absent: dict[str, Chat] = {}  # characters that left, by their case-folded names
        chats = [group.chat(name) for name in group.names]
        self.words = chats[0].words
        self.incognito = all(chat.incognito for chat in chats)

    def run(self) -> None:
        """Read and answer until the user quits."""
        talking = self.words("terminal.group_talking", names=self.words.join(self.group.names))
        notice = self.words("terminal.incognito") if self.incognito else ""
        self.screen.say(self.words.paragraph(talking, notice, self.words("terminal.group_help")))
        while True:
            try:
                text = self.ask_message().strip()
            except (EOFError, KeyboardInterrupt):
                text = "/quit"
            if text.lower() in QUIT_WORDS:
                self.screen.say(f"\n{goodbye_text(self.words, self.incognito)}")
                return
            try:
                self.handle(text)
            except EverthreadError as error:
                self.screen.say(self.words("terminal.failed", error=describe(error, self.words)), "error")
            except KeyboardInterrupt:
                self.screen.say(f"\n{self.words('terminal.stopped')}")

    def ask_message(self) -> str:
        """Show the prompt, and return what is typed."""
        if self.incognito:
            return self.screen.ask(self.words("terminal.group_prompt"), "incognito")
        return self.screen.ask("> ")

    def handle(self, text: str) -> None:
        """Run a command, or say a text and let a character answer. Raises EverthreadError."""
        name, _, argument = (part.strip() for part in text.partition(" "))
        name = name.lower()
        if name == "/leave":
            self.check_present(argument)
            chat = self.group.leave(argument)
            self.absent[chat.character.name.casefold()] = chat
            self.screen.say(self.words("terminal.has_left", name=chat.character.name))
        elif name == "/enter":
            if argument.casefold() not in self.absent:
                absent = ", ".join(self.absent) or self.words("problem.none_absent")
                raise problem("has_not_left", self.words, name=argument, absent=absent)
            self.group.enter(self.absent.pop(argument.casefold()))
            self.screen.say(self.words("terminal.is_back", name=self.group.names[-1]))
        elif name == "/next":
            if argument:
                self.check_present(argument)
            self.stream(argument or self.find_addressee(""))
        elif is_command(text):
            known = name in ("/help", "/")
            unknown = "" if known else self.words("terminal.unknown_group_command", name=shorten(name))
            self.screen.say(self.words.paragraph(unknown, self.words("terminal.group_help")))
        elif text:
            addressee = self.find_addressee(text)
            self.group.say(unescape(text))
            self.stream(addressee)

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

    def stream(self, name: str) -> None:
        """Show a character's reply as it arrives. Ctrl-C stops it, and the text so far is saved."""
        chat = self.group.chat(name)
        reply = self.group.reply(name)
        try:
            with self.screen.reply(chat.character.name) as write:
                for piece in reply:
                    write(piece)
        except KeyboardInterrupt:
            self.screen.write(f"\n{self.words('terminal.group_stopped')}")
        else:
            notice = reply_notice(chat.last_reply, self.words) if chat.last_reply else ""
            self.screen.write(f"\n{notice}" if notice else "")
        finally:
            reply.close()
            self.screen.write("\n")
