"""The server: REST API, web page and text messages over one store, in one or several processes.

The package may import `chat`, `transfer` and what lies below them. Whatever a route does, the library does.
"""
