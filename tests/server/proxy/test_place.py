"""Memories are inserted directly before the newest message; everything else of a body keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hardship.pumps import Pump, grows
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.proxy.formats.chat_completions import ChatRequest
from everthread.server.proxy.memory_block import BLOCK_ROLES, BlockRole, MemoryBlock
from everthread.server.proxy.place import remove_own, write_request

BLOCK = MemoryBlock('[2 June 2024]\nNora: "My sister Mia" — é 😀\n', (4, 7)).text
# Spelling that no library writes: escapes, white space, numbers, an unknown field, the same field in a message twice.
PECULIAR = rb"""{ "temperature" : 1.0e0,"model":"m",
  "messages":[ {"role":"system","content":"B\u0065 kind\/"} ,{"role":"user","content":"caf\u00e9","x":1e2},
{"content":"Hello.","role":"assistant"},  {"role":"user","content":"Where does Mia live?" } ], "x_unknown":[1 , 2] }"""
CONTENTS = st.text(max_size=8) | st.just([{"type": "text", "text": "Hi."}, {"type": "image_url", "image_url": {}}])
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": CONTENTS}),
    min_size=1,
    max_size=6,
)


def write(body: bytes, block: str = "", index: int = 0, role: BlockRole = "system", model: str = "m") -> bytes:
    return write_request(ChatRequest.parse(body), model, block, index, role)


def body_with(*messages: Any, **fields: Any) -> bytes:
    return json.dumps({"model": "m", **fields, "messages": messages}).encode()


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_a_body_with_nothing_to_change_is_the_same_object() -> None:
    assert write(PECULIAR) is not None
    request = ChatRequest.parse(PECULIAR)
    assert write_request(request, "m") is request.body


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_message_is_inserted_before_the_newest_and_no_other_byte_changes(role: BlockRole) -> None:
    written = write(PECULIAR, BLOCK, 3, role)
    at = PECULIAR.index(b'{"role":"user","content":"Where')
    assert written.startswith(PECULIAR[:at])
    assert written.endswith(PECULIAR[at:])
    messages = json.loads(written)["messages"]
    assert messages[3] == {"role": role, "content": BLOCK}
    assert [*messages[:3], *messages[4:]] == json.loads(PECULIAR)["messages"]


def test_a_prefix_is_inserted_in_the_newest_message() -> None:
    written = write(PECULIAR, BLOCK, 3, "user-prefix")
    at = PECULIAR.index(b"Where does")
    assert written.startswith(PECULIAR[:at])
    assert written.endswith(PECULIAR[at:])
    assert json.loads(written)["messages"][3]["content"] == f"{BLOCK}\n\nWhere does Mia live?"


def test_a_prefix_of_a_list_is_a_part_of_its_own() -> None:
    content = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "Who is this?"}]
    written = write(body_with(user(content)), BLOCK, 0, "user-prefix")
    assert json.loads(written)["messages"][0]["content"] == [{"type": "text", "text": BLOCK}, *content]


@given(MESSAGES, st.sampled_from(BLOCK_ROLES), st.data(), st.booleans(), st.sampled_from([None, 1]))
def test_what_was_inserted_is_removed_again(
    messages: list[dict[str, Any]], role: BlockRole, data: st.DataObject, ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps({"model": "m", "messages": messages}, ensure_ascii=ascii_only, indent=indent).encode(
        "utf-8", "surrogatepass"
    )
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        return
    index = data.draw(st.sampled_from(users))
    written = write(body, BLOCK, index, role)
    before = ChatRequest.parse(body).locate_message(index).start
    assert written.decode()[:before] == body.decode()[:before]
    assert json.loads(write(written)) == json.loads(body)


@pytest.mark.parametrize("spelling", ["", "E", "["])
@pytest.mark.parametrize("escape", [True, False])
def test_a_block_that_another_program_has_serialised_is_removed(escape: bool, spelling: str) -> None:
    sent = [
        user("Hi."),
        {"role": "system", "content": BLOCK},
        user(f"{BLOCK}\n\nWho is Mia?"),
        user([{"type": "text", "text": BLOCK}]),
    ]
    text = json.dumps({"model": "m", "messages": sent}, ensure_ascii=escape)
    if spelling:
        text = text.replace(f'"{BLOCK[:2]}', f'"{BLOCK[:2]}'.replace(spelling, f"\\u{ord(spelling):04X}"))
    assert json.loads(write(text.encode()))["messages"] == [user("Hi."), user("Who is Mia?"), user([])]


@pytest.mark.parametrize("role", BLOCK_ROLES)
def test_a_block_that_comes_back_in_the_newest_message_is_replaced(role: BlockRole) -> None:
    old = MemoryBlock("Nora: Hello.", (1,)).text
    texts = [f"{old}\n\nHi.", [{"type": "text", "text": old}, {"type": "text", "text": "Hi."}]]
    for content in [*texts, [{"type": "text", "text": f"{old}\n\nHi."}], [{"type": "text", "text": old}] * 2]:
        written = json.loads(write(body_with(user(content)), BLOCK, 0, role))
        assert BLOCK in str(written["messages"]).replace("\\n", "\n").replace("\\'", "'")
        assert "Nora: Hello." not in str(written)


def test_the_blocks_of_messages_are_removed_in_linear_time() -> None:
    message = json.dumps(user(f"{BLOCK}\n\nHi."))
    part = json.dumps({"type": "text", "text": f"{BLOCK}\n\nHi."})
    for begin, again, end in (
        ('{"model": "m", "messages": [', f"{message}, ", f"{message}]}}"),
        ('{"model": "m", "messages": [{"role": "user", "content": [', f"{part}, ", f"{part}]}}]}}"),
    ):
        assert not grows(lambda text: write(text.encode()), Pump(begin, again, end), 1_000_000)


def test_fields_of_ours_that_are_doubled_are_removed() -> None:
    body = (
        b'{"model":"m","metadata":{"bank":"a","x":1,"bank":"b","bank":"c"},"messages":[{"role":"user","content":""}]}'
    )
    assert write(body) == body.replace(b'"bank":"a",', b"").replace(b',"bank":"b","bank":"c"', b"")


def test_fields_of_ours_are_removed_and_others_stay() -> None:
    body = body_with(
        user("Hi."), everthread={"bank": "a"}, metadata={"bank": "a", "session_id": "s"}, user="nora", x=[1.50]
    ).replace(b"1.5", b"1.50")
    written = write(body, model="n")
    assert written == body.replace(b'"everthread": {"bank": "a"}, ', b"").replace(b'"bank": "a", ', b"").replace(
        b'"model": "m"', b'"model": "n"'
    )
    last = json.dumps({"messages": [user("Hi.")], "model": "m", "metadata": {"bank": "a"}, "everthread": {}}).encode()
    assert json.loads(write(last)) == {"messages": [user("Hi.")], "model": "m"}


@pytest.mark.parametrize(
    ("body", "without", "bank"),
    [
        (b'{ "model":"m@nora","x":1.0}', b'{ "model":"m","x":1.0}', "nora"),
        (b'{"name":"m@nora"}', b'{"name":"m"}', "nora"),
        (b'{"model":"m@a", "x":1, "model":"m@b"}', b'{"model":"m", "x":1, "model":"m"}', "b"),
        (b'{"everthread":{}, "x":1e0, "everthread" : {"bank":"a"}}', b'{"x":1e0}', None),
        (b'{"metadata":{"bank":"a","y":1},"metadata":{"bank":"b"}}', b'{"metadata":{"y":1}}', None),
        (b'{"metadata":{"bank":3,"y":1}}', b'{"metadata":{"y":1}}', None),
        (b'{"metadata":{"bank":[3]}}', b'{"metadata":{"bank":[3]}}', None),
        (b'{"model":"m@default"}', b'{"model":"m@default"}', None),
        (b'{"model":3}', b'{"model":3}', None),
        (b"[]", b"[]", None),
        (b'{"model":"m@nora"} {}', b'{"model":"m@nora"} {}', None),
        (b"\xff", b"\xff", None),
    ],
)
def test_what_is_meant_for_us_is_removed_from_any_request(body: bytes, without: bytes, bank: str | None) -> None:
    assert remove_own(body, lambda _: False) == (without, bank)
