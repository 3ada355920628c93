import inspect
import pickle
import re
from pathlib import Path

import pytest

from everthread import errors
from everthread.cli.common import to_flag
from everthread.client.connection import build_error
from everthread.errors import BadFile, BadInput, ConfigError, EverthreadError, NotFound
from everthread.server.problems import build_error_document

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
    assert re.match(r"[A-Z][^\n]*\.$", CLASSES[name].__doc__ or "", re.MULTILINE)


FORMATLESS = ConfigError(
    "this looks like JSON", path=Path("in/a.txt"), remedy="name it with {option} (b)", option="format"
)


def test_each_face_writes_path_and_option_in_its_own_way() -> None:
    assert str(FORMATLESS) == "in/a.txt: this looks like JSON; name it with format= (b)"
    assert FORMATLESS.render(to_flag) == "in/a.txt: this looks like JSON; name it with --format (b)"
    assert build_error_document(FORMATLESS)["detail"] == "a.txt: this looks like JSON; name it with ?format= (b)"


def test_an_option_that_is_on_or_off_is_written_as_it_is_given() -> None:
    there = BadInput("it is there", remedy="replace it with {option}", option="force")
    assert str(there) == "it is there; replace it with force=True"
    assert there.render(to_flag) == "it is there; replace it with --force"
    assert build_error_document(there)["detail"] == "it is there; replace it with ?replace=true"


def test_an_error_is_the_same_after_a_trip_through_a_server() -> None:
    error = BadFile("not JSON", path="a.txt", where="line 3", remedy="correct it")
    assert str(error) == "a.txt, line 3: not JSON; correct it"
    for each in (error, FORMATLESS, NotFound("no such bank")):
        back = build_error(422, build_error_document(each), "http://localhost")
        assert (type(back), back.message, back.remedy) == (type(each), each.message, each.remedy)
        assert (back.where, back.option) == (each.where, each.option)


def test_what_a_remedy_shows_is_left_alone_where_no_option_is_named() -> None:
    assert str(BadFile("no object", remedy='write {"text": "{option}"}')) == 'no object; write {"text": "{option}"}'


def test_an_error_keeps_its_fields_when_it_is_pickled() -> None:
    error = pickle.loads(pickle.dumps(FORMATLESS))
    assert (str(error), error.option) == (str(FORMATLESS), "format")
