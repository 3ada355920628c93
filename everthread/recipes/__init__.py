"""Complete ways of remembering. `default` is the one that measured best."""
