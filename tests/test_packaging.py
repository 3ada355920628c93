"""The version is the same everywhere, and the files of deploying it name commands and settings that exist."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from configparser import ConfigParser
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement

import everthread
from everthread.cli.main import main
from everthread.config import ENV_PREFIX, Config

ROOT = Path(__file__).parents[1]
SETTINGS = {f"{ENV_PREFIX}{setting.name.upper()}" for setting in fields(Config)} | {f"{ENV_PREFIX}CONFIG"}
FILES = [
    "Containerfile",
    "compose.yaml",
    "deploy/everthread.service",
    "deploy/everthread-backup.service",
    "docs/deployment.md",
]
PYTHONS = ["3.11"]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text_of("pyproject.toml"))["project"]
    return found


def check_arguments(arguments: list[str]) -> None:
    """Check that the command line accepts these arguments; nothing is run."""
    name, *rest = arguments
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None, name
    command.make_context(name, rest, context)


def test_the_version_is_that_of_the_project_and_of_the_latest_release_in_the_changelog() -> None:
    latest = re.search(r"^## (\d\S*) - \d{4}-\d{2}-\d{2}$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert latest is not None
    assert everthread.__version__ == project()["version"] == latest[1]


def test_the_citation_names_the_version_and_the_licence() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["version"] == everthread.__version__
    assert citation["license"] == "MIT"


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_deploying_names_only_settings_that_exist(name: str) -> None:
    assert set(re.findall(rf"\b{ENV_PREFIX}[A-Z_]+", text_of(name))) <= SETTINGS


def test_the_image_starts_a_command_that_exists() -> None:
    start = re.search(r"^CMD (\[.+\])$", text_of("Containerfile"), re.MULTILINE)
    assert start is not None
    check_arguments(json.loads(start[1]))


def test_the_image_contains_what_the_wheel_is_built_from() -> None:
    ignored = text_of(".containerignore").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text_of("Containerfile"), re.MULTILINE)
    assert {f"!{name}" for names in copied for name in names.split()} == {row for row in ignored if row[:1] == "!"}
    assert text_of(".dockerignore") == text_of(".containerignore")


def test_the_front_end_of_the_compose_file_reaches_the_server_and_names_its_banks_and_sessions() -> None:
    services = yaml.safe_load(text_of("compose.yaml"))["services"]
    ours, front_end = services["everthread"]["environment"], services["open-webui"]["environment"]
    assert front_end["OPENAI_API_BASE_URL"] == f"http://{ours['EVERTHREAD_SERVER_HOSTS']}:7391/v1"
    assert ours["EVERTHREAD_SERVER_HOSTS"] in services
    assert ours["OLLAMA_HOST"].split(":")[0] in services
    headers = json.loads(front_end["OPENAI_API_CONFIGS"])["0"]["headers"]
    documented = re.search(r"^\{.*X-Everthread-Bank.*\}$", text_of("docs/connect.md"), re.MULTILINE)
    assert documented is not None
    assert headers == json.loads(documented[0]) | {"X-Everthread-Bank": "open-webui/{{USER_ID}}"}


def test_every_volume_of_the_compose_file_is_declared() -> None:
    compose = yaml.safe_load(text_of("compose.yaml"))
    used = {volume.split(":")[0] for service in compose["services"].values() for volume in service["volumes"]}
    assert used == set(compose["volumes"])


def read_unit(name: str) -> ConfigParser:
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text_of(f"deploy/{name}"))
    return unit


def check_start(unit: ConfigParser) -> list[str]:
    """Check that a service starts a command that exists; return the arguments."""
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/everthread")
    check_arguments(arguments)
    return arguments


def test_the_service_of_systemd_starts_a_command_that_exists_and_waits_until_replies_are_finished() -> None:
    unit = read_unit("everthread.service")
    check_start(unit)
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert int(unit["Service"]["TimeoutStopSec"]) >= 35


def test_the_nightly_backup_of_systemd_is_one_in_which_the_server_can_forget() -> None:
    server, backup = read_unit("everthread.service"), read_unit("everthread-backup.service")
    place = check_start(backup)[1].removeprefix("%S/")
    for name in ("StateDirectory", "StateDirectoryMode", "EnvironmentFile", "DynamicUser", "UMask"):
        assert backup["Service"][name] == server["Service"][name]
    assert place in server["Service"]["StateDirectory"].split()
    assert backup["Service"]["User"] == "everthread"  # that of the server, whose unit has this name
    assert "OnCalendar" in read_unit("everthread-backup.timer")["Timer"]


def test_ci_tests_every_python_that_the_project_names() -> None:
    named = [
        entry.rpartition(" ")[2] for entry in project()["classifiers"] if re.search(r":: Python :: 3\.\d+$", entry)
    ]
    matrix = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]["test"]["strategy"]["matrix"]
    assert named == matrix["python"] == PYTHONS
    assert project()["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize(("system", "is_needed"), [("win32", True), ("darwin", False), ("linux", False)])
def test_time_zones_are_installed_on_windows_which_has_none(system: str, is_needed: bool) -> None:
    requirements = map(Requirement, project()["dependencies"])
    (tzdata,) = (each for each in requirements if each.name == "tzdata")
    assert tzdata.marker is not None
    assert tzdata.marker.evaluate({"sys_platform": system}) == is_needed


@pytest.mark.parametrize("name", ["ci", "release"])
def test_a_workflow_may_only_read_unless_a_job_says_more_and_names_no_secret(name: str) -> None:
    text = text_of(f".github/workflows/{name}.yml")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "secrets." not in text


def test_the_image_and_the_service_are_released_under_the_licence_of_the_project() -> None:
    assert f'org.opencontainers.image.licenses="{project()["license"]}"' in text_of("Containerfile")
