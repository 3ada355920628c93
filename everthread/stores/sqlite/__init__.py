"""stores.sqlite."""
