"""Adds a short talk to a text memory and shows its overlapping chunks, each with its texts and metadata.

python examples/dump_memory.py
"""

from __future__ import annotations

from everthread.recipes.goodai.text_memory import TextMemory

TALK = """\
Jo Marsh: Hey Ash, what do you think about teaming up with me and Lena Fox?
We could come up with a plan that keeps Bruno busy until noon.
Ash: That would be great. Thanks for helping me out.
"""


def main() -> None:
    memory = TextMemory.create("minilm")
    talk = memory.add_text(TALK, {"kind": "talk"})
    note = memory.add_text("Bruno guards the mill from nine to noon.\n", {"kind": "note"}, separate=True)
    print(memory.dump())

    (match,) = memory.retrieve("What does Jo propose?", k=1)
    print(f"Found for “What does Jo propose?”, at a distance of {match.distance:.2f}:\n{match.passage}\n")

    memory.replace_text(note, "Bruno guards the mill all day now.\n")
    memory.delete_text(talk)
    print("After the note was replaced and the talk deleted:\n")
    print(memory.dump())


if __name__ == "__main__":
    main()
