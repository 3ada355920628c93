from __future__ import annotations

import gc

import pytest

from everthread.common.fast_imports import without_collection


def test_garbage_is_collected_again_after_an_import_even_if_it_fails() -> None:
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()


def test_a_process_that_collects_no_garbage_still_collects_none() -> None:
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
