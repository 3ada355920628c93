"""Resent histories against a simple model of a client: the current lines are those that it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from everthread import Filter, Line, Memory
from everthread.bank.corrections import sort_by_position
from everthread.common.keys import META_UNDATED, SETTING_PINNED
from everthread.server.proxy import lineage as lineage_module
from everthread.server.proxy.lineage import Lineage
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.session_finder import MAX_CANDIDATE_SESSIONS
from everthread.server.proxy.turn import Turn
from everthread.testing import HashEmbedder

CLIENTS, ACTS = 25, 30
TEMPLATE = "### Task: answer from the context.\n<context>The ferry sails at nine.</context>\n"


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def bot(text: str) -> ChatMessage:
    return ChatMessage("assistant", text)


def current_lines(memory: Memory, session: str) -> list[Line]:
    return sort_by_position(list(memory.lines(Filter(session=session))))


def texts(memory: Memory, turn: Turn) -> list[str]:
    """Return the texts of the current lines of a turn's session."""
    return [line.text for line in current_lines(memory, turn.line.session)]


@pytest.fixture
def lineage(memory: Memory) -> Lineage:
    return Lineage(memory)


def say(lineage: Lineage, history: list[ChatMessage], text: str, reply: str, session: str | None = None) -> Turn:
    """Send a message after a history, and store the reply to it; both are added to the history."""
    history.append(user(text))
    turn = lineage.begin(list(history), session)
    if reply:
        lineage.finish(turn, reply)
        history.append(bot(reply))
    return turn


@pytest.fixture
def history(lineage: Lineage) -> list[ChatMessage]:
    """Return a history of three turns that is stored."""
    history: list[ChatMessage] = []
    for number in (1, 2, 3):
        say(lineage, history, f"Question {number}?", f"Answer {number}.")
    return history


# ------------------------------------------------------- histories that the upstream has


def named(message_id: str) -> ChatMessage:
    """Return a message that only names a reply."""
    return ChatMessage("assistant", "", metadata={"message_id": message_id})


def ask(lineage: Lineage, text: str, reply: str, response: str, previous: str = "", session: str | None = None) -> Turn:
    """Send a message after a response, and store the reply to it."""
    turn = lineage.resume([user(text)], previous, session)
    assert turn is not None
    lineage.finish(turn, reply, metadata={"response": response, "message_id": response.replace("resp", "msg")})
    return turn


@pytest.fixture(params=["the same process", "another process"])
def restart(request: pytest.FixtureRequest) -> Callable[[Lineage], Lineage]:
    """Return a function that returns the lineage itself, or a new one of the same bank."""
    return (lambda lineage: lineage) if request.param == "the same process" else (lambda each: Lineage(each.memory))


@pytest.fixture
def chain(lineage: Lineage) -> Lineage:
    """Return a lineage with a conversation of three responses."""
    for number in (1, 2, 3):
        previous = f"resp_{number - 1}" if number > 1 else ""
        ask(lineage, f"Question {number}?", f"Answer {number}.", f"resp_{number}", previous)
    return lineage


def test_a_response_is_continued_in_its_session(chain: Lineage, restart: Callable[[Lineage], Lineage]) -> None:
    lineage = restart(chain)
    turn = ask(lineage, "Question 4?", "Answer 4.", "resp_4", "resp_3")
    expected = [text for number in (1, 2, 3, 4) for text in (f"Question {number}?", f"Answer {number}.")]
    assert texts(lineage.memory, turn) == expected
    assert turn.in_request == {line.seq for line in current_lines(lineage.memory, turn.line.session)[:-1]}


@pytest.mark.parametrize(("response", "session"), [("", "desk"), ("resp_3", None)])
def test_several_new_messages_are_stored_once_until_they_are_answered(
    chain: Lineage, response: str, session: str | None
) -> None:
    messages = [user("I met Mia."), user("What do you think?")]
    turns = [chain.resume(messages, response, session) for _ in range(3)]
    assert turns[0] is not None
    assert turns[0] == turns[1] == turns[2]
    assert texts(chain.memory, turns[0])[-2:] == ["I met Mia.", "What do you think?"]
    chain.finish(turns[0], "Nice", partial=True)
    again = chain.resume(messages, response, session)
    assert again is not None
    chain.finish(again, "Nice.")
    assert texts(chain.memory, again)[-3:] == ["I met Mia.", "What do you think?", "Nice."]
    assert chain.memory.stats().retracted == 1  # the partial reply


def test_a_response_of_a_deleted_bank_is_not_continued(memory: Memory, lineage: Lineage) -> None:
    first = ask(lineage, "Question 1?", "", "resp_1")
    memory.forget(everything=True)
    ask(lineage, "Question 2?", "Answer 2.", "resp_2", session="desk")
    turn = ask(lineage, "Question 3?", "Answer 3.", "resp_3", "resp_1")
    assert texts(memory, turn) == ["Question 3?", "Answer 3."]
    assert turn.line.session not in (first.line.session, "desk")


def test_of_several_new_messages_those_before_an_edited_one_stay(chain: Lineage) -> None:
    first = chain.resume([user("I met Mia."), user("What do you think?")], "resp_3")
    second = chain.resume([user("I met Mia."), user("Is she nice?")], "resp_3")
    assert first is not None
    assert second is not None
    assert texts(chain.memory, second)[-2:] == ["I met Mia.", "Is she nice?"]
    assert chain.memory.stats().retracted == 1
    assert second.line.parent == first.line.parent


def test_what_follows_a_response_that_is_continued_is_discarded(
    chain: Lineage, restart: Callable[[Lineage], Lineage]
) -> None:
    lineage = restart(chain)
    turn = ask(lineage, "Another?", "Another answer.", "resp_4", "resp_1")
    assert texts(lineage.memory, turn) == ["Question 1?", "Answer 1.", "Another?", "Another answer."]
    back = ask(restart(lineage), "Question 4?", "Answer 4.", "resp_5", "resp_3")
    assert back.line.session == turn.line.session
    expected = [text for number in (1, 2, 3, 4) for text in (f"Question {number}?", f"Answer {number}.")]
    assert texts(lineage.memory, back) == expected


def test_another_reply_to_the_same_message_replaces_the_first(chain: Lineage) -> None:
    turn = ask(chain, "Question 3?", "Other answer.", "resp_4", "resp_2")
    assert texts(chain.memory, turn)[-2:] == ["Question 3?", "Other answer."]
    turn = ask(chain, "Question 4?", "Answer 4.", "resp_5", "resp_3")
    assert texts(chain.memory, turn)[-4:] == ["Question 3?", "Answer 3.", "Question 4?", "Answer 4."]


