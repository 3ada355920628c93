"""`Memory` and `Chat` over HTTP, for programs that talk to a server.

The package may import `chat` for its types and formats; it opens no store and loads no embedder.
"""
