"""From a question to hits and a context: rewrite, search, fuse, gate, expand, buffer, budget, in this order."""
