"""Random: any node that has room, for comparison with scores that think."""

import numpy as np
from numpy.typing import NDArray

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.model.resources import PodRequest

Words = NDArray[np.uint64]


class RandomScore:
    """A number that looks random and is the same for the same decision.

    Every node has the same chance, however many of its devices have room.

    Args:
        seed: different seeds, different choices.
    """

    name = "random"
    cacheable = False

    def __init__(self, seed: int = 0) -> None:
        self._seed = np.uint64(seed)

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R], at least 0, from (seed, turn, node, device)."""
        del pod, typical
        decision = mixed(mixed(np.full(len(rows.node), self._seed)) ^ np.uint64(turn))
        node = mixed(decision ^ rows.node.astype(np.uint64))
        device = mixed(node ^ rows.device.astype(np.uint64))
        # upper half: the node; lower half: the device within it
        both = (node >> np.uint64(33) << np.uint64(32)) | (device >> np.uint64(32))
        return both.astype(np.int64)


def mixed(words: Words) -> Words:
    """Scramble each word: the output function of SplitMix64 (Steele et al., OOPSLA'14).

    Args:
        words: uint64[R].
    """
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
