"""The TLS context of HTTP clients."""

import ssl

from everthread.common.tls import tls_context


def test_all_clients_share_a_context_that_checks_certificates() -> None:
    assert tls_context() is tls_context()
    assert tls_context().verify_mode == ssl.CERT_REQUIRED
    assert tls_context().check_hostname
