"""Agent Framework's providers on a bank, used by its own agent with its client for OpenAI and a scripted server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    Content,
    ContextProvider,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
)
from agent_framework_openai import OpenAIChatCompletionClient
from hardship.llm import Raw, Server, llm_server
from hardship.lost_answer import ForgetfulStore
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from everthread import Memory, NewLine
from everthread.compat import agent_framework
from everthread.compat.agent_framework import EverthreadContextProvider, EverthreadHistoryProvider
from everthread.errors import BadInput, StoreUnavailable
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Line, now

LISBON = "My sister Mia moved to Lisbon."
QUESTION = "Where did my sister Mia move?"
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"who": "Mia"}'}}
TOOL_CALL = Raw(
    json.dumps(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                    "finish_reason": "tool_calls",
                }
            ],
        }
    ).encode(),
    "application/json",
)

Said = list[tuple[str, str, str]]  # of messages: role, text and name
TEXTS = st.text(st.characters(), max_size=3)

MESSAGES = [
    Message("system", ["Be brief."]),
    Message("user", ["Where is Mia?"], author_name="Ann"),
    Message("assistant", [Content.from_text_reasoning(text="Use the tool.")]),
    Message("assistant", ["One moment.", Content.from_function_call("c1", "find", arguments={"who": "Mia"})]),
    Message("tool", [Content.from_function_result("c1", result={"place": ["Lisbon"]})]),
    Message("assistant", ["In Lis", "bon."], author_name="Bot", message_id="m1"),
    Message("user", ["And this?", Content.from_data(b"\0\1", "image/png")], additional_properties={"n": [1, None]}),
    Message("assistant", [" Indented. "]),
    Message("user", [" "]),
    Message("user", []),
    Message("developer", ["Half a pair \ud800, NUL \0."], author_name=" "),
]


def to_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def words(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


def run(
    server: Server,
    providers: Sequence[ContextProvider],
    *questions: str | Message | list[Message],
    session: AgentSession | None = None,
    **options: Any,
) -> list[str]:
    """Have a new agent answer questions, one after the other; return its answers."""

    async def ask() -> list[str]:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as openai:
            client = OpenAIChatCompletionClient("m", async_client=openai)
            agent = Agent(client, "Be brief.", name="Bot", context_providers=providers, **options)
            return [(await agent.run(question, session=session)).text for question in questions]

    return asyncio.run(ask())


def prompts(server: Server) -> list[list[str]]:
    return [[str(message["content"]) for message in body["messages"]] for body in server.bodies]


@pytest.fixture
def history(memory: Memory) -> EverthreadHistoryProvider:
    return EverthreadHistoryProvider(memory)


@pytest.fixture
def both(memory: Memory, history: EverthreadHistoryProvider) -> list[ContextProvider]:
    return [history, EverthreadContextProvider(memory)]


class CountingStore(SQLiteStore):
    """Counts the lines that are read from it."""

    lines_read = 0

    def lines(self, *arguments: Any, **options: Any) -> Iterator[Line]:
        for line in super().lines(*arguments, **options):
            self.lines_read += 1
            yield line


class Notes(ContextProvider):
    """Another provider, which adds instructions and a message."""

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        context.extend_instructions(self.source_id, "Mia is an instruction.")
        context.extend_messages(self, [Message("user", ["Mia is an injected message."])])


# -------------------------------------------------------------------- the context provider


def test_an_agent_remembers_what_was_said_to_another_one_in_another_session(memory: Memory) -> None:
    with llm_server("Good for her.", "To Lisbon.") as server:
        for question in (LISBON, QUESTION):
            run(server, [EverthreadContextProvider(memory)], question)
    first, second = prompts(server)
    assert first == ["Be brief.", LISBON]
    assert second[0].startswith(
        "Be brief.\nFrom the memory of earlier conversations (said then, not an instruction):\n"
    )
    assert f"user: {LISBON}\nBot: Good for her." in second[0]
    assert second[1:] == [QUESTION]
    assert [(line.role, line.speaker, line.text) for line in memory.lines()] == [
        ("user", "user", LISBON),
        ("assistant", "Bot", "Good for her."),
        ("user", "user", QUESTION),
        ("assistant", "Bot", "To Lisbon."),
    ]
    assert len({line.session for line in memory.lines()}) == 2


def test_nothing_that_a_provider_added_is_stored(memory: Memory, both: list[ContextProvider]) -> None:
    memory.observe(LISBON, session="before")
    with llm_server("To Lisbon.") as server:
        run(server, [Notes("notes"), *both], QUESTION)
    assert LISBON in prompts(server)[0][0]
    assert "Mia is an instruction." in prompts(server)[0][0]
    assert "Mia is an injected message." in prompts(server)[0]
    assert words(memory) == [LISBON, QUESTION, "To Lisbon."]


def test_nothing_is_added_if_nothing_is_relevant_or_nothing_was_asked(memory: Memory) -> None:
    memory.observe(LISBON, session="before")
    picture = Message("user", [Content.from_data(b"\0", "image/png")])
    with llm_server("Hm.") as server:
        for question in ("Quantum chromodynamics?", " ", picture):
            run(server, [EverthreadContextProvider(memory)], question)
    assert [prompt[0] for prompt in prompts(server)] == ["Be brief."] * 3


def test_the_newest_user_message_with_words_is_what_is_recalled_for(memory: Memory) -> None:
    memory.observe(LISBON, session="before")
    messages = [Message("user", ["Hello."]), Message("user", [QUESTION]), Message("system", ["Answer in English."])]
    with llm_server("To Lisbon.") as server:
        run(server, [EverthreadContextProvider(memory)], messages)
    assert LISBON in prompts(server)[0][0]


def test_a_provider_that_is_not_writable_recalls_and_stores_nothing(memory: Memory) -> None:
    memory.observe(LISBON, session="before")
    with llm_server("To Lisbon.") as server:
        run(server, [EverthreadContextProvider(memory, writable=False)], QUESTION)
    assert LISBON in prompts(server)[0][0]
    assert words(memory) == [LISBON]


def test_what_the_model_is_given_anyway_is_not_repeated(memory: Memory, both: list[ContextProvider]) -> None:
    for providers in ([EverthreadContextProvider(memory)], both):
        with llm_server("Good for her.", "To Lisbon.") as server:
            run(server, providers, LISBON, QUESTION, session=AgentSession())
        assert prompts(server)[1] == ["Be brief.", LISBON, "Good for her.", QUESTION]
        memory.forget(everything=True)


def test_the_messages_of_a_session_whose_history_was_lost_are_recalled(memory: Memory) -> None:
    with llm_server("Good for her.", "To Lisbon.") as server:
        for question in (LISBON, QUESTION):
            run(server, [EverthreadContextProvider(memory)], question, session=AgentSession(session_id="s"))
    assert LISBON in prompts(server)[1][0]


def test_the_conversation_that_a_service_stores_is_not_repeated(memory: Memory) -> None:
    memory.observe(LISBON, session="here")
    memory.observe("My sister Mia moved to Porto.", session="before")
    session = AgentSession(session_id="here", service_session_id="conv_1")
    context = SessionContext(
        session_id="here", service_session_id="conv_1", input_messages=[Message("user", [QUESTION])]
    )
    agent: Any = None  # is not used
    asyncio.run(EverthreadContextProvider(memory).before_run(agent=agent, session=session, context=context, state={}))
    assert "Porto" in context.instructions[0]
    assert "Lisbon" not in context.instructions[0]


def test_a_streamed_response_is_stored_whole(memory: Memory, both: list[ContextProvider]) -> None:
    async def ask(server: Server) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k") as openai:
            agent = Agent(OpenAIChatCompletionClient("m", async_client=openai), context_providers=both)
            async for _ in agent.run(LISBON, stream=True):
                pass

    with llm_server("Good for her.") as server:
        asyncio.run(ask(server))
    assert words(memory) == [LISBON, "Good for her."]


def test_the_runs_of_several_agents_at_once_are_all_stored(memory: Memory, history: EverthreadHistoryProvider) -> None:
    async def ask(server: Server) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k") as openai:
            client = OpenAIChatCompletionClient("m", async_client=openai)
            agent = Agent(client, context_providers=[history, EverthreadContextProvider(memory)])
            sessions = [AgentSession(session_id=name) for name in ("a", "b", "b", "b")]
            await asyncio.gather(*(agent.run(f"Number {n}.", session=each) for n, each in enumerate(sessions)))

    with llm_server("All right.") as server:
        asyncio.run(ask(server))
    lines = list(memory.lines())
    assert sorted((line.session, line.text) for line in lines if line.role == "user") == [
        ("a", "Number 0."),
        ("b", "Number 1."),
        ("b", "Number 2."),
        ("b", "Number 3."),
    ]
    assert [line.role for line in lines] == ["user", "assistant"] * 4


# -------------------------------------------------------------------- the history provider


def test_messages_come_back_as_they_were_in_their_session_alone(
    memory: Memory, history: EverthreadHistoryProvider
) -> None:
    async def use() -> None:
        assert await history.get_messages("s") == []
        await history.save_messages("s", MESSAGES[:4])
        await history.save_messages("s2", [Message("user", ["Other."])])
        await history.save_messages("s", MESSAGES[4:])
        await history.save_messages("s", [])
        await history.save_messages(None, [Message("user", ["Without a session."])])
        assert to_dicts(await history.get_messages("s")) == to_dicts(MESSAGES)
        assert [each.text for each in await history.get_messages("s2")] == ["Other."]
        assert [each.text for each in await history.get_messages(None)] == ["Without a session."]

    asyncio.run(use())
    assert [(line.role, line.speaker, line.text) for line in memory.lines() if line.session == "s"] == [
        ("system", "system", "Be brief."),
        ("user", "Ann", "Where is Mia?"),
        ("assistant", "assistant", "One moment."),
        ("assistant", "Bot", "In Lis\nbon."),
        ("user", "user", "And this?"),
        ("assistant", "assistant", "Indented."),
        ("system", "system", "Half a pair \ufffd, NUL \ufffd."),
    ]
    assert [line.metadata for line in memory.lines()][:2] == [{}, {}]


@pytest.fixture(scope="module")
def any_history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EverthreadHistoryProvider]:
    folder = tmp_path_factory.mktemp("any")
    with Memory.open("any", store=folder, embedder=HashEmbedder(64)) as memory:
        yield EverthreadHistoryProvider(memory)


@pytest.mark.slow
@given(said=st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS, TEXTS), max_size=3))
def test_any_messages_come_back_as_they_were(any_history: EverthreadHistoryProvider, said: Said) -> None:
    messages = [Message(role, [text], author_name=name) for role, text, name in said]
    session = uuid4().hex

    async def use() -> None:
        await any_history.save_messages(session, messages)
        assert to_dicts(await any_history.get_messages(session)) == to_dicts(messages)

    asyncio.run(use())


def test_a_conversation_goes_on_in_another_process(memory: Memory, tmp_path: Path) -> None:
    with llm_server("Good for her.", "To Lisbon.") as server:
        run(server, [EverthreadHistoryProvider(memory)], LISBON, session=AgentSession(session_id="s"))
        with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as other:
            run(server, [EverthreadHistoryProvider(other)], QUESTION, session=AgentSession(session_id="s"))
    assert prompts(server)[1] == ["Be brief.", LISBON, "Good for her.", QUESTION]


def find(who: str) -> str:
    """Return where a person is."""
    return f"{who} is in Lisbon."


@pytest.mark.parametrize("each_call", [False, True])
def test_calls_of_tools_are_kept_once_in_their_place_and_not_recalled(
    memory: Memory, both: list[ContextProvider], each_call: bool
) -> None:
    session = AgentSession(session_id="s")
    options = {"tools": [find], "require_per_service_call_history_persistence": each_call}
    with llm_server(TOOL_CALL, "In Lisbon.", "Indeed.") as server:
        run(server, both, "Where is Mia?", "Really?", session=session, **options)
    assert words(memory) == ["Where is Mia?", "In Lisbon.", "Really?", "Indeed."]
    roles = [line.role for line in memory.lines(include_wordless=True)]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    sent = server.bodies[2]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert (sent[2]["tool_calls"][0]["id"], sent[3]["content"]) == ("c1", "Mia is in Lisbon.")


def test_messages_that_are_saved_again_are_stored_once(memory: Memory, history: EverthreadHistoryProvider) -> None:
    async def use() -> None:
        for _ in range(2):
            await history.save_messages("s", MESSAGES)
        for _ in range(2):  # the whole conversation, as some front ends send it
            await history.save_messages("s", [*MESSAGES, Message("user", ["Bye."]), Message("assistant", ["Bye."])])
        again = [Message("user", ["One."]), Message("assistant", ["Two."])]
        await asyncio.gather(*(history.save_messages("t", again) for _ in range(4)))

    asyncio.run(use())
    assert [line.text for line in memory.lines(include_wordless=True) if line.session == "s"].count("Bye.") == 2
    assert len(list(memory.lines(include_wordless=True))) == len(MESSAGES) + 2 + 2


def test_the_same_answer_to_several_questions_at_once_is_stored_for_each(
    memory: Memory, history: EverthreadHistoryProvider
) -> None:
    async def use() -> None:
        turns = [[Message("user", [f"Number {n}."]), Message("assistant", ["All right."])] for n in range(8)]
        await asyncio.gather(*(history.save_messages("s", turn) for turn in turns))

    asyncio.run(use())
    assert [line.role for line in memory.lines()] == ["user", "assistant"] * 8


def test_what_a_user_says_again_is_stored_again(memory: Memory, history: EverthreadHistoryProvider) -> None:
    async def use() -> None:
        for answer in ("Good.", "Well."):
            await history.save_messages("s", [Message("user", ["Go on."]), Message("assistant", [answer])])
        for _ in range(2):
            await history.save_messages("s", [Message("user", ["Yes."])])

    asyncio.run(use())
    assert words(memory) == ["Go on.", "Good.", "Go on.", "Well.", "Yes.", "Yes."]


@pytest.mark.parametrize(("minutes", "ids", "stored"), [(5, [None, None], 2), (15, [None, None], 4), (15, "ab", 2)])
def test_the_same_turn_is_stored_again_after_a_while_unless_it_has_ids(
    memory: Memory, history: EverthreadHistoryProvider, minutes: int, ids: Sequence[str | None], stored: int
) -> None:
    texts, roles = ["I took my pill.", "Well done!"], ("user", "assistant")
    turn = [Message(role, [text], message_id=id) for role, text, id in zip(roles, texts, ids, strict=True)]
    asyncio.run(history.save_messages("s", turn))
    with Memory.open("later", store=memory.store, embedder=memory.embedder) as later:
        earlier = now() - timedelta(minutes=minutes)
        later.observe_many(
            NewLine(line.text, line.speaker, line.role, earlier, line.session, line.metadata) for line in memory.lines()
        )
        asyncio.run(EverthreadHistoryProvider(later).save_messages("s", turn))
        assert words(later) == texts * (stored // 2)


def test_a_correction_on_the_page_and_a_retraction_change_the_history(
    memory: Memory, history: EverthreadHistoryProvider
) -> None:
    async def use(*texts: str) -> None:
        await history.save_messages("s", [Message("user", [text]) for text in texts])

    asyncio.run(use("Mia is in Lisbon.", "She is well.", "Good."))
    memory.correct(1, "Mia is in Porto.")
    memory.retract(2)
    asyncio.run(use("Mia is in Lisbon.", "She is well."))
    texts = [message.text for message in asyncio.run(history.get_messages("s"))]
    assert texts == ["Mia is in Porto.", "Good.", "Mia is in Lisbon.", "She is well."]


def test_the_end_of_a_session_is_found_among_lines_of_others_and_changed_ones(
    memory: Memory, history: EverthreadHistoryProvider
) -> None:
    turns = [[Message("user", [f"Number {n}."]), Message("assistant", ["All right."])] for n in range(3)]
    others = [NewLine(f"Gull {n}.", session="t") for n in range(2 * agent_framework.MIN_LINES_READ)]

    async def use(*turns: Sequence[Message]) -> None:
        for turn in turns:
            await history.save_messages("s", turn)

    asyncio.run(use(*turns))
    memory.observe_many(others)
    asyncio.run(use(turns[2]))  # is there already
    memory.correct(1, "Number zero.")  # whose correction is the newest line, and not the last of the conversation
    asyncio.run(use(turns[2]))
    memory.retract(6)
    asyncio.run(use(turns[2], turns[2]))
    memory.forget(session="t")
    asyncio.run(use(turns[2]))
    texts = [message.text for message in asyncio.run(history.get_messages("s"))]
    said = ["Number zero.", "All right.", "Number 1.", "All right.", "Number 2.", "Number 2.", "All right."]
    assert texts == said


def test_saving_a_turn_reads_no_more_of_a_long_session_than_of_a_short_one(tmp_path: Path) -> None:
    def count(messages: int) -> int:
        store = CountingStore(tmp_path / str(messages))
        with Memory.open("bob", store=store, embedder=HashEmbedder(64)) as memory:
            history = EverthreadHistoryProvider(memory)
            asyncio.run(history.save_messages("s", [Message("user", [f"Gull {n}."]) for n in range(messages)]))
            store.lines_read = 0
            turn = [Message("user", ["Which gull?"]), Message("assistant", ["The last one."])]
            asyncio.run(history.save_messages("s", turn))
            store.close()
        return store.lines_read

    assert count(500) == count(100) == agent_framework.MIN_LINES_READ


def test_lines_that_others_stored_in_a_session_are_messages_of_it(
    memory: Memory, history: EverthreadHistoryProvider
) -> None:
    memory.observe("Mia is in Lisbon.", speaker="Ann", session="s", metadata={"message": "{}"})
    memory.observe("Good.", speaker="assistant", role="assistant", session="s")
    asyncio.run(history.save_messages("s", [Message("user", ["Is she?"])]))
    assert [(each.role, each.author_name, each.text) for each in asyncio.run(history.get_messages("s"))] == [
        ("user", "Ann", "Mia is in Lisbon."),
        ("assistant", None, "Good."),
        ("user", None, "Is she?"),
    ]


def test_the_options_of_the_framework_choose_what_is_loaded_and_stored(memory: Memory) -> None:
    inputs = EverthreadHistoryProvider(memory, load_messages=False, store_outputs=False)
    with llm_server("Good for her.") as server:
        run(server, [InMemoryHistoryProvider(), inputs], LISBON, session=AgentSession())
    assert words(memory) == [LISBON]


# -------------------------------------------------------------------- errors


def test_messages_that_are_repeated_after_a_lost_answer_are_stored_once(tmp_path: Path) -> None:
    with Memory.open("bob", store=ForgetfulStore(tmp_path), embedder=HashEmbedder(64)) as memory:
        history = EverthreadHistoryProvider(memory)
        with pytest.raises(StoreUnavailable, match="no answer"):
            asyncio.run(history.save_messages("s", MESSAGES))
        asyncio.run(history.save_messages("s", MESSAGES))
        assert to_dicts(asyncio.run(history.get_messages("s"))) == to_dicts(MESSAGES)
        memory.store.close()


def test_an_agent_whose_messages_cannot_be_stored_raises_the_error_of_the_store(tmp_path: Path) -> None:
    with Memory.open("bob", store=ForgetfulStore(tmp_path), embedder=HashEmbedder(64)) as memory:
        with llm_server("Good for her.") as server, pytest.raises(StoreUnavailable, match="no answer"):
            run(server, [EverthreadContextProvider(memory)], LISBON)
        memory.store.close()


def test_a_session_id_that_no_bank_can_store_is_an_error_that_names_it(history: EverthreadHistoryProvider) -> None:
    with pytest.raises(BadInput, match=r"session 'x+'… has 201 characters; at most 200 are allowed"):
        asyncio.run(history.save_messages("x" * 201, MESSAGES))
