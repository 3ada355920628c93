"""Joins the page's modules into a few scripts: a visit would otherwise ask for seventy files, six at a time.

There is one script for the modules that the entry point imports, and one for each that is imported later, with those
that only it needs. In a script each module is a block with names of its own, in the order in which browsers would run
them. The object `modules` holds the exports of each by its name. A script reads each export that its modules import
once, before the blocks that use it, which makes the page a kilobyte smaller. No module may be part of an import circle
or change what it exports, and no two exports that a script imports may have the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

ENTRY = "app.js"
_IMPORT = re.compile(r'^import (?:(?:\{([^{}]*)\}|\w+) from )?"\./([^"\n]+)";\n', re.MULTILINE)
_EXPORT_FROM = re.compile(r'^export \{([^{}]*)\} from "\./([^"\n]+)";\n', re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([^{}]*)\};\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|const|class) (\w+))", re.MULTILINE)
_LATER = re.compile(r'\bimport\("\./([^"\n]+)"\)')
_UNKNOWN = re.compile(r"^(?:import\b(?!\()|export\b).*", re.MULTILINE)


def bundle_modules(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the scripts, by the name of the module for which each is loaded, and the files that no module imports.

    Args:
        sources: the modules and other scripts by name; imports of other files stay as they are.

    Raises:
        ValueError: a module imports or exports in a form that is not known here.
    """
    contents = _place_modules(sources)
    script_of = {name: entry for entry, names in contents.items() for name in names}
    scripts = {entry: _write_script(entry, names, sources, script_of) for entry, names in contents.items()}
    return {name: source for name, source in sources.items() if name not in script_of} | scripts


def _place_modules(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of the modules of each script, in the order in which they run."""
    contents, placed, entries = dict[str, list[str]](), set[str](), [ENTRY] if ENTRY in sources else []
    for entry in entries:
        names = list(_imported_first(entry, sources, placed))
        if names:
            contents[entry] = names
        entries += [later for name in names for later in _LATER.findall(sources[name]) if later in sources]
    return contents


def _imported_first(name: str, sources: Mapping[str, str], placed: set[str]) -> Iterator[str]:
    """Yield a module after those that it imports, without those that are placed, and place them."""
    if name in placed:
        return
    placed.add(name)
    for imported in _find_imports(sources[name]):
        if imported in sources:
            yield from _imported_first(imported, sources, placed)
    yield name


def _find_imports(source: str) -> list[str]:
    """Return the files that a module imports or exports from before it runs."""
    found = [*_IMPORT.finditer(source), *_EXPORT_FROM.finditer(source)]
    return [each[2] for each in sorted(found, key=lambda each: each.start())]


def _write_script(entry: str, names: list[str], sources: Mapping[str, str], script_of: Mapping[str, str]) -> str:
    imported = dict.fromkeys(file for name in names for file in _find_imports(sources[name]))
    others = dict.fromkeys(script_of[file] for file in imported if file in script_of)
    head = [f'import "./{script}";\n' for script in others if script not in (entry, ENTRY)]
    head.append('import { modules } from "./app.js";\n' if entry != ENTRY else "export const modules = {};\n")
    kept = (each[0] for name in names for each in _IMPORT.finditer(sources[name]) if each[2] not in sources)
    used = _list_used(names, sources)
    taken = [_take(file, used[file]) for file in used if file in script_of and file not in names]
    blocks = (_write_block(name, sources[name], script_of) + _take(name, used.get(name, {})) for name in names)
    return "".join([*head, *dict.fromkeys(kept), *taken, *blocks])


def _list_used(names: list[str], sources: Mapping[str, str]) -> dict[str, dict[str, None]]:
    """Return the exports that modules of a script import, by the file that has them.

    Raises:
        ValueError: two files have an export of the same name.
    """
    used, file_of = dict[str, dict[str, None]](), dict[str, str]()
    for name in names:
        for found in _IMPORT.finditer(sources[name]):
            for theirs, ours in _names(found[1] or ""):
                if theirs == ours:
                    used.setdefault(found[2], {})[ours] = None
                    if file_of.setdefault(ours, found[2]) != found[2]:
                        raise ValueError(f"{name}: {ours} is also imported from {file_of[ours]}; rename one of the two")
    return used


def _take(file: str, names: Iterable[str]) -> str:
    """Return the statement that gives the modules of a script some exports of a module."""
    listed = ", ".join(names)
    return f'const {{ {listed} }} = modules["{file}"];\n' if listed else ""


def _write_block(name: str, source: str, script_of: Mapping[str, str]) -> str:
    exports = list[str]()

    def take(found: re.Match[str]) -> str:
        renamed = [_format_property(theirs, ours) for theirs, ours in _names(found[1] or "") if theirs != ours]
        return _take(found[2], renamed) if found[2] in script_of else ""  # others are at the top of the script

    def pass_on(found: re.Match[str]) -> str:
        exports.extend(f'{ours}: modules["{found[2]}"].{theirs}' for theirs, ours in _names(found[1]))
        return ""

    def list_names(found: re.Match[str]) -> str:
        exports.extend(_format_property(theirs, ours) for ours, theirs in _names(found[1]))
        return ""

    def export(found: re.Match[str]) -> str:
        exports.append(found[1])
        return ""

    def load(found: re.Match[str]) -> str:
        script = script_of.get(found[1])
        return f'import("./{script}").then(() => modules["{found[1]}"])' if script else found[0]

    text = _IMPORT.sub(take, source)
    text = _EXPORT_LIST.sub(list_names, _EXPORT_FROM.sub(pass_on, text))
    text = _LATER.sub(load, _EXPORT.sub(export, text))
    if unknown := _UNKNOWN.search(text):
        raise ValueError(f"{name}: can't be joined with others: {unknown[0]}")
    return f'{{\n{text}modules["{name}"] = {{ {", ".join(exports)} }};\n}}\n'


def _format_property(theirs: str, ours: str) -> str:
    return theirs if theirs == ours else f"{theirs}: {ours}"


def _names(listed: str) -> Iterator[tuple[str, str]]:
    """Yield each name between the braces of an import or export, and the name after `as`, or the same one."""
    for each in filter(None, map(str.strip, listed.split(","))):
        name, _, other = each.partition(" as ")
        yield name, other or name
