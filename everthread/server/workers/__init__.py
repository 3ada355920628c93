"""Several processes over one store: starting them, which of them owns a bank, and forwarding requests to the owner.

`runner` imports the app and starts it; the rest of the server imports `bank_leases` and `worker_proxy`.
"""
