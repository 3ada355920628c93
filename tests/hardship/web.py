"""Requests with a long timeout, so that a busy machine fails no test. All share one TLS context."""

from functools import partial

import httpx

from everthread.common.tls import tls_context
from hardship import PATIENCE

TLS = tls_context()

get = partial(httpx.get, timeout=PATIENCE, verify=TLS)
put = partial(httpx.put, timeout=PATIENCE, verify=TLS)
post = partial(httpx.post, timeout=PATIENCE, verify=TLS)
patch = partial(httpx.patch, timeout=PATIENCE, verify=TLS)
delete = partial(httpx.delete, timeout=PATIENCE, verify=TLS)
stream = partial(httpx.stream, timeout=PATIENCE, verify=TLS)
request = partial(httpx.request, timeout=PATIENCE, verify=TLS)
