"""Lists the contents of a file of conversations before it is imported: conversations, times and speakers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from everthread.text.sentences import shorten
from everthread.transfer.bank_file import SessionLabel
from everthread.transfer.services.lines import Findings
from everthread.transfer.services.registry import name_service
from everthread.transfer.types import FileContents, FileConversation, FileSpeaker
from everthread.types import NewLine, Role

MAX_OPENING_TOKENS = 12
MAX_OPENING_CHARS = 200  # that are looked at for it


@dataclass(slots=True)
class _Conversation:
    messages: int = 0
    opening: str = ""
    first_at: datetime | None = None
    last_at: datetime | None = None


class ContentsCounter:
    """Counts lines as they are read.

    Attributes:
        lines: the number of lines, also of retracted ones.
    """

    def __init__(self) -> None:
        self.lines = self._retracted = 0
        self._conversations: dict[str, _Conversation] = {}
        self._speakers: Counter[tuple[str, Role]] = Counter()

    def add(self, line: NewLine) -> None:
        """Count a line."""
        self.lines += 1
        found = self._conversations.setdefault(line.session or "", _Conversation())
        if line.retracted_at is not None:
            self._retracted += 1
            return
        found.messages += 1
        found.opening = found.opening or shorten(" ".join(line.text[:MAX_OPENING_CHARS].split()), MAX_OPENING_TOKENS)
        self._speakers[line.speaker, line.role] += 1
        if (at := line.said_at) is not None:
            found.first_at = at if found.first_at is None else min(found.first_at, at)
            found.last_at = at if found.last_at is None else max(found.last_at, at)

    def summarize(self, labels: Mapping[str, SessionLabel], findings: Findings) -> FileContents:
        """Return the contents of the file.

        Args:
            labels: the titles of sessions, by id.
            findings: what was found apart from the lines.
        """
        titles = {name: label.title for name, label in labels.items()}
        conversations = tuple(
            FileConversation(name, titles.get(name), found.messages, found.first_at, found.last_at, found.opening)
            for name, found in self._conversations.items()
        )
        speakers = tuple(FileSpeaker(name, role, number) for (name, role), number in self._speakers.most_common())
        firsts = [found.first_at for found in conversations if found.first_at is not None]
        lasts = [found.last_at for found in conversations if found.last_at is not None]
        return FileContents(
            tuple(map(name_service, findings.services)),
            conversations,
            self.lines - self._retracted,
            self._retracted,
            min(firsts, default=None),
            max(lasts, default=None),
            speakers,
            _guess_me(speakers, findings),
            next((speaker.name for speaker in speakers if speaker.role == "assistant"), None),
            dict(findings.skipped),
            dict(findings.broken),
            len(findings.units),
            dict(findings.ambiguous_dates),
        )


def _guess_me(speakers: tuple[FileSpeaker, ...], findings: Findings) -> str | None:
    """Return the speaker whose file it is: as the export says, or else the only one who talks to an assistant."""
    names = {speaker.name for speaker in speakers}
    if owner := next((name for name, _ in findings.owners.most_common() if name in names), None):
        return owner
    people = [speaker.name for speaker in speakers if speaker.role == "user"]
    return people[0] if len(people) == 1 and len(speakers) > 1 else None
