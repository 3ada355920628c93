"""Validates, corrects, deletes, embeds and counts the lines and units of a bank.

The package may import `stores`, `embedders`, `text` and the layers below them. It does not handle queries or scores.
"""
