"""Requests with a long timeout, so that a busy machine fails no test."""

from functools import partial

import httpx

from hardship import PATIENCE

get, put = partial(httpx.get, timeout=PATIENCE), partial(httpx.put, timeout=PATIENCE)
post, patch = partial(httpx.post, timeout=PATIENCE), partial(httpx.patch, timeout=PATIENCE)
delete, stream = partial(httpx.delete, timeout=PATIENCE), partial(httpx.stream, timeout=PATIENCE)
