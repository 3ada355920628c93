"""The REST API, one noun a module: a route checks the caller's key, calls the library and renders the result.

No other module of the server imports a route, except `app`.
"""
