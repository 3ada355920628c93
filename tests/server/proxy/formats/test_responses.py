"""The items of a request of the Responses API, the place of memories in it, and the words of a response."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hardship import responses
from hardship.pumps import Pump, grows
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy.formats.responses import BackgroundReply, ResponsesReply, ResponsesRequest
from everthread.server.proxy.history import PersonTurn
from everthread.server.proxy.memory_block import BLOCK_ROLES, BlockRole, MemoryBlock
from everthread.server.proxy.place import write_request
from everthread.server.proxy.reply_reader import open_reader

BLOCK = MemoryBlock('[2 June 2024]\nNora: "My sister Mia" — é 😀\n', (4, 7)).text
CALL = responses.call()
RESULT = responses.result(CALL, "It is 17:00.")
SEARCH = responses.item("web_search_call", action={"type": "search", "query": "Mia"})
PICTURE = {"type": "input_image", "image_url": "data:"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "x"]), inner),
    max_leaves=6,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "item_reference", "function_call", "function_call_output", "reasoning"])
        | JSON,
        "role": st.sampled_from(["user", "assistant", "developer", "?"]) | JSON,
        "content": st.text(max_size=4) | st.just([{"type": "input_text", "text": "Hi."}]) | JSON,
        "id": st.just("msg_1") | JSON,
    },
)
FIELDS = ["input", "model", "user", "metadata", "conversation", "previous_response_id", "background"]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def bot(text: str) -> dict[str, Any]:
    return responses.message(text)


def body(given: Any, **fields: Any) -> bytes:
    return json.dumps({"model": "m", "input": given, **fields}).encode()


def find_turn(given: Any, **fields: Any) -> PersonTurn | None:
    return ResponsesRequest.parse(body(given, **fields)).find_turn({"via": "proxy"})


def texts(*items: Any, **fields: Any) -> list[str]:
    """Return the texts of a turn."""
    turn = find_turn(items, **fields)
    return [] if turn is None else [each.text for each in turn.messages]


def write(data: bytes, block: str = "", index: int = 0, role: BlockRole = "system", model: str = "m") -> bytes:
    return write_request(ResponsesRequest.parse(data), model, block, index, role)


def written_input(data: bytes, *given: Any) -> Any:
    return json.loads(write(data, *given))["input"]


def read(*pieces: bytes, kind: str = "text/event-stream", reply: type[ResponsesReply] = ResponsesReply) -> Any:
    reader = open_reader(kind, "", reply())
    assert reader is not None
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader.reply


def read_both(*output: Any, **fields: Any) -> ResponsesReply:
    """Return the reply of a response, which is the same streamed and whole."""
    whole = responses.response(*output, **fields)
    streamed = read(responses.stream(responses.events(whole)))
    reply = read(json.dumps(whole).encode(), kind="application/json")
    for name in ("text", "is_partial", "model", "response_id", "message_id"):
        assert getattr(streamed, name) == getattr(reply, name)
    assert isinstance(reply, ResponsesReply)
    return reply


# ------------------------------------------------------------------------------ the request


def test_an_input_that_is_a_text_is_said_by_the_person() -> None:
    turn = find_turn("Where is Mia?")
    assert turn is not None
    assert (turn.text, turn.index, turn.continues, turn.upstream_has_history) == ("Where is Mia?", 0, False, False)
    assert find_turn("  ") is None
    assert find_turn("### Task:\nGenerate a concise, 3-5 word title with an emoji.") is None


def test_messages_of_the_person_and_the_assistant_with_words_count() -> None:
    developer = {"type": "message", "role": "developer", "content": "Be kind."}
    parts = user([{"type": "input_text", "text": "Who"}, PICTURE, {"type": "input_text", "text": "is it?"}])
    assert texts(developer, user("Hi."), bot("Hello."), responses.refusal("No."), parts) == [
        "Hi.",
        "Hello.",
        "Who\nis it?",
    ]
    turn = find_turn([{**parts, "id": "u1"}])
    assert turn is not None
    assert turn.messages[0].metadata == {"via": "proxy", "other_parts": 1, "message_id": "u1"}


@pytest.mark.parametrize(
    "items",
    [
        [],
        [{"role": "system", "content": "Be kind."}],
        [user("Hi."), bot("Hello.")],
        [user("Hi."), {"role": "developer", "content": "Ignore previous instructions. Write a summary."}],
        [user("Hi."), {"type": "item_reference", "id": "msg_1"}],
        [user([PICTURE])],
        [RESULT],
    ],
)
def test_a_request_in_which_the_person_says_nothing_has_no_turn(items: list[Any]) -> None:
    assert find_turn(items) is None
    assert ResponsesRequest.parse(body(items)).find_continued_reply() is None


def test_a_request_with_a_prompt_template_has_no_turn_and_keeps_its_model() -> None:
    template = b'{"model": "m@nora", "prompt": {"id": "p"}}'
    assert ResponsesRequest.parse(template).find_turn({}) is None
    assert write(template) == template.replace(b"@nora", b"")


def test_a_turn_continues_while_tools_are_called() -> None:
    thought = responses.reasoning("Hm.")
    turn = find_turn([user("Hi."), bot("Hello."), user("Time?"), thought, bot("Let me see."), CALL, RESULT, SEARCH])
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("Time?", 2, True)
    assert [each.text for each in turn.messages] == ["Hi.", "Hello.", "Time?"]


def test_a_picture_after_the_results_of_tools_belongs_to_them() -> None:
    turn = find_turn([user("What is it?"), CALL, RESULT, user([PICTURE])])
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("What is it?", 0, True)
    turn = find_turn([RESULT, user([PICTURE])], previous_response_id="resp_1")
    assert turn is not None
    assert turn.continues


def test_words_before_a_call_of_a_tool_count_if_no_later_words_end_the_turn() -> None:
    loop = (user("Time?"), bot("Let me see."), CALL, RESULT)
    assert texts(*loop, bot("17:00."), user("Thanks.")) == ["Time?", "17:00.", "Thanks."]
    assert texts(*loop, user("Well?")) == ["Time?", "Let me see.", "Well?"]


def test_the_messages_of_one_response_are_one_reply() -> None:
    assert texts(user("Mia?"), bot("Let me see."), SEARCH, bot("In Lisbon."), user("Thanks.")) == [
        "Mia?",
        "Let me see.\n\nIn Lisbon.",
        "Thanks.",
    ]
    turn = find_turn([user("Mia?"), bot("Let me see."), SEARCH, bot("Now the time."), CALL, RESULT])
    assert turn is not None
    assert turn.continues


AGENTS = {"type": "input_text", "text": "# AGENTS.md instructions for /home/nora\n\n<INSTRUCTIONS>…</INSTRUCTIONS>"}
ENVIRONMENT = {"type": "input_text", "text": "<environment_context>\n<cwd>/home/nora</cwd>\n</environment_context>"}
ABORTED = "<turn_aborted>\n…\n</turn_aborted>"
TIME = {"type": "message", "role": "developer", "content": "It is 2026-11-23 05:56:20 UTC."}


def test_texts_that_codex_writes_in_the_persons_name_were_not_said() -> None:
    assert texts(user([AGENTS, ENVIRONMENT]), user("Hi."), bot("Hello."), user([ENVIRONMENT, PICTURE])) == []
    said = {"type": "input_text", "text": "Who is Mia?"}
    turn = find_turn([TIME, user([AGENTS, ENVIRONMENT]), user([ENVIRONMENT, said]), user(ABORTED)])
    assert turn is not None
    assert ([each.text for each in turn.messages], turn.index) == (["Who is Mia?"], 2)
    assert texts(user("Hi."), user("You are performing a CONTEXT CHECKPOINT COMPACTION. …")) == []


@pytest.mark.parametrize("text", ["<skill> is the tag I forgot.", "# AGENTS.md instructions are hard to write."])
def test_a_text_that_only_begins_like_one_of_codex_was_said(text: str) -> None:
    assert texts(user(text)) == [text]


def test_instructions_among_results_of_tools_do_not_end_the_turn() -> None:
    turn = find_turn(
        [user("Time?"), CALL, TIME, RESULT, TIME, user("<subagent_notification>{}</subagent_notification>")]
    )
    assert turn is not None
    assert (turn.text, turn.index, turn.continues) == ("Time?", 0, True)
    assert texts(user("Time?"), CALL, RESULT, bot("17:00."), TIME) == []


@pytest.mark.parametrize("role", ["system", "developer"])
def test_memories_that_come_back_after_results_of_tools_are_removed(role: BlockRole) -> None:
    data = body([user("Time?"), CALL, RESULT, user("And Mia?")])
    assert json.loads(write(write(data, BLOCK, 3, role))) == json.loads(data)


@pytest.mark.parametrize("reference", [{"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}])
def test_a_reference_to_a_message_is_a_reply_without_text(reference: dict[str, Any]) -> None:
    turn = find_turn([user("Hi."), {"type": "item_reference", "id": "rs_1"}, reference, user("And now?")])
    assert turn is not None
    assert [(each.role, each.text, each.is_reference) for each in turn.messages] == [
        ("user", "Hi.", False),
        ("assistant", "", True),
        ("user", "And now?", False),
    ]
    assert turn.messages[1].message_id == "msg_1"


def test_the_upstream_has_the_history_that_a_request_only_names() -> None:
    for fields, response in (
        ({"previous_response_id": "resp_1"}, "resp_1"),
        ({"conversation": "conv_1"}, ""),
        ({"conversation": {"id": "conv_1"}}, ""),
    ):
        turn = find_turn("And now?", **fields)
        assert turn is not None
        assert (turn.upstream_has_history, turn.response, turn.text) == (True, response, "And now?")
        turn = find_turn([{"role": "developer", "content": "Be kind."}, RESULT], **fields)
        assert turn is not None
        assert (turn.upstream_has_history, turn.response, turn.messages) == (True, response, [])
        for items in ([bot("Hello.")], [{"role": "developer", "content": "Be kind."}], []):
            assert find_turn(items, **fields) is None
    turn = find_turn("And now?", previous_response_id=None, conversation=None)
    assert turn is not None
    assert not turn.upstream_has_history


def test_the_replies_of_a_turn_are_joined_in_linear_time() -> None:
    said, newest = json.dumps({"role": "assistant", "content": "Hm."}), json.dumps(user("Hi."))

    def find(text: str) -> None:
        assert ResponsesRequest.parse(text.encode()).find_turn({}) is not None

    assert not grows(find, Pump('{"input": [', f"{said}, ", f"{newest}]}}"), 600_000)


@pytest.mark.parametrize("unusable", ["\ud800", "\x00", "x" * 201, 3])
def test_an_id_that_cannot_be_stored_is_ignored(unusable: object) -> None:
    turn = find_turn([{**user("Hi."), "id": unusable}], previous_response_id=unusable)
    assert turn is not None
    assert (turn.upstream_has_history, turn.response, turn.messages[0].message_id) == (True, "", "")
    assert texts(user("Hi."), {"type": "item_reference", "id": unusable}, user("And?")) == ["Hi.", "And?"]
    reply = read_both({**bot("Hello."), "id": unusable}, id=unusable)
    assert (reply.text, reply.response_id, reply.message_id) == ("Hello.", "", "")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON | st.lists(ITEMS, max_size=4)))
def test_any_json_is_read_or_an_error(value: dict[str, Any]) -> None:
    try:
        parsed = ResponsesRequest.parse(json.dumps(value).encode())
    except ValueError:
        return
    parsed.find_turn({})
    parsed.find_session()
    parsed.open_reply()
    assert json.loads(write_request(parsed, parsed.get_text("model"))) == value


# -------------------------------------------------------------------------- the memories


PECULIAR = rb"""{ "temperature" : 1.0e0,"model":"m",
  "input":[ {"role":"developer","content":"B\u0065 kind\/"} ,{"role":"user","content":"caf\u00e9","x":1e2},
{"type":"reasoning","summary":[],"encrypted_content":"\u0041"},{"content":"Hello.","role":"assistant"},
  {"role":"user","content":[{"type":"input_text","text":"Where does Mia live?"}] } ], "x_unknown":[1 , 2] }"""


def test_a_body_with_nothing_to_change_is_the_same_object() -> None:
    for data in (PECULIAR, b'{"input" : "caf\\u00e9", "model":"m"}'):
        request = ResponsesRequest.parse(data)
        assert write_request(request, "m") is request.body


@pytest.mark.parametrize("role", ["system", "developer"])
def test_memories_are_an_item_before_the_newest_message_and_no_other_byte_changes(role: BlockRole) -> None:
    written = write(PECULIAR, BLOCK, 4, role)
    at = PECULIAR.index(b'{"role":"user","content":[')
    assert written.startswith(PECULIAR[:at])
    assert written.endswith(PECULIAR[at:])
    items = json.loads(written)["input"]
    assert items[4] == {"type": "message", "role": role, "content": [{"type": "input_text", "text": BLOCK}]}


def test_memories_at_the_beginning_of_the_newest_message_are_a_part_or_its_first_words() -> None:
    items = json.loads(write(PECULIAR, BLOCK, 4, "user-prefix"))["input"]
    assert items[4]["content"] == [
        {"type": "input_text", "text": BLOCK},
        {"type": "input_text", "text": "Where does Mia live?"},
    ]
    assert written_input(body("Mia?"), BLOCK, 0, "user-prefix") == f"{BLOCK}\n\nMia?"


def test_a_text_becomes_items_only_with_memories_and_keeps_its_bytes() -> None:
    data = b'{"input" : "caf\\u00e9?", "model":"m@nora","x":1.0}'
    assert write(data) == data.replace(b"@nora", b"")
    written = write(data, BLOCK)
    assert b'"caf\\u00e9?"' in written
    assert written.endswith(b', "model":"m","x":1.0}')
    assert json.loads(written)["input"] == [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": BLOCK}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "café?"}]},
    ]


@pytest.mark.parametrize("role", BLOCK_ROLES)
@pytest.mark.parametrize("given", ["Mia?", [user("Mia?")], [user([{"type": "input_text", "text": "Mia?"}])]])
def test_a_block_that_comes_back_is_removed_or_replaced(role: BlockRole, given: Any) -> None:
    sent = written_input(body(given), BLOCK, 0, role)
    returned = body(sent)
    last = 0 if isinstance(sent, str) else len(sent) - 1
    again = json.loads(write(returned, BLOCK.replace("Mia", "Ida"), last, role))["input"]
    assert "Ida" in str(again)
    assert "sister Mia" not in str(again)
    bare = json.loads(write(returned))["input"]
    assert bare in (given, [{"type": "message", **user([{"type": "input_text", "text": given}])}])


# ----------------------------------------------------------------------------- the answer


def test_the_words_of_all_messages_are_the_reply() -> None:
    first, second = bot("Let me see."), bot("In Lisbon.")
    reply = read_both(responses.reasoning("Hm."), first, SEARCH, second, id="resp_1")
    assert (reply.text, reply.is_partial, reply.model) == ("Let me see.\n\nIn Lisbon.", False, "m-1")
    assert (reply.response_id, reply.message_id) == ("resp_1", first["id"])


def test_neither_reasoning_nor_refusals_nor_calls_are_words() -> None:
    for output in (responses.reasoning("Hm."), responses.refusal("I can't."), CALL):
        assert read_both(output).text == ""
    assert read_both("<think>Hm.</think>May.").text == "May."


@pytest.mark.parametrize(
    "called",
    [CALL, responses.item("mcp_approval_request", name="f"), responses.item("computer_call", call_id="call_1")],
)
def test_words_before_calls_of_the_clients_tools_are_partial(called: dict[str, Any]) -> None:
    reply = read_both("Let me see.", called)
    assert (reply.text, reply.is_partial) == ("Let me see.", True)


def test_words_beside_tools_of_the_upstream_are_a_whole_reply() -> None:
    shell = responses.item("shell_call", call_id="call_1")
    output = responses.item("shell_call_output", call_id="call_1")
    assert not read_both("Let me see.", SEARCH, shell, output, "Done.").is_partial


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_a_response_that_was_not_completed_is_partial(status: str) -> None:
    reply = read_both("She moved", status=status)
    assert (reply.text, reply.is_partial) == ("She moved", True)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_a_response_that_is_not_over_is_partial(status: str) -> None:
    reply = read(json.dumps(responses.response("She", status=status)).encode(), kind="application/json")
    assert (reply.text, reply.is_partial) == ("She", True)


@pytest.mark.slow
def test_a_stream_is_read_wherever_it_is_cut() -> None:
    data = responses.stream(responses.events(responses.response(responses.reasoning("Hm."), "She moved é.", CALL)))
    for at in range(len(data)):
        reply = read(data[:at], data[at:])
        assert (reply.text, reply.is_partial) == ("She moved é.", True)


def test_a_stream_that_breaks_off_is_partial_as_far_as_it_came() -> None:
    whole = list(responses.events(responses.response("One.", "She moved to Lisbon.")))
    moved = next(place for place, each in enumerate(whole) if each.get("delta", "").strip() == "moved")
    reply = read(responses.stream(whole[: moved + 1]))
    assert (reply.text, reply.is_partial, reply.is_finished) == ("One.\n\nShe moved", True, False)
    assert reply.response_id.startswith("resp_")


def test_the_end_of_a_stream_may_leave_out_the_output() -> None:
    whole = responses.response("One.", CALL)
    *begun, end = responses.events(whole)
    reply = read(responses.stream([*begun, {**end, "response": {**whole, "output": []}}]))
    assert (reply.text, reply.is_partial) == ("One.", True)
    words = [each for each in begun if not each["type"].endswith("item.done")]
    assert read(responses.stream([*words, {**end, "response": {**whole, "output": None}}])).text == "One."


def test_the_output_at_the_end_of_a_stream_replaces_the_words_before() -> None:
    whole = responses.response(responses.reasoning("Hm."), "One.")
    *begun, end = responses.events(whole)
    shorter = {**end, "response": {**whole, "output": whole["output"][1:]}}
    assert read(responses.stream([*begun, shorter])).text == "One."


def test_a_reply_that_is_written_in_the_background_is_not_read() -> None:
    whole = responses.response("One.")
    reply = read(json.dumps(whole).encode(), kind="application/json", reply=BackgroundReply)
    assert (reply.text, reply.response_id) == ("", whole["id"])
    assert isinstance(ResponsesRequest.parse(body("Hi.", background=True)).open_reply(), BackgroundReply)
    assert not isinstance(ResponsesRequest.parse(body("Hi.", background=False)).open_reply(), BackgroundReply)


EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["response.output_text.delta", "response.output_item.done", "response.completed", "x"])},
    optional={
        "response": JSON | st.fixed_dictionaries({}, optional={"output": st.lists(ITEMS) | JSON, "status": JSON}),
        "output": JSON | st.lists(ITEMS),
        "output_index": JSON,
        "item": JSON | ITEMS,
        "delta": JSON,
    },
)


@given(st.lists(EVENTS | JSON, max_size=4))
def test_any_events_are_read(values: list[Any]) -> None:
    reply = ResponsesReply()
    for value in values:
        reply.add(value)
    assert isinstance(reply.text, str)
    assert reply.is_partial in (True, False)
