"""Drawing without replacement from ranges of any size, without keeping them in memory."""

from hashlib import blake2b

ROUNDS = 4
"""Rounds of the network; four are enough for a permutation that looks like chance."""


def drawn(nth: int, total: int, seed: int) -> int:
    """The nth number drawn from 0..total-1; another one for every n below `total`.

    A Feistel network permutes the numbers of as many bits as `total` needs; a number that lands
    beyond `total` walks on along the cycle. The same on every machine and for ever.

    Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.

    Args:
        nth: 0..total-1.
        total: how many numbers there are.
        seed: the same seed gives the same numbers.
    """
    half = max(1, ((total - 1).bit_length() + 1) // 2)
    found = _permuted(nth, half, seed)
    while found >= total:
        found = _permuted(found, half, seed)
    return found


def _permuted(number: int, half: int, seed: int) -> int:
    mask = (1 << half) - 1
    left, right = number >> half, number & mask
    for turn in range(ROUNDS):
        left, right = right, left ^ (_mixed(right, turn, seed) & mask)
    return left << half | right


def _mixed(number: int, turn: int, seed: int) -> int:
    digest = blake2b(b"%d/%d/%d" % (seed, turn, number), digest_size=16).digest()
    return int.from_bytes(digest, "little")
