"""Exporting needs torch, which the `test` extra doesn't install; without it, test_export.py is not collected."""

from importlib.util import find_spec

REQUIRED = ("torch", "transformers", "onnx", "onnxscript")
collect_ignore = [] if all(find_spec(name) for name in REQUIRED) else ["test_export.py"]
