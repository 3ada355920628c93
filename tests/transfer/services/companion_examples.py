"""Small exports of companions, front ends and frameworks, written for these tests with the fields of the services.

Each has two turns of Nora and a reply of Aria or of a model, and what its service is known for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

ROOT = "00000000-0000-0000-0000-000000000000"


def rows(*values: object) -> bytes:
    """Return JSON Lines."""
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values).encode()


def plain(value: object) -> bytes:
    """Return JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


SILLYTAVERN: Sequence[dict[str, object]] = (
    {
        "user_name": "Nora",
        "character_name": "Aria",
        "create_date": "2024-6-2@20h10m00s",
        "chat_metadata": {"note_prompt": ""},
    },
    {"name": "Aria", "is_user": False, "send_date": "June 2, 2024 8:11pm", "mes": "Hello {{user}}, I am {{Char}}."},
    {"name": "Nora", "is_user": True, "send_date": "June 2, 2024 8:12pm", "mes": "Is <think> a tag?"},
    {
        "name": "Aria",
        "is_user": False,
        "send_date": "2024-6-5 @14h 56m 50s 682ms",
        "mes": "<think>A tag.</think>\n\nIt is.",
        "swipe_id": 1,
        "swipes": ["No.", "<think>A tag.</think>\n\nIt is.", "Perhaps."],
        "swipe_info": [{"send_date": "2024-6-5 @14h 56m 20s 1ms"}, {"send_date": "2024-6-5 @14h 56m 50s 682ms"}],
        "extra": {"reasoning": "Nora asks about a tag.", "model": "m-1"},
    },
    {"name": "System", "is_user": False, "is_system": True, "mes": "Help!", "extra": {"type": "help"}},
    {
        "name": "Nora",
        "is_user": True,
        "is_system": True,
        "send_date": "2025-11-03T19:40:12.345Z",
        "mes": "A hidden word.",
        "extra": {"file": {"name": "offer.txt", "url": "/user/files/1.txt"}},
    },
)

CHARACTERAI_TURNS: dict[str, Any] = {
    "turns": [  # newest first
        {
            "turn_key": {"chat_id": "chat-1", "turn_id": "t3"},
            "create_time": "2024-06-02T20:13:00.5Z",
            "author": {"author_id": "c", "name": "Aria"},
            "candidates": [
                {"candidate_id": "k3a", "create_time": "2024-06-02T20:13:00.5Z", "raw_content": "No."},
                {"candidate_id": "k3b", "create_time": "2024-06-02T20:13:30Z", "raw_content": "It is blue."},
                {"candidate_id": "k3c", "create_time": "2024-06-02T20:13:40Z", "raw_content": ""},
            ],
            "primary_candidate_id": "k3b",
        },
        {
            "turn_key": {"chat_id": "chat-1", "turn_id": "t2"},
            "create_time": "2024-06-02T20:12:00Z",
            "author": {"author_id": "u", "name": "Nora", "is_human": True},
            "candidates": [{"candidate_id": "k2", "create_time": "2024-06-02T20:12:00Z", "raw_content": "Which?"}],
            "primary_candidate_id": "k2",
        },
        {
            "turn_key": {"chat_id": "chat-1", "turn_id": "t1"},
            "create_time": "2024-06-02T20:11:00Z",
            "author": {"author_id": "c", "name": "Aria"},
            "candidates": [{"candidate_id": "k1", "raw_content": "I have a door."}],
            "primary_candidate_id": "k1",
        },
    ],
    "meta": {"next_token": ""},
}

CHARACTERAI_HISTORIES: dict[str, Any] = {
    "info": {"character": {"name": "Aria"}},
    "histories": {
        "histories": [
            {
                "external_id": "h1",
                "msgs": [
                    {
                        "src": {"is_human": False, "name": "Aria"},
                        "text": "I have a door.",
                        "created": "2023-06-02T20:11:00Z",
                    },
                    {"src": {"is_human": True, "name": "Nora"}, "text": "Which?", "created": "2023-06-02T20:12:00Z"},
                    {
                        "src": {"is_human": False, "name": "Aria"},
                        "text": "The blue one.",
                        "created": "2023-06-02T20:13:00Z",
                    },
                ],
            },
            {
                "external_id": "h2",
                "msgs": [  # newest first
                    {"src": {"is_human": False}, "text": "Later.", "created": "2023-06-03T20:12:00Z"},
                    {"src": {"is_human": True}, "text": "Sooner.", "created": "2023-06-03T20:11:00Z"},
                ],
            },
        ]
    },
}