def test_results_of_tools_continue_the_turn_of_a_response_without_words(
    lineage: Lineage, restart: Callable[[Lineage], Lineage]
) -> None:
    ask(lineage, "Question 1?", "", "resp_1")
    for reply, response in (("", "resp_2"), ("Let me see.", "resp_3"), ("Answer 1.", "resp_4")):
        lineage = restart(lineage)
        turn = lineage.resume([], f"resp_{int(response[-1]) - 1}")
        assert turn is not None
        assert turn.line.text == "Question 1?"
        lineage.finish(turn, reply, partial=response != "resp_4", metadata={"response": response})
    turn = ask(lineage, "Question 2?", "Answer 2.", "resp_5", "resp_4")
    assert texts(lineage.memory, turn) == ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."]


def test_a_reply_that_was_never_read_leaves_its_message_in_the_session(
    lineage: Lineage, restart: Callable[[Lineage], Lineage]
) -> None:
    ask(lineage, "Question 1?", "", "resp_1")
    turn = ask(restart(lineage), "Question 2?", "Answer 2.", "resp_2", "resp_1")
    assert texts(lineage.memory, turn) == ["Question 1?", "Question 2?", "Answer 2."]


def test_results_of_tools_for_a_discarded_turn_do_not_bring_it_back(chain: Lineage) -> None:
    turn = chain.resume([], "resp_3")
    assert turn is not None
    edited = ask(chain, "Edited?", "Edited answer.", "resp_4", "resp_2")
    late = chain.resume([], "resp_3")
    assert late is not None
    chain.finish(late, "Too late.", metadata={"response": "resp_5"})
    assert texts(chain.memory, edited)[-2:] == ["Edited?", "Edited answer."]
    turn = ask(chain, "Question 4?", "Answer 4.", "resp_6", "resp_5")
    assert texts(chain.memory, turn)[-4:] == ["Question 3?", "Too late.", "Question 4?", "Answer 4."]


def test_an_unknown_response_begins_a_session_and_its_results_of_tools_are_of_no_turn(lineage: Lineage) -> None:
    assert lineage.resume([], "resp_0") is None
    first = ask(lineage, "Question 1?", "Answer 1.", "resp_1", "resp_0")
    assert texts(lineage.memory, first) == ["Question 1?", "Answer 1."]
    assert ask(lineage, "Question 1?", "Answer 1.", "resp_2", "resp_00").line.session != first.line.session
    turn = ask(lineage, "Question 2?", "Answer 2.", "resp_3", "resp_1")
    assert texts(lineage.memory, turn) == ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."]


def test_a_named_conversation_is_continued_at_its_end(lineage: Lineage) -> None:
    for number in (1, 2):
        ask(lineage, "Yes.", f"Answer {number}.", f"resp_{number}", session="conv")
    turn = lineage.resume([], session="conv")
    assert turn is not None
    assert (turn.line.text, len(turn.replaces)) == ("Yes.", 1)
    assert texts(lineage.memory, turn) == ["Yes.", "Answer 1.", "Yes.", "Answer 2."]
    other = ask(lineage, "Elsewhere.", "Answer 3.", "resp_3", "resp_1", session="other")
    assert texts(lineage.memory, other) == ["Elsewhere.", "Answer 3."]


def test_a_message_to_a_conversation_that_is_sent_again_is_stored_once(lineage: Lineage) -> None:
    for reply in ("", "", "Hel"):
        turn = lineage.resume([user("Hi.")], session="conv")
        assert turn is not None
        lineage.finish(turn, reply, partial=True)
    turn = ask(lineage, "Hi.", "Hello.", "resp_1", session="conv")
    assert texts(lineage.memory, turn) == ["Hi.", "Hello."]


def test_a_line_that_was_corrected_or_removed_by_hand_stays_so(chain: Lineage) -> None:
    lines = current_lines(chain.memory, next(chain.memory.lines()).session)
    chain.memory.correct(lines[-1].seq, "Answer three.")
    turn = ask(chain, "Question 4?", "Answer 4.", "resp_4", "resp_3")
    assert texts(chain.memory, turn)[-3:] == ["Answer three.", "Question 4?", "Answer 4."]
    chain.memory.retract(lines[3].seq)
    turn = ask(chain, "Other?", "Other answer.", "resp_5", "resp_2")
    assert texts(chain.memory, turn)[-3:] == ["Question 2?", "Other?", "Other answer."]


def test_a_forgotten_turn_is_not_stored_again_by_what_continues_it(
    chain: Lineage, restart: Callable[[Lineage], Lineage]
) -> None:
    lines = current_lines(chain.memory, next(chain.memory.lines()).session)
    begun = chain.resume([], "resp_3")
    assert begun is not None
    for line in lines[-2:]:
        chain.memory.forget(seq=line.seq)
    assert chain.finish(begun, "Too late.") is None
    lineage = restart(chain)
    history = [each for number in (1, 2, 3) for each in (user(f"Question {number}?"), named(f"msg_{number}"))]
    for turn in (lineage.resume([user("And?")], "resp_3"), lineage.begin([*history[:-2], history[-1], user("And?")])):
        assert turn is not None
        assert not any("3" in line.text for line in chain.memory.lines(include_retracted=True))
        assert turn.line.text == "And?"


def test_replies_that_are_only_named_are_those_of_the_bank(
    chain: Lineage, restart: Callable[[Lineage], Lineage]
) -> None:
    lineage, first = restart(chain), next(chain.memory.lines()).session
    history = [user("Question 1?"), named("msg_1"), user("Question 2?"), named("msg_2")]
    turn = lineage.begin([*history, user("Question 3?")])
    assert turn.line.session == first
    assert len(turn.replaces) == 1
    turn = lineage.begin([*history, named("msg_unknown"), user("Edited?")])
    assert texts(lineage.memory, turn)[-3:] == ["Question 2?", "Answer 2.", "Edited?"]
    turn = lineage.begin([user("New?"), named("msg_unknown"), user("Well?")])
    assert texts(lineage.memory, turn) == ["New?", "Well?"]
    assert turn.line.session != first


