"""Readers of what other services export, one module a service. Each turns an export into conversations, and what holds
for all of them, such as order, dates, keys and branches, is done once for all."""
