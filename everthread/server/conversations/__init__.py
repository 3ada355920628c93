"""server.conversations."""
