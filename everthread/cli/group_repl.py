"""A conversation of several characters in the terminal."""

from __future__ import annotations

from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.cli.repl_text import (
    QUIT_WORDS,
    Read,
    Write,
    goodbye_text,
    is_command,
    read_terminal,
    reply_notice,
    shorten,
    unescape,
    write_terminal,
)
from everthread.errors import BadQuery, EverthreadError

HELP = "/next NAME makes a character speak, /leave NAME removes one, /enter NAME brings it back, /quit quits."


class GroupChatRepl:
    """A group chat in one terminal. The character that the user names answers, else the one silent for longest."""

    def __init__(self, group: GroupChat, read: Read = read_terminal, write: Write = write_terminal) -> None:
        self.group, self.read, self.write = group, read, write
        self.absent: dict[str, Chat] = {}  # characters that left, by their case-folded names
        self.incognito = all(chat.incognito for chat in map(group.chat, group.names))

    def run(self) -> None:
        """Read and answer until the user quits."""
        notice = " Incognito: nothing you say is stored." if self.incognito else ""
        self.write(f"You are talking with {' and '.join(self.group.names)}.{notice} {HELP}\n")
        while True:
            try:
                text = self.read("> ").strip()
            except (EOFError, KeyboardInterrupt):
                text = "/quit"
            if text.lower() in QUIT_WORDS:
                self.write(f"\n{goodbye_text(self.incognito)}\n")
                return
            try:
                self.handle(text)
            except EverthreadError as error:
                self.write(f"That could not be done: {error}\n")
            except KeyboardInterrupt:
                self.write("\n(stopped)\n")

    def handle(self, text: str) -> None:
        """Run a command, or say a text and let a character answer. Raises EverthreadError."""
        name, _, argument = (part.strip() for part in text.partition(" "))
        name = name.lower()
        if name == "/leave":
            chat = self.group.leave(argument)
            self.absent[chat.character.name.casefold()] = chat
            self.write(f"{chat.character.name} has left and hears nothing more.\n")
        elif name == "/enter":
            if argument.casefold() not in self.absent:
                absent = ", ".join(self.absent) or "none"
                raise BadQuery(f"no character named {argument!r} has left; absent: {absent}")
            self.group.enter(self.absent.pop(argument.casefold()))
            self.write(f"{self.group.names[-1]} is back.\n")
        elif name == "/next":
            self.stream(argument or self.group.find_addressee(""))
        elif is_command(text):
            unknown = "" if name in ("/help", "/") else f"Unknown command {shorten(name)!r}. "
            self.write(f"{unknown}{HELP}\n")
        elif text:
            addressee = self.group.find_addressee(text)
            self.group.say(unescape(text))
            self.stream(addressee)

    def stream(self, name: str) -> None:
        """Show a character's reply as it arrives. Ctrl-C stops it, and the text so far is saved."""
        chat = self.group.chat(name)
        reply = self.group.reply(name)
        self.write(f"{chat.character.name}: ")
        try:
            for piece in reply:
                self.write(piece)
        except KeyboardInterrupt:
            self.write("\n(stopped; the reply so far is saved)")
        else:
            notice = reply_notice(chat.last_reply) if chat.last_reply else ""
            self.write(f"\n{notice}" if notice else "")
        finally:
            reply.close()
            self.write("\n")
