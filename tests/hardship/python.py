"""Starts Python programs that begin with the package already imported, as forks of a process that has imported it.

Otherwise each of them would spend a second on it. A program is a process of its own, with its own arguments,
environment, folder, standard streams and exit status. Tests of the start itself, of what is imported, of encodings or
of other options of the interpreter use `subprocess`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing import connection
from pathlib import Path
from types import ModuleType
from typing import Any

TESTS = str(Path(__file__).parents[1])
IMPORTED = (
    "everthread.chat.chat",
    "everthread.cli.chat",
    "everthread.cli.main",
    "everthread.cli.serve",
    "everthread.server.app",
    "everthread.server.runner",
    "everthread.testing",
)


class PythonProcess(subprocess.Popen[str]):
    """A program, run as by `python -W error`. It is a child of a process that reports its id and its exit status."""

    def __init__(self, *arguments: object, **options: Any) -> None:
        """Start a program.

        Args:
            arguments: a file, `-m` and a module, or `-c` and a program; then the program's own arguments.
            options: `stdin`, `stdout`, `stderr`, `bufsize`, `cwd`, `env` and `start_new_session` of `Popen`.
        """
        self._report, self._their_report = socket.socketpair()
        super().__init__([str(each) for each in arguments], text=True, **options)

    def _execute_child(  # `Popen` calls it when it has opened the pipes
        self,
        arguments: list[str],
        _executable: None,
        _preexec_fn: None,
        _close_fds: bool,
        _pass_fds: tuple[int, ...],
        folder: str | Path | None,
        environment: dict[str, str] | None,
        _startupinfo: None,
        _creationflags: int,
        _shell: bool,
        stdin: int,
        stdin_end: int,
        stdout_end: int,
        stdout: int,
        stderr_end: int,
        stderr: int,
        _restore_signals: bool,
        _gid: None,
        _gids: None,
        _uid: None,
        _umask: int,
        in_new_session: bool,
        _process_group: int,
    ) -> None:
        streams = [own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))]
        with self._their_report as report:
            socket.send_fds(start_template(), [b"\n"], [*streams, report.fileno()])
        program = [
            arguments,
            str(folder or Path.cwd()),
            dict(os.environ if environment is None else environment),
            in_new_session,
        ]
        self._report.sendall(json.dumps(program).encode())
        self._report.shutdown(socket.SHUT_WR)
        self.pid = self._receive()
        self._child_created = True
        self._close_pipe_fds(stdin, stdin_end, stdout_end, stdout, stderr_end, stderr)  # type: ignore[attr-defined]

    def _receive(self) -> int:
        received = self._report.recv(4, socket.MSG_WAITALL)
        assert len(received) == 4, "the process that starts programs has ended"
        return int.from_bytes(received, sys.byteorder, signed=True)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._wait(0) if self.returncode is None and connection.wait([self._report], 0) else self.returncode

    def _wait(self, timeout: float | None) -> int:
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                if not connection.wait([self._report], timeout):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                self.returncode = self._receive()
                self._report.close()
        return self.returncode


def start_python(*arguments: object, imports: bool = False, **options: Any) -> subprocess.Popen[str]:
    """Start a program; or run it as a user does, so that it imports the package."""
    if imports:
        return subprocess.Popen([sys.executable, "-W", "error", *map(str, arguments)], text=True, **options)
    return PythonProcess(*arguments, **options)


def run_python(
    *arguments: object, input: str | None = None, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; return its exit status and what it has printed."""
    stdin = None if input is None else subprocess.PIPE
    pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with PythonProcess(*arguments, **(pipes | options)) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@cache
def start_template() -> socket.socket:
    """Start the process that forks programs; return the socket that takes requests for them."""
    control, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads can't be forked safely
            pass_fds=[theirs.fileno()],
        )
    for end in (process.wait, process.kill, control.close):  # called in the opposite order
        atexit.register(end)
    return control


# ------------------------------------------------------------------------------- the process that forks programs


def main() -> None:
    """Fork programs until the tests have ended."""
    for name in IMPORTED:
        with suppress(ModuleNotFoundError):  # in an environment without the libraries of the server
            import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing remains of a fork that has ended
    with socket.socket(fileno=int(sys.argv[1])) as control:
        while (received := socket.recv_fds(control, 1, 4))[0]:
            if os.fork() == 0:
                control.close()
                run(*received[1])
                return
            for each in received[1]:
                os.close(each)


def run(stdin: int, stdout: int, stderr: int, report_number: int) -> None:
    """Run a program in a fork, and report its id and its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    report, streams = socket.socket(fileno=report_number), (stdin, stdout, stderr)
    with report.makefile(encoding="utf-8") as asked:
        arguments, folder, environment, in_new_session = json.load(asked)
    pid = os.fork()
    if pid == 0:
        report.close()
        for own, given in enumerate(streams):
            os.dup2(given, own)
        for given in streams:
            os.close(given)
        if in_new_session:
            os.setsid()
        become(arguments, folder, environment)
        return
    for given in streams:
        os.close(given)
    report.sendall(pid.to_bytes(4, sys.byteorder))
    _, status = os.waitpid(pid, 0)
    report.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, sys.byteorder, signed=True))
    os._exit(0)


def become(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run a program as the main module of this process."""
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115  # until the end
        for number, mode, buffering, errors in ((0, "r", -1, None), (1, "w", -1, None), (2, "w", 1, "backslashreplace"))
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # the environment names another
    kind, rest = (arguments[0], arguments[1:]) if arguments[0] in ("-c", "-m") else ("", arguments)
    sys.argv = ["-c", *rest[1:]] if kind == "-c" else rest
    sys.path[0] = {"-c": "", "-m": folder}.get(kind, str(Path(rest[0]).parent))
    sys.path.append(TESTS)  # for programs that are part of the tests
    if kind == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        module = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(module))  # noqa: S102
    else:
        runpy.run_path(rest[0], run_name="__main__")


if __name__ == "__main__":
    main()
