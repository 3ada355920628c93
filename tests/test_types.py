import dataclasses

import pytest
from pydantic import TypeAdapter

import everthread
from everthread import Context, Hit, Memory

PUBLIC = [getattr(everthread, name) for name in everthread.__all__]


def test_the_repr_of_a_context_is_short(memory: Memory) -> None:
    for n in range(5):
        memory.observe(f"The penguin waddled over the ice in year {n}.")
    context = memory.context("penguin ice", gate=False)
    assert len(context.hits) == 5
    assert repr(context) == f"<Context: relevance {context.relevance:.2f}, 5 hits, {context.tokens} tokens>"


def test_a_context_of_several_banks_counts_the_hits_of_all(memory: Memory) -> None:
    memory.observe("The penguin waddled over the ice.")
    with Memory.open("other", store=memory.store, embedder=memory.embedder) as other:
        other.observe("A penguin swam under the ice.")
    context = memory.context("penguin ice", gate=False, banks=[memory.bank, "other"])
    assert [len(part.hits) for part in (context, *context.others)] == [1, 1]
    assert "2 hits" in repr(context)


def test_the_repr_of_a_hit_is_short(memory: Memory) -> None:
    memory.observe("The penguin waddled over the ice.")
    memory.observe("The penguin swam. " * 20)
    short, long = sorted(memory.recall("penguin ice"), key=lambda hit: hit.seq)
    assert repr(short) == f"<Hit: line 1, relevance {short.relevance:.2f}, 'The penguin waddled over the ice.'>"
    assert repr(long).endswith("The penguin swam. The penguin swam. The penguin swam. The pe…'>")


def test_the_repr_of_a_hit_names_its_bank_if_several_were_searched(memory: Memory) -> None:
    memory.observe("The penguin waddled over the ice.")
    assert repr(memory.recall("penguin ice", banks=[memory.bank])[0]).startswith("<Hit: line 1 of bank 'alice', ")


@pytest.mark.parametrize("kind", [kind for kind in PUBLIC if dataclasses.is_dataclass(kind)])
def test_public_data_types_are_fields_and_responses_of_pydantic_and_fastapi(kind: type) -> None:
    assert TypeAdapter(list[kind]).validate_python([]) == []  # type: ignore[valid-type]


def test_what_a_recall_returns_can_be_written_as_json_by_pydantic_and_read_again(memory: Memory) -> None:
    memory.observe("The penguin waddled over the ice.", metadata={"seen": {"by": ["Ann", 2]}, "sure": None})
    hits, context = memory.recall("penguin ice"), memory.context("penguin ice")
    hit_list, one_context = TypeAdapter(list[Hit]), TypeAdapter(Context)
    assert hit_list.validate_json(hit_list.dump_json(hits)) == hits
    assert one_context.validate_json(one_context.dump_json(context)) == context
