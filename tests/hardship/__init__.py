"""Processes that are killed, crowd together, or run out of room; `tests/test_hardship.py` runs them."""
