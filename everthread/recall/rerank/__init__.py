"""Rerankers: `base` has the protocol and the rerankers without a model, `models` those with one, `names` opens them.

The package may import what `recall` may import.
"""
