"""Processes that are killed, crowd together, or run out of room; `tests/test_hardship.py` runs them."""

PATIENCE = 120.0  # seconds that a test waits for what must come, so that a busy machine does not decide it
SOON = 30.0  # seconds within which a call returns that does not wait for a model that is silent: that takes 60