RISUAI = {
    "type": "risuChat",
    "ver": 2,
    "data": {
        "id": "r1",
        "name": "Chat 1",
        "note": "",
        "localLore": [],
        "fmIndex": -1,
        "message": [
            {"role": "user", "data": "Which door?", "chatId": "m1", "time": 1717359060000, "disabled": True},
            {
                "role": "char",
                "data": "<Thoughts>\nThe blue.\n</Thoughts>\nThe blue one.",
                "chatId": "m2",
                "saying": "a",
            },
            {"role": "char", "data": "Write more.", "chatId": "m3", "isComment": True},
            {"role": "user", "data": "Thank you.", "chatId": "m4", "time": 1717359120000},
        ],
    },
    "folders": [],
}

OPENWEBUI: list[dict[str, Any]] = [
    {
        "id": "w1",
        "title": "Doors",
        "created_at": 1717359000,
        "chat": {
            "models": ["m-1", "m-2"],
            "history": {
                "currentId": "4",
                "messages": {
                    "1": {
                        "id": "1",
                        "parentId": None,
                        "role": "user",
                        "content": "Which door?",
                        "timestamp": 1717359060,
                    },
                    "2": {
                        "id": "2",
                        "parentId": "1",
                        "role": "assistant",
                        "model": "m-1",
                        "modelName": "Model One",
                        "timestamp": 1717359070,
                        "content": '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> Blue\n'
                        '</details>\nThe blue one.\n<details type="tool_calls" name="x">\n</details>',
                    },
                    "3": {
                        "id": "3",
                        "parentId": "1",
                        "role": "assistant",
                        "model": "m-2",
                        "timestamp": 1717359071,
                        "content": "rendered",
                        "output": [
                            {"type": "reasoning", "content": []},
                            {"type": "message", "content": [{"type": "output_text", "text": "The red one."}]},
                            {"type": "function_call", "name": "x"},
                        ],
                    },
                    "4": {
                        "id": "4",
                        "parentId": "2",
                        "role": "user",
                        "content": 'See <details type="reasoning">x</details>',
                        "timestamp": 1717359080,
                        "files": [{"name": "offer.txt"}],
                    },
                },
            },
        },
    },
    {
        "id": "w2",
        "title": "Old",
        "chat": {"messages": [{"id": "9", "role": "user", "content": "Old.", "timestamp": 1717000000}]},
    },
]

LIBRECHAT = {
    "conversationId": "l1",
    "title": "Doors",
    "exportAt": "10:00:00 GMT+0000",
    "branches": True,
    "recursive": True,
    "messagesTree": [
        {
            "messageId": "1",
            "parentMessageId": ROOT,
            "text": "Which door?",
            "sender": "User",
            "isCreatedByUser": True,
            "createdAt": "2024-06-02T20:11:00.000Z",
            "children": [
                {
                    "messageId": "2",
                    "parentMessageId": "1",
                    "text": "The red one.",
                    "sender": "GPT-4",
                    "isCreatedByUser": False,
                    "createdAt": "2024-06-02T20:11:10.000Z",
                    "children": [],
                },
                {
                    "messageId": "3",
                    "parentMessageId": "1",
                    "text": "",
                    "content": [
                        {"type": "think", "think": "Blue?"},
                        {"type": "text", "text": {"value": "The blue one."}},
                        {"type": "tool_call", "tool_call": {}},
                        {"type": "text", "text": "Go in."},
                    ],
                    "sender": "GPT-4",
                    "isCreatedByUser": False,
                    "createdAt": "2024-06-02T20:12:00.000Z",
                    "children": [
                        {
                            "messageId": "4",
                            "parentMessageId": "3",
                            "text": "Thank you.",
                            "isCreatedByUser": True,
                            "createdAt": "2024-06-02T20:13:00.000Z",
                            "files": [{"filename": "offer.txt"}],
                        }
                    ],
                },
            ],
        }
    ],
}

