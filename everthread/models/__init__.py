"""The models behind the engine: embedders, and the fakes that stand in for them. They know nothing of banks."""

import os

# onnxruntime's wheels report to their maker unless this is set before it is imported. Nothing leaves the machine here.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