@pytest.mark.parametrize("seed", range(8))
def test_the_current_lines_are_those_that_lead_to_the_latest_response(memory: Memory, seed: int) -> None:
    lineage, random = Lineage(memory), Random(seed)
    paths: dict[str, list[str]] = {"": []}  # by response, what was said up to it
    wordless: set[str] = set()
    for number in range(30):
        if random.random() < 0.2:
            lineage = Lineage(memory)
        previous = random.choice([*paths, *[list(paths)[-1]] * len(paths)])
        response, texts_said = f"resp_{number}", paths[previous]
        if previous != f"resp_{number - 1}" or previous in wordless or random.random() < 0.7:
            said = random.choice(["Yes.", f"Message {number}."]) if previous else f"Beginning {number}."
            turn = lineage.resume([user(said)], previous)
            texts_said = [*texts_said, said]
        else:
            turn, texts_said = lineage.resume([], previous), texts_said[:-1]
        assert turn is not None
        reply = random.choice(["Indeed.", f"Reply {number}.", ""])
        lineage.finish(turn, reply, metadata={"response": response, "message_id": f"msg_{number}"})
        paths[response] = [*texts_said, *filter(None, [reply])]
        wordless |= set() if reply else {response}
        if reply:  # otherwise an earlier reply to the same message stays
            assert texts(memory, turn) == paths[response], f"{response} after {previous}"


# ------------------------------------------------------------------- simulated clients