GEMINI = [
    {
        "header": "Gemini Apps",
        "title": "Prompted And the other? Attached 2 files.",
        "time": "2024-06-02T20:20:00.123Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>The <b>red</b> one &amp; more:</p><ul><li>a</li></ul>"}],
    },
    {"header": "Gemini Apps", "title": "Used Gemini Apps", "time": "2024-06-02T20:15:00Z"},
    {"header": "Gemini Apps", "title": "Asked Which door?", "time": "2024-06-02T20:11:00Z"},
    {"header": "YouTube", "title": "Watched doors", "time": "2024-06-02T20:10:00Z"},
    {
        "header": "Gemini-Apps",
        "title": "Eingegebener Prompt: Guten Tag",
        "time": "2024-06-02T18:00:00Z",
        "safeHtmlItem": [{"html": "Hallo!"}],
    },
]

GEMINI_WORKSPACE = {
    "title": "Doors",
    "creation_time": "2024-06-02T20:10:00Z",
    "conversation_turns": [
        {"user_turn": {"prompt": "Which door?", "turn_index": 0, "turn_last_modified": "2024-06-02T20:11:00Z"}},
        {"system_turn": {"text": [{"data": "The red one."}], "turn_index": 1, "model_thoughts": [{"headline": "x"}]}},
        {"user_turn": {"prompt": "Which door to take?", "turn_index": 0, "turn_last_modified": "2024-06-02T20:12:00Z"}},
        {"system_turn": {"text": [{"data": "The blue"}, {"cards": [{"content": "one."}]}], "turn_index": 1}},
        {"user_turn": {"prompt": "x", "turn_index": 2, "turn_deleted_time": "2024-06-03T20:12:00Z"}},
    ],
}


def claude_code_row(number: int, parent: int | None, kind: str, content: object, **fields: object) -> dict[str, object]:
    """Return a row of a session of Claude Code."""
    common = {"sessionId": "s1", "isSidechain": False, "cwd": "/home/nora/doors", "type": kind}
    return {
        **common,
        "uuid": f"u{number}",
        "parentUuid": None if parent is None else f"u{parent}",
        "timestamp": f"2026-06-02T20:{number:02}:00.000Z",
        "message": {"role": kind, "content": content},
        **fields,
    }


CLAUDE_CODE = (
    claude_code_row(1, None, "user", "Which door?"),
    claude_code_row(2, 1, "assistant", [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "I look."}]),
    claude_code_row(3, 2, "assistant", [{"type": "tool_use", "name": "Read", "input": {}}]),
    claude_code_row(4, 3, "user", [{"type": "tool_result", "content": "blue"}]),
    claude_code_row(5, 4, "assistant", [{"type": "text", "text": "The red one."}]),
    claude_code_row(6, 4, "assistant", [{"type": "text", "text": "The blue one."}]),
    claude_code_row(7, None, "assistant", [{"type": "text", "text": "A subagent."}], isSidechain=True),
    claude_code_row(8, None, "system", "", subtype="compact_boundary", logicalParentUuid="u6"),
    claude_code_row(9, 8, "user", "This session is continued.", isCompactSummary=True),
    claude_code_row(10, 9, "user", "<command-name>/model</command-name>"),
    claude_code_row(11, 10, "user", "Thank you."),
    {"type": "summary", "summary": "The blue door", "leafUuid": "u11"},
)


def codex_row(minute: int, kind: str, **payload: object) -> dict[str, object]:
    """Return a row of a session of Codex."""
    return {"timestamp": f"2026-06-02T20:{minute:02}:00.000Z", "type": kind, "payload": payload}


def codex_message(minute: int, role: str, text: str) -> dict[str, object]:
    """Return a message in a session of Codex."""
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_row(minute, "response_item", type="message", role=role, content=[{"type": kind, "text": text}])


