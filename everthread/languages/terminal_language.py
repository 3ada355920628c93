"""Finds the language of the terminal: the configured one, else that of the system's locale."""

from __future__ import annotations

import os
from collections.abc import Mapping

from everthread import config
from everthread.config import LANGUAGES
from everthread.languages.wording import DEFAULT_LANGUAGE

LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set applies (POSIX)


def find_language(environ: Mapping[str, str] = os.environ) -> str:
    """Return the language of the terminal; English if the locale is C, POSIX or of a language without a file.

    Raises:
        ConfigError: as for `config.load`.
    """
    return config.load(environ=environ).language or _match(
        next((environ[name] for name in LOCALE_VARIABLES if environ.get(name)), "")
    )


def _match(locale: str) -> str:
    """Return the language of a locale such as de_AT.UTF-8."""
    language = locale.replace("-", "_").partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else DEFAULT_LANGUAGE
