"""A stand-in for Citus, of which there is no build for tests. It distributes nothing: it records calls, and refuses
the statements that Citus refuses."""

from __future__ import annotations

import re
import socket
import threading

from hardship.proxy import Proxy, get_statement, read_exactly, read_messages

# The functions of Citus that we call. The table `asked` records the commands for all servers.
FUNCTIONS = """
SET allow_system_table_mods = on;
INSERT INTO pg_extension SELECT 1, 'citus', extowner, extnamespace, false, '13.0', NULL, NULL
    FROM pg_extension WHERE extname = 'vector';
CREATE TABLE public.pg_dist_partition (logicalrelid regclass PRIMARY KEY);
CREATE TABLE public.truncated (number serial, what regclass);
CREATE TABLE public.asked (number serial, command text);
CREATE FUNCTION public.create_distributed_table(what regclass, by text, colocate_with text DEFAULT 'default')
    RETURNS void LANGUAGE sql AS 'INSERT INTO public.pg_dist_partition VALUES (what)';
CREATE FUNCTION public.truncate_local_data_after_distributing_table(what regclass)
    RETURNS void LANGUAGE sql AS 'INSERT INTO public.truncated (what) VALUES (what)';
CREATE FUNCTION public.run_command_on_all_nodes(command text)
    RETURNS TABLE (nodeid int, success bool, result text) LANGUAGE sql AS
    'INSERT INTO public.asked (command) VALUES (command);
     SELECT * FROM (VALUES (1, true, ''''), (2, command <> ''CHECKPOINT'', ''must be superuser'')) AS told';
"""

_QUIET = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\$\$.*?\$\$", re.DOTALL)  # comments and texts
_CONSTRAINT = re.compile(r"\bADD\s+(?:CONSTRAINT|FOREIGN|PRIMARY|UNIQUE|CHECK)\b", re.IGNORECASE)
_CREATED = re.compile(r"\bCREATE TABLE (?:IF NOT EXISTS )?(\S+)", re.IGNORECASE)
_STATISTICS = re.compile(r"\bALTER TABLE (\S+) .*\bSET STATISTICS\b", re.IGNORECASE | re.DOTALL)
_LOCKING = re.compile(r"\A\s*(?:SELECT|WITH)\b.*\bFOR\s+(?:NO\s+KEY\s+)?(?:UPDATE|SHARE)\b", re.IGNORECASE | re.DOTALL)
_WRITING = re.compile(r"\A\s*(?:INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


def find_refusal(text: str, wrote: bool, created: set[str]) -> str | None:
    """Return the error of Citus for a statement that it refuses, or runs without the wanted lock; else None.

    Args:
        text: the statement.
        wrote: whether the transaction has written before.
        created: the tables that the connection has created, which are not distributed yet; a new one is added.
    """
    said = _QUIET.sub("''", text).strip().rstrip(";")
    if ";" in said:
        return "cannot insert multiple commands into a prepared statement"
    outside = re.sub(r"\([^()]*\)", "", said)
    if _CONSTRAINT.search(outside) and "," in outside and outside.upper().startswith("ALTER TABLE"):
        return "cannot execute ADD CONSTRAINT command with other subcommands"
    created.update(_CREATED.findall(said))
    if any(table not in created for table in _STATISTICS.findall(said)):
        return "alter table command is currently unsupported"
    if _LOCKING.search(said) and not wrote:
        return "FOR UPDATE before a write locks no shard"
    return None


class Citus(Proxy):
    """Forwards to a server the statements that Citus accepts, and a failing statement in place of others."""

    def _serve(self, client: socket.socket) -> None:
        server = self._connect()
        threading.Thread(target=self._back, args=(server, client, threading.Event()), daemon=True).start()
        length = read_exactly(client, 4)
        server.sendall(length + read_exactly(client, int.from_bytes(length) - 4))
        wrote, prepared, created = False, dict[bytes, str](), set[str]()
        for kind, message in read_messages(client):
            done = get_statement(message, prepared)
            wrote = (wrote and not done.startswith(("BEGIN", "COMMIT", "ROLLBACK"))) or bool(_WRITING.search(done))
            text = message[5:].split(b"\0")[kind == b"P"] if kind in (b"Q", b"P") else b""
            if (why := find_refusal(text.decode(), wrote, created)) is not None:
                message = self._instead(message, text, f'SELECT "{why}"'.encode())
            server.sendall(message)

    def _instead(self, message: bytes, text: bytes, other: bytes) -> bytes:
        """Return the message with another statement in it."""
        body = message[5:].replace(text, other, 1)
        return message[:1] + (len(body) + 4).to_bytes(4) + body
