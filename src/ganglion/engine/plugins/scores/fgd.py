"""FGD: descend the gradient of fragmentation."""

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.engine.plugins.scores.target import Latest, Side, TypicalTarget, before_and_after
from ganglion.model.resources import WHOLE, PodRequest

MILLIONTH = 1_000_000

LOGITS = np.array(
    [
        -4595120, -3891820, -3476099, -3178054, -2944439, -2751535, -2586689, -2442347, -2313635,
        -2197225, -2090741, -1992430, -1900959, -1815290, -1734601, -1658228, -1585627, -1516347,
        -1450010, -1386294, -1324925, -1265666, -1208311, -1152680, -1098612, -1045969, -994623,
        -944462, -895384, -847298, -800119, -753772, -708185, -663294, -619039, -575364, -532217,
        -489548, -447312, -405465, -363965, -322773, -281851, -241162, -200671, -160343, -120144,
        -80043, -40005, 0,
    ],
    dtype=np.int64,
)  # fmt: skip
"""ln(k / (100 - k)) in millionths for k = 1..50; the upper half mirrors it."""

LEVELS = np.concatenate((LOGITS, -LOGITS[-2::-1]))
"""From `LEVELS[k - 1]` on, 100 x sigmoid reaches k."""


class FgdScore:
    """Place where the GPU capacity that typical pods cannot use shrinks most, or grows least.

    FGD as published (Weng et al., "Beware of Fragmentation", USENIX ATC'23): 100 x sigmoid of the
    fragmentation lost, in GPUs, rounded down. The sigmoid is a table of integer thresholds.
    """

    name = "fgd"
    cacheable = True

    def __init__(self) -> None:
        self._latest = Latest()

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R], 0 to 99."""
        del pod, turn
        target = self._latest.of(typical, rows)
        both = fragments(target, before_and_after(rows))
        lost = both[: len(rows.device)] - both[len(rows.device) :]
        # GPUs x total x WHOLE against millionths: multiply out instead of dividing
        steps: Ints = np.searchsorted(
            LEVELS * (target.total * WHOLE), lost * MILLIONTH, side="right"
        ).astype(np.int64)
        return steps


def fragments(target: TypicalTarget, side: Side) -> Ints:
    """Free GPU thousandths that a typical pod cannot use, summed over all typical pods.

    A pod that does not fit the node can use nothing; one that does can use what is free on devices
    with room for it. Pods without GPUs use nothing.

    Returns:
        int64[R], thousandths x number of typical pods.
    """
    free = side.gpu[:, None, :]
    fits = free >= target.need[side.class_of]
    usable = (free * fits).sum(axis=2) * (fits.sum(axis=2) >= target.count)
    of = side.class_of
    has_room = side.cpu[:, None] >= target.cpu_on[of]
    has_room &= side.memory[:, None] >= target.memory_on[of]
    often = np.add.reduceat(has_room * target.weight, target.starts, axis=1)
    fragment: Ints = target.total * side.gpu.sum(axis=1) - (usable * often).sum(axis=1)
    return fragment
