"""Plays months of talk of many people in an hour, while the server is restarted and killed, and checks what is left.

`run` starts the server and the clients. `person` chooses what one person does, `talk` what is said, and `model` is the
language model, which often fails. `journal` keeps what the server has acknowledged, and `verdict` compares it with the
banks at the end. `windows` measures whether memory, files and latency stay flat.
"""
