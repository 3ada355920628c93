"""server.workers."""
