"""stores.postgres."""
