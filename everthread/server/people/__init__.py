"""Accounts of people, and how they sign in. Programs have keys instead (`everthread.server.keys`)."""
