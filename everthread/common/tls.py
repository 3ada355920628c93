"""The TLS context of HTTP clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from everthread.common.once import once

if TYPE_CHECKING:
    import ssl


@once
def tls_context() -> ssl.SSLContext:
    """Return the TLS context that all clients share; loading the certificates takes tens of milliseconds."""
    import httpx  # here, so that programs that make no requests don't load it

    return httpx.create_ssl_context()
