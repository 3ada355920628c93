"""Texts that make a regular expression work hard, derived from the expression itself, and a measure of how the time
that a function takes grows with a text's length: by its own CPU time, so that the load of the machine plays no part.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import everthread

LONG_REPEAT_COUNT = 32  # a repeat of at least this many repetitions is long
MAX_CPU_S = 2.0  # for one call
MIN_CPU_S = 3e-12  # for each squared character; below it, growth is not measured
LENGTH_RATIO = 4  # of the longer text to the shorter one
MAX_TIME_RATIO = 8.0  # of their times; 4 is linear, 16 quadratic
MAX_SHORT_RATIO = 5.0  # of the times of texts LENGTH_RATIO times shorter
# For a set of characters one of these is written, if the set has any.
CHARACTERS = " a1.好-\n\t\"',:;!?[](<{_/\\=@A0é我’。，\u0301\u00a0#*|~+zZ9x"
ENDS = ("", "!", "\n", "a", "\x00")  # what ends a pumped text, so that nothing may match in the end
BLANKS = (" ", "\t", "\n", " \n", "\u00a0", "\u2028")
SIGNS = (*"[](<{\"'“‘-*#_\\@:=,.!?…\u0301", "</", '"a', "- ", "a.", "a-", "a'", "://", "a: ", ". ", "...")
WORDS = (
    "a",
    "a ",
    "A ",
    "1",
    "1 ",
    "1,",
    "1.",
    "aB3 ",
    "好",
    "好啊",
    "我",
    "谢谢",
    "5月",
    "密码是",
    "I ",
    "and i ",
    "don't ",
)
TIMES = ("12/05/24 ", "May 1 2024 ", "in 2010 ", "last week ", "07/05/2024, 09:12 - ", "[2024-05-07 09:12] ")
TALK = ("Nora: ", "[About]\n", "<think>", "<|im_end|>", "{{char}}", "as an ai ", "I'm sorry, ")
SECRETS = ("password for ", "password is ", "my password ", "key=", "eyJ-", "pin code ", "change ", "token ", " is my ")
NASTY = (*BLANKS, *SIGNS, *WORDS, *TIMES, *TALK, *SECRETS)


APART = (
    *("everthread.bench", "everthread.compat.strands"),
    *("everthread.embedders.pooling", "everthread.training.model", "everthread.training.trainer"),
)


@dataclass(frozen=True)
class Found:
    """A pattern of the package, where it is, and whether it is only ever matched at the beginning of a text."""

    where: str
    pattern: re.Pattern[str]
    anchored: bool


def modules() -> Iterator[ModuleType]:
    """Import all modules of the package, except the benchmarks, which read their own data sets, and those that need an
    environment of their own: the store for Strands, and training on torch."""
    for info in pkgutil.walk_packages(everthread.__path__, "everthread."):
        if not info.name.startswith(APART) and "__main__" not in info.name:
            yield importlib.import_module(info.name)


def patterns() -> list[Found]:
    """Find every pattern that a module holds, also within its lists and tables, or gives to `re` in a call."""
    found: dict[tuple[str, int], Found] = {}
    for module in modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for pattern in _within(value):
                uses = set(re.findall(rf"\b{name}\.(\w+)\(", source))
                anchored = value is pattern and bool(uses) and uses <= {"match", "fullmatch"}
                _keep(found, Found(f"{module.__name__}.{name}", pattern, anchored))
        tree = ast.parse(source if "re." in source else "")
        for call, pattern in _called(tree, vars(module)):
            anchored = call.func.attr in ("match", "fullmatch")  # type: ignore[attr-defined]
            _keep(found, Found(f"{module.__name__}:{call.lineno}", pattern, anchored))
    return list(found.values())


def _keep(found: dict[tuple[str, int], Found], one: Found) -> None:
    key = one.pattern.pattern, one.pattern.flags
    if isinstance(one.pattern.pattern, str) and (key not in found or found[key].anchored):
        found[key] = one


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 5:
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        for part in parts if isinstance(parts, list | tuple | frozenset | set) else ():
            yield from _within(part, depth + 1)


def _called(tree: ast.AST, names: dict[str, Any]) -> Iterator[tuple[ast.Call, re.Pattern[str]]]:
    """Yield the patterns in calls like re.sub("...", …), as far as they are known without running the function."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]) if attr in CALLS:
                try:
                    known = eval(compile(ast.Expression(first), "pattern", "eval"), names)
                except NameError:  # names in the function: the calling function is measured as a whole
                    continue
                if isinstance(known, str):
                    yield node, re.compile(known)


# ----------------------------------------------------------------------- pumps


