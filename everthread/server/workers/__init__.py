"""Lets several processes serve one store: leases record which of them owns a bank, and a proxy forwards requests to it.

`runner`, above this package, starts the processes; the package imports nothing from conversations and routes.
"""
