"""Helpers for all packages: locks that survive a fork, retries, timestamps, reserved names.

The package may import `errors`.
"""
