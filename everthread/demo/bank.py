"""The bank of the demonstration: filled with a sample life, asked, and filled again after its lines were forgotten."""

from __future__ import annotations

from everthread.chat.character import DEFAULT_CHARACTER
from everthread.common.keys import SETTING_CHARACTER, SETTING_DEMO, SETTING_RECIPE
from everthread.demo.sample import LANGUAGES, Sample
from everthread.errors import BankNotEmpty
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.transfer import importing
from everthread.types import Hit

BANK = "demo"


def fill_bank(memory: Memory, language: str) -> Sample:
    """Make a bank hold the sample life of a language and nothing else, with all of its lines.

    Args:
        memory: a bank that is empty, or holds lines of a sample only.
        language: one of `LANGUAGES`.

    Raises:
        BadInput: the language is unknown.
        BankNotEmpty: the bank holds other lines.
    """
    sample = Sample.load(language)
    source = importing.check_file(sample.path, "jsonl")
    stats, last_seq = memory.stats(), memory.store.corpus_stats(memory.bank).last_seq
    known = find_sample(memory)
    if known == sample and stats.lines == last_seq == source.line_count:
        return sample
    if stats.lines + stats.retracted and (known is None or last_seq > known.line_count):
        raise BankNotEmpty(
            f"bank {memory.bank!r} holds messages of its own, which the sample life would replace; "
            "delete that bank first if you don't need them"
        )
    if last_seq:
        memory.forget(everything=True)
        memory.store.create(memory.bank)
        source = importing.check_file(sample.path, "jsonl")  # an import into a bank forgotten since then is refused
    memory.set_setting(SETTING_DEMO, language)
    memory.set_setting(SETTING_RECIPE, {"name": Default.name, "options": {}})
    memory.set_setting(SETTING_CHARACTER, DEFAULT_CHARACTER.with_changes(person=sample.person).to_json())
    importing.import_lines(memory, source)
    for session in memory.sessions():
        memory.end(session.id, session.last_at)
    return sample


def find_sample(memory: Memory) -> Sample | None:
    """Return the sample that a bank was filled with, or None."""
    language = memory.settings().get(SETTING_DEMO)
    return Sample.load(language) if isinstance(language, str) and language in LANGUAGES else None


def find_answer(memory: Memory, question: str) -> Hit | None:
    """Return the most relevant hit for a question; None if nothing in the bank is relevant to it."""
    hits = memory.context(question).hits
    return hits[0] if hits else None
