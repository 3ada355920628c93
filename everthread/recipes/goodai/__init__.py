"""The recipe of goodai-ltm, with that library's own API in `text_memory`: overlapping chunks of a token stream.

The package may import the same as `recipes`; no other recipe imports it.
"""
