"""The parts of the Postgres store."""
