"""The channel of text messages."""

from __future__ import annotations

from everthread.common.keys import SETTING_SMS
from everthread.server.messaging.channel import Channel
from everthread.server.sms.keywords import find_command
from everthread.server.sms.segments import MAX_MESSAGES, count_fitting

SMS = Channel(
    name="sms",
    setting=SETTING_SMS,
    count_fitting=count_fitting,
    max_messages=MAX_MESSAGES,
    find_command=find_command,
    own_texts=frozenset({"stopped", "started", "help", "moment"}),
)
