"""Several processes over one store: which of them owns a bank, and forwarding requests to the owner.

`runner`, above this package, starts the processes; the package imports nothing of conversations and routes.
"""