@dataclass
class Client:
    """A front end that holds one conversation and resends it."""

    lineage: Lineage
    random: Random
    number: int
    messages: list[ChatMessage] = field(default_factory=list)
    trimmed: int = 0  # messages at the beginning that are no longer sent
    said: int = 0
    session: str = ""
    other_tab: list[ChatMessage] | None = None

    def new_text(self, kind: str) -> str:
        self.said += 1
        return f"{kind} {self.said} of client {self.number}, {self.random.choice(['ferns', 'ferries', 'kites'])}"

    def send(self, sent: list[ChatMessage] | None = None) -> None:
        """Send the conversation, whose last message is the person's, and add the reply."""
        turn = self.lineage.begin((sent or self.messages)[self.trimmed :])
        assert self.session in ("", turn.line.session), "the session was not recognised"
        self.session = turn.line.session
        reply = self.new_text("Reply")
        self.lineage.finish(turn, reply)
        self.messages.append(bot(reply))

    def say(self) -> None:
        self.messages.append(user(self.new_text("Message")))
        self.send()

    def mangle(self) -> None:
        """Send the newest message in a template; it is resent without."""
        if not self.messages:
            return
        self.messages.append(user(self.new_text("Message")))
        self.send([*self.messages[:-1], user(TEMPLATE + self.messages[-1].text)])

    def regenerate(self) -> None:
        if self.messages:
            self.messages.pop()
            self.send()

    def edit(self) -> None:
        """Change a message of the person, and discard everything after it."""
        positions = [at for at, each in enumerate(self.messages) if each.role == "user" and at > self.trimmed + 1]
        if positions:
            del self.messages[self.random.choice(positions) :]
            self.say()

    def undo(self) -> None:
        if len(self.messages) - self.trimmed > 4:
            del self.messages[-2:]
            self.say()

    def edit_silently(self) -> None:
        """Change a message without asking for a reply; the next request shows it."""
        if len(self.messages) - self.trimmed > 6:
            at = self.random.randrange(self.trimmed, len(self.messages) - 2)
            self.messages[at] = ChatMessage(self.messages[at].role, self.new_text("Changed"))
            self.say()

    def edit_reply(self) -> None:
        if len(self.messages) - self.trimmed > 4:
            self.messages[-1] = bot(self.new_text("Changed"))
            self.say()

    def swipe(self) -> None:
        """Regenerate a reply, and go back to the first one."""
        if self.messages:
            before = list(self.messages)
            self.regenerate()
            self.messages = before
            self.say()

    def trim(self) -> None:
        if len(self.messages) - self.trimmed > 8:
            self.trimmed += 2

    def switch_tab(self) -> None:
        """Continue in another tab, which still shows an earlier state; then it is the other way round."""
        if self.other_tab is None or len(self.other_tab) - self.trimmed < 4:
            self.other_tab = list(self.messages)
            return
        self.messages, self.other_tab = self.other_tab, list(self.messages)
        self.say()

    def check(self) -> None:
        """Check that the bank ends with the messages that the client sends."""
        shown = [message.text for message in self.messages[self.trimmed :]]
        lines = current_lines(self.lineage.memory, self.session)[-len(shown) :] if shown else []
        assert [line.text.removeprefix(TEMPLATE) for line in lines] == shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_bank_has_what_its_clients_show(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        lineage = Lineage(memory)
        clients = [Client(lineage, random, number) for number in range(CLIENTS // 5)]
        for _ in range(ACTS):
            for client in clients:
                acts: list[Callable[[], None]] = [
                    *[client.say] * 3,
                    *(client.mangle, client.regenerate, client.edit, client.undo, client.edit_silently),
                    *(client.edit_reply, client.swipe, client.trim, client.switch_tab),
                ]
                random.choice(acts)()
                client.check()


# ----------------------------------------------------------------------- single rules


def test_the_continuation_of_the_last_reply_corrects_it(lineage: Lineage, history: list[ChatMessage]) -> None:
    line = lineage.extend_reply(history, "Answer 3. And more.")
    assert line is not None
    assert [each.text for each in current_lines(lineage.memory, line.session)][-1] == "Answer 3. And more."
    history[-1] = bot("Answer 3. And more.")
    turn = say(lineage, history, "Question 4?", "Answer 4.")
    assert texts(lineage.memory, turn) == [message.text for message in history]


def test_the_continuation_of_a_reply_after_a_name_corrects_it(memory: Memory, lineage: Lineage) -> None:
    history: list[ChatMessage] = []
    turn = say(lineage, history, "What is in the basket?", "Figs and dates, and")
    assert lineage.extend_reply([history[0], bot("Luna: Figs and dates, and")], "Luna: Figs and dates, and a note.")
    assert texts(memory, turn) == ["What is in the basket?", "Luna: Figs and dates, and a note."]


def test_a_reply_that_is_not_the_last_or_not_stored_has_no_continuation(
    lineage: Lineage, history: list[ChatMessage]
) -> None:
    stored = len(list(lineage.memory.lines()))
    assert lineage.extend_reply(history[:-2], "Answer 2. And more.") is None
    assert lineage.extend_reply([*history, user("Hm?"), bot("Sure,")], "Sure, why not.") is None
    assert lineage.extend_reply([user("Hi."), bot("Never said.")], "Never said. Or was it?") is None
    assert len(list(lineage.memory.lines(include_retracted=True))) == stored


def test_the_newest_message_is_stored_before_the_reply(memory: Memory, lineage: Lineage) -> None:
    turn = lineage.begin([user("My sister moved to Lisbon.")])
    assert [line.text for line in memory.lines()] == ["My sister moved to Lisbon."]
    line = lineage.finish(turn, "How nice!", metadata={"model": "m"})
    assert line is not None
    assert (line.parent, line.role, line.metadata) == (turn.line.seq, "assistant", {"model": "m"})


def test_a_blank_reply_is_not_stored(memory: Memory, lineage: Lineage) -> None:
    assert lineage.finish(lineage.begin([user("Hello")]), " \n") is None
    assert memory.stats().lines == 1


def test_a_repeated_request_stores_nothing_until_it_is_answered(memory: Memory, lineage: Lineage) -> None:
    first, again = lineage.begin([user("Hello")]), lineage.begin([user("Hello")])
    assert first == again
    lineage.finish(again, "Hi.")
    assert texts(memory, first) == ["Hello", "Hi."]


def test_an_opening_that_is_sent_again_gets_another_reply(memory: Memory, lineage: Lineage) -> None:
    first = say(lineage, [], "Hello", "Hi.")
    second = say(lineage, [], "Hello", "Good morning.")
    assert first.line == second.line
    assert texts(memory, second) == ["Hello", "Good morning."]


def test_conversations_that_begin_alike_stay_apart(memory: Memory, lineage: Lineage) -> None:
    one: list[ChatMessage] = []
    two: list[ChatMessage] = []
    say(lineage, one, "Hello", "Hi.")
    say(lineage, one, "Who are you?", "A bot.")
    say(lineage, two, "Hello", "Good morning.")
    first, second = say(lineage, one, "And you?", "Fine."), say(lineage, two, "And you?", "Well.")
    assert texts(memory, first) == ["Hello", "Hi.", "Who are you?", "A bot.", "And you?", "Fine."]
    assert texts(memory, second) == ["Hello", "Good morning.", "And you?", "Well."]


@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restarted"])
def test_conversations_that_begin_alike_at_the_same_time_discard_nothing_of_each_other(
    memory: Memory, lineage: Lineage, restarts: bool
) -> None:
    one: list[ChatMessage] = []
    two: list[ChatMessage] = []
    say(lineage, one, "Hi!", "Hello.")
    say(lineage, two, "Hi!", "Good morning.")
    for number in (1, 2, 3):
        lineage = Lineage(memory) if restarts else lineage
        first = say(lineage, one, f"Question {number}?", f"Answer {number}.")
        second = say(lineage, two, f"Request {number}.", f"Done {number}.")
    assert texts(memory, first) == [message.text for message in one]
    assert texts(memory, second) == [message.text for message in two]
    assert not any(META_UNDATED in line.metadata for line in memory.lines())
    turn = say(lineage, two[:2], "Another request.", "Done.")
    assert texts(memory, turn) == ["Hi!", "Good morning.", "Another request.", "Done."]
    assert texts(memory, first) == [message.text for message in one]


@pytest.mark.parametrize("reply", ["Hello {}.", "Hello."])
def test_conversations_of_different_people_that_begin_alike_stay_apart(
    memory: Memory, lineage: Lineage, reply: str
) -> None:
    histories: dict[str, list[ChatMessage]] = {"Ann": [], "Ben": []}
    turns: dict[str, Turn] = {}
    for number in range(3):
        for name, history in histories.items():
            history.append(by(name, f"{name} {number}." if number else "Hi!"))
            turns[name] = lineage.begin(list(history))
            history.append(bot(reply.format(f"{name} {number}")))
            lineage.finish(turns[name], history[-1].text)
    for name, history in histories.items():
        assert texts(memory, turns[name]) == [message.text for message in history]
    assert memory.stats().retracted == 0


def test_conversations_with_the_same_opening_and_reply_are_distinguished_by_what_follows(
    memory: Memory, lineage: Lineage
) -> None:
    one: list[ChatMessage] = []
    two: list[ChatMessage] = []
    for text in ("Hello", "I am allergic to nuts."):
        say(lineage, one, text, "All right.")
    for text in ("Hello", "I live in Rome."):
        second = say(lineage, two, text, "All right.")
    first = say(lineage, one, "And I have a cat.", "All right.")
    assert texts(memory, first) == [message.text for message in one]
    assert texts(memory, second) == [message.text for message in two]


def test_a_new_conversation_is_compared_with_few_that_begin_alike(
    memory: Memory, lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        history: list[ChatMessage] = []
        for text in ("Hello", "Who are you?"):
            say(lineage, history, text, f"{text} {number}.", f"chat {number}")
    read: list[str] = []
    filter_seqs = memory.store.filter_seqs

    def count(*given: Any) -> Any:
        read.append("session")
        return filter_seqs(*given)

    monkeypatch.setattr(memory.store, "filter_seqs", count)
    assert lineage.preview([user("Hello")]) == (None, frozenset())
    assert len(read) <= MAX_CANDIDATE_SESSIONS + 1  # and the new one


@pytest.mark.parametrize(
    "opening",
    [[bot("Welcome to the inn!")], [user("Cat?"), bot("Chat."), user("Dog?"), bot("Chien.")]],
    ids=["greeting", "examples"],
)
def test_conversations_with_the_same_greeting_or_examples_stay_apart(
    memory: Memory, lineage: Lineage, opening: list[ChatMessage]
) -> None:
    one, two = list(opening), list(opening)
    say(lineage, one, "A room, please.", "Upstairs.")
    first = say(lineage, one, "Thanks.", "Sleep well.")
    second = say(lineage, two, "An ale, please.", "Here.")
    assert texts(memory, first) == [message.text for message in one]
    assert texts(memory, second) == [message.text for message in two]
    again = lineage.begin(two[:-1])
    assert again.line == second.line, "its only reply is regenerated"
    assert texts(memory, say(lineage, one, "Good morning.", "Breakfast?")) == [message.text for message in one]


def test_an_edited_message_discards_those_after_it(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    turn = say(lineage, history[:2], "Another question?", "Another answer.")
    assert texts(memory, turn) == ["Question 1?", "Answer 1.", "Another question?", "Another answer."]


def test_a_regenerated_reply_replaces_the_old_one_when_it_is_there(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    turn = lineage.begin(history[:-1])
    assert texts(memory, turn)[-2:] == ["Question 3?", "Answer 3."]
    lineage.finish(turn, "A better answer.")
    assert texts(memory, turn)[-2:] == ["Question 3?", "A better answer."]


@pytest.mark.parametrize("session", [None, "named"])
def test_equal_replies_are_distinguished_by_the_messages_before_them(
    memory: Memory, lineage: Lineage, session: str | None
) -> None:
    history: list[ChatMessage] = []
    for number in (1, 2, 3):
        say(lineage, history, f"Question {number}?", "Sorry?", session)
    for shown, number in ((4, 3), (2, 2)):  # the last reply is regenerated, then the one before it
        turn = say(lineage, history[:shown], f"Question {number}?", "Sorry?", session)
        expected = [text for each in range(1, number + 1) for text in (f"Question {each}?", "Sorry?")]
        assert texts(memory, turn) == expected


def test_a_reply_that_comes_back_is_current_again(memory: Memory, lineage: Lineage, history: list[ChatMessage]) -> None:
    lineage.finish(lineage.begin(history[:-1]), "Another answer.")
    turn = say(lineage, history, "Question 4?", "Answer 4.")
    assert texts(memory, turn)[4:] == ["Question 3?", "Answer 3.", "Question 4?", "Answer 4."]
    assert sum(line.text == "Answer 3." for line in memory.lines()) == 1


def test_a_forgotten_reply_does_not_come_back_from_the_cache(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    lineage.finish(lineage.begin(history[:-1]), "Another answer.")
    memory.forget(seq=6)
    lineage.begin([*history, user("Question 4?")])
    assert "Answer 3." not in [line.text for line in memory.lines(include_retracted=True)]


@pytest.mark.parametrize(
    ("first", "beginning", "last"),
    [
        (0, [], 2),
        (0, [user("In short: six questions.")], 4),
        (0, [user("Summarise what we said."), bot("In short: six questions.")], 4),
        (0, [user("In short: six questions."), bot("I see.")], 2),
        (1, [], 4),
        (2, [], 4),
        (4, [], 2),
        (2, [user("In short: six questions."), bot("I see.")], 4),
        (4, [user("In short: six questions.")], 2),
    ],
)
@pytest.mark.parametrize("session", [None, "named"])
def test_a_client_that_leaves_out_or_sums_up_what_was_said_changes_nothing(
    memory: Memory, lineage: Lineage, session: str | None, first: int, beginning: list[ChatMessage], last: int
) -> None:
    history: list[ChatMessage] = []
    for number in range(1, 7):
        say(lineage, history, f"Question {number}?", f"Answer {number}.", session)
    expected = [message.text for message in history]
    sent = [*history[:first], *beginning, *history[-last:]]
    for number in (7, 8):
        turn = say(lineage, sent, f"Question {number}?", f"Answer {number}.", session)
        expected += [f"Question {number}?", f"Answer {number}."]
        assert texts(memory, turn) == expected
        left_out = {line.seq for line in current_lines(memory, turn.line.session)[first : -2 - last]}
        assert not turn.in_request & left_out  # they can be recalled
        last += 2
    assert not [line for line in memory.lines(include_retracted=True) if line.retracted_at is not None]


@pytest.mark.parametrize("first", [0, 2])
def test_what_was_said_outside_the_proxy_is_stored_although_it_ends_with_a_known_reply(
    memory: Memory, lineage: Lineage, first: int
) -> None:
    history: list[ChatMessage] = []
    for question, answer in (("Question 1?", "Answer 1."), ("Question 2?", "Answer 2."), ("Thanks", "You're welcome!")):
        say(lineage, history, question, answer)
    elsewhere = [user("I had an accident."), bot("Were you hurt?"), user("Only a bruise."), bot("You're welcome!")]
    turn = say(lineage, [*history[:first], *elsewhere], "My doctor is Dr. Lee.", "Noted.")
    assert texts(memory, turn)[-6:-3] == ["I had an accident.", "Were you hurt?", "Only a bruise."]


def test_a_silently_changed_message_is_corrected(memory: Memory, lineage: Lineage, history: list[ChatMessage]) -> None:
    memory.store.set_setting("alice", "pinned", [2])
    history[1] = bot("A corrected answer.")
    turn = say(lineage, history, "Question 4?", "Answer 4.")
    assert texts(memory, turn)[:3] == ["Question 1?", "A corrected answer.", "Question 2?"]
    assert memory.settings()["pinned"] == [7]


def test_many_silently_changed_messages_are_corrected_at_once(
    memory: Memory, lineage: Lineage, history: list[ChatMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[str] = []
    append = memory.store.append

    def count(*given: Any, **options: Any) -> list[Line]:
        writes.append("append")
        return append(*given, **options)

    for number in range(4, 20):
        say(lineage, history, f"Question {number}?", f"Answer {number}.")
    pinned = next(line.seq for line in memory.lines() if line.text == "Answer 5.")
    memory.set_setting(SETTING_PINNED, [pinned])
    for place, message in enumerate(history[:-2]):
        history[place] = message._replace(text=message.text.replace("Answer", "My answer to").replace("?", ", please?"))
    shown = [message.text for message in history]
    monkeypatch.setattr(memory.store, "append", count)
    turn = say(lineage, history, "And now?", "")
    assert texts(memory, turn) == [*shown, "And now?"]
    assert len(writes) == 3  # the pinned line, the others, and the newest message
    kept = memory.get(memory.settings()[SETTING_PINNED][0])  # type: ignore[index, arg-type]
    assert kept is not None
    assert kept.text == "My answer to 5."


def test_two_replies_at_once_are_both_stored(memory: Memory, lineage: Lineage) -> None:
    history: list[ChatMessage] = []
    first = lineage.begin([user("Hello")])
    second = lineage.begin([user("Hello")])
    lineage.finish(first, "Hi.")
    other = lineage.finish(second, "Good morning.")
    assert other is not None
    assert other.retracted_at is not None
    history += [user("Hello"), bot("Good morning.")]
    turn = say(lineage, history, "How are you?", "Fine.")
    assert texts(memory, turn) == ["Hello", "Good morning.", "How are you?", "Fine."]


@pytest.fixture
def overlapping(lineage: Lineage) -> tuple[Turn, Turn]:
    """Return two turns after a stored one, the second of which was begun and answered before the first had a reply."""
    start = [user("Hello"), bot("Hi.")]
    say(lineage, [], "Hello", "Hi.")
    first = lineage.begin([*start, user("My cat is called Pixel.")])
    second = lineage.begin([*start, user("My cat is called Pixel."), user("My dog is called Rex.")])
    lineage.finish(second, "What a dog!")
    lineage.finish(first, "What a cat!")
    return first, second


OVERLAPPING = ["My cat is called Pixel.", "My dog is called Rex.", "What a dog!", "What a cat!"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 1, 3, 2)], ids=["arrival", "nested", "grouped"])
@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restarted"])
def test_a_message_sent_before_the_last_reply_came_discards_nothing(
    memory: Memory, lineage: Lineage, overlapping: tuple[Turn, Turn], order: tuple[int, ...], restarts: bool
) -> None:
    lineage = Lineage(memory) if restarts else lineage
    assert texts(memory, overlapping[0]) == ["Hello", "Hi.", *OVERLAPPING]
    said = [user(text) if "called" in text else bot(text) for text in (OVERLAPPING[place] for place in order)]
    history = [user("Hello"), bot("Hi."), *said]
    for number in (1, 2):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    follows = ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."]
    assert texts(memory, turn) == ["Hello", "Hi.", *OVERLAPPING, *follows]
    assert memory.stats().retracted == 0
    assert not any(META_UNDATED in line.metadata for line in memory.lines())
    turn = say(lineage, history[:-2], "Another question?", "Another answer.")
    assert texts(memory, turn) == ["Hello", "Hi.", *OVERLAPPING, *follows[:2], "Another question?", "Another answer."]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 1, 3, 2)], ids=["arrival", "nested", "grouped"])
def test_the_first_messages_of_a_conversation_may_overlap(
    memory: Memory, lineage: Lineage, order: tuple[int, ...]
) -> None:
    first = lineage.begin([user(OVERLAPPING[0])])
    second = lineage.begin([user(OVERLAPPING[0]), user(OVERLAPPING[1])])
    assert first.line.session == second.line.session
    lineage.finish(second, OVERLAPPING[2])
    lineage.finish(first, OVERLAPPING[3])
    history = [user(text) if "called" in text else bot(text) for text in (OVERLAPPING[place] for place in order)]
    turn = say(lineage, history, "Thanks.", "You're welcome.")
    assert texts(memory, turn) == [*OVERLAPPING, "Thanks.", "You're welcome."]
    assert memory.stats().retracted == 0


def test_an_edit_after_overlapping_messages_discards_only_what_followed(
    memory: Memory, lineage: Lineage, overlapping: tuple[Turn, Turn]
) -> None:
    cat, dog, about_dog, about_cat = OVERLAPPING
    history = [user("Hello"), bot("Hi."), user(cat), bot(about_cat), user(dog), bot(about_dog)]
    lineage.finish(lineage.begin(history[:-1]), "A fine dog!")
    assert texts(memory, overlapping[0]) == ["Hello", "Hi.", cat, dog, about_cat, "A fine dog!"]
    turn = say(lineage, history[:4], "My fish is called Bubble.", "What a fish!")
    assert texts(memory, turn) == ["Hello", "Hi.", cat, about_cat, "My fish is called Bubble.", "What a fish!"]


def test_a_message_that_is_sent_again_after_the_next_one_discards_nothing(memory: Memory, lineage: Lineage) -> None:
    first = lineage.begin([user("My cat is called Pixel.")])
    lineage.finish(lineage.begin([user("My cat is called Pixel."), user("And my dog?")]), "Rex?")
    again = lineage.begin([user("My cat is called Pixel.")])
    assert again.line == first.line
    lineage.finish(again, "What a cat!")
    assert texts(memory, again) == ["My cat is called Pixel.", "And my dog?", "Rex?", "What a cat!"]


def test_a_reply_that_came_just_before_the_next_message_was_sent_comes_back(memory: Memory, lineage: Lineage) -> None:
    cat, dog, about_dog, about_cat = OVERLAPPING
    lineage.finish(lineage.begin([user(cat)]), about_cat)
    lineage.finish(lineage.begin([user(cat), user(dog)]), about_dog)
    history = [user(cat), bot(about_cat), user(dog), bot(about_dog)]
    for number in (1, 2):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    assert texts(memory, turn) == [*OVERLAPPING, "Question 1?", "Answer 1.", "Question 2?", "Answer 2."]
    assert not any(META_UNDATED in line.metadata for line in memory.lines())


@pytest.mark.parametrize("session", [None, "named"])
@pytest.mark.parametrize("everything", [False, True], ids=["session", "bank"])
def test_a_forgotten_conversation_that_is_sent_again_within_a_day_is_not_stored_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, session: str | None, everything: bool
) -> None:
    said = [user("A secret?"), bot("Answer 1."), user("Question 2?"), bot("Answer 2.")]
    first = Lineage(memory).begin([*said, user("Question 3?")], session, is_resent=True)
    assert texts(memory, first) == ["A secret?", "Answer 1.", "Question 2?", "Answer 2.", "Question 3?"]
    memory.forget(everything=True) if everything else memory.forget(session=first.line.session)
    lineage, history = Lineage(memory), [*said, user("Question 3?"), bot("Answer 3.")]
    for number in (4, 5):
        turn = lineage.begin([*history, user(f"Question {number}?")], session, is_resent=True)
        lineage.finish(turn, f"Answer {number}.")
        history += [user(f"Question {number}?"), bot(f"Answer {number}.")]
    assert texts(memory, turn) == ["Question 4?", "Answer 4.", "Question 5?", "Answer 5."]
    assert memory.stats().lines == 4
    monkeypatch.setattr(lineage_module, "FORGOTTEN_LATELY", timedelta(0))
    other = lineage.begin([user("Before the proxy?"), bot("Yes."), user("Now?")], None, is_resent=True)
    assert texts(memory, other) == ["Before the proxy?", "Yes.", "Now?"]


@pytest.mark.parametrize("forgets", [False, True], ids=["retracted", "forgotten"])
@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restarted"])
def test_a_late_reply_that_was_removed_by_hand_does_not_come_back(
    memory: Memory, lineage: Lineage, overlapping: tuple[Turn, Turn], forgets: bool, restarts: bool
) -> None:
    cat, dog, about_dog, about_cat = OVERLAPPING
    history = [user("Hello"), bot("Hi."), user(cat), bot(about_cat), user(dog), bot(about_dog)]
    say(lineage, history, "Question 1?", "Answer 1.")
    memory.forget(seq=6) if forgets else memory.retract(6)
    lineage = Lineage(memory) if restarts else lineage
    for number in (2, 3):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    follows = [text for each in (1, 2, 3) for text in (f"Question {each}?", f"Answer {each}.")]
    assert texts(memory, turn) == ["Hello", "Hi.", cat, dog, about_dog, *follows]
    assert not any(META_UNDATED in line.metadata for line in memory.lines())


def test_a_partial_reply_is_replaced_by_the_next_one(memory: Memory, lineage: Lineage) -> None:
    turn = lineage.begin([user("Hello")])
    lineage.finish(turn, "Hi, how", partial=True)
    lineage.finish(turn, "Hi, how are you?")
    assert texts(memory, turn) == ["Hello", "Hi, how are you?"]


def test_an_unknown_history_is_stored_once_without_dates(memory: Memory, lineage: Lineage) -> None:
    old = [user("I have a dog."), bot("What is its name?")]
    turn = say(lineage, [*old], "Rex.", "A good name.")
    assert texts(memory, turn) == ["I have a dog.", "What is its name?", "Rex.", "A good name."]
    undated = [bool(line.metadata.get(META_UNDATED)) for line in memory.lines()]
    assert undated == [True, True, False, False]
    say(lineage, [*old, user("Rex."), bot("A good name.")], "Yes.", "Indeed.")
    assert memory.stats().lines == 6


@pytest.mark.parametrize("stores_history", [True, False])
def test_messages_between_two_replies_have_times_between_them(memory: Memory, stores_history: bool) -> None:
    lineage, history = Lineage(memory, stores_history=stores_history), list[ChatMessage]()
    say(lineage, history, "Hello", "Hi.")
    history += [by("Ben", "I sold my kayak this morning."), by("Cid", "I am moving to Oslo.")]
    for number in (1, 2):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    assert texts(memory, turn) == [message.text for message in history]
    lines = current_lines(memory, turn.line.session)
    assert not any(META_UNDATED in line.metadata for line in lines)
    times = [line.said_at for line in lines]
    assert times == sorted(times)
    assert times[1] < times[2] < times[3] < times[4]


def test_an_unknown_history_is_left_out_on_request(memory: Memory) -> None:
    lineage = Lineage(memory, stores_history=False)
    turn = say(lineage, [user("I have a dog."), bot("What is its name?")], "Rex.", "A good name.")
    assert texts(memory, turn) == ["Rex.", "A good name."]


def test_a_named_session_is_continued_by_its_newest_message_alone(memory: Memory, lineage: Lineage) -> None:
    for number in (1, 2, 3):
        turn = say(lineage, [], f"Question {number}?", f"Answer {number}.", session="desk")
    assert turn.line.session == "desk"
    assert texts(memory, turn) == ["Question 1?", "Answer 1.", "Question 2?", "Answer 2.", "Question 3?", "Answer 3."]


def test_a_repeated_message_to_a_named_session_is_stored_once(memory: Memory, lineage: Lineage) -> None:
    for number in (1, 2):
        say(lineage, [], f"Question {number}?", f"Answer {number}.", session="desk")
    first, again = lineage.begin([user("Question 3?")], "desk"), lineage.begin([user("Question 3?")], "desk")
    assert first.line == again.line
    lineage.finish(again, "Answer 3.")
    assert texts(memory, again)[4:] == ["Question 3?", "Answer 3."]


def by(name: str, text: str) -> ChatMessage:
    return ChatMessage("user", text, name)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 2, 1)])
