"""The demonstration: a sample life of two years in conversation, in several languages, with questions that it answers.

The package may import `chat` and every package below it; the conversations and their words are data.
"""
