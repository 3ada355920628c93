"""Handles the buttons below the bot's messages: another reply, a correction, forgetting, yes and no, a character.

A button names the line, the session or the character that it was shown for, and has no effect on any other.
"""

from __future__ import annotations

from contextlib import suppress

from everthread.server.messaging.live_conversation import LiveConversation
from everthread.server.messaging.message import LINE_PART, Message
from everthread.server.telegram.bot_api import BotAPIError, BotAPIUnavailable
from everthread.server.telegram.channel import TELEGRAM
from everthread.server.telegram.chat_store import ChatStore
from everthread.server.telegram.outbox import AGAIN, CHARACTER, CORRECT, FORGET, FORGET_NOW, KEEP, SAY, Outbox, digest
from everthread.server.telegram.updates import Pressed, Said

# Buttons about a line, each with the kind of message below which it is shown.
LINE_BUTTONS = {AGAIN: "reply", CORRECT: "reply", FORGET: "reply", FORGET_NOW: "forget", KEEP: "forget"}


class Buttons:
    """Handles presses. Its methods raise the same errors as those of `LiveConversation` and `Outbox`."""

    def __init__(self, conversation: LiveConversation, outbox: Outbox, chats: ChatStore) -> None:
        self._conversation, self._outbox, self._chats = conversation, outbox, chats

    def press(self, pressed: Pressed) -> None:
        """Handle a press."""
        kind, _, value = pressed.data.partition(":")
        number = int(value) if value.isdecimal() else 0
        asked_about = LINE_BUTTONS.get(kind)
        if asked_about and self._chats.find_line(pressed.chat, pressed.message, asked_about) != number:
            self._refuse(pressed)
        elif kind == AGAIN:
            self._regenerate(pressed, number)
        elif kind == CORRECT:
            self._ask_for_correction(pressed, number)
        elif kind == FORGET:
            self._ask_to_forget(pressed, number)
        elif kind == FORGET_NOW:
            self._forget(pressed, number)
        elif kind == KEEP:
            self._keep(pressed)
        elif kind == SAY:
            self._answer_question(pressed, value)
        elif kind == CHARACTER:
            self._choose_character(pressed, value)

    def _confirm(self, pressed: Pressed, text: str = "") -> None:
        """Confirm a press, with a notice if there is a text. If that fails, the press takes effect nevertheless."""
        with suppress(BotAPIError, BotAPIUnavailable):
            self._outbox.api.answer_press(pressed.id, text)

    def _refuse(self, pressed: Pressed) -> None:
        """Tell that a button has no effect any more."""
        self._confirm(pressed, self._outbox.words(pressed.chat)("telegram.too-late"))

    def _regenerate(self, pressed: Pressed, seq: int) -> None:
        chat, person = pressed.chat, str(pressed.chat)
        if not self._conversation.can_regenerate(person, seq):
            self._refuse(pressed)
            return
        self._confirm(pressed)
        messages = self._chats.list_sent(chat, seq)
        with self._outbox.open_live(chat, messages) as live:
            part = self._conversation.regenerate(person, seq, live.add)
            is_given = part is not None and part[0] != "failed"
            self._outbox.finish_live(chat, live, part if part and is_given else (LINE_PART, seq), messages)
        if part is not None and not is_given:
            self._outbox.send_parts(chat, (part,))

    def _ask_for_correction(self, pressed: Pressed, seq: int) -> None:
        self._confirm(pressed)
        question = self._outbox.words(pressed.chat)("telegram.correct?")
        sent = self._outbox.send_text(pressed.chat, question, asks_for_reply=True)
        self._chats.save_sent(pressed.chat, sent, seq, "correct")

    def correct(self, said: Said) -> bool:
        """Correct a reply if a message answers the request to do so. Return whether it does."""
        seq = None if said.reply_to is None else self._chats.find_line(said.chat, said.reply_to, "correct")
        if seq is None or said.reply_to is None:
            return False
        chat, part = said.chat, self._conversation.correct_reply(str(said.chat), seq, said.text)
        if part is None:
            self._outbox.send_text(chat, self._outbox.words(chat)("telegram.too-late"))
            return True
        messages = self._chats.list_sent(chat, seq)
        with self._outbox.open_live(chat, messages) as live:
            self._outbox.finish_live(chat, live, part, messages)
        self._outbox.delete(chat, (said.reply_to, said.message))
        return True

    def _ask_to_forget(self, pressed: Pressed, seq: int) -> None:
        self._confirm(pressed)
        words = self._outbox.words(pressed.chat)
        buttons = [[(words("telegram.yes"), f"{FORGET_NOW}:{seq}"), (words("telegram.no"), f"{KEEP}:{seq}")]]
        sent = self._outbox.send_text(pressed.chat, words("telegram.forget-these?"), buttons)
        self._chats.save_sent(pressed.chat, sent, seq, "forget")

    def _forget(self, pressed: Pressed, seq: int) -> None:
        """Forget a reply with the messages that it answers, give a receipt, and delete them from the chat."""
        chat, sent = pressed.chat, self._chats.list_sent(pressed.chat, seq)
        forgotten = self._conversation.forget_turn(str(chat), seq)
        self._chats.remove_sent(chat, (*sent, pressed.message))
        if forgotten:
            self._confirm(pressed)
            receipt = self._outbox.words(chat)("telegram.forgotten", number=len(forgotten))
            self._outbox.edit_text(chat, pressed.message, receipt)
        else:
            self._refuse(pressed)
        own_key = f"{TELEGRAM.name}:{chat}:"
        said = [int(line.key.removeprefix(own_key)) for line in forgotten if line.key and line.key.startswith(own_key)]
        self._outbox.delete(chat, (*sent, *said))

    def _keep(self, pressed: Pressed) -> None:
        self._confirm(pressed)
        self._chats.remove_sent(pressed.chat, (pressed.message,))
        self._outbox.replace_text(pressed.chat, pressed.message, (("spared", 0),))

    def _answer_question(self, pressed: Pressed, value: str) -> None:
        """Answer the pending question as if the person had written yes or no.

        A yes to another question has no effect: it may have been to remember, while the pending one is to forget.
        """
        question, _, answer = value.rpartition(":")
        if self._outbox.name_question(pressed.chat) != question:
            self._refuse(pressed)
            return
        self._confirm(pressed)
        message = Message(f"press:{pressed.id}", str(pressed.chat), answer, speaker=pressed.speaker)
        self._outbox.replace_text(pressed.chat, pressed.message, self._conversation.receive(message).parts)

    def _choose_character(self, pressed: Pressed, wanted: str) -> None:
        known = self._conversation.list_characters(str(pressed.chat))
        name = next((name for name in known if digest(name) == wanted), "")
        if not self._conversation.choose_character(str(pressed.chat), name):
            self._refuse(pressed)
            return
        self._confirm(pressed)
        text = self._outbox.words(pressed.chat)("telegram.character", name=name)
        self._outbox.edit_text(pressed.chat, pressed.message, text)
