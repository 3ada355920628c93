"""Stores a conversation whose replies are already given, as an agent passes it on after a turn."""

from __future__ import annotations

from collections.abc import Sequence

from everthread.errors import BadInput
from everthread.server.proxy.lineage import Lineage
from everthread.server.proxy.message_text import ChatMessage, normalize


def keep_turn(lineage: Lineage, messages: Sequence[ChatMessage], session: str | None = None) -> str:
    """Store what is new in a conversation, and return its session.

    Several replies after the newest message of the person become one line. A reply that the session has already is not
    stored again. A reply without a time has that of the message that it answers, if the client gives that.

    Args:
        lineage: the conversations of the bank.
        messages: those of the person and the assistant; at least one is the person's.
        session: the session; None: it is recognised by its replies.

    Raises:
        BadInput: no message is the person's.
        BadLine, StoreUnavailable: as `Lineage.begin`.
    """
    newest = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if newest is None:
        raise BadInput("invalid messages: got none of role user, expected at least one")
    replies = messages[newest + 1 :]
    reply = "\n\n".join(message.text for message in replies)
    turn = lineage.begin(messages[: newest + 1], session, reply)
    stored = lineage.memory.store.get(lineage.memory.bank, sorted(turn.replaces))
    if normalize(reply) not in {normalize(line.text) for line in stored}:
        times = (message.said_at for message in (*replies, messages[newest]))
        lineage.finish(turn, reply, said_at=next(filter(None, times), None))
    return turn.line.session
