"""Conversations by message on any channel: answering each message once, asking the person, and repeating an answer.

The package may import `conversations` and what that imports. A channel's package, such as `sms`, supplies a `Channel`
and delivers messages.
"""
