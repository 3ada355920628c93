"""A stand-in for Citus, of which there is no build for tests. It distributes nothing: it records calls, and refuses
the statements that Citus refuses."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress

from hardship.proxy import Proxy, close, get_statement, read_exactly, read_messages

# The tables and functions of Citus that we use. The table `asked` records the commands for other servers: for all of
# them, or for one host; those like a pattern in `failing` fail there.
FUNCTIONS = """
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET citus.propagate_set_commands = none', current_database()); END $$;
SET allow_system_table_mods = on;
INSERT INTO pg_extension SELECT 1, 'citus', extowner, extnamespace, false, '13.0', NULL, NULL
    FROM pg_extension WHERE extname = 'vector';
CREATE TABLE public.pg_dist_partition (logicalrelid regclass PRIMARY KEY);
CREATE TABLE public.truncated (number serial, what regclass);
CREATE TABLE public.asked (number serial, command text, host text);
CREATE TABLE public.failing (pattern text);
CREATE TABLE public.pg_dist_shard (logicalrelid regclass, shardid bigint);
CREATE TABLE public.pg_dist_placement (shardid bigint, groupid int);
CREATE TABLE public.pg_dist_node (groupid int, nodename text, nodeport int, noderole text);
INSERT INTO public.pg_dist_node VALUES (0, 'coordinator', 5432, 'primary'), (1, 'worker', 5433, 'primary'),
    (1, 'replica', 5434, 'secondary');
INSERT INTO public.pg_dist_placement SELECT 102000 + number, 1 FROM generate_series(0, 9) AS number;
CREATE FUNCTION public.get_shard_id_for_distribution_column(what regclass, bank text)
    RETURNS bigint LANGUAGE sql AS 'SELECT 102000 + (bank = ''bob'')::int';
CREATE FUNCTION public.master_run_on_worker(hosts text[], ports int[], commands text[], parallel bool)
    RETURNS TABLE (node_name text, node_port int, success bool, result text) LANGUAGE sql AS
    'INSERT INTO public.asked (command, host) SELECT commands[i], hosts[i] || '':'' || ports[i]
     FROM generate_subscripts(hosts, 1) AS i;
     SELECT hosts[i], ports[i], NOT EXISTS (SELECT FROM public.failing WHERE commands[i] LIKE pattern), ''cancelled''
     FROM generate_subscripts(hosts, 1) AS i';
CREATE FUNCTION public.create_distributed_table(what regclass, by text, colocate_with text DEFAULT 'default',
    shard_count int DEFAULT 32) RETURNS void LANGUAGE sql AS
    'INSERT INTO public.pg_dist_partition VALUES (what);
     INSERT INTO public.pg_dist_shard SELECT what, generate_series(1, shard_count)';
CREATE FUNCTION public.create_reference_table(what regclass)
    RETURNS void LANGUAGE sql AS 'INSERT INTO public.pg_dist_partition VALUES (what)';
CREATE FUNCTION public.truncate_local_data_after_distributing_table(what regclass)
    RETURNS void LANGUAGE sql AS 'INSERT INTO public.truncated (what) VALUES (what)';
CREATE FUNCTION public.run_command_on_all_nodes(command text)
    RETURNS TABLE (nodeid int, success bool, result text) LANGUAGE sql AS
    'INSERT INTO public.asked (command) VALUES (command);
     SELECT * FROM (VALUES (1, true, ''''), (2, command <> ''CHECKPOINT'', ''must be superuser'')) AS told';
GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO PUBLIC;
"""

_QUIET = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\$\$.*?\$\$", re.DOTALL)  # comments and texts
_CONSTRAINT = re.compile(r"\bADD\s+(?:CONSTRAINT|FOREIGN|PRIMARY|UNIQUE|CHECK)\b", re.IGNORECASE)
_CREATED = re.compile(r"\bCREATE TABLE (?:IF NOT EXISTS )?(\S+)", re.IGNORECASE)
_STATISTICS = re.compile(r"\bALTER TABLE (\S+) .*\bSET STATISTICS\b", re.IGNORECASE | re.DOTALL)
_LOCKING = re.compile(r"\A\s*(?:SELECT|WITH)\b.*\bFOR\s+(?:NO\s+KEY\s+)?(?:UPDATE|SHARE)\b", re.IGNORECASE | re.DOTALL)
_COPIED = re.compile(r"\bINSERT INTO everthread\..*\bSELECT\b.*\bFROM\s+unnest\(", re.IGNORECASE | re.DOTALL)
_LOCAL = re.compile(r"\bset_config\((?!'search_path')", re.IGNORECASE)
_WRITING = re.compile(r"\A\s*(?:INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


def find_refusal(text: str, wrote: bool, created: set[str]) -> str | None:
    """Return the error of Citus for a statement that it refuses or runs in another way than wanted; else None.

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
    if _COPIED.search(said):
        return "COPY FROM not supported with row-level security"  # and in two phases without it
    if _LOCAL.search(text):
        return "set_config reaches no worker"
    return None


# The answer to a COMMIT if a worker dies during it. Citus's own connection stays open.
UNCOMMITTED = b"could not commit transaction for shard 102008 on at least one active node"
_ERROR = b"SERROR\0VERROR\0CXX000\0M" + UNCOMMITTED + b"\0\0"


class Citus(Proxy):
    """Forwards to a server the statements that Citus accepts, and a failing statement in place of others.

    With a fault set, the next COMMIT of a write fails; `fault` returns whether the worker has committed.
    """

    def _serve(self, client: socket.socket) -> None:
        server = self._connect()
        lost = threading.Event()
        threading.Thread(target=self._back, args=(server, client, lost), daemon=True).start()
        length = read_exactly(client, 4)
        server.sendall(length + read_exactly(client, int.from_bytes(length) - 4))
        wrote, prepared, created = False, dict[bytes, str](), set[str]()
        for kind, message in read_messages(client):
            text = message[5:].split(b"\0")[kind == b"P"] if kind in (b"Q", b"P") else b""
            if text == b"COMMIT" and wrote and self.fault is not None:
                fault, self.fault = self.fault, None
                message = message if fault() else self._instead(message, text, b"ROLLBACK")
                lost.set()
            done = get_statement(message, prepared)
            wrote = (wrote and not done.startswith(("BEGIN", "COMMIT", "ROLLBACK"))) or bool(_WRITING.search(done))
            if (why := find_refusal(text.decode(), wrote, created)) is not None:
                message = self._instead(message, text, f'SELECT "{why}"'.encode())
            server.sendall(message)

    def _back(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        """Forward the server's messages to the client; an error in place of the next completion once `lost` is set."""
        with suppress(OSError, EOFError):
            for kind, message in read_messages(server):
                if kind == b"K":  # another number, as of a pooler's, so that the client sends every COMMIT as a text
                    message = message[:5] + b"\x00\x00\x00\x01" + message[9:]
                if kind == b"C" and lost.is_set():
                    lost.clear()
                    message = b"E" + (len(_ERROR) + 4).to_bytes(4) + _ERROR
                client.sendall(message)
        close(client)

    def _instead(self, message: bytes, text: bytes, other: bytes) -> bytes:
        """Return the message with another statement in it."""
        body = message[5:].replace(text, other, 1)
        return message[:1] + (len(body) + 4).to_bytes(4) + body
