"""Recall, from a query to hits and a context: parsing, candidates, features, relevance, neighbours, packing.

The package may import `scribes`, `bank`, `embedders`, `text` and the layers below them. Recipes read a bank
only through `reader`.
"""
