"""Hooks of coding agents: keep what was said, and add what is remembered to a prompt, without the model's help.

Agents call them with a JSON object on standard input, and read their standard output.
"""
