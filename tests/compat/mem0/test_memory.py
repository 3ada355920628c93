import ast
import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from everthread import BadInput, NotFound
from everthread import Memory as Bank
from everthread.compat.mem0 import AsyncMemory, Memory
from everthread.factory import open_store
from everthread.testing import HashEmbedder

NORA = {"user_id": "nora"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(store=tmp_path, embedder=HashEmbedder()) as memory:
        yield memory


def add(memory: Memory, text: str, **options: Any) -> str:
    """Add a text, of Nora if no one else is named, and return the id of the memory."""
    ids: dict[str, Any] = {} if {"user_id", "agent_id", "run_id"} & options.keys() else NORA
    (added,) = memory.add(text, **ids, **options)["results"]
    return str(added["id"])


def texts(result: dict[str, Any]) -> list[str]:
    return [record["memory"] for record in result["results"]]


def test_messages_are_stored_word_for_word_without_instructions_and_pictures(memory: Memory) -> None:
    picture = {"type": "image_url", "image_url": {"url": "http://example.org/cat.png"}}
    messages: list[Any] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I play tennis  on Sundays", "name": "Nora"},
        {"role": "assistant", "content": [{"type": "text", "text": "How nice"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    added = memory.add(messages, user_id="nora", infer=True)["results"]
    assert [(each["memory"], each["event"], each["role"], each["actor_id"]) for each in added] == [
        ("I play tennis  on Sundays", "ADD", "user", "Nora"),
        ("How nice", "ADD", "assistant", None),
    ]
    assert memory.add([], user_id="nora") == {"results": []}


def test_a_memory_has_the_fields_of_mem0(memory: Memory) -> None:
    number = add(
        memory, "I moved to Lisbon", user_id=7, run_id=" r1 ", timestamp=1_714_550_000, metadata={"year": 2024}
    )
    UUID(number)
    assert memory.get(number) == {
        "id": number,
        "memory": "I moved to Lisbon",
        "hash": "d946bd388f3df15a0bcb06290a44202f",
        "score": None,
        "created_at": "2024-05-01T07:53:20+00:00",
        "updated_at": "2024-05-01T07:53:20+00:00",
        "user_id": "7",
        "run_id": "r1",
        "role": "user",
        "metadata": {"year": 2024},
    }
    assert "score" not in memory.get_all(filters={"user_id": 7})["results"][0]


def test_ids_in_metadata_do_not_move_a_memory(memory: Memory) -> None:
    number = add(
        memory, "I moved to Lisbon", metadata={"user_id": "mallory", "agent_id": "bob", "everthread.asked": True}
    )
    found = memory.get(number)
    assert found is not None
    assert (found["user_id"], found.get("agent_id"), found["metadata"]) == ("nora", None, None)


def test_a_search_finds_what_is_relevant_best_first(memory: Memory) -> None:
    for text in ("My sister Mia lives in Lisbon", "Tennis is on Sundays", "Mia likes tea"):
        add(memory, text)
    add(memory, "Mia lives in Lisbon", user_id="tom")
    found = memory.search("Where does my sister Mia live?", filters=NORA, threshold=0, explain=True)["results"]
    assert found[0]["memory"] == "My sister Mia lives in Lisbon"
    assert found[0]["score_details"]
    assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
    assert texts(memory.search("Where does Mia live?", filters=NORA, threshold=1)) == []
    assert len(texts(memory.search("Mia", filters=NORA, threshold=0, top_k=1))) == 1
    assert texts(memory.search("Mia", filters=NORA, top_k=0)) == []


def test_a_search_as_of_a_date_ignores_what_was_said_later(memory: Memory) -> None:
    add(memory, "Mia lives in Porto", timestamp="2020-01-01")
    add(memory, "Mia lives in Lisbon", timestamp=datetime(2024, 1, 1, tzinfo=UTC))
    found = memory.search("Where does Mia live?", filters=NORA, reference_date="2022-01-01", threshold=0)
    assert texts(found) == ["Mia lives in Porto"]


def test_memories_are_found_by_any_of_their_ids(memory: Memory) -> None:
    add(memory, "of Nora, Bob and a run", user_id="nora", agent_id="bob", run_id="r1")
    add(memory, "of Bob", agent_id="bob")
    add(memory, "of Bob and a run", agent_id="bob", run_id="r1")
    add(memory, "of a run", run_id="r1")

    def list_texts(**ids: str) -> set[str]:
        return set(texts(memory.get_all(filters=ids)))

    assert list_texts(user_id="nora") == list_texts(user_id="nora", agent_id="bob") == {"of Nora, Bob and a run"}
    assert list_texts(agent_id="bob") == {"of Nora, Bob and a run", "of Bob", "of Bob and a run"}
    assert list_texts(run_id="r1") == {"of Nora, Bob and a run", "of Bob and a run", "of a run"}
    assert list_texts(user_id="nora", agent_id="tom") == set()
    assert set(texts(memory.search("Bob run", filters={"run_id": "r1"}, threshold=0))) == list_texts(run_id="r1")

    memory.delete_all(run_id="r1")
    assert set(texts(memory.get_all(filters={"agent_id": "bob"}))) == {"of Bob"}


def test_what_has_expired_is_hidden(memory: Memory) -> None:
    number = add(memory, "The code is 4711", expiration_date="2020-01-31")
    add(memory, "The door is red", expiration_date=datetime(2999, 1, 1, tzinfo=UTC))
    assert texts(memory.get_all(filters=NORA)) == ["The door is red"]
    assert texts(memory.search("code", filters=NORA, threshold=0)) == ["The door is red"]
    assert texts(memory.get_all(filters=NORA, show_expired=True)) == ["The door is red", "The code is 4711"]
    memory.update(number, expiration_date=None)
    assert len(texts(memory.get_all(filters=NORA))) == 2


def test_an_update_keeps_the_id_and_the_date_and_is_in_the_history(memory: Memory) -> None:
    number = add(
        memory, "I play tennis", timestamp="2024-05-01T12:00:00+02:00", metadata={"place": "Lisbon", "year": 2024}
    )
    before = memory.get(number)
    memory.update(number, "I play padel", {"year": 2025, "user_id": "tom"})
    memory.update(number, data="I play chess")
    after = memory.get(number)
    assert before is not None
    assert after is not None
    assert (after["id"], after["memory"], after["created_at"]) == (number, "I play chess", "2024-05-01T10:00:00+00:00")
    assert after["metadata"] == {"place": "Lisbon", "year": 2025}
    assert after["updated_at"] > before["updated_at"]
    history = memory.history(number)
    assert [(event["event"], event["old_memory"], event["new_memory"]) for event in history] == [
        ("ADD", None, "I play tennis"),
        ("UPDATE", "I play tennis", "I play padel"),
        ("UPDATE", "I play padel", "I play chess"),
    ]
    assert [event["updated_at"] for event in history] == sorted(event["updated_at"] for event in history)
    assert len({event["id"] for event in history}) == 3
    assert texts(memory.get_all(filters=NORA)) == ["I play chess"]


def test_of_updates_at_once_each_is_in_the_history_and_the_last_one_counts(memory: Memory) -> None:
    number = add(memory, "I play tennis")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: memory.update(number, f"I have won {n} times", {f"n{n}": n}), range(24)))
    history, current = memory.history(number), memory.get(number) or {}
    assert len(history) == 25
    assert current["memory"] == history[-1]["new_memory"]
    assert current["metadata"] == {f"n{n}": n for n in range(24)}
    assert [event["updated_at"] for event in history] == sorted(event["updated_at"] for event in history)


def test_deleting_the_memories_of_a_run_leaves_the_others_of_the_user(memory: Memory, tmp_path: Path) -> None:
    for number in range(3):
        memory.add(f"The code is zanzibar{number}", user_id="nora", run_id="may")
    add(memory, "The door is red")
    memory.delete_all(user_id="nora", run_id="june")
    memory.delete_all(user_id="nora", run_id="may")
    assert texts(memory.get_all(filters=NORA)) == ["The door is red"]
    with Bank.open("mem0/user/nora", store=tmp_path, embedder=HashEmbedder()) as bank:
        assert [receipt.lines for receipt in bank.store.receipts(bank.bank)] == [3]


def test_a_deleted_memory_is_gone_with_its_history(memory: Memory, tmp_path: Path) -> None:
    number = add(memory, "The code is zanzibar")
    memory.update(number, "The code is timbuktu")
    add(memory, "The door is red")
    memory.delete(number)
    assert memory.get(number) is None
    assert memory.history(number) == []
    memory.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"red" in stored
    assert b"zanzibar" not in stored
    assert b"timbuktu" not in stored


def test_the_id_of_a_deleted_memory_never_leads_to_another(memory: Memory) -> None:
    number = add(memory, "The code is 4711")
    memory.delete_all(user_id="nora")
    assert add(memory, "The door is red") != number
    assert memory.get(number) is None


def test_a_memory_that_was_retracted_elsewhere_is_deleted_and_a_correction_is_an_update(
    memory: Memory, tmp_path: Path
) -> None:
    first, second = add(memory, "I play tennis"), add(memory, "I play chess")
    with Bank.open("mem0/user/nora", store=tmp_path, embedder=HashEmbedder()) as bank:
        bank.correct(1, "I play padel")
        bank.retract(2)
    assert (memory.get(first) or {})["memory"] == "I play padel"
    assert memory.get(second) is None
    assert [event["event"] for event in memory.history(second)] == ["ADD", "DELETE"]
    assert memory.history(second)[-1]["is_deleted"]


def test_lines_that_came_otherwise_are_memories_of_the_user(memory: Memory, tmp_path: Path) -> None:
    with Bank.open("mem0/user/nora", store=tmp_path, embedder=HashEmbedder()) as bank:
        bank.observe("I play tennis", speaker="Nora")
    (found,) = memory.search("tennis", filters=NORA, threshold=0)["results"]
    assert (found["user_id"], found["memory"]) == ("nora", "I play tennis")
    assert memory.get(found["id"]) is not None


def test_a_reset_deletes_all_memories_and_no_other_bank(memory: Memory, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with Bank.open("diary", store=store, embedder=HashEmbedder()) as bank:
        bank.observe("I play tennis")
    add(memory, "I play chess")
    add(memory, "I play chess", agent_id="bob")
    memory.reset()
    assert store.banks() == ["diary"]
    assert texts(memory.get_all(filters=NORA)) == []
    store.close()


def test_reading_creates_no_bank(memory: Memory, tmp_path: Path) -> None:
    assert texts(memory.search("tennis", filters=NORA)) == []
    assert memory.get("4751ba67-72ca-5b40-8cd1-d70000000001") is None
    assert memory.get("no id") is None
    memory.delete_all(user_id="nora")
    assert not [*tmp_path.rglob("*nora*")]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda memory: memory.add("hello"), "user_id"),
        (lambda memory: memory.add("hello", user_id=" "), "invalid user_id"),
        (lambda memory: memory.add("hello", user_id="no ra"), "invalid user_id"),
        (lambda memory: memory.add(7, user_id="nora"), "invalid messages"),
        (lambda memory: memory.add(["hello"], user_id="nora"), "invalid message 0"),
        (lambda memory: memory.add([{"role": "king", "content": "hello"}], user_id="nora"), "invalid role"),
        (lambda memory: memory.add("hello", user_id="nora", metadata=7), "invalid metadata"),
        (lambda memory: memory.add("hello", user_id="nora", timestamp="soon"), "invalid timestamp"),
        (lambda memory: memory.add("hello", user_id="nora", expiration_date="soon"), "invalid expiration_date"),
        (lambda memory: memory.add("hello", user_id="nora", memory_type="core"), "invalid memory_type"),
        (lambda memory: memory.search(" ", filters=NORA), "invalid query"),
        (lambda memory: memory.search("hello"), "invalid filters"),
        (lambda memory: memory.search("hello", user_id="nora"), "filters"),
        (lambda memory: memory.search("hello", filters=NORA, threshold=2), "invalid threshold"),
        (lambda memory: memory.search("hello", filters=NORA, top_k=True), "invalid top_k"),
        (lambda memory: memory.search("hello", filters=NORA, reference_date="soon"), "invalid reference_date"),
        (lambda memory: memory.get_all(filters={"year": 2024}), "invalid filters"),
        (lambda memory: memory.get_all(filters=NORA, limit=3), "no argument limit; use top_k"),
        (lambda memory: memory.update("x"), "update changes nothing"),
        (lambda memory: memory.update("x", " "), "invalid text"),
        (lambda memory: memory.delete_all(), "user_id"),
    ],
)
def test_bad_input_is_named(memory: Memory, call: Any, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        call(memory)


def test_an_unknown_id_is_a_value_error_as_in_mem0_and_is_not_found(memory: Memory) -> None:
    unknown = "4751ba67-72ca-5b40-8cd1-d70000000001"
    for kind in (ValueError, NotFound):
        with pytest.raises(kind, match=unknown):
            memory.delete(unknown)
        with pytest.raises(kind, match=unknown):
            memory.update(unknown, "hello")


def test_the_configuration_of_mem0_is_ignored_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_STORE", str(tmp_path))
    with pytest.warns(UserWarning, match="ignores mem0's llm"):
        Memory.from_config({"llm": {"provider": "openai"}}).close()


@pytest.mark.parametrize("ours", [Memory, AsyncMemory])
def test_the_methods_take_the_arguments_of_mem0(ours: type) -> None:
    spec = find_spec("mem0")
    if spec is None or spec.origin is None:
        pytest.skip("needs mem0ai")
    source = ast.parse((Path(spec.origin).parent / "memory" / "main.py").read_text(encoding="utf-8"))  # imports nothing
    (theirs,) = (node for node in source.body if isinstance(node, ast.ClassDef) and node.name == ours.__name__)
    wanted = {node.name: node for node in theirs.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for name in ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset", "close"):
        given, arguments = inspect.getfullargspec(getattr(ours, name)), wanted[name].args
        assert given.args == [each.arg for each in arguments.args], name
        assert given.kwonlyargs == [each.arg for each in arguments.kwonlyargs], name
        assert given.varkw == (arguments.kwarg and arguments.kwarg.arg), name
        is_async = isinstance(wanted[name], ast.AsyncFunctionDef)
        assert inspect.iscoroutinefunction(getattr(ours, name)) == is_async, name
