"""Chance: secrets that cannot be guessed, names that occur once, and waits that differ."""

import random
import secrets
from typing import Protocol


class Randomness(Protocol):
    """Draws what differs from one process to the next. Safe from any thread."""

    def token_bytes(self, count: int) -> bytes:
        """Bytes that cannot be guessed."""

    def token_hex(self, count: int) -> str:
        """As many bytes in hexadecimal: two characters each."""

    def token_urlsafe(self, count: int) -> str:
        """As many bytes in letters that URLs may hold."""

    def uniform(self, least: float, most: float) -> float:
        """A number between two others; not for secrets."""


class SystemRandomness:
    """The chance of the kernel."""

    def token_bytes(self, count: int) -> bytes:
        """Bytes that cannot be guessed."""
        return secrets.token_bytes(count)

    def token_hex(self, count: int) -> str:
        """As many bytes in hexadecimal: two characters each."""
        return secrets.token_hex(count)

    def token_urlsafe(self, count: int) -> str:
        """As many bytes in letters that URLs may hold."""
        return secrets.token_urlsafe(count)

    def uniform(self, least: float, most: float) -> float:
        """A number between two others; not for secrets."""
        return random.uniform(least, most)


SYSTEM_RANDOMNESS = SystemRandomness()

ID_BYTES = 16
"""Bytes of an id that nothing else ever has."""


def unique_id(randomness: Randomness) -> str:
    """An id that nothing else ever has: 32 characters of hexadecimal."""
    return randomness.token_hex(ID_BYTES)
