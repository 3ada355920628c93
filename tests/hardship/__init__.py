"""Processes that are killed, crowd together, or run out of room; `tests/test_hardship.py` runs them."""

PATIENCE = 120.0  # seconds that a test waits for an event, so that it also passes on a busy machine
SOON = 30.0  # seconds within which a call returns that does not wait for a silent model, which takes 60
