"""Whose fault the end of an attempt was."""

from collections.abc import Mapping

from msgspec.structs import replace

from ganglion.lifecycle.failures.history import GPU
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.placement import Placement


def blamed(
    event: GangEnded, placement: Placement | None, sick: Mapping[str, frozenset[int]]
) -> GangEnded:
    """A failure on a GPU that fell sick is the GPU's: it counts like the loss of a node.

    Args:
        event: as a world reported it.
        placement: where the attempt ran.
        sick: node -> indexes of its devices that must not be given out.
    """
    if event.outcome is not Outcome.FAILED or placement is None or not sick:
        return event
    hurt = sorted(
        (pod.node, device)
        for pod in placement.pods
        for device in pod.devices
        if device in sick.get(pod.node, frozenset())
    )
    if not hurt:
        return event
    node, device = hurt[0]
    said = f"GPU {device} of {node} is sick"
    message = f"{said}; {event.message}" if event.message else said
    return replace(event, outcome=Outcome.NODE_LOST, cause=GPU, message=message)
