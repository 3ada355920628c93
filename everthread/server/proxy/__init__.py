"""A memory in front of a language model's server: requests of chat front ends are remembered and passed on.

The package may be imported from `server.routes` and `server.app` only; it uses `Memory`, and never `Chat`.
"""
