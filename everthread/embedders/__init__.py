"""Embedders turn texts into vectors: a local ONNX model (the default), a server, or sentence-transformers.

The package may import `text`, `llms.discovery` (keys and addresses) and `testing`; it knows nothing of banks or lines.
"""
