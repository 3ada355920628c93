"""Requests of Ollama's own chat API: those for chat completions, with other answers.

Source: Ollama's API, "Generate a chat completion".
"""

from __future__ import annotations

from typing import ClassVar

from everthread.server.proxy.content import read_text
from everthread.server.proxy.formats.chat_completions import ChatReply, ChatRequest
from everthread.server.proxy.reply import Reply


class OllamaReply(ChatReply):
    """The words of a reply of Ollama's chat API."""

    def add(self, event: object) -> None:
        """Add an answer, or a line of a stream of them."""
        if isinstance(event, dict):
            self.model = read_text(event.get("model")) or self.model
            self.add_message(event.get("message"), (event.get("done_reason") or "stop") if event.get("done") else None)


class OllamaRequest(ChatRequest):
    """A request of Ollama's chat API."""

    reply_type: ClassVar[type[Reply]] = OllamaReply
