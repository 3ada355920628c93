"""Recall, from a query to hits and a context: parsing, candidates, features, relevance, neighbours, packing.

The package may import `bank`, `embedders`, `text` and what lies below them; recipes read a bank
through `reader` only.
"""
