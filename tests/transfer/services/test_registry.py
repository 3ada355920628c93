from __future__ import annotations

from pathlib import Path

import pytest

from everthread.transfer.services.export import open_export
from everthread.transfer.services.registry import SERVICES, describe_services, find_services
from transfer.services.fuzz import EXPORTS
from transfer.services.messenger_exports import save_files


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_recognised_as_that_of_its_service_alone(tmp_path: Path, name: str) -> None:
    service = name.partition(",")[0]
    with open_export([save_files(tmp_path / "export.zip", EXPORTS[name])]) as export:
        assert find_services(export) == ([service] if service in SERVICES else [])


def test_each_service_has_an_example() -> None:
    assert SERVICES.keys() <= {name.partition(",")[0] for name in EXPORTS}


def test_exports_of_several_services_may_be_in_one_folder(tmp_path: Path) -> None:
    files = {name: content for export in EXPORTS.values() for name, content in export.items()}
    with open_export([save_files(tmp_path / "export.zip", files)]) as export:
        assert find_services(export) == list(SERVICES)


def test_services_are_described_by_their_names() -> None:
    assert describe_services().startswith("ChatGPT, Claude, DeepSeek, Grok, Le Chat, Discord, Messenger and Instagram")
