"""Rerankers: `base` holds the protocol and those that need no model, `models` those that ask one, `names`
finds one by its name.

May import what recall may import.
"""
