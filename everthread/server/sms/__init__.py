"""Conversations by text message: the webhook, delivery states, segments and keywords.

The package may import `conversations` and what that imports; the rest of the server imports only its `webhook`.
"""
