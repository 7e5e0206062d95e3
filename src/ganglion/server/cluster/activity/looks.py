"""From what exporters say of GPUs to looks at attempts: whose they are, and by which figures."""

from collections.abc import Iterable, Iterator, Mapping

from ganglion.lifecycle.workspaces.dcgm import Device, GpuFigures
from ganglion.metering.activity import (
    COUNTER,
    POWER,
    SM,
    UTILISATION,
    ActivityInterval,
    AttemptLook,
    DeviceCounters,
)
from ganglion.server.cluster.activity.held import HeldGpus

Said = Mapping[Device, GpuFigures]
"""What the exporter of a node says, by device."""


def looks(held: Iterable[HeldGpus], said: Mapping[str, Said]) -> Iterator[AttemptLook]:
    """What is known of the GPUs that attempts have alone.

    A GPU is an attempt's where its exporter names one pod as its user, and that is one of the
    attempt's. Where an exporter names more GPUs than the pods have, all of them are unknown.

    Args:
        held: what attempts have.
        said: by node, as the engine names it; those that say nothing are left out.
    """
    for each in held:
        found = {
            uuid: figures
            for (uuid, part), figures in said.get(each.node, {}).items()
            if not part and len(figures.pods) == 1 and figures.pods <= each.pods
        }
        if 0 < len(found) <= each.gpus:
            yield _look(each, found)


def _look(held: HeldGpus, found: Mapping[str, GpuFigures]) -> AttemptLook:
    """One source for all GPUs of an attempt on a node: activity of another kind is not added."""
    by_sm = any(each.sm_milli is not None for each in found.values())
    counted = any(each.energy_mj is not None for each in found.values())
    of = ActivityInterval(
        *(0, 0, "", "", held.gang, held.gang, held.attempt, "", "", held.node),
        source=SM if by_sm else UTILISATION,
        energy_source=COUNTER if counted else POWER,
    )
    devices = {
        uuid: DeviceCounters(
            each.sm_milli if by_sm else each.utilised_milli,
            each.energy_mj,
            None if counted else each.power_mw,
        )
        for uuid, each in found.items()
    }
    return AttemptLook(of, devices)
