from everthread import Memory


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
