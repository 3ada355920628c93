"""From a message to what a store writes: `clean`, then `units`."""
