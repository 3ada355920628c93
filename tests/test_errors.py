import inspect
import pickle
import re
from pathlib import Path

import pytest

from everthread import errors
from everthread.cli.common import to_flag
from everthread.client.connection import build_error
from everthread.errors import BadFile, BadInput, BankMoved, ConfigError, EverthreadError, LLMUnavailable, NotFound
from everthread.server.problems import build_error_document

CLASSES = {name: each for name, each in vars(errors).items() if inspect.isclass(each)}


def read_tree() -> dict[str, str]:
    """Return the parent of each class in the tree of the module's docstring."""
    above: dict[int, str] = {}
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line):
            depth = len(found[1]) // 4
            above[depth] = found[2]
            parents[found[2]] = above.get(depth - 1, "Exception")
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    assert read_tree() == {name: each.__bases__[0].__name__ for name, each in CLASSES.items()}


def test_every_error_is_an_everthread_error() -> None:
    assert all(issubclass(error_class, EverthreadError) for error_class in CLASSES.values())


@pytest.mark.parametrize(
    ("ours", "builtin"), [(BadInput, ValueError), (ConfigError, ValueError), (NotFound, LookupError)]
)
def test_errors_inherit_from_the_builtin_errors(ours: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(ours, builtin)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_docstring(name: str) -> None:
    assert re.match(r"[A-Z][^\n]*\.$", CLASSES[name].__doc__ or "", re.MULTILINE)


FORMATLESS = ConfigError(
    "this looks like JSON", path=Path("in/a.txt"), remedy="name it with {option} (b)", option="format"
)


def test_python_the_command_line_and_rest_write_path_and_option_differently() -> None:
    assert str(FORMATLESS) == "in/a.txt: this looks like JSON; name it with format= (b)"
    assert FORMATLESS.render(to_flag) == "in/a.txt: this looks like JSON; name it with --format (b)"
    assert build_error_document(FORMATLESS)["detail"] == "a.txt: this looks like JSON; name it with ?format= (b)"


def test_a_reason_and_its_values_reach_the_client() -> None:
    error = BadInput("a name has 201 characters", reason="long-name", values={"limit": 200})
    document = build_error_document(error)
    assert (document["reason"], document["values"]) == ("long-name", {"limit": 200})
    again = build_error(422, document, "http://x")
    assert (str(again), again.reason, again.values) == (str(error), "long-name", {"limit": 200})
    assert "reason" not in build_error_document(BadInput("something else"))


def test_a_boolean_option_is_written_without_a_value_to_fill_in() -> None:
    error = BadInput("it exists", remedy="replace it with {option}", option="force")
    assert str(error) == "it exists; replace it with force=True"
    assert error.render(to_flag) == "it exists; replace it with --force"
    assert build_error_document(error)["detail"] == "it exists; replace it with ?replace=true"


def test_an_error_is_restored_from_the_response_of_a_server() -> None:
    error = BadFile("not JSON", path="a.txt", where="line 3", remedy="correct it")
    assert str(error) == "a.txt, line 3: not JSON; correct it"
    for each in (error, FORMATLESS, NotFound("no such bank")):
        restored = build_error(422, build_error_document(each), "http://localhost")
        assert (type(restored), restored.message, restored.remedy) == (type(each), each.message, each.remedy)
        assert (restored.where, restored.option) == (each.where, each.option)


def test_braces_in_a_remedy_without_an_option_are_not_replaced() -> None:
    assert str(BadFile("no object", remedy='write {"text": "{option}"}')) == 'no object; write {"text": "{option}"}'


@pytest.mark.parametrize(
    "error",
    [
        FORMATLESS,
        BankMoved("bank 'ann' is in place 'b'", "ann", "b", move="7", is_arriving=True),
        LLMUnavailable("http://10.0.0.1 is down", "the model is down"),
    ],
)
def test_an_error_keeps_its_fields_when_it_is_pickled(error: EverthreadError) -> None:
    received = pickle.loads(pickle.dumps(error))
    assert (type(received), str(received), vars(received)) == (type(error), str(error), vars(error))
