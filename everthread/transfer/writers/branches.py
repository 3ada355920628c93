"""The discarded lines of a session: earlier versions, other replies, and all that followed them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.types import Line

VERSION, REPLY, RETRACTED = "Earlier version", "Another reply", "Retracted"  # names of branches
_Nodes = Mapping[int, Sequence[Line]]


@dataclass(frozen=True, slots=True)
class Branch:
    """Discarded lines, one after the other. The name says what the first is: VERSION, REPLY or RETRACTED."""

    name: str
    lines: tuple[Line, ...]


def find_original(seq: int | None, recorded: Mapping[int, Line]) -> int | None:
    """Return the number of the line that a line corrects or repeats, or else its own."""
    while seq is not None and (line := recorded.get(seq)) is not None:
        earlier = line.metadata.get(META_CORRECTS, line.metadata.get(META_REPEATS))
        if type(earlier) is not int or not 0 < earlier < seq or earlier not in recorded:
            break
        seq = earlier
    return seq


def build_branches(recorded: Mapping[int, Line], current: Sequence[Line]) -> dict[int | None, list[Branch]]:
    """Return the branches by the number of the current line that they belong to; those before all lines under None.

    Args:
        recorded: the lines of a session with words, by number, also retracted ones.
        current: those that are not retracted, in the order of the conversation.
    """
    places = _Places(recorded, current)
    nodes = _group_versions(recorded, places.shown)
    children: dict[int, list[int]] = defaultdict(list)
    roots: list[int] = []
    for node, versions in nodes.items():
        parent = find_original(versions[-1].parent, recorded)
        is_child = parent in nodes and parent not in places.shown and node not in places.shown
        if is_child and parent is not None and parent < node:
            children[parent].append(node)
        else:
            roots.append(node)
    branches: dict[int | None, list[Branch]] = defaultdict(list)
    for root in roots:
        if (line := places.shown.get(root)) is not None:
            branches[line.seq] += [Branch(VERSION, (version,)) for version in nodes[root]]
            continue
        place, name = places.find(nodes[root][-1])
        for branch in _walk(root, name, nodes, children):
            _add(branches[place], branch)
    return branches


class _Places:
    """Finds where discarded lines were among the current ones."""

    def __init__(self, recorded: Mapping[int, Line], current: Sequence[Line]) -> None:
        self._recorded = recorded
        self.shown = {find_original(line.seq, recorded): line for line in current}
        self._positions = sorted((line.position, line.seq) for line in current)
        self._answers: dict[int | None, Line] = {}  # by the line that they answer
        for line in current:
            self._answers.setdefault(find_original(line.parent, recorded), line)
        is_linked = any(line.parent is not None for line in recorded.values())
        if not is_linked or sum(line.parent is None for line in current) != 1:
            self._answers.pop(None, None)  # lines without a parent are no versions of each other

    def find(self, line: Line) -> tuple[int | None, str]:
        """Return the number of the current line that a discarded one belongs to, and the name of its branch."""
        parent = find_original(line.parent, self._recorded)
        if (answer := self._answers.get(parent)) is not None and answer.role == line.role:
            return answer.seq, _name(line, answer)
        if parent in self.shown:
            return self.shown[parent].seq, RETRACTED
        index = bisect_left(self._positions, (line.position, 0))
        return (self._positions[index - 1][1] if index else None), RETRACTED


def _group_versions(recorded: Mapping[int, Line], shown: Mapping[int | None, Line]) -> dict[int, list[Line]]:
    """Return the discarded lines by their original, in their order, each text once, without what is shown."""
    nodes: dict[int, list[Line]] = defaultdict(list)
    seen = {(node, line.text) for node, line in shown.items()}
    for seq in sorted(recorded):
        line, node = recorded[seq], find_original(seq, recorded)
        if line.retracted_at is not None and node is not None and (node, line.text) not in seen:
            seen.add((node, line.text))
            nodes[node].append(line)
    return nodes


def _walk(root: int, name: str, nodes: _Nodes, children: Mapping[int, Sequence[int]]) -> Iterator[Branch]:
    """Yield a branch, and those that part from it. Without recursion, because conversations may be very deep."""
    stack = [(root, name)]
    lines: list[Line] = []
    while stack:
        node, new_name = stack.pop()
        if new_name and lines:
            yield Branch(name, tuple(lines))
            lines = []
        name = new_name or name
        *earlier, line = nodes[node]
        lines.append(line)
        yield from (Branch(VERSION, (version,)) for version in earlier)
        following = children.get(node, ())
        stack += [(child, _name(nodes[child][-1], nodes[following[0]][-1])) for child in reversed(following[1:])]
        stack += [(child, "") for child in following[:1]]
    yield Branch(name, tuple(lines))


def _name(line: Line, other: Line) -> str:
    """Return the name of a branch that begins with a line, in the place of another."""
    if line.role != other.role:
        return RETRACTED
    return REPLY if line.role == "assistant" else VERSION


def _add(branches: list[Branch], branch: Branch) -> None:
    """Add a branch, and join retracted lines that follow each other."""
    if branch.name == RETRACTED and branches and branches[-1].name == RETRACTED:
        branch = Branch(RETRACTED, branches.pop().lines + branch.lines)
    branches.append(branch)
