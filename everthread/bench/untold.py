"""Loads banks with questions about what was never said, on subjects that were talked about: written for this project.

Twelve talks of one to two dozen lines, between a person and a bot or among friends, of many ages and voices. Each has
questions that a line answers ("What is the boat called?"), and questions on the same subjects that none answers ("How
much did they pay for the boat?"). A gate that only finds the subject accepts both.
"""

from __future__ import annotations

from importlib.resources import files

from everthread.bench.bank_files import list_banks, read_bank
from everthread.bench.questions import AnnotatedConversation

FOLDER = files("everthread.bench").joinpath("untold")
# The others were not looked at while the gate was developed.
DEVELOPMENT = ("allotment", "band", "mother", "moving")


def load_untold() -> list[AnnotatedConversation]:
    """Return the banks, by name."""
    return [read_bank(FOLDER, name, "untold") for name in list_banks(FOLDER)]
