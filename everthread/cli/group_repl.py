"""A conversation of several characters in the terminal."""

from __future__ import annotations

from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.cli.repl_text import QUIT_WORDS, goodbye_text, is_command, reply_notice, shorten, unescape
from everthread.cli.screen import Screen, open_screen
from everthread.errors import BadQuery, EverthreadError

HELP = "/next NAME makes a character speak, /leave NAME removes one, /enter NAME brings it back, /quit quits."


class GroupChatRepl:
    """A group chat in one terminal. The character that the user names answers, else the one silent for longest."""

    def __init__(self, group: GroupChat, screen: Screen | None = None) -> None:
        self.group, self.screen = group, screen or open_screen()
        self.absent: dict[str, Chat] = {}  # characters that left, by their case-folded names
        self.incognito = all(chat.incognito for chat in map(group.chat, group.names))

    def run(self) -> None:
        """Read and answer until the user quits."""
        notice = " Incognito: nothing you say is stored." if self.incognito else ""
        self.screen.say(f"You are talking with {' and '.join(self.group.names)}.{notice} {HELP}")
        while True:
            try:
                text = self.ask_message().strip()
            except (EOFError, KeyboardInterrupt):
                text = "/quit"
            if text.lower() in QUIT_WORDS:
                self.screen.say(f"\n{goodbye_text(self.incognito)}")
                return
            try:
                self.handle(text)
            except EverthreadError as error:
                self.screen.say(f"That could not be done: {error}", "error")
            except KeyboardInterrupt:
                self.screen.say("\n(stopped)")

    def ask_message(self) -> str:
        """Show the prompt, and return what is typed."""
        return self.screen.ask("[incognito] > ", "incognito") if self.incognito else self.screen.ask("> ")

    def handle(self, text: str) -> None:
        """Run a command, or say a text and let a character answer. Raises EverthreadError."""
        name, _, argument = (part.strip() for part in text.partition(" "))
        name = name.lower()
        if name == "/leave":
            chat = self.group.leave(argument)
            self.absent[chat.character.name.casefold()] = chat
            self.screen.say(f"{chat.character.name} has left and hears nothing more.")
        elif name == "/enter":
            if argument.casefold() not in self.absent:
                absent = ", ".join(self.absent) or "none"
                raise BadQuery(f"no character named {argument!r} has left; absent: {absent}")
            self.group.enter(self.absent.pop(argument.casefold()))
            self.screen.say(f"{self.group.names[-1]} is back.")
        elif name == "/next":
            self.stream(argument or self.group.find_addressee(""))
        elif is_command(text):
            unknown = "" if name in ("/help", "/") else f"Unknown command {shorten(name)!r}. "
            self.screen.say(f"{unknown}{HELP}")
        elif text:
            addressee = self.group.find_addressee(text)
            self.group.say(unescape(text))
            self.stream(addressee)

    def stream(self, name: str) -> None:
        """Show a character's reply as it arrives. Ctrl-C stops it, and the text so far is saved."""
        chat = self.group.chat(name)
        reply = self.group.reply(name)
        try:
            with self.screen.reply(chat.character.name) as write:
                for piece in reply:
                    write(piece)
        except KeyboardInterrupt:
            self.screen.write("\n(stopped; the reply so far is saved)")
        else:
            notice = reply_notice(chat.last_reply) if chat.last_reply else ""
            self.screen.write(f"\n{notice}" if notice else "")
        finally:
            reply.close()
            self.screen.write("\n")
