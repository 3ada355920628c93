"""Helpers without a subject of their own: locks that survive a fork, retries, timestamps, reserved names.

The package may import `errors`.
"""
