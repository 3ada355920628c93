"""Leaves out the tests of Haystack's suite that are about what a bank does not have."""

import pytest

LEFT_OUT = {  # and why
    "test_delete_all_documents_with_recreate_index": "a bank is deleted as a whole and has no index to create again",
    "test_delete_all_documents_without_recreate_index": "likewise",
    "test_delete_all_documents_with_recreate_index_async": "likewise",
    "test_delete_all_documents_without_recreate_index_async": "likewise",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if item.name in LEFT_OUT]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.name not in LEFT_OUT]