def test_messages_alone_in_a_named_session_may_overlap(
    memory: Memory, lineage: Lineage, order: tuple[int, ...]
) -> None:
    said = [
        by("Ann", "I am allergic to nuts."),
        by("Ben", "My birthday is on 4 May."),
        by("Ann", "lol"),
        by("Ben", "lol"),
    ]
    turns = [lineage.begin([message], "room") for message in said]
    for number in order:
        lineage.finish(turns[number], f"Reply {number}.")
    lines = current_lines(memory, "room")
    assert [(line.speaker, line.text) for line in lines[:4]] == [(each.speaker, each.text) for each in said]
    assert [line.text for line in lines[4:]] == [f"Reply {number}." for number in order]
    assert memory.stats().retracted == 0


def test_the_first_message_of_a_room_that_is_said_again_is_the_next_one(memory: Memory, lineage: Lineage) -> None:
    for reply in ("Hi.", "Hello.", "Good morning."):
        turn = lineage.begin([by("Ann", "Hey!")], "room")
        assert lineage.begin([by("Ann", "Hey!")], "room") == turn
        lineage.finish(turn, reply)
    assert texts(memory, turn) == ["Hey!", "Hi.", "Hey!", "Hello.", "Hey!", "Good morning."]


def test_people_who_answer_at_the_same_time_discard_nothing(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    ann, ben = by("Ann", "My cat is called Pixel."), by("Ben", "My dog is called Rex.")
    turns = [lineage.begin([*history, message]) for message in (ann, ben)]
    lineage.finish(turns[1], "What a dog!")
    lineage.finish(turns[0], "What a cat!")
    history += [ann, bot("What a cat!"), ben, bot("What a dog!")]
    turn = say(lineage, history, "Question 4?", "Answer 4.")
    assert texts(memory, turn)[6:] == [ann.text, ben.text, "What a dog!", "What a cat!", "Question 4?", "Answer 4."]


def test_a_turn_that_the_next_message_leaves_out_comes_back_with_the_one_after_it(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    ann, ben = by("Ann", "My cat is called Pixel."), by("Ben", "My dog is called Rex.")
    lineage.finish(lineage.begin([*history, ann]), "What a cat!")
    lineage.finish(lineage.begin([*history, ben]), "What a dog!")
    history += [ann, bot("What a cat!"), ben, bot("What a dog!")]
    for number in (4, 5):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    expected = [ben.text, "What a dog!", ann.text, "What a cat!"]
    assert texts(memory, turn)[6:] == [*expected, "Question 4?", "Answer 4.", "Question 5?", "Answer 5."]
    assert not any(META_UNDATED in line.metadata for line in memory.lines())
    turn = say(lineage, history[:-2], "Another question?", "Another answer.")
    assert texts(memory, turn)[-4:] == ["Question 4?", "Answer 4.", "Another question?", "Another answer."]
    assert len(texts(memory, turn)) == 14


def test_messages_are_recognised_after_a_restart(memory: Memory, history: list[ChatMessage]) -> None:
    turn = say(Lineage(memory), history, "Question 4?", "Answer 4.")
    assert texts(memory, turn) == [message.text for message in history]


def test_thoughts_and_white_space_are_not_compared(memory: Memory, lineage: Lineage) -> None:
    first = lineage.begin([user("Hello")])
    lineage.finish(first, "<think>Short.</think>Hi,\n\nAnn!")
    turn = lineage.begin([user("Hello"), bot("Hi, Ann!"), user("Bye.")])
    assert texts(memory, turn) == ["Hello", "<think>Short.</think>Hi,\n\nAnn!", "Bye."]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"Luna: {text}",
        lambda text: text[: text.rindex(" ")],
        lambda text: text.replace("*", ""),
    ],
    ids=["a name before it", "cut off", "without asterisks"],
)
def test_a_client_that_changes_each_reply_continues_its_session(
    memory: Memory, lineage: Lineage, change: Callable[[str], str]
) -> None:
    history: list[ChatMessage] = []
    for number in range(1, 6):
        turn = say(lineage, history, f"Question {number}?", f"*Luna nods {number} times, and smiles.* As you like it")
        history[-1] = bot(change(history[-1].text))
    assert len(memory.sessions()) == 1
    assert len(texts(memory, turn)) == 10
    history[-1:] = []  # the last reply is regenerated
    turn = lineage.begin(list(history))
    lineage.finish(turn, "Never!")
    assert len(memory.sessions()) == 1
    assert texts(memory, turn)[-2:] == ["Question 5?", "Never!"]


