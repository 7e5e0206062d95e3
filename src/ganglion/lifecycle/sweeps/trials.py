"""Which trials a sweep has: all combinations, some of them at random, or a list."""

from hashlib import blake2b
from math import prod

from ganglion.model.workload import Workload


def trial_count(workload: Workload) -> int:
    """How many trials a sweep has; 0 = the workload describes none."""
    if workload.trials:
        return len(workload.trials)
    if not workload.params:
        return 0
    return workload.search.trials if workload.search else combinations(workload)


def combinations(workload: Workload) -> int:
    """How many combinations of its parameters there are."""
    return prod(len(values) for values in workload.params.values())


def trial(workload: Workload, index: int) -> dict[str, str]:
    """The parameters of one trial.

    Of all combinations the last parameter varies fastest; those that are searched come in the
    order in which they are drawn.

    Args:
        workload: the sweep.
        index: 0..trial_count-1.
    """
    if workload.trials:
        return dict(workload.trials[index])
    if workload.search:
        index = drawn(index, combinations(workload), workload.search.seed)
    found: dict[str, str] = {}
    for name, values in reversed(workload.params.items()):
        index, at = divmod(index, len(values))
        found[name] = values[at]
    return {name: found[name] for name in workload.params}


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
