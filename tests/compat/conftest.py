"""Turns off Haystack's telemetry, which begins when it is imported, and leaves out Strands where it isn't installed.

Strands needs an older mcp than ours, and so an environment of its own: `make dropins` runs its tests there.
"""

import os
from importlib.util import find_spec

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
collect_ignore = [] if find_spec("strands") else ["test_strands.py"]
