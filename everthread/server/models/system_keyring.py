"""The keyring of the operating system, where the package `keyring` is installed and has one."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec

SERVICE = "everthread"


def has_keyring() -> bool:
    """Return whether the package is installed."""
    return find_spec("keyring") is not None


def save_key(account: str, key: str) -> bool:
    """Save a key under the name of an account. Return whether a keyring has it now."""
    if not has_keyring():
        return False
    import keyring

    try:
        keyring.set_password(SERVICE, account, key)
        return keyring.get_password(SERVICE, account) == key  # a keyring that is switched off takes it, too
    except keyring.errors.KeyringError:
        return False


def load_key(account: str) -> str:
    """Return the key of an account.

    Raises:
        ValueError: the keyring is missing or locked, or has no such key.
    """
    if has_keyring():
        import keyring

        with suppress(keyring.errors.KeyringError):
            if (key := keyring.get_password(SERVICE, account)) is not None:
                return key
    raise ValueError("the key can't be read from the system's keyring; unlock it, or connect the model again")


def delete_key(account: str) -> None:
    """Delete the key of an account, if there is one and the keyring is unlocked."""
    if has_keyring():
        import keyring

        with suppress(keyring.errors.KeyringError):
            keyring.delete_password(SERVICE, account)
