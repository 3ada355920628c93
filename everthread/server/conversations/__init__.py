"""Conversations on the server: which are open, the replies in progress, and the limits on both.

`registry` is what routes and SMS use; the other modules are its parts and import nothing from it.
"""
