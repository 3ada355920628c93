"""The language of the terminal: configured, or that of the system's locale."""

from __future__ import annotations

import pytest

from everthread.errors import ConfigError
from everthread.languages.terminal_language import find_language


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "de_AT.UTF-8"}, "de"),
        ({"LANG": "de"}, "de"),
        ({"LANG": "zh-Hans"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "nl_NL.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": ""}, "de"),
        ({"LANG": "en_US", "LC_MESSAGES": "en_US", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "EVERTHREAD_LANGUAGE": "de"}, "de"),
    ],
)
def test_the_setting_comes_before_the_locale_and_its_first_variable_counts(
    environ: dict[str, str], language: str
) -> None:
    assert find_language(environ) == language


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="EVERTHREAD_LANGUAGE is 'klingon'; it must be one of en, de"):
        find_language({"EVERTHREAD_LANGUAGE": "klingon"})
