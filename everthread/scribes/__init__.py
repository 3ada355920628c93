"""scribes."""
