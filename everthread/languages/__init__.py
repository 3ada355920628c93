"""The words that people read in the terminal and in text messages, in a file for each language.

The package may import `text`, `config` and what those import; what goes into a model's prompt is not part of it.
"""
