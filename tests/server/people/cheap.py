"""Passwords whose hashes take no time."""

from argon2 import profiles

from everthread.server.people.passwords import Passwords

PASSWORDS = Passwords(profiles.CHEAPEST)
