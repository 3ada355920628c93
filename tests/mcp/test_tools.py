"""The tools, called by the SDK's own client over both generations of the protocol."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hardship.agent import MODES, call, data_of, list_tools, offer, text_of
from mcp_types import TextContent

from everthread import Memory, NewLine, NewUnit
from everthread.common.keys import SETTING_REMEMBER
from everthread.mcp.server import MemoryServer
from everthread.mcp.tools import NOTHING, TOOLS
from everthread.text.tokens import estimate_tokens

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
SISTER = "My sister Mia moved to Lisbon."


@pytest.fixture
def server(memory: Memory) -> MemoryServer:
    return offer(memory)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def talk_of_may(memory: Memory) -> Memory:
    """Return the memory after two conversations."""
    memory.observe(SISTER, speaker="Nora", said_at=NOON, session="one")
    memory.observe("How exciting!", role="assistant", said_at=NOON + timedelta(minutes=1), session="one")
    memory.observe("She has a dog called Rex.", speaker="Nora", said_at=NOON + timedelta(minutes=2), session="one")
    memory.observe("I planted ferns today.", speaker="Nora", said_at=NOON + timedelta(days=56), session="two")
    return memory


def test_recall_returns_dated_passages_word_for_word(server: MemoryServer, talk_of_may: Memory, mode: str) -> None:
    result = call(server, "recall", mode, query="Where did my sister Mia move? Lisbon?")
    assert text_of(result).startswith("[Monday, 6 May 2024, 12:00]\nNora: My sister Mia moved to Lisbon.")
    first = data_of(result)["hits"][0]
    expected = {"seq": 1, "speaker": "Nora", "session": "one", "text": SISTER, "said_at": "2024-05-06T12:00:00+00:00"}
    assert {name: first[name] for name in expected} == expected
    assert 0 < first["relevance"] <= data_of(result)["relevance"] <= 1


def test_recall_says_that_nothing_relevant_is_remembered(server: MemoryServer, talk_of_may: Memory, mode: str) -> None:
    result = call(server, "recall", mode, query="quantum chromodynamics lattice")
    assert [text_of(result), data_of(result)["hits"]] == [NOTHING, []]


def test_recall_with_facts_says_what_is_known_of_the_person(server: MemoryServer, talk_of_may: Memory) -> None:
    query = "What do you know about me?"
    assert data_of(call(server, "recall", query=query))["facts"] == []
    result = call(server, "recall", query=query, facts=True)
    assert data_of(result)["facts"] == ["Mia is Nora's sister."]
    assert text_of(result).startswith("[What is known]\nMia is Nora's sister.")


def test_recall_finds_at_most_k_lines_of_one_speaker_within_days(server: MemoryServer, memory: Memory) -> None:
    for day in range(6):
        memory.observe(f"My sister Mia cooked dish {day}.", speaker="Nora", said_at=NOON + timedelta(days=day))
        memory.observe(f"Your sister Mia cooked dish {day}!", speaker="Bob", said_at=NOON + timedelta(days=day))
    query = "What did sister Mia cook, which dish?"
    assert len(data_of(call(server, "recall", query=query, k=2))["hits"]) == 2
    found = call(server, "recall", query=query, since="2024-05-07", until="2024-05-08", speaker="Nora")
    hits = data_of(found)["hits"]
    assert {(hit["speaker"], hit["said_at"][:10]) for hit in hits} == {("Nora", "2024-05-07"), ("Nora", "2024-05-08")}


def test_recall_finds_a_speaker_in_upper_and_lower_case_and_names_those_that_there_are(
    server: MemoryServer, talk_of_may: Memory
) -> None:
    query = "Where did my sister Mia move? Lisbon?"
    assert data_of(call(server, "recall", query=query, speaker=" NORA"))["hits"][0]["text"] == SISTER
    result = call(server, "recall", query=query, speaker="user")
    assert result.is_error
    assert text_of(result) == "there is no speaker 'user'; the speakers are Nora, assistant"


def test_recall_for_a_speaker_finds_nothing_in_an_empty_bank(server: MemoryServer) -> None:
    assert text_of(call(server, "recall", query="Where is Mia?", speaker="Nora")) == NOTHING


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("recall", {"query": "x", "k": 99}, ["invalid k: got 99", "50"]),
        ("recall", {"query": "x", "k": "many"}, ["invalid k: got 'many'", "integer"]),
        ("recall", {"query": ""}, ["invalid query", "at least 1 character"]),
        ("recall", {}, ["invalid query: got nothing"]),
        ("recall", {"query": "x", "since": "May"}, ["invalid since: got 'May'", "2024-05-31"]),
        ("recall", {"query": "x", "since": "2024-05-02", "until": "2024-05-01"}, ["invalid until: got '2024-05-01'"]),
        ("recall", {"query": "x", "bank": "bob"}, ["unknown bank: got 'bob'", "alice"]),
        ("remember", {"text": "x" * 20_001}, ["invalid text", "20000", "…"]),
        ("remember", {"text": "  "}, ["text"]),
        ("remember", {"text": "x", "said_at": "0001-01-01"}, ["said_at"]),
        ("remember_conversation", {"messages": []}, ["invalid messages", "at least 1 item"]),
        ("remember_conversation", {"messages": [{"role": "tool", "content": "x"}]}, ["invalid messages.0.role"]),
        ("remember_conversation", {"messages": [{"role": "assistant", "content": "x"}]}, ["none of role user"]),
        (
            "remember_conversation",
            {"messages": [{"role": "user", "content": "x", "at": "noon"}]},
            ["invalid messages.0.at: got 'noon'"],
        ),
        ("conversation", {}, ["either session or around"]),
        ("conversation", {"session": "gone"}, ["there is no session 'gone'", "`sessions`"]),
        ("conversation", {"around": 99}, ["there is no line 99"]),
        ("conversation", {"around": 10**30}, ["invalid around: got 1000"]),
        ("sessions", {"limit": 0}, ["invalid limit: got 0"]),
        ("forget", {}, ["either seq or session"]),
        ("forget", {"seq": 99}, ["there is no line 99", "`recall`"]),
        ("forget", {"seq": -1}, ["invalid seq: got -1"]),
        ("forget", {"session": "gone"}, ["there is no session 'gone'"]),
        ("none", {}, ["Unknown tool: none"]),
    ],
)
def test_an_error_names_the_argument_and_the_remedy_to_the_model(
    server: MemoryServer, talk_of_may: Memory, mode: str, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    before = list(talk_of_may.lines())
    result = call(server, tool, mode, **arguments)
    assert result.is_error
    assert all(word in text_of(result) for word in words), text_of(result)
    assert len(text_of(result)) < 300
    assert list(talk_of_may.lines()) == before


def test_the_same_words_are_kept_once_a_day(server: MemoryServer, memory: Memory, mode: str) -> None:
    first = data_of(call(server, "remember", mode, text=SISTER, speaker="Nora", said_at="2024-05-06T12:00Z"))
    again = data_of(call(server, "remember", mode, text=SISTER, speaker="Nora", said_at="2024-05-06T18:00Z"))
    later = data_of(call(server, "remember", mode, text=SISTER, speaker="Nora", said_at="2024-05-07T12:00Z"))
    assert [first, again, later] == [{"seq": 1, "kept": True}, {"seq": 1, "kept": False}, {"seq": 2, "kept": True}]
    lines = [(line.text, line.speaker, line.role, line.session, line.said_at) for line in memory.lines()]
    assert lines == [
        (SISTER, "Nora", "user", "mcp-2024-05-06", NOON),
        (SISTER, "Nora", "user", "mcp-2024-05-07", NOON + timedelta(days=1)),
    ]


def test_what_the_agent_said_itself_has_the_role_of_the_assistant(server: MemoryServer, memory: Memory) -> None:
    call(server, "remember", text="I promise to ask about Rex.", speaker="assistant")
    assert [(line.role, line.speaker) for line in memory.lines()] == [("assistant", "assistant")]


def test_a_conversation_is_kept_once_however_often_it_is_passed_on(
    server: MemoryServer, memory: Memory, mode: str
) -> None:
    messages = [{"role": "user", "content": SISTER}, {"role": "assistant", "content": "How exciting! When?"}]
    first = data_of(call(server, "remember_conversation", mode, messages=messages))
    assert data_of(call(server, "remember_conversation", mode, messages=messages)) == {**first, "kept": 0}
    messages += [{"role": "user", "content": "In May."}, {"role": "assistant", "content": "So soon!"}]
    assert data_of(call(server, "remember_conversation", mode, messages=messages)) == {**first, "kept": 2}
    messages[3]["content"] = "That is quick!"
    assert data_of(call(server, "remember_conversation", mode, messages=messages)) == {**first, "kept": 1}
    lines = [(line.role, line.text, line.session) for line in memory.lines()]
    assert lines == [(each["role"], each["content"], first["session"]) for each in messages]


def test_the_messages_of_a_conversation_have_the_times_that_the_agent_gives(
    server: MemoryServer, memory: Memory, mode: str
) -> None:
    messages = [
        {"role": "user", "content": SISTER, "at": "2024-05-06T12:00Z"},
        {"role": "assistant", "content": "When?"},
        {"role": "user", "content": "In May.", "at": "2024-05-06T12:05Z"},
        {"role": "assistant", "content": "So soon!"},
    ]
    first = data_of(call(server, "remember_conversation", mode, messages=messages[:2]))
    again = data_of(call(server, "remember_conversation", mode, messages=messages[:2]))
    assert (first["kept"], again) == (2, {**first, "kept": 0})
    whole = data_of(call(server, "remember_conversation", mode, messages=messages))
    assert whole == {**first, "kept": 2}
    later = NOON + timedelta(minutes=5)
    assert [line.said_at for line in memory.lines()] == [NOON, NOON, later, later]
    assert not any(line.is_undated for line in memory.lines())


def test_a_named_session_takes_single_turns(server: MemoryServer, memory: Memory) -> None:
    for text in ("One.", "Two."):
        turn = [{"role": "user", "content": text}, {"role": "assistant", "content": f"Yes, {text}"}]
        assert data_of(call(server, "remember_conversation", messages=turn, session="s"))["kept"] == 2
    assert [line.text for line in memory.lines()] == ["One.", "Yes, One.", "Two.", "Yes, Two."]


def test_a_bank_that_is_set_to_remember_nothing_keeps_nothing(server: MemoryServer, memory: Memory) -> None:
    memory.set_setting(SETTING_REMEMBER, "never")
    result = call(server, "remember", text=SISTER)
    assert result.is_error
    assert "set to remember nothing" in text_of(result)
    assert list(memory.lines()) == []


def test_a_conversation_is_read_with_the_numbers_of_its_lines(
    server: MemoryServer, talk_of_may: Memory, mode: str
) -> None:
    result = call(server, "conversation", mode, session="one", limit=2)
    assert text_of(result) == (
        "[Monday, 6 May 2024, 12:01]\n#2 assistant: How exciting!\n#3 Nora: She has a dog called Rex."
    )
    assert [line["seq"] for line in data_of(result)["lines"]] == [2, 3]
    around = data_of(call(server, "conversation", mode, around=2, limit=3))
    assert (around["session"], [line["seq"] for line in around["lines"]]) == ("one", [1, 2, 3])


def test_a_conversation_has_the_nearest_lines_that_a_client_shows_and_says_how_to_read_on(
    server: MemoryServer, memory: Memory, mode: str
) -> None:
    for number in range(9):
        memory.observe(f"Chapter {number}. " + "She sails on. " * 1000, session="book")
    result = call(server, "conversation", mode, session="book")
    assert [line["seq"] for line in data_of(result)["lines"]] == [8, 9]
    assert isinstance(result.content[1], TextContent)
    assert result.content[1].text == (
        "7 lines are left out, because the answer would be too long. To read on, pass around=7."
    )
    around = call(server, "conversation", mode, around=5)
    assert [line["seq"] for line in data_of(around)["lines"]] == [4, 5]
    assert isinstance(around.content[1], TextContent)
    assert around.content[1].text.endswith("pass around=3 or around=6.")
    memory.observe("She sails on. " * 100_000, session="scroll")
    (line,) = data_of(call(server, "conversation", mode, session="scroll"))["lines"]
    assert line["text"].endswith("She sails on. […]")
    assert len(line["text"]) < 50_000


def test_a_conversation_of_many_short_lines_is_no_longer_than_clients_show(
    server: MemoryServer, memory: Memory, mode: str
) -> None:
    memory.observe_many(NewLine("She sails on, past the cape. " * 8, "Nora", session="log") for _ in range(250))
    result = call(server, "conversation", mode, session="log", limit=200)
    assert 100 < len(data_of(result)["lines"]) < 200
    assert estimate_tokens(result.model_dump_json()) < 25_000


def test_a_hit_has_the_beginning_of_a_long_line(server: MemoryServer, memory: Memory) -> None:
    memory.observe(f"{SISTER} " * 200, speaker="Nora")
    (hit,) = data_of(call(server, "recall", query="Where did my sister Mia move? Lisbon?"))["hits"]
    assert hit["text"].startswith(SISTER)
    assert (hit["text"].endswith(f"{SISTER} […]"), len(hit["text"]) < 2500) == (True, True)


def test_many_long_hits_are_no_longer_than_clients_show(server: MemoryServer, memory: Memory, mode: str) -> None:
    told = (f"My sister Mia moved to Lisbon in the year {year}. " * 40 for year in range(1900, 1980))
    memory.observe_many(NewLine(text, "Nora", session=f"s{number}") for number, text in enumerate(told))
    result = call(server, "recall", mode, query="When did my sister Mia move to Lisbon?", k=50)
    assert len(data_of(result)["hits"]) > 30
    assert estimate_tokens(result.model_dump_json()) < 25_000


def test_many_sessions_are_no_longer_than_clients_show(server: MemoryServer, memory: Memory, mode: str) -> None:
    for number in range(200):
        memory.observe("Hello.", session=f"session {number:03} {'of the long voyage ' * 9}")
        summary = NewUnit("summary", "She sails on, past the cape. " * 60, number + 1, number + 1, NOON)
        memory.add_unit(replace(summary, metadata={"session": memory.sessions()[-1].id}))
    result = call(server, "sessions", mode, limit=200)
    assert estimate_tokens(result.model_dump_json()) < 25_000
    shown = len(data_of(result)["sessions"])
    assert data_of(result)["sessions"][0]["session"].startswith("session 199")
    assert isinstance(result.content[1], TextContent)
    assert result.content[1].text.startswith(f"{200 - shown} conversations are left out")
    assert len(data_of(call(server, "sessions", mode, limit=20))["sessions"]) == 20


def test_sessions_are_listed_the_latest_first_with_their_summaries(
    server: MemoryServer, talk_of_may: Memory, mode: str
) -> None:
    talk_of_may.add_unit(NewUnit("summary", "Mia in Lisbon.", 1, 3, NOON, metadata={"session": "one"}))
    for session, title in (("one", "Lisbon"), ("two", "A garden")):
        talk_of_may.add_unit(NewUnit("title", title, 1, 3, NOON, metadata={"session": session}))
    talk_of_may.set_session("one", title="Mia moves")
    sessions = data_of(call(server, "sessions", mode))["sessions"]
    listed = [(each["session"], each["title"], each["lines"], each["summary"]) for each in sessions]
    assert listed == [("two", "A garden", 1, None), ("one", "Mia moves", 3, "Mia in Lisbon.")]
    text = text_of(call(server, "sessions", mode))
    assert "one (Mia moves): 2024-05-06 12:00 to 2024-05-06 12:02, 3 lines. Mia in Lisbon." in text
    assert len(data_of(call(server, "sessions", mode, since="2024-06-01"))["sessions"]) == 1
    assert len(data_of(call(server, "sessions", mode, limit=1))["sessions"]) == 1


def test_an_empty_bank_has_no_conversations(server: MemoryServer) -> None:
    assert text_of(call(server, "sessions")) == "There are no conversations yet."
    assert text_of(call(server, "sessions", since="2024-01-01")) == "There are no conversations since then."


def test_the_tools_are_listed_in_a_fixed_order_with_their_hints(server: MemoryServer, mode: str) -> None:
    tools = list_tools(server, mode)
    assert (
        [tool.name for tool in tools]
        == list(TOOLS)
        == [
            "recall",
            "remember",
            "remember_conversation",
            "conversation",
            "sessions",
            "forget",
        ]
    )
    hints = {tool.name: tool.annotations for tool in tools}
    for name, hint in hints.items():
        assert hint is not None
        assert hint.read_only_hint is (name in ("recall", "conversation", "sessions"))
        assert hint.destructive_hint is (name == "forget")
        assert hint.idempotent_hint
        assert hint.open_world_hint is False


def test_each_description_says_in_its_first_sentence_when_to_call(server: MemoryServer) -> None:
    for tool in list_tools(server):
        assert tool.description is not None
        assert ": use " in tool.description.partition(".")[0], tool.name
        assert tool.output_schema is not None
