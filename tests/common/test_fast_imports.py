from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from everthread.common.fast_imports import without_garbage_collection


def test_garbage_is_collected_again_after_an_import_even_if_it_fails() -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), without_garbage_collection():
        raise ImportError
    assert gc.isenabled()


def test_a_process_that_collects_no_garbage_still_collects_none() -> None:
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("statement", "is_exempt"), [("import tomllib", True), ("import sys", False)])
def test_what_was_imported_is_exempt_from_later_collections(statement: str, is_exempt: bool) -> None:
    program = f"""
import gc, sys
from everthread.common.fast_imports import without_garbage_collection
before = gc.get_freeze_count()
with without_garbage_collection():
    {statement}
print(gc.get_freeze_count() > before)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(is_exempt)
