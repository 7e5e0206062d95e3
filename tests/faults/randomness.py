"""Chance from a seed."""

import random


class SeededRandomness:
    """Draws the same for the same seed.

    Args:
        seed: of all draws.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def token_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def token_hex(self, count: int) -> str:
        return self.token_bytes(count).hex()

    def token_urlsafe(self, count: int) -> str:
        return self.token_hex(count)

    def uniform(self, least: float, most: float) -> float:
        return self._chance.uniform(least, most)
