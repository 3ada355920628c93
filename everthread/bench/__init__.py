"""Measuring: how much of what was said is found again, how fast, and how often the wrong thing comes to mind."""
