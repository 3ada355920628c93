"""Swipes: what stood where the last reply stands."""

from __future__ import annotations

from everthread.chat.alternatives import alternatives
from everthread.chat.chat import Chat
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import ScriptedLLM


def test_each_reply_is_told_once_in_the_order_they_came_however_often_it_is_gone_back_to(memory: Memory) -> None:
    model = ScriptedLLM(["One.", "Two.", "Three."])
    with Chat(memory, llm=model, scribe=ExtractiveScribe()) as chat:
        list(chat.reply("Say something."))
        list(chat.regenerate())
        list(chat.regenerate())
        for wanted in ("One.", "Three.", "One.", "Two."):
            seq = next(line.seq for line in alternatives(memory, chat.lines) if line.text == wanted)
            chat.branch(seq)
            assert chat.lines[-1].text == wanted
            assert [line.text for line in alternatives(memory, chat.lines)] == ["One.", "Two.", "Three."]


def test_there_are_none_where_the_person_spoke_last_and_one_where_the_character_only_greeted(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["One."]), scribe=ExtractiveScribe()) as chat:
        assert alternatives(memory, chat.lines) == []
        chat.reply("Hello.")
        assert alternatives(memory, chat.lines) == []
        assert [line.seq for line in alternatives(memory, chat.lines[:1])] == [1]


def test_a_reply_to_what_was_edited_since_is_no_swipe(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["To Tom.", "To Tim."]), scribe=ExtractiveScribe()) as chat:
        list(chat.reply("I am Tom."))
        list(chat.edit(chat.lines[-2].seq, "I am Tim.") or ())
        assert [line.text for line in alternatives(memory, chat.lines)] == ["To Tim."]


def test_in_private_there_is_none_but_the_reply_itself(memory: Memory) -> None:
    with Chat(memory, llm=ScriptedLLM(["One.", "Two."]), scribe=ExtractiveScribe(), incognito=True) as chat:
        list(chat.reply("Say something."))
        list(chat.regenerate())
        assert [line.text for line in alternatives(memory, chat.lines)] == ["Two."]
