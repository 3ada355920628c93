"""Find what each test needs beyond Python and the package: in its imports, its fixtures and the functions it calls.

A test that needs none of it is a unit test. The marks are listed in pyproject.toml and explained in CONTRIBUTING.md.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

TESTS = Path(__file__).parent
PACKAGES = {  # imported by a test's module, directly or through modules of the package and of the tests
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    "pgvector": "postgres",
    "psutil": "postgres",
    "playwright": "browser",
    "axe_core_python": "browser",
    "schemathesis": "fuzzing",
    "fastapi": "server",
    "starlette": "server",
    "uvicorn": "server",
    "agent_framework": "sdk",
    "agents": "sdk",
    "google": "sdk",
    "haystack": "sdk",
    "langchain_core": "sdk",
    "langgraph": "sdk",
    "llama_index": "sdk",
    "pydantic_ai": "sdk",
    "strands": "sdk",
}
# Only at the left margin: what a condition or a function imports is not needed for loading a module.
IMPORT = re.compile(r"^(?:from[ ]+([\w.]+)[ ]+)?import[ ]+(?:\(([^)]*)\)|([^\n#]+))", re.MULTILINE)
FIXTURES = {"postgres_server": "postgres", "cluster": "postgres", "browser": "browser"}
PARAMETERS = {
    "database": "postgres",
    "postgres": "postgres",
    "citus": "postgres",
    "placed": "postgres",
}  # of tests that run with each store
PROCESSES = frozenset(  # names that start a process
    ("subprocess", "multiprocessing", "Popen", "fork", "forkpty", "StdioServerParameters")
)


def needs_of(item: pytest.Function) -> set[str]:
    """Return the marks of what a test needs; none for a unit test."""
    found = {FIXTURES[name] for name in FIXTURES.keys() & item.fixturenames} | module_needs(item.path)
    if (callspec := getattr(item, "callspec", None)) is not None:
        found |= {PARAMETERS[value] for value in callspec.params.values() if value in tuple(PARAMETERS)}
    fixtures = [each[-1].func for each in item._fixtureinfo.name2fixturedefs.values()]
    if any(map(_starts_process, (item.function, *fixtures))):
        found.add("process")
    if "hardship" in item.path.stem:
        found.add("hardship")
    if item.get_closest_marker("slow"):
        found.add("slow")
    return found


@cache
def module_needs(path: Path) -> frozenset[str]:
    """Return the marks of what importing a test module needs."""
    todo, files, needs = [path], {path}, set[str]()
    while todo:
        marks, sources = _direct_needs(todo.pop())
        needs |= marks
        todo += sources - files
        files |= sources
    return frozenset(needs)


@cache
def _direct_needs(file: Path) -> tuple[set[str], set[Path]]:
    """Return the marks of the packages that a file imports, and the files of the modules that it imports."""
    names = tuple(_imports(file))
    marks = {mark for name in names if (mark := PACKAGES.get(name.partition(".")[0])) is not None}
    return marks, {source for name in names if (source := _source(name)) is not None}


def _imports(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports when it is loaded, and the names it takes from them."""
    for found in IMPORT.finditer(file.read_text(encoding="utf-8")):
        module, block, rest = found.groups()
        names = [name.split()[0] for name in (block or rest).replace("\\\n", " ").split(",") if name.split()]
        yield from [module, *(f"{module}.{name}" for name in names)] if module else names


@cache
def _source(name: str) -> Path | None:
    """Return the file of a module of the tests or of the package."""
    for root in (TESTS, TESTS.parent):
        path = root.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return None


@cache
def _starts_process(function: object) -> bool:
    """Return whether a function names one of PROCESSES, itself or in what it uses of the tests."""
    todo, seen, names = [function], set[CodeType](), set[str]()
    while todo:
        each = todo.pop()
        each = inspect.unwrap(getattr(getattr(each, "hypothesis", None), "inner_test", each))  # type: ignore[arg-type]
        if isinstance(each, type) and _is_of_tests(inspect.getmodule(each)):
            todo += vars(each).values()
        if not isinstance(each, FunctionType) or (code := each.__code__) in seen:
            continue
        seen.add(code)
        if not _is_below_tests(code.co_filename):
            continue
        used = _names(code)
        names |= used
        for value in (each.__globals__[name] for name in used if name in each.__globals__):
            todo += [vars(value).get(name) for name in used] if _is_of_tests(value) else [value]
    return not PROCESSES.isdisjoint(names)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names}.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _is_of_tests(value: object) -> bool:
    return isinstance(value, ModuleType) and _is_below_tests(getattr(value, "__file__", None) or "")


def _is_below_tests(file: str) -> bool:
    return file.startswith(f"{TESTS}{os.sep}")
