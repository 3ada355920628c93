"""Scribes write about a conversation: summaries, notes, categories. One asks a language model, one needs none.

The package may import `llms`, `text` and what lies below them; it knows nothing of banks.
"""
