"""What it costs to take a device whose type others ask for by name."""

from collections.abc import Mapping, Sequence

import numpy as np

from ganglion.engine.plugins.protocols import Ints, NodeClass, Rows
from ganglion.engine.plugins.scores.target import TypicalTarget
from ganglion.model.resources import WHOLE


def prices(target: TypicalTarget, supply: Mapping[str, int]) -> dict[str, int]:
    """Price of a device by type, in thousandths of a device; 0 where no pod names the type.

    It is the load by name: what typical pods that name the type ask of each such device,
    over what all typical pods ask of each device of the fleet. Pods that name several types load
    all of them alike.

    Args:
        target: the typical pods.
        supply: devices of the fleet by type.
    """
    weights = np.add.reduceat(target.weight, target.starts)
    asked = [
        int(often) * form.count * form.milli
        for often, form in zip(weights, target.forms, strict=True)
    ]
    everything, fleet = sum(asked), sum(supply.values())
    found = dict.fromkeys(supply, 0)
    for form, demand in zip(target.forms, asked, strict=True):
        named = [kind for kind in dict.fromkeys(form.types) if supply.get(kind)]
        held = sum(supply[kind] for kind in named)
        for kind in named:
            found[kind] += WHOLE * demand * fleet // (held * everything)
    return found


class Scarcity:
    """The price of every device of every node class.

    Args:
        target: the typical pods.
        classes: all node classes.
        width: D, devices per row.
        supply: devices of the fleet by type.
    """

    def __init__(
        self,
        target: TypicalTarget,
        classes: Sequence[NodeClass],
        width: int,
        supply: Mapping[str, int],
    ) -> None:
        by_type = prices(target, supply)
        self._price = np.zeros((len(classes), width), dtype=np.int64)
        for number, node in enumerate(classes):
            for index, (kind, _, _, _) in enumerate(node.devices):
                self._price[number, index] = by_type.get(kind, 0)

    def of(self, rows: Rows) -> Ints:
        """Price of what the pod takes, in thousandths of a device, int64[R]."""
        taken = rows.gpu_free - rows.gpu_after
        price: Ints = (taken * self._price[rows.class_of]).sum(axis=1)
        return price // WHOLE
