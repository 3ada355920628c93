"""Rewrites a text before it is stored and a query before it is searched, so that each can be understood alone.

A language model rewrites both if one is configured (docs/models.md). Without one, the extractive scribe adds speaker
and day to a text, and the informative words of earlier lines to a query.

    EVERTHREAD_LLM_MODEL=llama3.2 python examples/rewriting.py
"""

from __future__ import annotations

from everthread import factory
from everthread.recipes.goodai.text_memory import TextMemory

BEFORE = "Jo Marsh: Hey Ash, what do you think about teaming up with me and Lena Fox to trick Bruno?"
SAID = "That would be great."
DIALOGUE = "John: Not everyone is fond of ice cream. Mary: Do you like it?"


def main() -> None:
    scribe = factory.open_scribe(factory.open_llm())
    memory = TextMemory.create("minilm", scribe=scribe)
    print(f"Rewritten by {scribe.name}.\n")

    key = memory.add_text(SAID, context=f"{BEFORE}\nAsh: {SAID}", separate=True)
    print(f"Said:  Ash: {SAID}\nKept:  {memory.get_text(key)}\n")

    memory.add_text("John eats a bowl of vanilla ice cream every evening.", separate=True)
    memory.add_text("Do you like the new hedge? The gardener likes it.", separate=True)
    for rewrite in (False, True):
        (match,) = memory.retrieve(DIALOGUE if rewrite else "Do you like it?", k=1, rewrite=rewrite)
        print(f"Found {'with' if rewrite else 'without'} rewriting the query:  {match.passage}")


if __name__ == "__main__":
    main()
