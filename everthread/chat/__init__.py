"""A character that converses: prompts, replies, sessions, group chats, and the background work between turns.

The package may import `memory` and what lies below it; it knows nothing of HTTP, the terminal or click.
"""
