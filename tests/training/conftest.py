"""Training needs the extra `train`, which the `test` extra doesn't install; `make train` runs test_trainer.py."""

from importlib.util import find_spec

REQUIRED = ("torch", "transformers", "onnx", "onnxscript")
collect_ignore = [] if all(find_spec(name) for name in REQUIRED) else ["test_trainer.py"]
