"""Where banks are kept. `base` is the protocol; `sqlite` is the embedded default."""
