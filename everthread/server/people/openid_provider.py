"""An OpenID Connect provider: its addresses and keys, the way to it and back, and what its tokens say.

The flow is that of a code with PKCE (OpenID Connect Core 3.1, RFC 7636). An ID token counts only if it is signed by the
provider's key, for this client, for this sign-in, and not expired.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import httpx
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidClaimError, InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry

from everthread.server.people.openid_settings import is_safe_url
from everthread.server.people.pending_sign_ins import PendingSignIn

WELL_KNOWN = "/.well-known/openid-configuration"
SCOPE = "openid profile"  # profile: for a name of the account
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")  # by key pairs
TIMEOUT_S = 5.0  # for each step of a request to the provider
MAX_AGE_S = 3600.0  # of the provider's addresses and keys
LEEWAY_S = 60  # by which its clock may differ
CLIENT_AUTHENTICATION = "token_endpoint_auth_methods_supported"


class IDTokenRegistry(JWSRegistry):
    """Accepts the header of an ID token with a chain of certificates (x5c), which takes some kB."""

    max_header_length = 64_000


# Unknown parameters of a header are ignored unless it calls them critical (RFC 7515, 4).
REGISTRY = IDTokenRegistry(algorithms=ALGORITHMS, strict_check_header=False)


class SignInFailed(Exception):
    """A sign-in at the provider that can't be completed.

    Attributes:
        reason: a word for the page, such as `unreachable`.
        wait_s: seconds to wait before another attempt.
    """

    def __init__(self, reason: str, cause: str = "", wait_s: int = 0) -> None:
        super().__init__(cause or reason)
        self.reason, self.wait_s = reason, wait_s


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as the provider knows them. subject: never changes; preferred_name: may, and may be empty."""

    issuer: str
    subject: str
    preferred_name: str = ""


class OpenIDProvider:
    """Talks to a provider. Thread-safe."""

    def __init__(
        self, issuer: str, client_id: str, client_secret: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Describe a provider; nothing is sent to it yet.

        Args:
            issuer: its URL, which `openid_settings` has checked.
            client_id: of this server, as registered there.
            client_secret: empty for a public client.
            clock: returns seconds.
        """
        self.issuer = issuer.rstrip("/")
        self._client_id, self._client_secret, self._clock = client_id, client_secret, clock
        self._http = httpx.Client(timeout=TIMEOUT_S)
        self._metadata: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def build_url(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Return the address at the provider where a person signs in.

        Raises:
            SignInFailed: the provider can't be reached.
        """
        url, _ = self._build_client(redirect_uri).create_authorization_url(
            self._get_metadata()["authorization_endpoint"],
            state=pending.state,
            nonce=pending.nonce,
            code_verifier=pending.verifier,
        )
        return str(url)

    def identify(self, code: str, pending: PendingSignIn, redirect_uri: str) -> Identity:
        """Return who has signed in at the provider, by the code with which it sent them back.

        Raises:
            SignInFailed: the provider can't be reached, or its answer doesn't prove who signed in.
        """
        try:
            claims = self._verify(self._fetch_id_token(code, pending, redirect_uri), pending.nonce)
        except (JoseError, OAuth2Error, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SignInFailed("unconfirmed", _describe(error)) from None
        except httpx.HTTPError as error:
            raise SignInFailed("unreachable", type(error).__name__) from None
        return Identity(self.issuer, claims["sub"], str(claims.get("preferred_username") or ""))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _build_client(self, redirect_uri: str) -> OAuth2Client:
        return OAuth2Client(
            self._http, self._client_id, scope=SCOPE, redirect_uri=redirect_uri, code_challenge_method="S256"
        )

    def _fetch_id_token(self, code: str, pending: PendingSignIn, redirect_uri: str) -> str:
        metadata = self._get_metadata()
        auth, parameters = httpx.Auth(), {"client_id": self._client_id}
        if self._client_secret and "client_secret_basic" in metadata.get(
            CLIENT_AUTHENTICATION, ("client_secret_basic",)
        ):
            auth = httpx.BasicAuth(quote_plus(self._client_id), quote_plus(self._client_secret))  # RFC 6749, 2.3.1
        elif self._client_secret:
            parameters["client_secret"] = self._client_secret
        answer = self._build_client(redirect_uri).fetch_token(
            metadata["token_endpoint"],
            auth=auth,
            grant_type="authorization_code",
            code=code,
            code_verifier=pending.verifier,
            **parameters,
        )
        return str(answer["id_token"])

    def _verify(self, id_token: str, nonce: str) -> CodeIDToken:
        """Return the claims of an ID token. Raises JoseError or ValueError if it proves nothing."""
        try:
            token = jwt.decode(id_token, self._get_keys(), registry=REGISTRY)
        except (
            InvalidKeyIdError,
            BadSignatureError,
        ):  # the provider may have new keys, also with an id of before or none
            token = jwt.decode(id_token, self._get_keys(refresh=True), registry=REGISTRY)
        options = {
            "iss": {"essential": True, "value": self._get_metadata()["issuer"]},
            "sub": {"essential": True},
            "aud": {"essential": True, "value": self._client_id},
        }
        claims = CodeIDToken(token.claims, token.header, options, {"nonce": nonce, "client_id": self._client_id})
        claims.validate(leeway=LEEWAY_S)
        if not claims["sub"].isprintable():  # a database can't store every character
            raise InvalidClaimError("sub")
        return claims

    def _get_metadata(self) -> Mapping[str, Any]:
        """Return the provider's discovery document. Raises SignInFailed."""
        if self._metadata is None or self._clock() - self._metadata[0] > MAX_AGE_S:
            found = self._get_json(self.issuer + WELL_KNOWN)
            if str(found.get("issuer")).rstrip("/") != self.issuer:
                raise SignInFailed("unreachable", "the provider describes another issuer than openid_issuer")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not is_safe_url(str(found.get(name))):
                    raise SignInFailed("unreachable", f"the provider's {name} is no URL with https")
            self._metadata = self._clock(), found
        return self._metadata[1]

    def _get_keys(self, *, refresh: bool = False) -> KeySet:
        if refresh or self._keys is None or self._clock() - self._keys[0] > MAX_AGE_S:
            found = self._get_json(self._get_metadata()["jwks_uri"])
            self._keys = self._clock(), _import_keys(found["keys"])
        return self._keys[1]

    def _get_json(self, url: str) -> dict[str, Any]:
        try:
            found = self._http.get(url).raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise SignInFailed("unreachable", type(error).__name__) from None
        if not isinstance(found, dict):
            raise SignInFailed("unreachable", "the provider's answer is no JSON object")
        return found


def _import_keys(found: Iterable[dict[str, Any]]) -> KeySet:
    """Return the public keys for signatures, without those that aren't understood (RFC 7517, 5)."""
    keys = []
    for key in found:
        if key.get("use", "sig") == "sig" and key.get("kty") != "oct":
            with suppress(JoseError, ValueError, KeyError, TypeError):
                keys.append(JWKRegistry.import_key(key))
    return KeySet(keys)


def _describe(error: Exception) -> str:
    """Return what went wrong, without any text of the provider's."""
    return str(error) if isinstance(error, JoseError) else str(getattr(error, "error", None) or type(error).__name__)
