"""Clients of the proxy that have an environment of their own, and what the tests with them need."""

import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
AI_SDK = FOLDER / "ai_sdk"
LITELLM_PYTHON = FOLDER.parents[3] / "build" / "litellm" / "bin" / "python"

needs_ai_sdk = pytest.mark.skipif(
    not (AI_SDK / "node_modules").exists() or not shutil.which("node"), reason="`make test` installs the AI SDK"
)