def test_a_client_that_changes_each_reply_returns_to_the_first_one(memory: Memory, lineage: Lineage) -> None:
    history: list[ChatMessage] = []
    say(lineage, history, "What is in the basket?", "Figs and dates.")
    lineage.finish(lineage.begin([history[0]]), "Nothing at all!")
    turn = lineage.begin([history[0], bot("Luna: Figs and dates."), user("May I?")])
    assert len(memory.sessions()) == 1
    assert texts(memory, turn) == ["What is in the basket?", "Figs and dates.", "May I?"]


def test_another_reply_to_the_same_message_is_another_conversation(memory: Memory, lineage: Lineage) -> None:
    say(lineage, [], "Good morning!", "Good morning, Nora. Did you sleep well?")
    turn = lineage.begin([user("Good morning!"), bot("Hello. How can I help you today?"), user("Water the fern.")])
    assert len(memory.sessions()) == 2
    assert texts(memory, turn) == ["Good morning!", "Hello. How can I help you today?", "Water the fern."]


def test_a_changed_greeting_of_another_conversation_discards_nothing(memory: Memory, lineage: Lineage) -> None:
    history: list[ChatMessage] = []
    for text in ("Hi!", "Which ferry sails first?", "And the last one?"):
        turn = say(lineage, history, text, f"Hello! How can I help you today? ({len(history)})")
    other = lineage.begin([history[0], bot("Hello! How can I help you today, Nora?"), user("Water the fern.")])
    assert texts(memory, turn) == [message.text for message in history]
    assert other.line.session != turn.line.session


