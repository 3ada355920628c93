"""The server: REST API, web page and text messages over one store, in one or several processes.

The package may import `chat`, `transfer` and the layers below them. Routes contain no logic of their own: they call the
library.
"""
