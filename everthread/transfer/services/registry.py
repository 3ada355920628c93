"""The services whose exports are read, each by the module of its name, which is imported when it is needed.

Such a module has two functions:

    recognises(export: Export) -> bool                             whether files of this service are in the export
    read(export: Export, options: ReadOptions) -> Iterator[Entry]  its conversations, one in memory at a time

`recognises` demands what no other service writes, so that one export may have files of several services.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Protocol, cast

from everthread.transfer.services.conversation import Entry, ReadOptions
from everthread.transfer.services.export import Export, ExportFile

SERVICES = {  # the module of each service, and the service's name
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "deepseek": "DeepSeek",
    "grok": "Grok",
    "lechat": "Le Chat",
    "discord": "Discord",
    "messenger": "Messenger and Instagram",
    "telegram": "Telegram",
    "slack": "Slack",
    "matrix": "Matrix",
    "signal": "Signal",
    "imessage": "iMessage",
    "line": "LINE",
    "kakaotalk": "KakaoTalk",
    "wechat": "WeChat",
    "googlechat": "Google Chat",
    "skype": "Skype",
    "discordpackage": "Discord's package of your own messages",
    "smsbackup": "SMS Backup & Restore",
    "gemini": "Gemini",
    "characterai": "Character.AI",
    "sillytavern": "SillyTavern",
    "risuai": "RisuAI",
    "agnai": "Agnai",
    "koboldlite": "KoboldAI Lite",
    "textgen": "Text Generation Web UI",
    "lmstudio": "LM Studio",
    "openwebui": "Open WebUI",
    "librechat": "LibreChat",
    "claudecode": "Claude Code",
    "codex": "Codex",
    "mem0": "mem0",
    "letta": "Letta",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "chatlist": "other chat programs",
    "messagelist": "lists of messages in JSON",
    "table": "tables in CSV",
}
UNIQUE_IDS = frozenset(  # ids are UUIDs
    ("chatgpt", "claude", "deepseek", "grok", "lechat", "librechat", "openwebui", "claudecode", "codex")
)
OF_PEOPLE = frozenset(  # a title is a person or a group
    (
        *("discord", "messenger", "telegram", "slack", "matrix", "signal", "imessage", "line", "kakaotalk", "wechat"),
        *("googlechat", "skype", "discordpackage", "smsbackup"),
    )
)
WITHOUT_TEXTS = frozenset(  # to their exports, none is attached
    ("langchain", "llamaindex", "mem0", "letta", "messagelist", "table")
)
WHATSAPP = "WhatsApp"  # has a format of its own: its chats have neither ids nor conversations


class ServiceReader(Protocol):
    """The module of a service."""

    def recognises(self, export: Export) -> bool:
        """Return whether an export has files of this service."""
        ...

    def read(self, export: Export, options: ReadOptions) -> Iterator[Entry]:
        """Yield the conversations in an export.

        Raises:
            BadFile: a file is not in the form in which the service writes it.
        """
        ...


def load_reader(service: str) -> ServiceReader:
    """Return the module of a service."""
    return cast("ServiceReader", import_module(f"everthread.transfer.services.{service}"))


def find_services(export: Export) -> list[str]:
    """Return the services of which an export has files."""
    return [service for service in SERVICES if load_reader(service).recognises(export)]


def is_of_others(file: ExportFile, service: str) -> bool:
    """Return whether a file is of another service than this one."""
    alone, others = Export([file]), (other for other in SERVICES if other != service)
    return any(load_reader(other).recognises(alone) for other in others)


def may_have_texts(services: Collection[str]) -> bool:
    """Return whether texts may be attached to an export of these services."""
    return not WITHOUT_TEXTS.issuperset(services)


def name_service(service: str) -> str:
    """Return the name of a service, or of WhatsApp."""
    return SERVICES.get(service, WHATSAPP)


def describe_services() -> str:
    """Return the names of the services whose exports are read, for a message."""
    return f"{', '.join(SERVICES.values())} or {WHATSAPP}"
