"""Random sequences of a user's actions in a conversation, compared with a model of the expected lines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.reply import Reply
from everthread.errors import BadQuery, LLMUnavailable
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.shared_rows import SESSION_GAP
from everthread.testing import HashEmbedder, ScriptedLLM, StreamCut
from everthread.types import Filter, Line, Message

pytestmark = pytest.mark.slow  # long conversations

CONTEXT = 2400
REPLY = 512
CAPTAIN = Character("Captain", "Sails.", person="Nora")


@dataclass(frozen=True)
class Said:
    """A line in the model of the conversation; its word is in no other line."""

    seq: int
    text: str
    role: str


class Talking(RuleBasedStateMachine):
    """One person and one character; the window is small, so that lines leave it for the notes."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = count()
        self.folder = tempfile.TemporaryDirectory()
        self.now = datetime(2026, 11, 20, 12, tzinfo=UTC)
        self.memory = Memory.open("alice", store=self.folder.name, embedder=HashEmbedder(64))
        self.script: list[str | Exception | StreamCut] = []
        self.llm = ScriptedLLM(self._script(), context=CONTEXT)
        self.active: list[Said] = []
        self.discarded: list[Said] = []  # of this session
        self.other_sessions: list[Said] = []  # in ended sessions
        self.retracted: list[Said] = []  # in ended sessions
        self.private: list[str] = []  # texts said in incognito
        self.forgotten: list[str] = []
        self.public: list[Said] | None = None  # the current lines when it became incognito

    @initialize()
    def begin(self) -> None:
        self.open()

    def _script(self) -> Iterator[str | Exception | StreamCut]:
        while True:
            yield self.script.pop(0)

    def open(self) -> None:
        self.chat = Chat(self.memory, CAPTAIN, self.llm, scribe=ExtractiveScribe(), clock=lambda: self.now)

    def teardown(self) -> None:
        self.chat.close()
        self.memory.close()
        self.folder.cleanup()

    # ------------------------------------------------------------------- words

    def text(self, what: str) -> str:
        return f"zq{next(self.numbers)}{what}x is what my sister Mia said of the yellow boat and her two dogs in May."

    def answers(self, reply: str | Exception | StreamCut) -> None:
        self.script.append(reply)

    def heard(self, line: Line) -> Said:
        if line.seq < 0:
            self.private.append(line.text)
        return Said(line.seq, line.text, line.role)

    def add(self, line: Line) -> None:
        self.active.append(self.heard(line))

    def discard(self, place: int) -> None:
        if not self.chat.incognito:
            self.discarded += self.active[place:]
        del self.active[place:]

    def read(self, reply: Reply, how: str) -> None:
        """Read a reply, to its end or partly."""
        if how == "unread":
            return
        if how == "stopped":
            next(reply)
            reply.stop()
            return
        with suppress(LLMUnavailable):
            list(reply)

    HOW = st.sampled_from(["read", "read", "read", "stopped", "unread", "failed", "cut"])

    def scripted(self, how: str) -> None:
        text = self.text("assistant")
        if how == "failed":
            self.answers(LLMUnavailable("down"))
        elif how == "cut":
            self.answers(StreamCut(text, LLMUnavailable("cut")))
        elif how != "unread":
            self.answers(text)

    # ------------------------------------------------------------------- rules

    @rule(how=HOW)
    def reply(self, how: str) -> None:
        text = self.text("user")
        self.scripted(how)
        reply = self.chat.reply(text)
        self.add(self.chat.lines[-1])
        self.read(reply, how)
        if reply.line:
            self.add(reply.line)

    @rule(turns=st.integers(3, 9))
    def talk_on(self, turns: int) -> None:
        for _ in range(turns):
            self.reply("read")

    @precondition(lambda self: self.active and not (len(self.active) == 1 and self.active[0].role == "assistant"))
    @rule(how=HOW)
    def regenerate(self, how: str) -> None:
        replaces_reply = self.active[-1].role == "assistant"
        self.scripted(how)
        reply = self.chat.regenerate()
        if replaces_reply:
            assert self.active[-1].text not in self.prompt() or how == "unread"
        self.read(reply, how)
        if reply.line:
            if replaces_reply:
                self.discard(len(self.active) - 1)
            self.add(reply.line)

    @precondition(lambda self: self.active)
    @rule(data=st.data(), how=HOW)
    def edit(self, data: st.DataObject, how: str) -> None:
        place = data.draw(st.integers(0, len(self.active) - 1))
        role = self.active[place].role
        if role == "user":
            self.scripted(how)
        reply = self.chat.edit(self.active[place].seq, self.text(role))
        self.discard(place)
        self.add(self.chat.lines[place])
        assert (reply is None) == (role == "assistant")
        if reply is not None:
            self.read(reply, how)
            if reply.line:
                self.add(reply.line)

    @rule()
    def undo(self) -> None:
        places = [place for place, said in enumerate(self.active) if said.role == "user"]
        removed = self.chat.undo()
        assert (
            [line.seq for line in removed] == [said.seq for said in self.active[places[-1] :]]
            if places
            else not removed
        )
        if places:
            self.discard(places[-1])

    @precondition(lambda self: self.active)
    @rule(data=st.data())
    def branch_to_an_active_line(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.active) - 1))
        self.chat.branch(self.active[place].seq)
        self.discard(place + 1)

    @precondition(lambda self: self.discarded and not self.chat.incognito)
    @rule(data=st.data())
    def branch_to_a_discarded_line(self, data: st.DataObject) -> None:
        back = data.draw(st.sampled_from(self.discarded))
        before = self.active
        record = {line.seq: line for line in self.memory.lines(include_retracted=True)}
        at: int | None = back.seq
        while at in record and at not in {said.seq for said in before}:
            at = record[at].parent
        if at is not None and at not in record:  # its parent was forgotten
            with pytest.raises(BadQuery, match="is forgotten"):
                self.chat.branch(back.seq)
            return
        self.chat.branch(back.seq)
        after = [Said(line.seq, line.text, line.role) for line in self.chat.lines]
        assert after[-1].text == back.text
        unchanged = [said for said in after if said in before]
        assert unchanged == before[: len(unchanged)]
        known = {said.text for said in self.discarded}
        assert all(said.text in known for said in after[len(unchanged) :])
        self.discarded += before[len(unchanged) :]
        self.active = after

    @rule()
    def incognito(self) -> None:
        if self.chat.incognito:
            self.chat.incognito = False
            assert self.public is not None
            self.active, self.public = self.public, None
        else:
            self.chat.incognito = True
            self.public = list(self.active)

    @precondition(lambda self: self.public is None and (self.active or self.other_sessions or self.discarded))
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        line = data.draw(st.sampled_from([*self.active, *self.other_sessions, *self.discarded, *self.retracted]))
        receipt = self.chat.forget(line.seq)
        assert receipt is not None
        self.forgotten.append(line.text)
        for lines in (self.active, self.other_sessions, self.discarded, self.retracted):
            lines[:] = [said for said in lines if said.text != line.text]

    @rule(remember=st.sampled_from([True, False, None]))
    def end(self, remember: bool | None) -> None:
        active = self.active if self.public is None else self.public
        before = self.chat.session
        record = {line.text for line in self.memory.lines(Filter(session=before), include_retracted=True)}
        ending = self.chat.end(remember)
        if remember is None and active:
            assert ending.remembered is None
            assert self.chat.session == before
            return
        if remember is False:
            self.forgotten += record
            self.retracted = [said for said in self.retracted if said.text not in record]
        else:
            self.other_sessions += active
            self.retracted += self.discarded
        self.begun()
        assert ending.remembered is (remember is True and bool(active))

    def begun(self) -> None:
        self.active, self.discarded = [], []
        if self.public is not None:
            self.public = []

    @rule(hours=st.sampled_from([0.2, 3.0, 50.0]))
    def reopen(self, hours: float) -> None:
        if self.public is not None:
            self.active, self.public = self.public, None
        session = self.chat.session
        self.chat.close()
        self.now += timedelta(hours=hours)
        stored_session = next((stored for stored in self.memory.sessions() if stored.id == session), None)
        self.open()
        if stored_session is None or self.now - stored_session.last_at > SESSION_GAP:
            self.other_sessions += self.active
            self.retracted += self.discarded
            self.begun()
        else:
            assert self.chat.session == session

    @rule(minutes=st.integers(-3, 50))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule()
    def settle(self) -> None:
        assert self.chat.wait(120)

    # -------------------------------------------------------------- what must hold

    def prompt(self) -> str:
        last = self.chat.last_reply
        assert last is not None
        assert last.prompt is not None
        return "\n".join(message.content for message in last.prompt.messages)

    @invariant()
    def the_active_lines_are_those_of_the_model(self) -> None:
        if not hasattr(self, "chat"):
            return
        assert [(line.seq, line.text) for line in self.chat.lines] == [(said.seq, said.text) for said in self.active]

    @invariant()
    def the_bank_holds_what_was_acknowledged_and_nothing_else(self) -> None:
        active = self.active if self.public is None else self.public
        standing = sorted((said.seq, said.text) for said in [*active, *self.other_sessions])
        assert sorted((line.seq, line.text) for line in self.memory.lines()) == standing
        every = {line.text for line in self.memory.lines(include_retracted=True)}
        assert {said.text for said in [*active, *self.other_sessions, *self.discarded, *self.retracted]} == every

    @invariant()
    def discarded_text_is_recalled_nowhere(self) -> None:
        current_texts = {said.text for said in [*self.active, *(self.public or []), *self.other_sessions]}
        discarded_texts = {said.text for said in [*self.discarded, *self.retracted]} - current_texts
        recalled = self.memory.context("What did Mia say of the yellow boat?", 5000, gate=False).text
        units = "\n".join(unit.text for unit in self.memory.units())
        for text in discarded_texts:
            assert text.split()[0] not in recalled
            assert text.split()[0] not in units

    @invariant()
    def every_prompt_is_sound(self) -> None:
        while self.llm.prompts:
            messages = self.llm.prompts.pop()
            self.sound(messages)
            prompt = "\n".join(message.content for message in messages)
            current_texts = {said.text for said in [*self.active, *(self.public or []), *self.other_sessions]}
            discarded_texts = {said.text for said in [*self.discarded, *self.retracted]} - current_texts
            assert not any(text.split()[0] in prompt for text in self.forgotten)
            assert not any(text.split()[0] in prompt for text in discarded_texts)

    def sound(self, messages: tuple[Message, ...]) -> None:
        roles = [message.role for message in messages]
        assert roles[0] == "system"
        assert roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]
        assert self.chat.last_reply is not None
        assert self.chat.last_reply.prompt is not None
        assert self.chat.last_reply.prompt.tokens <= CONTEXT - REPLY

    @invariant()
    def no_file_contains_private_or_forgotten_text(self) -> None:
        stored_bytes = b"".join(path.read_bytes() for path in Path(self.folder.name).rglob("*") if path.is_file())
        for text in [*self.private, *self.forgotten]:
            assert text.split()[0].encode() not in stored_bytes


Talking.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestTalking = Talking.TestCase
