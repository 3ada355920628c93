"""Completion of commands in a chat."""

from everthread.chat.chat import Chat
from everthread.cli.completion import complete
from everthread.memory import Memory

COMMANDS = ["/end", "/edit", "/forget", "/lines", "/set", "/quit"]
CHOICES = {
    "/e": ["/edit", "/end"],
    "/E": ["/edit", "/end"],
    "/set loc": ["location"],
    "/set remember n": ["never"],
    "/end ": ["yes", "no"],
    "/forget l": ["last"],
    "/forget 1 y": ["yes"],
    "/edit ": ["1"],
    "/lines a": ["all"],
    "/edit 1 w": [],
    "/nosuch x": [],
    "//e": [],
    "Hello /e": [],
    "": [],
}


def test_commands_and_their_arguments_are_completed_and_messages_are_not(memory: Memory) -> None:
    with Chat(memory, llm=None) as chat:
        "".join(chat.reply("Hello."))
        assert {typed: complete(chat, COMMANDS, typed) for typed in CHOICES} == CHOICES