CODEX = (
    codex_row(0, "session_meta", id="x1", timestamp="2026-06-02T20:00:00Z", cwd="/home/nora/doors"),
    codex_message(0, "developer", "<permissions instructions>"),
    codex_message(0, "user", "<environment_context>\n</environment_context>"),
    codex_message(1, "user", "Which door?"),
    codex_row(1, "event_msg", type="user_message", message="Which door?"),
    codex_row(2, "response_item", type="reasoning", summary=[]),
    codex_row(2, "response_item", type="function_call", name="shell"),
    codex_row(2, "response_item", type="function_call_output", output="blue"),
    codex_row(3, "event_msg", type="agent_message", message="The blue one."),
    codex_message(3, "assistant", "The blue one."),
    codex_row(4, "event_msg", type="user_message", message="Thank you."),
)

LANGCHAIN = [
    {"type": "system", "data": {"content": "Be kind."}},
    {"type": "human", "data": {"content": "Which door?", "name": "Nora", "id": None}},
    {
        "type": "ai",
        "data": {"content": [{"type": "tool_use", "id": "c"}], "tool_calls": [{"name": "look"}], "id": "run-1"},
    },
    {"type": "tool", "data": {"content": "blue", "tool_call_id": "c"}},
    {"type": "AIMessageChunk", "data": {"content": ["The blue ", {"type": "text", "text": "one."}], "id": "run-2"}},
    {"type": "chat", "data": {"content": "Go in.", "role": "Aria"}},
]

LLAMAINDEX: dict[str, Any] = {
    "store": {
        "nora": [
            {"role": "system", "blocks": [{"block_type": "text", "text": "Be kind."}]},
            {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Which door?"}]},
            {
                "role": "assistant",
                "blocks": [{"block_type": "text", "text": "The"}, {"block_type": "text", "text": "blue."}],
            },
        ],
        "emil": [{"role": "user", "content": "Good day."}],
    },
    "class_name": "SimpleChatStore",
}


def letta_user(minute: int, **event: object) -> dict[str, object]:
    """Return a message of the user, or another event, in an agent file of Letta."""
    text = json.dumps(event)
    return {
        "id": f"message-{minute}",
        "role": "user",
        "created_at": f"2025-06-02T20:{minute:02}:00+00:00",
        "content": text,
    }


LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Aria",
            "agent_type": "memgpt_v2_agent",
            "block_ids": ["block-0", "block-1"],
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Aria."}]},
                letta_user(1, type="login", last_login="Never"),
                letta_user(2, type="user_message", message="Which door?", time="2025-06-02 08:02 PM"),
                {
                    "id": "message-3",
                    "role": "assistant",
                    "created_at": "2025-06-02T20:03:00+00:00",
                    "content": [{"type": "text", "text": "Nora asks about a door."}],
                    "tool_calls": [
                        {"function": {"name": "send_message", "arguments": '{"message": "The blue one."}'}},
                        {"function": {"name": "core_memory_append", "arguments": "{}"}},
                    ],
                },
                {"id": "message-4", "role": "tool", "content": '{"status": "OK"}'},
                letta_user(5, type="heartbeat", reason="x"),
                letta_user(6, type="user_message", message="Thank you."),
            ],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "Her name is Nora."},
        {"id": "block-1", "label": "persona", "value": ""},
        {"id": "block-9", "label": "human", "value": "Of another agent."},
    ],
}

MEM0 = {
    "results": [
        {"id": "f1", "memory": "Likes blue doors", "user_id": "nora", "created_at": "2025-06-02T13:00:00-07:00"},
        {"id": "f2", "memory": "Has a dog", "user_id": "nora", "created_at": "2025-06-03T13:00:00-07:00"},
    ]
}

