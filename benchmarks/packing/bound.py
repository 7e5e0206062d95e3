"""What no packing can exceed: a bound from devices alone.

CPU, memory, device types and the borders of nodes are left out, so it is loose where those matter.
"""

from collections.abc import Mapping
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ganglion.model.resources import WHOLE

Floats = NDArray[np.float64]

ROUNDS = 3000
PATIENCE = 80
"""Rounds without progress before the aim is halved."""
AIM, LEAST_AIM = 0.05, 1e-4
"""Part of the bound that one round hopes to win, at first and at last."""


def upper_bound(demand: Mapping[int, float], devices: int) -> float:
    """Most thousandths that `devices` devices can ever hold of this demand.

    The configuration linear program of cutting stock (Gilmore and Gomory, 1961): every device
    holds some pattern of pods, no size is used more often than it is asked for. Its Lagrangian
    dual is a bound at any prices; subgradient steps (Polyak, 1969) bring it near the optimum.

    Args:
        demand: thousandths of one device -> how many pieces of that size are asked for.
        devices: how many there are.
    """
    sizes = np.array(sorted(demand), dtype=np.int64)
    unit = gcd(WHOLE, *sizes.tolist())
    wanted = np.array([demand[each] for each in sizes.tolist()], dtype=np.float64)
    prices = kept = np.zeros(len(sizes))
    best, aim, idle = float(sizes @ wanted), AIM, 0
    for _ in range(ROUNDS):
        worth, pattern = _best_pattern(sizes // unit, sizes - prices, WHOLE // unit)
        value = devices * worth + float(wanted @ prices)
        idle = 0 if value < best * (1 - aim / 20) else idle + 1
        if value < best:
            best, kept = value, prices
        if idle > PATIENCE:
            aim, idle, prices = aim / 2, 0, kept
        slack = wanted - devices * pattern
        # a price that is 0 cannot fall; counting it would only shorten the step
        slack[(prices == 0) & (slack > 0)] = 0
        if aim < LEAST_AIM or not slack.any():
            break
        prices = np.maximum(0, prices - slack * (value - best * (1 - aim)) / (slack @ slack))
    return min(best, float(devices * WHOLE))


def _best_pattern(sizes: NDArray[np.int64], gains: Floats, room: int) -> tuple[float, Floats]:
    """The pattern of pieces with the highest gain that fits one device: unbounded knapsack."""
    worth = np.zeros(room + 1)
    last = np.full(room + 1, -1)
    for filled in range(int(sizes[0]), room + 1):
        fitting = sizes[: np.searchsorted(sizes, filled, side="right")]
        options = worth[filled - fitting] + gains[: len(fitting)]
        choice = int(options.argmax())
        worth[filled] = worth[filled - 1]
        if options[choice] > worth[filled]:
            worth[filled], last[filled] = options[choice], choice
    return float(worth[room]), _unwound(sizes, last)


def _unwound(sizes: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
    pattern = np.zeros(len(sizes))
    filled = len(last) - 1
    while filled > 0:
        choice = last[filled]
        if choice < 0:
            filled -= 1
        else:
            pattern[choice] += 1
            filled -= int(sizes[choice])
    return pattern
