"""From a query to hits and a context: analysis, candidates, scores, the relevance gate, neighbours, packing.

The package may import `bank`, `embedders`, `text` and what lies below them; `reader` is all that recipes see of a bank.
"""
