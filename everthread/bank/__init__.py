"""The stored things of a bank: validating, correcting, deleting and embedding them, and counting what is there.

The package may import `stores`, `embedders`, `text` and what lies below them; it knows nothing of queries or scores.
"""