@dataclass(frozen=True)
class Pump:
    """A text of any length: what begins it, what is repeated, what ends it."""

    begin: str
    again: str
    end: str = ""

    def text(self, size: int) -> str:
        return self.begin + self.again * max(1, size // len(self.again)) + self.end


def pumps(pattern: re.Pattern[str]) -> list[Pump]:
    """Derive pumps from a pattern's parse tree: each long repeat of it repeated, alone and with all that begins it."""
    tree, chance = _parser.parse(pattern.pattern, pattern.flags), random.Random(repr(pattern.pattern))
    found = dict.fromkeys(Pump("", again) for again in NASTY)
    for before, body in _repeats(list(tree)):
        for _ in range(2):
            words = _Words(pattern.flags, chance, tree.state)
            begin, one, other = (words.of(nodes) for nodes in (before, body, body))
            for pump in (("", begin + one), (begin, one), (begin, one + other)):
                if pump[1]:
                    found[Pump(*pump, chance.choice(ENDS))] = None
    if again := _Words(pattern.flags, chance, tree.state).of(list(tree)):
        found[Pump("", again)] = None
    return list(found)


CALLS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def _repeats(nodes: list[Any], before: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield each long repeat: the nodes before it, and those that it repeats."""
    for place, (kind, arg) in enumerate(nodes):
        earlier = (*before, *nodes[:place])
        inner: list[Any] = []
        if kind in REPEATS:
            inner = [arg[2]]
            if arg[1] >= LONG_REPEAT_COUNT:
                yield list(earlier), list(arg[2])
        elif kind is op.BRANCH:
            inner = arg[1]
        elif kind is op.SUBPATTERN:
            inner = [arg[3]]
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            inner = [arg[1]]
        elif kind is op.ATOMIC_GROUP:
            inner = [arg]
        for each in inner:
            yield from _repeats(list(each), earlier)


class _Words:
    """Writes texts that parts of a pattern match, by chance."""

    def __init__(self, flags: int, chance: random.Random, state: Any) -> None:
        self._flags, self._chance, self._state = flags, chance, state
        self._groups: dict[int, str] = {}

    def of(self, nodes: Any) -> str:
        return "".join(self._node(node) for node in nodes)

    def _node(self, node: tuple[Any, Any]) -> str:
        kind, arg = node
        if kind is op.LITERAL:
            return chr(arg)
        if kind in (op.NOT_LITERAL, op.IN, op.ANY):
            return self._one(node)
        if kind is op.BRANCH:
            return self.of(self._chance.choice(arg[1]))
        if kind is op.SUBPATTERN:
            self._groups[arg[0]] = self.of(arg[3])
            return self._groups[arg[0]]
        if kind in REPEATS:
            least, most, body = arg
            return "".join(self.of(body) for _ in range(max(least, min(most, self._chance.choice((0, 1, 1))))))
        if kind is op.GROUPREF:
            return self._groups.get(arg, "")
        return self.of(arg) if kind is op.ATOMIC_GROUP else ""

    def _one(self, node: tuple[Any, Any]) -> str:
        key = str(node), self._flags
        if key not in _MATCHING:
            _MATCHING[key] = _find_matching(_parser.SubPattern(self._state, [node]), self._flags & ~re.VERBOSE)
        return self._chance.choice(_MATCHING[key])


_MATCHING: dict[tuple[str, int], list[str]] = {}  # of each node and flags


def _find_matching(node: Any, flags: int) -> list[str]:
    """Return up to six characters that a node matches, the usual ones if there are any."""
    allowed = _compiler.compile(node, flags)
    scripts = (*range(0x20, 0x500), *range(0x3000, 0xA000), *range(0xD800, 0xE000), *range(0x1F000, 0x20010))
    for characters in (CHARACTERS, map(chr, scripts)):
        if found := list(islice(filter(allowed.fullmatch, characters), 6)):
            return found
    return ["?"]


# --------------------------------------------------------------------- measure


class _TooLong(Exception):
    pass


def grows(work: Callable[[str], object], pump: Pump, size: int) -> bool:
    """Return whether the CPU time grows clearly faster than the length, from size / LENGTH_RATIO to size characters.

    It is measured up to three times, because other processes may evict caches.
    """
    least = MIN_CPU_S * size**2
    if not _may_grow(work, pump, size // LENGTH_RATIO, least / LENGTH_RATIO**2):
        return False
    for _ in range(3):
        more = _spent(work, pump.text(size))
        if more == float("inf"):
            return True
        if more < least or more <= MAX_TIME_RATIO * max(
            _spent(work, pump.text(size // LENGTH_RATIO)) for _ in range(2)
        ):
            return False
    return True


def _may_grow(work: Callable[[str], object], pump: Pump, size: int, least: float) -> bool:
    """Return whether shorter texts leave open that the time grows too fast up to LENGTH_RATIO times this size.

    They don't if even a quadratic function would stay below `least` seconds at this size, nor if their times have a
    ratio below MAX_SHORT_RATIO: a time a·n + b·n² that grows by MAX_TIME_RATIO there grows by 5.3 here.
    """
    text = pump.text(size // LENGTH_RATIO)
    if (shortest := _spent(work, text)) < least / LENGTH_RATIO**2:
        return False
    if (spent := _spent(work, pump.text(size))) < least:
        return False
    return spent > MAX_SHORT_RATIO * min(shortest, _spent(work, text))


def _spent(work: Callable[[str], object], text: str) -> float:
    """Return the seconds of CPU of one call; infinity if it is interrupted after MAX_CPU_S."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_S)
    begun = time.thread_time()
    try:
        work(text)
    except _TooLong:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - begun
