"""What a workspace's GPUs report: engine activity and bytes over PCIe, of whole devices.

Utilisation that says only whether some kernel ran is not enough, and neither is memory in use:
frameworks keep what they once took. A device on which others compute too is evidence of the
workspace only while it is quiet as a whole; then no program on it does anything.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from ganglion.lifecycle.workspaces.observations import Sight, Witness, doubtful
from ganglion.model.behaviour import Idle

PER_CENT_MILLI = 10


class GpuReading(Struct, frozen=True):
    """One device over the time since the reading before.

    Attributes:
        at: when it was read, in ms.
        span_ms: the time it is about, up to `at`.
        engine_milli: most of the time that any engine was busy, in thousandths; None = unknown.
        bytes_per_s: most that moved over PCIe, both directions; None = unknown.
        memory_mib: memory in use.
        name: what people call it: `GPU 3`.
    """

    at: int
    span_ms: int
    engine_milli: int | None
    bytes_per_s: int | None
    memory_mib: int = 0
    name: str = "GPU"


class GpuFigures(Struct):
    """What can be counted of one device, as integers; None = unknown.

    Attributes:
        pods: namespaces and names of the pods that an exporter names as its users.
        sm_milli: thousandths of the time in which its multiprocessors were active, on average.
        utilised_milli: thousandths of the time in which some kernel ran.
        energy_mj: a counter of what it has drawn, in thousandths of a joule.
        power_mw: what it draws, in thousandths of a watt.
    """

    pods: set[tuple[str, str]] = field(default_factory=set)
    sm_milli: int | None = None
    utilised_milli: int | None = None
    energy_mj: int | None = None
    power_mw: int | None = None


def gpu_sight(
    readings: Sequence[GpuReading | None], idle: Idle, at: int, *, shared: bool = False
) -> Sight:
    """The evidence of all devices of a workspace together.

    Args:
        readings: one per device; None = there is none of it.
        idle: below what a device does nothing.
        at: when they were asked for, in ms.
        shared: whether others compute on the same devices.
    """
    known = [each for each in readings if each is not None]
    busy = next((each for each in known if _moves(each, idle)), None)
    if busy and not shared:
        return Sight(Witness.GPU, at, busy.at, busy.at, said=_said(busy))
    if busy:
        why = f"{_said(busy)}, which may be others that share it"
        return doubtful(Witness.GPU, at, why)
    for each in readings:
        why = _untold(each)
        if why:
            return doubtful(Witness.GPU, at, why)
    if not known:
        return doubtful(Witness.GPU, at, "no device is known")
    since = max(each.at - each.span_ms for each in known)
    return Sight(Witness.GPU, min(each.at for each in known), since)


def _moves(reading: GpuReading, idle: Idle) -> bool:
    engine, moved = reading.engine_milli or 0, reading.bytes_per_s or 0
    return engine >= max(idle.gpu_milli, 1) or moved >= max(idle.bytes_per_s, 1)


def _said(reading: GpuReading) -> str:
    if reading.engine_milli:
        return f"{reading.name} was {reading.engine_milli // PER_CENT_MILLI} % busy"
    return f"{reading.name} moved {(reading.bytes_per_s or 0) // 1000} kB/s"


def _untold(reading: GpuReading | None) -> str:
    if reading is None:
        return "no source reports its GPUs"
    if reading.engine_milli is None:
        return f"{reading.name} does not report the use of its engines"
    if reading.bytes_per_s is None:
        return f"{reading.name} does not report its PCIe traffic"
    return ""
