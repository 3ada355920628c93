"""Storage of banks: `base` has the interface, `sqlite` and `postgres` implement it, the rest is what both share.

The package may import `text`, `common` and `types`; it is independent of models, queries and scores.
"""
