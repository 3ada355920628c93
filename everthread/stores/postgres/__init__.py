"""The store over Postgres with pgvector: all banks in one database, which many processes may use at once.

The package may import the shared modules of `stores`, and needs psycopg, an optional dependency.
"""
