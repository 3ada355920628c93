"""An OpenID Connect provider on this machine, which signs everyone in at once and behaves as specified, well or badly.

with serve_provider() as provider:
    provider.preferred_name = "nora"
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from hardship.loopback import Quiet, serve_handler
from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry
from joserfc.registry import HeaderParameter

CLIENT, SECRET = "everthread", "a secret & a sign"
PRIVATE_PARAMETER = "org.example.realm"  # of a header
HEADERS = JWSRegistry({PRIVATE_PARAMETER: HeaderParameter("", "str")}, ["RS256"])


def new_key() -> RSAKey:
    return RSAKey.generate_key(2048, auto_kid=True)


@dataclass
class Provider:
    """The state of a provider, which tests change between sign-ins.

    Attributes:
        subject: of the person who is signed in there.
        preferred_name: as the person chose it.
        claims: replace those of the next ID tokens.
        signing_key: None for the published one.
        other_keys: published beside it.
        header: further parameters of the next ID tokens; None removes one.
        error: with which it sends people back.
        takes_secret_in_body: and not in a header.
        codes: the parameters of the sign-ins whose code wasn't redeemed.
    """

    url: str = ""
    subject: str = "s-1"
    preferred_name: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=new_key)
    signing_key: RSAKey | None = None
    other_keys: list[dict[str, str]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    takes_secret_in_body: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def reset(self) -> None:
        """Behave well again, for another person."""
        self.subject, self.preferred_name, self.claims = f"s-{secrets.token_hex(4)}", "", {}
        self.signing_key, self.error, self.takes_secret_in_body = None, "", False
        self.other_keys, self.header = [], {}

    def describe(self) -> dict[str, object]:
        """Return the discovery document."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        } | ({"token_endpoint_auth_methods_supported": ["client_secret_post"]} if self.takes_secret_in_body else {})

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to which a person is sent back."""
        assert (query["client_id"], query["response_type"]) == (CLIENT, "code")
        assert query["code_challenge_method"] == "S256"
        answer = {"state": query["state"]}
        if self.error:
            answer["error"] = self.error
        else:
            answer["code"] = secrets.token_hex(8)
            self.codes[answer["code"]] = query
        return f"{query['redirect_uri']}?{urlencode(answer)}"

    def redeem(self, body: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to the request of a token."""
        client = base64.b64encode(urlencode({CLIENT: SECRET}).replace("=", ":").encode()).decode()
        is_right = body.get("client_secret") == SECRET and not authorization
        if not (is_right if self.takes_secret_in_body else authorization == f"Basic {client}"):
            return 401, {"error": "invalid_client"}
        query = self.codes.pop(body.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(sha256(body["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if query is None or (query["code_challenge"], query["redirect_uri"]) != (challenge, body["redirect_uri"]):
            return 400, {"error": "invalid_grant"}
        at, key = int(time.time()), self.signing_key or self.key
        claims = {"iss": self.url, "sub": self.subject, "aud": CLIENT, "exp": at + 60, "iat": at}
        claims |= {"nonce": query["nonce"], "preferred_username": self.preferred_name} | self.claims
        header = {"alg": "RS256", "kid": self.key.kid} | self.header
        id_token = jwt.encode({k: v for k, v in header.items() if v is not None}, claims, key, registry=HEADERS)
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": id_token}


@contextmanager
def serve_provider() -> Iterator[Provider]:
    """Serve a provider."""
    provider = Provider()

    class Handler(Quiet):
        def do_GET(self) -> None:
            path, query = urlsplit(self.path).path, {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            if path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif path == "/keys":
                own = provider.key.as_dict(private=False, use="sig", alg="RS256")
                self.answer(200, {"keys": [*provider.other_keys, own]})
            else:
                self.answer(200, provider.describe())

        def do_POST(self) -> None:
            body = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.answer(*provider.redeem(body, self.headers.get("Authorization", "")))

        def answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serve_handler(Handler) as url:
        provider.url = url
        yield provider
