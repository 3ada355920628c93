"""The language model that replies, while the server runs: it is connected, tried, changed and disconnected.

`connection` holds the current one, `connection_file` and `system_keyring` store it, `probe` tries a server, and
`ollama` lists and pulls.
"""
