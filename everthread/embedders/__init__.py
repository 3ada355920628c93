"""Embedders turn texts into vectors: a local ONNX model (the default), a server, or sentence-transformers.

The package may import `text`, `llms.discovery` (keys and addresses) and `testing`; it knows nothing of banks or lines.
"""

import os

# onnxruntime's wheels send telemetry to their vendor unless this is set before they are imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
