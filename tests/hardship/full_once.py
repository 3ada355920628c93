"""A disk that is full for one write to a bank's files.

With the library of `build_library` preloaded and FULL_AT=N, the Nth write fails. `full_once.py FOLDER` creates a bank
twice, and prints the outcome of each attempt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from everthread.errors import EverthreadError
from everthread.stores.sqlite.store import SQLiteStore

LIBRARY_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int written;

static int full(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, ".bank") || ++written != atoi(getenv("FULL_AT"))) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t at) {
    ssize_t (*writes)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    return full(file) ? -1 : writes(file, bytes, size, at);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
    ssize_t (*writes)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return full(file) ? -1 : writes(file, bytes, size, at);
}
"""


def build_library(folder: Path) -> Path | None:
    """Compile the library; return None on a machine without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "full_once.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), "-x", "c", "-", "-ldl"]
    subprocess.run(command, input=LIBRARY_SOURCE, text=True, check=True)
    return library


def create_bank(store: SQLiteStore) -> str:
    """Create the bank; return the outcome as text."""
    try:
        store.create("alice")
        return f"made with {store.corpus_stats('alice').lines} lines"
    except EverthreadError as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    for store in [SQLiteStore(sys.argv[1])] * 2:
        print(create_bank(store))