@pytest.mark.parametrize("is_first", [True, False])
def test_a_changed_reply_belongs_to_the_conversation_with_the_most_similar_one(
    memory: Memory, lineage: Lineage, is_first: bool
) -> None:
    said = user("Tell me a joke about the road.")
    replies = [f"Why did the *{bird}* cross the road? To get to the other side!" for bird in ("chicken", "goose")]
    turns = [lineage.begin([said], name) for name in ("one", "two")]
    for turn, reply in zip(turns, replies, strict=True):
        lineage.finish(turn, reply)
    asked, reply = turns[not is_first], replies[not is_first]
    turn = lineage.begin([said, bot(reply.replace("*", "")), user("Explain it.")])
    assert turn.line.session == asked.line.session


def test_the_lines_of_a_request_are_named(lineage: Lineage, history: list[ChatMessage]) -> None:
    turn = lineage.begin([*history[2:], user("Question 4?")])
    assert turn.in_request >= {3, 4, 5, 6, turn.line.seq}


def test_lines_stored_by_others_are_seen(memory: Memory, lineage: Lineage, history: list[ChatMessage]) -> None:
    memory.retract(5)
    memory.retract(6)
    turn = say(lineage, history[:4], "Another question?", "Another answer.")
    assert texts(memory, turn)[2:] == ["Question 2?", "Answer 2.", "Another question?", "Another answer."]


