"""Text messages through Twilio: the webhook, delivery states, segments and keywords.

The package may import `messaging` and what that imports; the rest of the server imports only its `webhook`.
"""
