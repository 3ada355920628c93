"""Complete ways of remembering: what is written beside the lines, how it is found, how it is shown in a prompt.

A recipe composes the stages of `recall` and may import `scribes` and `llms`; it reads a bank through a `BankReader`.
"""
