from everthread import Memory


def test_a_context_is_shown_in_short_however_much_it_holds(memory: Memory) -> None:
    for n in range(5):
        memory.observe(f"The penguin waddled over the ice in year {n}.")
    context = memory.context("penguin ice", gated=False)
    assert len(context.hits) == 5
    assert repr(context) == f"<Context: relevance {context.relevance:.2f}, 5 hits, {context.tokens} tokens>"
