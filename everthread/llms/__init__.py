"""Language models: the interface, and a client for every server with OpenAI's chat completions.

The package may import `text` and what lies below it; it knows nothing of banks, characters or prompts.
"""
