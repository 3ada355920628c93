"""Turns off Haystack's telemetry, which begins when it is imported."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