DEEPSEEK = [
    {
        "id": "74ae7ef3-306e-4002-976e-cd4604acd90f",
        "title": "Doors",
        "inserted_at": "2025-04-29T11:59:11.635000+08:00",
        "updated_at": "2025-04-29T12:44:11.402000+08:00",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
            "1": {
                "id": "1",
                "parent": "root",
                "children": ["2", "3"],
                "message": {
                    "files": [{"id": "file-1", "file_name": "door.pdf"}],
                    "model": "deepseek-reasoner",
                    "inserted_at": "2025-04-29T11:59:13.202000+08:00",
                    "fragments": [{"type": "REQUEST", "content": "Which door is red?"}],
                },
            },
            "2": {
                "id": "2",
                "parent": "1",
                "children": [],
                "message": {
                    "files": [],
                    "model": "deepseek-reasoner",
                    "inserted_at": "2025-04-29T11:59:13.202000+08:00",
                    "fragments": [
                        {"type": "THINK", "content": "The user asks about a door."},
                        {"type": "RESPONSE", "content": "The left one."},
                    ],
                },
            },
            "3": {
                "id": "3",
                "parent": "1",
                "children": ["4"],
                "message": {
                    "files": [],
                    "model": "deepseek-chat",
                    "inserted_at": "2025-04-29T12:01:00.000000+08:00",
                    "fragments": [
                        {"type": "SEARCH", "results": []},
                        {"type": "RESPONSE", "content": "The right one [citation:1][citation:3]."},
                    ],
                },
            },
            "4": {
                "id": "4",
                "parent": "3",
                "children": [],
                "message": {
                    "files": [],
                    "model": "deepseek-chat",
                    "inserted_at": "2025-04-29T12:02:00.000000+08:00",
                    "fragments": [{"type": "REQUEST", "content": "Thank you! [citation:1] stays."}],
                },
            },
        },
    }
]


