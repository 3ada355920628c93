"""Exporting needs torch, which the `test` extra leaves out: without it, test_export.py is not collected."""

from importlib.util import find_spec

WANTED = ("torch", "transformers", "onnx", "onnxscript")
collect_ignore = [] if all(find_spec(name) for name in WANTED) else ["test_export.py"]
