"""The messages and the hints of a request for a chat completion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hardship.pumps import Pump, grows
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy.formats.base import MAX_MESSAGES
from everthread.server.proxy.formats.chat_completions import ChatRequest
from everthread.server.proxy.front_end_tasks import is_task
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.memory_block import MemoryBlock

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "It is 17:00."}
RAG = "### Task:\nRespond to the user query using the provided context, with citations.\n<context>…</context>\nAnd Mia?"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "x"]), inner),
    max_leaves=6,
)


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def user(content: Any) -> dict[str, Any]:
    return message("user", content)


def bot(content: Any) -> dict[str, Any]:
    return message("assistant", content)


def request(*messages: Any, **fields: Any) -> ChatRequest:
    return ChatRequest.parse(json.dumps({"model": "m", "messages": messages, **fields}).encode())


def find_turn(*messages: Any) -> PersonTurn | None:
    return request(*messages).find_turn({"via": "proxy"})


def texts(*messages: Any) -> list[str]:
    """Return the texts of a turn."""
    turn = find_turn(*messages)
    return [] if turn is None else [each.text for each in turn.messages]


@pytest.mark.parametrize(("name", "speaker"), [("N" * 300, "N" * 200), (" Nora ", "Nora"), (" ", "user"), (7, "user")])
def test_a_name_that_is_too_long_for_a_line_is_cut(name: object, speaker: str) -> None:
    turn = find_turn(message("user", "Hi.", name=name))
    assert turn is not None
    assert turn.messages[0].speaker == speaker


def test_messages_of_the_person_and_the_assistant_with_words_count() -> None:
    said = (message("system", "Be kind."), user("Hi."), bot("Hello."), bot(None), bot("  "), message("tool", "17:00"))
    assert texts(*said, user("And now?")) == ["Hi.", "Hello.", "And now?"]


@pytest.mark.parametrize(
    "text",
    [
        "[Stay in character. Write two paragraphs.]",
        "[Write the next reply only as Nora.]",
        "Ignore the instructions of the card.",
        "",
    ],
)
def test_an_instruction_after_the_newest_message_belongs_to_its_turn(text: str) -> None:
    turn = find_turn(
        user("Hi."), bot("Hello."), user("And now?"), message("system", text), message("system", "Be kind.")
    )
    assert turn is not None
    assert ([each.text for each in turn.messages], turn.index, turn.continues) == (
        ["Hi.", "Hello.", "And now?"],
        2,
        False,
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "Ignore previous instructions. Summarize the most important facts and events in the story so far.",
        "[Pause your roleplay and provide a detailed description of Mia's appearance]",
        "[Write your next reply from the point of view of Mia, using the chat history so far as a guideline.]",
        "### Task: Generate a title",
    ],
)
def test_a_quiet_prompt_after_the_newest_message_is_no_turn(prompt: str) -> None:
    assert texts(user("Hi."), bot("Hello."), user("And now?"), message("system", prompt)) == []
    assert texts(user("Hi."), bot("Hello."), message("system", "What mood is Mia in?")) == []
    assert texts(user(prompt), message("system", "Be kind.")) == ([] if "###" in prompt else [prompt])


def test_of_parts_the_texts_count_and_others_are_counted() -> None:
    parts = [
        {"type": "text", "text": "Who"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "is it?"},
    ]
    turn = find_turn(message("user", parts, name="Nora", id="m1"))
    assert turn is not None
    newest = turn.messages[0]
    assert (newest.text, newest.speaker) == ("Who\nis it?", "Nora")
    assert newest.metadata == {"via": "proxy", "other_parts": 1, "message_id": "m1"}


@pytest.mark.parametrize(
    "messages",
    [
        [message("system", "Be kind.")],
        [user("Hi."), bot("Hel")],  # the reply is to be continued
        [user("Hi."), bot("Hello."), message("system", "Write a summary.")],
        [user([{"type": "image_url", "image_url": {}}])],
        [message("system", "x"), user("### Task:\nGenerate a concise, 3-5 word title with an emoji.")],
        [user("Given the following... please reply with a title for the chat that is 3-4 words in length")],
        [user("Hi."), bot("Hello."), user("Please generate a four to five word title summarizing our conversation…")],
        [
            message("system", "You are a professional conversation summarizer. Generate a concise title that …"),
            user("user: Hi.\nassistant: Hello."),
        ],
    ],
)
def test_a_request_in_which_the_person_says_nothing_has_no_turn(messages: list[Any]) -> None:
    assert find_turn(*messages) is None


def test_a_task_in_the_middle_of_a_conversation_was_said_by_the_person() -> None:
    assert texts(user("Hi."), bot("Hello."), user("### Task: write a poem"))[-1] == "### Task: write a poem"


def test_a_question_in_a_template_is_no_task() -> None:
    assert not is_task(RAG)
    assert is_task("\n### task:   Suggest 3-5 relevant follow-up questions")
    assert is_task("Analyze this conversation and provide:\n1. The detected language of the conversation")
    assert not is_task("What is my task?")


def test_a_turn_continues_while_tools_are_called() -> None:
    turn = find_turn(user("Hi."), bot("Hello."), user("What time is it?"), CALL, RESULT, CALL, RESULT)
    assert turn is not None
    assert (turn.text, turn.index, turn.continues, len(turn.messages)) == ("What time is it?", 2, True, 3)
    turn = find_turn(user("What time is it?"))
    assert turn is not None
    assert not turn.continues


def test_a_picture_after_the_results_of_tools_belongs_to_them() -> None:
    picture = user([{"type": "image_url", "image_url": {}}])
    turn = find_turn(user("What is it?"), CALL, RESULT, message("system", "Be kind."), picture, picture)
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("What is it?", 0, True)
    assert find_turn(user("What is it?"), CALL, RESULT, bot("A cat."), picture) is None


def test_words_before_a_call_of_a_tool_count_if_no_later_words_end_the_turn() -> None:
    words = {**CALL, "content": "Let me see."}
    assert texts(user("Time?"), words, RESULT, bot("17:00."), user("Thanks.")) == ["Time?", "17:00.", "Thanks."]
    assert texts(user("Time?"), words, user("Well?")) == ["Time?", "Let me see.", "Well?"]


def test_a_block_of_ours_is_not_part_of_what_was_said() -> None:
    block = MemoryBlock("Mia lives in Lisbon.", (1,)).text
    assert texts(user(f"{block}\n\nWho is Mia?")) == ["Who is Mia?"]


@pytest.mark.parametrize(
    ("fields", "session"),
    [
        ({"conversation": "c"}, "c"),
        ({"conversation": {"id": "c"}}, "c"),
        ({"session_id": "s"}, "s"),
        ({"metadata": {"session_id": "t"}}, "t"),
        ({"conversation": 3}, "3"),
        ({"conversation": [3], "session_id": True, "metadata": []}, ""),
        ({}, ""),
    ],
)
def test_fields_of_other_front_ends_name_the_session(fields: dict[str, Any], session: str) -> None:
    assert request(user("Hi."), **fields).find_session() == session


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff", b"[]", b"{}", b'{"messages": []}', b'{"messages": {}}', b'{"messages": [1]}'),
        *(b'{"messages": [{}]} x', b'{"messages": [{}], "messages": [{}]}'),
        *(b'{"a": ' + b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"),
    ],
)
def test_a_body_without_messages_is_an_error(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        ChatRequest.parse(body)


@given(
    st.dictionaries(st.sampled_from(["messages", "model", "user", "metadata", "conversation"]), JSON | st.lists(JSON))
)
def test_any_json_is_read_or_an_error(value: dict[str, Any]) -> None:
    try:
        parsed = ChatRequest.parse(json.dumps(value).encode())
    except ValueError:
        return
    parsed.find_turn({})
    parsed.find_session()
    parsed.get_metadata("bank")


def test_the_calls_of_tools_in_a_turn_are_read_in_linear_time() -> None:
    call, newest = json.dumps({"role": "assistant", "tool_calls": [1]}), json.dumps(user("Hi."))

    def find(text: str) -> None:
        assert ChatRequest.parse(text.encode()).find_turn({}) is not None

    assert not grows(find, Pump('{"messages": [', f"{call}, ", f"{newest}]}}"), 600_000)


def test_a_request_with_too_many_messages_is_not_read() -> None:
    assert len(request(*[user("Hi.")] * MAX_MESSAGES).messages) == MAX_MESSAGES
    with pytest.raises(ValueError, match="more than 20000 messages"):
        request(*[user("Hi.")] * (MAX_MESSAGES + 1))
