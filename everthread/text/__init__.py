"""Language: terms, tokens, sentences, times, redaction and refusals. All of it is pure: no store, no model, no network.

The package may import `types`, `errors` and `common`.
"""