def grok_response(name: str, sender: str, millis: int, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """Build a message of Grok that says its name."""
    time = {"$date": {"$numberLong": str(millis)}}
    response = {"_id": name, "conversation_id": "g1", "message": f"{name}.", "sender": sender, "create_time": time}
    return {"response": {**response, "parent_response_id": parent, **fields}, "share_link": None}


GROK = {
    "conversations": [
        {
            "conversation": {"id": "g1", "title": "Doors", "create_time": "2025-05-01T10:00:00.000000Z"},
            "responses": [
                grok_response("ask", "human", 1746093600000),
                grok_response("old", "ASSISTANT", 1746093605000, "ask", model="grok-3", thinking_trace="A door?"),
                grok_response("new", "assistant", 1746093609000, "ask", model="grok-4"),
                grok_response("draw", "human", 1746093610000),
                grok_response(
                    "done", "grok-4", 1746093611000, "draw", message='Red.<grok:render card_id="1">\n</grok:render>'
                ),
            ],
        }
    ],
    "projects": [],
    "tasks": [],
}
LE_CHAT = [
    {
        "id": name,
        "version": 0,
        "chatId": "l1",
        "content": text,
        "contentChunks": chunks,
        "role": role,
        "createdAt": f"2025-05-01T10:00:0{second}.000Z",
        "reaction": "neutral",
        "files": files,
    }
    for name, text, chunks, role, second, files in (
        (
            "b",
            "",
            [
                {"type": "tool_call", "name": "web_search"},
                {"type": "text", "text": "The left"},
                {"type": "reference", "referenceIds": [1]},
                {"type": "text", "text": " one."},
            ],
            "assistant",
            3,
            [],
        ),
        ("a", "Which door is red?", None, "user", 1, [{"type": "document", "name": "door.pdf"}]),
        ("c", "Thank you!", [{"type": "text", "text": "Thank you!"}], "user", 5, []),
        ("d", "", [{"type": "tool_call", "name": "web_search"}], "assistant", 7, []),
    )
]


def lm_studio_reply(*blocks: Any) -> dict[str, Any]:
    """Build a version of a reply of LM Studio."""
    steps = [
        {"type": "contentBlock", "content": [{"type": "text", "text": text}], **({"style": style} if style else {})}
        for text, style in blocks
    ]
    debug = {"type": "debugInfoBlock", "debugInfo": "Conversation naming technique: 'prompt'"}
    return {"type": "multiStep", "role": "assistant", "senderInfo": {"senderName": "qwen3"}, "steps": [*steps, debug]}


def lm_studio_message(text: str) -> dict[str, Any]:
    """Build a message of the person."""
    version = {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": text}]}
    return {"versions": [version], "currentlySelected": 0}


LM_STUDIO: dict[str, Any] = {
    "name": "Doors",
    "createdAt": 1746093600000,
    "systemPrompt": "",
    "messages": [
        lm_studio_message("Which door is red?"),
        {
            "versions": [
                lm_studio_reply(("The left one.", None)),
                lm_studio_reply(("A door?", {"type": "thinking", "ended": True}), ("The right one.", None)),
            ],
            "currentlySelected": 1,
        },
        lm_studio_message("Thank you!"),
    ],
}
AGNAI = {
    "name": "Exported",
    "greeting": "Hello Nora.",
    "sampleChat": "",
    "scenario": "",
    "treeLeafId": "4",
    "messages": [
        {"_id": "1", "msg": "Hello Nora.", "handle": "Aria", "characterId": "imported"},
        {"_id": "2", "msg": "Which door is red?", "handle": "Nora", "userId": "anon", "parent": "1"},
        {"_id": "3", "msg": "The left one.", "handle": "Aria", "characterId": "imported", "parent": "2"},
        {"_id": "4", "msg": "The right one.", "handle": "Aria", "characterId": "imported", "parent": "2"},
    ],
}
KOBOLD: dict[str, Any] = {
    "gamestarted": True,
    "prompt": "Hello Nora.",
    "memory": "",
    "actions": [
        "{{[INPUT]}}Which door is red?{{[OUTPUT]}}",
        "<think>A door?</think>The right one.",
        "{{[INPUT]}}Thank you!{{[INPUT_END]}}\n{{[OUTPUT]}}",
        "You are welcome.",
    ],
    "savedsettings": {"chatname": "Nora", "chatopponent": "Aria", "opmode": 4},
}
TEXTGEN: dict[str, Any] = {
    "internal": [
        ["<|BEGIN-VISIBLE-CHAT|>", "Hello <b>Nora</b>."],
        ["Which door is red?", "<think>A door?</think>The right one."],
        ["Thank you!", ""],
    ],
    "visible": [
        ["", "Hello &lt;b&gt;Nora&lt;/b&gt;."],
        ["Which door is red?", "The right one."],
        ["Thank you!", ""],
    ],
    "metadata": {
        "user_1": {"timestamp": "May 01, 2025 10:00"},
        "assistant_1": {"timestamp": "May 01, 2025 10:01", "model_name": "qwen3"},
    },
}
CHAT_LIST: dict[str, Any] = {
    "data": {
        "chats": [
            {
                "id": "t1",
                "chatTitle": "Doors",
                "createdAt": "2025-05-01T10:00:00Z",
                "messages": [
                    {"uuid": "m0", "role": "system", "content": "Be kind."},
                    {
                        "uuid": "m1",
                        "role": "user",
                        "content": "Which door is red?",
                        "createdAt": "2025-05-01T10:00:00Z",
                    },
                    {
                        "uuid": "m2",
                        "role": "assistant",
                        "content": [{"type": "text", "text": "The right one."}],
                        "createdAt": "2025-05-01T10:01:00Z",
                    },
                ],
            }
        ]
    }
}
AI_STUDIO: dict[str, Any] = {
    "runSettings": {"model": "models/gemini-2.5-pro"},
    "systemInstruction": {},
    "chunkedPrompt": {
        "chunks": [
            {"text": "Which door is red?", "role": "user", "createTime": "2025-05-01T10:00:00Z"},
            {"text": "A door?", "role": "model", "isThought": True},
            {"text": "The right one.", "role": "model", "createTime": "2025-05-01T10:01:00Z"},
        ]
    },
}
MESSAGE_LIST: dict[str, Any] = {
    "sessions": [
        {
            "session_id": "s1",
            "turns": [
                {"sender": "Ann", "text": "Which door?", "date": "2024-05-06 18:05"},
                {"sender": "Bob", "text": "The red one.", "date": "2024-05-06 18:06"},
            ],
        }
    ]
}
TRAINING = [
    {"messages": [{"role": "user", "content": "Which door is red?"}, {"role": "assistant", "content": reply}]}
    for reply in ("The left one.", "The right one.")
]
TABLE = (
    "Conversation,Time,Author,Message\r\n"
    'Doors,2025-05-01T10:01:00,AI,"The right one, ""Nora""."\r\n'
    "Doors,2025-05-01T10:00:00,Human,Which door is red?\r\n"
).encode("utf-8-sig")
LINE_CHAT = (
    "[LINE] Chat history with Ann\r\nSaved on: 2024/05/06 19:00\r\n\r\n2024/05/06(Mon)\r\n"
    "18:05\tAnn\tWhich door is red?\r\n"
    '06:06PM\tNora\t"The right one,\r\n2024/05/05(Sun)\r\nsays ""Luna""."\r\n18:07\tAnn\t[Photo]\r\n'
    "18:08\tAnn\t☎ Call time 1:23\r\n18:09\tAnn unsent a message.\r\n18:09\t\tBob joined.\r\n\r\nTue, 05/07/2024\r\n"
    "09:00\tAnn\tThank you!\r\nBye.\r\n"
).encode("utf-8-sig")
SMS_BACKUP = b"""<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<!--File Created By SMS Backup & Restore-->
<smses count="5">
  <sms address="+491701234567" date="1715018660000" type="2" body="The right one &#55357;&#56832;" contact_name="Ann" />
  <sms address="0170 1234567" date="1715018650000" type="1" body="Which door &amp;&#10;key?" contact_name="Ann" />
  <sms address="+491701234567" date="1715018670000" type="3" body="A draft" contact_name="Ann" />
  <mms date="1715018680000" msg_box="1" address="+491701234567~+491707654321" contact_name="Ann, Bob">
    <parts><part ct="application/smil" text="&lt;smil/&gt;" /><part ct="image/jpeg" cl="door.jpg" text="null" />
    <part ct="text/plain" cl="null" text="This one." /></parts>
    <addrs><addr address="+491707654321" type="137" /><addr address="+491701234567" type="151" /></addrs>
  </mms>
  <mms date="1715018690000" msg_box="2" address="+491701234567" contact_name="(Unknown)"><parts /></mms>
</smses>
"""
FILES = {  # service -> the name of a file and its content, one for each form
    "sillytavern": [("chats/Aria/Aria - 2024-6-2.jsonl", rows(*SILLYTAVERN))],
    "characterai": [("page.json", plain(CHARACTERAI_TURNS)), ("Aria.json", plain(CHARACTERAI_HISTORIES))],
    "risuai": [("Aria_2024-06-02T203000000Z_chat.json", plain(RISUAI))],
    "deepseek": [("deepseek/conversations.json", plain(DEEPSEEK))],
    "grok": [("ttl/30d/export_data/u1/prod-grok-backend.json", plain(GROK))],
    "lechat": [("chat-l1.json", plain(LE_CHAT))],
    "agnai": [("chat.json", plain(AGNAI))],
    "koboldlite": [("saved_story.json", plain(KOBOLD))],
    "textgen": [("logs/chat/Aria/20250501-10-00-00.json", plain(TEXTGEN))],
    "lmstudio": [("1746093600000.conversation.json", plain(LM_STUDIO))],
    "openwebui": [("chat-export-1.json", plain(OPENWEBUI))],
    "librechat": [("Doors.json", plain(LIBRECHAT))],
    "gemini": [("MyActivity.json", plain(GEMINI)), ("conversation_1.txt", plain(GEMINI_WORKSPACE))],
    "claudecode": [("s1.jsonl", rows(*CLAUDE_CODE))],
    "codex": [("rollout-2026-06-02T20-00-00-x1.jsonl", rows(*CODEX))],
    "langchain": [("history.json", plain(LANGCHAIN))],
    "llamaindex": [("chat_store.json", plain(LLAMAINDEX))],
    "chatlist": [
        ("typingmind.json", plain(CHAT_LIST)),
        ("Doors", plain(AI_STUDIO)),
        ("training.jsonl", rows(*TRAINING)),
    ],
    "messagelist": [("talk.json", plain(MESSAGE_LIST)), ("rows.jsonl", rows(*MESSAGE_LIST["sessions"][0]["turns"]))],
    "smsbackup": [("sms-20240506.xml", SMS_BACKUP)],
    "table": [("copilot-activity-history.csv", TABLE)],
    "letta": [("Aria.af", plain(LETTA))],
    "mem0": [("memories.json", plain(MEM0))],
}
