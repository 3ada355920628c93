"""The Telegram bot: long polling, invitations, replies that grow while they are written, and buttons below them.

The package may import `messaging` and what that imports; the rest of the server imports only its `service`.
"""
