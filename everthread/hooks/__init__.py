"""Hooks of coding agents: store what was said, and add memories to a prompt, without the model's help.

Agents call them with a JSON object on standard input, and read their standard output.
"""
