"""Memory strategies: which units are derived from lines, how both are found, and how hits are shown in a prompt.

A recipe composes the stages of `recall` and may import `scribes` and `llms`; it reads a bank through a `BankReader`.
"""
