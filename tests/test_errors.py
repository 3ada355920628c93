import inspect
import re

import pytest

from everthread import errors
from everthread.errors import BadInput, ConfigError, EverthreadError, NotFound

CLASSES = {name: each for name, each in vars(errors).items() if inspect.isclass(each)}


def drawn() -> dict[str, str]:
    """Each class in the tree of the module's docstring, with the one above it."""
    above: dict[int, str] = {}
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line):
            depth = len(found[1]) // 4
            above[depth] = found[2]
            parents[found[2]] = above.get(depth - 1, "Exception")
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    assert drawn() == {name: each.__bases__[0].__name__ for name, each in CLASSES.items()}


def test_one_class_catches_all() -> None:
    assert all(issubclass(each, EverthreadError) for each in CLASSES.values())


@pytest.mark.parametrize(
    ("ours", "builtin"), [(BadInput, ValueError), (ConfigError, ValueError), (NotFound, LookupError)]
)
def test_who_expects_the_builtin_error_gets_it(ours: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(ours, builtin)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_says_what_it_means(name: str) -> None:
    assert (CLASSES[name].__doc__ or "").endswith(".")
