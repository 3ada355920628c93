"""Stores three short articles and finds passages: by meaning, by words with a matching model, and by words alone.

python examples/wiki_retrieval.py
"""

from __future__ import annotations

from everthread.recipes.goodai.expansion import PARAGRAPH
from everthread.recipes.goodai.text_memory import TextMemory

ARTICLES = {
    "Lighthouse": """\
A lighthouse is a tower with a bright lamp that shows ships where the coast is. The first ones burned wood or coal on
an open platform; oil lamps with a wick came in the eighteenth century.

Around 1820 a lens was built of many rings of glass. It bends the light of one lamp into a narrow beam, which can be
seen from more than thirty kilometres away, with far less glass than a whole lens of that size would need.

Most towers have no keeper any more. A small computer switches the lamp on at dusk, turns the lens, and calls for help
when something breaks.
""",
    "Sourdough": """\
Sourdough is a mixture of flour and water in which wild yeast and bacteria live. The yeast makes the bread rise, and
the acids of the bacteria give it its taste and keep mould away for days.

A new one takes about a week: every day a part is thrown away, and fresh flour and water are stirred in. In a fridge
it sleeps, and wants to be fed once a week.
""",
    "Comet": """\
A comet is a lump of ice, dust and rock that moves around the Sun on a long orbit. Near the Sun its ice turns into
vapour, which takes dust along: this becomes the tail, and it always points away from the Sun.

Some come back after a few years, others after many thousands. What they lose on the way lies on their orbit, and
where the Earth crosses it, shooting stars are seen on the same nights every year.
""",
}
QUESTIONS = (
    "How far does the beam of a lighthouse reach?",
    "Why does the bread not go mouldy?",
    "What causes shooting stars?",
)


def main() -> None:
    memories = {
        "by meaning": TextMemory.create("minilm", expansion=PARAGRAPH),
        "by words, rated by the shipped model": TextMemory.create(
            "none", matching_model="em:minilm", reranking_k_factor=3, expansion=PARAGRAPH
        ),
        "by words alone": TextMemory.create("none", expansion=PARAGRAPH),
    }
    for memory in memories.values():
        for title, text in ARTICLES.items():
            memory.add_text(text, {"title": title}, separate=True)
    for question in QUESTIONS:
        print(f"{question}\n")
        for method, memory in memories.items():
            (best,) = memory.retrieve(question, k=1)
            confidence = "" if best.confidence is None else f", {best.confidence:.0%} sure"
            print(
                f"  {method} ({best.metadata['title']}{confidence}):\n    "
                + best.passage.replace("\n", "\n    ")
                + "\n"
            )


if __name__ == "__main__":
    main()
