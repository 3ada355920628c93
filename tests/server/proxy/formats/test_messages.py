"""Requests of Anthropic's Messages API and their answers: what was said in them, and where memories go."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy.formats.messages import MessagesReply, MessagesRequest
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.memory_block import MemoryBlock
from everthread.server.proxy.place import write_request
from everthread.server.proxy.reply import Reply
from everthread.server.proxy.reply_reader import open_reader

BLOCK = MemoryBlock('[2 June 2024]\nNora: "My sister Mia" — é 😀\n', (4, 7)).text
CALL = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"who": "Mia"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Lisbon"}]}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln+/="}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"
COMPACTION = "Your task is to create a detailed summary of the conversation so far, paying close attention to …"
# Spelling that no library writes: escapes, white space, numbers, an unknown field.
PECULIAR = rb"""{ "max_tokens" : 1.0e3,"model":"m",
 "system":[{"type":"text","text":"B\u0065 kind\/","cache_control":{"type": "ephemeral"}}], "messages":[
 {"role":"user","content":"caf\u00e9"} ,{"content":[{"type":"thinking","thinking":"\u0048m.", "signature":"c2ln+\/="},
{"text":"Hello.","type":"text"}],"role":"assistant"},  {"role":"user","content":[ {"type":"text",
"text":"Where does Mia live?","cache_control":{"type":"ephemeral"}} ] } ], "x_unknown":[1 , 2] }"""


def words(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def bot(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def request(*messages: Any, **fields: Any) -> MessagesRequest:
    return MessagesRequest.parse(json.dumps({"model": "m", "messages": messages, **fields}).encode())


def find_turn(*messages: Any) -> PersonTurn | None:
    return request(*messages).find_turn({"via": "proxy"})


def texts(*messages: Any) -> list[str]:
    """Return the texts of a turn."""
    turn = find_turn(*messages)
    return [] if turn is None else [each.text for each in turn.messages]


@pytest.mark.parametrize("is_list", [False, True])
def test_the_instructions_of_a_task_are_those_of_the_whole_request(is_list: bool) -> None:
    for prompt, count in (("You are a professional conversation summarizer. Generate a concise title", 0), ("Hm.", 1)):
        system = [{"type": "text", "text": prompt}] if is_list else prompt
        turn = request(user("user: Hi."), system=system).find_turn({})
        assert (0 if turn is None else len(turn.messages)) == count


def write(body: bytes, block: str = "", index: int = 0) -> bytes:
    return write_request(MessagesRequest.parse(body), "m", block, index, "user-prefix")


def encode(*messages: Any) -> bytes:
    return json.dumps({"model": "m", "messages": messages}).encode()


# ------------------------------------------------------------------------------ what was said


def test_only_words_are_said() -> None:
    said = texts(user("Hi."), bot([THOUGHT, words("Hello.")]), user([IMAGE, words("Who"), words("is it?")]))
    assert said == ["Hi.", "Hello.", "Who\nis it?"]


def test_parts_without_words_are_counted_and_results_of_tools_are_not() -> None:
    turn = find_turn(user([RESULT, IMAGE, words("Who is it?")]))
    assert turn is not None
    assert turn.messages[0].metadata == {"via": "proxy", "other_parts": 1}


def test_a_message_of_results_is_not_the_persons_and_continues_the_turn() -> None:
    loop = (user("Time?"), bot([THOUGHT, words("Let me see."), CALL]), user([RESULT]), bot([CALL]), user([RESULT]))
    turn = find_turn(user("Hi."), bot("Hello."), *loop)
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("Time?", 2, True)
    assert [each.text for each in turn.messages] == ["Hi.", "Hello.", "Time?"]
    assert texts(*loop, bot("17:00."), user("Thanks.")) == ["Time?", "17:00.", "Thanks."]


def test_pictures_beside_results_or_after_them_belong_to_them() -> None:
    for shown in ([user([RESULT, IMAGE])], [user([RESULT]), user([IMAGE])], [user([RESULT, IMAGE]), user(REMINDER)]):
        turn = find_turn(user("What is it?"), bot([CALL]), *shown)
        assert turn is not None
        assert (turn.text, turn.index, turn.continues) == ("What is it?", 0, True)
    assert find_turn(user("What is it?"), bot([CALL]), user([RESULT]), bot("A cat."), user([IMAGE])) is None


def test_words_beside_results_are_the_persons() -> None:
    turn = find_turn(user("Time?"), bot([words("Let me see."), CALL]), user([RESULT, words("Never mind.")]))
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("Never mind.", 2, False)


def test_a_pause_for_the_servers_own_tools_continues_the_turn() -> None:
    turn = find_turn(user("Who won?"), bot([words("Let me search."), SEARCH, FOUND]))
    assert turn is not None
    assert (turn.text, turn.continues) == ("Who won?", True)


@pytest.mark.parametrize(
    "messages",
    [
        [user([IMAGE])],
        [user([RESULT])],
        [user("Fix it."), bot([CALL]), user([RESULT, words(COMPACTION)])],
        [user("Fix it."), bot([CALL]), user([RESULT]), user([IMAGE, words(COMPACTION)])],
        [user("Fix it."), bot([CALL]), user([RESULT]), user(COMPACTION)],
        [user("Hi."), bot("Hel")],  # the reply is to be continued
        [user("### Task:\nGenerate a concise, 3-5 word title with an emoji.")],
        [user("Hi."), bot("Hello."), user("[SUGGESTION MODE: Suggest what the user might naturally type next.]")],
    ],
)
def test_a_request_in_which_the_person_says_nothing_has_no_turn(messages: list[Any]) -> None:
    assert find_turn(*messages) is None


def test_a_request_for_one_token_tests_the_server() -> None:
    assert request(user("quota"), max_tokens=1).find_turn({}) is None
    assert request(user("quota"), max_tokens=2).find_turn({}) is not None


def test_what_a_coding_agent_inserts_is_not_said() -> None:
    assert texts(user([words(REMINDER), words("Fix it.")])) == ["Fix it."]
    assert texts(user(REMINDER), user(f"Fix it.\n{REMINDER}")) == ["Fix it."]
    loop = (user("Fix it."), bot([CALL]), user([RESULT, words(REMINDER)]), user(REMINDER))
    turn = find_turn(*loop)
    assert turn is not None
    assert (turn.text, turn.continues) == ("Fix it.", True)


@pytest.mark.parametrize("text", ["<bash> is a shell I like.", "<bash-input> is a tag.", "<command> </command>"])
def test_a_text_that_only_begins_like_one_of_a_coding_agent_was_said(text: str) -> None:
    assert texts(user(text)) == [text]


def test_instructions_after_the_persons_message_belong_to_it() -> None:
    brief = {"role": "system", "content": "Be brief."}
    assert texts(user("Hi."), brief, bot("Hello."), user("Who is Mia?"), brief) == ["Hi.", "Hello.", "Who is Mia?"]


def test_a_reply_that_is_continued_is_found() -> None:
    messages = request(user("Name?"), bot([THOUGHT, words("It is (")])).find_continued_reply()
    assert [(each.role, each.text) for each in messages or []] == [("user", "Name?"), ("assistant", "It is (")]
    assert request(user("Name?"), bot([CALL])).find_continued_reply() is None


def test_the_upstream_has_the_history_of_a_thread_that_is_continued() -> None:
    thread: Any = {"type": "continue", "previous_message_id": "msg_1"}
    for said, newest in (
        ([user("Hi.")], "Hi."),
        ([user([RESULT, words("Hi.")])], "Hi."),
        ([user([RESULT])], ""),
        ([], ""),
    ):
        turn = request(*said, thread=thread).find_turn({})
        assert turn is not None
        assert (turn.upstream_has_history, turn.response, turn.text) == (True, "msg_1", newest)
    for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": 3}, None, "msg_1"):
        turn = request(user("Hi."), thread=thread).find_turn({})
        assert turn is not None
        assert not turn.upstream_has_history
        assert request(thread=thread).find_turn({}) is None


@pytest.mark.parametrize(
    ("user_id", "person", "session"),
    [
        ("nora", "nora", ""),
        ("user_a1_account_b2_session_c3-d4", "user_a1_account_b2", "c3-d4"),
        ('{"device_id": "a1", "account_uuid": "b2", "session_id": "c3"}', "b2", "c3"),
        ('{"device_id": "a1", "account_uuid": "", "session_id": "c3"}', "a1", "c3"),
        ('{"device_id": ', '{"device_id": ', ""),
        ("{" * 100_000, "{" * 100_000, ""),
        (3, "3", ""),
        (True, "", ""),
    ],
)
def test_the_metadata_name_the_person_and_the_session_of_claude_code(user_id: Any, person: str, session: str) -> None:
    asked = request(user("Hi."), metadata={"user_id": user_id})
    assert (asked.user, asked.find_session()) == (person, session)


# ------------------------------------------------------------------------- where memories go


def test_memories_are_the_beginning_of_the_newest_message_and_no_other_byte_changes() -> None:
    written = write(PECULIAR, BLOCK, 2)
    at = PECULIAR.index(b' {"type":"text",\n"text":"Where')
    assert written.startswith(PECULIAR[:at])
    assert written.endswith(PECULIAR[at:])
    assert json.loads(written)["messages"][2]["content"][0] == words(BLOCK)
    assert json.loads(write(written)) == json.loads(PECULIAR)


def test_a_text_becomes_a_block_after_the_memories_with_its_own_bytes() -> None:
    body = rb"""{"messages":[{"role":"user" , "content" : "caf\u00e9?"}],"model":"m"}"""
    memories = json.dumps(words(BLOCK), ensure_ascii=False).encode()
    text = rb"""{"type": "text", "text": "caf\u00e9?"}"""
    assert write(body, BLOCK) == body.replace(rb'"caf\u00e9?"', b"[%s, %s]" % (memories, text))
    assert json.loads(write(write(body, BLOCK)))["messages"] == [user([words("café?")])]


@pytest.mark.parametrize("results", [1, 2])
def test_memories_stand_after_the_results_of_tools(results: int) -> None:
    body = encode(user("Time?"), bot([CALL]), user([*[RESULT] * results, words("Well?"), IMAGE]))
    written = write(body, BLOCK, 2)
    content = json.loads(written)["messages"][2]["content"]
    assert content == [*[RESULT] * results, words(BLOCK), words("Well?"), IMAGE]
    assert write(written) == body


def test_memories_that_come_back_are_replaced() -> None:
    old = MemoryBlock("Nora: Hello.", (1,)).text
    for content in (
        f"{old}\n\nHi.",
        [words(old), words("Hi.")],
        [RESULT, words(old), words("Hi.")],
        [words(f"{old}\n\nHi.")],
    ):
        asked = encode(user(content))
        written = json.loads(write(asked, BLOCK))["messages"][0]["content"]
        assert [part for part in written if part != RESULT] == [words(BLOCK), words("Hi.")]
        assert texts(user(content)) == ["Hi."]


PARTS = st.sampled_from([words("Hi."), words(""), CALL, RESULT, THOUGHT, IMAGE])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system", "?"]),
            "content": st.text(max_size=8) | st.lists(PARTS, max_size=5),
        }
    ),
    min_size=1,
    max_size=6,
)


@examples(60)
@given(MESSAGES, st.booleans(), st.sampled_from([None, 1]))
def test_what_was_inserted_is_removed_again(messages: list[dict[str, Any]], ascii_only: bool, indent: Any) -> None:
    body = json.dumps({"model": "m", "messages": messages}, ensure_ascii=ascii_only, indent=indent).encode()
    asked = MessagesRequest.parse(body)
    turn = asked.find_turn({})
    if turn is None:
        return
    written = write(body, BLOCK, turn.index)
    before = asked.locate_message(turn.index).start
    assert written.decode()[:before] == body.decode()[:before]
    content = json.loads(written)["messages"][turn.index]["content"]
    at = content.index(words(BLOCK))
    assert {part["type"] for part in content[:at]} <= {"tool_result"}
    original = messages[turn.index]["content"]
    messages[turn.index]["content"] = [words(original)] if isinstance(original, str) else original
    assert json.loads(write(written))["messages"] == messages
    assert content[:at] + content[at + 1 :] == messages[turn.index]["content"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | PARTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "type"]), inner),
    max_leaves=6,
)


@examples(40)
@given(st.lists(JSON, max_size=4), JSON, JSON)
def test_any_json_is_read_or_an_error(messages: Any, metadata: Any, limit: Any) -> None:
    try:
        asked = request(*messages, metadata=metadata, max_tokens=limit)
    except ValueError:
        return
    asked.find_session()
    asked.find_continued_reply()
    turn = asked.find_turn({})
    json.loads(write_request(asked, "m", BLOCK, turn.index) if turn else write_request(asked, "m"))


# --------------------------------------------------------------------------------- the reply


def events(*values: Any) -> bytes:
    return b"".join(f"event: {value.get('type')}\ndata: {json.dumps(value)}\n\n".encode() for value in values)


def start(index: int, block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(reason: str) -> tuple[dict[str, Any], ...]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}}, {"type": "message_stop"}


BEGIN = {"type": "message_start", "message": {"model": "m-1", "content": [], "stop_reason": None}}
STREAM = (
    *(BEGIN, {"type": "ping"}, start(0, {"type": "thinking", "thinking": ""})),
    *(delta(0, "thinking_delta", thinking="Hm."), delta(0, "signature_delta", signature="c2ln")),
    *(start(1, words("")), delta(1, "text_delta", text="She moves "), delta(1, "text_delta", text="in ")),
    *(start(2, words("")), delta(2, "citations_delta", citation={}), delta(2, "text_delta", text="May.")),
)


def read(*pieces: bytes, kind: str = "text/event-stream") -> Reply:
    reader = open_reader(kind, "", MessagesReply())
    assert reader is not None
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader.reply


def read_body(*content: Any, reason: str = "end_turn") -> Reply:
    body = {"type": "message", "model": "m-1", "content": content, "stop_reason": reason}
    return read(json.dumps(body).encode(), kind="application/json")


def test_a_stream_is_joined_wherever_it_is_cut() -> None:
    data = events(*STREAM, *stop("end_turn"))
    for at in range(len(data)):
        reply = read(data[:at], data[at:])
        assert (reply.text, reply.is_partial, reply.model) == ("She moves in May.", False, "m-1")


def test_a_message_has_the_same_text_whole_streamed_and_resent() -> None:
    content = [THOUGHT, words("Let me search."), SEARCH, FOUND, words("She moves "), words("in May.")]
    streamed = [each for index, block in enumerate(content) for each in [start(index, block)]]
    expected = "Let me search.\nShe moves in May."
    assert read(events(BEGIN, *streamed, *stop("end_turn"))).text == read_body(*content).text == expected
    assert texts(user("When?"), bot(content), user("Ah."))[1] == expected
    assert not read_body(*content).is_partial


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded"])
def test_a_reply_that_is_cut_off_is_partial(reason: str) -> None:
    assert read(events(*STREAM, *stop(reason))).is_partial
    assert read_body(words("She"), reason=reason).is_partial
    assert not read_body(words("She."), reason="stop_sequence").is_partial


def test_a_stream_that_breaks_off_or_ends_with_an_error_is_partial() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for ends in ((), (error,)):
        reply = read(events(*STREAM, *ends))
        assert (reply.text, reply.is_partial, reply.is_finished) == ("She moves in May.", True, False)
    assert not read(events(*STREAM, {"type": "message_stop"})).is_partial


def test_calls_of_tools_have_no_words_and_words_before_them_are_partial() -> None:
    assert read_body(CALL, reason="tool_use").text == ""
    called = start(3, {**CALL, "input": {}}), delta(3, "input_json_delta", partial_json='{"text": "no"}')
    reply = read(events(*STREAM, *called, *stop("tool_use")))
    assert (reply.text, reply.is_partial) == ("She moves in May.", True)


@examples(20)
@given(
    st.lists(JSON, max_size=2), st.sampled_from(["message", "content_block_start", "content_block_delta", "?"]), JSON
)
def test_any_event_is_read(values: list[Any], kind: str, value: Any) -> None:
    reply = MessagesReply()
    for each in [*values, {"type": kind, "delta": value, "content_block": value, "content": value, "model": value}]:
        reply.add(each)
    assert isinstance(reply.text, str)