def test_a_deleted_bank_begins_empty(memory: Memory, lineage: Lineage) -> None:
    for _ in range(2):
        turns = [say(lineage, [], f"Question {number}?", f"Answer {number}.", session="desk") for number in (1, 2, 3)]
        memory.forget(everything=True)
    for number in (1, 2):
        turns.append(say(lineage, [], f"New question {number}?", f"New answer {number}.", session="desk"))
    assert texts(memory, turns[-1]) == ["New question 1?", "New answer 1.", "New question 2?", "New answer 2."]
    assert memory.stats().retracted == 0


def test_a_longer_bank_under_the_same_name_is_read_again(memory: Memory, lineage: Lineage) -> None:
    say(lineage, [], "Question 1?", "Answer 1.", session="desk")
    memory.forget(everything=True)
    other, history = Lineage(memory), list[ChatMessage]()
    for number in (7, 8, 9):
        say(other, history, f"Question {number}?", f"Answer {number}.", session="desk")
    turn = say(lineage, history, "Question 10?", "Answer 10.", session="desk")
    assert texts(memory, turn) == [message.text for message in history]
    assert memory.stats().retracted == 0


def test_the_reply_to_a_line_of_a_deleted_bank_is_not_stored(memory: Memory, lineage: Lineage) -> None:
    turn = lineage.begin([user("Question 1?")], "desk")
    memory.forget(everything=True)
    memory.observe("Another line.")
    assert lineage.finish(turn, "Answer 1.") is None
    assert [line.text for line in memory.lines(include_retracted=True)] == ["Another line."]


def test_a_forgotten_last_reply_is_not_stored_again(
    memory: Memory, lineage: Lineage, history: list[ChatMessage]
) -> None:
    memory.forget(seq=6)
    turn = say(lineage, history, "Question 4?", "Answer 4.")
    assert texts(memory, turn)[4:] == ["Question 3?", "Question 4?", "Answer 4."]


@pytest.mark.parametrize("forgets", [False, True], ids=["retracted", "forgotten"])
@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "restarted"])
@pytest.mark.parametrize("removed", [(2,), (3,), (4,), (3, 4), (2, 3), (2, 4)])
def test_a_removed_line_between_others_stays_removed(
    memory: Memory,
    lineage: Lineage,
    history: list[ChatMessage],
    forgets: bool,
    restarts: bool,
    removed: tuple[int, ...],
) -> None:
    for seq in removed:
        memory.forget(seq=seq) if forgets else memory.retract(seq)
    lineage = Lineage(memory) if restarts else lineage
    for number in (4, 5):
        turn = say(lineage, history, f"Question {number}?", f"Answer {number}.")
    kept = [message.text for index, message in enumerate(history, 1) if index not in removed]
    assert texts(memory, turn) == kept
    assert memory.stats().retracted == (0 if forgets else len(removed))
