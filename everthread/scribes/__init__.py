"""Scribes write about a conversation: summaries, notes, categories. One asks a language model, the other needs none.

The package may import `llms`, `text` and every package below them. It uses no bank.
"""
