import subprocess
import sys
from importlib.metadata import version

import pytest

import everthread
from everthread import errors


def test_every_public_name_exists_and_is_listed_once() -> None:
    assert len(set(everthread.__all__)) == len(everthread.__all__)
    assert all(hasattr(everthread, name) for name in everthread.__all__)


def test_every_public_name_is_listed() -> None:
    for name in dir(everthread):
        getattr(everthread, name)  # imported when it is first used
    shown = {
        name for name, value in vars(everthread).items() if getattr(value, "__module__", "").startswith("everthread.")
    }
    assert shown | {"__version__"} == set(everthread.__all__)


def test_every_error_can_be_imported_from_the_top() -> None:
    assert {name for name, value in vars(errors).items() if isinstance(value, type)} <= set(everthread.__all__)


def test_the_version_is_that_of_the_package() -> None:
    assert everthread.__version__ == version("everthread")


def test_a_missing_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'everthread' has no attribute 'Memoir'"):
        _ = everthread.Memoir


def test_importing_the_package_alone_loads_nothing_else() -> None:
    code = "import sys, everthread; print(sorted(name for name in sys.modules if name.startswith('everthread.')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "['everthread.errors']\n"


def test_importing_loads_no_model_no_web_client_and_no_framework_of_agents() -> None:
    heavy = (
        "onnxruntime, tokenizers, httpx, torch, sentence_transformers, matplotlib, "
        "agent_framework, agents, google.adk, haystack, langchain_core, langgraph, mem0, pydantic_ai, strands"
    )
    code = (
        f"import sys; from everthread import *; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
