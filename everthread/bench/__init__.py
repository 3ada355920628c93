"""Benchmarks: how well each recipe finds what was said, how fast, and how often it recalls something irrelevant.

The package is the topmost one and may import every other; no other imports it.
"""
